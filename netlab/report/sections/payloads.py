"""Payload searches → a table, and the saw-tooth curve of throughput around the payload found.

A payload search finds the largest payload that fits into one frame. A sweep measures the throughput
at message sizes around this payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netlab.ethernet import IpVersion, Link, ip_version_of
from netlab.kinds.payload_search.tables import CUT_UP, FOUND, FRAMES
from netlab.messages import _, joined
from netlab.report.tables.charts import ceiling_curve, in_panels, with_shares
from netlab.report.tables.elements import Chart, Curve, Part, table
from netlab.results.quantities import names_of, words_of
from netlab.stats import mean
from netlab.trial.figures import results_of
from netlab.trial.record import Record, by_cell, grouped

_SECTION = "payload"


def part(searches: Sequence[Record], link: Link | None) -> Part | None:
    """The results of the payload searches; ``None`` if the run has no such search."""
    if not searches:
        return None
    sweeps = [record for record in results_of(searches) if record.series("sweep_message_bytes")]
    swept = grouped(sweeps, lambda sweep: (sweep.protocol, ip_version_of(sweep.settings)))
    names = names_of(searches)
    cut_up = any("next_passed" in record.measured for record in searches)
    captured = any("captured" in record.measured for record in searches)
    sheet = table(
        _("The largest payload that fits into one frame, bytes"),
        _("cell"),
        (*FOUND, *(CUT_UP if cut_up else ()), *(FRAMES if captured else ())),
        [
            (joined(" ", [trials[0].pairing, names[cell]]), cell, trials)
            for cell, trials in by_cell(searches).items()
        ],
    )
    return Part(
        name=_SECTION,
        title=_("Payload of one frame"),
        paragraphs=(_MEANING, *([_SWEEP] if swept else [])),
        sheets=(sheet,),
        charts=tuple(_chart(*key, group, link) for key, group in swept.items()),
    )


def _chart(
    protocol: str, ip_version: IpVersion, group: Sequence[Record], link: Link | None
) -> Chart:
    lines = []
    settings = words_of(group, ("protocol", "ip_version"), brief=True)
    for index, (cell, trials) in enumerate(by_cell(group).items()):
        rates_by_size: dict[float, list[float]] = {}
        for record in trials:
            rates = record.series("sweep_throughput_bit_per_s")
            for size, rate in zip(record.series("sweep_message_bytes"), rates, strict=False):
                rates_by_size.setdefault(size, []).append(rate)
        points = tuple((size, mean(rates) / 1e6) for size, rates in sorted(rates_by_size.items()))
        words = (trials[0].pairing, *settings[cell])
        label = joined(", ", filter(None, words))
        lines.append(Curve(label, index, points, joined=False, words=words))
    sizes = sorted({round(x) for line in lines for x, _ in line.points})
    payload = group[0].number("payload_bytes")
    marks = [payload, 2 * payload] if payload else []
    ticks = sorted({float(sizes[0]), *(x for x in marks if x <= sizes[-1]), float(sizes[-1])})
    ceilings: tuple[Curve, ...] = ()
    if link is not None and not any(record.same_host for record in group):
        # The path may carry less than the link does: the ceiling is that of the path found.
        path_mtu = group[0].number("path_mtu_bytes")
        mtu_bytes = link.mtu_bytes if path_mtu is None else min(link.mtu_bytes, round(path_mtu))
        ceilings = ceiling_curve(
            "UDP" if protocol == "UDP" else "TCP",
            sizes,
            replace(link, mtu_bytes=mtu_bytes),
            ip_version=ip_version,
            timestamps=group[0].flow("").tcp_timestamps is not False,
        )
    chart = Chart(
        name=f"{_SECTION}-{protocol.lower()}-ipv{ip_version}",
        title=_(
            "{protocol} over IPv{version}: throughput around the payload of one frame",
            protocol=protocol,
            version=ip_version,
        ),
        x_label=_("message size, bytes"),
        x_ticks=tuple((x, f"{x:.0f}") for x in ticks),
        lines=tuple(lines),
        ceilings=ceilings,
        from_zero=False,
    )
    return with_shares(in_panels(chart))


_MEANING = _(
    "The payload is the most that one message carries without being split into several packets. "
    "For UDP it is searched with messages that must not be fragmented, for TCP it is the segment "
    "size of the connection. The path MTU is the whole IP packet around it. Each direction is "
    "searched separately."
)
_SWEEP = _(
    "Below the payload of one frame the headers weigh more. One byte above it a UDP message needs "
    "a second packet, and throughput falls: the curve is a saw-tooth. The ceiling is what framing "
    "allows at that size. TCP cuts its stream itself, so its ceiling is level. The axis does not "
    "begin at zero."
)
