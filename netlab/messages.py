"""Texts that can be said in another language: English, with the parts it was made of. Pure.

A room that has something to say writes ``_("{failed} of {all} trials failed", failed=2, all=10)``.
The result is the English sentence, a plain ``str`` for whoever wants no more; it also remembers the
template and its values, so that a catalogue can say the same in another language once it is known
which (gettext's msgid; PEP 3101 for the braces). What is put together in any other way (``+``,
``join``, an f-string) is no message any more and stays English: a test with a made-up language
finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Message(str):
    """A text with what it was made of. Equal to its English, as any ``str`` is."""

    id: str
    """The template in English; of a count, the one for one."""
    many: str
    """The template for any other number; empty where the text counts nothing."""
    number: int
    values: Mapping[str, Any]
    """What is in the template's braces: messages are said in the same language, figures and days
    (``date``, in English ISO 8601) spelled as it does; anything else is a name and stays."""
    begins: bool
    """Whether it begins a sentence."""

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
        """The English text of a template; KeyError where a value is missing."""
        form = template if not many or number == 1 else many
        english = form.format(**values) if values else form
        made = super().__new__(cls, english[:1].upper() + english[1:] if begins else english)
        made.id, made.many, made.number = template, many, number
        made.values, made.begins = values, begins
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, for the process that draws charts, it is its English."""
        return (str, (str(self),))


def _(template: str, **values: Any) -> Message:
    """A text: a template in English, and what is in its braces."""
    return Message(template, values)


def counted(one: str, many: str, number: int, **values: Any) -> Message:
    """A text that counts: ``{number}`` is ``1`` or ``2,000`` in it."""
    return Message(one, {"number": f"{number:,}", **values}, many, number)


def joined(separator: str, parts: Iterable[str]) -> Message:
    """Texts one after the other, each said by itself, with a separator of no language."""
    named = {f"part_{index}": each for index, each in enumerate(parts)}
    return Message(separator.join(f"{{{name}}}" for name in named), named)


def sentence_case(text: str) -> str:
    """The same with a capital letter at its beginning."""
    if isinstance(text, Message):
        return Message(text.id, text.values, text.many, text.number, begins=True)
    return text[:1].upper() + text[1:]
