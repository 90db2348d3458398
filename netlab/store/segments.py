"""Segments: closed parts of a journal as Parquet files, and an index of the trials in them.

The folder ``segments`` of a run has one file per segment, ``BEGIN-END.parquet``: the bytes of the
journal that it covers. A row is a record of a planned trial, with the columns of the run's table
and those of ``Private``. The journal remains the truth: a segment that does not agree with it is
not used. Functions that read or write a segment need pyarrow. This module is imported only for a
run with segments.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netlab.experiment.matrix import JUDGED, STEAL
from netlab.messages import _
from netlab.store.files import disk_errors, names_below, open_below, open_inside, read_at
from netlab.store.journal import Damage, JournalLine, TrialKey, items_of
from netlab.store.plan import Plan
from netlab.trial.record import REASONS, Record, Status

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FOLDER = "segments"
SCHEMA = 1
"""Version of the format. History: 1, the first one."""
METADATA = b"netlab"
"""Key of the segment's metadata in the Parquet file: the fields of ``Segment`` as JSON."""
_NAME = re.compile(r"(\d{15})-(\d{15})\.parquet")
_MOST_OTHERS = 10**6


class Private:
    """Names of columns that the run's table does not have: no value's name begins with ``_``."""

    BEGIN = "_begin_bytes"
    """Where the line of the record begins in the journal."""
    LENGTH = "_line_bytes"
    """Length of this line with its line feed."""
    STARTED = "_started"
    """Number of the last attempt at the trial that had begun by then in the segment."""
    STOPPED = "_stopped"
    """Whether data stopped in the trial (``interruptions``)."""
    STEAL = "_steal"
    """Largest share of a host's CPU time that a hypervisor stole; NULL: unknown."""


PRIVATE = (Private.BEGIN, Private.LENGTH, Private.STARTED, Private.STOPPED, Private.STEAL)


@dataclass(frozen=True, slots=True)
class LinePlace:
    """A line of the journal: its number (from 1), its position, its length with the line feed."""

    line: int
    begin_bytes: int
    size_bytes: int

    def __post_init__(self) -> None:
        numbers = (self.line, self.begin_bytes, self.size_bytes)
        if any(type(number) is not int for number in numbers) or self.size_bytes < 1:
            raise ValueError("not three numbers")

    @property
    def end_bytes(self) -> int:
        """Where the next line begins."""
        return self.begin_bytes + self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What a segment covers."""

    schema: int = SCHEMA
    begin_bytes: int
    end_bytes: int
    """The bytes of the journal that it covers: whole lines."""
    first_line: int
    lines: int
    rows: int
    damages: int
    """Number of damaged lines, and of records that are malformed or of no planned trial."""
    replaced: tuple[int, ...]
    """Positions in the journal of earlier records, of this segment or of one before it, that rows
    of this segment replace.
    """
    last: LinePlace
    last_crc32: int
    others: tuple[LinePlace, ...]
    """The lines that are read in the journal itself: notes, damage, records of no planned trial.
    The beginnings of attempts whose record is in the segment are left out."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.begin_bytes:015d}-{self.end_bytes:015d}.parquet"

    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of the Parquet file."""
        data = {
            **asdict(self),
            "last": astuple(self.last),
            "others": [astuple(place) for place in self.others],
        }
        return {METADATA: json.dumps(data, separators=(",", ":")).encode("ascii")}


def range_of(name: str) -> tuple[int, int] | None:
    """The bytes that a segment covers, from the file's name; ``None`` for another file."""
    match = _NAME.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


