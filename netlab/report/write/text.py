"""Tables and sheets → Markdown, CSV and plain text. Pure; names out of files are made harmless."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from netlab.report.tables.elements import Entry, EntryRow, Part, Sheet, SheetCell, Table
from netlab.results.export import harmless
from netlab.results.labels import printable

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~&])")


def markdown(
    title: str,
    tables: Iterable[Table],
    notes: Sequence[str] = (),
    parts: Iterable[Part] = (),
) -> str:
    """All tables and sheets as one Markdown document: GitHub's tables, footnotes below each."""
    blocks = [f"# {markdown_text(title)}\n"]
    blocks += [f"{markdown_text(note)}\n" for note in notes]
    blocks += [_markdown_table(table) for table in tables]
    for part in parts:
        blocks += [f"## {markdown_text(part.title)}\n"]
        blocks += [f"{markdown_text(paragraph)}\n" for paragraph in part.paragraphs]
        blocks += [_markdown_sheet(sheet) for sheet in (*part.sheets, *part.details)]
    return "\n".join(blocks)


def _markdown_table(table: Table) -> str:
    grid = [
        [table.corner, *(column.words for column in table.columns)],
        *([row.label, *(_words(row, entry) for entry in row.entries)] for row in table.rows),
    ]
    marks = [_letters(entry.notes) for row in table.rows for entry in row.entries]
    return _markdown_block(2, table.caption, grid, marks, table.footnotes)


def _markdown_sheet(sheet: Sheet) -> str:
    grid = [[sheet.corner, *sheet.columns], *_sheet_lines(sheet)]
    marks = [_letters(place.notes) for line in sheet.lines for place in line.places]
    return _markdown_block(3, sheet.title, grid, marks, sheet.footnotes)


def _markdown_block(
    depth: int,
    caption: str,
    grid: list[list[str]],
    marks: Sequence[str],
    footnotes: Sequence[tuple[str, str]],
) -> str:
    """Heading, table, footnotes; ``marks`` has the letters of every place but the headings."""
    cells = [[markdown_text(text) for text in line] for line in grid]
    places = [(line, index) for line in cells[1:] for index in range(1, len(line))]
    for (line, index), mark in zip(places, marks, strict=True):
        line[index] = " ".join(word for word in (line[index], mark) if word)
    wide = [max(3, *(len(line[index]) for line in cells)) for index in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(text.rjust(wide[index]) for index, text in enumerate(line)) + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in wide) + "|")
    said = [f"- *{letter}* {markdown_text(sentence)}" for letter, sentence in footnotes]
    blocks = [f"{'#' * depth} {markdown_text(caption)}", "\n".join(lines)]
    return "\n\n".join([*blocks, *(["\n".join(said)] if said else [])]) + "\n"


def _letters(notes: tuple[str, ...]) -> str:
    return f"*{','.join(notes)}*" if notes else ""


def _sheet_lines(sheet: Sheet) -> list[list[str]]:
    return [[line.label, *(place.text for place in line.places)] for line in sheet.lines]


def markdown_text(text: str) -> str:
    """Text as Markdown shows it, and nothing else: on one line, no markup, no HTML."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def comma_separated(tables: Sequence[Table]) -> str:
    """All tables in one rectangle: a line a row, a column a protocol and message size.

    ``unit`` and ``row`` say what the figures of a line are; where a figure is the mean of several,
    a line with the unit ``n`` follows. A blank stays empty, and ``notes`` says why.
    """
    columns = sorted({column for table in tables for column in table.columns})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["table", "pairing", "conditions", "row", "unit", *(c.words for c in columns), "notes"]
    writer.writerow(map(_cell, head))
    for table in tables:
        for row in table.rows:
            entries = dict(zip(table.columns, row.entries, strict=True))
            start = [table.quantity, table.pairing, table.conditions, row.label]
            figures = [row.text(entries[c]) if c in entries else "" for c in columns]
            notes = _notes_of(table, row)
            writer.writerow(map(_cell, [*start, row.unit, *figures, notes]))
            if any(entry.shows_n for entry in row.entries):
                counts = [str(entries[c].n) if c in entries else "" for c in columns]
                writer.writerow(map(_cell, [*start, "n", *counts, ""]))
    return out.getvalue()


def figures(parts: Iterable[Part]) -> str:
    """All sheets in one long table: a line a figure, with its unit and what a blank's reason is.

    ``value`` is empty where the place is blank or holds words, else to twelve figures, so that the
    order of a sum does not show; ``text`` is as printed.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["section", "table", "row", "column", "value", "unit", "text", "notes"])
    for part in parts:
        for sheet in (*part.sheets, *part.details):
            sentences = dict(sheet.footnotes)
            for line in sheet.lines:
                for column, place in zip(sheet.columns, line.places, strict=True):
                    value = "" if place.value is None else f"{place.value:.12g}"
                    notes = " ".join(sentences[letter] for letter in place.notes)
                    start = [part.title, sheet.title, line.label, column]
                    rest = [place.text, notes]
                    writer.writerow(
                        [*map(_cell, start), value, _cell(place.unit), *map(_cell, rest)]
                    )
    return out.getvalue()


def _cell(text: str) -> str:
    return harmless(printable(text).lstrip())


def _notes_of(table: Table, row: EntryRow) -> str:
    sentences = dict(table.footnotes)
    return " ".join(
        f"{column.words}: {sentences[letter]}"
        for column, entry in zip(table.columns, row.entries, strict=True)
        for letter in entry.notes
    )


def plain(table: Table) -> str:
    """One table for a terminal."""
    lines = [
        [table.corner, *(column.words for column in table.columns)],
        *(
            [row.label, *(_words(row, entry) + "".join(_marks(entry)) for entry in row.entries)]
            for row in table.rows
        ),
    ]
    return _plain_block(table.caption, lines, table.footnotes)


def plain_sheet(sheet: Sheet) -> str:
    """One sheet for a terminal."""
    lines = [
        [sheet.corner, *sheet.columns],
        *(
            [line.label, *(place.text + "".join(_marks(place)) for place in line.places)]
            for line in sheet.lines
        ),
    ]
    return _plain_block(sheet.title, lines, sheet.footnotes)


def _plain_block(caption: str, lines: list[list[str]], footnotes: Sequence[tuple[str, str]]) -> str:
    flat = [[printable(text) for text in line] for line in lines]
    wide = [max(len(line[index]) for line in flat) for index in range(len(flat[0]))]
    body = [
        "  ".join(
            text.ljust(wide[index]) if index == 0 else text.rjust(wide[index])
            for index, text in enumerate(line)
        ).rstrip()
        for line in flat
    ]
    said = [f"  {letter}  {printable(sentence)}" for letter, sentence in footnotes]
    return "\n".join([printable(caption), *body, *said])


def _marks(entry: Entry | SheetCell) -> list[str]:
    return [f" {','.join(entry.notes)}"] if entry.notes else []


def _words(row: EntryRow, entry: Entry) -> str:
    """``94.10 (13)``; empty for a blank."""
    text = row.text(entry)
    return f"{text} ({entry.n})" if text and entry.shows_n else text
