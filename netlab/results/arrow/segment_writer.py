"""Compaction: closed parts of a run's journal become segments, Parquet files that are read faster.

A process of its own makes them, with the lowest priority; it may outlast the command that started
it, and nothing waits for it. It has a lock of its own: segments cover only whole lines of the
journal, which nobody changes.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Collection, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.errors import LockedError
from netlab.experiment.matrix import STEAL
from netlab.interpreter import with_this_netlab
from netlab.results.columns import columns_of
from netlab.results.rows import column_of, names_ending, row_of, text_of
from netlab.results.value_types import RUN_CHECK
from netlab.store import journal as journal_lines
from netlab.store import segments
from netlab.store.files import names_below, remove_below, write_private
from netlab.store.journal import Damage, JournalLine, TrialKey, items_of, scan_pieces
from netlab.store.journal_reading import WriterLock, counted_attempt
from netlab.store.plan import Plan, PlannedCell, PlannedTrials
from netlab.store.reader import JOURNAL, read_plan
from netlab.store.segments import FOLDER, LinePlace, Private, Segment, chain_of
from netlab.trial.column import Dtype
from netlab.trial.interruptions import interruptions

if TYPE_CHECKING:
    import pyarrow as pa


SEGMENT_BYTES = 256 << 20
"""A segment is closed when it covers so many bytes of the journal, or so many lines."""
SEGMENT_LINES = 200_000
LEAST_BYTES = 64 << 20
"""A shorter rest of a journal stays without a segment, because it is read in about a second."""
LEAST_LINES = 50_000
SEGMENTS_LOCK = "segments.lock"
"""Name of the lock in a run folder that only processes which make segments take."""
LOOK_AFTER = 500
"""Records after which the size of the journal is looked at again."""
PATIENCE_S = 3600.0
"""Time that the process waits for another one that makes segments of the same run."""


class Columns:
    """Rows that are collected column by column, which takes less memory than row by row."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {}
        self._of_names: dict[tuple[str, ...], list[list[Any]]] = {}
        """The columns of rows with these names, because many rows have the same names."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; absent names are NULL."""
        names = tuple(row)
        columns = self._of_names.get(names)
        if columns is None:
            columns = [self._columns.setdefault(name, []) for name in names]
            self._of_names[names] = columns
        for column, value in zip(columns, row.values(), strict=True):
            if len(column) < self.rows:
                column.extend([None] * (self.rows - len(column)))
            # A series becomes text now, because its numbers take more memory.
            column.append(text_of(value) if type(value) is list else value)
        self.rows += 1

    def table(self, always: Collection[str], own: Mapping[str, Dtype]) -> pa.Table:
        """The rows as a table: the columns ``always``, the others, sorted by name, and ``own``.

        ``own``: columns that the run's table does not have, and their types.
        """
        import pyarrow as pa

        extra = sorted(self._columns.keys() - {*always, *own})
        for column in self._columns.values():
            column.extend([None] * (self.rows - len(column)))
        nothing = [None] * self.rows
        types = {"boolean": pa.bool_(), "Int64": pa.int64(), "Float64": pa.float64()}
        arrays = {}
        for name in (*always, *extra, *own):
            values = self._columns.get(name, nothing)
            dtype, values = (own[name], values) if name in own else column_of(values, name)
            arrays[name] = pa.array(values, types.get(dtype, pa.string()))
        return pa.table(arrays)


def segments_made(folder: Path) -> list[str]:
    """Start the process if the journal of a run has enough lines without a segment.

    Returns a sentence if that fails. The run has ended by then, and its journal is complete.
    """
    try:
        if is_due(folder):
            _started(folder, LEAST_BYTES, LEAST_LINES)
    except Exception as error:
        return [f"{folder}: no segments were made of the journal, which is complete: {error}"]
    return []


