"""Doubts about searches for the highest rate, rates beyond it; searches for a payload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import partial
from itertools import chain
from statistics import median

from netlab.ethernet import Link, ceiling_bit_per_s, ip_version_of
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.search_limits import RateSample, SizeGroup, groups_of, of_searches
from netlab.messages import Message, _, joined
from netlab.results.run import Run
from netlab.trial.host_counters import HOSTS, WAYS
from netlab.trial.record import WHOLE, FlowValues, Record, Recorded, Status, as_number, by_cell
from netlab.units import format_share

_PAUSE_FRAMES = tuple(f"{host}_pause_frames_{way}" for host in HOSTS for way in WAYS)


def doubts(run: Run) -> Iterator[Finding]:
    """Findings about unclear limits, line rates other than stated, buffers smaller than requested,
    and flow control.
    """
    for group in () if run.plan.source is not None else groups_of(run):
        if jumps := group.where(lambda trial: trial.jumps):
            yield of_searches(Kind.SEARCH_DOUBT_NOT_MONOTONE, group, jumps, {})
        if faster := group.where(_is_faster):
            line = {"link_rate_bit_per_s": faster[0].trials[0].line_bit_per_s}
            yield of_searches(Kind.SEARCH_DOUBT_OUTRUN, group, faster, line)
        if capped := group.where(_capped_bytes):
            requested, effective = zip(*chain(*map(_capped_bytes, group.trials)), strict=True)
            figures = {"asked_buffer_bytes": max(requested), "least_buffer_bytes": min(effective)}
            yield of_searches(Kind.SOCKET_BUFFER_SEARCH_CAPPED, group, capped, figures)
        # Pause frames hide loss: a queue that becomes full drops no frames, but stops the queue
        # before it, which then fills.
        if paused := group.where(_pause_frames):
            frames = {"pause_frames": sum(map(_pause_frames, group.trials))}
            yield of_searches(Kind.SEARCH_DOUBT_PAUSED, group, paused, frames)


def _is_faster(trial: RateSample) -> bool:
    """Whether a sender was faster than the line rate. Older records, which lack the size of the
    sender's buffer, are left out: they count data that are still in the buffer as sent.
    """
    names = trial.record.values
    return not trial.link_paced and any(n.endswith("sender_send_buffer_bytes") for n in names)


def _pause_frames(trial: RateSample) -> float:
    return sum(trial.record.number(name) or 0 for name in _PAUSE_FRAMES)


def _capped_bytes(trial: RateSample) -> list[tuple[float, float]]:
    """Requested and effective bytes of each end whose buffer is smaller than requested."""
    values, pairs = trial.record.values, []
    for name in values:
        if name.endswith("_buffer_capped") and values[name] == 1:
            buffer = name.removesuffix("_capped")
            requested = as_number(values.get(f"{buffer}_requested_bytes"))
            effective = as_number(values.get(f"{buffer}_bytes"))
            if requested is not None and effective is not None:
                pairs.append((requested, effective))
    return pairs


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


_LOST_BY_DEVICE = {
    Kind.FRAME_LOSS_OVERLOAD: _(
        "{out}/s of {sent}/s at {size} bytes ({found}/s pass without loss)"
    ),
    Kind.FRAME_LOSS_STEADY: _("{share} of {sent}/s at {size} bytes"),
}
"""Kind of finding → its text for one frame size."""


def _losses(group: SizeGroup) -> Iterator[Finding]:
    for kind, template in _LOST_BY_DEVICE.items():
        slows = kind is Kind.FRAME_LOSS_OVERLOAD
        sizes = group.where(partial(_has_overload, slows))
        if not sizes:
            continue
        overloads = [[*filter(None, map(_overload, size.trials))] for size in sizes]
        texts = []
        for size, loads in zip(sizes, overloads, strict=True):
            # The medians over the trials of the frame size.
            load = _Overload(*map(median, zip(*map(astuple, loads), strict=True)))
            values = {"share": format_share(load.lost_share), "found": f"{load.found_per_s:,.0f}"}
            out, sent = f"{load.out_per_s:,.0f}", f"{load.sent_per_s:,.0f}"
            texts.append(_(template.id, out=out, sent=sent, size=size.frame_bytes, **values))
        every = [*chain.from_iterable(overloads)]
        figures = {"least_forwarded_share": min(load.out_share for load in every)}
        if not slows:
            figures = {"most_lost_share": max(load.lost_share for load in every)}
        word = "overloads" if slows else "losses"
        yield of_searches(kind, group, sizes, figures, {word: joined(", ", texts)})
    if own := group.where(lambda trial: any(tried.verdict in _OWN for tried in trial.losses)):
        tries = (tried for size in own for trial in size.trials for tried in trial.losses)
        shares = {tried.line_share for tried in tries if tried.verdict in _OWN}
        listed = joined(", ", [format_share(share) for share in sorted(shares)])
        yield of_searches(Kind.FRAME_LOSS_OWN_HOSTS, group, own, {}, {"shares": listed})


def _overload(sample: RateSample) -> _Overload | None:
    if sample.per_s is None:
        return None
    overloads = [
        _Overload(tried.sent_frames / each_s, tried.received_frames / each_s, sample.per_s)
        for tried in sample.losses
        if tried.verdict == "lost" and (each_s := tried.duration_s * len(sample.record.flows)) > 0
    ]
    more = [overload for overload in overloads if overload.sent_per_s >= MORE * sample.per_s]
    slowed = [overload for overload in more if overload.slows]
    if slowed:
        return min(slowed, key=lambda overload: overload.out_per_s)
    return max(more, key=lambda overload: overload.sent_per_s, default=None)


def _has_overload(slows: bool, trial: RateSample) -> bool:
    overload = _overload(trial)
    return overload is not None and overload.slows is slows


def _bursts(group: SizeGroup) -> Iterator[Finding]:
    device = group.where(
        lambda trial: (
            _has_burst_limit("device", trial)
            and trial.record.number("back_to_back_frames") is not None
        )
    )
    if device:
        texts = []
        for size in device:
            frames, queued_frames = (
                median(trial.record.number(name) or 0.0 for trial in size.trials)
                for name in ("back_to_back_frames", "back_to_back_waiting_frames")
            )
            text = _(
                "{frames} frames of {size} bytes ({waiting} of them queued in the device)",
                frames=f"{frames:,.0f}",
                size=size.frame_bytes,
                waiting=f"{queued_frames:,.0f}",
            )
            texts.append(text)
        figures = {"burst_frames": device[0].trials[0].record.number("back_to_back_frames")}
        words = {"bursts": joined(", ", texts)}
        yield of_searches(Kind.BACK_TO_BACK_DEVICE, group, device, figures, words)
    for limit, because in _NO_BURST.items():
        if own := group.where(partial(_has_burst_limit, limit)):
            yield of_searches(Kind.BACK_TO_BACK_OWN_HOSTS, group, own, {}, {"because": because})


def _has_burst_limit(limit: str, trial: RateSample) -> bool:
    return trial.record.text("back_to_back_limit") == limit


OVER = 4
"""Bytes by which a packet may exceed the receiving interface's MTU: a virtual cable has room for a
VLAN tag."""


@dataclass(frozen=True, slots=True)
class WayFound(FlowValues):
    """What one direction of a path carries, according to one trial; ``None``: not known."""

    trial: int
    payload_bytes: int
    path_mtu_bytes = Recorded(WHOLE, "path_mtu_bytes")
    evidence = Recorded(FlowValues.text, "path_mtu_evidence")
    interface_mtu_bytes = Recorded(WHOLE, "interface_mtu_bytes")
    """MTU of the interface at the sending end."""

    @property
    def other_mtu_bytes(self) -> int | None:
        """MTU of the interface at the other end."""
        return FlowValues(self.values, _WAYS[self.prefix][0]).whole("interface_mtu_bytes")


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
    """For each cell with payload searches over a cable: the records of its trials that have a
    result.
    """
    if run.plan.source is None:
        planned = (r for cell, _, r in run.stored.trials() if cell.test == "payload_search" and r)
        yield from by_cell(r for r in planned if r.status is Status.OK and not r.same_host).values()


def group_of_payload(record: Record) -> Group:
    """The group of a record: pairing, protocol and IP version."""
    version = record.settings.get("ip_version")
    conditions = (("ip_version", version),) if isinstance(version, int) else ()
    return Group(record.pairing, record.protocol, conditions=conditions)


def way_of(record: Record, prefix: str) -> WayFound | None:
    """One direction of one trial; ``None`` if it has no payload."""
    payload = record.flow(prefix).whole("payload_bytes")
    return None if payload is None else WayFound(record.measured, prefix, record.trial, payload)


def _answers(records: Sequence[Record]) -> Iterator[Finding]:
    """One finding per different result: for both directions if they agree, otherwise per
    direction.
    """
    # (direction, payload, path MTU, evidence) → the trials
    by_answer: dict[tuple[Message, int, int | None, str | None], list[int]] = defaultdict(list)
    for record in records:
        answers: dict[Message, tuple[int, int | None, str | None]] = {
            direction: (way.payload_bytes, way.path_mtu_bytes, way.evidence)
            for prefix, (_other, direction) in _WAYS.items()
            if (way := way_of(record, prefix)) is not None
        }
        if len(answers) == len(_WAYS) and len(set(answers.values())) == 1:
            answers = {_("both ways"): next(iter(answers.values()))}
        for direction, answer in answers.items():
            by_answer[direction, *answer].append(record.trial)
    for (direction, payload_bytes, mtu_bytes, evidence), trials in by_answer.items():
        words = {
            "way": _way_and_trials(direction, len(trials), len(records)),
            "known_by": _KNOWN_BY.get(evidence or "", ""),
        }
        figures = {"payload_message_bytes": payload_bytes, "path_mtu_bytes": mtu_bytes}
        yield _finding_of(Kind.PAYLOAD_FOUND, records, trials, figures, words)


def _narrow(records: Sequence[Record], prefix: str, link: Link | None) -> Iterator[Finding]:
    """Findings about paths that carry only shorter packets than the sender's interface or the link
    allows.
    """
    by_place: dict[tuple[int, str, str], list[WayFound]] = defaultdict(list)
    for record in records:
        way = way_of(record, prefix)
        if way is None or way.path_mtu_bytes is None or not _is_narrow(way, link):
            continue
        # The receiving host, if the MTU of its interface is the limit.
        other_mtu, place = way.other_mtu_bytes, ""
        if other_mtu is not None and other_mtu <= way.path_mtu_bytes <= other_mtu + OVER:
            place = record.client if prefix else record.server
        by_place[way.path_mtu_bytes, way.evidence or "", place].append(way)
    for (mtu_bytes, evidence, place), ways in by_place.items():
        figures = {
            "path_mtu_bytes": mtu_bytes,
            "interface_mtu_bytes": ways[-1].interface_mtu_bytes,
            "link_mtu_bytes": None if link is None else link.mtu_bytes,
            "payload_message_bytes": ways[-1].payload_bytes,
        }
        way_words = _way_and_trials(_WAYS[prefix][1], len(ways), len(records))
        words = {"way": way_words, "narrow_host": place}
        kind = Kind.MTU_MISMATCH_BLACK_HOLE
        if evidence != "timeout":
            kind, words["known_by"] = Kind.MTU_MISMATCH_REPORTED, _KNOWN_BY[evidence]
        yield _finding_of(kind, records, [way.trial for way in ways], figures, words)


def _is_narrow(way: WayFound, link: Link | None) -> bool:
    """Whether there is evidence that the path carries only shorter packets."""
    mtu, own = way.path_mtu_bytes, way.interface_mtu_bytes
    if mtu is None or way.evidence not in ("timeout", "icmp", "dropped", "mss"):
        return False
    if way.evidence == "mss":
        return link is not None and mtu < link.mtu_bytes
    return own is None or mtu < own


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


def _way_and_trials(way: Message, times: int, number_of: int) -> Message:
    in_words = in_trials(times, number_of).get("in_trials")
    return way if in_words is None else _("{way}, {trials}", way=way, trials=in_words)


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


BELOW, ABOVE = (-2, -1, 0), (1, 2)
"""Message sizes of the sweep up to the payload, and above it, as differences from the payload in
bytes. Within each of the two groups, the wire ceilings differ by at most 0.3 %."""

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
        costly = []
        for step in filter(None, map(_step, records)):
            below, above = step[2:]
            falls = median(below) - median(above)
            spread = max(max(rates) - min(rates) for rates in (below, above))
            if falls > LEAST * median(below) and falls > SCATTER * spread:
                costly.append(step)
        if 2 * len(costly) > len(records) and records[0].settings.get("protocol") == "UDP":
            yield _costly(records, costly, link)


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


def _costly(records: Sequence[Record], steps: Sequence[_Step], link: Link | None) -> Finding:
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
    return finding(Kind.BYTE_MORE, group_of_payload(records[0]), (cell,), figures, words, trials)


def _ceiling(record: Record, message_bytes: int, link: Link | None) -> float | None:
    way = way_of(record, "")
    if link is None or way is None or way.path_mtu_bytes is None:
        return None
    version, mtu_bytes = ip_version_of(record.settings), min(way.path_mtu_bytes, link.mtu_bytes)
    with suppress(ValueError):
        return ceiling_bit_per_s(link, "UDP", message_bytes, mtu_bytes, ip_version=version)
    return None
