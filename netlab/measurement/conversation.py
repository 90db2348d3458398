"""A conversation with two agents about one test: its requests, and when each end is stopped.

    listen → `ready` → connect → each record is handled → a `result` from each end

A fault at one end ends all conversations that run together. If there are several faults, the one
that explains the most is raised.
"""

from __future__ import annotations

import ipaddress
import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.kinds import ROWS, Setup, Stream
from netlab.remote.agent import Agent
from netlab.remote.answers import BAD_ANSWER, GONE, Inbox, Pending, decimal, fault_in
from netlab.trial.record import REASONS, reason_of
from netlab.trial.settings import Ask, Level, SettingRow, Settings


def can(agent: Agent, capability: str) -> bool:
    """Whether a host's probe reports a capability."""
    return capability in str(agent.hello.get("capabilities", "")).split(",")


def request_keys(setup: Setup, agent: Agent, *roles: str) -> dict[str, Any]:
    """The keys for an end with these roles. A role is the verb of the request, ``server`` or
    ``client``, or ``connect`` for the end that connects.

    The rows of the table ``ROWS`` say which setting becomes which key for which role. An optional
    setting that the system of this end does not support is left out.
    """
    keys: dict[str, Any] = {}
    kind: Any = type(setup)
    for name, row, asks in _asked(kind, roles):
        level = getattr(setup, name)
        if level is not None and heeds(row, setup.protocol, agent):
            for ask in asks:
                keys |= _key(ask, row, level)
    return keys


@cache
def _asked(
    kind: type[Settings], roles: tuple[str, ...]
) -> tuple[tuple[str, SettingRow, tuple[Ask, ...]], ...]:
    """The settings of a kind of test that become keys for an end with these roles: name, row, and
    the keys.
    """
    rows = ((name, ROWS[name]) for name in kind.names())
    asked = (
        (name, row, tuple(ask for ask in row.asks if not {*ask.of.split()}.isdisjoint(roles)))
        for name, row in rows
    )
    return tuple(entry for entry in asked if entry[2])


def heeds(row: SettingRow, protocol: str, agent: Agent) -> bool:
    """Whether an end applies a setting: the protocol has the setting, and the system of this end
    supports it.

    Windows, for example, lets no program choose its congestion control; the record shows that.
    """
    need = row.need
    knows = need is None or need.vital or can(agent, need.capability)
    return knows and row.only_of in (None, protocol)


def _key(ask: Ask, row: SettingRow, level: Level) -> Mapping[str, Any]:
    if ask.when is not None:
        return {ask.key: 1} if level == ask.when else {}
    if level == ask.unless:
        return {}
    return {ask.key: decimal(level) if row.type is float else level}  # type: ignore[arg-type]


def in_order(keys: Mapping[str, Any], order: str) -> dict[str, Any]:
    """Keys of a request in the given order of names; other keys come last."""
    place = {key: index for index, key in enumerate(order.split())}
    return {key: keys[key] for key in sorted(keys, key=lambda key: place.get(key, len(place)))}


CONTROLLER_SLACK_S = 5.0
"""How long the controller (this process) waits for the last records after the probes' own
deadline."""

MIRROR_SLACK_S = 2.0
"""Time between the deadlines of the asking end and of the mirror, which must not end first."""

STOPS: Mapping[tuple[str, str], str] = {
    ("receive", "window"): "send",
    ("send", "result"): "receive",
    ("ask", "result"): "mirror",
}
"""Verb of an end and type of a record from it → the verb of the end that is stopped then."""

ENDS_S = 2.0
"""Time for an aborted test to end. After it, the next test begins in any case."""

FOLLOWING = frozenset({"peer-vanished", "no-peer", "no-traffic", "no-answer", "deadline"})
"""Reasons of a fault at one end that may be consequences of a fault at the other end."""


@dataclass(slots=True)
class ConversationEnd:
    """One end of a conversation, with its request and the records received from it."""

    agent: Agent
    verb: str
    """Verb of the request: ``send``, ``receive``, ``ask`` or ``mirror``."""
    address: str
    keys: Mapping[str, Any]
    """Keys of the request except those about opening the streams."""
    pending: Pending | None = None
    result: Mapping[str, Any] | None = None
    fault: ProbeError | None = None
    skipped_lines: int = field(init=False)
    """Number of lines that are no record and that the host printed before this conversation."""

    def __post_init__(self) -> None:
        self.skipped_lines = self.agent.skipped_lines

    @property
    def ended(self) -> bool:
        """Whether this end has ended or has not begun."""
        return self.result is not None or self.fault is not None or self.pending is None

    def has(self, capability: str) -> bool:
        """Whether the host's system has a capability (``capabilities`` of `hello`)."""
        return can(self.agent, capability)


