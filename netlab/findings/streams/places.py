"""Where a stream lost messages, by the drops that both hosts counted.

A place is named if its drops explain the loss: a dropped frame costs at most one message. The path
is named if every counter of both hosts is known, and none of them grew by more than frames of other
protocols explain. Otherwise the place is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COVERED
from netlab.messages import Message, _

_PLACES: Mapping[str, tuple[Kind, str]] = {
    "socket": (Kind.LOSS_SOCKET, "receiver"),
    "backlog": (Kind.LOSS_BACKLOG, "receiver"),
    "receiver_interface": (Kind.LOSS_INTERFACE, "receiver"),
    "sender_interface": (Kind.LOSS_INTERFACE, "sender"),
    "sender_queue": (Kind.LOSS_QUEUE, "sender"),
}
"""Place of a drop → the kind of finding, and the end to whose host the place belongs. If two places
counted equally many frames, the finding names the place that comes first here."""

UNHANDLED_PER_S = 2
"""Foreign frames per second that Linux may count as dropped by an interface: frames of protocols
without a handler, such as a switch's own (STP, LLDP)."""

_SUMS = ("lost", "dropped")
_IN_HOSTS: Mapping[Kind, Message] = {
    Kind.LOSS_BACKLOG: _("in the backlog of its CPUs"),
    Kind.LOSS_INTERFACE: _("at its interface"),
    Kind.LOSS_QUEUE: _("in the queue in front of its interface"),
}
_IN_WORDS: Mapping[Kind, Message] = {**_IN_HOSTS, Kind.LOSS_PATH: _("on the path")}


@dataclass(frozen=True, slots=True)
class PlacedLoss:
    """The place of one stream's loss."""

    kind: Kind
    host: str
    """The host of that place; if the place is unknown, the host that does not count all drops."""
    lost: int
    """Lost messages; over TCP, retransmitted segments."""
    dropped: int
    """Frames dropped there; if the place is unknown, all that both hosts dropped."""


def placed(sample: StreamSample) -> PlacedLoss | None:
    """Where a stream lost messages (over TCP: segments); ``None`` if it lost none."""
    losses = lost_of(sample)
    if not losses or sample.imported:
        return None
    counts = _counts(sample)
    certain = {
        place: max(0, count - _doubt(place, sample)) for place, count in counts.items() if count
    }
    # The interface may also count a frame for which the backlog had no room, so only the larger one
    # of the two counts is used.
    earlier_drops = max(certain.get("backlog", 0), certain.get("receiver_interface", 0))
    other_drops = sum(
        certain.get(place, 0) for place in ("socket", "sender_interface", "sender_queue")
    )
    if earlier_drops + other_drops >= COVERED * losses:
        place = max(_PLACES, key=lambda name: certain.get(name, 0))
        kind, end = _PLACES[place]
        host = sample.receiver.host if end == "receiver" else sample.sender.host
        return PlacedLoss(kind, host, losses, certain[place])
    drops = sum(count or 0 for count in counts.values())
    ours = sum(max(0, (count or 0) - _unhandled(place, sample)) for place, count in counts.items())
    unknown = next((place for place, count in counts.items() if count is None), None)
    # Frames that cannot be distinguished from foreign ones may include a few lost messages. If the
    # receiver's interface received extra frames, these may be ours: the host lost them afterwards.
    may_be_ours = sample.likely_others_share >= COVERED * (sample.lost_share or 1.0)
    clean = ours == 0 and drops < COVERED * losses and _is_put_together(sample) and not may_be_ours
    all_read = unknown is None and sample.drops.sender_backlog is not None
    if clean and all_read and not sample.same_host:
        return PlacedLoss(Kind.LOSS_PATH, "", losses, drops)
    host = "" if all_read else sample.sender.host
    if unknown is not None:
        host = sample.receiver.host if _PLACES[unknown][1] == "receiver" else sample.sender.host
    return PlacedLoss(Kind.LOSS_UNKNOWN, host, losses, drops)


