"""Captures frames on a host during an exchange: tcpdump runs there, and its output is read here.

netlab installs nothing and gives itself no rights: if tcpdump is missing or is not allowed to
capture, there is no capture. Source of the pcap format: draft-ietf-opsawg-pcap.
"""

from __future__ import annotations

import math
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from netlab import clock
from netlab.errors import HostError, HostGone
from netlab.measurement.ends import DEVICE
from netlab.remote.agent import Agent
from netlab.remote.transport import Process
from netlab.trial.record import Value

HEADER_BYTES = 24
PACKET_HEADER_BYTES = 16
FORMS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""First bytes of a file → byte order, and ns in a unit of its timestamps."""
ETHERNET = 1
"""Link type whose frames begin with the 14 bytes of an Ethernet header."""
RAW_IP = 101
"""Link type of frames that are IP packets, as of a TUN interface."""

_TAGS = (b"\x81\x00", b"\x88\xa8")
_IP = (b"\x08\x00", b"\x86\xdd")

READY_S = 5.0
"""Time for tcpdump to begin to listen."""
QUIET_S = 0.2
"""If no byte arrives for this long, the capture is complete."""
LAST_S = 2.0
"""Time limit for the last frames to arrive."""
LIFE_S = 60
"""Time after which tcpdump on a remote host ends by itself, also after a lost connection."""
KEPT_BYTES = 96
"""Bytes kept of each frame: its headers."""
CAPTURE_MOST_BYTES = 1 << 22
"""Maximum length of a capture; later bytes are dropped."""


class NoCapture(Exception):
    """Nothing was captured; the message says why."""


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One frame of a capture."""

    at_ns: int
    """Since 1970."""
    frame_bytes: int
    """Length on the link, with its header, without FCS."""
    kept: bytes
    link: int
    """Link type of the capture, such as ``ETHERNET``."""


def captured_frames(capture: bytes) -> Iterator[CapturedFrame]:
    """The frames of a capture in their order, without a truncated last packet.

    Raises ValueError with a sentence if the data are no capture.
    """
    order, unit_ns, link = _header(capture)
    at = HEADER_BYTES
    while at + PACKET_HEADER_BYTES <= len(capture):
        seconds, parts, kept_bytes, frame_bytes = struct.unpack_from(order + "IIII", capture, at)
        begin = at + PACKET_HEADER_BYTES
        at = begin + kept_bytes
        if at <= len(capture):
            at_ns = 10**9 * seconds + unit_ns * parts
            yield CapturedFrame(at_ns, frame_bytes, capture[begin:at], link)


def _header(capture: bytes) -> tuple[str, int, int]:
    """Byte order, ns in a unit of time, link type; ValueError if the data are no capture."""
    if capture[:4] not in FORMS or len(capture) < HEADER_BYTES:
        raise ValueError("the output of tcpdump is not a capture in the pcap format")
    order, unit_ns = FORMS[capture[:4]]
    (link,) = struct.unpack_from(order + "I", capture, 20)
    return order, unit_ns, link & 0xFFFF


def ip_packet(frame: CapturedFrame) -> bytes | None:
    """The kept part of the IP packet in a frame; ``None`` if the frame has no IP packet, or for an
    unknown link type. Up to two VLAN tags are skipped.
    """
    if frame.link == RAW_IP:
        return frame.kept
    if frame.link != ETHERNET:
        return None
    at = 12
    for _ in range(2):
        if frame.kept[at : at + 2] in _TAGS:
            at += 4
    return frame.kept[at + 2 :] if frame.kept[at : at + 2] in _IP else None


