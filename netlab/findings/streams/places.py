"""Where a stream lost messages: by what both hosts counted of their own drops. Pure.

A place is named where its drops account for what was lost: a dropped frame costs one message at
most. The path is named where nothing else is left: every counter of both hosts is known, and none
of them moved by more than frames of other protocols come to. In between it cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COVERED
from netlab.messages import Message, _

_PLACES: Mapping[str, tuple[Kind, str]] = {
    "socket": (Kind.LOST_IN_SOCKET, "receiver"),
    "backlog": (Kind.LOST_IN_BACKLOG, "receiver"),
    "receiver_interface": (Kind.LOST_AT_INTERFACE, "receiver"),
    "sender_interface": (Kind.LOST_AT_INTERFACE, "sender"),
    "sender_queue": (Kind.LOST_IN_QUEUE, "sender"),
}
"""Place of a drop → the kind of finding, and whose host it is of; in the order in which one is
taken for the other where both have counted the same frames."""

UNHANDLED_PER_S = 2
"""Frames that Linux may count as dropped by an interface though they are none of ours: those of
protocols that nobody handles, such as a switch's own (STP, LLDP)."""

_SUMS = ("lost", "dropped")
_IN_HOSTS: Mapping[Kind, Message] = {
    Kind.LOST_IN_BACKLOG: _("in the backlog of its CPUs"),
    Kind.LOST_AT_INTERFACE: _("at its interface"),
    Kind.LOST_IN_QUEUE: _("in the queue in front of its interface"),
}
_IN_WORDS: Mapping[Kind, Message] = {**_IN_HOSTS, Kind.LOST_ON_PATH: _("on the path")}


@dataclass(frozen=True, slots=True)
class PlacedLoss:
    """Where one stream lost what it lost."""

    kind: Kind
    host: str
    """Whose place it is; of a loss that is not placed, the host that does not count all."""
    lost: int
    """Messages; of TCP, segments that were sent again."""
    dropped: int
    """Frames that both hosts dropped there, or, where nothing is named, at all."""


def placed(sample: StreamSample) -> PlacedLoss | None:
    """Where a stream lost messages (over TCP: segments); ``None`` where it lost none."""
    lost = lost_of(sample)
    if not lost or sample.imported:
        return None
    counts = _counts(sample)
    certain = {
        place: max(0, count - _doubt(place, sample)) for place, count in counts.items() if count
    }
    # A frame that the backlog had no room for may be counted by the interface as well.
    before = max(certain.get("backlog", 0), certain.get("receiver_interface", 0))
    rest = sum(certain.get(place, 0) for place in ("socket", "sender_interface", "sender_queue"))
    if before + rest >= COVERED * lost:
        place = max(_PLACES, key=lambda each: certain.get(each, 0))
        kind, whose = _PLACES[place]
        host = sample.receiver.host if whose == "receiver" else sample.sender.host
        return PlacedLoss(kind, host, lost, certain[place])
    dropped = sum(count or 0 for count in counts.values())
    ours = sum(max(0, (count or 0) - _unhandled(place, sample)) for place, count in counts.items())
    unknown = next((place for place, count in counts.items() if count is None), None)
    # Few lost messages may be among the few frames that nobody can tell from those of others.
    # What came in beside what arrived may be ours: then a host lost it behind its interface.
    came_in = sample.likely_others_share >= COVERED * (sample.lost_share or 1.0)
    clean = ours == 0 and dropped < COVERED * lost and _is_put_together(sample) and not came_in
    all_read = unknown is None and sample.drops.sender_backlog is not None
    if clean and all_read and not sample.same_host:
        return PlacedLoss(Kind.LOST_ON_PATH, "", lost, dropped)
    host = "" if all_read else sample.sender.host
    if unknown is not None:
        host = sample.receiver.host if _PLACES[unknown][1] == "receiver" else sample.sender.host
    return PlacedLoss(Kind.LOSS_NOT_PLACED, host, lost, dropped)


def lost_of(sample: StreamSample) -> int | None:
    """Messages that never arrived; over TCP the segments that were sent again."""
    return sample.losses.lost if sample.protocol == "UDP" else sample.tcp.retransmissions


def lost(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding a group, kind and host, over all trials that lost something there; and one of
    what the sender's own queue did not take.
    """
    groups: dict[tuple[Kind, Group, str], list[tuple[StreamSample, PlacedLoss]]] = {}
    for each in samples:
        for loss in (placed(each), _refused(each)):
            if loss is not None:
                groups.setdefault((loss.kind, each.group, loss.host), []).append((each, loss))
    for (kind, group, host), those in groups.items():
        cells = tuple(dict.fromkeys(sample.cell for sample, _loss in those))
        figures: dict[str, float | None] = {"trials": len(those)}
        again, dropped = (sum(getattr(each, name) for _sample, each in those) for name in _SUMS)
        if group.protocol == "TCP":
            words: dict[str, str] = {"place": _IN_WORDS[kind]} if kind in _IN_WORDS else {}
            if kind in _IN_HOSTS:
                words["at_host"] = host
            if kind in _IN_WORDS:
                figures["dropped_here"] = dropped or None
            yield finding(Kind.SENT_AGAIN, group, cells, figures | {"sent_again": again}, words)
            continue
        sent = [sample.losses.sent or 0 for sample, _loss in those]
        figures |= {"lost_messages": again, "sent_messages": sum(sent) if all(sent) else None}
        figures["dropped_frames"] = dropped or None
        yield finding(kind, group, cells, figures, {"at_host": host} if host else {})


def _refused(sample: StreamSample) -> PlacedLoss | None:
    """Messages that the sender's system did not take: it was told, and they were never sent."""
    local = sample.losses.local
    if sample.protocol != "UDP" or not local or sample.imported:
        return None
    return PlacedLoss(Kind.DROPPED_UNSENT, sample.sender.host, local, local)


def _counts(sample: StreamSample) -> dict[str, int | None]:
    """Place → frames dropped there; ``None`` is not known. Over TCP no socket drops."""
    drops, losses = sample.drops, sample.losses
    queue = drops.sender_queue
    if queue is not None and sample.protocol == "UDP":
        # What the sender was told of was never sent.
        queue = None if losses.local is None else max(0, queue - losses.local)
    return {
        "socket": losses.receive_queue if sample.protocol == "UDP" else 0,
        "backlog": drops.receiver_backlog,
        "receiver_interface": drops.receiver_interface,
        "sender_interface": drops.sender_interface,
        "sender_queue": queue,
    }


def _doubt(place: str, sample: StreamSample) -> int:
    """How many of the frames dropped in a place may have gone the other way, or been no message;
    all of them, where it is not known what the other way lost.
    """
    if place == "socket":
        return 0
    other_way = sample.losses.other_way
    if other_way is None:
        return _counts(sample)[place] or 0
    return other_way * (sample.packets_a_message or 1) + _unhandled(place, sample)


def _unhandled(place: str, sample: StreamSample) -> int:
    """How many of them may have been of protocols that nobody handles."""
    counted_as_drops = place in ("receiver_interface", "sender_interface")
    return int(UNHANDLED_PER_S * sample.drops.between_s) if counted_as_drops else 0


def _is_put_together(sample: StreamSample) -> bool:
    """Whether no message was lost because the receiver's system had no room for its fragments."""
    whole = sample.packets_a_message == 1 or sample.protocol == "TCP"
    return whole or sample.drops.reassembly == 0
