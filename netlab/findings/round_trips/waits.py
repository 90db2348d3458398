"""Waits: round trips that were longer because their ends were ready to run and had no CPU. Pure.

A wait explains a longer time only as far as it is long enough, and only against trials of the same
cell with less of it. A quota needs no other trial: its waits are its own.
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
"""Of a trial's time, its waits at least; and of its mean, what the others' is less."""
ALONE = 0.2
"""Of its mean, what a single other trial's is less at least."""
HALF = 0.5
"""Of the time lost, what waits account for at least; and of these waits, what others have at most.
"""

SCATTERS = 4.5
"""So many median absolute deviations of the others' means, three standard deviations, and more."""
ENOUGH = 4
"""Fewer trials have no scatter."""

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
    """How long a trial's ends waited for a CPU, over its window."""

    trial: TripTrial
    waited_ns: float
    """Both ends together; what overlaps counts once."""
    wait: Wait
    end: str
    """Which of them waited longest."""
    longest_ns: float
    """How long that end did."""
    mean_ns: float
    number: float
    """Round trips of the window."""

    @property
    def each_ns(self) -> float:
        """Of one round trip."""
        return self.waited_ns / self.number

    @property
    def share(self) -> float:
        """Of the time that its round trips took, those under way at once side by side."""
        return self.waited_ns * self.trial.under_way / (self.mean_ns * self.number)


def waited(series: Iterable[Series]) -> Iterator[Finding]:
    """A warning for each cell with trials whose round trips waits made longer."""
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
    """The trials that waits made longer, each with what others took that had less of it."""
    known = [candidate for trial in cell.calm if (candidate := waiting(trial)) is not None]
    longer: list[tuple[Waiting, float | None]] = []
    for candidate in known:
        if candidate.share < LEAST_SHARE:
            continue
        fewer = [other for other in known if other.each_ns < HALF * candidate.each_ns]
        if not fewer and candidate.wait == "quota" and _throttled(candidate):
            longer.append((candidate, None))
        elif fewer and _explains(candidate, fewer):
            longer.append((candidate, median(other.mean_ns for other in fewer)))
    return longer


def _explains(slow: Waiting, fewer: Sequence[Waiting]) -> bool:
    """Whether each trial with fewer waits was faster, by more than those differ among themselves,
    and the waits that it had more are half of what it took longer, or more.
    """
    means = [other.mean_ns for other in fewer]
    best_ns = median(means)
    lost_ns = slow.mean_ns - best_ns
    scatter_ns = median_absolute_deviation(means) if len(means) >= ENOUGH else 0.0
    least = LEAST_SHARE if len(means) > 1 else ALONE
    if max(means) >= slow.mean_ns or lost_ns < max(least * slow.mean_ns, SCATTERS * scatter_ns):
        return False
    more_ns = slow.each_ns - median(other.each_ns for other in fewer)
    return more_ns * slow.trial.under_way >= HALF * lost_ns


def waiting(trial: TripTrial) -> Waiting | None:
    """``None`` where no end tells of its waits, there is no mean, or the window is too short for
    what a kernel counts.
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
    # Two ends on one machine tell of the same CPUs: the larger one counts, not the sum.
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
        # Of all CPUs together: no thread waits for longer than there was time.
        yield "quota", min(quota_ns, window_ns)
    if stolen is not None:
        yield "steal", stolen * window_ns


def _throttled(slow: Waiting) -> bool:
    """Whether a quota held its end back in more than a twentieth of the periods that it ran in."""
    periods = slow.trial.number(f"{slow.end}_quota_periods")
    throttled_periods = slow.trial.number(f"{slow.end}_quota_throttled_periods")
    return bool(periods) and (throttled_periods or 0.0) > LEAST_SHARE * (periods or 0.0)
