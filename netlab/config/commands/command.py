"""Reads a command in a matrix as a list of words, which is run without a shell."""

from __future__ import annotations

import re
import shlex
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

WORDS_MOST = 64
WORD_MOST_CHARACTERS = 1000
"""Maximum number of words of a command, and maximum length of a word: docs/protocol.md, ``run``."""


def words_of(value: object) -> tuple[str, ...]:
    """A command as its words; a text is split as a POSIX shell splits words, with its quotes."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{error}: close the quotation, or give the words as a list") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("should be a command: a text, or the list of its words")
    if not words or not words[0]:
        raise ValueError("should name a program")
    if len(words) > WORDS_MOST or max(map(len, words)) > WORD_MOST_CHARACTERS:
        raise ValueError(
            f"should have at most {WORDS_MOST} words of at most {WORD_MOST_CHARACTERS} "
            "characters each"
        )
    if any(re.search(r"[\x00-\x1f\x7f]", word) for word in words):
        raise ValueError("no word may contain a control character, such as a line feed")
    return tuple(words)


COMMAND_IN_JSON = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

CommandWords = Annotated[
    tuple[str, ...],
    BeforeValidator(words_of),
    Field(strict=False),
    WithJsonSchema(COMMAND_IN_JSON),
]
