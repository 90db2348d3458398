"""Doubts about searches for the highest rate, and what a device does beyond the found rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Kind
from netlab.findings.searches.limits import of_searches
from netlab.findings.searches.sample import RateSample, SizeGroup, SizeSample, groups_of
from netlab.messages import Message, _, joined
from netlab.trial.host_counters import HOSTS, WAYS
from netlab.trial.record import Value, as_number
from netlab.units import format_share

if TYPE_CHECKING:
    from netlab.results.run import Run

_PAUSE_FRAMES = tuple(f"{host}_pause_frames_{way}" for host in HOSTS for way in WAYS)


def doubts(run: Run) -> Iterator[Finding]:
    """Findings about unclear limits, line rates other than stated, buffers smaller than requested,
    and flow control.
    """
    for group in () if run.plan.source is not None else groups_of(run):
        yield from _jumps(group)
        yield from _outrun(group)
        yield from _capped(group)
        yield from _paused(group)


def _jumps(group: SizeGroup) -> Iterator[Finding]:
    jumps = group.where(trial for size in group.sizes for trial in size if trial.jumps)
    if jumps:
        yield of_searches(Kind.SEARCH_DOUBT_NOT_MONOTONE, group, jumps, {})


def _outrun(group: SizeGroup) -> Iterator[Finding]:
    """Senders faster than the line rate. Older records, which lack the size of the sender's buffer,
    are left out: they count data that are still in the buffer as sent.
    """
    faster = group.where(
        trial
        for size in group.sizes
        for trial in size
        if not trial.link_paced
        and any(name.endswith("sender_send_buffer_bytes") for name in trial.record.values)
    )
    if faster:
        line = {"link_rate_bit_per_s": faster[0].trials[0].line_bit_per_s}
        yield of_searches(Kind.SEARCH_DOUBT_OUTRUN, group, faster, line)


def _capped(group: SizeGroup) -> Iterator[Finding]:
    """Socket buffers that are smaller than requested."""
    capped = {
        trial.key: sizes
        for size in group.sizes
        for trial in size
        if (sizes := _capped_bytes(trial.record.values))
    }
    size_samples = group.where(
        trial for size in group.sizes for trial in size if trial.key in capped
    )
    if size_samples:
        requested, effective = zip(
            *(pair for pairs in capped.values() for pair in pairs), strict=True
        )
        figures = {"asked_buffer_bytes": max(requested), "least_buffer_bytes": min(effective)}
        yield of_searches(Kind.SOCKET_BUFFER_SEARCH_CAPPED, group, size_samples, figures)


def _paused(group: SizeGroup) -> Iterator[Finding]:
    """Pause frames. They hide loss: a queue that becomes full drops no frames, but stops the queue
    before it, which then fills.
    """
    frames = {
        trial.key: count
        for size in group.sizes
        for trial in size
        if (count := sum(trial.record.number(name) or 0 for name in _PAUSE_FRAMES))
    }
    size_samples = group.where(
        trial for size in group.sizes for trial in size if trial.key in frames
    )
    if size_samples:
        yield of_searches(
            Kind.SEARCH_DOUBT_PAUSED, group, size_samples, {"pause_frames": sum(frames.values())}
        )


def _capped_bytes(values: Mapping[str, Value]) -> list[tuple[float, float]]:
    """Requested and effective bytes of each end whose buffer is smaller than requested."""
    names = [name.removesuffix("_capped") for name in values if name.endswith("_buffer_capped")]
    pairs = [
        (as_number(values.get(f"{name}_requested_bytes")), as_number(values.get(f"{name}_bytes")))
        for name in names
        if values[f"{name}_capped"] == 1
    ]
    return [
        (requested, effective)
        for requested, effective in pairs
        if requested is not None and effective is not None
    ]


SLOWED = 0.9
"""An overloaded device is slowed down if it forwards less than this share of the found rate."""

MORE = 1.1
"""A rate counts as overload if it is at least this multiple of the found rate. At rates closer to
the found rate, loss may be scatter."""

_OWN = ("tester-loss", "generator-bound")

_NO_BURST = {
    "generator-bound": _("our own sender sent no burst at line rate"),
    "receiver-bound": _("our own receiver dropped frames of the burst"),
    "failed": _("its trials failed"),
}


def beyond(run: Run) -> Iterator[Finding]:
    """Findings about the frame loss rate and the bursts of each search."""
    for group in () if run.plan.source is not None else groups_of(run):
        yield from _losses(group)
        yield from _bursts(group)


@dataclass(frozen=True, slots=True)
class _Overload:
    """The result at one rate above the found rate at which the device lost frames. Rates are in
    frames/s per direction.

    If the device slows down, it is the rate at which the device forwarded the fewest frames per
    second; otherwise it is the highest rate.
    """

    sent_per_s: float
    out_per_s: float
    found_per_s: float

    @property
    def out_share(self) -> float:
        """The output rate as a share of the rate without loss."""
        return self.out_per_s / self.found_per_s

    @property
    def lost_share(self) -> float:
        """Lost share of the sent frames."""
        return max(0.0, 1 - self.out_per_s / self.sent_per_s)

    @property
    def slows(self) -> bool:
        """Whether the device forwards less than at the rate without loss."""
        return self.out_share < SLOWED


def _losses(group: SizeGroup) -> Iterator[Finding]:
    trials = [trial for size in group.sizes for trial in size]
    overloads = {
        trial.key: overload for trial in trials if (overload := _overload(trial)) is not None
    }
    slowed = group.where(
        trial for trial in trials if trial.key in overloads and overloads[trial.key].slows
    )
    if slowed:
        parts = {"overloads": _listed(slowed, overloads, _came_out)}
        least = min(overloads[trial.key].out_share for size in slowed for trial in size.trials)
        figures = {"least_forwarded_share": least}
        yield of_searches(Kind.FRAME_LOSS_OVERLOAD, group, slowed, figures, parts)
    steady = group.where(
        trial for trial in trials if trial.key in overloads and not overloads[trial.key].slows
    )
    if steady:
        parts = {"losses": _listed(steady, overloads, _was_lost)}
        most = max(overloads[trial.key].lost_share for size in steady for trial in size.trials)
        yield of_searches(Kind.FRAME_LOSS_STEADY, group, steady, {"most_lost_share": most}, parts)
    own = group.where(trial for trial in trials if set(_OWN) & set(trial.losses.verdicts))
    if own:
        shares = sorted(
            {share for size in own for trial in size.trials for share in _shares_lost_by_us(trial)}
        )
        listed = joined(", ", [format_share(share) for share in shares])
        yield of_searches(Kind.FRAME_LOSS_OWN_HOSTS, group, own, {}, {"shares": listed})


def _shares_lost_by_us(sample: RateSample) -> Iterable[float]:
    tries = zip(sample.losses.line_share, sample.losses.verdicts, strict=True)
    return [share for share, verdict in tries if verdict in _OWN]


def _overload(sample: RateSample) -> _Overload | None:
    losses = sample.losses
    if sample.per_s is None:
        return None
    tries = zip(losses.verdicts, losses.sent, losses.received, losses.duration_s, strict=True)
    overloads = [
        _Overload(sent_frames / each_s, received_frames / each_s, sample.per_s)
        for verdict, sent_frames, received_frames, duration_s in tries
        if verdict == "lost" and (each_s := duration_s * sample.ways) > 0
    ]
    more = [overload for overload in overloads if overload.sent_per_s >= MORE * sample.per_s]
    slowed = [overload for overload in more if overload.slows]
    if slowed:
        return min(slowed, key=lambda overload: overload.out_per_s)
    return max(more, key=lambda overload: overload.sent_per_s, default=None)


def _listed(
    size_samples: Iterable[SizeSample],
    overloads: Mapping[tuple[str, int], _Overload],
    form: Callable[[int, _Overload], Message],
) -> Message:
    """The text of each size, joined; the figures in it are medians over the trials of the size."""
    parts = []
    for size in size_samples:
        loads = [overloads[trial.key] for trial in size.trials]
        middle = _Overload(
            median(load.sent_per_s for load in loads),
            median(load.out_per_s for load in loads),
            median(load.found_per_s for load in loads),
        )
        parts.append(form(size.frame_bytes, middle))
    return joined(", ", parts)


def _came_out(frame_bytes: int, load: _Overload) -> Message:
    return _(
        "{out}/s of {sent}/s at {size} bytes ({found}/s pass without loss)",
        out=f"{load.out_per_s:,.0f}",
        sent=f"{load.sent_per_s:,.0f}",
        size=frame_bytes,
        found=f"{load.found_per_s:,.0f}",
    )


def _was_lost(frame_bytes: int, load: _Overload) -> Message:
    return _(
        "{share} of {sent}/s at {size} bytes",
        share=format_share(load.lost_share),
        sent=f"{load.sent_per_s:,.0f}",
        size=frame_bytes,
    )


def _bursts(group: SizeGroup) -> Iterator[Finding]:
    trials = [trial for size in group.sizes for trial in size]
    device = group.where(
        trial
        for trial in trials
        if trial.record.value("back_to_back_limit") == "device"
        and trial.record.number("back_to_back_frames") is not None
    )
    if device:
        bursts = joined(", ", [_burst(size) for size in device])
        first = device[0].trials[0].record.number("back_to_back_frames")
        figures = {"burst_frames": first}
        yield of_searches(Kind.BACK_TO_BACK_DEVICE, group, device, figures, {"bursts": bursts})
    for limit, because in _NO_BURST.items():
        own = group.where(
            trial for trial in trials if trial.record.value("back_to_back_limit") == limit
        )
        if own:
            yield of_searches(Kind.BACK_TO_BACK_OWN_HOSTS, group, own, {}, {"because": because})


def _burst(size: SizeSample) -> Message:
    frames, queued_frames = (
        median(trial.record.number(name) or 0.0 for trial in size.trials)
        for name in ("back_to_back_frames", "back_to_back_waiting_frames")
    )
    return _(
        "{frames} frames of {size} bytes ({waiting} of them queued in the device)",
        frames=f"{frames:,.0f}",
        size=size.frame_bytes,
        waiting=f"{queued_frames:,.0f}",
    )
