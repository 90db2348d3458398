"""Tables → Markdown, CSV and plain text; names from files are escaped."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from netlab.report.tables.elements import Chart, GridTable, HeatMap, Part, Strip, Table
from netlab.terminal import harmless, printable, table_lines

CHARTS = "charts"

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
"""Names that are safe in a link, or in an argument of LaTeX."""
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~&])")


def markdown(
    title: str,
    tables: Iterable[Table],
    notes: Sequence[str] = (),
    parts: Iterable[Part] = (),
    *,
    first: Iterable[tuple[str, Sequence[str]]] = (),
    overviews: Iterable[Table] = (),
    charts: Iterable[Chart | Strip | HeatMap] = (),
) -> str:
    """All tables and parts (sections of the report) as one document in GitHub's Markdown.

    ``first``: lists of sentences, each with its heading, for the beginning. ``charts``, which
    belong to ``tables``, follow the overviews (tables of means); a part has its own charts. The
    files of the charts are in ``charts/`` next to the document.
    """
    blocks = [f"# {markdown_text(title)}\n"]
    for heading, sentences in first:
        if sentences:
            items = [f"- {markdown_text(sentence)}" for sentence in sentences]
            blocks += [f"## {markdown_text(heading)}\n", "\n".join(items) + "\n"]
    blocks += [f"{markdown_text(note)}\n" for note in notes]
    blocks += [*map(_markdown_table, overviews), *_images(charts)]
    blocks += [_markdown_table(table) for table in tables]
    for part in parts:
        blocks += [f"## {markdown_text(part.title)}\n"]
        blocks += [f"{markdown_text(paragraph)}\n" for paragraph in part.paragraphs]
        blocks += [*map(_markdown_table, part.sheets), *_images(part.charts)]
        blocks += [_markdown_table(sheet) for sheet in part.details]
    return "\n".join(blocks)


def _images(charts: Iterable[Chart | Strip | HeatMap]) -> list[str]:
    """A line for each chart; charts whose names are not safe in a link are left out."""
    return [
        f"![{markdown_text(chart.alt)}]({CHARTS}/{chart.name}.png)\n"
        for chart in charts
        if SAFE_NAME.fullmatch(chart.name)
    ]


def _markdown_table(table: Table) -> str:
    """Heading, table and footnotes; the letters of the footnotes follow the text of a place."""
    cells = [[markdown_text(text) for text in (table.corner, *table.columns)]]
    for line in table.lines:
        cells.append([markdown_text(line.label)])
        for place in line.places:
            mark = f"*{','.join(place.notes)}*" if place.notes else ""
            cells[-1].append(" ".join(filter(None, (markdown_text(place.words), mark))))
    wide = [max(3, *(len(line[index]) for line in cells)) for index in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(text.rjust(wide[index]) for index, text in enumerate(line)) + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in wide) + "|")
    notes = [f"- *{letter}* {markdown_text(sentence)}" for letter, sentence in table.footnotes]
    depth = 2 if isinstance(table, GridTable) else 3
    blocks = [f"{'#' * depth} {markdown_text(table.title)}", "\n".join(lines)]
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])]) + "\n"


def markdown_text(text: str) -> str:
    """Text that Markdown shows literally: on one line, without markup and HTML."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def comma_separated(tables: Sequence[GridTable]) -> str:
    """All tables in one CSV: a line for each row, a column for each protocol and message size. If a
    figure is a mean, another line follows, with the unit ``n``: from how many values. A place of a
    table without a figure becomes an empty field, and the column ``notes`` has the reason.
    """
    columns = sorted({column for table in tables for column in table.keys})
    head = ["table", "pairing", "conditions", "row", "unit", *(c.words for c in columns), "notes"]
    rows = [head]
    for table in tables:
        sentences = dict(table.footnotes)
        for row in table.lines:
            entries = dict(zip(table.keys, row.places, strict=True))
            start = [table.quantity, table.pairing, table.conditions, row.label]
            figures = [entries[c].text if c in entries else "" for c in columns]
            notes = [
                f"{column.words}: {sentences[letter]}"
                for column, entry in entries.items()
                for letter in entry.notes
            ]
            rows.append([*start, row.unit, *figures, " ".join(notes)])
            if any(entry.shows_n for entry in row.places):
                counts = [str(entries[c].n) if c in entries else "" for c in columns]
                rows.append([*start, "n", *counts, ""])
    return csv_text(map(_cell, row) for row in rows)


def figures(parts: Iterable[Part]) -> str:
    """The tables of all parts in one long CSV table: a line for each figure, or for the reason of a
    blank. ``value`` has twelve digits, so that the order in which a sum was taken makes no
    difference; ``text`` is as printed.
    """
    rows = [["section", "table", "row", "column", "value", "unit", "text", "notes"]]
    for part in parts:
        for sheet in (*part.sheets, *part.details):
            sentences = dict(sheet.footnotes)
            for line in sheet.lines:
                for column, place in zip(sheet.columns, line.places, strict=True):
                    value = "" if place.value is None else f"{place.value:.12g}"
                    notes = " ".join(sentences[letter] for letter in place.notes)
                    start = [part.title, sheet.title, line.label, column]
                    end = [place.unit, place.text, notes]
                    rows.append([*map(_cell, start), value, *map(_cell, end)])
    return csv_text(rows)


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """Rows as CSV, each line with a line feed at its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def csv_value(value: object) -> str:
    """A value in a CSV file: numbers with all digits, an unknown value empty, texts harmless."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else harmless(printable(str(value)))


def _cell(text: str) -> str:
    return harmless(printable(text).lstrip())


def plain(table: Table, width: int | None = None) -> str:
    """One table for a terminal, no wider than ``width`` characters; ``None`` permits any width."""
    lines = [[table.corner, *table.columns]]
    for line in table.lines:
        places = [f"{p.words} {','.join(p.notes)}" if p.notes else p.words for p in line.places]
        lines.append([line.label, *places])
    body = table_lines([[*map(printable, line)] for line in lines], width, right=True)
    notes = [f"  {letter}  {printable(sentence)}" for letter, sentence in table.footnotes]
    return "\n".join([printable(table.title), *body, *notes])
