"""A relay: uses programs and agents at another worker, over the scheduler.

To the rest of netlab, a relayed host is a transport as any other: bytes to a program and bytes from
it. Two threads serve all channels to one worker: one sends what was written, the other takes what
has arrived. Controllers of two sites therefore need to reach the scheduler only.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from netlab.errors import HostGone
from netlab.remote.transport import Process
from netlab.runner.cluster.channels import ChannelEnd, Delivery, Totals
from netlab.terminal import excerpt

WAIT_S = 2.0
"""Longest wait of one call that takes what has arrived; each call renews the lease."""
BATCH_MOST = 256
"""Maximum number of writes that one call carries."""


class Calls(Protocol):
    """Calls of functions at one worker. Each raises an exception if the worker is lost."""

    def write(self, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
        """Carry out writes: see ``sessions.relay_write``."""

    def take(self, requester: str, wait_s: float) -> Sequence[tuple[str, Delivery]]:
        """What the channels have delivered: see ``sessions.relay_take``."""


class Relay:
    """All channels from this process to one worker. Threads may share the object."""

    def __init__(self, calls: Calls, requester: str, label: str) -> None:
        """``requester``: the name of this process for the worker; ``label``: the worker in words
        of messages.
        """
        self.label = label
        self.why_lost: str | None = None
        self._calls = calls
        self._requester = requester
        self._numbers = itertools.count(1)
        self._channels: dict[str, RelayedProcess] = {}
        self._totals: dict[str, Callable[[Totals], None]] = {}
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

    def start(self, host_name: str, argv: Sequence[str] | None) -> RelayedProcess:
        """Start a program on a host of the worker; ``argv`` ``None``: use the host's agent."""
        name = str(next(self._numbers))
        process = RelayedProcess(self, name)
        with self._guard:
            if self.why_lost is not None:
                raise HostGone(f"{host_name}: {self.why_lost}")
            self._channels[name] = process
        self.write("open", name, host_name, argv)
        return process

    def write(self, *words: Any) -> None:
        """Send one write; without effect if the worker is lost."""
        self._writes.put(words)

    def on_totals(self, token: str, call: Callable[[Totals], None] | None) -> None:
        """Call ``call`` with the totals of the trial whose order has this token."""
        if call is None:
            self._totals.pop(token, None)
        else:
            self._totals[token] = call

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
                    call = self._totals.get(item.token)
                    if call is not None:
                        call(item)
                    continue
                channel = self._channels.get(name)
                if channel is not None:
                    channel.arrive(item)

    def _break(self, error: Exception) -> None:
        if not self._closed:
            self.lose(loss(self.label, error))


def loss(label: str, error: Exception) -> str:
    """A sentence about the loss of the worker ``label``. An error of the connection says nothing
    that a person could use; one of the worker itself does.
    """
    is_connection = isinstance(error, OSError) or type(error).__module__.startswith("distributed")
    reason = "" if is_connection or not str(error).strip() else f" ({first_line(error)})"
    return f"its worker {label} is lost{reason}"


def first_line(error: Exception) -> str:
    """The first line of an error's message, or the error's class if it has no message."""
    lines = str(error).strip().splitlines()
    return excerpt(lines[0], 200) if lines else type(error).__name__


class RelayedProcess(Process):
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
        """See ``Process``."""
        if self._done.is_set():
            raise OSError(self.stderr_tail() or "the program has ended")
        self._relay.write("data", self._name, data)

    def read(self) -> bytes:
        """See ``Process``."""
        part = self._arrived.get()
        if not part:
            self._arrived.put(b"")  # for the next call
        return part

    def stderr_tail(self) -> str:
        """See ``Process``."""
        return "" if self._end is None else self._end.stderr

    def close_input(self) -> None:
        """See ``Process``."""
        self._relay.write("close-input", self._name)

    def wait(self, timeout_s: float) -> int | None:
        """See ``Process``."""
        self._done.wait(timeout_s)
        return None if self._end is None else self._end.status

    def is_connected(self) -> bool:
        """See ``Process``."""
        return self._end is None or self._end.connected

    def kill(self) -> None:
        """See ``Process``."""
        self._relay.write("kill", self._name)
        self._relay.forget(self._name)
        self.arrive(ChannelEnd(None, connected=False, stderr=self._relay.why_lost or ""))


class RelayedTransport:
    """The connection to a host through a worker."""

    def __init__(self, relay: Relay, host_name: str) -> None:
        self._relay = relay
        self._host_name = host_name
        self._started: list[RelayedProcess] = []
        self.closed = False

    def start(self, argv: Sequence[str] | None) -> RelayedProcess:
        """Start a program; ``None``: use the agent that the worker has there."""
        if self.closed:
            raise HostGone(f"{self._host_name}: the connection was closed")
        process = self._relay.start(self._host_name, argv)
        self._started.append(process)
        return process

    def close(self) -> None:
        """End every program that was started. Safe to call again."""
        self.closed = True
        for process in self._started:
            process.kill()
