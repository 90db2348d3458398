"""How often a cell is measured, until when, and which of its trials again. Pure.

What is decided follows from the records alone, in the order of the trials. So a run that was
interrupted decides as it would have, and so does whoever reads its folder later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from netlab import stats
from netlab.experiment.interruptions import interruptions
from netlab.experiment.records import Record, Status, as_number
from netlab.units import format_share, many, plain_figures

JUDGED = (
    "throughput_bit_per_s",
    "to_server_throughput_bit_per_s",
    "to_client_throughput_bit_per_s",
    "transactions_per_s",
    "rtt_mean_ns",
    "payload_bytes",
    "frames_per_s",
)
"""Values of a record whose means have to be tight: those of them that it has, each by itself."""

STEAL = "_host_steal_share"
"""How the names of the values end that say what a hypervisor took of a host's CPU time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """Trials of a cell go on until the interval of its mean is tight at two looks running."""

    within: float
    """Half the interval's width, as a share of the mean."""
    confidence: float
    """Of Student's interval; what is reported covers a little less, see ``stats.tight``."""
    at_least: int
    """Trials of every cell, 3 and more."""
    at_most: int
    """Trials after which a cell is left as it is, and flagged."""

    def __str__(self) -> str:
        share, confidence = (
            plain_figures(100 * each, 6) for each in (self.within, self.confidence)
        )
        return f"± {share} % at {confidence} %, {self.at_least} to {self.at_most} trials"


@dataclass(frozen=True, slots=True, kw_only=True)
class StealRule:
    """A trial is measured again where the hypervisor took more of a host's CPU time than this.

    What it measured has no say in that: whoever chose by results would make them look better
    than they are.
    """

    steal: float
    """The most that may be stolen, as a share of all CPUs of a host over the window."""
    tries: int
    """Attempts at a trial in all, 2 and more; the last one counts, however it was."""

    def is_disturbed(self, record: Record) -> bool:
        """Whether a trial was measured, and more was stolen of a host meanwhile."""
        return record.status is Status.OK and any(
            name.endswith(STEAL) and (_number(record, name) or 0) > self.steal
            for name in record.values
        )

    def asks_again(self, record: Record) -> bool:
        """Whether this attempt is to be followed by another one."""
        return record.attempt < self.tries and self.is_disturbed(record)

    def disturbed(self, trials: int) -> str:
        """``3 trials lost more than 0.5 % of a host's CPU time to others on its hypervisor``."""
        return (
            f"{many(trials, 'trial')} lost more than "
            f"{format_share(self.steal)} of a host's CPU time to others on its hypervisor"
        )


@dataclass(frozen=True, slots=True)
class CellProgress:
    """Where the trials of a cell stand."""

    trials: int
    """So many are recorded, or are to be measured as far as the records tell; from 1."""
    ended: bool
    """Whether no more than these will be asked for."""
    precise: bool | None = None
    """``False``: all trials are there, and it never got tight. ``None``: not judged (yet)."""


def outline(record: Record) -> Record:
    """The record with what rules look at, and no more: a run has tens of thousands of them.

    One in which data stopped stays whole: whether it is measured again depends on all of it.
    """
    if any(interruptions(record)):
        return record
    values = {
        name: value
        for name, value in record.values.items()
        if name in JUDGED or name.endswith(STEAL)
    }
    return replace(record, settings={}, values=values)


def progress_of(rule: int | StopRule, latest: Mapping[int, Record]) -> CellProgress:
    """How far a cell is by its rule, a number of trials or ``StopRule``.

    ``latest`` is the record that counts of each trial.

    Failed trials have no value, and stand for no other: a resumed run measures them again. While
    more trials failed than were measured no further ones are asked for, nor where the host or the
    protocol refuses the cell.
    """
    if isinstance(rule, int):
        return CellProgress(rule, ended=True)
    recorded = max(latest, default=1)
    measured: list[Record] = []
    failed = 0
    for number in range(1, rule.at_most + 1):
        record = latest.get(number)
        if record is None or record.status is Status.PENDING:
            return CellProgress(max(number, rule.at_least, recorded), ended=False)
        if record.status is Status.IMPOSSIBLE:
            return CellProgress(max(number, recorded), ended=True)
        failed += record.status is Status.FAILED
        measured += [record] if record.status is Status.OK else []
        if number < rule.at_least:
            continue
        if failed > len(measured):
            return CellProgress(max(number, recorded), ended=False)
        if _all_tight(measured, rule):
            return CellProgress(max(number, recorded), ended=True, precise=True)
    return CellProgress(rule.at_most, ended=True, precise=False)


def _all_tight(measured: Sequence[Record], rule: StopRule) -> bool:
    series: list[list[float]] = []
    for name in JUDGED:
        found = [value for each in measured if (value := _number(each, name)) is not None]
        series += [found] if found else []
    return bool(series) and all(
        _tight(tuple(values), rule.within, rule.confidence) for values in series
    )


def _number(record: Record, name: str) -> float | None:
    return as_number(record.values.get(name))


@lru_cache(maxsize=1 << 16)
def _tight(values: tuple[float, ...], within: float, confidence: float) -> bool:
    """Every block looks again at all that came before it."""
    return stats.precise(values, within, confidence)
