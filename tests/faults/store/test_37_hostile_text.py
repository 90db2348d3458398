"""Text of a host or a file that a browser, LaTeX, a spreadsheet or Markdown would run stays text.

``<script>``, ``\\input{}``, ``=cmd()``, escape sequences: as title, host, reason and fact of a run.
"""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from commands import Commands, commands
from folders import FIXTURES
from journals import decode

from netlab.store.journal import encode_line
from netlab.store.plan import _checksum

__all__ = ["commands"]

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\\input{/etc/passwd}\\immediate\\write18{id}",
    "=cmd()|'/C calc'!A0",
    "|`id`[a](javascript:alert(1))\x1b]0;taken\x07",
)


class Page(html.parser.HTMLParser):
    """The elements of a page that could do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts = 0
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.addresses += [value or "" for name, value in attributes if name in ("href", "src")]


@pytest.fixture
def plain(commands: Commands) -> Page:
    shutil.copytree(FIXTURES / "run-v1", commands.folder / "plain")
    assert commands.run("report", "plain").returncode == 0
    return Page((commands.folder / "plain" / "index.html").read_text("utf-8"))


def with_text(folder: Path, text: str) -> None:
    """Put a text wherever a folder from elsewhere may have one."""
    header = json.loads((folder / "run.json").read_text())
    header |= {"title": text, "source": text}
    header.pop("checksum")
    (folder / "run.json").write_text(json.dumps(header | {"checksum": _checksum(header)}))
    (folder / "matrix.yaml").write_text(f"title: {text}\n")
    journal = folder / "journal.jsonl"
    lines = [line.data for line in decode(journal.read_bytes())[0]]
    for line in lines:
        if line["kind"] == "record":
            line |= {"server": text, "client": text, "detail": text}
        elif line["kind"] == "facts":
            line["data"] = {"host": text, "when": "before", "facts": {text: text, "kernel": text}}
    journal.write_bytes(b"".join(encode_line(json.dumps(line)) for line in lines))


def test_hostile_text_of_a_run_is_shown_and_never_executed(commands: Commands, plain: Page) -> None:
    for number, text in enumerate(HOSTILE):
        folder = commands.folder / f"out-{number}"
        shutil.copytree(FIXTURES / "run-v1", folder)
        with_text(folder, text)
        assert commands.run("report", folder.name).returncode == 0
        assert commands.run("export", folder.name, "-o", "exported.csv").returncode == 0
        page = Page((folder / "index.html").read_text("utf-8"))
        assert (page.scripts, page.handlers) == (plain.scripts, plain.handlers)
        assert not [address for address in page.addresses if "alert" in address or address == "x"]
        latex = (folder / "tables.tex").read_text("utf-8")
        assert not re.search(r"\\(input|immediate|write18)\b", latex)
        markdown = (folder / "tables.md").read_text("utf-8")
        assert not re.search(r"(?<!\\)(<(script|img)|\]\(javascript)", markdown)
        for path in (folder / "tables.csv", commands.folder / "exported.csv"):
            cells = [
                cell for row in csv.reader(io.StringIO(path.read_text("utf-8"))) for cell in row
            ]
            assert not [cell for cell in cells if cell.startswith(("=", "@", "\t", "\r"))]
        for output in (page.rawdata, latex, markdown):
            assert "\x1b" not in output


def test_hostile_text_of_a_run_can_be_read_in_the_page_and_in_the_export(
    commands: Commands,
) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    with_text(folder, HOSTILE[0])
    assert commands.run("report", "out").returncode == 0
    page = (folder / "index.html").read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert commands.run("export", "out", "-o", "exported.csv").returncode == 0
    assert HOSTILE[0] in (commands.folder / "exported.csv").read_text("utf-8")
