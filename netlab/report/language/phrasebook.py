"""A phrase book: labels put together out of known phrases, figures and names → another language.

Pure. What it does not know it leaves alone and remembers, so that a test can ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

_SLOT = re.compile(r"\{([nxt])\}")
_SLOTS = {"n": r"([-−+±]?\d[\d,.]*)", "x": r"(.+?)", "t": r"(.+?)"}

_FIGURE = re.compile(r"[-−+±]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?:/s)?")
_NEUTRAL = re.compile(
    r"\d+/\d+|[-+±×%↔→\\–]|TCP|UDP|RFC|MTU|DSCP|IP|CPU|IPv[46]"
    r"|[KMG]iB|[kM]?B|[kMGT]?bit/s|byte/s|[mµun]?s|/s|1/s|ppm"
)
"""Words that are the same in every language."""

_MOST_WORDS = 9
"""Of a phrase that is found within a label."""
_SEPARATORS = ("; ", ": ", ", ")


class Phrasebook:
    """Phrases and patterns of one language into those of another.

    A key with slots is a pattern: ``{n}`` is a figure, ``{t}`` a label of its own, ``{x}`` anything
    and kept. The other side has the slots by their number: ``{0}``.
    """

    def __init__(
        self,
        phrases: Mapping[str, str],
        names: Iterable[str],
        spelled: Callable[[str], str],
    ) -> None:
        """``names`` are kept wherever they stand; ``spelled`` writes a figure anew."""
        self._phrases = {key: each for key, each in phrases.items() if not _SLOT.search(key)}
        self._patterns = [_pattern(k, each) for k, each in phrases.items() if _SLOT.search(k)]
        self._names = frozenset(names)
        self._spelled = spelled
        self._found: dict[str, str | None] = {}
        self._unknown: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        """The label in the other language; one that is not known stays as it is."""
        found = self._translated(text)
        if found is None:
            self._unknown[text] = None
            return text
        return found

    @property
    def unknown(self) -> tuple[str, ...]:
        """The labels that were asked for so far and are not known."""
        return tuple(self._unknown)

    def _translated(self, text: str) -> str | None:
        if text not in self._found:
            self._found[text] = self._look_up(text)
        return self._found[text]

    def _look_up(self, text: str) -> str | None:
        if text in self._names or not text.strip():
            return text
        found = self._in_any_way(text)
        if found is None and text[0].isupper():
            small = self._in_any_way(text[0].lower() + text[1:])
            found = None if small is None else small[:1].upper() + small[1:]
        return found

    def _in_any_way(self, text: str) -> str | None:
        for way in (self._phrases.get, self._by_pattern, self._by_parts, self._word_by_word):
            found = way(text)
            if found is not None:
                return found
        return None

    def _by_pattern(self, text: str) -> str | None:
        for pattern, kinds, german in self._patterns:
            match = pattern.fullmatch(text)
            if match:
                slots = [self._slot(*each) for each in zip(kinds, match.groups(), strict=True)]
                known = [each for each in slots if each is not None]
                if len(known) == len(slots):
                    return german.format(*known)
        return None

    def _slot(self, kind: str, text: str) -> str | None:
        if kind == "n":
            return self._spelled(text)
        return text if kind == "x" else self._translated(text)

    def _by_parts(self, text: str) -> str | None:
        """Cut at a full stop, at parentheses, at separators; each part is a label of its own."""
        if text.endswith(".") and len(text) > 1:
            found = self._translated(text[:-1])
            return None if found is None else f"{found}."
        match = re.fullmatch(r"(.+) \((.+)\)", text)
        if match:
            inside = [self._translated(each) for each in match.groups()]
            if None not in inside:
                return f"{inside[0]} ({inside[1]})"
        for separator in _SEPARATORS:
            if separator in text:
                parts = [self._translated(each) for each in text.split(separator)]
                known = [each for each in parts if each is not None]
                if len(known) == len(parts):
                    return separator.join(known)
        return None

    def _word_by_word(self, text: str) -> str | None:
        """The longest known phrase first, from left to right, with what is neutral between them."""
        words = text.split(" ")
        found: list[str] = []
        at = 0
        while at < len(words):
            for end in range(min(len(words), at + _MOST_WORDS), at, -1):
                piece = self._piece(" ".join(words[at:end]), single=end == at + 1)
                if piece is not None:
                    found.append(piece)
                    at = end
                    break
            else:
                return None
        return " ".join(found)

    def _piece(self, text: str, *, single: bool) -> str | None:
        if text in self._names:
            return text
        if single and _FIGURE.fullmatch(text):
            return self._spelled(text)
        if single and _NEUTRAL.fullmatch(text):
            return text
        return self._phrases.get(text)


def _pattern(key: str, german: str) -> tuple[re.Pattern[str], list[str], str]:
    parts = _SLOT.split(key)
    kinds = parts[1::2]
    expression = "".join(
        _SLOTS[part] if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )
    return re.compile(expression, re.DOTALL), kinds, german
