"""A conversation with two agents about one test: who listens, who connects, until both ended.

    listen → `ready` → connect → what the kind of test makes of each record → a `result` each

A fault at one end ends all that runs; of several faults the one is raised that explains most.
"""

from __future__ import annotations

import ipaddress
import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from netlab.errors import HostGone, ProbeError
from netlab.experiment.records import REASONS, reason_of
from netlab.measurement.requests import can
from netlab.remote.agent import Agent
from netlab.remote.pending import GONE, Inbox, Pending, fault_in
from netlab.remote.protocol import BAD_ANSWER

CONTROLLER_SLACK_S = 5.0
"""What the controller waits beyond the probes' own deadline for their last word."""

ENDS_S = 2.0
"""How long a test that is aborted may take to end, before the next one begins without it."""

FOLLOWING = frozenset({"peer-vanished", "no-peer", "no-traffic", "no-answer", "deadline"})
"""Words that one end says because of what happened at the other."""


@dataclass(slots=True)
class ConversationEnd:
    """One end of a conversation, and what has come from it."""

    agent: Agent
    verb: str
    """What is asked of it: ``send``, ``receive``, ``ask`` or ``mirror``."""
    address: str
    keys: Mapping[str, Any]
    """The request's keys but those that say how the streams are opened."""
    pending: Pending | None = None
    result: Mapping[str, Any] | None = None
    fault: ProbeError | None = None
    skipped_lines: int = field(init=False)
    """What its host had printed before that is no record."""

    def __post_init__(self) -> None:
        self.skipped_lines = self.agent.skipped_lines

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it (or was asked of it yet)."""
        return self.result is not None or self.fault is not None or self.pending is None

    def has(self, capability: str) -> bool:
        """Whether its system can do this (``capabilities`` of `hello`)."""
        return can(self.agent, capability)


@dataclass(slots=True)
class Conversation(ABC):
    """One test between a listening and a connecting side."""

    name: str
    """Prefix of its keys in the record; empty where a trial has one conversation."""
    connector: ConversationEnd
    listener: ConversationEnd | None
    """``None`` where no agent of ours listens: then ``to`` says what is connected to."""
    to: str = ""
    """``ADDRESS:PORT`` of such a listener."""
    connecting: Mapping[str, Any] = field(default_factory=dict)
    """Keys that only the connecting side is asked: its port, its interface."""
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
        """Ask the listening side to bind; without one connect at once."""
        if self.listener is None:
            self._connect(self.to, inbox)
            return
        keys: dict[str, Any] = {"open": "listen", "bind": self.listener.address}
        port_range = self.listener.agent.host.port_range
        if port_range is not None:
            keys["port"] = f"{port_range[0]}-{port_range[1]}"
        self._start(self.listener, keys, inbox)

    def handle(self, side: ConversationEnd, record: Mapping[str, Any], inbox: Inbox) -> None:
        """Take one record of ``side`` and do what follows from it."""
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
                # What cannot be believed is no end: the probe's test may still run.
                self.stop(side, abort=1)
        self.follow(side, record)

    @abstractmethod
    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """What this kind of test does after a record of ``side``: whom it stops, and when."""

    def abort(self) -> None:
        """End what still runs; results are of no use any more."""
        self.aborted = True
        for side in self.sides:
            if not side.ended:
                self.stop(side, abort=1)

    def give_up(self, side: ConversationEnd, word: str, detail: str) -> None:
        """End a side whose test cannot come to anything any more, with that fault."""
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
    """Lead conversations that run at the same time to their ends.

    Raises ProbeError where one of them has no result, HostGone when a host is lost.
    ``deadline_s``: how long the probes let their tests live. ``on_begun`` is called once the
    listening sides are asked: what it asks takes no time of theirs, and nobody sends yet.
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
    """Conversations under way, and what has arrived of all of them."""

    conversations: Sequence[Conversation]
    arrivals: queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]] = field(
        default_factory=queue.SimpleQueue
    )

    def begin(self) -> None:
        """Ask the listening sides."""
        for each in self.conversations:
            each.begin(self._inbox)

    def lead(self, within_s: float, on_progress: OnProgress) -> None:
        """Do what follows from each record, until every end has ended."""
        give_up = time.monotonic() + within_s
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
        """End the tests of those who are left: the other end of a connection that is lost would
        take what still comes into the next trial's time.
        """
        self._abort()
        give_up = time.monotonic() + ENDS_S
        with suppress(queue.Empty):
            while not self.ended:
                self._take(give_up)

    @property
    def ended(self) -> bool:
        """Whether every end of every conversation has ended."""
        return all(each.ended for each in self.conversations)

    def _take(self, until: float) -> tuple[ConversationEnd, Mapping[str, Any]]:
        """The next record, handled, and whose it is; queue.Empty where none comes."""
        pending, record = self.arrivals.get(timeout=max(0.0, until - time.monotonic()))
        conversation, side = next(
            (each, side)
            for each in self.conversations
            for side in each.sides
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
        for each in self.conversations:
            if not each.aborted:
                each.abort()


def _give_up(conversations: Sequence[Conversation]) -> NoReturn:
    late = [side for each in conversations for side in each.sides if not side.ended]
    for each in conversations:
        each.abort()
    detail = "no last word from the probe after its own deadline"
    for side in late:
        if side.agent.skipped_lines > side.skipped_lines:
            detail += f"; its host printed what is no record: {side.agent.last_skipped}"
            raise ProbeError(side.agent.host.name, BAD_ANSWER, detail=detail)
    raise ProbeError(late[0].agent.host.name, "deadline", detail=detail)


def _raise_worst(conversations: Sequence[Conversation]) -> None:
    """Of several faults the one that is final, else the one that is no mere consequence."""
    sides = [side for each in conversations for side in each.sides]
    faults = [side.fault for side in sides if side.fault is not None]
    if faults:
        raise min(faults, key=_explains)


def _explains(fault: ProbeError) -> int:
    """Less is more: `stopped` is what we ourselves made of the other end."""
    if REASONS[reason_of(fault.word)].impossible:
        return 0
    if fault.word == "stopped":
        return 3
    return 2 if fault.word in FOLLOWING else 1


def destination(address: str, ports: object) -> str:
    """The ``to`` of a request: ``ADDRESS:PORT[,PORT…]``, IPv6 in brackets."""
    version = ipaddress.ip_address(address.partition("%")[0]).version
    return f"[{address}]:{ports}" if version == 6 else f"{address}:{ports}"


def opened_by(
    connects: str, *, server: ConversationEnd, client: ConversationEnd
) -> tuple[ConversationEnd, ConversationEnd]:
    """Who listens and who connects, where the ``client`` or the ``server`` ``connects``."""
    return (client, server) if connects == "server" else (server, client)
