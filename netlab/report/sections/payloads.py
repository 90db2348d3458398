"""Payload searches → a table, and the saw-tooth curve of throughput around the payload found.

A payload search finds the largest payload that fits into one frame. A sweep measures the throughput
at message sizes around this payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from netlab.ethernet import IpVersion, Link, ceiling_bit_per_s, ip_version_of
from netlab.messages import _, joined
from netlab.report.tables.charts import WIRE_CEILING, curve_sizes, in_panels, with_shares
from netlab.report.tables.elements import Chart, Curve, Notes, Part, Table, TableCell, TableLine
from netlab.results.quantities import names_of, words_of
from netlab.stats import mean
from netlab.trial.record import Record

_FOUND = ("payload_bytes", "path_mtu_bytes", "path_mtu_evidence")
_COLUMNS = (
    *(_("payload"), _("path MTU"), _("known by")),
    *(_("payload to client"), _("path MTU to client"), _("known by (to client)")),
    *(_("interface MTU"), _("sizes tried")),
)
_FRAMES = {
    _("frames seen"): "captured_frame_bytes",
    _("frames seen, one byte more"): "captured_next_frame_bytes",
}
"""Heading of a column → name of the recorded lengths of captured frames."""
_CUT_UP = {
    _("fragments of one byte more"): "next_client_ip_fragments_created",
    _("reassembled from them"): "next_server_ip_reassembled",
}
"""Heading of a column → name of the recorded counter. A search sends a few messages that are one
byte too long for one packet, and the hosts count their fragments."""
_EVIDENCE = {
    "emsgsize": _("the sender’s system"),
    "icmp": _("a router’s message (ICMP)"),
    "timeout": _("silence: longer packets vanish"),
    "dropped": _("an interface that drops longer packets"),
    "mss": _("the segment size that TCP negotiated"),
    "protocol": _("the protocol: it allows no longer message"),
}


def part(records: Sequence[Record], link: Link | None) -> Part | None:
    """The results of the payload searches; ``None`` if the run has no such search."""
    searches = [record for record in records if record.test == "payload_search"]
    if not searches:
        return None
    names = names_of(searches)
    charts = _charts(searches, link)
    return Part(
        name="payload",
        title=_("Payload of one frame"),
        paragraphs=(_MEANING, *([_SWEEP] if charts else [])),
        sheets=(_sheet(searches, names),),
        charts=charts,
    )


def _sheet(records: Sequence[Record], names: dict[str, str]) -> Table:
    notes = Notes()
    captured = any("captured" in record.measured for record in records)
    cut_up = any("next_passed" in record.measured for record in records)
    lines = []
    for cell in dict.fromkeys(record.cell for record in records):
        trials = [record for record in records if record.cell == cell]
        results = [record for record in trials if record.status == "ok"]
        letters = notes(record.why_blank for record in trials if record.status != "ok")
        columns = [flow + name for flow in ("", "to_client_") for name in _FOUND]
        places = [_values(results, name, letters, notes) for name in columns]
        places.append(_values(results, "interface_mtu_bytes", letters, notes))
        letters = (*letters, *notes(_unswept(results)))
        probe_counts = [float(len(record.series("probed_message_bytes"))) for record in results]
        places.append(_numbers(probe_counts, letters))
        if cut_up:
            places += [_pieces(results, name, notes) for name in _CUT_UP.values()]
        if captured:
            places += [_frames(results, name, notes) for name in _FRAMES.values()]
        label = joined(" ", [trials[0].pairing, names[cell]])
        lines.append(TableLine(label, tuple(places), cell))
    return Table(
        title=_("The largest payload that fits into one frame, bytes"),
        corner=_("cell"),
        columns=(*_COLUMNS, *(_CUT_UP if cut_up else ()), *(_FRAMES if captured else ())),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _values(
    results: Sequence[Record], name: str, letters: tuple[str, ...], notes: Notes
) -> TableCell:
    """The value that the trials found; all values if they differ."""
    if not results:
        return TableCell(notes=letters)
    evidence = [text for record in results if (text := record.text(name)) is not None]
    if evidence:
        return TableCell(joined("; ", dict.fromkeys(_EVIDENCE.get(t, t) for t in evidence)))
    numbers = [value for record in results if (value := record.number(name)) is not None]
    if not numbers:
        return TableCell(notes=notes([_("the host’s system does not report it.")]))
    return _numbers(numbers, ())


def _pieces(results: Sequence[Record], name: str, notes: Notes) -> TableCell:
    """A counter of fragments; empty for TCP, whose segments are never fragmented."""
    probes = [record for record in results if "next_passed" in record.measured]
    if any(record.measured["next_passed"] is False for record in probes):
        return TableCell(notes=notes([_("fragmented messages did not arrive.")]))
    counts = {value for record in probes if (value := record.number(name)) is not None}
    text = joined(", ", [f"{value:.0f}" for value in sorted(counts)])
    return TableCell(text, min(counts) if len(counts) == 1 else None, "")


def _frames(results: Sequence[Record], name: str, notes: Notes) -> TableCell:
    """Lengths of the captured frames, without their FCS: ``38 and 1514``."""
    if not results:
        return TableCell()
    lengths = sorted({round(size) for record in results for size in record.series(name)})
    if lengths:
        return TableCell(reduce(_and, map(str, lengths)))
    reasons = dict.fromkeys(str(r.values.get("capture_reason", "")) for r in results)
    text = joined("; ", [reason for reason in reasons if reason])
    why = _("nothing was captured: {reasons}.", reasons=text) if text else _("not captured.")
    return TableCell(notes=notes([why]))


def _and(some: str, more: str) -> str:
    return _("{some} and {more}", some=some, more=more)


def _unswept(results: Sequence[Record]) -> list[str]:
    """A note on the message sizes of the sweep that have no point in the chart."""
    sizes = sorted({s for r in results for s in r.series("sweep_failed_message_bytes")})
    if not sizes:
        return []
    listed = joined(", ", [f"{size:.0f}" for size in sizes])
    return [_("the sweep has no result at {sizes}.", sizes=listed)]


def _numbers(values: Sequence[float], letters: tuple[str, ...]) -> TableCell:
    differing = sorted(set(values))
    text = joined(", ", [f"{value:.0f}" for value in differing])
    value = differing[0] if len(differing) == 1 else None
    return TableCell(text, value, "byte" if value is not None else "", letters)


def _charts(records: Sequence[Record], link: Link | None) -> tuple[Chart, ...]:
    """Throughput over message size, if it was swept: a chart for each protocol and IP version."""
    groups: dict[tuple[str, IpVersion], list[Record]] = {}
    for record in records:
        if record.status == "ok" and record.series("sweep_message_bytes"):
            version = ip_version_of(record.settings)
            groups.setdefault((record.protocol, version), []).append(record)
    return tuple(
        _chart(protocol, version, group, link) for (protocol, version), group in groups.items()
    )


def _chart(
    protocol: str,
    ip_version: IpVersion,
    group: Sequence[Record],
    link: Link | None,
) -> Chart:
    lines = []
    settings = words_of(group, ("protocol", "ip_version"), brief=True)
    for index, cell in enumerate(dict.fromkeys(record.cell for record in group)):
        trials = [record for record in group if record.cell == cell]
        words = (trials[0].pairing, *settings[cell])
        label = joined(", ", [word for word in words if word])
        lines.append(Curve(label, index, _points(trials), joined=False, words=words))
    sizes = sorted({round(x) for line in lines for x, _ in line.points})
    payload = group[0].number("payload_bytes")
    marks = [size for size in (payload, 2 * payload if payload else None) if size is not None]
    ticks = sorted({float(sizes[0]), *(x for x in marks if x <= sizes[-1]), float(sizes[-1])})
    chart = Chart(
        name=f"payload-{protocol.lower()}-ipv{ip_version}",
        title=_(
            "{protocol} over IPv{version}: throughput around the payload of one frame",
            protocol=protocol,
            version=ip_version,
        ),
        x_label=_("message size, bytes"),
        x_ticks=tuple((x, f"{x:.0f}") for x in ticks),
        log_x=False,
        lines=tuple(lines),
        ceilings=_ceilings(protocol, ip_version, group, sizes, link),
        from_zero=False,
    )
    return with_shares(in_panels(chart))


def _points(trials: Sequence[Record]) -> tuple[tuple[float, float | None], ...]:
    """(message size, mean Mbit/s over the trials), from left to right."""
    rates_by_size: dict[float, list[float]] = {}
    for record in trials:
        sizes = record.series("sweep_message_bytes")
        rates = record.series("sweep_throughput_bit_per_s")
        for size, rate in zip(sizes, rates, strict=False):
            rates_by_size.setdefault(size, []).append(rate)
    return tuple((size, mean(rates) / 1e6) for size, rates in sorted(rates_by_size.items()))


def _ceilings(
    protocol: str,
    ip_version: IpVersion,
    group: Sequence[Record],
    sizes: Sequence[int],
    link: Link | None,
) -> tuple[Curve, ...]:
    """The wire ceiling at each message size, for the path MTU that the search found."""
    if link is None or any(record.same_host for record in group):
        return ()
    path_mtu = group[0].number("path_mtu_bytes")
    mtu_bytes = link.mtu_bytes if path_mtu is None else min(link.mtu_bytes, round(path_mtu))
    flow = group[0].flow("")
    points: list[tuple[float, float | None]] = []
    for size in curve_sizes(sizes, mtu_bytes, ip_version):
        try:
            ceiling = ceiling_bit_per_s(
                link.rate_bit_per_s,
                "UDP" if protocol == "UDP" else "TCP",
                size,
                mtu_bytes,
                ip_version=ip_version,
                timestamps=flow.tcp_timestamps is not False,
                vlan=link.vlan,
            )
        except ValueError:
            continue
        points.append((float(size), ceiling / 1e6))
    return (Curve(WIRE_CEILING, 0, tuple(points)),) if points else ()


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
