"""Samples of searches: the result of one trial of a ``throughput_search``, and its limit. No I/O.

A cell is one combination of pairing (server and client), test and settings, here with one frame
size. A trial of a cell is a whole search. Within the search, frames are sent at one rate after the
other; each of these is a try. Samples are grouped by cells that differ only in their frame size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from netlab.experiment.host_counters import HOSTS, PLACES
from netlab.experiment.rate_search import VERDICTS
from netlab.experiment.records import Record, Status, Value
from netlab.findings.evidence import number
from netlab.findings.finding import Group

if TYPE_CHECKING:
    from netlab.results.run import Run

NO_RATE = "no-rate"
"""Limit of a search in which even the lowest rate of the grid failed."""

OWN_LIMITS = ("generator-bound", "receiver-bound")
"""Limits of a search that our own hosts (sender and receiver) cause."""


_WHOLE = 0.95
"""Minimum share of the full duration for a try to count as full. A try has a whole number of
frames, so its duration may differ a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The tries of one search, or of its frame loss test, in order: one element of each list per
    try.
    """

    line_share: tuple[float, ...] = ()
    duration_s: tuple[float, ...] = ()
    sent: tuple[float, ...] = ()
    received: tuple[float, ...] = ()
    queue_ns: tuple[float, ...] = ()
    """How much longer the frames took to leave the device than to enter it."""
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RateSample:
    """The result of one trial of a search for the highest rate; ``None``: not known."""

    cell: str
    trial: int
    frame_bytes: int
    """With header and FCS."""
    ways: int
    """Number of directions in which frames were sent at once."""
    limit: str
    """What ended the search, as recorded; ``NO_RATE`` if no rate passed. Empty: not known."""
    found: bool = True
    """Whether a rate was found."""
    line_per_s: float | None = None
    """Frames/s that the line carries."""
    line_bit_per_s: float | None = None
    per_s: float | None = None
    """The highest rate that passed, in frames/s per direction."""
    upper_per_s: float | None = None
    """The lowest rate above ``per_s`` that failed."""
    limit_host: str = ""
    core_share: float | None = None
    """Load of the busiest core of the limiting host, in the tries that failed."""
    one_machine: bool = False
    """Whether some of the hosts are one machine: then each CPU load is that of the whole
    machine."""
    step_share: float | None = None
    """Step between the tried rates, as a share of the line rate."""
    full_s: float | None = None
    """Duration of a full try, in seconds."""
    monotone: bool = True
    link_paced: bool = True
    """False: the sender was faster than the stated line rate."""
    tries: Tries = Tries()
    losses: Tries = Tries()
    dropped: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    """(key of a host, place) → frames dropped there, in each of the ``tries``; absent if none."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Key of a host → its name."""
    values: Mapping[str, Value] = field(default_factory=dict)

    @cached_property
    def line_share(self) -> float | None:
        """The found rate as a share of the line rate."""
        return None if self.per_s is None or not self.line_per_s else self.per_s / self.line_per_s

    @property
    def key(self) -> tuple[str, int]:
        """Key of the cell, and number of the trial."""
        return self.cell, self.trial

    @property
    def jumps(self) -> bool:
        """Whether a rate above the found one passed in a full try, or a lower rate failed.

        The higher rate must differ by more than 1.5 steps, the lower one by more than half a step:
        less is scatter at the limit.
        """
        found_share, step, tries = self.line_share, self.step_share, self.tries
        if self.monotone or found_share is None or step is None or self.full_s is None:
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
        return self.trials[0].cell

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
        settings = tuple((name, _plain(cell.settings.get(name))) for name in varying)
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
    values, size = record.values, record.settings.get("frame_bytes")
    if not isinstance(size, int) or values.get("same_host") is True:
        return None
    ways = 2 if record.settings.get("direction") == "both" else 1
    if record.status is not Status.OK:
        limit = next((word for word in OWN_LIMITS if word in (record.detail or "")), "")
        if record.reason != "tester-bound" or not limit:
            return None
        return RateSample(
            cell=record.cell,
            trial=record.trial,
            frame_bytes=size,
            ways=ways,
            limit=limit,
            found=False,
            names={"client": record.client, "server": record.server},
        )
    per_s, limit = number(values.get("frames_per_s")), str(values.get("limit", ""))
    names = {key: str(values[f"{key}_host"]) for key in HOSTS if f"{key}_host" in values}
    return RateSample(
        cell=record.cell,
        trial=record.trial,
        frame_bytes=size,
        ways=ways,
        limit=NO_RATE if per_s is None and limit == "device" else limit,
        found=per_s is not None,
        line_per_s=number(values.get("line_frames_per_s")),
        line_bit_per_s=number(values.get("line_rate_bit_per_s")),
        per_s=per_s,
        upper_per_s=number(values.get("upper_frames_per_s")),
        limit_host=str(values.get("limit_host", "")),
        core_share=number(values.get("limit_core_share")),
        one_machine=values.get("one_machine") is True,
        step_share=number(record.settings.get("resolution")),
        full_s=number(record.settings.get("duration_s")),
        monotone=values.get("monotone") is not False,
        link_paced=values.get("link_paced") is not False,
        tries=_tries(values, "trial_"),
        losses=_tries(values, "loss_"),
        dropped=_dropped(values),
        names={"client": record.client, "server": record.server, **names},
        values=values,
    )


def _tries(values: Mapping[str, Value], prefix: str) -> Tries:
    """The tries of a search; empty if the lengths of the lists differ or a verdict is unknown."""
    names = ("line_share", "duration_s", "sent_frames", "received_frames", "queue_ns", "verdict")
    lists = [_series(values.get(prefix + name)) for name in names]
    if len({len(numbers) for numbers in lists}) != 1:
        return Tries()
    words = tuple(VERDICTS[int(verdict)] for verdict in lists[-1] if 0 <= verdict < len(VERDICTS))
    if len(words) != len(lists[-1]):
        return Tries()
    share, duration_s, sent_frames, received_frames, queue_ns = lists[:-1]
    return Tries(
        line_share=share,
        duration_s=duration_s,
        sent=sent_frames,
        received=received_frames,
        queue_ns=queue_ns,
        verdicts=words,
    )


def _dropped(values: Mapping[str, Value]) -> dict[tuple[str, str], tuple[float, ...]]:
    drops = {
        (key, place): _series(values.get(f"trial_{key}_{place}_dropped_frames"))
        for key in HOSTS
        for place in PLACES
    }
    return {counter: frames for counter, frames in drops.items() if frames}


def _series(value: Value | None) -> tuple[float, ...]:
    return tuple(float(element) for element in value) if isinstance(value, list) else ()


def _middle(values: Iterable[float | None]) -> float | None:
    figures: Sequence[float | None] = tuple(values)
    numbers = [figure for figure in figures if figure is not None]
    return median(numbers) if numbers and len(numbers) == len(figures) else None


def _plain(value: Value | None) -> str | int | float | bool | None:
    return str(value) if isinstance(value, list) else value
