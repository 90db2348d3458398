"""docs/reference/glossary.md as data, and a search for the words that it rules out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from folders import DOCS

PAGE = DOCS / "reference" / "glossary.md"
_TERM = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.MULTILINE)
_SYNONYMS = re.compile(r"^\| not \| but \|\n\|[-|]+\|\n((?:\|.*\n?)+)", re.MULTILINE)
_NAMES = re.compile(
    r"^```.*?^```$"  # a block of code
    r"|<!--.*?-->"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # a name in code type
    r"|(?<=\])\([^)\s]*\)"  # the target of a link
    r"|%?\([a-z_]+\)s|\{[^{}]*\}",  # a placeholder of a message
    re.MULTILINE | re.DOTALL,
)
_BETWEEN_WORDS = re.compile(r"[\s-]+")


@dataclass(frozen=True, slots=True)
class Misuse:
    """A forbidden word in a text."""

    line: int
    """Counted from 1."""
    word: str
    """The word of the table, not its spelling in the text."""
    term: str


def terms() -> dict[str, str]:
    """Term → its meaning."""
    return dict(_TERM.findall(PAGE.read_text("utf-8")))


def forbidden_words(page: str) -> dict[str, tuple[str, ...]]:
    """Forbidden word → the terms that replace it, in the order of the table.

    ValueError if the page has no such table, or has a word twice.
    """
    table = _SYNONYMS.search(page)
    if table is None:
        raise ValueError("the glossary has no table of forbidden words")
    words: dict[str, tuple[str, ...]] = {}
    for row in table[1].splitlines():
        synonyms, replacements = ([*_split(cell)] for cell in row.strip("|").split("|"))
        for word in synonyms:
            if word in words:
                raise ValueError(f"{word} is in the table twice")
            words[word] = tuple(replacements)
    return words


def _split(cell: str) -> Iterator[str]:
    return (word.strip() for word in cell.split(","))


def misuses(text: str, words: Mapping[str, tuple[str, ...]]) -> list[Misuse]:
    """The forbidden words in the prose of a text, in their order there.

    Code, comments, targets of links and placeholders are not prose. A word is found in any case,
    in its plural, and with spaces, hyphens or a line break between its parts.
    """
    prose = _NAMES.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    word_of = {_normal(word): word for word in words}
    matches = []
    for match in _pattern(tuple(words)).finditer(prose):
        spelling = _normal(match[0])
        word = word_of.get(spelling) or word_of[spelling.removesuffix("s")]
        line = prose.count("\n", 0, match.start()) + 1
        matches.append(Misuse(line, word, " or ".join(words[word])))
    return matches


def _normal(word: str) -> str:
    return _BETWEEN_WORDS.sub(" ", word).casefold()


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    parts = (map(re.escape, _BETWEEN_WORDS.split(word)) for word in words)
    choice = "|".join(_BETWEEN_WORDS.pattern.join(word) for word in parts)
    return re.compile(rf"(?<![\w-])(?:{choice})s?(?![\w-])", re.IGNORECASE)
