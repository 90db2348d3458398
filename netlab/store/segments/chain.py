"""The chain of a run's segments that agree with its journal, from the journal's beginning on."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from netlab.messages import _
from netlab.store.files import disk_error, names_below, open_inside
from netlab.store.journal import Damage
from netlab.store.segments.segment import FOLDER, Segment, checksum, range_of, segment_of
from netlab.store.system import read_at


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

    def broken_at(self, segment: Segment, error: ValueError) -> SegmentChain:
        """The chain up to a segment that turns out to be damaged."""
        place = self.segments.index(segment)
        return SegmentChain(
            self.segments[:place], (_remark(segment.name, segment.first_line, error),)
        )


def chain_of(run: Path, journal: Path) -> SegmentChain:
    """The segments of a run folder that can be used instead of the journal.

    A segment is used if its format is known, the one before it ends where it begins, and its last
    line is in the journal as it was. Without pyarrow, there are none. Raises StoreError if a
    segment is a link, or the disk refuses.
    """
    ranges = {range_: name for name in names_below(run, FOLDER) if (range_ := range_of(name))}
    if not ranges or find_spec("pyarrow") is None:
        return SegmentChain()
    chain = SegmentChain()
    try:
        descriptor = open_inside(journal)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return chain
        raise disk_error(error, journal, "read the journal") from None
    try:
        # The longest of the segments with the same beginning is tried first.
        for begin_bytes, end_bytes in sorted(ranges, key=lambda range_: (range_[0], -range_[1])):
            if begin_bytes < chain.end_bytes:
                continue
            name = ranges[begin_bytes, end_bytes]
            try:
                segment = segment_of(run, name)
                _check_place(segment, chain)
                _check_last_line(segment, descriptor)
            except ValueError as error:
                return SegmentChain(chain.segments, (_remark(name, chain.next_line, error),))
            chain = SegmentChain((*chain.segments, segment))
        return chain
    finally:
        os.close(descriptor)


def _remark(name: str, line: int, error: ValueError) -> Damage:
    return Damage(
        line,
        _(
            "the segment {name} is not used, and the journal is read from here: {error}",
            name=name,
            error=error.args[0],
        ),
    )


def _check_place(segment: Segment, chain: SegmentChain) -> None:
    if (segment.begin_bytes, segment.first_line) != (chain.end_bytes, chain.next_line):
        raise ValueError(_("the segment before it is missing"))


def _check_last_line(segment: Segment, descriptor: int) -> None:
    """Raise ValueError unless the journal has the last line of the segment where it was."""
    last = segment.last
    line = read_at(descriptor, last.size_bytes, last.begin_bytes)
    if len(line) < last.size_bytes:
        raise ValueError(_("the journal is shorter than the part that it covers"))
    if checksum(line) != segment.last_crc32:
        raise ValueError(_("the journal was changed since"))
