"""One flow of messages between two agents: what each is asked, and who is stopped when.

`window` of the receiver → stop the sender → its `result` → stop the receiver
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlab.experiment.kinds import Stream
from netlab.measure.conversation import Conversation, ConversationEnd, can
from netlab.remote.agent import Agent
from netlab.remote.protocol import decimal

PROBE_SLACK_S = 10.0
"""What a probe may take beyond warm-up and window before its own deadline ends the test."""

COUNT_DEADLINE_S = 600.0
"""Deadline of a trial that is bounded by a number of messages."""


@dataclass(slots=True)
class Flow(Conversation):
    """Messages one way, between a listening and a connecting side."""

    stopped: bool = False

    @property
    def sender(self) -> ConversationEnd:
        """The end that sends."""
        return next(side for side in self.sides if side.verb == "send")

    @property
    def receiver(self) -> ConversationEnd:
        """The end that receives."""
        return next(side for side in self.sides if side.verb == "receive")

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """The receiver's window ends the sender; the sender's count ends the receiver."""
        kind = record["type"]
        if kind == "window" and side is self.receiver:
            if not self.stopped and not self.sender.ended:
                self.stopped = True
                self.stop(self.sender)
        elif kind == "result" and side is self.sender and not self.receiver.ended:
            self.stop(self.receiver, sent=record.get("sent_messages", 0))


def keys_of(stream: Stream, verb: str, agent: Agent, token: str) -> dict[str, Any]:
    """What the end that does ``verb`` is asked, but for how it is opened and which CPU it takes."""
    keys: dict[str, Any] = {
        "kind": "stream",
        "proto": stream.protocol.lower(),
        "token": token,
        "message": stream.message_bytes,
        "streams": stream.streams,
        "deadline": decimal(deadline_s(stream)),
    }
    if stream.duration_s is not None:
        keys["seconds"] = decimal(stream.duration_s)
    if stream.count is not None:
        keys["count"] = stream.count
    if stream.warm_up_s:
        keys["warm_up"] = decimal(stream.warm_up_s)
    if stream.socket_buffer_bytes is not None:
        keys["socket_buffer"] = stream.socket_buffer_bytes
    if stream.nodelay and stream.protocol == "TCP":
        keys["nodelay"] = 1
    if stream.dont_fragment and stream.protocol == "UDP":
        keys["dont_fragment"] = 1
    if stream.dscp is not None:
        keys["dscp"] = stream.dscp
    if verb == "send":
        keys |= _keys_of_sender(stream, agent)
    elif stream.receive == "spinning":
        keys["spin"] = 1
    elif stream.receive == "polling":
        keys["poll"] = 1
    return keys


def _keys_of_sender(stream: Stream, agent: Agent) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    if chooses_congestion(stream.protocol, stream.congestion, agent):
        keys["congestion"] = stream.congestion
    if stream.rate_bit_per_s is not None:
        keys["rate"] = decimal(stream.rate_bit_per_s)
    if stream.message_rate_per_s is not None:
        keys["message_rate"] = decimal(stream.message_rate_per_s)
    if stream.send_method is not None and stream.protocol == "UDP":
        keys["method"] = stream.send_method
    return keys


def chooses_congestion(protocol: str, congestion: str | None, sender: Agent) -> bool:
    """Whether an end that sends is told its congestion control: its system must let it choose.

    Windows lets no program choose; it keeps its own then, and the record says so.
    """
    return congestion is not None and protocol == "TCP" and can(sender, "congestion")


def deadline_s(stream: Stream) -> float:
    """How long a probe lets a trial of these settings live."""
    if stream.duration_s is None:
        return COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + PROBE_SLACK_S
