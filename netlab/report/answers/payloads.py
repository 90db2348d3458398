"""Payload searches → a line for each IP version; a line on the cost of one byte more. No I/O.

A payload search finds the largest payload that fits into one frame. A pairing is a server and a
client; a record is the data of one search.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.ethernet import ip_version_of
from netlab.experiment.records import Record
from netlab.findings.finding import Finding, Kind
from netlab.messages import Message, _
from netlab.report.answers.answer import AnswerLine
from netlab.report.text.phrases import listed, spanned

_SECTION = "payload"


def answers(records: Sequence[Record], findings: Sequence[Finding]) -> tuple[AnswerLine, ...]:
    """A line for each IP version: the payload of one frame, by protocol.

    If pairings differ in their payloads, each payload is followed by its pairings. If a finding
    states the cost of one byte more than fits into a frame, the last line gives this cost.
    """
    versions: dict[int, list[Record]] = {}
    for record in records:
        if record.number("payload_bytes") is not None:
            versions.setdefault(ip_version_of(record.settings), []).append(record)
    lines = [_of_version(version, searches) for version, searches in sorted(versions.items())]
    costs = [finding for finding in findings if finding.kind is Kind.BYTE_MORE]
    return (*lines, *([_cost(costs)] if costs else []))


def _of_version(version: int, records: Sequence[Record]) -> AnswerLine:
    protocols = dict.fromkeys(record.protocol for record in records)
    payloads = [_of_protocol(protocol, records) for protocol in protocols]
    mtus = sorted({round(mtu) for r in records if (mtu := r.number("path_mtu_bytes"))})
    sentence = _(
        "IPv{version}: one frame carries {payloads}",
        version=str(version),
        payloads=listed(payloads),
    )
    if mtus:
        sizes = listed([str(mtu) for mtu in mtus])
        sentence = _("{payloads}; path MTU {sizes} bytes", payloads=sentence, sizes=sizes)
    cells = tuple(dict.fromkeys(record.cell for record in records))
    return AnswerLine(
        sentence, cells, _SECTION, f"{_SECTION}-{records[0].protocol.lower()}-ipv{version}"
    )


def _of_protocol(protocol: str, records: Sequence[Record]) -> Message:
    """A text such as ``1472 bytes over UDP``, with the pairings if their payloads differ."""
    sizes: dict[int, dict[str, None]] = {}
    for record in records:
        payload = record.number("payload_bytes")
        if record.protocol == protocol and payload is not None:
            sizes.setdefault(round(payload), {})[record.pairing] = None
    parts = [
        str(size)
        if len(sizes) == 1
        else _("{size} ({pairings})", size=str(size), pairings=listed([*pairings]))
        for size, pairings in sizes.items()
    ]
    return _("{sizes} bytes over {protocol}", sizes=listed(parts), protocol=protocol)


def _cost(findings: Sequence[Finding]) -> AnswerLine:
    shares = sorted(finding.evidence["cost_share"] for finding in findings)
    least, most = (f"{100 * share:.1f}" for share in (shares[0], shares[-1]))
    cells = tuple(dict.fromkeys(cell for finding in findings for cell in finding.cells))
    sentence = _(
        "UDP: one byte more than fits into a frame costs {span} % of throughput",
        span=spanned(least, most),
    )
    return AnswerLine(sentence, cells, _SECTION, f"{_SECTION}-udp")
