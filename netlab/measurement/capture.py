"""Frames captured on a host while something passes: tcpdump there, its capture read here.

Nothing is installed and no rights are taken: where tcpdump is missing or may not capture, that is
the answer. On a remote host it runs under `timeout`, so that none stays behind a lost connection.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from netlab.errors import HostError, HostGone
from netlab.experiment.records import Value
from netlab.measurement.pcap import frame_lengths
from netlab.remote.agent import Agent
from netlab.remote.transport import Process
from netlab.store.files import keep_inside

READY_S = 5.0
"""What tcpdump may take until it listens."""
QUIET_S = 0.2
"""Without a further byte for this long, all that passed has come."""
LAST_S = 2.0
"""What the last frames may take, at most."""
LIFE_S = 60
"""After which a tcpdump on a remote host ends by itself."""
KEPT_BYTES = 96
"""Of each frame: its headers."""
CAPTURE_MOST_BYTES = 1 << 22
"""Of a capture; whatever comes after is dropped."""
DEVICE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
"""Interfaces whose names need no quoting in any shell."""


class NoCapture(Exception):
    """Why nothing was captured: a sentence."""


class Capture:
    """What tcpdump prints, gathered while it runs."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pcap = bytearray()
        self._heard_at = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_listening(self, host: str) -> None:
        """Until it captures; NoCapture with its last words where it does not."""
        give_up = time.monotonic() + READY_S
        while "listening on" not in self._process.stderr_tail():
            status = self._process.wait(0.0)
            if status is not None or time.monotonic() > give_up:
                said = self._process.stderr_tail().splitlines() or ["no answer"]
                raise NoCapture(f"{host}: tcpdump does not capture: {said[-1][:200]}")
            time.sleep(0.01)

    def finish(self) -> bytes:
        """The capture, once nothing more comes."""
        give_up = time.monotonic() + LAST_S
        self._heard_at = time.monotonic()
        while time.monotonic() < min(give_up, self._heard_at + QUIET_S):
            time.sleep(0.01)
        self.end()
        return bytes(self._pcap)

    def end(self) -> None:
        """End tcpdump. Safe to call again."""
        self._process.kill()
        self._reader.join(1.0)

    def _read(self) -> None:
        try:
            while part := self._process.read():
                self._heard_at = time.monotonic()
                if len(self._pcap) < CAPTURE_MOST_BYTES:
                    self._pcap += part
        except (OSError, ValueError):
            return


def captured(agent: Agent, source: str, destination: str, during: Callable[[], None]) -> bytes:
    """The frames from one address to another that pass ``agent``'s host during a call, as pcap.

    Raises NoCapture where the host lets nobody capture; what ``during`` raises goes on.
    """
    try:
        process = agent.start_beside(_words(agent, source, destination))
    except HostGone:
        raise
    except HostError as error:
        raise NoCapture(str(error)) from None
    capture = Capture(process)
    try:
        capture.await_listening(agent.host.name)
        during()
        return capture.finish()
    finally:
        capture.end()


def _words(agent: Agent, source: str, destination: str) -> list[str]:
    """The command; NoCapture where the host cannot be asked for it."""
    host = agent.host
    if host.os == "W":
        raise NoCapture(f"{host.name}: Windows has no tcpdump")
    device = str(agent.facts(to=source).get("route_interface", ""))
    if not DEVICE.fullmatch(device):
        raise NoCapture(f"{host.name}: its system does not say which interface the traffic takes")
    limit = [] if host.local else ["timeout", str(LIFE_S)]
    sent = ["src", "host", source.partition("%")[0]]
    taken = ["dst", "host", destination.partition("%")[0]]
    output = ["--immediate-mode", "-U", "-s", str(KEPT_BYTES), "-w", "-"]
    return [*limit, "tcpdump", "-i", device, "-n", "-p", *output, *sent, "and", *taken]


def of_frames(prefix: str, pcap: bytes) -> dict[str, Value]:
    """How long the captured frames were, and how many of each length; NoCapture for no capture."""
    try:
        counts = Counter(frame_lengths(pcap))
    except ValueError as error:
        raise NoCapture(str(error)) from None
    lengths = sorted(counts)
    return {
        f"{prefix}frame_bytes": lengths,
        f"{prefix}frames": [counts[length] for length in lengths],
    }


def keep(folder: Path, name: str, pcap: bytes) -> None:
    """Write a capture into a folder, which is made where it is missing; StoreError if refused."""
    keep_inside(folder.parent, folder.name, name, pcap)
