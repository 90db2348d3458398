"""Trials that are repeated although they have a result, and notes and messages with the reasons.

The matrix can request that trials are repeated if a host lost CPU time to a hypervisor (`quiet`).
An interruption (a time in which data stopped) with a proven cause in a host or a cable is always a
reason for a repeat, up to a maximum number of attempts. A record is the stored result of one trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from netlab.experiment.interruptions import asks_again, interruptions
from netlab.experiment.matrix import StealRule
from netlab.experiment.records import Record
from netlab.store.run_folder import RunFolder
from netlab.units import many

DISTURBED = "disturbed"
"""Kind of the note about a trial that is repeated because a host lost CPU time."""

INTERRUPTED = "interrupted"
"""Kind of the note about a trial that is repeated because a host or a cable stopped its data."""

CLOSED_BY_SILENCE = "_closed_by_silence"


@dataclass(frozen=True, slots=True)
class RepeatRule:
    """The rule for records that need another attempt."""

    quiet: StealRule | None

    def asks(self, record: Record) -> bool:
        """Whether another attempt must follow this record."""
        return self._is_disturbed(record) or asks_again(record)

    def _is_disturbed(self, record: Record) -> bool:
        return self.quiet is not None and self.quiet.asks_again(record)

    def note(self, folder: RunFolder, records: Iterable[Record]) -> None:
        """Note for each record why another attempt follows."""
        for record in records:
            trial = {"cell": record.cell, "trial": record.trial, "attempt": record.attempt}
            if self.quiet is not None and self.quiet.asks_again(record):
                folder.note(DISTURBED, durable=False, **trial, **asdict(self.quiet))
            for interruption in interruptions(record) if asks_again(record) else ():
                folder.note(
                    INTERRUPTED,
                    durable=False,
                    **trial,
                    cause=interruption.cause and interruption.cause.value,
                    end=interruption.end,
                    stopped_ns=interruption.stopped_ns,
                )

    def reasons(self, records: Iterable[Record]) -> Iterator[str]:
        """Why the records' trials are repeated, such as ``2 trials in which data stopped``."""
        attempts = tuple(records)
        disturbed = sum(map(self._is_disturbed, attempts))
        if self.quiet is not None and disturbed:
            yield self.quiet.disturbed(disturbed)
        if count := sum(map(asks_again, attempts)):
            yield in_which_data_stopped(count)


def stopped_for_good(record: Record) -> bool:
    """Whether data had stopped at the end of a trial's window (the time that is measured).

    The result of such a trial is incomplete. If the next attempt fails, the record of that attempt
    replaces the incomplete result.
    """
    flags = (value for name, value in record.values.items() if name.endswith(CLOSED_BY_SILENCE))
    return 1 in flags


def in_which_data_stopped(trials: int) -> str:
    """A number of trials in words, such as ``1 trial in which data stopped``."""
    return f"{many(trials, 'trial')} in which data stopped"
