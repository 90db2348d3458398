"""Payloads: the results of searches for the longest message in one frame, per direction.

The record states how the limit was found: by the sender's own system (``emsgsize``), a router's
report (``icmp``, RFC 1191 and RFC 8201), no answer (``timeout``: a black hole, RFC 2923), the
segment size of TCP (``mss``), or an interface that drops what its system sends (``dropped``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, Status, Value
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _

if TYPE_CHECKING:
    from netlab.results.run import Run

OVER = 4
"""Bytes by which a packet may exceed the receiving interface's MTU: a virtual cable has room for a
VLAN tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayFound:
    """What one direction of a path carries, according to one trial; ``None``: not known."""

    trial: int
    payload_bytes: int
    path_mtu_bytes: int | None
    evidence: str
    interface_mtu_bytes: int | None
    """MTU of the interface at the sending end."""
    other_mtu_bytes: int | None
    """MTU of the interface at the other end."""
    lost_probes: int
    """Number of messages that were lost, although another message of the same size arrived."""


_WAYS: Mapping[str, tuple[str, Message]] = {
    "": ("to_client_", _("to the server")),
    "to_client_": ("", _("to the client")),
}
"""Prefix of a direction's values → the prefix of the other direction, and the direction's name."""

_KNOWN_BY: Mapping[str, Message] = {
    "emsgsize": _("the sender’s own system refuses longer packets"),
    "icmp": _("a router reported it to the sender (ICMP)"),
    "timeout": _("longer packets are lost without an error message"),
    "dropped": _("an interface of the sender drops longer packets"),
    "mss": _("TCP agreed on this segment size"),
    "protocol": _("the protocol does not allow longer messages"),
}


def payloads(run: Run, link: Link | None) -> Iterator[Finding]:
    """Findings about the result of each search, and about paths that carry too little."""
    for records in cells_of_payloads(run):
        yield from _answers(records)
        for way in _WAYS:
            yield from _narrow(records, way, link)
            yield from _fragments_lost(records, way)


def cells_of_payloads(run: Run) -> Iterator[list[Record]]:
    """For each cell (combination of settings) with payload searches over a cable: the records of
    its trials that have a result.
    """
    cells: dict[str, list[Record]] = {}
    for cell, _trial, record in run.stored.trials():
        if (
            cell.test == "payload_search"
            and record is not None
            and record.status is Status.OK
            and record.values.get("same_host") is not True
        ):
            cells.setdefault(cell.key, []).append(record)
    if run.plan.source is None:
        yield from cells.values()


def group_of_payload(record: Record) -> Group:
    """The group of a record: pairing, protocol and IP version."""
    version = record.settings.get("ip_version")
    conditions = (("ip_version", version),) if isinstance(version, int) else ()
    return Group(record.pairing, str(record.settings.get("protocol", "")), conditions=conditions)


def way_of(record: Record, prefix: str) -> WayFound | None:
    """One direction of one trial; ``None`` if it has no payload."""
    values, other_prefix = record.values, _WAYS[prefix][0]
    payload = _whole(values.get(prefix + "payload_bytes"))
    if payload is None:
        return None
    return WayFound(
        trial=record.trial,
        payload_bytes=payload,
        path_mtu_bytes=_whole(values.get(prefix + "path_mtu_bytes")),
        evidence=str(values.get(prefix + "path_mtu_evidence", "")),
        interface_mtu_bytes=_whole(values.get(prefix + "interface_mtu_bytes")),
        other_mtu_bytes=_whole(values.get(other_prefix + "interface_mtu_bytes")),
        lost_probes=_whole(values.get(prefix + "lost_probes")) or 0,
    )


# ---- the result ----------------------------------------------------------------------------------


def _answers(records: Sequence[Record]) -> Iterator[Finding]:
    """One finding per different result: for both directions if they agree, otherwise per
    direction.
    """
    by_answer: dict[tuple[str, _Answer], list[int]] = {}
    for record in records:
        ways = {prefix: way_of(record, prefix) for prefix in _WAYS}
        answers = {prefix: _answer(way) for prefix, way in ways.items() if way is not None}
        if len(answers) == len(_WAYS) and len(set(answers.values())) == 1:
            answers = {_BOTH: answers[""]}
        for prefix, answer in answers.items():
            by_answer.setdefault((prefix, answer), []).append(record.trial)
    for (prefix, answer), trials in by_answer.items():
        payload_bytes, mtu_bytes, evidence = answer
        direction = "" if prefix == _BOTH else _WAYS[prefix][1]
        words = {
            "way": _way_and_trials(direction, len(trials), len(records)),
            "known_by": _KNOWN_BY.get(evidence, ""),
        }
        figures = {"payload_message_bytes": payload_bytes, "path_mtu_bytes": mtu_bytes}
        yield _finding_of(Kind.PAYLOAD_FOUND, records, trials, figures, words)