class Capture:
    """A running tcpdump and the capture that it writes."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pcap = bytearray()
        self._heard_at = clock.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_listening(self, host: str) -> None:
        """Wait until tcpdump captures; NoCapture with tcpdump's last message if it does not."""
        give_up = clock.monotonic() + READY_S
        while "listening on" not in self._process.stderr_tail():
            status = self._process.wait(0.0)
            if status is not None or clock.monotonic() > give_up:
                lines = self._process.stderr_tail().splitlines() or ["no answer"]
                # The message of tcpdump may be followed by a line with the message of libpcap.
                message = next((line for line in lines if line.startswith("tcpdump: ")), lines[-1])
                raise NoCapture(f"{host}: tcpdump does not capture: {message[:200]}")
            clock.sleep(0.01)

    def finish(self, quiet_s: float = QUIET_S, last_s: float = LAST_S) -> bytes:
        """Wait for the last frames (``QUIET_S``, ``LAST_S``), end tcpdump, return the capture."""
        give_up = clock.monotonic() + last_s
        self._heard_at = clock.monotonic()
        while clock.monotonic() < min(give_up, self._heard_at + quiet_s):
            clock.sleep(0.01)
        self.end()
        return bytes(self._pcap)

    def end(self) -> None:
        """End tcpdump. Safe to call again."""
        self._process.kill()
        self._reader.join(1.0)

    def _read(self) -> None:
        try:
            while part := self._process.read():
                self._heard_at = clock.monotonic()
                if len(self._pcap) < CAPTURE_MOST_BYTES:
                    self._pcap += part
        except (OSError, ValueError):
            return


def capture_during(
    agent: Agent, source: str, destination: str, during: Callable[[], None]
) -> bytes:
    """The frames between two addresses on ``agent``'s host while ``during`` runs, as pcap.

    Raises NoCapture if the host does not allow a capture, and any error of ``during``.
    """
    device = interface_to(agent, source)
    ends = [address.partition("%")[0] for address in (source, destination)]
    frames = ["src", "host", ends[0], "and", "dst", "host", ends[1]]
    with capturing(agent, device, ["--immediate-mode"], frames, LIFE_S) as capture:
        during()
        return capture.finish()


@contextmanager
def capturing(
    agent: Agent, device: str, options: list[str], frames: list[str], life_s: float
) -> Iterator[Capture]:
    """Start tcpdump at an interface of a host and wait until it captures; it ends with the context.
    ``frames``: the filter expression of tcpdump; ``life_s``: as ``LIFE_S``.

    Raises NoCapture with a sentence if the host does not allow a capture.
    """
    host = agent.host
    output = [*options, "-U", "-s", str(KEPT_BYTES), "-w", "-"]
    limit = [] if host.local else ["timeout", str(math.ceil(life_s))]
    try:
        words = [*limit, "tcpdump", "-i", device, "-n", "-p", *output, *frames]
        process = agent.start_beside(words)
    except HostGone:
        raise
    except HostError as error:
        raise NoCapture(str(error)) from None
    capture = Capture(process)
    try:
        capture.await_listening(host.name)
        yield capture
    finally:
        capture.end()


def interface_to(agent: Agent, address: str) -> str:
    """The interface of a host's route to an address; NoCapture if tcpdump cannot capture there."""
    host = agent.host
    if host.os == "W":
        raise NoCapture(f"{host.name}: Windows has no tcpdump")
    device = str(agent.facts(to=address).get("route_interface", ""))
    if not DEVICE.fullmatch(device):
        raise NoCapture(f"{host.name}: its system does not report which interface the traffic uses")
    return device


def of_frames(prefix: str, pcap: bytes) -> dict[str, Value]:
    """The lengths of captured Ethernet frames, with the number of frames of each length; both names
    begin with ``prefix``. Raises NoCapture for an invalid capture.
    """
    try:
        _order, _unit_ns, link = _header(pcap)
        if link != ETHERNET:
            raise ValueError(f"the capture is of link type {link}, not of Ethernet frames")
        counts = Counter(frame.frame_bytes for frame in captured_frames(pcap))
    except ValueError as error:
        raise NoCapture(str(error)) from None
    lengths = sorted(counts)
    return {
        f"{prefix}frame_bytes": lengths,
        f"{prefix}frames": [counts[length] for length in lengths],
    }
