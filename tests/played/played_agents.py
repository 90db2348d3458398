"""Agents that are played in this process: netlab's own ``Agent`` over a transport without a host.

What an agent says is delivered before the request that it answers has been written, so that a clock
whose time passes by itself is never ahead of an answer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from advanced_clock import BEGIN_NS, AdvancedClock, advanced
from fake_agent import Ended, FakeAgent

from netlab import clock
from netlab.experiment.hosts import Host
from netlab.remote import agent as room
from netlab.remote.agent import Agent, Beat
from netlab.version import VERSION


class PlayedProcess:
    """The agent's program: what is written to it is answered at once."""

    def __init__(self, knobs: Sequence[str], **more: Any) -> None:
        self.lines: list[str] = []
        """All requests."""
        self.is_stopped = False
        """It takes no input, as after SIGSTOP."""
        self.is_stuck = threading.Event()
        """A write waits for it."""
        self._changed = threading.Condition()
        self._said: deque[bytes] = deque()
        self._warnings = ""
        self._status: int | None = None
        self._reader: threading.Thread | None = None
        self._reader_waits = False
        """All output has been read, and the reader waits for more."""
        self._rest = b""
        self._fake = FakeAgent(
            knobs,
            self._say,
            self._warn,
            version=VERSION,
            sleep=clock.sleep,
            monotonic_ns=clock.monotonic_ns,
            **more,
        )
        self._fake.begin()

    def _say(self, data: bytes) -> None:
        with self._changed:
            self._said.append(data)
            self._changed.notify_all()

    def _warn(self, text: str) -> None:
        self._warnings += text

    def _end(self, status: int) -> None:
        with self._changed:
            if self._status is None:
                self._status = status
            self._changed.notify_all()

    def write(self, data: bytes) -> None:
        if self.is_stopped:
            self.is_stuck.set()
            with self._changed:
                self._changed.wait_for(lambda: self._status is not None)
        if self._status is not None:
            raise BrokenPipeError("it has ended")
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self.lines.append(line.decode())
            try:
                self._fake.answer(line.decode())
            except Ended as ended:
                self._end(ended.status)
                if self._reader is not None:
                    self._reader.join()
        with self._changed:
            if threading.current_thread() is not self._reader:
                self._changed.wait_for(self._is_heard)

    def _is_heard(self) -> bool:
        return self._status is not None or (self._reader_waits and not self._said)

    def read(self) -> bytes:
        with self._changed:
            self._reader = threading.current_thread()
            if self._fake.endless is not None and self._status is None:
                return self._fake.endless
            if not self._said:
                self._reader_waits = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._said or self._status is not None)
            self._reader_waits = False
            return self._said.popleft() if self._said else b""

    def stderr_tail(self) -> str:
        return self._warnings.strip()

    def close_input(self) -> None:
        self._end(0)

    def wait(self, timeout_s: float) -> int | None:
        del timeout_s
        return self._status

    def is_connected(self) -> bool:
        return True

    def kill(self) -> None:
        self._end(-9)


class PlayedTransport:
    """A connection to nothing."""

    def __init__(self) -> None:
        self.closed = False

    def start(self, argv: Sequence[str]) -> PlayedProcess:
        raise AssertionError(argv)

    def close(self) -> None:
        self.closed = True


class HeartbeatsByHand:
    """The heartbeats of agents, which beat when the test says so."""

    def __init__(self) -> None:
        self._beats: list[Beat] = []

    def add(self, beat: Beat, after_s: float) -> None:
        del after_s
        self._beats.append(beat)

    def beat(self) -> None:
        """Look at each agent once."""
        for beat in self._beats:
            beat(clock.monotonic())


class PlayedAgents:
    """Starts agents with knobs of fake_agent.py; the test's clock passes by itself."""

    def __init__(self, test_clock: AdvancedClock, heartbeats: HeartbeatsByHand) -> None:
        self.clock = test_clock
        self.began_ns = BEGIN_NS
        self.heartbeats = heartbeats
        self.processes: list[PlayedProcess] = []
        self._agents: list[Agent] = []

    def __call__(
        self,
        *knobs: str,
        name: str = "fake",
        machine: str | None = None,
        os: str = "L",
        **more: Any,
    ) -> Agent:
        process = PlayedProcess(knobs, **more)
        host = Host(name=name, os=os, local=True, machine=machine)
        agent = Agent(host, PlayedTransport(), process)
        self.processes.append(process)
        self._agents.append(agent)
        return agent

    def greeted(self, *knobs: str, **more: Any) -> Agent:
        """The same, greeted."""
        agent = self(*knobs, **more)
        agent.greet(None)
        return agent

    def release(self) -> None:
        for agent in self._agents:
            agent.release()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayedAgents]:
    heartbeats = HeartbeatsByHand()
    monkeypatch.setattr(room, "HEARTBEATS", heartbeats)
    with advanced() as test_clock:
        agents = PlayedAgents(test_clock, heartbeats)
        yield agents
        agents.release()