@contextmanager
def parquet_file(run: Path, name: str) -> Iterator[pq.ParquetFile]:
    """Open a segment of a run folder. Raises ValueError, with a clause, if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with os.fdopen(open_below(run, FOLDER, name), "rb") as file:
            yield pq.ParquetFile(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeError):
        raise ValueError(_("it is cut or damaged")) from None


def segment_of(run: Path, name: str) -> Segment:
    """What a segment says that it covers; ValueError, with a clause, if netlab cannot use it."""
    with parquet_file(run, name) as file:
        text = (file.metadata.metadata or {}).get(METADATA)
        rows = file.metadata.num_rows
    try:
        data = json.loads(text or b"null")
        schema = data["schema"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(_("it is not a segment of netlab")) from None
    if schema != SCHEMA:
        raise ValueError(_("its format has the version {version}", version=str(schema)[:20]))
    try:
        segment = _segment(data)
    except (KeyError, TypeError, ValueError):
        raise ValueError(_("its metadata is damaged")) from None
    if segment.name != name or segment.rows != rows:
        raise ValueError(_("its metadata is damaged"))
    return segment


def _segment(data: dict[str, Any]) -> Segment:
    last, others = LinePlace(*data["last"]), tuple(LinePlace(*line) for line in data["others"])
    segment = Segment(**{**data, "last": last, "others": others, "replaced": (*data["replaced"],)})
    numbers = (
        *(segment.begin_bytes, segment.end_bytes, segment.first_line, segment.lines),
        *(segment.rows, segment.damages, *segment.replaced, segment.last_crc32),
    )
    places = (segment.last, *segment.others)
    lines = range(segment.first_line, segment.first_line + segment.lines)
    if (
        any(type(number) is not int for number in numbers)
        or len(places) > _MOST_OTHERS
        or not 0 <= segment.begin_bytes < segment.end_bytes
        or any(place.line not in lines for place in places)
        or any(place.begin_bytes < segment.begin_bytes for place in places)
        or any(place.end_bytes > segment.end_bytes for place in places)
        or segment.last.end_bytes != segment.end_bytes
    ):
        raise ValueError("impossible numbers")
    return segment


def read_columns(run: Path, segment: Segment, names: Sequence[str]) -> pa.Table:
    """Columns of a segment; those that it does not have are left out. ValueError as above."""
    with parquet_file(run, segment.name) as file:
        present = set(file.schema_arrow.names)
        table = file.read(columns=[name for name in names if name in present])
    if table.num_rows != segment.rows:
        raise ValueError(_("it is cut or damaged"))
    return table


def checksum(line: bytes) -> int:
    """Checksum of the bytes of a line."""
    return zlib.crc32(line)


@dataclass(frozen=True, slots=True)
class SegmentChain:
    """Segments that follow each other without a gap, the first from byte 0 of the journal."""

    segments: tuple[Segment, ...] = ()
    remarks: tuple[Damage, ...] = ()
    """Why the next segment is not used; the journal itself is read from there."""

    @property
    def end_bytes(self) -> int:
        """Where the part of the journal begins that no segment covers."""
        return self.segments[-1].end_bytes if self.segments else 0

    @property
    def next_line(self) -> int:
        """Number of the first line that no segment covers."""
        last = self.segments[-1] if self.segments else None
        return last.first_line + last.lines if last else 1

    def until(self, name: str, error: ValueError, place: int | None = None) -> SegmentChain:
        """The chain up to ``place`` (by default, its end), before the segment that has a fault."""
        before = SegmentChain(self.segments[:place])
        words = _(
            "the segment {name} is not used, and the journal is read from here: {error}",
            name=name,
            error=error.args[0],
        )
        return SegmentChain(before.segments, (Damage(before.next_line, words),))


def chain_of(run: Path, journal: Path) -> SegmentChain:
    """The segments of a run folder that can be used instead of the journal.

    A segment is used if its format is known, the one before it ends where it begins, and its last
    line is in the journal as it was. Without pyarrow, there are none. Raises StoreError if a
    segment is a link, or the disk refuses.
    """
    ranges = {range_: name for name in names_below(run, FOLDER) if (range_ := range_of(name))}
    chain = SegmentChain()
    if not ranges or find_spec("pyarrow") is None or not os.path.lexists(journal):
        return chain
    reading = disk_errors(journal, "read the journal")
    with reading, os.fdopen(open_inside(journal), "rb") as file:
        # The longest of the segments with the same beginning is tried first.
        for begin_bytes, end_bytes in sorted(ranges, key=lambda range_: (range_[0], -range_[1])):
            if begin_bytes < chain.end_bytes:
                continue
            name = ranges[begin_bytes, end_bytes]
            try:
                segment = segment_of(run, name)
                if (segment.begin_bytes, segment.first_line) != (chain.end_bytes, chain.next_line):
                    raise ValueError(_("the segment before it is missing"))
                last = segment.last
                line = read_at(file.fileno(), last.size_bytes, last.begin_bytes)
                if len(line) < last.size_bytes:
                    raise ValueError(_("the journal is shorter than the part that it covers"))
                if checksum(line) != segment.last_crc32:
                    raise ValueError(_("the journal was changed since"))
            except ValueError as error:
                return chain.until(name, error)
            chain = SegmentChain((*chain.segments, segment))
    return chain


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
            with os.fdopen(open_inside(self._journal), "rb") as file:
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
