"""Limits of searches for the highest rate: the limit of each frame size, and of all sizes together.

The record states what ended a search: the line rate, our sender or our receiver (the hosts that run
the test), or the device between these hosts. The frame sizes whose search the device ended are
judged together. If several sizes have the same frame rate, the cost per frame is the limit (Bradner
and McQuaid, RFC 2544, 26.1; Mogul and Ramakrishnan 1997). If several sizes have the same bit rate,
the limit is a slower link, a shaper or a policer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Kind
from netlab.findings.searches.one_rate import OneRate, one_bit_rate, one_frame_rate
from netlab.findings.searches.sample import (
    NO_RATE,
    RateSample,
    SizeGroup,
    SizeSample,
    groups_of,
)
from netlab.findings.searches.words import of_searches, rates_of
from netlab.findings.streams.host_limits import SATURATED
from netlab.messages import Message, _, joined

if TYPE_CHECKING:
    from netlab.results.run import Run

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
