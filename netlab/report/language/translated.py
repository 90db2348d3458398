"""A report in another language: translated messages, and figures in the format of that language.

Babel reads the catalogues and formats figures. A message that the catalogue lacks stays English.
"""

from __future__ import annotations

import gettext
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

from netlab.messages import Message
from netlab.report.language import Element, Wording
from netlab.report.tables.elements import Chart, GridTable, HeatMap, Strip
from netlab.results.layout import BinGrid
from netlab.trial.record import FLOWS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FIGURE = re.compile(r"([-−+±]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)((?:/s)?(?: [^\W\d]\S*| %)?)")
"""A figure, with its unit or without one."""

_NO_TEXTS = frozenset({"name", "cell", "points", "half_widths", "values", "inside"})
"""Fields of a report's elements that have a name of a file, an anchor, a key or many numbers."""
_Data = TypeVar("_Data", bound="DataclassInstance")
_BRACES = re.compile(r"\{\w+\}")


class Translated(Wording):
    """Every text of a report in the language of a catalogue."""

    def __init__(self, language: str, catalogue: gettext.NullTranslations) -> None:
        from babel.numbers import get_decimal_symbol, get_group_symbol

        self.language = language
        self.decimal_marker = get_decimal_symbol(language)
        self._catalogue = catalogue
        self.table = self.gettext("Table")
        self._marks = str.maketrans(",.", get_group_symbol(language) + self.decimal_marker)

    def text(self, words: str) -> str:
        """A message in this language, or a figure in its format; any other text is unchanged.

        If the catalogue lacks a message, all of the message is English, including its values.
        """
        if not isinstance(words, Message):
            if not _FIGURE.fullmatch(words):
                return words
            return _FIGURE.sub(lambda found: found[1].translate(self._marks) + found[2], words)
        template = words.id
        try:
            if words.many:
                template = self._catalogue.ngettext(words.id, words.many, words.number)
            elif any(map(str.isalpha, _BRACES.sub("", words.id))):
                template = self._catalogue.gettext(words.id)
        except LookupError:
            return str(words)
        values: dict[str, Any] = {}
        for name, value in words.values.items():
            if isinstance(value, date):
                from babel.dates import format_date

                values[name] = format_date(value, locale=self.language)
            else:
                values[name] = self.text(value) if isinstance(value, str) else value
        translation = template.format(**values) if values else template
        return translation[:1].upper() + translation[1:] if words.begins else translation

    def gettext(self, words: str) -> str:
        """The catalogue's translation of a text; the English text if there is none."""
        with suppress(LookupError):
            return self._catalogue.gettext(words)
        return words

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Like ``gettext``, in the plural form that the language uses for this number."""
        with suppress(LookupError):
            return self._catalogue.ngettext(singular, plural, number)
        return super().ngettext(singular, plural, number)

    def of(self, element: Element) -> Element:
        """An element in this language: all of its texts, and the format of its figures."""
        worded: Element = self._in_field(element)
        return worded

    def _worded(self, element: _Data) -> _Data:
        """An element with all of its texts in this language. The description of a chart is for
        readers who cannot see charts.
        """
        done: dict[str, Any] = {}
        match element:
            case BinGrid():
                return replace(element, conditions=self.text(element.conditions))
            case GridTable():
                keys = (replace(key, way=self.text(FLOWS[key.flow])) for key in element.keys)
                done = {"keys": tuple(keys)}
            case Chart() | Strip() | HeatMap():
                alt = self.text(element.alt)
                done = {"decimal_marker": self.decimal_marker, "description": alt}
        own = {
            field.name: self._in_field(getattr(element, field.name))
            for field in fields(element)
            if field.name not in _NO_TEXTS and field.name not in done
        }
        return replace(element, **own, **done)

    def _in_field(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, tuple):
            return tuple(map(self._in_field, value))
        if is_dataclass(value) and not isinstance(value, type):
            return self._worded(value)
        return value
