"""Decides how many trials a cell has, and which of its trials are repeated. No I/O.

A trial is one measurement of a cell (a combination of two hosts, a kind of test, and settings); a
record is the result of a trial. All decisions follow from the records alone, in the order of the
trials. So an interrupted run, and any later reader of its folder, make the same decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from netlab import stats
from netlab.experiment.interruptions import interruptions
from netlab.experiment.records import Record, Status
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
"""Values of a record whose means must be precise, each of them separately, if the record has
them."""

STEAL = "_host_steal_share"
"""Ending of the names of values with the share of a host's CPU time that a hypervisor stole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """A cell is measured until its mean is precise at two successive checks."""

    within: float
    """Maximum of half the confidence interval's width, as a share of the mean."""
    confidence: float
    """Confidence of Student’s interval; the true coverage is slightly less (``stats.precise``)."""
    at_least: int
    """Minimum number of trials of a cell, at least 3."""
    at_most: int
    """Maximum number of trials of a cell; a mean that is still not precise is reported as such."""

    def __str__(self) -> str:
        share, confidence = (
            plain_figures(100 * level, 6) for level in (self.within, self.confidence)
        )
        return f"± {share} % at {confidence} %, {self.at_least} to {self.at_most} trials"


@dataclass(frozen=True, slots=True, kw_only=True)
class StealRule:
    """A trial is repeated if the hypervisor stole more of a host's CPU time than this.

    The measured results do not influence this decision. Results would look better than they are if
    they decided which trials count.
    """

    steal: float
    """Maximum share of a host's CPU time (of all CPUs) that may be stolen during a measurement."""
    tries: int
    """Maximum number of attempts at a trial, at least 2; the last attempt counts in any case."""

    def is_disturbed(self, record: Record) -> bool:
        """Whether a trial has a result, but more CPU time of a host was stolen than allowed."""
        return record.status is Status.OK and any(
            name.endswith(STEAL) and (record.number(name) or 0) > self.steal
            for name in record.values
        )

    def asks_again(self, record: Record) -> bool:
        """Whether this attempt must be followed by another one."""
        return record.attempt < self.tries and self.is_disturbed(record)

    def disturbed(self, trials: int) -> str:
        """A clause: ``3 trials lost more than 0.5 % of a host's CPU time to others …``."""
        return (
            f"{many(trials, 'trial')} lost more than "
            f"{format_share(self.steal)} of a host's CPU time to others on its hypervisor"
        )


@dataclass(frozen=True, slots=True)
class CellProgress:
    """The progress of a cell's trials."""

    trials: int
    """Number of trials: recorded ones, and those that the records so far require; at least 1."""
    ended: bool
    """Whether no further trials will be requested."""
    precise: bool | None = None
    """``False``: all trials are recorded, but the cell is not precise. ``None``: not judged
    (yet)."""


def outline(record: Record) -> Record:
    """The record with only the values that rules use. This saves memory in runs with many trials.

    If data stopped in a trial, its record keeps all values, because they determine whether the
    trial is repeated.
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
    """The progress of a cell by its rule: a number of trials, or a ``StopRule``.

    ``latest``: the valid record of each trial.

    Failed trials have no value, and no other trial replaces them: a resumed run repeats them. No
    further trials are requested while more trials have failed than have a result, or if the host or
    the protocol refuses the cell.
    """
    if isinstance(rule, int):
        return CellProgress(rule, ended=True)
    recorded = max(latest, default=1)
    ok_records: list[Record] = []
    failed = 0
    for number in range(1, rule.at_most + 1):
        record = latest.get(number)
        if record is None or record.status is Status.PENDING:
            return CellProgress(max(number, rule.at_least, recorded), ended=False)
        if record.status is Status.IMPOSSIBLE:
            return CellProgress(max(number, recorded), ended=True)
        failed += record.status is Status.FAILED
        ok_records += [record] if record.status is Status.OK else []
        if number < rule.at_least:
            continue
        if failed > len(ok_records):
            return CellProgress(max(number, recorded), ended=False)
        if _all_tight(ok_records, rule):
            return CellProgress(max(number, recorded), ended=True, precise=True)
    return CellProgress(rule.at_most, ended=True, precise=False)


def _all_tight(ok_records: Sequence[Record], rule: StopRule) -> bool:
    series: list[list[float]] = []
    for name in JUDGED:
        own = [value for record in ok_records if (value := record.number(name)) is not None]
        series += [own] if own else []
    return bool(series) and all(
        _tight(tuple(values), rule.within, rule.confidence) for values in series
    )


@lru_cache(maxsize=1 << 16)
def _tight(values: tuple[float, ...], within: float, confidence: float) -> bool:
    """``stats.precise``, cached, because the same trials are checked again after each new trial."""
    return stats.precise(values, within, confidence)
