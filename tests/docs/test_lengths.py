"""The documentation is short: its pages, their paragraphs and the cells of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import DOCS, ROOT

README_WORDS = 1200
CHANGELOG_WORDS = 500
DOCS_WORDS = 52_000
"""Of all texts below docs/ together: what was reached. A change may lower it."""
PARAGRAPH_WORDS = 90
CELL_WORDS = 40

_FENCED = re.compile(r"^( *)```.*?^\1```[^\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BEGINS = re.compile(r"\s*(?:[-*] |\d+\. )")
"""An item of a list is a paragraph of its own."""


def words(path: Path) -> int:
    """As ``wc -w`` counts them."""
    return len(path.read_text("utf-8").split())


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and list items of a page, without its tables, headings and code."""
    lines: list[str] = []
    for line in [*_COMMENT.sub("", _FENCED.sub("\n", text)).splitlines(), ""]:
        ends = not line.strip() or line.startswith(("|", "#"))
        if lines and (ends or _BEGINS.match(line)):
            yield " ".join(lines)
            lines = []
        if not ends:
            lines.append(line.strip())


def cells(text: str) -> Iterator[str]:
    """The cells of a page's tables."""
    for row in re.findall(r"^\|.*\|$", _FENCED.sub("\n", text), re.MULTILINE):
        yield from re.split(r"(?<!\\)\|", row)[1:-1]


def too_long(text: str) -> list[str]:
    """The beginnings of the paragraphs and cells that are longer than allowed."""
    parts = [(part, PARAGRAPH_WORDS) for part in paragraphs(text)]
    parts += [(part, CELL_WORDS) for part in cells(text)]
    return [f"{len(part.split())} words: {part[:60]}" for part, most in parts if _long(part, most)]


def _long(part: str, most: int) -> bool:
    return len(part.split()) > most


def test_the_readme_has_at_most_1200_words_and_the_changelog_one_page() -> None:
    assert words(ROOT / "README.md") <= README_WORDS
    assert words(ROOT / "CHANGELOG.md") <= CHANGELOG_WORDS


def test_the_documentation_has_no_more_words_than_were_reached() -> None:
    assert sum(map(words, DOCS.rglob("*.md"))) <= DOCS_WORDS


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_no_paragraph_and_no_cell_of_a_page_is_too_long(page: Path) -> None:
    assert too_long(page.read_text("utf-8")) == []


def test_the_search_for_long_parts_counts_list_items_apart_and_no_code() -> None:
    long, short = "word " * 91, "word " * 90
    assert too_long(f"{short}\n\n{short}\n- {short[5:]}\n1. {short[5:]}\n") == []
    assert len(too_long(f"{short}\nword\n")) == 1
    assert too_long(f"```\n{long}\n```\n# {long}\n<!-- {long} -->\n") == []
    assert too_long(f"- first\n- {long}\n") == ["92 words: - " + long[:58]]
    assert too_long(f"| a | {'b ' * 40}|\n") == []
    assert len(too_long(f"| a | {'b ' * 41}|\n| c \\| {'b ' * 38}| d |\n")) == 1
