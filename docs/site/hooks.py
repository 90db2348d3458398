"""Which files the site has, and what MkDocs has to be told of them.

The texts link to each other as they lie in the checkout, so that the links lead somewhere on a
forge too. The site therefore has them under the same paths: a README is the index of its folder.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parents[2]
SHOWN = (
    *("*.md", "LICENSE", "docs/**/*.md", "docs/pictures/**/*", "matrices/*.yaml"),
    *("reports/*.md", "reports/*/tables.md", "reports/*/index.html", "reports/*/charts/*.png"),
)
NOTEBOOKS = "docs/notebooks/*.ipynb"

_FILLED = runpy.run_path(str(ROOT / "docs" / "scripts" / "code_map.py"))["filled"]
_LIST_OR_TABLE = re.compile(r"(?:[-*] |\d+\. |\|)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The texts, pictures and recorded runs of the checkout in place of one folder's."""
    additions = [
        File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path))
        for pattern in SHOWN
        for path in sorted(ROOT.glob(pattern))
        if path.is_file()
    ]
    for path in sorted(ROOT.glob(NOTEBOOKS)):
        additions += _pages_of(path, config)
    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*of_theme, *additions])


def on_page_markdown(text: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A list or a table may follow its sentence without a blank line, as on GitHub; a link to a
    notebook leads to its page; a mark becomes the list that it names.
    """
    lines: list[str] = []
    fenced = False
    for line in _FILLED(text).replace(".ipynb)", ".md)").splitlines():
        fenced ^= line.lstrip().startswith("```")
        last_line = lines[-1] if lines else ""
        begins = _LIST_OR_TABLE.match(line)
        # A row goes on a table, an item or an indented line a list.
        goes_on = last_line[:1] in (" ", "|") if line.startswith("|") else _within_list(last_line)
        if begins and last_line and not fenced and not goes_on:
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _within_list(line: str) -> bool:
    return line.startswith(" ") or (_LIST_OR_TABLE.match(line) is not None and line[0] != "|")


def _pages_of(notebook: Path, config: MkDocsConfig) -> list[File]:
    """A notebook as it was executed: its page, and a file each picture in it."""
    text, resources = MarkdownExporter().from_notebook_node(
        nbformat.read(notebook, nbformat.NO_CONVERT),
        {"unique_key": notebook.stem},
    )
    folder = notebook.parent.relative_to(ROOT).as_posix()
    contents = {f"{notebook.stem}.md": text, **resources.get("outputs", {})}
    return [
        File.generated(config, f"{folder}/{name}", content=content)
        for name, content in contents.items()
    ]
