"""Trials that are measured again though they have a result, and why: noted, and told.

What a hypervisor took of a host's CPUs is asked for by the matrix (`quiet`); an interruption whose
cause is proven to lie in a host or a cable is always a reason, up to its number of attempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from netlab.experiment.interruptions import asks_again, interruptions
from netlab.experiment.records import Record
from netlab.experiment.stopping import StealRule
from netlab.store.run_folder import RunFolder
from netlab.units import many

DISTURBED = "disturbed"
"""Kind of the note about a trial that is tried again because a host's CPUs were taken away."""

INTERRUPTED = "interrupted"
"""The same because a host or a cable stopped its data."""

CLOSED_BY_SILENCE = "_closed_by_silence"


@dataclass(frozen=True, slots=True)
class Again:
    """Which records ask for another attempt."""

    quiet: StealRule | None

    def asks(self, record: Record) -> bool:
        """Whether this attempt is to be followed by another one."""
        return self._is_disturbed(record) or asks_again(record)

    def _is_disturbed(self, record: Record) -> bool:
        return self.quiet is not None and self.quiet.asks_again(record)

    def note(self, folder: RunFolder, records: Iterable[Record]) -> None:
        """Write down why each of them is followed by another attempt."""
        for record in records:
            trial = {"cell": record.cell, "trial": record.trial, "attempt": record.attempt}
            if self.quiet is not None and self.quiet.asks_again(record):
                folder.note(DISTURBED, durable=False, **trial, **asdict(self.quiet))
            for each in interruptions(record) if asks_again(record) else ():
                folder.note(
                    INTERRUPTED,
                    durable=False,
                    **trial,
                    cause=each.cause and each.cause.value,
                    end=each.end,
                    stopped_ns=each.stopped_ns,
                )

    def reasons(self, records: Iterable[Record]) -> Iterator[str]:
        """``3 trials lost …``, ``2 trials in which data stopped``, as these records have it."""
        given = tuple(records)
        disturbed = sum(map(self._is_disturbed, given))
        if self.quiet is not None and disturbed:
            yield self.quiet.disturbed(disturbed)
        if stopped := sum(map(asks_again, given)):
            yield in_which_data_stopped(stopped)


def stopped_for_good(record: Record) -> bool:
    """Whether no data came any more when the window of a trial was closed: what it measured is
    half a result, and no better than the failure of the next attempt.
    """
    closed = (each for name, each in record.values.items() if name.endswith(CLOSED_BY_SILENCE))
    return 1 in closed


def in_which_data_stopped(trials: int) -> str:
    """``1 trial in which data stopped``."""
    return f"{many(trials, 'trial')} in which data stopped"
