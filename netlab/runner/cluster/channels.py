"""Channels of a worker: programs and agents that another process uses through the scheduler.

A worker is a dask worker; a requester is the process that uses its channels: the run, or another
worker. A channel carries the bytes that the requester would exchange with the program itself. An
agent is the running probe on a host (netlab/remote/agent.py).
"""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from netlab.errors import NetlabError
from netlab.remote.agent import Agent
from netlab.remote.answers import PROGRAMS, TESTS
from netlab.remote.pending import GONE, STREAMING, Pending
from netlab.remote.transport import Process

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
    """The totals of a trial so far, for the progress of the run: see ``measurement.ends.SoFar``."""

    token: str
    """Token of the trial's order."""
    flow: str
    payload_bytes: int
    elapsed_s: float
    messages: int


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
        threading.Thread(target=self._write, args=(process,), daemon=True).start()
        if self._killed.is_set():
            process.kill()
        with suppress(OSError, ValueError):
            while part := process.read():
                self._deliver(part)
        status, connected = process.wait(END_S), process.is_connected()
        self._deliver(ChannelEnd(status, connected, process.stderr_tail()))
        process.kill()
        self._input.put(None)

    def _write(self, process: Process) -> None:
        with suppress(OSError, ValueError):
            while (data := self._input.get()) is not None:
                process.write(data)
            process.close_input()


class AgentChannel:
    """An agent of this worker, as another process sees it: request lines in, records out.

    Several channels and this worker's own trials share the agent. So the channel answers greetings
    and heartbeats itself, and gives each request an id of the agent's own.
    """

    def __init__(self, agent: Agent, deliver: Deliver, on_quit: Callable[[], None]) -> None:
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
        """End the channel, as the end of its input ends an agent."""
        self._lines.put(None)

    def kill(self) -> None:
        """End the channel; the agent itself stays for this worker's run."""
        self._lines.put(None)

    def _run(self) -> None:
        # A host that takes no input delays the requests to this host only.
        while (line := self._lines.get()) is not None:
            words = line.decode("ascii", "replace").split()
            if len(words) > 1:
                self._request(words[0], words[1], dict(map(_pair_of, words[2:])))
        self._end(ChannelEnd(0, connected=True, stderr=""))

    def _request(self, request_id: str, verb: str, keys: dict[str, str]) -> None:
        if self._agent.gone:
            self._lose(self._agent.why_gone)
        elif verb == "hello":
            self._answer(request_id, self._agent.hello)
        elif verb == "heartbeat":
            self._answer(request_id, {"type": "heartbeat"})
        elif verb == "quit":
            self._answer(request_id, {"type": "quit"})
            self._lines.put(None)
            self._on_quit()
        else:
            self._pass_on(request_id, verb, keys)

    def _pass_on(self, request_id: str, verb: str, keys: dict[str, str]) -> None:
        """Pass a request to the agent under an id of the agent's own."""
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
        line = json.dumps(named, separators=(",", ":"), ensure_ascii=False)
        self._deliver(line.encode() + b"\n")

    def _lose(self, sentence: str) -> None:
        died = self._agent.died
        self._end(ChannelEnd(None, connected=died, stderr=sentence))

    def _end(self, ended: ChannelEnd) -> None:
        if self._ended.acquire(blocking=False):
            self._deliver(ended)


def _pair_of(word: str) -> tuple[str, str]:
    """Key and value of a word of a request; ``%00`` is the empty value."""
    key, _, value = word.partition("=")
    return key, "" if value == "%00" else unquote(value)
