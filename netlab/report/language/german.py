"""German: the report's labels as a German lab report writes them, with decimal commas. Pure.

The words stand in german_words.py. What is prose (the page's paragraphs) and what programs read
(CSV) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from netlab.experiment.records import REASONS
from netlab.report.language.german_labels import PHRASES
from netlab.report.language.phrasebook import Phrasebook
from netlab.report.language.wording import Wording
from netlab.report.tables.elements import (
    AnyTable,
    Chart,
    Curve,
    GridTable,
    HeatMap,
    Part,
    Strip,
    TableLine,
)
from netlab.results.layout import TableColumn
from netlab.results.readings import FLOWS

if TYPE_CHECKING:
    from netlab.report.tables.tables import TableSection


class German(Wording):
    """Every label in German; ``unknown`` has those for which there are no words yet."""

    language = "de"
    decimal_marker = ","
    table = "Tabelle"

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._book = Phrasebook(PHRASES, {*names, *REASONS}, spelled)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Labels that were asked for and stayed English."""
        return self._book.unknown

    def text(self, words: str) -> str:
        """One label."""
        return self._book(words)

    def of_table(self, table: AnyTable) -> AnyTable:
        """Title, headings, footnotes, and how its figures are written."""
        said: dict[str, Any] = {
            "title": "" if isinstance(table, GridTable) else self.text(table.title),
            "corner": self.text(table.corner),
            "columns": tuple(map(self.text, table.columns)),
            "lines": tuple(map(self._line, table.lines)),
            "footnotes": self._footnotes(table.footnotes),
        }
        if isinstance(table, GridTable):
            said |= {
                "pairing": self.text(table.pairing),
                "conditions": self.text(table.conditions),
                "quantity": self.text(table.quantity),
                "keys": tuple(map(self._column, table.keys)),
            }
            words = ", ".join(w for w in (said["pairing"], said["conditions"]) if w)
            said["title"] = f"{words}: {said['quantity']}" if words else said["quantity"]
        return replace(table, **said)

    def of_section(self, section: TableSection) -> TableSection:
        """Its tables, and who is at both ends."""
        return replace(
            section,
            grid=replace(section.grid, conditions=self.text(section.grid.conditions)),
            subtitle=self.text(section.subtitle),
            tables=tuple(map(self.of_table, section.tables)),
        )

    def of_part(self, part: Part) -> Part:
        """Its title, sheets and charts."""
        return replace(
            part,
            title=self.text(part.title),
            sheets=tuple(map(self.of_table, part.sheets)),
            charts=tuple(map(self.of_chart, part.charts)),
            details=tuple(map(self.of_table, part.details)),
        )

    def of_chart(self, chart: Chart | Strip | HeatMap) -> Chart | Strip | HeatMap:
        """Title, axes, legend, and what a reader is told who does not see it."""
        match chart:
            case Strip():
                return self._strip(chart)
            case HeatMap():
                return self._heat_map(chart)
            case _:
                return self._chart(chart)

    def _column(self, column: TableColumn) -> TableColumn:
        return _GermanColumn(
            column.protocol, column.message_bytes, column.flow, self.text(FLOWS[column.flow])
        )

    def _footnotes(self, footnotes: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((letter, self.text(sentence)) for letter, sentence in footnotes)

    def _line(self, line: TableLine) -> TableLine:
        places = tuple(
            replace(place, text=self._place(place.text), share=self.text(place.share))
            for place in line.places
        )
        return replace(line, label=self.text(line.label), places=places)

    def _place(self, text: str) -> str:
        """A figure or a few words; a whole sentence is prose, and stays."""
        return text if text.endswith(".") else self.text(text)

    def _chart(self, chart: Chart) -> Chart:
        worded = replace(
            chart,
            title=self.text(chart.title),
            x_label=self.text(chart.x_label),
            x_ticks=tuple((x, self.text(label)) for x, label in chart.x_ticks),
            lines=self._curves(chart.lines),
            ceilings=self._curves(chart.ceilings),
            quantity=self.text(chart.quantity),
            unit=self.text(chart.unit),
            decimal_marker=self.decimal_marker,
        )
        return _GermanChart(**_fields(worded))

    def _strip(self, strip: Strip) -> Strip:
        panels = tuple(
            replace(
                panel,
                title=self.text(panel.title),
                unit=self.text(panel.unit),
                lines=self._curves(panel.lines),
            )
            for panel in strip.panels
        )
        worded = replace(
            strip,
            title=self.text(strip.title),
            x_label=self.text(strip.x_label),
            panels=panels,
            decimal_marker=self.decimal_marker,
        )
        return _GermanStrip(**_fields(worded))

    def _heat_map(self, chart: HeatMap) -> HeatMap:
        worded = replace(
            chart,
            title=self.text(chart.title),
            unit=self.text(chart.unit),
            x_label=self.text(chart.x_label),
            y_label=self.text(chart.y_label),
            inside_label=self.text(chart.inside_label),
            decimal_marker=self.decimal_marker,
        )
        return _GermanHeatMap(**_fields(worded))

    def _curves(self, curves: Iterable[Curve]) -> tuple[Curve, ...]:
        return tuple(replace(curve, label=self.text(curve.label)) for curve in curves)


def spelled(figure: str) -> str:
    """``1,488,095.5`` as ``1.488.095,5``."""
    return figure.translate(_SEPARATORS)


_SEPARATORS = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, order=True)
class _GermanColumn(TableColumn):
    """A column whose way is said in German."""

    way: str = ""

    @property
    def label(self) -> str:
        return f"{self.message_bytes} {self.way}".rstrip()


class _GermanChart(Chart):
    __slots__ = ()

    @property
    def alt(self) -> str:
        ceiling = " Die Obergrenze der Leitung ist mitgezeichnet." if self.ceilings else ""
        bars = " Balken sind das 95-%-Intervall jedes Mittelwerts." if self.has_bars else ""
        names = ", ".join(line.label for line in self.lines)
        return (
            f"Liniendiagramm: {self.title}, in {self.unit}, über {self.x_label}. "
            f"{len(self.lines)} Linien: {names}.{ceiling}{bars} "
            "Die Tabellen enthalten dieselben Werte."
        )


class _GermanStrip(Strip):
    __slots__ = ()

    @property
    def alt(self) -> str:
        names = "; ".join(f"{panel.title}, {panel.unit}" for panel in self.panels)
        return (
            f"Liniendiagramme: {self.title}, über {self.x_label}. {len(self.panels)} Felder: "
            f"{names}. Die exportierte Tabelle enthält dieselben Werte."
        )


class _GermanHeatMap(HeatMap):
    __slots__ = ()

    @property
    def alt(self) -> str:
        return (
            f"Farbkarte: {self.title}, {len(self.rows)} Clients mal {len(self.columns)} Server. "
            "Die Tabelle enthält dieselben Werte."
        )


def _fields(noun: Any) -> dict[str, Any]:
    return {each.name: getattr(noun, each.name) for each in fields(noun)}