_BOTH = "both"
_Answer = tuple[int, int | None, str]
"""Payload, path MTU, evidence."""


def _answer(way: WayFound) -> _Answer:
    return way.payload_bytes, way.path_mtu_bytes, way.evidence


# ---- less than the interface's MTU ---------------------------------------------------------------


def _narrow(records: Sequence[Record], prefix: str, link: Link | None) -> Iterator[Finding]:
    """Findings about paths that carry only shorter packets than the sender's interface or the link
    allows.
    """
    by_place: dict[tuple[int, str, str], list[int]] = {}
    figures_of: dict[tuple[int, str, str], dict[str, float | None]] = {}
    for record in records:
        way = way_of(record, prefix)
        kind = None if way is None else _narrow_kind(way, link)
        if way is None or kind is None or way.path_mtu_bytes is None:
            continue
        place = _place(way, record, prefix)
        key = (way.path_mtu_bytes, kind, place)
        by_place.setdefault(key, []).append(way.trial)
        figures_of[key] = {
            "path_mtu_bytes": way.path_mtu_bytes,
            "interface_mtu_bytes": way.interface_mtu_bytes,
            "link_mtu_bytes": None if link is None else link.mtu_bytes,
            "payload_message_bytes": way.payload_bytes,
        }
    for key, trials in by_place.items():
        _mtu_bytes, kind, place = key
        words = {
            "way": _way_and_trials(_WAYS[prefix][1], len(trials), len(records)),
            "narrow_host": place,
        }
        if kind != "timeout":
            words["known_by"] = _KNOWN_BY[kind]
        finding_kind = (
            Kind.MTU_MISMATCH_BLACK_HOLE if kind == "timeout" else Kind.MTU_MISMATCH_REPORTED
        )
        yield _finding_of(finding_kind, records, trials, figures_of[key], words)


def _narrow_kind(way: WayFound, link: Link | None) -> str | None:
    """The evidence that the path carries only shorter packets; ``None`` if there is none."""
    mtu, own = way.path_mtu_bytes, way.interface_mtu_bytes
    if mtu is None:
        return None
    if way.evidence == "timeout":
        return "timeout" if own is None or mtu < own else None
    if way.evidence in ("icmp", "dropped"):
        return way.evidence if own is None or mtu < own else None
    if way.evidence == "mss":
        return "mss" if link is not None and mtu < link.mtu_bytes else None
    return None


def _place(way: WayFound, record: Record, prefix: str) -> str:
    """The receiving host, if the MTU of its interface is the limit; otherwise empty."""
    other_mtu, mtu = way.other_mtu_bytes, way.path_mtu_bytes
    if other_mtu is None or mtu is None or not other_mtu <= mtu <= other_mtu + OVER:
        return ""
    return record.client if prefix else record.server


def _fragments_lost(records: Sequence[Record], prefix: str) -> Iterator[Finding]:
    """The finding about messages one byte longer than the payload, which the sender fragments, but
    which do not arrive.
    """
    ways = [
        way
        for record in records
        if record.values.get(prefix + "next_passed") is False
        and (way := way_of(record, prefix)) is not None
        and way.evidence in ("emsgsize", "icmp")
    ]
    if ways:
        figures = {"next_message_bytes": ways[0].payload_bytes + 1}
        words = {"way": _way_and_trials(_WAYS[prefix][1], len(ways), len(records))}
        yield _finding_of(Kind.FRAGMENTS_LOST, records, [way.trial for way in ways], figures, words)


# ---- shared functions ----------------------------------------------------------------------------


def _way_and_trials(way: Message | str, times: int, number_of: int) -> Message | str:
    in_words = in_trials(times, number_of).get("in_trials")
    if in_words is None:
        return way or _("both ways")
    return _("{way}, {trials}", way=way or _("both ways"), trials=in_words)


def _finding_of(
    kind: Kind,
    records: Sequence[Record],
    trials: Iterable[int],
    figures: Mapping[str, float | None],
    words: Mapping[str, str],
) -> Finding:
    cell = records[0].cell
    trial_keys = tuple((cell, trial) for trial in dict.fromkeys(trials))
    present = {name: word for name, word in words.items() if word}
    return finding(kind, group_of_payload(records[0]), (cell,), figures, present, trial_keys)


def _whole(value: Value | None) -> int | None:
    figure = number(value)
    return None if figure is None else round(figure)
