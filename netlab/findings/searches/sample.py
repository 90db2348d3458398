"""Samples of searches: the result of one trial of a ``throughput_search``, and its limit. No I/O.

A cell is one combination of pairing (server and client), test and settings, here with one frame
size. A trial of a cell is a whole search. Within the search, frames are sent at one rate after the
other; each of these is a try. Samples are grouped by cells that differ only in their frame size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from netlab.findings.finding import Group, conditions_of
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.trial.host_counters import HOSTS, PLACES
from netlab.trial.record import NUMBER, Record, Recorded, Status, as_number

if TYPE_CHECKING:
    from netlab.results.run import Run

NO_RATE = "no-rate"
"""Limit of a search in which even the lowest rate of the grid failed."""

OWN_LIMITS = ("generator-bound", "receiver-bound")
"""Limits of a search that our own hosts (sender and receiver) cause."""


_WHOLE = 0.95
"""Minimum share of the full duration for a try to count as full. A try has a whole number of
frames, so its duration may differ a little."""


@dataclass(frozen=True, slots=True)
class Tries:
    """The tries of one search, or of its frame loss test, in order: one element of each list per
    try.
    """

    line_share: Sequence[float] = ()
    duration_s: Sequence[float] = ()
    sent: Sequence[float] = ()
    received: Sequence[float] = ()
    queue_ns: Sequence[float] = ()
    """How much longer the frames took to leave the device than to enter it."""
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class RateSample:
    """Figures derived from one trial of a search for the highest rate; ``None``: not known."""

    record: Record

    line_per_s = Recorded(NUMBER, "line_frames_per_s")
    """Frames/s that the line carries."""
    line_bit_per_s = Recorded(NUMBER, "line_rate_bit_per_s")
    per_s = Recorded(NUMBER, "frames_per_s")
    """The highest rate that passed, in frames/s per direction."""
    upper_per_s = Recorded(NUMBER, "upper_frames_per_s")
    """The lowest rate above ``per_s`` that failed."""
    core_share = Recorded(NUMBER, "limit_core_share")
    """Load of the busiest core of the limiting host, in the tries that failed."""

    @property
    def measured(self) -> Record:
        """The measured values."""
        return self.record

    @property
    def key(self) -> tuple[str, int]:
        """Key of the cell, and number of the trial."""
        return self.record.key

    @property
    def frame_bytes(self) -> int:
        """With header and FCS."""
        return int(str(self.record.settings["frame_bytes"]))

    @property
    def ways(self) -> int:
        """Number of directions in which frames were sent at once."""
        return len(self.record.flows)

    @cached_property
    def limit(self) -> str:
        """What ended the search, as recorded; ``NO_RATE`` if no rate passed. Empty: not known."""
        if self.record.status is not Status.OK:
            return own_limit(self.record)
        limit = self.record.text("limit") or ""
        return NO_RATE if limit == "device" and not self.found else limit

    @property
    def found(self) -> bool:
        """Whether a rate was found."""
        return self.per_s is not None

    @property
    def limit_host(self) -> str:
        """Key of the limiting host; empty: not known."""
        return self.record.text("limit_host") or ""

    @property
    def one_machine(self) -> bool:
        """Whether some of the hosts are one machine: each CPU load is that of the whole machine."""
        return self.record.flag("one_machine") is True

    @property
    def step_share(self) -> float | None:
        """Step between the tried rates, as a share of the line rate."""
        return as_number(self.record.settings.get("resolution"))

    @property
    def full_s(self) -> float | None:
        """Duration of a full try, in seconds."""
        return as_number(self.record.settings.get("duration_s"))

    @property
    def link_paced(self) -> bool:
        """False: the sender was faster than the stated line rate."""
        return self.record.flag("link_paced") is not False

    @cached_property
    def tries(self) -> Tries:
        """The tries of the search."""
        return _tries(self.record, "trial_")

    @cached_property
    def losses(self) -> Tries:
        """The tries of its frame loss test."""
        return _tries(self.record, "loss_")

    @cached_property
    def dropped(self) -> Mapping[tuple[str, str], Sequence[float]]:
        """(key of a host, place) → frames dropped there in each of the tries; absent if none."""
        drops = {
            (key, place): self.record.series(f"trial_{key}_{place}_dropped_frames")
            for key in HOSTS
            for place in PLACES
        }
        return {counter: frames for counter, frames in drops.items() if frames}

    @property
    def names(self) -> Mapping[str, str]:
        """Key of a host → its name."""
        record = self.record
        named = {key: name for key in HOSTS if (name := record.text(f"{key}_host")) is not None}
        return {"client": record.client, "server": record.server, **named}

    @cached_property
    def line_share(self) -> float | None:
        """The found rate as a share of the line rate."""
        return None if self.per_s is None or not self.line_per_s else self.per_s / self.line_per_s

    @property
    def jumps(self) -> bool:
        """Whether a rate above the found one passed in a full try, or a lower rate failed.

        The higher rate must differ by more than 1.5 steps, the lower one by more than half a step:
        less is scatter at the limit.
        """
        found_share, step, tries = self.line_share, self.step_share, self.tries
        if (
            self.record.flag("monotone") is not False
            or found_share is None
            or step is None
            or self.full_s is None
        ):
            return False
        least_s = _WHOLE * self.full_s
        return any(
            (verdict == "passed" and tried_share > found_share + 1.5 * step and length_s >= least_s)
            or (verdict in ("lost", "absorbed") and tried_share < found_share - 0.5 * step)
            for tried_share, length_s, verdict in zip(
                tries.line_share, tries.duration_s, tries.verdicts, strict=True
            )
        )


@dataclass(frozen=True, kw_only=True)
class SizeSample:
    """Some of the trials of one cell (one frame size), for example those with the same limit."""

    frame_bytes: int
    trials: tuple[RateSample, ...]
    of_trials: int
    """Number of all trials of the cell that ended."""

    @property
    def cell(self) -> str:
        """Key of the cell."""
        return self.trials[0].record.cell

    @cached_property
    def per_s(self) -> float | None:
        """Median of the found rates; ``None`` if a trial has none."""
        return _middle(trial.per_s for trial in self.trials)

    @cached_property
    def upper_per_s(self) -> float | None:
        """Median of the lowest rates that failed."""
        return _middle(trial.upper_per_s for trial in self.trials)

    @cached_property
    def line_per_s(self) -> float | None:
        """Frames/s that the line carries."""
        return _middle(trial.line_per_s for trial in self.trials)

    @cached_property
    def line_share(self) -> float | None:
        """Median of the found rates as shares of the line rate."""
        return _middle(trial.line_share for trial in self.trials)


@dataclass(frozen=True, kw_only=True)
class SizeGroup:
    """Searches that differ only in their frame size, the smallest first."""

    group: Group
    sizes: tuple[tuple[RateSample, ...], ...]
    """For each size, the trials that ended."""

    def showing(self, *limits: str) -> tuple[SizeSample, ...]:
        """The sizes that have trials with one of these limits, each with these trials only."""
        return self.where([trial for size in self.sizes for trial in size if trial.limit in limits])

    def where(self, trials: Iterable[RateSample]) -> tuple[SizeSample, ...]:
        """The sizes that have some of the given trials, each with these trials only."""
        keys = {trial.key for trial in trials}
        return tuple(
            SizeSample(frame_bytes=size[0].frame_bytes, trials=matches, of_trials=len(size))
            for size in self.sizes
            if (matches := tuple(trial for trial in size if trial.key in keys))
        )


def groups_of(run: Run) -> tuple[SizeGroup, ...]:
    """All searches of a run, in the plan's order, except those within one host."""
    cells = [cell for cell in run.plan.cells if cell.test == "throughput_search"]
    varying = [
        name
        for name in dict.fromkeys(name for cell in cells for name in cell.settings)
        if name not in _IN_GROUP and len({repr(cell.settings.get(name)) for cell in cells}) > 1
    ]
    by_group: dict[Group, dict[int, list[RateSample]]] = {}
    for cell, _, record in run.stored.trials():
        sample = None if record is None else sample_of(record)
        if cell.test != "throughput_search" or sample is None:
            continue
        settings = conditions_of(cell.settings, varying)
        by_size = by_group.setdefault(Group(cell.pairing, conditions=settings), {})
        by_size.setdefault(sample.frame_bytes, []).append(sample)
    return tuple(
        SizeGroup(
            group=group, sizes=tuple(tuple(samples) for _, samples in sorted(by_size.items()))
        )
        for group, by_size in by_group.items()
    )


