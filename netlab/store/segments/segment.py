"""One segment: a Parquet file with the records of a closed part of the journal.

The folder ``segments`` of a run has one file per segment, ``BEGIN-END.parquet``: the bytes of the
journal that it covers. A row is a record of a planned trial, with the columns of the run's table
and those of ``Private``. The journal remains the truth: a segment that does not agree with it is
not used. All functions of this module need pyarrow.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.messages import _
from netlab.store.files import open_below

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
    """Names of the columns that the run's table does not have. No value of a record can have such a
    name, because it begins with an underscore.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlace:
    """A line of the journal: its number (from 1), its position, its length with the line feed."""

    line: int
    begin_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What a segment covers."""

    schema: int = SCHEMA
    begin_bytes: int
    end_bytes: int
    """The bytes of the journal that it covers: whole lines."""
    first_line: int
    """Number of the first line."""
    lines: int
    rows: int
    damages: int
    """Number of damaged lines, and of records that are malformed or of no planned trial."""
    replaced: tuple[int, ...]
    """Positions in the journal of earlier records, of this segment or of one before it, that rows
    of this segment replace.
    """
    last: LinePlace
    """The last line that it covers."""
    last_crc32: int
    """Checksum of all bytes of the last line."""
    others: tuple[LinePlace, ...]
    """The lines that are read in the journal itself: notes, damage, records of no planned trial.
    The beginnings of attempts whose record is in the segment are left out."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.begin_bytes:015d}-{self.end_bytes:015d}.parquet"

    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of the Parquet file."""
        data = asdict(self)
        data["last"] = list(asdict(self.last).values())
        data["others"] = [list(asdict(place).values()) for place in self.others]
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
    """What a segment says that it covers. Raises ValueError, with a clause, for a damaged file, and
    for one of another format.
    """
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
    except (TypeError, ValueError):
        raise ValueError(_("its metadata is damaged")) from None
    if segment.name != name or segment.rows != rows:
        raise ValueError(_("its metadata is damaged"))
    return segment


def _segment(data: dict[str, Any]) -> Segment:
    last, others = _place(data["last"]), tuple(map(_place, data["others"]))
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
        or any(place.begin_bytes + place.size_bytes > segment.end_bytes for place in places)
        or segment.last.begin_bytes + segment.last.size_bytes != segment.end_bytes
    ):
        raise ValueError("impossible numbers")
    return segment


def _place(data: Sequence[object]) -> LinePlace:
    line, begin_bytes, size_bytes = data
    if not (type(line) is type(begin_bytes) is type(size_bytes) is int) or size_bytes < 1:
        raise ValueError("not three numbers")
    return LinePlace(line=line, begin_bytes=begin_bytes, size_bytes=size_bytes)


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
