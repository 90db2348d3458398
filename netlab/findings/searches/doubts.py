"""Doubts about searches for the highest rate: why a result may be unreliable.

A search finds the highest rate that a device between two hosts forwards without loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from netlab.experiment.host_counters import HOSTS, WAYS
from netlab.experiment.records import Value
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Kind
from netlab.findings.searches.sample import SizeGroup, groups_of
from netlab.findings.searches.words import of_searches

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
        and any(name.endswith("sender_send_buffer_bytes") for name in trial.values)
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
        if (sizes := _capped_bytes(trial.values))
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
        if (count := sum(number(trial.values.get(name)) or 0 for name in _PAUSE_FRAMES))
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
        (number(values.get(f"{name}_requested_bytes")), number(values.get(f"{name}_bytes")))
        for name in names
        if values[f"{name}_capped"] == 1
    ]
    return [
        (requested, effective)
        for requested, effective in pairs
        if requested is not None and effective is not None
    ]
