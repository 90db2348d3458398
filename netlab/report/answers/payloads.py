"""Searches for the payload → a line an IP version, and the cost of one byte more. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.ethernet import ip_version_of
from netlab.findings.finding import Finding, Kind
from netlab.messages import Message, _
from netlab.report.answers.answer import AnswerLine
from netlab.report.text.phrases import listed, spanned
from netlab.results.readings import Reading

_SECTION = "payload"


def answers(readings: Sequence[Reading], findings: Sequence[Finding]) -> tuple[AnswerLine, ...]:
    """What travels in one frame, by protocol; where hosts differ, each with its pairings."""
    measured = [each for each in readings if each.number("payload_bytes") is not None]
    versions: dict[int, list[Reading]] = {}
    for each in measured:
        versions.setdefault(ip_version_of(each.settings), []).append(each)
    found = [_of_version(version, those) for version, those in sorted(versions.items())]
    costs = [each for each in findings if each.kind is Kind.BYTE_MORE]
    return (*found, *([_cost(costs)] if costs else []))


def _of_version(version: int, readings: Sequence[Reading]) -> AnswerLine:
    protocols = dict.fromkeys(reading.protocol for reading in readings)
    payloads = [_of_protocol(each, readings) for each in protocols]
    mtus = sorted({round(mtu) for r in readings if (mtu := r.number("path_mtu_bytes"))})
    said = _(
        "IPv{version}: one frame carries {payloads}",
        version=str(version),
        payloads=listed(payloads),
    )
    if mtus:
        sizes = listed([str(mtu) for mtu in mtus])
        said = _("{payloads}; path MTU {sizes} bytes", payloads=said, sizes=sizes)
    cells = tuple(dict.fromkeys(reading.cell for reading in readings))
    return AnswerLine(
        said, cells, _SECTION, f"{_SECTION}-{readings[0].protocol.lower()}-ipv{version}"
    )


def _of_protocol(protocol: str, readings: Sequence[Reading]) -> Message:
    """``1472 bytes over UDP``; with the pairings where not all have the same."""
    sizes: dict[int, dict[str, None]] = {}
    for each in readings:
        payload = each.number("payload_bytes")
        if each.protocol == protocol and payload is not None:
            sizes.setdefault(round(payload), {})[each.pairing] = None
    parts = [
        str(size)
        if len(sizes) == 1
        else _("{size} ({pairings})", size=str(size), pairings=listed([*its]))
        for size, its in sizes.items()
    ]
    return _("{sizes} bytes over {protocol}", sizes=listed(parts), protocol=protocol)


def _cost(found: Sequence[Finding]) -> AnswerLine:
    shares = sorted(each.evidence["cost_share"] for each in found)
    least, most = (f"{100 * share:.1f}" for share in (shares[0], shares[-1]))
    cells = tuple(dict.fromkeys(cell for each in found for cell in each.cells))
    said = _("UDP: one byte more than fits costs {span} % of throughput", span=spanned(least, most))
    return AnswerLine(said, cells, _SECTION, f"{_SECTION}-udp")
