"""docs/how-to/troubleshooting.md: the messages are those that netlab says, letter by letter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from folders import DOCS, ROOT

from netlab.experiment.records import REASONS

TEXT = (DOCS / "how-to" / "troubleshooting.md").read_text("utf-8")
REASONS_BEGIN = TEXT.index("## Why a cell has no figure")
BLANK = "\0"
"""In place of what a message puts in."""


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def code(cell: str) -> str:
    """The words between backticks; two stand for one within."""
    match = re.fullmatch(r"`(.*)`", cell)
    assert match is not None, cell
    return match[1].replace("``", "`")


def templates() -> Iterator[str]:
    """Every text of netlab's source, as it stands there once its lines are put together."""
    for path in sorted((ROOT / "netlab").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else BLANK
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.sub(r"\{\w+\}", BLANK, node.value)


SAID = frozenset(templates())
MESSAGES = [code(row[0]) for row in rows(TEXT[:REASONS_BEGIN])]


def is_said(message: str) -> bool:
    """Whether a text of the source has it; where something is put in at its end, up to there."""
    fragment = re.sub(r"<[^<>]+>", BLANK, message)
    return any(fragment in text for text in SAID)


def test_the_page_has_the_messages_of_each_stage() -> None:
    assert len(MESSAGES) > 35
    assert len(set(MESSAGES)) == len(MESSAGES)


@pytest.mark.parametrize("message", MESSAGES)
def test_netlab_says_it_so(message: str) -> None:
    assert is_said(message)


def test_a_word_more_is_another_message() -> None:
    assert is_said("<host>: nobody listens at <address> (connection refused)")
    assert not is_said("<host>: nobody ever listens at <address> (connection refused)")
    assert not is_said("<host>: nobody listens at port (connection refused)")


def test_every_row_says_what_to_do() -> None:
    for row in rows(TEXT):
        assert len(row) == 3
        assert row[2]


def test_every_reason_is_there_with_its_sentence() -> None:
    sentences = {code(row[0]): row[1] for row in rows(TEXT[REASONS_BEGIN:])}
    assert sentences == {word: str(reason.words) for word, reason in REASONS.items()}
