"""A conversation with two agents about one test: its requests, and when each end is stopped.

    listen → `ready` → connect → each record is handled → a `result` from each end

A fault at one end ends all conversations that run together. If there are several faults, the one
that explains the most is raised.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.experiment.hosts import version_of
from netlab.kinds import ROWS, Setup
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.answers import BAD_ANSWER, GONE, Inbox, Pending, decimal, fault_in
from netlab.trial.record import REASONS, reason_of
from netlab.trial.settings import Ask, SettingRow, Settings


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
        if level is None or not heeds(row, setup.protocol, agent):
            continue
        for ask in asks:
            if ask.when is not None and level == ask.when:
                keys[ask.key] = 1
            elif ask.when is None and level != ask.unless:
                keys[ask.key] = decimal(level) if row.type is float else level
    return keys


@cache
def _asked(
    kind: type[Settings], roles: tuple[str, ...]
) -> tuple[tuple[str, SettingRow, tuple[Ask, ...]], ...]:
    """The settings that become keys for an end with these roles: name, row, and the keys."""
    asked = []
    for name in kind.names():
        asks = [ask for ask in ROWS[name].asks if not {*ask.of.split()}.isdisjoint(roles)]
        if asks:
            asked.append((name, ROWS[name], tuple(asks)))
    return tuple(asked)


def heeds(row: SettingRow, protocol: str, agent: Agent) -> bool:
    """Whether an end applies a setting: the protocol has the setting, and the end's system supports
    it. Windows, for example, lets no program choose its congestion control.
    """
    need = row.need
    knows = need is None or need.vital or can(agent, need.capability)
    return knows and row.only_of in (None, protocol)


CONTROLLER_SLACK_S = 5.0
"""How long this process waits for the last records after the probes' own deadline."""
MIRROR_SLACK_S = 2.0
"""Time between the deadlines of the asking end and of the mirror, which must not end first."""

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
    """Of the request, except those about opening the streams."""
    pending: Pending | None = None
    result: Mapping[str, Any] | None = None
    fault: ProbeError | None = None
    skipped_lines: int = field(init=False)
    """Lines that are no record and that the host printed before this conversation."""

    def __post_init__(self) -> None:
        self.skipped_lines = self.agent.skipped_lines

    @property
    def ended(self) -> bool:
        """Whether this end has ended or has not begun."""
        return self.result is not None or self.fault is not None or self.pending is None


def end_of(
    setup: Setup, ends: Ends, end: str, verb: str, *, token: str, limit_s: float, **more: Any
) -> ConversationEnd:
    """The ``server`` or the ``client`` with its request, whose keys follow from the settings.

    ``token``: what makes the two ends' connections those of this test; ``limit_s``: the probe's own
    deadline; ``more``: further keys, or other values of keys. ProbeError if the end has no agent.
    """
    agent = ends.agent_of(end)
    keys = {**setup.keys(), "token": token, "deadline": decimal(limit_s)}
    keys |= request_keys(setup, agent, verb, end) | more
    return ConversationEnd(agent, verb, ends.address(end, setup), keys)


