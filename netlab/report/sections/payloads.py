"""Payload searches → a table, and the saw-tooth curve of throughput around the payload found.

A payload search finds the largest payload that fits into one frame. A sweep measures the throughput
at message sizes around this payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netlab.ethernet import IpVersion, Link, ip_version_of
from netlab.findings.finding import Finding, Kind
from netlab.kinds.payload_search.tables import CUT_UP, FOUND, FRAMES
from netlab.messages import _, joined
from netlab.report.tables.charts import ceiling_curve, in_panels, with_shares
from netlab.report.tables.elements import AnswerLine, Chart, Curve, Part, table
from netlab.report.text.phrases import listed, spanned
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


def answers(records: Sequence[Record], findings: Sequence[Finding]) -> tuple[AnswerLine, ...]:
    """A line for each IP version: the payload of one frame, by protocol.

    If pairings differ in their payloads, each payload is followed by its pairings. If a finding
    states the cost of one byte more than fits into a frame, the last line gives this cost.
    """
    found = [record for record in records if record.number("payload_bytes") is not None]
    versions = grouped(found, lambda record: ip_version_of(record.settings))
    lines = [_of_version(version, searches) for version, searches in sorted(versions.items())]
    costs = [finding for finding in findings if finding.kind is Kind.BYTE_MORE]
    if costs:
        shares = [finding.evidence["cost_share"] for finding in costs]
        least, most = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
        sentence = _(
            "UDP: one byte more than fits into a frame costs {span} % of throughput",
            span=spanned(least, most),
        )
        cells = dict.fromkeys(cell for finding in costs for cell in finding.cells)
        lines.append(AnswerLine(sentence, tuple(cells), _SECTION, f"{_SECTION}-udp"))
    return tuple(lines)


def _of_version(version: int, records: Sequence[Record]) -> AnswerLine:
    payloads = []
    for protocol in dict.fromkeys(record.protocol for record in records):
        # A text such as ``1472 bytes over UDP``, with the pairings if their payloads differ.
        sizes: dict[int, dict[str, None]] = {}
        for record in records:
            if record.protocol == protocol:
                payload = round(record.number("payload_bytes") or 0)
                sizes.setdefault(payload, {})[record.pairing] = None
        parts = [
            str(size)
            if len(sizes) == 1
            else _("{size} ({pairings})", size=str(size), pairings=listed([*pairings]))
            for size, pairings in sizes.items()
        ]
        payloads.append(_("{sizes} bytes over {protocol}", sizes=listed(parts), protocol=protocol))
    sentence = _(
        "IPv{version}: one frame carries {payloads}",
        version=str(version),
        payloads=listed(payloads),
    )
    mtus = sorted({round(mtu) for r in records if (mtu := r.number("path_mtu_bytes"))})
    if mtus:
        mtu_words = listed([str(mtu) for mtu in mtus])
        sentence = _("{payloads}; path MTU {sizes} bytes", payloads=sentence, sizes=mtu_words)
    cells = tuple(dict.fromkeys(record.cell for record in records))
    chart = f"{_SECTION}-{records[0].protocol.lower()}-ipv{version}"
    return AnswerLine(sentence, cells, _SECTION, chart)
