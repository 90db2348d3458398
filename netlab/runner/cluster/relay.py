"""A relay: uses programs and agents at another dask worker, over the scheduler.

To the rest of netlab, a relayed host is a transport as any other: bytes to a program and bytes from
it. A requester is the process that uses a worker's channels: the run, or another worker. So
controllers of two sites need to reach the scheduler only.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from netlab.errors import HostGone, NetlabError
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import CommonWindow, Ends, SoFar
from netlab.remote.agent import Agent
from netlab.remote.answers import GONE, PROGRAMS, STREAMING, TESTS, Pending
from netlab.remote.transport import HeldOpen, Process
from netlab.terminal import excerpt

MAILBOX_MOST_BYTES = 8 << 20
"""If a mailbox holds more bytes than this, the channels that fill it wait."""
END_S = 1.0
"""Time to wait for the exit status of a program whose output has ended."""


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """The end of a channel."""

    status: int | None
    """Exit status of the program; ``None`` if it is not known."""
    connected: bool
    """Whether the connection to the host still existed when the program ended."""
    stderr: str
    """The end of the program's standard error, or the reason why there is no program."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a trial so far, for the progress of the run."""

    token: str
    so_far: SoFar


Delivery = bytes | ChannelEnd | Totals
"""What a channel delivers: output, or its end; or the totals of a trial."""


class Mailbox:
    """What the channels of one requester have delivered and the requester has not taken yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: list[tuple[str, Delivery]] = []
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._room = threading.Condition()
        self._closed = False

    def put(self, channel: str, item: Delivery) -> None:
        """Add an item; waits while the mailbox is full. Any thread but the loop's may call it."""
        with self._room:
            self._room.wait_for(lambda: self._closed or self._bytes < MAILBOX_MOST_BYTES)
            if self._closed:
                return
            self._items.append((channel, item))
            self._bytes += len(item) if isinstance(item, bytes) else 0
        with suppress(RuntimeError):  # the worker's loop has ended
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self, wait_s: float) -> list[tuple[str, Delivery]]:
        """All items; empty if none arrives within ``wait_s``. Only the worker's loop calls it."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), wait_s)
        self._arrived.clear()
        with self._room:
            items, self._items, self._bytes = self._items, [], 0
            self._room.notify_all()
        return items

    def close(self) -> None:
        """Drop all items, and let no channel wait any longer."""
        with self._room:
            self._closed, self._items = True, []
            self._room.notify_all()


Deliver = Callable[[Delivery], None]


class ProgramChannel:
    """A program on a host, whose input and output are those of the channel."""

    def __init__(self, start: Callable[[], Process], deliver: Deliver) -> None:
        self._deliver = deliver
        self._process: Process | None = None
        self._input: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._killed = threading.Event()
        self._start = start
        threading.Thread(target=self._run, daemon=True).start()

    def feed(self, data: bytes) -> None:
        """Pass bytes to the program's standard input."""
        self._input.put(data)

    def close_input(self) -> None:
        """Close the program's standard input after what was fed."""
        self._input.put(None)

    def kill(self) -> None:
        """End the program."""
        self._killed.set()
        if self._process is not None:
            self._process.kill()

    def _run(self) -> None:
        try:
            process = self._process = self._start()
        except (NetlabError, OSError) as error:
            self._deliver(ChannelEnd(None, connected=False, stderr=str(error)))
            return

        def write() -> None:
            with suppress(OSError, ValueError):
                while (data := self._input.get()) is not None:
                    process.write(data)
                process.close_input()

        threading.Thread(target=write, daemon=True).start()
        if self._killed.is_set():
            process.kill()
        with suppress(OSError, ValueError):
            while part := process.read():
                self._deliver(part)
        status, connected = process.wait(END_S), process.is_connected()
        self._deliver(ChannelEnd(status, connected, process.stderr_tail()))
        process.kill()
        self._input.put(None)


