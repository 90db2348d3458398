"""The messages of the troubleshooting page are those of the source code."""

from __future__ import annotations

import re
from functools import cache

from folders import DOCS
from source_files import source_files

from netlab.trial.record import REASONS

TEXT = (DOCS / "how-to" / "troubleshooting.md").read_text("utf-8")
REASONS_BEGIN = TEXT.index("## Why a cell has no figure")
BLANK = "\0"
"""In place of what a message puts in."""
BORDER = "\1"
"""Between two texts."""


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def code(cell: str) -> str:
    """The words between backticks; two stand for one within."""
    match = re.fullmatch(r"`(.*)`", cell)
    assert match is not None, cell
    return match[1].replace("``", "`")


@cache
def all_said() -> str:
    """Every text of netlab's source, with ``BLANK`` where a value is put in."""
    texts = [
        text for file in source_files() if file.path.startswith("netlab/") for text in file.texts
    ]
    return BORDER.join(re.sub(r"\{\w*\}", BLANK, text) for text in texts)


MESSAGES = [code(row[0]) for row in rows(TEXT[:REASONS_BEGIN])]


def is_said(message: str) -> bool:
    """Whether a text of the source has it; where something is put in at its end, up to there."""
    return re.sub(r"<[^<>]+>", BLANK, message) in all_said()


def test_the_troubleshooting_page_lists_over_35_different_messages() -> None:
    assert len(MESSAGES) > 35
    assert len(set(MESSAGES)) == len(MESSAGES)


def test_each_message_of_the_troubleshooting_page_is_in_the_source_code() -> None:
    assert [message for message in MESSAGES if not is_said(message)] == []


def test_the_search_for_messages_refuses_a_message_with_an_added_word() -> None:
    assert is_said("<host>: nobody listens at <address> (connection refused)")
    assert not is_said("<host>: nobody ever listens at <address> (connection refused)")
    assert not is_said("<host>: nobody listens at port (connection refused)")


def test_every_row_of_the_troubleshooting_page_states_what_to_do() -> None:
    for row in rows(TEXT):
        assert len(row) == 3
        assert row[2]


def test_the_troubleshooting_page_has_every_reason_with_its_sentence() -> None:
    sentences = {code(row[0]): row[1] for row in rows(TEXT[REASONS_BEGIN:])}
    assert sentences == {word: str(reason.words) for word, reason in REASONS.items()}
