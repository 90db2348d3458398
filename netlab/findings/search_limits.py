"""Searches for the highest rate: their trials, and the limits that all frame sizes show together.

A trial is a whole search; within it, frames are sent at one rate after the other: each is a try.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, product
from statistics import median
from typing import NamedTuple

from netlab.ethernet import FCS_BYTES, HEADER_BYTES
from netlab.findings.finding import Finding, Group, Kind, conditions_of, finding, in_trials
from netlab.findings.rates import Accounting, runs_of
from netlab.findings.stream_rules import SATURATED
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.messages import Message, _, joined
from netlab.results.layout import varying
from netlab.results.run import Run
from netlab.trial.host_counters import PLACES
from netlab.trial.record import NUMBER, MeasuredValues, Record, Recorded, Status, as_number
from netlab.units import format_share

NO_RATE = "no-rate"
"""Limit of a search in which even the lowest rate of the grid failed."""

_OWN_LIMITS = ("generator-bound", "receiver-bound")
"""Limits of a search that our own hosts cause."""

_WHOLE = 0.95
"""Minimum share of the full duration for a try to count as full. A try has a whole number of
frames, so its duration may differ a little."""


class Try(NamedTuple):
    """One try of a search, or of its frame loss test."""

    line_share: float
    duration_s: float
    sent_frames: float
    received_frames: float
    queue_ns: float
    """How much longer the frames took to leave the device than to enter it."""
    verdict: str


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
    one_machine = Recorded(MeasuredValues.flag, "one_machine")
    """Whether some of the hosts are one machine: each CPU load is that of the whole machine."""
    core_share = Recorded(NUMBER, "limit_core_share")
    """Load of the busiest core of the limiting host, in the tries that failed."""

    @property
    def measured(self) -> Record:
        """The measured values."""
        return self.record

    @property
    def frame_bytes(self) -> int:
        """With header and FCS."""
        return int(str(self.record.settings["frame_bytes"]))

    @cached_property
    def limit(self) -> str:
        """What ended the search, as recorded; ``NO_RATE`` if no rate passed. Empty: not known."""
        if self.record.status is not Status.OK:
            # The limit of our own hosts that a search without a result names.
            return next((word for word in _OWN_LIMITS if word in (self.record.detail or "")), "")
        limit = self.record.text("limit") or ""
        return NO_RATE if limit == "device" and not self.found else limit

    @property
    def found(self) -> bool:
        """Whether a rate was found."""
        return self.per_s is not None

    @property
    def link_paced(self) -> bool:
        """False: the sender was faster than the stated line rate."""
        return self.record.flag("link_paced") is not False

    @cached_property
    def tries(self) -> Sequence[Try]:
        """The tries of the search, in order."""
        return _tries(self.record, "trial_")

    @cached_property
    def losses(self) -> Sequence[Try]:
        """The tries of its frame loss test, in order."""
        return _tries(self.record, "loss_")

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
        found, settings = self.line_share, self.record.settings
        step, full_s = as_number(settings.get("resolution")), as_number(settings.get("duration_s"))
        is_monotone = self.record.flag("monotone") is not False
        if is_monotone or found is None or step is None or full_s is None:
            return False
        return any(
            tried.line_share > found + 1.5 * step and tried.duration_s >= _WHOLE * full_s
            if tried.verdict == "passed"
            else tried.verdict in ("lost", "absorbed") and tried.line_share < found - 0.5 * step
            for tried in self.tries
        )


def _median_of(name: str) -> cached_property[float | None]:
    """The median of a figure of ``RateSample`` over the trials; ``None`` if a trial has none."""
    return cached_property(lambda size: _middle(getattr(trial, name) for trial in size.trials))


@dataclass(frozen=True, kw_only=True)
class SizeSample:
    """Some of the trials of one cell (one frame size), for example those with the same limit."""

    frame_bytes: int
    trials: tuple[RateSample, ...]
    of_trials: int
    """Number of all trials of the cell that ended."""

    per_s = _median_of("per_s")
    upper_per_s = _median_of("upper_per_s")
    line_per_s = _median_of("line_per_s")
    line_share = _median_of("line_share")


@dataclass(frozen=True, kw_only=True)
class SizeGroup:
    """Searches that differ only in their frame size, the smallest first."""

    group: Group
    sizes: tuple[tuple[RateSample, ...], ...]
    """For each size, the trials that ended."""

    @property
    def trials(self) -> tuple[RateSample, ...]:
        """The trials of all sizes."""
        return tuple(chain.from_iterable(self.sizes))

    def where(self, shows: Callable[[RateSample], object]) -> tuple[SizeSample, ...]:
        """The sizes that have trials for which ``shows`` is true, each with these trials only."""
        return tuple(
            SizeSample(frame_bytes=size[0].frame_bytes, trials=matches, of_trials=len(size))
            for size in self.sizes
            if (matches := tuple(filter(shows, size)))
        )

    def showing(self, limit: str, *, found: bool | None = None) -> tuple[SizeSample, ...]:
        """The sizes that have trials with this limit, and with or without a found rate."""
        return self.where(
            lambda trial: trial.limit == limit and (found is None or trial.found is found)
        )


def groups_of(run: Run) -> tuple[SizeGroup, ...]:
    """All searches of a run, in the plan's order, except those within one host."""
    of_kinds = varying(run.plan.cells)
    by_group: dict[Group, dict[int, list[RateSample]]] = defaultdict(lambda: defaultdict(list))
    for cell, _trial, record in run.stored.trials():
        sample = None if record is None else sample_of(record)
        if cell.test == "throughput_search" and sample is not None:
            names = of_kinds[cell.test, str(cell.settings.get("protocol", ""))]
            others = [name for name in names if name != "frame_bytes"]
            group = Group(cell.pairing, conditions=conditions_of(cell.settings, others))
            by_group[group][sample.frame_bytes].append(sample)
    return tuple(
        SizeGroup(group=group, sizes=tuple(tuple(by_size[size]) for size in sorted(by_size)))
        for group, by_size in by_group.items()
    )


