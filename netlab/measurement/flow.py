"""One flow of messages between two agents: the requests to each, and when each is stopped.

record `window` of the receiver (its measured time is over) → stop the sender → record `result` of
the sender → stop the receiver
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.experiment.kinds import Stream
from netlab.measurement.conversation import Conversation, ConversationEnd
from netlab.measurement.requests import in_order, request_keys
from netlab.remote.agent import Agent
from netlab.remote.protocol import decimal

PROBE_SLACK_S = 10.0
"""Time after the warm-up and the window (the time that is measured) at which a probe's own deadline
ends the test."""

COUNT_DEADLINE_S = 600.0
"""Deadline of a trial that ends after a number of messages."""


@dataclass(slots=True)
class Flow(Conversation):
    """Messages one way, between a listening and a connecting side."""

    stopped: bool = False
    on_stop: Callable[[], None] = lambda: None
    """Called after the sender was told to stop."""

    @property
    def sender(self) -> ConversationEnd:
        """The end that sends."""
        return next(side for side in self.sides if side.verb == "send")

    @property
    def receiver(self) -> ConversationEnd:
        """The end that receives."""
        return next(side for side in self.sides if side.verb == "receive")

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the sender after the receiver's record `window`; stop the receiver after the
        sender's record `result`.
        """
        kind = record["type"]
        if kind == "window" and side is self.receiver:
            if not self.stopped and not self.sender.ended:
                self.stopped = True
                self.stop(self.sender)
                self.on_stop()
        elif kind == "result" and side is self.sender and not self.receiver.ended:
            self.stop(self.receiver, sent=record.get("sent_messages", 0))


_KEYS = (
    "kind proto token message streams deadline seconds count warm_up socket_buffer nodelay "
    "dont_fragment dscp congestion rate message_rate method spin poll adapt cpu cpus"
)


def keys_of(stream: Stream, verb: str, end: str, agent: Agent, token: str) -> dict[str, Any]:
    """Keys of the request ``verb`` to ``end`` (``server`` or ``client``), except those that say how
    the streams are opened.
    """
    keys: dict[str, Any] = {
        "kind": "stream",
        "proto": stream.protocol.lower(),
        "token": token,
        "deadline": decimal(deadline_s(stream)),
    }
    return in_order(keys | request_keys(stream, agent, verb, end), _KEYS)


def deadline_s(stream: Stream) -> float:
    """The probe's time limit, in seconds, for a trial with these settings."""
    if stream.duration_s is None:
        return COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + PROBE_SLACK_S
