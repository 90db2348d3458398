"""Gathers what a journal says: from its lines, and from the index of its segments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from netlab.errors import StoreError
from netlab.experiment.records import Record
from netlab.experiment.stopping import outline
from netlab.messages import _
from netlab.store.files import disk_error, open_inside
from netlab.store.gathered import Gathered, LatestRecords
from netlab.store.journal import Damage, JournalLine, items_of
from netlab.store.journal_items import Keep, RunCheck, note_in, record_in
from netlab.store.plan import Plan, PlannedTrials
from netlab.store.segments.chain import SegmentChain
from netlab.store.segments.index import DamagedSegment, TrialIndex
from netlab.store.system import read_at


class JournalReading:
    """Reads one journal into a ``Gathered``."""

    def __init__(self, journal: Path, plan: Plan, check: RunCheck | None, keep: Keep) -> None:
        self.gathered = Gathered()
        self._journal, self._check, self._keep = journal, check, keep
        self._planned = PlannedTrials(plan)
        self._cells = {cell.key: cell for cell in plan.cells}
        self._run_name: object = None

    # Lines

    def take_lines(self, items: Iterable[JournalLine | Damage]) -> None:
        """Gather lines that no segment covers."""
        for item in items:
            if isinstance(item, Damage):
                self.gathered.damage.append(item)
            elif item.data.get("kind") == "record":
                if (record := self._record(item)) is not None:
                    self._take_record(item.number, record)
            else:
                self._take_note(item, follows_records=self.gathered.has_records)

    def _record(self, line: JournalLine) -> Record | None:
        """The record in a line; ``None``, with a damage, if it is malformed."""
        try:
            return record_in(line, self._cells, self._check, self._keep)
        except ValueError as error:
            message = _("not a record of this format: {error}", error=error)
            self.gathered.damage.append(Damage(line.number, message))
            return None

    def _take_record(self, number: int, record: Record) -> None:
        if (record.cell, record.trial) in self._planned:
            self.gathered.add_record(record)
            return
        self.gathered.records.append(record)
        trial_name = f"{record.cell}, trial {record.trial}"
        message = _("a record of {where}, which is not in the plan", where=trial_name)
        self.gathered.damage.append(Damage(number, message))

    def _take_note(self, line: JournalLine, *, follows_records: bool) -> None:
        try:
            note = note_in(line)
        except ValueError as error:
            self.gathered.damage.append(Damage(line.number, str(error)))
            return
        self.gathered.add_note(note, self._planned)
        if note.kind == "journal":
            name = note.data.get("run")
            # The first line names the run. Another name after records means that two files were
            # joined. Another name before any record means that netlab was killed while it created
            # the folder.
            if follows_records and self._run_name not in (None, name):
                message = _("the journal of another run begins here")
                self.gathered.damage.append(Damage(line.number, message))
            elif not follows_records:
                self._run_name = name

    # Segments

    def take_segments(self, chain: SegmentChain, index: TrialIndex) -> None:
        """Gather the part of the journal that segments cover: the records by their index, all other
        lines from the journal.
        """
        gathered = self.gathered
        gathered.index = index
        gathered.latest = LatestRecords(index, self._reads(index))
        try:
            descriptor = open_inside(self._journal)
        except OSError as error:
            raise disk_error(error, self._journal, "read the journal") from None
        try:
            for place in (place for segment in chain.segments for place in segment.others):
                piece = read_at(descriptor, place.size_bytes, place.begin_bytes)
                for item in items_of(piece, place.line):
                    self._take_other(item, place.begin_bytes, index)
        except OSError as error:
            raise disk_error(error, self._journal, "read the journal") from None
        finally:
            os.close(descriptor)

    def _take_other(self, item: JournalLine | Damage, begin_bytes: int, index: TrialIndex) -> None:
        if isinstance(item, Damage):
            self.gathered.damage.append(item)
        elif item.data.get("kind") == "record":
            record = self._record(item)
            # The index has the records of planned trials.
            if record is not None and (record.cell, record.trial) not in self._planned:
                self._take_record(item.number, record)
        else:
            self._take_note(item, follows_records=index.begin_bytes < begin_bytes)
            unfinished = self.gathered.unfinished
            for trial in tuple(unfinished) if item.data.get("kind") == "attempt" else ():
                if index.last_bytes(trial) > begin_bytes:
                    del unfinished[trial]

    def _reads(self, index: TrialIndex) -> Callable[[int], Record]:
        """A function that reads the record in a row of the index."""
        if self._keep is not outline:
            return lambda row: self.recorded(index, row)

        def outlined(row: int) -> Record:
            # If data stopped in a trial, its outline has all values.
            if not index.has_stopped(row):
                try:
                    return index.outline(row)
                except DamagedSegment:
                    pass  # the journal has the record as well
            return self.recorded(index, row)

        return outlined

    def recorded(self, index: TrialIndex, row: int) -> Record:
        """The record in a row of the index, read in the journal. StoreError if it is damaged."""
        key = index.key_of(row)
        found = None
        for line in index.lines(row):
            if line.data.get("kind") == "record":
                try:
                    record = record_in(line, self._cells, self._check, self._keep)
                except ValueError:
                    continue
                found = record if (record.cell, record.trial) == key else found
        if found is None:
            raise StoreError(
                f"{self._journal}: the record of {key[0]}, trial {key[1]}, was changed or damaged "
                "since a segment was made of it; remove the folder segments beside the journal to "
                "read what is left"
            )
        return found