_IN_GROUP = frozenset({"frame_bytes", "protocol"})


def sample_of(record: Record) -> RateSample | None:
    """The sample of a trial; ``None`` if it shows nothing about the hosts or the path."""
    if not isinstance(record.settings.get("frame_bytes"), int) or record.same_host:
        return None
    failed = record.status is not Status.OK
    if failed and (record.reason != "tester-bound" or not own_limit(record)):
        return None
    return RateSample(record)


def own_limit(record: Record) -> str:
    """The limit of our own hosts that a search without a result names; empty if it names none."""
    return next((word for word in OWN_LIMITS if word in (record.detail or "")), "")


def _tries(record: Record, prefix: str) -> Tries:
    """The tries of a search; empty if the lengths of the lists differ or a verdict is unknown."""
    names = ("line_share", "duration_s", "sent_frames", "received_frames", "queue_ns", "verdict")
    lists = share, duration_s, sent, received, queue_ns, verdicts = [
        record.series(prefix + name) for name in names
    ]
    words = tuple(VERDICTS[int(verdict)] for verdict in verdicts if 0 <= verdict < len(VERDICTS))
    if any(len(numbers) != len(words) for numbers in lists):
        return Tries()
    return Tries(share, duration_s, sent, received, queue_ns, words)


def _middle(values: Iterable[float | None]) -> float | None:
    figures: Sequence[float | None] = tuple(values)
    numbers = [figure for figure in figures if figure is not None]
    return median(numbers) if numbers and len(numbers) == len(figures) else None
