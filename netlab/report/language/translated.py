"""A report in another language: translated messages, and figures in the format of that language.

Babel reads the catalogues and formats figures. A message that the catalogue lacks stays English.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

from netlab.messages import Message
from netlab.report.language import Wording
from netlab.report.tables.elements import AnyTable, Chart, Curve, GridTable, HeatMap, Part, Strip
from netlab.report.tables.tables import TableSection
from netlab.trial.record import FLOWS

_FIGURE = re.compile(r"([-−+±]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)((?:/s)?(?: [^\W\d]\S*| %)?)")
"""A figure, with its unit or without one."""

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
        values = {name: self._value(value) for name, value in words.values.items()}
        translation = template.format(**values) if values else template
        return translation[:1].upper() + translation[1:] if words.begins else translation

    def _value(self, value: Any) -> Any:
        """A value of a message: a day or a text in this language, or a number as it is."""
        if isinstance(value, date):
            from babel.dates import format_date

            return format_date(value, locale=self.language)
        return self.text(value) if isinstance(value, str) else value

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

    def of_table(self, table: AnyTable) -> AnyTable:
        """A table in this language: title, headings, footnotes, and the format of figures."""
        lines = []
        for line in table.lines:
            places = tuple(
                replace(place, text=self.text(place.text), share=self.text(place.share))
                for place in line.places
            )
            lines.append(replace(line, label=self.text(line.label), places=places))
        fields: dict[str, Any] = {
            "title": self.text(table.title),
            "corner": self.text(table.corner),
            "columns": tuple(map(self.text, table.columns)),
            "lines": tuple(lines),
            "footnotes": tuple((mark, self.text(sentence)) for mark, sentence in table.footnotes),
        }
        if isinstance(table, GridTable):
            fields |= {
                "pairing": self.text(table.pairing),
                "conditions": self.text(table.conditions),
                "quantity": self.text(table.quantity),
                "keys": tuple(
                    replace(column, way=self.text(FLOWS[column.flow])) for column in table.keys
                ),
            }
        return replace(table, **fields)

    def of_section(self, section: TableSection) -> TableSection:
        """A section in this language: its tables, and the text about both ends."""
        return replace(
            section,
            grid=replace(section.grid, conditions=self.text(section.grid.conditions)),
            subtitle=self.text(section.subtitle),
            tables=tuple(map(self.of_table, section.tables)),
        )

    def of_part(self, part: Part) -> Part:
        """A part (a section with text, tables and charts) in this language."""
        return replace(
            part,
            title=self.text(part.title),
            paragraphs=tuple(map(self.text, part.paragraphs)),
            sheets=tuple(map(self.of_table, part.sheets)),
            charts=tuple(map(self.of_chart, part.charts)),
            details=tuple(map(self.of_table, part.details)),
        )

    def of_chart(self, chart: Chart | Strip | HeatMap) -> Chart | Strip | HeatMap:
        """A chart: title, axes, legend, and the description for readers who cannot see charts."""
        common: dict[str, Any] = {
            "title": self.text(chart.title),
            "x_label": self.text(chart.x_label),
            "decimal_marker": self.decimal_marker,
            "description": self.text(chart.alt),
        }
        match chart:
            case Strip():
                panels = tuple(
                    replace(
                        panel,
                        title=self.text(panel.title),
                        unit=self.text(panel.unit),
                        lines=self._curves(panel.lines),
                    )
                    for panel in chart.panels
                )
                bands = tuple(replace(band, label=self.text(band.label)) for band in chart.bands)
                return replace(chart, panels=panels, bands=bands, **common)
            case HeatMap():
                return replace(
                    chart,
                    unit=self.text(chart.unit),
                    y_label=self.text(chart.y_label),
                    inside_label=self.text(chart.inside_label),
                    **common,
                )
            case _:
                chart_panels = tuple(
                    replace(
                        panel,
                        title=self.text(panel.title),
                        lines=self._curves(panel.lines),
                        shares=self._curves(panel.shares),
                    )
                    for panel in chart.panels
                )
                return replace(
                    chart,
                    panels=chart_panels,
                    shares=self._curves(chart.shares),
                    share_ceilings=self._curves(chart.share_ceilings),
                    share_label=self.text(chart.share_label),
                    share_note=self.text(chart.share_note),
                    x_ticks=tuple((x, self.text(label)) for x, label in chart.x_ticks),
                    lines=self._curves(chart.lines),
                    ceilings=self._curves(chart.ceilings),
                    quantity=self.text(chart.quantity),
                    unit=self.text(chart.unit),
                    **common,
                )

    def _curves(self, curves: Iterable[Curve]) -> tuple[Curve, ...]:
        return tuple(
            replace(curve, label=self.text(curve.label), words=tuple(map(self.text, curve.words)))
            for curve in curves
        )
