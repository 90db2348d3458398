"""Waits: round trips that are longer because their ends were ready to run but had no CPU.

Waits explain a longer mean only if they are long enough, and only in comparison with trials of the
same cell (combination of settings) that waited less. A CPU quota needs no comparison: all waits of
a throttled end are an effect of the quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from netlab.experiment.interruptions import Cause
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.round_trips.trips import ENDS, TripCell, TripTrial, trip_cells
from netlab.findings.sample import WINDOW_NS
from netlab.findings.series import Series
from netlab.findings.stops.data_stopped import CAUSES
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _
from netlab.stats import median_absolute_deviation

LEAST_SHARE = 0.05
"""A trial's waits must take at least this share of its time. The means of the trials that it is
compared with must be shorter than its own mean by at least this share of its own mean."""
ALONE = 0.2
"""If there is only one compared trial, its mean must be shorter by at least this share."""
HALF = 0.5
"""Waits must explain at least this share of the time by which the trial's mean is longer. A trial
is compared only with trials whose waits are less than this share of its own waits."""

SCATTERS = 4.5
"""Minimum excess of a trial's mean over the median of the compared trials' means. The unit is the
median absolute deviation of these means; 4.5 of them are three standard deviations."""
ENOUGH = 4
"""Minimum number of trials from which a scatter is computed."""

Wait = Literal["delay", "quota", "steal"]

WORDS: Mapping[tuple[Wait, str], Message] = {
    ("delay", "client"): _("the client was ready to run and had no CPU"),
    ("delay", "server"): _("the server was ready to run and had no CPU"),
    ("quota", "client"): _("a CPU quota throttled the client"),
    ("quota", "server"): _("a CPU quota throttled the server"),
    ("steal", "client"): CAUSES[Cause.STEAL, "client"],
    ("steal", "server"): CAUSES[Cause.STEAL, "server"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long the ends of a trial waited for a CPU during its window."""

    trial: TripTrial
    waited_ns: float
    """The waits of both ends together; overlapping waits of one end count once."""
    wait: Wait
    end: str
    """The end that waited longest."""
    longest_ns: float
    """The wait of this end."""
    mean_ns: float
    number: float
    """Number of round trips in the window."""

    @property
    def each_ns(self) -> float:
        """Wait per round trip."""
        return self.waited_ns / self.number

    @property
    def share(self) -> float:
        """The waits as a share of the time that the round trips took together. Requests that were
        under way at the same time count once.
        """
        return self.waited_ns * self.trial.under_way / (self.mean_ns * self.number)


def waited(series: Iterable[Series]) -> Iterator[Finding]:
    """A warning for each cell with trials whose round trips are longer because of waits."""
    for cell in trip_cells(series):
        longer = waiting_of(cell)
        if not longer:
            continue
        worst, best_ns = max(longer, key=lambda entry: entry[0].share)
        figures: dict[str, float | None] = {
            "mean_trip_ns": worst.mean_ns,
            "waited_trip_ns": worst.longest_ns * worst.trial.under_way / worst.number,
            "waited_share": worst.share,
            "best_trip_ns": best_ns,
            "trials": len(longer),
            "of_trials": len(cell.trials),
        }
        words = {"cause": WORDS[worst.wait, worst.end], **in_trials(len(longer), len(cell.trials))}
        trials = tuple(waiting_trial.trial.key for waiting_trial, _best in longer)
        kind = Kind.TRIP_WAITED_FOR_CPU
        yield finding(kind, cell.group, (cell.cell,), figures, words, trials)


def waiting_of(cell: TripCell) -> list[tuple[Waiting, float | None]]:
    """The trials whose round trips were lengthened by waits. Each trial is returned with the median
    of the mean times of the trials that waited less, or with ``None`` if no trial waited less and a
    CPU quota explains the trial.
    """
    candidates = [candidate for trial in cell.calm if (candidate := waiting(trial)) is not None]
    longer: list[tuple[Waiting, float | None]] = []
    for candidate in candidates:
        if candidate.share < LEAST_SHARE:
            continue
        fewer = [sibling for sibling in candidates if sibling.each_ns < HALF * candidate.each_ns]
        if not fewer and candidate.wait == "quota" and _throttled(candidate):
            longer.append((candidate, None))
        elif fewer and _explains(candidate, fewer):
            longer.append((candidate, median(sibling.mean_ns for sibling in fewer)))
    return longer


def _explains(slow: Waiting, fewer: Sequence[Waiting]) -> bool:
    """Whether waits explain why a trial is slower than the trials that waited less.

    All trials that waited less must be faster, by more than their scatter. The additional waits
    must be at least half of the additional time.
    """
    means = [sibling.mean_ns for sibling in fewer]
    best_ns = median(means)
    lost_ns = slow.mean_ns - best_ns
    scatter_ns = median_absolute_deviation(means) if len(means) >= ENOUGH else 0.0
    least = LEAST_SHARE if len(means) > 1 else ALONE
    if max(means) >= slow.mean_ns or lost_ns < max(least * slow.mean_ns, SCATTERS * scatter_ns):
        return False
    more_ns = slow.each_ns - median(sibling.each_ns for sibling in fewer)
    return more_ns * slow.trial.under_way >= HALF * lost_ns


def waiting(trial: TripTrial) -> Waiting | None:
    """The waits of a trial; ``None`` if no end reports them, if there is no mean, or if the window
    is too short for the kernel's counters.
    """
    mean_ns, number = trial.mean_ns, trial.number("rtt_count") or trial.number("transactions")
    window_ns = trial.number("elapsed_ns")
    if not mean_ns or not number or not window_ns or window_ns < WINDOW_NS:
        return None
    waits = {(wait, end): ns for end in ENDS for wait, ns in _waits(trial, end, window_ns)}
    if not waits:
        return None
    of_ends = [
        max(
            (ns for (wait, end), ns in waits.items() if end == side and wait != "steal"),
            default=0.0,
        )
        for side in ENDS
    ]
    # Two ends on one machine report the same CPUs: the larger value counts, not the sum.
    stolen = max((ns for (wait, _end), ns in waits.items() if wait == "steal"), default=0.0)
    wait, end = max(waits, key=waits.__getitem__)
    return Waiting(
        trial=trial,
        waited_ns=max(sum(of_ends), stolen),
        wait=wait,
        end=end,
        longest_ns=waits[wait, end],
        mean_ns=mean_ns,
        number=number,
    )


def _waits(trial: TripTrial, end: str, window_ns: float) -> Iterator[tuple[Wait, float]]:
    delay_ns = trial.number(f"{end}_run_queue_delay_ns")
    quota_ns = trial.number(f"{end}_quota_throttled_ns")
    stolen = trial.number(f"{end}_host_steal_share")
    if delay_ns is not None:
        yield "delay", delay_ns
    if quota_ns is not None:
        # The counter sums over all CPUs, but no thread waits longer than the window.
        yield "quota", min(quota_ns, window_ns)
    if stolen is not None:
        yield "steal", stolen * window_ns


def _throttled(slow: Waiting) -> bool:
    """Whether a quota throttled the end in more than a twentieth of the quota's periods."""
    periods = slow.trial.number(f"{slow.end}_quota_periods")
    throttled_periods = slow.trial.number(f"{slow.end}_quota_throttled_periods")
    return bool(periods) and (throttled_periods or 0.0) > LEAST_SHARE * (periods or 0.0)