class BackgroundSegments:
    """Starts the process for the run of a session whenever a whole segment can be closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._records = 0
        self._journal_bytes = self._size_bytes()

    def on_record(self) -> None:
        """Count a record that was written; start the process if a segment can be closed."""
        self._records += 1
        if self._records % LOOK_AFTER:
            return
        size_bytes = self._size_bytes()
        if size_bytes - self._journal_bytes >= SEGMENT_BYTES or self._records >= SEGMENT_LINES:
            self._records, self._journal_bytes = 0, size_bytes
            if self._process is None or self._process.poll() is not None:
                self._process = _started(self._folder, SEGMENT_BYTES, SEGMENT_LINES)

    def _size_bytes(self) -> int:
        try:
            return (self._folder / JOURNAL).stat().st_size
        except OSError:
            return 0


def _started(folder: Path, least_bytes: int, least_lines: int) -> subprocess.Popen[bytes]:
    run = folder.resolve()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(run), str(least_bytes), str(least_lines)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=with_this_netlab(),
        cwd=run.anchor,  # no other folder is kept in use
        # It lives on when the terminal closes.
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0)
        | getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
    )
    # Whoever started a process has to take in its end; this command may end before it.
    threading.Thread(target=process.wait, daemon=True).start()
    return process


_OWN: Mapping[str, Dtype] = {
    Private.BEGIN: "Int64",
    Private.LENGTH: "Int64",
    Private.STARTED: "Int64",
    Private.STOPPED: "boolean",
    Private.STEAL: "Float64",
}
_STATISTICS = (
    *("cell", "trial", "status", "pairing", "test", "protocol", "message_bytes", "started_at"),
    "throughput_bit_per_s",
)
"""Columns with statistics: those that a query selects rows by. Statistics of all columns would make
each file slower to open."""


def is_due(folder: Path) -> bool:
    """Whether the part of the journal without a segment is long enough for one."""
    if find_spec("pyarrow") is None:
        return False
    journal = folder / JOURNAL
    return not _is_short(journal, chain_of(folder, journal).end_bytes, LEAST_BYTES, LEAST_LINES)


def compact(
    folder: Path,
    *,
    least_bytes: int = LEAST_BYTES,
    least_lines: int = LEAST_LINES,
    patience_s: float = 0.0,
) -> int:
    """Make segments of the part of the journal that has none yet; return how many.

    A last part that is shorter than ``least_bytes`` and ``least_lines`` stays without a segment.
    Another process may write records meanwhile. Returns 0 if, after ``patience_s``, still another
    process makes segments of this run. Raises UsageError if there is no run folder, StoreError if
    the disk refuses; what is already there stays whole.
    """
    if find_spec("pyarrow") is None:
        return 0
    plan, _ = read_plan(folder, RUN_CHECK)
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            lock = WriterLock.acquire(folder / SEGMENTS_LOCK)
            break
        except LockedError:
            if time.monotonic() >= give_up_at:
                return 0
            time.sleep(1.0)
    try:
        return _compact(folder, plan, least_bytes, least_lines)
    finally:
        lock.release()


def _compact(folder: Path, plan: Plan, least_bytes: int, least_lines: int) -> int:
    from netlab.store.trial_index import index_of

    journal = folder / JOURNAL
    chain, index = index_of(folder, journal, plan, chain_of(folder, journal))
    if _is_short(journal, chain.end_bytes, least_bytes, least_lines):
        return 0
    trials = () if index is None else index.trials()
    recorded = {trial: index.last_bytes(trial) for trial in trials if index is not None}
    stale = {name for name in names_below(folder, FOLDER) if segments.range_of(name)}
    for name in stale - {segment.name for segment in chain.segments}:
        remove_below(folder, FOLDER, name)
    part = _OpenPart(plan, recorded, chain.end_bytes, chain.next_line)
    count = 0
    for size_bytes, piece in scan_pieces(journal, chain.end_bytes):
        if not piece.endswith(b"\n"):
            break  # torn: a later write may complete the line
        part.take(size_bytes, piece)
        if part.size_bytes >= SEGMENT_BYTES or part.lines >= SEGMENT_LINES:
            if part.damages > journal_lines.MAX_DAMAGES:
                return count
            _write(folder, part)
            count += 1
            part = _OpenPart(plan, recorded, part.end_bytes, part.next_line)
    if (part.size_bytes >= least_bytes or part.lines >= least_lines) and part.lines:
        if part.damages > journal_lines.MAX_DAMAGES:
            return count
        _write(folder, part)
        count += 1
    return count


def _is_short(journal: Path, begin_bytes: int, least_bytes: int, least_lines: int) -> bool:
    """Whether the rest of a journal is too short for a segment."""
    least_bytes, least_lines = min(least_bytes, SEGMENT_BYTES), min(least_lines, SEGMENT_LINES)
    size_bytes = 0
    for lines, (piece_bytes, _piece) in enumerate(scan_pieces(journal, begin_bytes), 1):
        size_bytes += piece_bytes
        if size_bytes >= least_bytes or lines >= least_lines:
            return False
    return True


@dataclass(slots=True)
class _OpenPart:
    """A part of the journal that becomes a segment."""

    plan: Plan
    recorded: dict[TrialKey, int]
    """Trial → where its last record begins, in this part or before it."""
    begin_bytes: int
    first_line: int
    size_bytes: int = 0
    lines: int = 0
    damages: int = 0
    replaced: list[int] = field(default_factory=list)
    last: tuple[LinePlace, bytes] = field(init=False)
    """The last line; a part without lines never becomes a segment."""
    others: dict[int, LinePlace] = field(default_factory=dict)
    """Number of a line → its place; see ``Segment.others``."""
    columns: Columns = field(default_factory=Columns)
    begun: dict[TrialKey, tuple[int, int]] = field(default_factory=dict)
    """Trial → number of its last attempt without a record yet, and the line that began it."""
    started: dict[TrialKey, int] = field(default_factory=dict)
    """Trial → number of its last attempt that was begun or recorded in this part."""
    _planned: Container[object] = field(init=False)
    _cells: Mapping[str, PlannedCell] = field(init=False)

    def __post_init__(self) -> None:
        self._planned = PlannedTrials(self.plan)
        self._cells = {cell.key: cell for cell in self.plan.cells}

    @property
    def end_bytes(self) -> int:
        return self.begin_bytes + self.size_bytes

    @property
    def next_line(self) -> int:
        return self.first_line + self.lines

    def take(self, size_bytes: int, piece: bytes) -> None:
        """Add a line: its length in the file, and the line with its line feed."""
        place = LinePlace(line=self.next_line, begin_bytes=self.end_bytes, size_bytes=size_bytes)
        is_other = False
        for item in items_of(piece, place.line):
            if isinstance(item, Damage):
                self.damages += 1
                is_other = True
            elif item.data.get("kind") == "record":
                is_other |= not self._take_record(item, place)
            else:
                is_other = True
                self._take_attempt(item)
        if is_other:
            self.others[place.line] = place
        self.size_bytes += size_bytes
        self.lines += 1
        self.last = place, piece

    def _take_record(self, line: JournalLine, place: LinePlace) -> bool:
        """Add the record in a line, if it is of a planned trial; return whether it is."""
        try:
            record = journal_lines.record_in(line, self._cells, RUN_CHECK)
        except ValueError:
            self.damages += 1
            return False
        trial = (record.cell, record.trial)
        if trial not in self._planned:
            self.damages += 1
            return False
        attempt, begun_line = self.begun.pop(trial, (0, 0))
        self.others.pop(begun_line, None)  # the record says that the attempt began
        started = max(attempt, counted_attempt(record.attempt), self.started.get(trial, 0))
        self.started[trial] = started
        if trial in self.recorded:
            self.replaced.append(self.recorded[trial])
        self.recorded[trial] = place.begin_bytes
        row = row_of(self._cells[record.cell], record.trial, record)
        names = names_ending(tuple(record.values), STEAL)
        steals = [share for name in names if (share := record.number(name)) is not None]
        self.columns.add(
            {
                **row,
                Private.BEGIN: place.begin_bytes,
                Private.LENGTH: place.size_bytes,
                Private.STARTED: started,
                Private.STOPPED: any(interruptions(record)),
                # The largest share of a host's CPU time that a hypervisor stole, if it is known.
                Private.STEAL: max(steals, default=None),
            }
        )
        return True

    def _take_attempt(self, line: JournalLine) -> None:
        """Remember the beginning of an attempt at a planned trial."""
        try:
            note = journal_lines.note_in(line)
        except ValueError:
            self.damages += 1
            return
        trial = (note.data.get("cell"), note.data.get("trial"))
        if note.kind == "attempt" and trial in self._planned:
            before, _line = self.begun.get(trial, (0, 0))  # type: ignore[arg-type]  # it is planned
            attempt = max(before, counted_attempt(note.data.get("attempt")))
            self.begun[trial] = attempt, line.number  # type: ignore[index]

    def segment(self) -> Segment:
        """What the segment of this part covers."""
        place, piece = self.last
        return Segment(
            begin_bytes=self.begin_bytes,
            end_bytes=self.end_bytes,
            first_line=self.first_line,
            lines=self.lines,
            rows=self.columns.rows,
            damages=self.damages,
            replaced=tuple(self.replaced),
            last=place,
            last_crc32=zlib.crc32(piece),
            others=tuple(self.others.values()),
        )


def _write(folder: Path, part: _OpenPart) -> None:
    import pyarrow.parquet as pq

    segment = part.segment()
    tests = dict.fromkeys(cell.test for cell in part.plan.cells)
    table = part.columns.table(columns_of(tests), _OWN)
    data = io.BytesIO()
    with pq.ParquetWriter(
        data,
        table.schema,
        compression="zstd",
        write_statistics=[name for name in _STATISTICS if name in table.column_names],
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
        writer.add_key_value_metadata(segment.metadata())
    write_private(folder, FOLDER, segment.name, data.getvalue())


def main() -> None:
    """Make the segments of the run that the arguments name."""
    folder, least_bytes, least_lines = sys.argv[1:]
    with suppress(AttributeError, OSError):  # Windows: the priority is given at the start
        os.nice(19)
    compact(
        Path(folder),
        least_bytes=int(least_bytes),
        least_lines=int(least_lines),
        patience_s=PATIENCE_S,
    )


if __name__ == "__main__":
    main()
