"""The index of the trials in the segments of a run.

It is imported only for a run with segments, because it needs numpy, whose import takes time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netlab.experiment.matrix import JUDGED, STEAL
from netlab.messages import _
from netlab.store.files import open_inside, read_at
from netlab.store.journal import JournalLine, TrialKey, items_of
from netlab.store.plan import Plan
from netlab.store.segments import (
    PRIVATE,
    Private,
    Segment,
    SegmentChain,
    parquet_file,
    read_columns,
)
from netlab.trial.record import REASONS, Record, Status

if TYPE_CHECKING:
    import pyarrow as pa

_THREADS = min(4, os.cpu_count() or 1)
"""Segments that are read at the same time: most of their reading needs no interpreter."""
_STATUSES: tuple[Status, ...] = tuple(Status)
_NO_RECORD = 255
_WORDS = ("status", "reason")
_NUMBERS = ("trial", "errno", *PRIVATE)
_OUTLINE = ("attempt", "detail", "server", "client", "started_at", *JUDGED)
"""Further columns of an outline of a record."""


class DamagedSegment(ValueError):
    """A segment that cannot be read; the first argument is a clause about why."""

    def __init__(self, clause: str, segment: Segment) -> None:
        super().__init__(clause)
        self.segment = segment


class TrialIndex:
    """The records in a chain of segments. A row is a record, in the order of the journal."""

    def __init__(self, run: Path, journal: Path, plan: Plan, chain: SegmentChain) -> None:
        """Read the columns. Raises DamagedSegment."""
        self._run, self._journal, self._plan = run, journal, plan
        self.chain = chain
        most = [plan.most_of(cell) for cell in plan.cells]
        self._first = np.concatenate([[0], np.cumsum(most, dtype=np.int64)])
        self._cells = {cell.key: place for place, cell in enumerate(plan.cells)}
        firsts = self._first.tolist()
        self._ranges = {
            cell.key: (first, number)
            for cell, first, number in zip(plan.cells, firsts, most, strict=False)
        }
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = [*pool.map(self._part, chain.segments)]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        self._columns = columns
        self._outlines: dict[int, dict[str, pa.ChunkedArray]] = {}
        self._ordinals = columns["ordinal"]
        total = int(self._first[-1])
        self._row_of = np.full(total, -1, dtype=np.int64)
        self._row_of[self._ordinals] = np.arange(len(self._ordinals))  # the last one counts
        self._started = np.zeros(total, dtype=np.int64)
        np.maximum.at(self._started, self._ordinals, columns[Private.STARTED])
        # Bytes are looked up faster than items of an array.
        statuses = columns["status"][self._row_of].astype(np.uint8)
        statuses[self._row_of < 0] = _NO_RECORD
        self._statuses = statuses.tobytes()
        impossible = (columns["status"] == _STATUSES.index(Status.IMPOSSIBLE)) & columns["lasting"]
        final = (columns["status"] == _STATUSES.index(Status.OK)) | impossible
        self._final = (final[self._row_of] & (self._row_of >= 0)).tobytes()

    def _part(self, segment: Segment) -> dict[str, np.ndarray[Any, Any]]:
        """The columns of one segment as arrays."""
        try:
            return self._arrays(read_columns(self._run, segment, ["cell", *_WORDS, *_NUMBERS]))
        except (ValueError, KeyError, TypeError) as error:
            clause = error.args[0] if type(error) is ValueError else _("it is cut or damaged")
            raise DamagedSegment(clause, segment) from None

    def _arrays(self, table: pa.Table) -> dict[str, np.ndarray[Any, Any]]:
        import pyarrow.compute as pc

        found = pc.index_in(table["cell"].cast("string"), value_set=self._keys)
        # A cell that is not in the plan has the place -1.
        places = _array(found, "int64") - _array(found.is_null(), "int64")
        trials = _whole(table, "trial")
        if len(places) and (places.min() < 0 or trials.min() < 1):
            raise ValueError(_("it has a trial that is not in the plan"))
        ordinals = self._first[places] + trials - 1
        if (ordinals >= self._first[places + 1]).any():
            raise ValueError(_("it has a trial that is not in the plan"))
        statuses, status_codes = _words(table, "status")
        order = [*map(str, _STATUSES)]
        status_places = np.array([order.index(word) for word in statuses], dtype=np.int8)
        reasons, reason_codes = _words(table, "reason")
        lasting = [word in REASONS and REASONS[word].lasting for word in reasons]
        has_no_errno = _array(table["errno"].is_null(), "int8").astype(bool)
        begins, sizes = (_whole(table, name) for name in (Private.BEGIN, Private.LENGTH))
        if len(begins) and (begins.min() < 0 or sizes.min() < 1):
            raise ValueError(_("it is cut or damaged"))
        return {
            "ordinal": ordinals,
            "status": status_places[status_codes],
            "lasting": np.array(lasting, dtype=bool)[reason_codes] & has_no_errno,
            Private.BEGIN: begins,
            Private.LENGTH: sizes,
            Private.STARTED: _whole(table, Private.STARTED),
            Private.STOPPED: _array(table[Private.STOPPED], "int8").astype(bool),
            Private.STEAL: _array(table[Private.STEAL], "float64"),
        }

    # Trials

    def __len__(self) -> int:
        """Number of trials that have a record."""
        return len(self._statuses) - self._statuses.count(_NO_RECORD)

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self._ordinals)

    @property
    def begin_bytes(self) -> int:
        """Where the first record begins in the journal."""
        return int(self._columns[Private.BEGIN].min()) if self.rows else 2**63

    def last_bytes(self, trial: TrialKey) -> int:
        """Where the last record of a trial begins in the journal; -1: it has none."""
        row = self.row_of(trial)
        return -1 if row is None else int(self._columns[Private.BEGIN][row])

    def key_of(self, row: int) -> TrialKey:
        """The trial of a record."""
        return self._key(int(self._ordinals[row]))

    def row_of(self, trial: object) -> int | None:
        """The row of the last record of a trial; ``None`` if it has none."""
        ordinal = self._ordinal(trial)
        row = -1 if ordinal is None else int(self._row_of[ordinal])
        return None if row < 0 else row

    def _ordinal(self, trial: object) -> int | None:
        match trial:
            case (str(cell), int(number)):
                first, most = self._ranges.get(cell, (0, 0))
                return first + number - 1 if 1 <= number <= most else None
        return None

    def trials(self) -> Iterator[TrialKey]:
        """The trials that have a record, in the order of their first records."""
        ordinals, rows = np.unique(self._ordinals, return_index=True)
        return map(self._key, ordinals[np.argsort(rows)].tolist())

    def doubtful(self, most_steal: float | None) -> Iterator[TrialKey]:
        """The trials in whose last record data stopped, or more CPU time was stolen than that."""
        is_odd = self._columns[Private.STOPPED]
        if most_steal is not None:
            is_odd = is_odd | (self._columns[Private.STEAL] > most_steal)
        rows = np.sort(self._row_of[self._row_of >= 0])
        return (self._key(int(self._ordinals[row])) for row in rows[is_odd[rows]])

    def _key(self, ordinal: int) -> TrialKey:
        place = int(np.searchsorted(self._first, ordinal, side="right")) - 1
        return self._plan.cells[place].key, ordinal - int(self._first[place]) + 1

    def started(self, trial: TrialKey) -> int:
        """The highest number of an attempt at a trial that has a record; 0: none."""
        ordinal = self._ordinal(trial)
        return 0 if ordinal is None else int(self._started[ordinal])

    # Records

    def status(self, trial: TrialKey) -> Status | None:
        """The status of a trial's last record; ``None`` without one."""
        ordinal = self._ordinal(trial)
        code = _NO_RECORD if ordinal is None else self._statuses[ordinal]
        return None if code == _NO_RECORD else _STATUSES[code]

    def counts(self, trials: Mapping[str, int]) -> Counter[Status]:
        """Number of trials by status, pending without a record; as ``Gathered.counts``."""
        codes = self._columns["status"][self._row_of]
        codes[self._row_of < 0] = _STATUSES.index(Status.PENDING)
        most = np.array([trials[cell.key] for cell in self._plan.cells], dtype=np.int64)
        number = np.arange(len(codes)) - np.repeat(self._first[:-1], np.diff(self._first))
        counted = np.bincount(codes[number < np.repeat(most, np.diff(self._first))], minlength=4)
        return Counter(dict(zip(_STATUSES, map(int, counted), strict=True)))

    def is_final(self, trial: TrialKey) -> bool:
        """Whether a trial's last record is final (``Record.is_final``); false without one."""
        ordinal = self._ordinal(trial)
        return ordinal is not None and bool(self._final[ordinal])

    def is_finished(self, cell: str, trials: int) -> bool:
        """Whether so many first trials of a cell all have a final record."""
        first, most = self._ranges[cell]
        return trials <= most and self._final.count(1, first, first + trials) == trials

    def lines(self, row: int) -> Iterator[JournalLine]:
        """The intact lines at the place of a record in the journal, with the number 0."""
        size, begin = (int(self._columns[name][row]) for name in (Private.LENGTH, Private.BEGIN))
        try:
            with open_inside(self._journal.parent, self._journal.name) as file:
                piece = read_at(file.fileno(), size, begin)
        except OSError:
            return
        yield from (item for item in items_of(piece, 0) if isinstance(item, JournalLine))

    def outline(self, row: int) -> Record:
        """The record without its settings, and with the values only by which trials are repeated
        and cells end. ``matrix.outline`` keeps all values if data stopped; this one does not.
        Raises DamagedSegment.
        """
        place = int(np.searchsorted(self._ends, row, side="right"))
        of_row = row - (int(self._ends[place - 1]) if place else 0)
        if place not in self._outlines:
            segment = self.chain.segments[place]
            try:
                with parquet_file(self._run, segment.name) as file:
                    steals = [name for name in file.schema_arrow.names if name.endswith(STEAL)]
                names = [*_OUTLINE, "reason", "errno", *steals]
                table = read_columns(self._run, segment, names)
                _whole(table, "attempt")
            except (ValueError, KeyError) as error:
                raise DamagedSegment(error.args[0], segment) from None
            self._outlines[place] = {name: table[name] for name in table.column_names}
        known = {name: column[of_row].as_py() for name, column in self._outlines[place].items()}
        cell_key, trial = self.key_of(row)
        cell = self._plan.cells[self._cells[cell_key]]
        values = {
            name: value
            for name, value in known.items()
            if (name in JUDGED or name.endswith(STEAL)) and value is not None
        }
        return Record(
            cell=cell_key,
            trial=trial,
            attempt=known["attempt"],
            status=_STATUSES[int(self._columns["status"][row])],
            pairing=cell.pairing,
            server=known.get("server") or "",
            client=known.get("client") or "",
            test=cell.test,
            started_at=known.get("started_at") or "",
            settings={},
            values=values,
            reason=known["reason"],
            errno=known["errno"],
            detail=known.get("detail"),
        )

    def has_stopped(self, row: int) -> bool:
        """Whether data stopped in the trial of a record."""
        return bool(self._columns[Private.STOPPED][row])

    @cached_property
    def _ends(self) -> np.ndarray[Any, Any]:
        return np.cumsum([segment.rows for segment in self.chain.segments])

    @cached_property
    def _keys(self) -> pa.Array:
        """Keys of the cells. Arrow's own function for this imports pandas, which takes 0.4 s."""
        import pyarrow as pa

        keys = [key.encode("utf-8", "backslashreplace") for key in self._cells]
        ends = np.cumsum([0, *map(len, keys)], dtype=np.int32)
        buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(keys))]
        return pa.Array.from_buffers(pa.string(), len(keys), buffers)