def sample_of(record: Record) -> RateSample | None:
    """The sample of a trial; ``None`` if it shows nothing about the hosts or the path."""
    if not isinstance(record.settings.get("frame_bytes"), int) or record.same_host:
        return None
    sample = RateSample(record)
    failed = record.status is not Status.OK
    return None if failed and (record.reason != "tester-bound" or not sample.limit) else sample


def _tries(record: Record, prefix: str) -> Sequence[Try]:
    """The tries of a search; empty if the lengths of the lists differ or a verdict is unknown."""
    *lists, verdicts = [record.series(prefix + name) for name in Try._fields]
    if any(len(numbers) != len(verdicts) for numbers in lists):
        return ()
    if not {*verdicts} <= {*range(len(VERDICTS))}:
        return ()
    words = [VERDICTS[int(verdict)] for verdict in verdicts]
    return [Try(*row) for row in zip(*lists, words, strict=True)]


def _known(values: Iterable[float | None]) -> list[float]:
    """The values; empty if any of them is not known."""
    every = list(values)
    return [] if None in every else [value for value in every if value is not None]


def _middle(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return median(known) if known else None


def of_searches(
    kind: Kind,
    group: SizeGroup,
    size_samples: Sequence[SizeSample],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding about some sizes of a group, with the trials that show it.

    Its word ``sizes`` is the frame sizes as a text. If a size has several trials, the text has the
    number of trials that show the finding.
    """
    trials = tuple(trial.record.key for trial in _trials(size_samples))
    of_trials = sum(size.of_trials for size in size_samples)
    sizes = _sizes(size_samples, group)
    if of_trials > len(size_samples) and (counted := in_trials(len(trials), of_trials)):
        sizes = _("{sizes} ({trials})", sizes=sizes, trials=counted["in_trials"])
    present = {name: word for name, word in (words or {}).items() if word}
    return finding(kind, group.group, (), figures, {"sizes": sizes, **present}, trials)


def rates_of(size_samples: Sequence[SizeSample]) -> Message | None:
    """The found rates as a text, such as ``7,440/s at 64 bytes (5 %), …``, with shares of the line
    rate; ``None`` if a rate is not known.
    """
    parts = [
        _(
            "{rate}/s at {size} bytes ({share})",
            rate=f"{size.per_s:,.0f}",
            size=size.frame_bytes,
            share=format_share(round(size.line_share, 4)),
        )
        for size in size_samples
        if size.per_s is not None and size.line_share is not None
    ]
    return joined(", ", parts) if len(parts) == len(size_samples) else None


def _sizes(size_samples: Sequence[SizeSample], group: SizeGroup) -> Message:
    all_sizes = [size[0].frame_bytes for size in group.sizes]
    sizes = [sample.frame_bytes for sample in size_samples]
    if len(sizes) == 1:
        return _("at {size} bytes", size=sizes[0])
    if sizes == all_sizes:
        return _("at every frame size")
    if all_sizes[-len(sizes) :] == sizes:
        return _("from {size} bytes upwards", size=sizes[0])
    first = all_sizes.index(sizes[0])
    if len(sizes) >= 3 and all_sizes[first : first + len(sizes)] == sizes:
        return _("from {first} to {last} bytes", first=sizes[0], last=sizes[-1])
    listed = [str(size) for size in sizes]
    return _("at {some} and {last} bytes", some=joined(", ", listed[:-1]), last=listed[-1])


BELOW = 0.95
"""Each rate must be below this share of the line rate."""

SAME = 0.01
"""Maximum gap between the bounds of two sizes, as a share, that the scatter of trials explains."""

CLOSE_FRAMES, CLOSE_BITS = 0.10, 0.05
"""Maximum distance between two close bounds of a size, as a share of the rate: for a rate in
frames/s, and for a rate in bit/s. At least three sizes must have close bounds, because any rates
would agree with a coarser grid. If the sizes span a factor of four, rates by different ways to
count bits differ by at least 4 %."""


@dataclass(frozen=True, slots=True)
class OneRate:
    """A rate that several frame sizes share."""

    sizes: tuple[SizeSample, ...]
    per_s: float
    """Frames/s or bit/s: the highest rate that passed at a size with close bounds."""
    accounts: tuple[Accounting, ...] = ()
    """For bits: every way to count bytes by which the sizes have one rate."""


def one_rate(sizes: Sequence[SizeSample], *, in_bits: bool) -> OneRate | None:
    """The longest run of neighbouring sizes with one rate, in frames/s or (``in_bits``) in bit/s;
    ``None`` if there is none.
    """
    accounts: Iterable[Accounting | None] = Accounting if in_bits else [None]
    close, found = CLOSE_BITS if in_bits else CLOSE_FRAMES, []
    for run in runs_of([size.frame_bytes for size in sizes]):
        rates = {
            account: rate
            for account in accounts
            if (rate := _common(sizes[run], account, close)) is not None
        }
        if rates:
            first_rate = next(iter(rates.values()))
            found.append(OneRate(tuple(sizes[run]), first_rate, tuple(filter(None, rates))))
    return max(found, key=lambda rate: len(rate.sizes), default=None)


def _common(sizes: Sequence[SizeSample], account: Accounting | None, close: float) -> float | None:
    """The rate that is between the bounds of every size; ``None`` if there is none.

    Each frame counts with the bits of this ``account``, for bit/s; with 1 if that is ``None``, for
    frames/s. The sizes with close bounds must show the rate by themselves; the other sizes must not
    contradict it.
    """
    bounds: dict[int, tuple[float, float]] = {}
    near: list[int] = []
    for size in sizes:
        low, high, line = size.per_s, size.upper_per_s, size.line_per_s
        if not low or high is None or not line or low >= BELOW * line:
            return None
        packet_bytes = max(1, size.frame_bytes - HEADER_BYTES - FCS_BYTES)
        frame_weight = 1.0 if account is None else 8.0 * account.counted_bytes([packet_bytes])
        bounds[size.frame_bytes] = frame_weight * low, frame_weight * high
        near += [size.frame_bytes] if high <= (1 + close) * low else []
    if not any(runs_of(near)):
        return None
    most_passed = max(low for low, _ in bounds.values())
    if most_passed > (1 + SAME) * min(high for _, high in bounds.values()):
        return None
    return max(bounds[frame_bytes][0] for frame_bytes in near)


IDLE = 0.9
"""If the load of a device's busiest core is below this share, no core is the bottleneck."""

_ACCOUNTED = {
    Accounting.WIRE: _("on the wire"),
    Accounting.FRAME: _("in frames with FCS"),
    Accounting.HEADED: _("in frames without FCS"),
    Accounting.PACKET: _("in IP packets"),
}
"""Way to count bits → its text."""

_BECAUSE = {
    "generator-bound": _("our own sender could not send even the lowest requested rate"),
    "receiver-bound": _("our own receiver lost frames at every rate tried"),
    NO_RATE: _("even at the lowest rate tried, frames were lost or a queue grew"),
}

_PLACES = {
    "socket": _("in its socket"),
    "softnet": _("in its CPUs’ backlog"),
    "interface": _("at its interface"),
    "queue": _("in its queue"),
}


def search_limits(run: Run) -> Iterator[Finding]:
    """The limits of the searches, judged over all frame sizes."""
    for group in () if run.plan.source is not None else groups_of(run):
        yield from _of_device(group)
        if paced := group.where(lambda trial: trial.limit == "line rate" and trial.link_paced):
            line = {"link_rate_bit_per_s": paced[0].trials[0].line_bit_per_s}
            yield _finding_of(Kind.SEARCH_LIMIT_LINE_RATE, group, paced, line)
        if sizes := group.showing("generator-bound", found=True):
            words = {"at_host": _hosts(sizes)}
            yield _finding_of(Kind.SEARCH_LIMIT_SENDER, group, sizes, _figures(sizes), words)
        if sizes := group.showing("receiver-bound", found=True):
            words = {"place": _place_of(sizes), "at_host": _hosts(sizes)}
            yield _finding_of(Kind.SEARCH_LIMIT_RECEIVER, group, sizes, _figures(sizes), words)
        for limit, because in _BECAUSE.items():
            if sizes := group.showing(limit, found=False):
                yield _finding_of(Kind.SEARCH_LIMIT_NONE, group, sizes, {}, {"because": because})


def _of_device(group: SizeGroup) -> Iterator[Finding]:
    rest = group.showing("device")
    one = one_rate([size for size in rest if _holder(size) != "ours"], in_bits=False)
    if one is not None:
        figures = {"found_frames_per_s": one.per_s, **_figures(one.sizes)}
        words = _core_words(one.sizes)
        yield _finding_of(Kind.SEARCH_LIMIT_FRAME_RATE, group, one.sizes, figures, words)
        rest = tuple(size for size in rest if size not in one.sizes)
    if (one := one_rate(rest, in_bits=True)) is not None:
        figures = {"policed_bit_per_s": one.per_s, **_figures(one.sizes)}
        first, *alternatives = (_ACCOUNTED[account] for account in one.accounts)
        accounted: Message = first
        for alternative in alternatives:
            accounted = _("{some} or {more}", some=accounted, more=alternative)
        words = {"accounted": accounted}
        yield _finding_of(Kind.SEARCH_LIMIT_BIT_RATE, group, one.sizes, figures, words)
        rest = tuple(size for size in rest if size not in one.sizes)
    for holder in ("cpu", "", "ours"):
        if sizes := tuple(size for size in rest if _holder(size) == holder):
            queue_ns = median(map(_absorbed_ns, _trials(sizes))) if holder == "ours" else None
            figures, words = {**_figures(sizes), "queue_ns": queue_ns}, _core_words(sizes)
            yield _finding_of(Kind.SEARCH_LIMIT_DEVICE, group, sizes, figures, words)
    # Sizes at which no frames were lost at the next higher rate, but delayed.
    if queued := group.where(lambda trial: trial.limit == "device" and _absorbed_ns(trial)):
        foreign_bytes = [_foreign_bytes(trial) for trial in _trials(queued)]
        queue = {
            "queue_ns": median(map(_absorbed_ns, _trials(queued))),
            "queue_bytes": median(foreign_bytes) if all(foreign_bytes) else None,
        }
        yield _finding_of(Kind.SEARCH_LIMIT_QUEUE, group, queued, queue)


def _absorbed_ns(sample: RateSample) -> float:
    """Additional delay of frames at the rate that failed; 0 if frames were lost at that rate."""
    if not sample.upper_per_s or not sample.line_per_s:
        return 0.0
    share = sample.upper_per_s / sample.line_per_s
    tries = [tried for tried in sample.tries if abs(tried.line_share - share) < _SAME_SHARE]
    if any(tried.verdict == "lost" for tried in tries):
        return 0.0
    return max((tried.queue_ns for tried in tries if tried.verdict == "absorbed"), default=0.0)


def _foreign_bytes(sample: RateSample) -> float:
    """The bytes that waited when the last frame was sent at the rate that failed; 0 if the socket
    buffers of our own hosts hold as many, so that a slow link or receiver may be the reason.
    """
    names = ("sender_send_buffer_bytes", "receiver_receive_buffer_bytes")
    sizes = [sample.record.number(n) or 0.0 for n in sample.record.values if n.endswith(names)]
    streams = as_number(sample.record.settings.get("streams")) or 1.0
    waiting = (sample.per_s or 0.0) * _absorbed_ns(sample) / 1e9 * sample.frame_bytes
    return waiting if sizes and waiting > streams * sum(sizes) else 0.0


def _holder(size: SizeSample) -> str:
    """``cpu``: a core of the device was saturated; ``ours``: frames waited, maybe in our hosts."""
    if _busy_core(size):
        return "cpu"
    waits = all(_absorbed_ns(trial) and not _foreign_bytes(trial) for trial in size.trials)
    return "ours" if waits else ""


_SAME_SHARE = 1e-6
"""Maximum difference between two equal shares of the line rate: a step is at least 0.01 %."""


def _trials(size_samples: Iterable[SizeSample]) -> list[RateSample]:
    return [trial for size in size_samples for trial in size.trials]


def _hosts(size_samples: Iterable[SizeSample]) -> Message | str:
    """Names of the limiting hosts; empty if the name of any of them is not known."""
    names = dict.fromkeys(t.record.text("limit_host") or "" for t in _trials(size_samples))
    return "" if "" in names else joined(", ", names)


def _place_of(size_samples: Iterable[SizeSample]) -> Message | str:
    """Text for the place where our receivers dropped the most frames; empty if not known."""
    counts: dict[str, float] = defaultdict(float)
    for trial, host, place in product(_trials(size_samples), ("client", "server"), PLACES):
        frames = trial.record.series(f"trial_{host}_{place}_dropped_frames")
        lost = [tried.verdict == "tester-loss" for tried in trial.tries]
        if len(frames) == len(lost):
            counts[place] += sum(compress(frames, lost))
    most = max(counts, key=counts.__getitem__, default="")
    return _PLACES[most] if most and counts[most] > 0 else ""


def _cores(trials: Sequence[RateSample]) -> list[float]:
    """The load of the device's busiest core in each trial; empty if it is not known.

    It is not known if hosts share a machine: the busiest core may be the core of our sender, which
    is always busy to hold its rate.
    """
    apart = not any(trial.one_machine for trial in trials)
    return _known(trial.core_share for trial in trials) if apart else []


def _busy_core(size: SizeSample) -> bool:
    """Whether a core of the device is known to be saturated."""
    cores = _cores(size.trials)
    return bool(cores) and median(cores) >= SATURATED


def _core_words(size_samples: Sequence[SizeSample]) -> dict[str, str]:
    """``device``: the device's name if a core was saturated with every size. ``idle_device``: its
    name if no core was busy in any trial.
    """
    if all(map(_busy_core, size_samples)):
        return {"device": _hosts(size_samples)}
    cores = _cores(_trials(size_samples))
    return {"idle_device": _hosts(size_samples)} if cores and max(cores) < IDLE else {}


def _figures(size_samples: Sequence[SizeSample]) -> dict[str, float | None]:
    """Lowest and highest found rate, and the median load of the limiting host's busiest core."""
    rates = _known(size.per_s for size in size_samples)
    return {
        "least_found_frames_per_s": min(rates, default=None),
        "most_found_frames_per_s": max(rates, default=None),
        "busiest_core_share": _middle(trial.core_share for trial in _trials(size_samples)),
    }


def _finding_of(
    kind: Kind,
    group: SizeGroup,
    size_samples: tuple[SizeSample, ...],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    all_words = {**(words or {}), "rates": rates_of(size_samples) or ""}
    return of_searches(kind, group, size_samples, figures, all_words)
