"""The record or the note in a line of the journal, checked.

A record holds the result of one trial (one repetition of a cell); every other line is a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netlab.experiment.records import Record, Value, check_text, from_data
from netlab.messages import _
from netlab.store.journal import JournalLine
from netlab.store.packed_values import all_shared, packed_values, shared
from netlab.store.plan import PlannedCell

MAX_NOTE_DEPTH = 16
"""Deepest nesting of a note's data."""
MAX_NUMBER = 2**31
"""Numbers of trials and attempts are below this limit."""

TrialKey = tuple[str, int]
"""A cell's key and the trial's number."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Checks of file contents; they raise ValueError, with a sentence, for impossible contents."""

    settings: Callable[[str, Mapping[str, Value]], None]
    """Checks the settings of a test, which is given by its name."""
    values: Callable[[Mapping[str, Value]], None]


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the journal that is not a record: ``session``, ``facts``, ``attempt``, …"""

    kind: str
    at: str
    """Wall clock of the machine that ran netlab, ISO 8601, UTC."""
    data: Mapping[str, Any]
    line: int
    """Line number in the journal, from 1."""


Keep = Callable[[Record], Record]
"""Reduces a record to the part that is kept in memory."""


def as_it_is(record: Record) -> Record:
    """Keep the whole record."""
    return record


def record_in(
    line: JournalLine, cells: Mapping[str, PlannedCell], check: RunCheck | None, keep: Keep
) -> Record:
    """The record in a line. Raises ValueError with a sentence if the record is malformed."""
    record = from_data(line.data, look_at_values=check is None)
    if not (0 < record.trial < MAX_NUMBER and 0 < record.attempt < MAX_NUMBER):
        raise ValueError("the number of the trial or of the attempt is not from 1 to 2^31 - 1")
    for name in (record.cell, record.pairing, record.server, record.client, record.test):
        check_text(name)
    cell = cells.get(record.cell)
    # Later readers of the record rely on the test of its cell.
    if cell is not None and (record.test, record.pairing) != (cell.test, cell.pairing):
        raise ValueError(_("its test or its pairing differs from that of its cell"))
    # The compact form is checked faster, because a series of machine numbers has one type.
    record = _compact(record, cell)
    if check is not None:
        check.settings(record.test, record.settings)
        check.values(record.values)
    reduced = keep(record)
    return record if reduced is record else _compact(reduced, cell)


def _compact(record: Record, cell: PlannedCell | None) -> Record:
    """The same record, sharing its texts and names with other records."""
    return replace(
        record,
        cell=record.cell if cell is None else cell.key,
        pairing=shared(record.pairing),
        server=shared(record.server),
        client=shared(record.client),
        test=shared(record.test),
        settings=packed_values(record.settings),
        values=packed_values(record.values),
    )


def note_in(line: JournalLine) -> Note:
    """The note in a line. Raises ValueError with a sentence if the note is malformed."""
    kind, at, data = (line.data.get(name) for name in ("kind", "at", "data"))
    if not isinstance(kind, str) or not isinstance(at, str) or not isinstance(data, dict):
        raise ValueError(_("neither a record nor a note"))
    _check_note(data, MAX_NOTE_DEPTH)
    if kind == "facts" and not isinstance(data.get("facts", {}), dict):
        raise ValueError(_("a note of facts that contains no mapping"))
    return Note(shared(kind), at, all_shared(data), line.number)


def _check_note(value: object, depth: int) -> None:
    """Raise ValueError for data that a page of the report cannot show."""
    if isinstance(value, dict | list):
        if not depth:
            raise ValueError(_("a note nested more than {depth} levels deep", depth=MAX_NOTE_DEPTH))
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_note(item, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(_("a note with a number that is infinite or not a number"))
    elif isinstance(value, str):
        check_text(value)