def index_of(
    run: Path, journal: Path, plan: Plan, chain: SegmentChain
) -> tuple[SegmentChain, TrialIndex | None]:
    """The chain up to its first segment that cannot be read, and its index, if any is left."""
    while chain.segments:
        try:
            return chain, TrialIndex(run, journal, plan, chain)
        except DamagedSegment as error:
            segment = error.segment
            chain = chain.until(segment.name, error, chain.segments.index(segment))
    return chain, None


def _words(table: pa.Table, name: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    """The different texts of a column (NULL is empty), and the place of each row's text in them."""
    coded = table[name].cast("string").combine_chunks().dictionary_encode(null_encoding="encode")
    return [text or "" for text in coded.dictionary.to_pylist()], _array(coded.indices, "int32")


def _whole(table: pa.Table, name: str) -> np.ndarray[Any, Any]:
    if table[name].null_count:
        raise ValueError(_("it is cut or damaged"))
    return _array(table[name], "int64")


def _array(column: pa.Array | pa.ChunkedArray, type_: str) -> np.ndarray[Any, Any]:
    """A column as an array of numbers; NULL is 0. Arrow's own function for this imports pandas,
    which takes 0.4 s.
    """
    import pyarrow as pa

    array = column.cast(type_)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    values = array.buffers()[1]
    if values is None:
        return np.zeros(len(array), dtype=type_)
    numbers = np.frombuffer(values, dtype=type_)[array.offset : array.offset + len(array)]
    if array.null_count:
        numbers = np.where(_array(array.is_null(), "int8"), 0, numbers)
    return numbers
