"""Connects netlab to simulated hosts in the place of SSH: the transport, and its processes.

The agents run in a few helper processes (farm.py), so that the memory and the CPU time of this
process are those of a controller.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.cost.simulated.recorded import recorded_answers
from benchmarks.stage import ROOT
from netlab.build.binaries import local_probe
from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote.deploy import ProbePlace

ARGV = ("netprobe", "agent")
HELPERS = 4
COUNT = 20
"""Round trips of the recorded trial."""


class SimulatedProcess:
    """An agent's standard input and output: a connection to a helper."""

    def __init__(self, place: str, host: Host) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(place)
        self._ended = threading.Event()
        self.write(f"{host.name} {host.address(None)}\n".encode("ascii"))

    def write(self, data: bytes) -> None:
        """Write to its standard input."""
        self._socket.sendall(data)

    def read(self) -> bytes:
        """The next bytes of its standard output; ``b""`` at its end."""
        try:
            part = self._socket.recv(65536)
        except OSError:
            part = b""
        if not part:
            self._ended.set()
        return part

    def stderr_tail(self) -> str:
        """It prints no errors."""
        return ""

    def close_input(self) -> None:
        """Close its standard input."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end."""
        return 0 if self._ended.wait(timeout_s) else None

    def is_connected(self) -> bool:
        """The connection cannot break."""
        return True

    def kill(self) -> None:
        """End it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class SimulatedTransport:
    """A connection to one simulated host."""

    def __init__(self, place: str, host: Host) -> None:
        self._place = place
        self._host = host
        self._started: list[SimulatedProcess] = []
        self._closed = False

    def start(self, argv: Sequence[str]) -> SimulatedProcess:
        """Start its agent; there are no other programs."""
        if self._closed:
            raise HostGone(f"{self._host.name}: the connection was closed")
        if tuple(argv) != ARGV:
            raise HostError(f"{self._host.name}: cannot start {argv[0]}")
        process = SimulatedProcess(self._place, self._host)
        self._started.append(process)
        return process

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """End its agent."""
        self._closed = True
        for process in self._started:
            process.kill()


@dataclass
class Farm:
    """The helper processes."""

    sockets: list[str] = field(default_factory=list)
    binary: bytes = b""
    """The local probe, whose greeting the agents repeat."""
    helpers: list[subprocess.Popen[str]] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    """Requests by verb, after the end of the helpers."""
    flows: int = 0
    late_flows: int = 0
    """Flows whose request came after their start."""
    least_ahead_s: float | None = None
    """The shortest time from the request of a flow to its start."""

    def begin(self, folder: Path, helpers: int, count: int) -> None:
        """Record the answers of a real probe and start helpers that repeat them."""
        self.binary = local_probe().read_bytes()
        answers = folder / "answers.json"
        answers.write_text(json.dumps(recorded_answers(count)))
        for number in range(helpers):
            place = str(folder / f"agents-{number}")
            words = [sys.executable, "-m", "benchmarks.cost.simulated.farm", place, str(answers)]
            pipe = subprocess.PIPE
            helper = subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
            assert helper.stdout is not None
            helper.stdout.readline()
            self.sockets.append(place)
            self.helpers.append(helper)

    def end(self) -> None:
        """End the helpers and add up their figures."""
        for helper in self.helpers:
            last = helper.communicate("")[0].splitlines()[-1]
            figures: dict[str, Any] = json.loads(last)
            self.requests.update(figures["requests"])
            self.flows += figures["flows"]
            self.late_flows += figures["late_flows"]
            if figures["least_ahead_ns"] is not None:
                ahead_s = figures["least_ahead_ns"] / 1e9
                least_s = self.least_ahead_s
                self.least_ahead_s = ahead_s if least_s is None else min(ahead_s, least_s)

    def places(self, *_: object) -> Iterator[ProbePlace]:
        """Where the agent of a host is, in the place of ``netlab.remote.deploy.places``."""
        yield ProbePlace(ARGV, self.binary, ARGV[0])

    def connect(self, host: Host, *_: object) -> SimulatedTransport:
        """A connection to a host, in the place of ``netlab.remote.agent.connect``."""
        number = sum(host.name.encode()) % len(self.sockets)
        return SimulatedTransport(self.sockets[number], host)


@contextmanager
def simulated_hosts(folder: Path, *, helpers: int = HELPERS, count: int = COUNT) -> Iterator[Farm]:
    """Within this context, netlab connects every host of an inventory to a simulated agent."""
    farm = Farm()
    farm.begin(folder, helpers, count)
    with ExitStack() as stack:
        stack.enter_context(patch("netlab.remote.agent.connect", farm.connect))
        stack.enter_context(patch("netlab.remote.deploy.places", farm.places))
        try:
            yield farm
        finally:
            farm.end()