@dataclass(slots=True)
class Conversation(ABC):
    """One test between a listening and a connecting side."""

    name: str
    """Prefix of the values of this conversation in the record; empty if the trial has
    no other conversation."""
    connector: ConversationEnd
    listener: ConversationEnd | None
    to: str = ""
    """``ADDRESS:PORT`` of a listener without an agent, for which ``listener`` is ``None``."""
    connecting: Mapping[str, Any] = field(default_factory=dict)
    """Keys for the connecting side only: its port, its interface."""
    aborted: bool = False

    @classmethod
    def between(
        cls, setup: Setup, connects: str, server: ConversationEnd, client: ConversationEnd
    ) -> Self:
        """The conversation of two agents. ``connects``: the side that connects."""
        listener, connector = (client, server) if connects == "server" else (server, client)
        connecting = request_keys(setup, connector.agent, "connect")
        return cls("", connector, listener, connecting=connecting)

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

    @abstractmethod
    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the end that has nothing more to do after a record of ``side``."""

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


def drive(
    conversations: Sequence[Conversation],
    deadline_s: float,
    on_progress: OnProgress = lambda _side, _record: None,
    on_begun: Callable[[], None] = lambda: None,
) -> None:
    """Run conversations at the same time until all have ended.

    Raises ProbeError if one of them has no result, HostGone if a host is lost. ``deadline_s``: time
    limit of the tests at the probes. ``on_begun`` is called after the requests to the listening
    sides and before any end sends. Requests that ``on_begun`` makes therefore delay nothing.
    """
    arrivals: queue.SimpleQueue[tuple[Pending, Mapping[str, Any]]] = queue.SimpleQueue()
    ends = [(conversation, side) for conversation in conversations for side in conversation.sides]

    def inbox(pending: Pending, record: Mapping[str, Any]) -> None:
        arrivals.put((pending, record))

    def arrived(give_up: float) -> tuple[Conversation, ConversationEnd, Mapping[str, Any]]:
        pending, record = clock.get(arrivals, max(0.0, give_up - clock.monotonic()))
        conversation, side = next(end for end in ends if end[1].pending is pending)
        return conversation, side, record

    def abort() -> None:
        for conversation in conversations:
            if not conversation.aborted:
                conversation.abort()

    try:
        for conversation in conversations:
            conversation.begin(inbox)
        on_begun()
        give_up = clock.monotonic() + deadline_s + CONTROLLER_SLACK_S
        while late := [side for _, side in ends if not side.ended]:
            try:
                conversation, side, record = arrived(give_up)
            except queue.Empty:
                raise _overdue(late) from None
            conversation.handle(side, record, inbox)
            if record["type"] == GONE:
                raise HostGone(str(record["detail"]))
            if record["type"] == "progress":
                on_progress(side, record)
            if side.fault is not None:
                abort()
    except Exception:
        # Otherwise, after the loss of one host, the probe at the other end would continue into the
        # time of the next trial.
        abort()
        give_up = clock.monotonic() + ENDS_S
        with suppress(queue.Empty):
            while not all(side.ended for _, side in ends):
                conversation, side, record = arrived(give_up)
                conversation.handle(side, record, inbox)
        raise
    if faults := [side.fault for _, side in ends if side.fault is not None]:
        raise min(faults, key=_rank)


def _overdue(late: Sequence[ConversationEnd]) -> ProbeError:
    detail = "no last record from the probe after its own deadline"
    for side in late:
        if side.agent.skipped_lines > side.skipped_lines:
            detail += f"; its host printed a line that is no record: {side.agent.last_skipped}"
            return ProbeError(side.agent.host.name, BAD_ANSWER, detail=detail)
    return ProbeError(late[0].agent.host.name, "deadline", detail=detail)


def _rank(fault: ProbeError) -> int:
    """The fault with the lowest rank explains the most. A fault that makes the test impossible
    explains more than others. A reason in ``FOLLOWING`` explains less. `stopped` explains nothing,
    because netlab itself stopped that end.
    """
    if REASONS[reason_of(fault.word)].impossible:
        return 0
    if fault.word == "stopped":
        return 3
    return 2 if fault.word in FOLLOWING else 1


def destination(address: str, ports: object) -> str:
    """The value of the key ``to`` of a request: ``ADDRESS:PORT[,PORT…]``, IPv6 in brackets."""
    return f"[{address}]:{ports}" if version_of(address) == 6 else f"{address}:{ports}"


PROBE_SLACK_S = 10.0
"""Time after the warm-up and the window (the time that is measured) at which a probe's own deadline
ends the test."""
COUNT_DEADLINE_S = 600.0
"""Deadline of a trial that ends after a number of messages."""
