"""Limits of searches for the highest rate: whose they are, for each frame size and over all. Pure.

The record says what ended a search: nothing below the line rate, our sender, our receiver, or what
stands between the hosts, the device. Of the device the sizes are taken together: one frame rate is
what each frame costs it (Bradner and McQuaid, RFC 2544, 26.1; Mogul and Ramakrishnan 1997), one bit
rate a slower link, a shaper or a policer behind it.
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
"""Share of the time below which the busiest core of a device had time left."""

_ACCOUNTED = {
    "wire": _("on the wire"),
    "frames": _("in frames with FCS"),
    "frames-without-fcs": _("in frames without FCS"),
    "packets": _("in IP packets"),
}
"""Way to count bits → in words."""

_BECAUSE = {
    "generator-bound": _("our own sender could not send even the lowest requested rate"),
    "receiver-bound": _("our own receiver lost frames at every rate tried"),
    NO_RATE: _("even at the lowest rate of the grid, frames were lost or a queue grew"),
}

_PLACES = {
    "socket": _("in its socket"),
    "softnet": _("in its CPUs’ backlog"),
    "interface": _("at its interface"),
    "queue": _("in its queue"),
}


def search_limits(run: Run) -> Iterator[Finding]:
    """What ended each search, its sizes taken together."""
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
    for shown in (by_cpu, tuple(size for size in rest if size not in by_cpu)):
        if shown:
            yield _device(group, shown)
    yield from _queued(group)


def _frame_rate(group: SizeGroup, rate: OneRate) -> Finding:
    figures = {"found_frames_per_s": rate.per_s, **_figures(rate.sizes)}
    return _finding_of(Kind.SEARCH_FRAME_RATE, group, rate.sizes, figures, _core_words(rate.sizes))


def _bit_rate(group: SizeGroup, rate: OneRate) -> Finding:
    figures = {"policed_bit_per_s": rate.per_s, **_figures(rate.sizes)}
    first, *others = (_ACCOUNTED[account] for account in rate.accounts)
    accounted: Message = first
    for other in others:
        accounted = _("{some} or {more}", some=accounted, more=other)
    return _finding_of(Kind.SEARCH_POLICER, group, rate.sizes, figures, {"accounted": accounted})


def _device(group: SizeGroup, shown: tuple[SizeSample, ...]) -> Finding:
    return _finding_of(Kind.SEARCH_DEVICE, group, shown, _figures(shown), _core_words(shown))


def _queued(group: SizeGroup) -> Iterator[Finding]:
    """The rate above did not lose frames, it held them up."""
    trials = [
        trial for size in group.showing("device") for trial in size.trials if _absorbed_ns(trial)
    ]
    shown = group.where(trials)
    if shown:
        figures = {"queue_ns": median(_absorbed_ns(trial) for trial in trials)}
        yield _finding_of(Kind.SEARCH_QUEUE, group, shown, figures)


def _absorbed_ns(sample: RateSample) -> float:
    """By how much longer frames took to come out at the rate that did not pass; 0 where some were
    lost there.
    """
    if not sample.upper_per_s or not sample.line_per_s:
        return 0.0
    share, tries = sample.upper_per_s / sample.line_per_s, sample.tries
    tried = [
        (verdict, queue_ns)
        for tried_share, verdict, queue_ns in zip(
            tries.line_share, tries.verdicts, tries.queue_ns, strict=True
        )
        if abs(tried_share - share) < _SAME_SHARE
    ]
    if any(verdict == "lost" for verdict, _ in tried):
        return 0.0
    return max((queue_ns for verdict, queue_ns in tried if verdict == "absorbed"), default=0.0)


_SAME_SHARE = 1e-6
"""Shares of the line rate are the same number of the grid: a step is 0.01 % at least."""


# ---- the line, and our own hosts -----------------------------------------------------------------


def _line_rate(group: SizeGroup) -> Iterator[Finding]:
    trials = [trial for size in group.showing("line rate") for trial in size.trials]
    shown = group.where(trial for trial in trials if trial.link_paced)
    if shown:
        line = {"link_rate_bit_per_s": shown[0].trials[0].line_bit_per_s}
        yield _finding_of(Kind.SEARCH_LINE_RATE, group, shown, line)


def _own_hosts(group: SizeGroup) -> Iterator[Finding]:
    for limit, kind in (
        ("generator-bound", Kind.SEARCH_GENERATOR_BOUND),
        ("receiver-bound", Kind.SEARCH_RECEIVER_BOUND),
    ):
        of_limit = [trial for size in group.showing(limit) for trial in size.trials if trial.found]
        shown = group.where(of_limit)
        if shown:
            words = {"place": _place_of(of_limit)} if limit == "receiver-bound" else {}
            yield _finding_of(
                kind, group, shown, _figures(shown), {**words, "at_host": _hosts(of_limit)}
            )


def _without_rate(group: SizeGroup) -> Iterator[Finding]:
    for limit, because in _BECAUSE.items():
        trials = [
            trial for size in group.showing(limit) for trial in size.trials if not trial.found
        ]
        shown = group.where(trials)
        if shown:
            yield _finding_of(Kind.SEARCH_NO_RATE, group, shown, {}, {"because": because})


def _hosts(trials: Sequence[RateSample]) -> Message | str:
    """The limiting hosts by name; empty where one of them is not known."""
    names = dict.fromkeys(trial.limit_host for trial in trials)
    return "" if "" in names else joined(", ", names)


def _place_of(trials: Sequence[RateSample]) -> Message | str:
    """Where our own receivers dropped most of what the trials lost for it; empty: not told."""
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


# ---- what they have in common --------------------------------------------------------------------


def _busy_core(trials: Sequence[RateSample]) -> bool:
    """Whether a core of the device did all that it could. Of hosts that are one machine the busiest
    may be our sender's, which keeps its own busy to keep its pace.
    """
    known = [trial.core_share for trial in trials if trial.core_share is not None]
    separate = not any(trial.one_machine for trial in trials)
    return separate and len(known) == len(trials) and median(known) >= SATURATED


def _core_words(shown: Sequence[SizeSample]) -> dict[str, str]:
    """``device``: its name where a core did all it could; ``idle_device``: where none did."""
    trials = [trial for size in shown for trial in size.trials]
    if all(_busy_core(size.trials) for size in shown):
        return {"device": _hosts(trials)}
    known = [trial.core_share for trial in trials if trial.core_share is not None]
    apart = len(known) == len(trials) and not any(trial.one_machine for trial in trials)
    return {"idle_device": _hosts(trials)} if apart and max(known) < IDLE else {}


def _figures(shown: Sequence[SizeSample]) -> dict[str, float | None]:
    """Over the same trials: the least and the most rate, and how busy the limiting host was."""
    rates = [size.per_s for size in shown]
    known = [rate for rate in rates if rate is not None]
    cores = [trial.core_share for size in shown for trial in size.trials]
    known_cores = [share for share in cores if share is not None]
    all_known = len(known_cores) == len(cores) and bool(cores)
    return {
        "least_found_frames_per_s": min(known) if len(known) == len(rates) else None,
        "most_found_frames_per_s": max(known) if len(known) == len(rates) else None,
        "busiest_core_share": median(known_cores) if all_known else None,
    }


def _finding_of(
    kind: Kind,
    group: SizeGroup,
    shown: tuple[SizeSample, ...],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    rates = rates_of(shown)
    all_words = {**(words or {}), **({"rates": rates} if rates else {})}
    return of_searches(kind, group, shown, figures, all_words)


def _without(sizes: Sequence[SizeSample], rate: OneRate) -> tuple[SizeSample, ...]:
    return tuple(size for size in sizes if size not in rate.sizes)
