"""Tables → Markdown, CSV and plain text. Pure; whatever a host or a file named is made harmless."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from netlab.export import harmless
from netlab.report.nouns import Entry, Row, Table
from netlab.report.words import printable

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~&])")


def markdown(title: str, tables: Iterable[Table], notes: Sequence[str] = ()) -> str:
    """All tables as one Markdown document: GitHub's tables, footnotes below each."""
    parts = [f"# {markdown_text(title)}\n"]
    parts += [f"{markdown_text(note)}\n" for note in notes]
    parts += [_markdown_table(table) for table in tables]
    return "\n".join(parts)


def _markdown_table(table: Table) -> str:
    widths = range(len(table.columns) + 1)
    grid = [
        [table.corner, *(column.words for column in table.columns)],
        *([row.label, *(_words(row, entry) for entry in row.entries)] for row in table.rows),
    ]
    cells = [[markdown_text(text) for text in line] for line in grid]
    for line, row in zip(cells[1:], table.rows, strict=True):
        for index, entry in enumerate(row.entries, start=1):
            line[index] = " ".join([*([line[index]] if line[index] else []), *_letters(entry)])
    wide = [max(3, *(len(line[index]) for line in cells)) for index in widths]
    lines = [
        "| " + " | ".join(text.rjust(wide[index]) for index, text in enumerate(line)) + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in wide) + "|")
    footnotes = [f"- *{letter}* {markdown_text(sentence)}" for letter, sentence in table.footnotes]
    blocks = [f"## {markdown_text(table.caption)}", "\n".join(lines)]
    return "\n\n".join([*blocks, *(["\n".join(footnotes)] if footnotes else [])]) + "\n"


def _letters(entry: Entry) -> list[str]:
    return [f"*{','.join(entry.notes)}*"] if entry.notes else []


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


def _cell(text: str) -> str:
    return harmless(printable(text).lstrip())


def _notes_of(table: Table, row: Row) -> str:
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
    flat = [[printable(text) for text in line] for line in lines]
    wide = [max(len(line[index]) for line in flat) for index in range(len(table.columns) + 1)]
    body = [
        "  ".join(
            text.ljust(wide[index]) if index == 0 else text.rjust(wide[index])
            for index, text in enumerate(line)
        ).rstrip()
        for line in flat
    ]
    footnotes = [f"  {letter}  {printable(sentence)}" for letter, sentence in table.footnotes]
    return "\n".join([printable(table.caption), *body, *footnotes])


def _marks(entry: Entry) -> list[str]:
    return [f" {','.join(entry.notes)}"] if entry.notes else []


def _words(row: Row, entry: Entry) -> str:
    """``94.10 (13)``; empty for a blank."""
    text = row.text(entry)
    return f"{text} ({entry.n})" if text and entry.shows_n else text
