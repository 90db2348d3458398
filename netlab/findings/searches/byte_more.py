"""One byte more: how much throughput drops if a message no longer fits in one frame.

A search finds the longest payload that fits. A sweep then measures throughput with a few message
sizes around this payload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from netlab.ethernet import ceiling_bit_per_s, ip_version_of
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.searches.payloads import cells_of_payloads, group_of_payload, way_of
from netlab.findings.trial_words import in_trials

if TYPE_CHECKING:
    from netlab.results.run import Run

BELOW, ABOVE = (-2, -1, 0), (1, 2)
"""Message sizes of the sweep up to the payload, and above it, as differences from the payload in
bytes. Within each of the two groups, the wire ceilings (highest payload rates) differ by at most
0.3 %."""

SCATTER = 2
"""The rates with the sizes ``BELOW`` must exceed the rates with the sizes ``ABOVE`` by more than
this multiple of the spread within ``BELOW`` or within ``ABOVE``, whichever spread is larger."""

LEAST = 0.01
"""The difference must also exceed this share of the rate, because short streams scatter."""


def byte_more(run: Run, link: Link | None) -> Iterator[Finding]:
    """Findings about the cost of a second frame for UDP. TCP is not judged, because it cuts
    segments independently of the message size.
    """
    for records in cells_of_payloads(run):
        measured_steps = [step for record in records if (step := _step(record)) is not None]
        if not measured_steps or records[0].settings.get("protocol") != "UDP":
            continue
        costly = [step for step in measured_steps if _shows(step)]
        if 2 * len(costly) <= len(records):
            continue
        yield _finding(records, costly, link)


_Step = tuple[int, int, list[float], list[float]]
"""Number of the trial, payload in bytes, rates with the sizes ``BELOW``, rates with the sizes
``ABOVE``."""


def _step(record: Record) -> _Step | None:
    """The rates of one trial on both sides of the payload; ``None`` if the sweep lacks a size."""
    way = way_of(record, "")
    sizes = record.values.get("sweep_message_bytes")
    rates = record.values.get("sweep_throughput_bit_per_s")
    if way is None or not isinstance(sizes, list) or not isinstance(rates, list):
        return None
    rate_of = dict(zip(sizes, rates, strict=False))
    below, above = (
        [rate_of[size] for step in steps if (size := way.payload_bytes + step) in rate_of]
        for steps in (BELOW, ABOVE)
    )
    if len(below) < len(BELOW) or len(above) < len(ABOVE):
        return None
    return way.trial, way.payload_bytes, below, above


def _shows(step: _Step) -> bool:
    _trial, _payload, below, above = step
    falls = median(below) - median(above)
    spread = max(max(rates) - min(rates) for rates in (below, above))
    return falls > LEAST * median(below) and falls > SCATTER * spread


def _finding(records: Sequence[Record], steps: Sequence[_Step], link: Link | None) -> Finding:
    cell, payload_bytes = records[0].cell, steps[0][1]
    below = median(median(step[2]) for step in steps)
    above = median(median(step[3]) for step in steps)
    wire = [_ceiling(records[0], payload_bytes + more, link) for more in (0, 1)]
    figures = {
        "payload_message_bytes": payload_bytes,
        "next_message_bytes": payload_bytes + 1,
        "whole_bit_per_s": below,
        "next_bit_per_s": above,
        "cost_share": 1 - above / below,
        "wire_cost_share": 1 - wire[1] / wire[0] if wire[0] and wire[1] else None,
    }
    words = in_trials(len(steps), len(records)) if len(steps) < len(records) else {}
    trials = tuple((cell, step[0]) for step in steps)
    group = group_of_payload(records[0])
    return finding(Kind.BYTE_MORE, group, (cell,), figures, words, trials)


def _ceiling(record: Record, message_bytes: int, link: Link | None) -> float | None:
    way = way_of(record, "")
    if link is None or way is None or way.path_mtu_bytes is None:
        return None
    version = ip_version_of(record.settings)
    try:
        return ceiling_bit_per_s(
            link.rate_bit_per_s,
            "UDP",
            message_bytes,
            min(way.path_mtu_bytes, link.mtu_bytes),
            ip_version=version,
            vlan=link.vlan,
        )
    except ValueError:
        return None