@dataclass(slots=True)
class Conversation:
    """One test between a listening and a connecting side."""

    name: str
    """Prefix of the values of this conversation in the record; empty if the trial has
    no other conversation."""
    connector: ConversationEnd
    listener: ConversationEnd | None
    """``None`` if the listener runs no agent; ``to`` is then its address."""
    to: str = ""
    """``ADDRESS:PORT`` of a listener without an agent."""
    connecting: Mapping[str, Any] = field(default_factory=dict)
    """Keys for the connecting side only: its port, its interface."""
    aborted: bool = False

    @property
    def sides(self) -> tuple[ConversationEnd, ...]:
        """The ends that have an agent, the listening one first."""
        return (self.connector,) if self.listener is None else (self.listener, self.connector)

    def begin(self, inbox: Inbox) -> None:
        """Ask the listening side to bind; if that side has no agent, connect at once."""
        if self.listener is None:
            side, keys = self.connector, self._connecting_to(self.to)
        else:
            side, keys = self.listener, {"open": "listen", "bind": self.listener.address}
            if side.agent.host.ports is not None:
                keys["port"] = side.agent.host.ports
        side.pending = side.agent.start(side.verb, inbox=inbox, **(keys | dict(side.keys)))

    def handle(self, side: ConversationEnd, record: Mapping[str, Any], inbox: Inbox) -> None:
        """Process one record of ``side``."""
        kind = record["type"]
        if kind == GONE:
            side.fault = ProbeError(side.agent.host.name, "host-gone", detail=str(record["detail"]))
            return
        if kind == "ready" and side is self.listener:
            end = self.connector
            if not self.aborted and end.pending is None:
                to = destination(side.address, record.get("ports") or record["port"])
                keys = self._connecting_to(to) | dict(end.keys)
                end.pending = end.agent.start(end.verb, inbox=inbox, **keys)
        elif kind == "result":
            side.result = record
        elif kind == "error" and side.fault is None:
            side.fault = fault_in(side.agent.host.name, record)
            if side.fault.word == BAD_ANSWER:
                # After an invalid record the probe's test may still run.
                self.stop(side, abort=1)
        self.follow(side, record)

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the end that has nothing more to do after a record of ``side``."""
        idle = STOPS.get((side.verb, record["type"]))
        for other in self.sides:
            if other.verb == idle and other is not side and not other.ended:
                self.stop(other)

    def abort(self) -> None:
        """End both sides without a result."""
        self.aborted = True
        for side in self.sides:
            if not side.ended:
                self.stop(side, abort=1)

    def give_up(self, side: ConversationEnd, word: str, detail: str) -> None:
        """End a side whose test can have no result any more. Its fault is ``word``, ``detail``."""
        self.stop(side, abort=1)
        side.fault = ProbeError(side.agent.host.name, word, detail=detail)

    def stop(self, side: ConversationEnd, **keys: Any) -> None:
        """Tell a side that its test is over."""
        if side.pending is not None:
            side.agent.start("stop", test=side.pending.id, **keys)

    def _connecting_to(self, to: str) -> dict[str, Any]:
        return {"open": "connect", "to": to, "bind": self.connector.address, **self.connecting}


OnProgress = Callable[[ConversationEnd, Mapping[str, Any]], None]
Arrivals = queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]]
"""Records of all ends in the order of their arrival, each with the request that it answers."""


def drive(
    conversations: Sequence[Conversation],
    deadline_s: float,
    on_progress: OnProgress,
    on_begun: Callable[[], None] = lambda: None,
) -> None:
    """Run conversations at the same time until all have ended.

    Raises ProbeError if one of them has no result, HostGone if a host is lost. ``deadline_s``: time
    limit of the tests at the probes. ``on_begun`` is called after the requests to the listening
    sides and before any end sends. Requests that ``on_begun`` makes therefore delay nothing.
    """
    arrivals: Arrivals = queue.SimpleQueue()

    def inbox(pending: Pending, record: Mapping[str, Any]) -> None:
        arrivals.put((pending, record))

    try:
        for conversation in conversations:
            conversation.begin(inbox)
        on_begun()
        give_up = clock.monotonic() + deadline_s + CONTROLLER_SLACK_S
        while late := _running(conversations):
            try:
                pending, record = clock.get(arrivals, max(0.0, give_up - clock.monotonic()))
            except queue.Empty:
                raise _overdue(late) from None
            conversation, side = _end_of(pending, conversations)
            conversation.handle(side, record, inbox)
            if record["type"] == GONE:
                raise HostGone(str(record["detail"]))
            if record["type"] == "progress":
                on_progress(side, record)
            if side.fault is not None:
                _abort(conversations)
    except Exception:
        _end(conversations, arrivals, inbox)
        raise
    _raise_worst(conversations)


def _running(conversations: Sequence[Conversation]) -> list[ConversationEnd]:
    return [side for one in conversations for side in one.sides if not side.ended]


def _end_of(
    pending: Pending, conversations: Sequence[Conversation]
) -> tuple[Conversation, ConversationEnd]:
    return next(
        (conversation, side)
        for conversation in conversations
        for side in conversation.sides
        if side.pending is pending
    )


def _abort(conversations: Sequence[Conversation]) -> None:
    for conversation in conversations:
        if not conversation.aborted:
            conversation.abort()


def _end(conversations: Sequence[Conversation], arrivals: Arrivals, inbox: Inbox) -> None:
    """End the remaining tests. Otherwise, after the loss of one host, the probe at the other end
    would continue into the time of the next trial.
    """
    _abort(conversations)
    give_up = clock.monotonic() + ENDS_S
    with suppress(queue.Empty):
        while _running(conversations):
            pending, record = clock.get(arrivals, max(0.0, give_up - clock.monotonic()))
            conversation, side = _end_of(pending, conversations)
            conversation.handle(side, record, inbox)


def _overdue(late: Sequence[ConversationEnd]) -> ProbeError:
    """The fault of ends that are over their deadline."""
    detail = "no last record from the probe after its own deadline"
    for side in late:
        if side.agent.skipped_lines > side.skipped_lines:
            detail += f"; its host printed a line that is no record: {side.agent.last_skipped}"
            return ProbeError(side.agent.host.name, BAD_ANSWER, detail=detail)
    return ProbeError(late[0].agent.host.name, "deadline", detail=detail)


def _raise_worst(conversations: Sequence[Conversation]) -> None:
    """Raise the fault that explains the most, if there are faults; see ``_rank``."""
    sides = [side for conversation in conversations for side in conversation.sides]
    faults = [side.fault for side in sides if side.fault is not None]
    if faults:
        raise min(faults, key=_rank)


def _rank(fault: ProbeError) -> int:
    """The rank of a fault: the fault with the lowest rank explains the most. A fault that makes the
    test impossible explains more than others. A reason in ``FOLLOWING`` explains less. `stopped`
    explains nothing, because netlab itself stopped that end.
    """
    if REASONS[reason_of(fault.word)].impossible:
        return 0
    if fault.word == "stopped":
        return 3
    return 2 if fault.word in FOLLOWING else 1


def destination(address: str, ports: object) -> str:
    """The value of the key ``to`` of a request: ``ADDRESS:PORT[,PORT…]``, IPv6 in brackets."""
    version = ipaddress.ip_address(address.partition("%")[0]).version
    return f"[{address}]:{ports}" if version == 6 else f"{address}:{ports}"


def opened_by(
    connects: str, *, server: ConversationEnd, client: ConversationEnd
) -> tuple[ConversationEnd, ConversationEnd]:
    """(listener, connector). ``connects``: the side that connects, ``client`` or ``server``."""
    return (client, server) if connects == "server" else (server, client)


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
    keys = {**stream.keys(), "token": token, "deadline": decimal(deadline_s(stream))}
    return in_order(keys | request_keys(stream, agent, verb, end), _KEYS)


def deadline_s(stream: Stream) -> float:
    """The probe's time limit, in seconds, for a trial with these settings."""
    if stream.duration_s is None:
        return COUNT_DEADLINE_S
    return stream.warm_up_s + stream.duration_s + PROBE_SLACK_S
