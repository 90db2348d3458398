"""Captures frames on a host during an exchange: tcpdump runs there, its capture is read here.

netlab installs nothing and gives itself no rights: if tcpdump is missing or is not allowed to
capture, there is no capture. On a remote host tcpdump runs under `timeout`, so that it ends after a
lost connection.
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
from netlab.store.files import write_private

READY_S = 5.0
"""Time for tcpdump to begin to listen."""
QUIET_S = 0.2
"""If no byte arrives for this long, the capture is complete."""
LAST_S = 2.0
"""Time limit for the last frames to arrive."""
LIFE_S = 60
"""Time after which tcpdump on a remote host ends by itself."""
KEPT_BYTES = 96
"""Bytes kept of each frame: its headers."""
CAPTURE_MOST_BYTES = 1 << 22
"""Maximum length of a capture; later bytes are dropped."""
DEVICE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
"""Interfaces whose names need no quoting in any shell."""


class NoCapture(Exception):
    """Nothing was captured; the message says why."""


class Capture:
    """A running tcpdump and the capture that it writes."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pcap = bytearray()
        self._heard_at = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_listening(self, host: str) -> None:
        """Wait until tcpdump captures; NoCapture with tcpdump's last message if it does not."""
        give_up = time.monotonic() + READY_S
        while "listening on" not in self._process.stderr_tail():
            status = self._process.wait(0.0)
            if status is not None or time.monotonic() > give_up:
                lines = self._process.stderr_tail().splitlines() or ["no answer"]
                raise NoCapture(f"{host}: tcpdump does not capture: {lines[-1][:200]}")
            time.sleep(0.01)

    def finish(self) -> bytes:
        """Wait for the last frames, end tcpdump and return the capture."""
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


def capture_during(
    agent: Agent, source: str, destination: str, during: Callable[[], None]
) -> bytes:
    """The frames from ``source`` to ``destination`` on ``agent``'s host during a call, as pcap.

    Raises NoCapture if the host does not allow it, and any error of ``during``.
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
    """The tcpdump command for a host; NoCapture if it has no tcpdump or no known interface."""
    host = agent.host
    if host.os == "W":
        raise NoCapture(f"{host.name}: Windows has no tcpdump")
    device = str(agent.facts(to=source).get("route_interface", ""))
    if not DEVICE.fullmatch(device):
        raise NoCapture(f"{host.name}: its system does not report which interface the traffic uses")
    limit = [] if host.local else ["timeout", str(LIFE_S)]
    from_source = ["src", "host", source.partition("%")[0]]
    to_destination = ["dst", "host", destination.partition("%")[0]]
    output = ["--immediate-mode", "-U", "-s", str(KEPT_BYTES), "-w", "-"]
    frames = [*from_source, "and", *to_destination]
    return [*limit, "tcpdump", "-i", device, "-n", "-p", *output, *frames]


def of_frames(prefix: str, pcap: bytes) -> dict[str, Value]:
    """Lengths of the captured frames and the number of each; NoCapture for an invalid capture."""
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
    """Write a capture into a folder, which is created if missing; StoreError if that fails."""
    write_private(folder.parent, folder.name, name, pcap)