def lost_of(sample: StreamSample) -> int | None:
    """Messages that never arrived; over TCP, retransmitted segments."""
    return sample.losses.lost if sample.protocol == "UDP" else sample.tcp.retransmissions


def lost(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, kind and host, over all trials with loss in that place; and one for
    the messages that the sender's own queue refused.
    """
    groups: dict[tuple[Kind, Group, str], list[tuple[StreamSample, PlacedLoss]]] = {}
    for sample in samples:
        for loss in (placed(sample), _refused(sample)):
            if loss is not None:
                groups.setdefault((loss.kind, sample.group, loss.host), []).append((sample, loss))
    for (kind, group, host), losses_there in groups.items():
        cells = tuple(dict.fromkeys(sample.cell for sample, _loss in losses_there))
        figures: dict[str, float | None] = {"trials": len(losses_there)}
        lost_there, drops = (
            sum(getattr(loss, name) for _sample, loss in losses_there) for name in _SUMS
        )
        if group.protocol == "TCP":
            words: dict[str, str] = {"place": _IN_WORDS[kind]} if kind in _IN_WORDS else {}
            if kind in _IN_HOSTS:
                words["at_host"] = host
            if kind in _IN_WORDS:
                figures["dropped_here"] = drops or None
            yield finding(
                Kind.SENT_AGAIN, group, cells, figures | {"sent_again": lost_there}, words
            )
            continue
        sent_counts = [sample.losses.sent or 0 for sample, _loss in losses_there]
        figures |= {
            "lost_messages": lost_there,
            "sent_messages": sum(sent_counts) if all(sent_counts) else None,
        }
        figures["dropped_frames"] = drops or None
        yield finding(kind, group, cells, figures, {"at_host": host} if host else {})


def _refused(sample: StreamSample) -> PlacedLoss | None:
    """Messages that the sender's system refused: the send calls reported an error, and nothing was
    sent. ``None`` if there are none.
    """
    local = sample.losses.local
    if sample.protocol != "UDP" or not local or sample.imported:
        return None
    return PlacedLoss(Kind.LOSS_UNSENT, sample.sender.host, local, local)


def _counts(sample: StreamSample) -> dict[str, int | None]:
    """Place → frames dropped there; ``None``: not known. Over TCP, no socket drops anything."""
    drops, losses = sample.drops, sample.losses
    queue = drops.sender_queue
    if queue is not None and sample.protocol == "UDP":
        # Messages whose drop the send calls reported were never sent, so they are not lost.
        queue = None if losses.local is None else max(0, queue - losses.local)
    return {
        "socket": losses.receive_queue if sample.protocol == "UDP" else 0,
        "backlog": drops.receiver_backlog,
        "receiver_interface": drops.receiver_interface,
        "sender_interface": drops.sender_interface,
        "sender_queue": queue,
    }


def _doubt(place: str, sample: StreamSample) -> int:
    """How many of the frames dropped in a place may not be messages of this direction.

    They may belong to the other direction, or to other protocols. The result is the number of all
    dropped frames if the loss of the other direction is not known.
    """
    if place == "socket":
        return 0
    other_way = sample.losses.other_way
    if other_way is None:
        return _counts(sample)[place] or 0
    return other_way * (sample.packets_a_message or 1) + _unhandled(place, sample)


def _unhandled(place: str, sample: StreamSample) -> int:
    """How many of the dropped frames may belong to protocols without a handler."""
    counted_as_drops = place in ("receiver_interface", "sender_interface")
    return int(UNHANDLED_PER_S * sample.drops.between_s) if counted_as_drops else 0


def _is_put_together(sample: StreamSample) -> bool:
    """Whether the receiver's system reassembled every message from its fragments."""
    has_no_fragments = sample.packets_a_message == 1 or sample.protocol == "TCP"
    return has_no_fragments or sample.drops.reassembly == 0
