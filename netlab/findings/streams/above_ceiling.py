"""Figures above the wire ceiling: whether the stated link rate or the measuring tool is the cause.

If the stated link rate is too low, the figures of netlab's own probe exceed the ceiling as well. So
the probe's streams over the same link show whether the rate or another tool is the cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from netlab.findings.finding import Finding, Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.limits import fills_the_wire, is_above
from netlab.findings.streams.majority import findings_of
from netlab.messages import Message, _

WAYS: Mapping[str, Message] = {
    "divides what was received by the sender's time": _(
        "the tool divides by the sender’s time, and so counts bytes that then still waited in its "
        "buffer"
    ),
    "its rate is the slope of a line": _(
        "the tool’s rate is the slope of a line through a few samples"
    ),
    "no warm-up: the figure covers the beginning": _(
        "the tool’s figure includes the beginning of the test"
    ),
}
"""Beginning of a tool's remark in a record → the way of counting that may raise the tool's figure.
No other remark concerns the counting of bytes or time."""

_UNKNOWN = _("the tool counts bytes and time in its own way")
_OF_LINK = ("network", "interface")

_Link = tuple[frozenset[str], tuple[object, ...]]
"""The two hosts, and the settings that select one of several links between them."""


def above_ceiling(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, cause and tool, over the cells in which most trials are above the wire
    ceiling.

    Findings that name a tool come last; among these, the largest excess comes first.
    """
    links: dict[_Link, list[StreamSample]] = {}
    for sample in samples:
        links.setdefault(_link_of(sample), []).append(sample)
    causes: dict[tuple[Kind, str], list[StreamSample]] = {}
    for streams in links.values():
        kind_of_tools = _kind_of_tools(streams)
        for sample in streams:
            is_rate = not sample.engine or kind_of_tools is Kind.ABOVE_WIRE_RATE
            cause = (Kind.ABOVE_WIRE_RATE, "") if is_rate else (kind_of_tools, sample.engine)
            causes.setdefault(cause, []).append(sample)
    of_tools: list[Finding] = []
    for (kind, tool), streams in causes.items():
        for above in findings_of(streams, partial(_if_above, kind)):
            if tool:
                of_tools.append(replace(above, words={"tool": tool, "way": _way(above, streams)}))
            else:
                yield above
    yield from sorted(of_tools, key=_excess, reverse=True)


def _excess(above: Finding) -> float:
    figures = above.evidence
    return figures["throughput_bit_per_s"] / figures["highest_ceiling_bit_per_s"]


def _if_above(kind: Kind, sample: StreamSample) -> Kind | None:
    return kind if is_above(sample) else None


def _kind_of_tools(streams: Iterable[StreamSample]) -> Kind:
    """The kind of finding if another tool's figures over one link are above the link's ceiling.

    The kind depends on the cells that netlab's probe measured over this link, and in each of them
    on what most trials show. A cell that does not fill the wire shows nothing, because the link may
    carry more.
    """
    cells: dict[tuple[str, str], list[StreamSample]] = {}
    for sample in streams:
        if not sample.engine:
            cells.setdefault((sample.cell, sample.flow), []).append(sample)
    above = full = False
    for trials in cells.values():
        above_count = sum(map(is_above, trials))
        full_count = sum(fills_the_wire(trial) and not is_above(trial) for trial in trials)
        above |= 2 * above_count > len(trials)
        full |= 2 * full_count > len(trials)
    if above:
        return Kind.ABOVE_WIRE_RATE
    return Kind.ABOVE_WIRE_TOOL if full else Kind.ABOVE_WIRE_EITHER


def _link_of(sample: StreamSample) -> _Link:
    settings = json.loads(sample.conditions) if sample.conditions else {}
    hosts = frozenset(end.host for end in sample.ends)
    return hosts, tuple(settings.get(name) for name in _OF_LINK)


def _way(finding: Finding, streams: Iterable[StreamSample]) -> Message:
    """How a tool counts, by its remarks in the records of a finding's trials."""
    trials = set(finding.trials)
    remarks = {
        remark
        for sample in streams
        if (sample.cell, sample.trial) in trials
        for remark in sample.engine_remarks.split("; ")
    }
    for begin, way in WAYS.items():
        if any(remark.startswith(begin) for remark in remarks):
            return way
    return _UNKNOWN