class AgentChannel:
    """An agent of this worker, as another process sees it: request lines in, records out. The agent
    is shared: the channel answers greetings and heartbeats itself, and gives each request an own
    id.
    """

    def __init__(self, agent: Agent, deliver: Deliver, on_quit: Callable[[], None] | None) -> None:
        """``on_quit`` is called when the requester ends the agent."""
        self._agent = agent
        self._deliver = deliver
        self._on_quit = on_quit
        self._rest = b""
        self._ids: dict[str, str] = {}
        """The requester's id of a running test or program → the agent's."""
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def feed(self, data: bytes) -> None:
        """Take request lines. The last line may be incomplete until the next call."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lines.put(line)

    def close_input(self) -> None:
        """End the channel. The agent stays for this worker's run."""
        self._lines.put(None)

    kill = close_input

    def _run(self) -> None:
        # A host that takes no input delays the requests to this host only.
        while (line := self._lines.get()) is not None:
            words = line.decode("ascii", "replace").split()
            if len(words) > 1:
                self._request(*words)
        self._end(ChannelEnd(0, connected=True, stderr=""))

    def _request(self, request_id: str, verb: str, *words: str) -> None:
        if self._agent.gone:
            self._lose(self._agent.why_gone)
        elif verb == "hello":
            self._answer(request_id, self._agent.hello)
        elif verb == "heartbeat":
            self._answer(request_id, {"type": "heartbeat"})
        elif verb == "quit":
            self._answer(request_id, {"type": "quit"})
            self._lines.put(None)
            if self._on_quit is not None:
                self._on_quit()
        else:
            self._pass_on(request_id, verb, words)

    def _pass_on(self, request_id: str, verb: str, words: Iterable[str]) -> None:
        pairs = (word.partition("=") for word in words)
        # ``%00`` is the empty value.
        keys = {key: "" if value == "%00" else unquote(value) for key, _, value in pairs}
        if "test" in keys:
            keys["test"] = self._ids.get(keys["test"], keys["test"])

        def answered(pending: Pending, record: Mapping[str, Any]) -> None:
            if record["type"] == GONE:
                self._lose(str(record["detail"]))
                return
            if record["type"] not in STREAMING:
                self._ids.pop(request_id, None)
            self._answer(request_id, record)

        pending = self._agent.start(verb, inbox=answered, **keys)
        if verb in TESTS | PROGRAMS:
            self._ids[request_id] = pending.id

    def _answer(self, request_id: str, record: Mapping[str, Any]) -> None:
        """Send a record in the form of the protocol: ``type`` and ``id`` come first."""
        rest = {key: value for key, value in record.items() if key not in ("type", "id")}
        named = {"type": record["type"], "id": request_id, **rest}
        self._deliver(json.dumps(named, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    def _lose(self, sentence: str) -> None:
        self._end(ChannelEnd(None, connected=self._agent.died, stderr=sentence))

    def _end(self, ended: ChannelEnd) -> None:
        if self._ended.acquire(blocking=False):
            self._deliver(ended)


WAIT_S = 2.0
"""Longest wait of one call that takes what has arrived; each call renews the lease."""
BATCH_MOST = 256
"""Maximum number of writes that one call carries."""


class _Calls(Protocol):
    """Calls of functions of ``worker`` at one worker. Each raises an exception if it is lost."""

    def write(self, requester: str, writes: Sequence[tuple[Any, ...]]) -> None: ...
    def take(self, requester: str, wait_s: float) -> Sequence[tuple[str, Delivery]]: ...


class Relay:
    """All channels from this process to one worker. Threads may share the object."""

    def __init__(self, calls: _Calls, requester: str, label: str) -> None:
        """``requester``: this process, as the worker names it; ``label``: the worker, in words."""
        self.label = label
        self.why_lost: str | None = None
        self._calls = calls
        self._requester = requester
        self._numbers = itertools.count(1)
        self._channels: dict[str, _RelayedProcess] = {}
        self.totals: dict[str, Callable[[SoFar], None]] = {}
        """Token of a trial's order → what takes the totals of the trial."""
        self._writes: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._closed = False
        self._heard_at_s = time.monotonic()
        threading.Thread(target=self._send, daemon=True).start()
        threading.Thread(target=self._take, daemon=True).start()

    @property
    def silent_s(self) -> float:
        """Time since the worker answered last."""
        return time.monotonic() - self._heard_at_s

    def start(self, host_name: str, argv: Sequence[str] | None) -> _RelayedProcess:
        """Start a program on a host of the worker; ``argv`` ``None``: use the host's agent."""
        name = str(next(self._numbers))
        process = _RelayedProcess(self, name)
        with self._guard:
            if self.why_lost is not None:
                raise HostGone(f"{host_name}: {self.why_lost}")
            self._channels[name] = process
        self.write("open", name, host_name, argv)
        return process

    def write(self, *words: Any) -> None:
        """Send one write; without effect if the worker is lost."""
        self._writes.put(words)

    def forget(self, name: str) -> None:
        """Drop a channel."""
        with self._guard:
            self._channels.pop(name, None)

    def lose(self, reason: str) -> None:
        """End every channel: the worker is lost."""
        with self._guard:
            if self.why_lost is not None:
                return
            self.why_lost = reason
            channels = list(self._channels.values())
        self._writes.put(None)
        for channel in channels:
            channel.arrive(ChannelEnd(None, connected=False, stderr=reason))

    def close(self) -> None:
        """End the relay because the run ends."""
        self._closed = True
        self.lose("the run is ending")

    def _send(self) -> None:
        while (first := self._writes.get()) is not None:
            batch = [first]
            while len(batch) < BATCH_MOST and not self._writes.empty():
                words = self._writes.get()
                if words is None:
                    return
                batch.append(words)
            try:
                self._calls.write(self._requester, batch)
            except Exception as error:
                self._break(error)
                return

    def _take(self) -> None:
        while self.why_lost is None:
            try:
                items = self._calls.take(self._requester, WAIT_S)
            except Exception as error:
                self._break(error)
                return
            self._heard_at_s = time.monotonic()
            for name, item in items:
                if isinstance(item, Totals):
                    if (take := self.totals.get(item.token)) is not None:
                        take(item.so_far)
                elif (channel := self._channels.get(name)) is not None:
                    channel.arrive(item)

    def _break(self, error: Exception) -> None:
        if not self._closed:
            self.lose(loss(self.label, error))


def loss(label: str, error: Exception) -> str:
    """A sentence about the loss of the worker ``label``, with the reason that it gave, if any."""
    is_connection = isinstance(error, OSError) or type(error).__module__.startswith("distributed")
    reason = "" if is_connection or not str(error).strip() else f" ({first_line(error)})"
    return f"its worker {label} is lost{reason}"


def first_line(error: Exception) -> str:
    """The first line of an error's message, or the error's class if it has no message."""
    lines = str(error).strip().splitlines()
    return excerpt(lines[0], 200) if lines else type(error).__name__


class _RelayedProcess(Process):
    """A program or an agent at another worker."""

    def __init__(self, relay: Relay, name: str) -> None:
        self._relay = relay
        self._name = name
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._end: ChannelEnd | None = None
        self._done = threading.Event()

    def arrive(self, item: bytes | ChannelEnd) -> None:
        """Take output of the program, or its end."""
        if isinstance(item, bytes):
            self._arrived.put(item)
            return
        if not self._done.is_set():
            self._end = item
            self._done.set()
            self._arrived.put(b"")

    def write(self, data: bytes) -> None:
        if self._done.is_set():
            raise OSError(self.stderr_tail() or "the program has ended")
        self._relay.write("data", self._name, data)

    def read(self) -> bytes:
        part = self._arrived.get()
        if not part:
            self._arrived.put(b"")  # for the next call
        return part

    def stderr_tail(self) -> str:
        return "" if self._end is None else self._end.stderr

    def close_input(self) -> None:
        self._relay.write("close-input", self._name)

    def wait(self, timeout_s: float) -> int | None:
        self._done.wait(timeout_s)
        return None if self._end is None else self._end.status

    def is_connected(self) -> bool:
        return self._end is None or self._end.connected

    def kill(self) -> None:
        self._relay.write("kill", self._name)
        self._relay.forget(self._name)
        self.arrive(ChannelEnd(None, connected=False, stderr=self._relay.why_lost or ""))


class RelayedTransport(HeldOpen[_RelayedProcess]):
    """The connection to a host through a worker."""

    def __init__(self, relay: Relay, host_name: str) -> None:
        super().__init__(_RelayedProcess.kill, f"{host_name}: the connection was closed")
        self._relay = relay
        self._host_name = host_name

    def start(self, argv: Sequence[str] | None) -> _RelayedProcess:
        """Start a program; ``None``: use the agent that the worker has there."""
        self.check()
        process = self._relay.start(self._host_name, argv)
        self.add(process)
        return process


_WITH_AGENTS = {"server", "client", "window", "participant", "captures", "observed"}
PLAIN = tuple(field.name for field in fields(Ends) if field.name not in _WITH_AGENTS)
"""Fields of ``Ends`` that are plain data."""
OF_WINDOW = ("start_ns", "open_ns", "close_ns", "trials")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOrder:
    """One attempt of a trial at one worker."""

    run: str
    """Token of the session of the run; a worker that does not know it measures nothing."""
    token: str
    """Token of this attempt. The run discards a record with any other token."""
    trial: Trial
    attempt: int
    hosts: Mapping[str, Host]
    """Name → each host with an agent that the trial uses."""
    workers: Mapping[str, str]
    """Name of such a host → address of its worker."""
    server: str | None
    """Name of the server's host; ``None`` if it runs no agent."""
    client: str
    plain: Mapping[str, Any]
    """The fields ``PLAIN`` of the trial's ``Ends``."""
    window: Mapping[str, Any] | None
    """The common window of several trials by the clock of the run's own machine: ``OF_WINDOW``, and
    ``offsets`` of the server's and of the client's clock from that clock."""
    observed: tuple[str, ...] = ()

    def ends(self, agent_of: Callable[[str], Agent], worker: str) -> Ends:
        """The two ends of the trial, with agents of ``worker``. HostGone if a host is lost."""
        server = None if self.server is None else agent_of(self.server)
        client = agent_of(self.client)
        window: CommonWindow | None = None
        if self.window is not None and server is not None:
            agents = (server, client)
            # An exchange with another worker's agent takes too long before the window opens.
            drift_offsets = [
                agent.clock_offset() if self.workers[agent.host.name] == worker else None
                for agent in agents
            ]
            window = CommonWindow(**self.window, agents=agents, drift_offsets=drift_offsets)
        observed = tuple(map(agent_of, self.observed))
        return Ends(server, client, window=window, observed=observed, **self.plain)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of an order."""

    token: str
    outcome: Literal["record", "host-gone", "defect"]
    text: str
    """The record as JSON, the sentence about the lost host, or the traceback of a defect."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What became of the request to open an agent."""

    error: str = ""
    """Name of the error's class in ``netlab.errors``; empty if the agent is open."""
    sentence: str = ""
    probe_path: str = ""
    events: tuple[str, ...] = ()


def order_of(
    trial: Trial, attempt: int, ends: Ends, worker_of: Callable[[str], str], **tokens: str
) -> TrialOrder:
    """The order of a trial whose ends the run knows; ``worker_of``: host's name → worker."""
    server, client, common = ends.server, ends.client, ends.window
    agents = [agent for agent in (server, client, *ends.observed) if agent is not None]
    hosts = {agent.host.name: agent.host for agent in agents}
    window: dict[str, Any] | None = None
    if common is not None and server is not None and common.knows(server, client):
        window = {name: getattr(common, name) for name in OF_WINDOW}
        window["offsets"] = common.offset_of(server), common.offset_of(client)
    values = {name: getattr(ends, name) for name in PLAIN}
    return TrialOrder(
        **tokens,
        trial=trial,
        attempt=attempt,
        hosts=hosts,
        workers={name: worker_of(name) for name in hosts},
        server=None if server is None else server.host.name,
        client=client.host.name,
        # A mapping may be a view that cannot be sent.
        plain={k: dict(v) if isinstance(v, Mapping) else v for k, v in values.items()},
        window=window,
        observed=tuple(agent.host.name for agent in ends.observed),
    )
