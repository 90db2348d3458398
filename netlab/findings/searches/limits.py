"""Limits of searches for the highest rate: of each frame size, and of all sizes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from netlab.ethernet import FCS_BYTES, GAP_BYTES, HEADER_BYTES, PREAMBLE_BYTES
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.searches.sample import NO_RATE, RateSample, SizeGroup, SizeSample, groups_of
from netlab.findings.streams.host_limits import SATURATED
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _, joined
from netlab.units import format_share

if TYPE_CHECKING:
    from netlab.results.run import Run


def of_searches(
    kind: Kind,
    group: SizeGroup,
    size_samples: Sequence[SizeSample],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding about some sizes of a group, with the trials that show it."""
    all_words = {**of_sizes(size_samples, group), **(words or {})}
    present = {name: word for name, word in all_words.items() if word}
    return finding(
        kind, group.group, cells_of(size_samples), figures, present, trials_of(size_samples)
    )


def of_sizes(size_samples: Sequence[SizeSample], group: SizeGroup) -> dict[str, str]:
    """The word ``sizes`` of a finding: the frame sizes as a text. If a size has several trials, the
    text has the number of trials that show the finding.
    """
    count, trial_count = len(_trials(size_samples)), sum(size.of_trials for size in size_samples)
    sizes = _sizes(size_samples, group)
    in_words = (
        in_trials(count, trial_count).get("in_trials") if trial_count > len(size_samples) else None
    )
    if in_words is None:
        return {"sizes": sizes}
    return {"sizes": _("{sizes} ({trials})", sizes=sizes, trials=in_words)}


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


