"""Translatable texts: an English sentence together with its template and values.

``_("{failed} of {all} trials failed", failed=2, all=10)`` is a ``str`` that a catalogue can
translate later (the template is gettext's msgid; its braces follow PEP 3101). A text composed in
any other way (``+``, ``join``, an f-string) stays English; a test with a made-up language finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Message(str):
    """A text with its template and values. Like any ``str``, it equals its English text."""

    id: str
    """The English template; for a count, the singular form."""
    many: str
    """The plural form of the template; empty if the text is not a count."""
    number: int
    values: Mapping[str, Any]
    """Values of the template's braces. A translation translates those values that are messages. It
    writes numbers, and days (of type ``date``; ISO 8601 in English), in the form of its language.
    Other values are names and stay unchanged."""
    begins: bool

    __slots__ = ("begins", "id", "many", "number", "values")

    def __new__(
        cls,
        template: str,
        values: Mapping[str, Any],
        many: str = "",
        number: int = 1,
        *,
        begins: bool = False,
    ) -> Message:
        """The English text of a template; KeyError if a value is missing."""
        form = template if not many or number == 1 else many
        english = form.format(**values) if values else form
        message = super().__new__(cls, english[:1].upper() + english[1:] if begins else english)
        message.id, message.many, message.number = template, many, number
        message.values, message.begins = values, begins
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the English text, for the process that draws charts."""
        return (str, (str(self),))


def _(template: str, **values: Any) -> Message:
    """A text: an English template, and the values of its braces."""
    return Message(template, values)


def counted(singular: str, plural: str, number: int, **values: Any) -> Message:
    """A text with a count: its ``{number}`` becomes a number such as ``1`` or ``2,000``."""
    return Message(singular, {"number": f"{number:,}", **values}, plural, number)


def joined(separator: str, parts: Iterable[str]) -> Message:
    """Several texts in a row, each translated by itself, with a language-neutral separator."""
    values = {f"part_{index}": part for index, part in enumerate(parts)}
    return Message(separator.join(f"{{{name}}}" for name in values), values)


def sentence_case(text: str) -> str:
    """The text with a capital letter at its beginning."""
    if isinstance(text, Message):
        return Message(text.id, text.values, text.many, text.number, begins=True)
    return text[:1].upper() + text[1:]


def listed(words: Iterable[str]) -> str:
    """A list such as ``a``, ``a and b`` or ``a, b and c``."""
    *first, last = words
    return _("{several} and {last}", several=joined(", ", first), last=last) if first else last
