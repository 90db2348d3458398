"""A conversation with two agents about one test: the first agent listens, the second connects.

    listen → `ready` → connect → the kind of test handles each record → a `result` from each end

A fault at one end ends all conversations that run together. If there are several faults, the one
that explains the most is raised.
"""

from __future__ import annotations

import ipaddress
import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.experiment.records import REASONS, reason_of
from netlab.measurement.requests import can
from netlab.remote.agent import Agent
from netlab.remote.pending import GONE, Inbox, Pending, fault_in
from netlab.remote.protocol import BAD_ANSWER

CONTROLLER_SLACK_S = 5.0
"""How long the controller (this process) waits for the last records after the probes' own
deadline."""

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
class Conversation(ABC):
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

    @property
    def ended(self) -> bool:
        """Whether every end has ended."""
        return all(side.ended for side in self.sides)

    def begin(self, inbox: Inbox) -> None:
        """Ask the listening side to bind; if that side has no agent, connect at once."""
        if self.listener is None:
            self._connect(self.to, inbox)
            return
        keys: dict[str, Any] = {"open": "listen", "bind": self.listener.address}
        ports = self.listener.agent.host.ports
        if ports is not None:
            keys["port"] = ports
        self._start(self.listener, keys, inbox)

    def handle(self, side: ConversationEnd, record: Mapping[str, Any], inbox: Inbox) -> None:
        """Process one record of ``side``."""
        kind = record["type"]
        if kind == "ready" and side is self.listener:
            if not self.aborted and self.connector.pending is None:
                to = destination(side.address, record.get("ports") or record["port"])
                self._connect(to, inbox)
        elif kind == "result":
            side.result = record
        elif kind == "error" and side.fault is None:
            side.fault = fault_in(side.agent.host.name, record)
            if side.fault.word == BAD_ANSWER:
                # After an invalid record the probe's test may still run.
                self.stop(side, abort=1)
        self.follow(side, record)

    @abstractmethod
    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Act on a record as the kind of test requires, such as stopping the other side."""

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

    def _connect(self, to: str, inbox: Inbox) -> None:
        side = self.connector
        keys = {"open": "connect", "to": to, "bind": side.address} | dict(self.connecting)
        self._start(side, keys, inbox)

    def _start(self, side: ConversationEnd, keys: dict[str, Any], inbox: Inbox) -> None:
        side.pending = side.agent.start(side.verb, inbox=inbox, **(keys | dict(side.keys)))


OnProgress = Callable[[ConversationEnd, Mapping[str, Any]], None]


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
    drive = _Drive(conversations)
    try:
        drive.begin()
        on_begun()
        drive.lead(deadline_s + CONTROLLER_SLACK_S, on_progress)
    except Exception:
        drive.end()
        raise
    _raise_worst(conversations)


@dataclass(slots=True)
class _Drive:
    """Running conversations and the records that arrive from them."""

    conversations: Sequence[Conversation]
    arrivals: queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]] = field(
        default_factory=queue.SimpleQueue
    )

    def begin(self) -> None:
        """Begin every conversation with the request to its listening side."""
        for conversation in self.conversations:
            conversation.begin(self._inbox)

    def lead(self, within_s: float, on_progress: OnProgress) -> None:
        """Process each record until every end has ended."""
        give_up = clock.monotonic() + within_s
        while not self.ended:
            try:
                side, record = self._take(give_up)
            except queue.Empty:
                _give_up(self.conversations)
            if record["type"] == GONE:
                raise HostGone(str(record["detail"]))
            if record["type"] == "progress":
                on_progress(side, record)
            if side.fault is not None:
                self._abort()

    def end(self) -> None:
        """End the remaining tests. Otherwise, after the loss of one host, the probe at the other
        end would continue into the time of the next trial.
        """
        self._abort()
        give_up = clock.monotonic() + ENDS_S
        with suppress(queue.Empty):
            while not self.ended:
                self._take(give_up)

    @property
    def ended(self) -> bool:
        """Whether every end of every conversation has ended."""
        return all(conversation.ended for conversation in self.conversations)

    def _take(self, until: float) -> tuple[ConversationEnd, Mapping[str, Any]]:
        """Process the next record; returns its end and the record. Raises queue.Empty if no record
        arrives in time.
        """
        pending, record = clock.get(self.arrivals, max(0.0, until - clock.monotonic()))
        conversation, side = next(
            (conversation, side)
            for conversation in self.conversations
            for side in conversation.sides
            if side.pending is pending
        )
        if record["type"] == GONE:
            side.fault = ProbeError(side.agent.host.name, "host-gone", detail=str(record["detail"]))
        else:
            conversation.handle(side, record, self._inbox)
        return side, record

    def _inbox(self, pending: Pending, record: Mapping[str, Any]) -> None:
        self.arrivals.put((pending, record))

    def _abort(self) -> None:
        for conversation in self.conversations:
            if not conversation.aborted:
                conversation.abort()


def _give_up(conversations: Sequence[Conversation]) -> NoReturn:
    """Abort conversations that are over their deadline, and raise ProbeError."""
    sides = [side for conversation in conversations for side in conversation.sides]
    late = [side for side in sides if not side.ended]
    for conversation in conversations:
        conversation.abort()
    detail = "no last record from the probe after its own deadline"
    for side in late:
        if side.agent.skipped_lines > side.skipped_lines:
            detail += f"; its host printed a line that is no record: {side.agent.last_skipped}"
            raise ProbeError(side.agent.host.name, BAD_ANSWER, detail=detail)
    raise ProbeError(late[0].agent.host.name, "deadline", detail=detail)


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
