"""Segments: closed parts of a journal as Parquet files.

The folder ``segments`` of a run has one file per segment, ``BEGIN-END.parquet``: the bytes of the
journal that it covers. A row is a record of a planned trial, with the columns of the run's table
and those of ``Private``. The journal remains the truth: a segment that does not agree with it is
not used. Functions that read or write a segment need pyarrow.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.messages import _
from netlab.store.files import disk_errors, names_below, open_inside, read_at
from netlab.store.journal import Damage

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
        with open_inside(run, FOLDER, name) as file:
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
    with reading, open_inside(journal.parent, journal.name) as file:
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
                if zlib.crc32(line) != segment.last_crc32:
                    raise ValueError(_("the journal was changed since"))
            except ValueError as error:
                return chain.until(name, error)
            chain = SegmentChain((*chain.segments, segment))
    return chain