def trials_of(size_samples: Sequence[SizeSample]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of all trials in ``size_samples``."""
    return tuple(_trials(size_samples))


def cells_of(size_samples: Sequence[SizeSample]) -> tuple[str, ...]:
    """The cells, with the shortest frames first."""
    return tuple(size.cell for size in size_samples)


def _trials(size_samples: Sequence[SizeSample]) -> list[tuple[str, int]]:
    return [trial.key for size in size_samples for trial in size.trials]


def _sizes(size_samples: Sequence[SizeSample], group: SizeGroup) -> Message:
    all_sizes = [size[0].frame_bytes for size in group.sizes]
    sizes = [sample.frame_bytes for sample in size_samples]
    if len(sizes) == 1:
        return _("at {size} bytes", size=sizes[0])
    if sizes == all_sizes:
        return _("at every frame size")
    first = all_sizes.index(sizes[0])
    if all_sizes[first : first + len(sizes)] != sizes or len(sizes) < 3:
        if all_sizes[first:] == sizes:
            return _("from {size} bytes upwards", size=sizes[0])
        listed = [str(size) for size in sizes]
        return _("at {some} and {last} bytes", some=joined(", ", listed[:-1]), last=listed[-1])
    if first + len(sizes) == len(all_sizes):
        return _("from {size} bytes upwards", size=sizes[0])
    return _("from {first} to {last} bytes", first=sizes[0], last=sizes[-1])


SIZES, SPAN = 3, 4
"""Minimum number of frame sizes that share a rate, and minimum ratio of the largest size to the
smallest."""

BELOW = 0.95
"""Each rate must be below this share of the line rate."""

SAME = 0.01
"""Maximum gap between the bounds of two sizes, as a share, that the scatter of trials explains."""

CLOSE_FRAMES, CLOSE_BITS = 0.10, 0.05
"""Maximum distance between two close bounds of a size, as a share of the rate: for a rate in
frames/s, and for a rate in bit/s. At least three sizes must have close bounds, because any rates
would agree with a coarser grid. If the sizes span a factor of four, rates by different ways to
count bits differ by at least 4 %."""

ACCOUNTS: Mapping[str, int] = {
    "wire": PREAMBLE_BYTES + GAP_BYTES,
    "frames": 0,
    "frames-without-fcs": -FCS_BYTES,
    "packets": -FCS_BYTES - HEADER_BYTES,
}
"""Way to count the bytes of a frame → its bytes beyond the frame size (with header and FCS)."""


@dataclass(frozen=True, slots=True)
class OneRate:
    """A rate that several frame sizes share."""

    sizes: tuple[SizeSample, ...]
    per_s: float
    """Frames/s or bit/s: the highest rate that passed at a size with close bounds."""
    accounts: tuple[str, ...] = ()
    """For bits: every way to count bytes by which the sizes have one rate."""


def one_frame_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one frame rate; ``None`` if there is none."""
    return _longest_run(sizes, _frames)


def one_bit_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one bit rate; ``None`` if there is none."""
    return _longest_run(sizes, _bits)


def _longest_run(
    sizes: Sequence[SizeSample], rate_of: Callable[[tuple[SizeSample, ...]], OneRate | None]
) -> OneRate | None:
    runs = [
        rate
        for start in range(len(sizes))
        for end in range(start + SIZES, len(sizes) + 1)
        if sizes[end - 1].frame_bytes >= SPAN * sizes[start].frame_bytes
        and (rate := rate_of(tuple(sizes[start:end]))) is not None
    ]
    return max(runs, key=lambda rate: len(rate.sizes), default=None)


def _frames(sizes: tuple[SizeSample, ...]) -> OneRate | None:
    per_s = _common(sizes, lambda _: 1.0, CLOSE_FRAMES)
    return None if per_s is None else OneRate(sizes, per_s)


def _bits(sizes: tuple[SizeSample, ...]) -> OneRate | None:
    rates = {
        account: rate
        for account, more in ACCOUNTS.items()
        if (rate := _common(sizes, _bits_of(more), CLOSE_BITS)) is not None
    }
    if not rates:
        return None
    return OneRate(sizes, next(iter(rates.values())), tuple(rates))


def _bits_of(more_bytes: int) -> Callable[[int], float]:
    return lambda frame_bytes: 8.0 * (frame_bytes + more_bytes)


def _common(
    sizes: tuple[SizeSample, ...], weight: Callable[[int], float], close: float
) -> float | None:
    """The rate that is between the bounds of every size; ``None`` if there is none.

    Each frame counts with the weight of its size: 1 for frames/s, its bits for bit/s. The sizes
    with close bounds must show the rate by themselves; the other sizes must not contradict it.
    """
    bounds: dict[int, tuple[float, float]] = {}
    near: list[int] = []
    for size in sizes:
        low, high, line = size.per_s, size.upper_per_s, size.line_per_s
        if not low or high is None or not line or low >= BELOW * line:
            return None
        frame_weight = weight(size.frame_bytes)
        bounds[size.frame_bytes] = frame_weight * low, frame_weight * high
        near += [size.frame_bytes] if high <= (1 + close) * low else []
    if len(near) < SIZES or near[-1] < SPAN * near[0]:
        return None
    most_passed = max(low for low, _ in bounds.values())
    least_failed = min(high for _, high in bounds.values())
    if most_passed > (1 + SAME) * least_failed:
        return None
    return max(bounds[frame_bytes][0] for frame_bytes in near)


IDLE = 0.9
"""If the load of a device's busiest core is below this share, no core is the bottleneck."""

_ACCOUNTED = {
    "wire": _("on the wire"),
    "frames": _("in frames with FCS"),
    "frames-without-fcs": _("in frames without FCS"),
    "packets": _("in IP packets"),
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
        yield from _line_rate(group)
        yield from _own_hosts(group)
        yield from _without_rate(group)


# ---- the device ----------------------------------------------------------------------------------


def _of_device(group: SizeGroup) -> Iterator[Finding]:
    rest = group.showing("device")
    frames = one_frame_rate(rest)
    if frames is not None:
        yield _frame_rate(group, frames)
        rest = _without(rest, frames)
    bits = one_bit_rate(rest)
    if bits is not None:
        yield _bit_rate(group, bits)
        rest = _without(rest, bits)
    by_cpu = tuple(size for size in rest if _busy_core(size.trials))
    for size_samples in (by_cpu, tuple(size for size in rest if size not in by_cpu)):
        if size_samples:
            yield _device(group, size_samples)
    yield from _queued(group)


def _frame_rate(group: SizeGroup, rate: OneRate) -> Finding:
    figures = {"found_frames_per_s": rate.per_s, **_figures(rate.sizes)}
    return _finding_of(
        Kind.SEARCH_LIMIT_FRAME_RATE, group, rate.sizes, figures, _core_words(rate.sizes)
    )


def _bit_rate(group: SizeGroup, rate: OneRate) -> Finding:
    figures = {"policed_bit_per_s": rate.per_s, **_figures(rate.sizes)}
    first, *alternatives = (_ACCOUNTED[account] for account in rate.accounts)
    accounted: Message = first
    for alternative in alternatives:
        accounted = _("{some} or {more}", some=accounted, more=alternative)
    return _finding_of(
        Kind.SEARCH_LIMIT_BIT_RATE, group, rate.sizes, figures, {"accounted": accounted}
    )


def _device(group: SizeGroup, size_samples: tuple[SizeSample, ...]) -> Finding:
    return _finding_of(
        Kind.SEARCH_LIMIT_DEVICE,
        group,
        size_samples,
        _figures(size_samples),
        _core_words(size_samples),
    )


def _queued(group: SizeGroup) -> Iterator[Finding]:
    """The finding about sizes at which the device lost no frames at the next higher rate, but
    delayed them.
    """
    trials = [
        trial for size in group.showing("device") for trial in size.trials if _absorbed_ns(trial)
    ]
    size_samples = group.where(trials)
    if size_samples:
        figures = {"queue_ns": median(_absorbed_ns(trial) for trial in trials)}
        yield _finding_of(Kind.SEARCH_LIMIT_QUEUE, group, size_samples, figures)


def _absorbed_ns(sample: RateSample) -> float:
    """Additional delay of frames at the rate that failed; 0 if frames were lost at that rate."""
    if not sample.upper_per_s or not sample.line_per_s:
        return 0.0
    share, tries = sample.upper_per_s / sample.line_per_s, sample.tries
    outcomes = [
        (verdict, queue_ns)
        for tried_share, verdict, queue_ns in zip(
            tries.line_share, tries.verdicts, tries.queue_ns, strict=True
        )
        if abs(tried_share - share) < _SAME_SHARE
    ]
    if any(verdict == "lost" for verdict, _ in outcomes):
        return 0.0
    return max((queue_ns for verdict, queue_ns in outcomes if verdict == "absorbed"), default=0.0)


_SAME_SHARE = 1e-6
"""Maximum difference between two equal shares of the line rate: a step is at least 0.01 %."""


# ---- the line, and our own hosts -----------------------------------------------------------------


def _line_rate(group: SizeGroup) -> Iterator[Finding]:
    trials = [trial for size in group.showing("line rate") for trial in size.trials]
    size_samples = group.where(trial for trial in trials if trial.link_paced)
    if size_samples:
        line = {"link_rate_bit_per_s": size_samples[0].trials[0].line_bit_per_s}
        yield _finding_of(Kind.SEARCH_LIMIT_LINE_RATE, group, size_samples, line)


def _own_hosts(group: SizeGroup) -> Iterator[Finding]:
    for limit, kind in (
        ("generator-bound", Kind.SEARCH_LIMIT_SENDER),
        ("receiver-bound", Kind.SEARCH_LIMIT_RECEIVER),
    ):
        of_limit = [trial for size in group.showing(limit) for trial in size.trials if trial.found]
        size_samples = group.where(of_limit)
        if size_samples:
            words = {"place": _place_of(of_limit)} if limit == "receiver-bound" else {}
            yield _finding_of(
                kind,
                group,
                size_samples,
                _figures(size_samples),
                {**words, "at_host": _hosts(of_limit)},
            )


def _without_rate(group: SizeGroup) -> Iterator[Finding]:
    for limit, because in _BECAUSE.items():
        trials = [
            trial for size in group.showing(limit) for trial in size.trials if not trial.found
        ]
        size_samples = group.where(trials)
        if size_samples:
            yield _finding_of(Kind.SEARCH_LIMIT_NONE, group, size_samples, {}, {"because": because})


def _hosts(trials: Sequence[RateSample]) -> Message | str:
    """Names of the limiting hosts; empty if the name of any of them is not known."""
    names = dict.fromkeys(trial.limit_host for trial in trials)
    return "" if "" in names else joined(", ", names)


def _place_of(trials: Sequence[RateSample]) -> Message | str:
    """Text for the place where our receivers dropped the most frames; empty if not known."""
    counts: dict[str, float] = {}
    for trial in trials:
        bad = [
            number
            for number, verdict in enumerate(trial.tries.verdicts)
            if verdict == "tester-loss"
        ]
        for (key, place), frames in trial.dropped.items():
            if key in ("client", "server") and len(frames) == len(trial.tries.verdicts):
                counts[place] = counts.get(place, 0) + sum(frames[number] for number in bad)
    most = max(counts, key=lambda place: counts[place], default="")
    return _PLACES[most] if most and counts[most] > 0 else ""


# ---- shared functions ----------------------------------------------------------------------------


def _busy_core(trials: Sequence[RateSample]) -> bool:
    """Whether a core of the device is known to be saturated.

    False if hosts share a machine: the busiest core may be the core of our sender, which is always
    busy to hold its rate.
    """
    core_shares = [trial.core_share for trial in trials if trial.core_share is not None]
    separate = not any(trial.one_machine for trial in trials)
    return separate and len(core_shares) == len(trials) and median(core_shares) >= SATURATED


def _core_words(size_samples: Sequence[SizeSample]) -> dict[str, str]:
    """``device``: the device's name if a core was saturated with every size. ``idle_device``: its
    name if no core was busy in any trial.
    """
    trials = [trial for size in size_samples for trial in size.trials]
    if all(_busy_core(size.trials) for size in size_samples):
        return {"device": _hosts(trials)}
    core_shares = [trial.core_share for trial in trials if trial.core_share is not None]
    apart = len(core_shares) == len(trials) and not any(trial.one_machine for trial in trials)
    return {"idle_device": _hosts(trials)} if apart and max(core_shares) < IDLE else {}


def _figures(size_samples: Sequence[SizeSample]) -> dict[str, float | None]:
    """Lowest and highest found rate, and the median load of the limiting host's busiest core."""
    rates = [size.per_s for size in size_samples]
    known_rates = [rate for rate in rates if rate is not None]
    cores = [trial.core_share for size in size_samples for trial in size.trials]
    known_cores = [share for share in cores if share is not None]
    all_known = len(known_cores) == len(cores) and bool(cores)
    return {
        "least_found_frames_per_s": min(known_rates) if len(known_rates) == len(rates) else None,
        "most_found_frames_per_s": max(known_rates) if len(known_rates) == len(rates) else None,
        "busiest_core_share": median(known_cores) if all_known else None,
    }


def _finding_of(
    kind: Kind,
    group: SizeGroup,
    size_samples: tuple[SizeSample, ...],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    rates = rates_of(size_samples)
    all_words = {**(words or {}), **({"rates": rates} if rates else {})}
    return of_searches(kind, group, size_samples, figures, all_words)


def _without(sizes: Sequence[SizeSample], rate: OneRate) -> tuple[SizeSample, ...]:
    return tuple(size for size in sizes if size not in rate.sizes)
