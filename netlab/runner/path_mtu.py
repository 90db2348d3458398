"""How long a packet may be from one host to another: tried before a run, not believed.

    the longest packet that the sender's interface takes → does it arrive? → which length does

A path may carry less than the interfaces at its ends: jumbo frames into a switch without them, a
tunnel, a router that drops what is too long. Where its sender's system hears of that (ICMP), TCP
and messages that may be cut up go on in shorter packets; where nobody tells, each way in which
messages are sent is tried by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from netlab.errors import ProbeError
from netlab.ethernet import (
    IP_BYTES,
    MAX_DATAGRAM_BYTES,
    TCP_BYTES,
    TIMESTAMPS_BYTES,
    UDP_BYTES,
    IpVersion,
)
from netlab.experiment.estimate import LEAST_MESSAGE_BYTES
from netlab.experiment.feasibility import SentMessages
from netlab.experiment.kinds import PayloadSearch
from netlab.measurement.ends import Ends
from netlab.measurement.limit_search import SizeTry, find_limit
from netlab.measurement.payload_path import Direction
from netlab.measurement.payload_search import DOUBTS, whole_messages
from netlab.measurement.requests import can

USUAL_MTU_BYTES = (1500, 1504, 1450, 1400, 1492, 1420, 1476, 1480, 1280, 4470, 9000)
"""Tried first: Ethernet (with room for a tag), VXLAN, PPPoE, WireGuard, GRE, the least of IPv6."""

FIRST_TIMEOUT_S = 1.0
"""Before it is known how long a round trip takes."""
ROUND_TRIPS, LEAST_TIMEOUT_S = 4, 0.1
"""A message is given up after so many of the longest round trips seen, and not sooner."""

TCP_S = 3.0
"""For a segment that the path drops. Linux with tcp_mtu_probing sends a shorter one by then."""

WITHIN_S = 10.0
"""Of one direction: a search that takes longer shows nothing."""

_MSS = "tcp_end_snd_mss"
PIECES_BYTES = 1000
"""What a message must have beyond the longest packet to be sent in two."""


@dataclass(frozen=True, slots=True)
class NarrowWay:
    """A way on which less passes than the sender's interface takes."""

    sender: str
    """Name of its host."""
    receiver: str
    sender_address: str
    receiver_address: str
    mtu_bytes: int
    """Longest IP packet that passes."""
    interface_mtu_bytes: int
    told: bool
    """Whether the sender's system was told so: by a router, or in its own routes."""
    whole_passes: bool
    """Whether a UDP message as long as the interface takes arrives where it may be cut up."""
    pieces_pass: bool
    """Whether a longer one does, which its own system cuts up."""
    segments_pass: bool
    """Whether TCP's longest segments arrive, or shorter ones in their place."""

    @property
    def sentence(self) -> str:
        """What passes, and who knows."""
        says = "its system knows" if self.told else "nobody on the path says so"
        return (
            f"{self.sender}→{self.receiver}: packets of up to {self.mtu_bytes} bytes pass "
            f"({self.sender_address} to {self.receiver_address}), the interface has an MTU of "
            f"{self.interface_mtu_bytes}; {says}"
        )

    def stops(self, sent: SentMessages, ip_version: int) -> bool:
        """Whether what an end sends at once would be longer than what passes, and stays so."""
        most = sent.message_bytes
        if sent.protocol == "TCP":
            headers_bytes = IP_BYTES[ip_version] + TCP_BYTES + TIMESTAMPS_BYTES
            return not self.segments_pass and (
                most is None or most + headers_bytes > self.mtu_bytes
            )
        packet_bytes = (most or 0) + IP_BYTES[ip_version] + UDP_BYTES
        if packet_bytes <= self.mtu_bytes:
            return False
        if sent.whole:
            return True
        alone = packet_bytes <= self.interface_mtu_bytes
        return not (self.whole_passes if alone else self.pieces_pass)


def narrow_ways(ends: Ends, ip_version: IpVersion) -> tuple[NarrowWay, ...]:
    """Those of the two directions on which less passes than the sender's interface takes.

    Nothing of a direction whose sender cannot forbid fragments or tells no MTU, or that cannot be
    tried. Raises HostGone.
    """
    setup = PayloadSearch(protocol="UDP", ip_version=ip_version, timeout_s=FIRST_TIMEOUT_S)
    found = [_narrow(Direction(setup, each)) for each in (ends, ends.reversed())]
    return tuple(each for each in found if each is not None)


def _narrow(path: Direction) -> NarrowWay | None:
    if not can(path.ends.client, "dont-fragment"):
        return None
    version = path.setup.ip_version
    interface_mtu_bytes = path.interface_mtu_bytes()
    if interface_mtu_bytes is None:
        return None
    headers_bytes = IP_BYTES[version] + UDP_BYTES
    most_bytes = min(interface_mtu_bytes - headers_bytes, MAX_DATAGRAM_BYTES[version])
    if most_bytes <= LEAST_MESSAGE_BYTES["UDP"]:
        return None
    try:
        path.exchange(LEAST_MESSAGE_BYTES["UDP"])
        rtt_ns = path.results[LEAST_MESSAGE_BYTES["UDP"]][0].get("rtt_max_ns", 0)
        timeout_s = min(FIRST_TIMEOUT_S, max(LEAST_TIMEOUT_S, ROUND_TRIPS * rtt_ns / 1e9))
        path.setup = replace(path.setup, timeout_s=timeout_s)
        attempt = whole_messages(path, interface_mtu_bytes)
        limit = find_limit(
            _within(WITHIN_S, most_bytes, attempt),
            least_bytes=LEAST_MESSAGE_BYTES["UDP"],
            most_bytes=most_bytes,
            guesses=[most_bytes, *_usual_bytes(headers_bytes)],
        )
        if limit.message_bytes == most_bytes or not _is_still(limit.message_bytes, attempt):
            return None
    except ProbeError:
        return None  # blocked, or refused: the check of the protocol says so, or each cell
    mtu_bytes = limit.message_bytes + headers_bytes
    told = any(each.evidence == "icmp" for each in limit.tries)
    asking, answering = path.addresses
    return NarrowWay(
        sender=path.ends.client.host.name,
        receiver=path.ends.agent_of_server.host.name,
        sender_address=asking,
        receiver_address=answering,
        mtu_bytes=mtu_bytes,
        interface_mtu_bytes=interface_mtu_bytes,
        told=told,
        whole_passes=_passes(path, most_bytes),
        pieces_pass=_passes(path, min(most_bytes + PIECES_BYTES, MAX_DATAGRAM_BYTES[version])),
        segments_pass=_segments_pass(path, mtu_bytes, interface_mtu_bytes),
    )


def _usual_bytes(headers_bytes: int) -> list[int]:
    """Messages of the usual packets, each with the next longer one."""
    return [mtu - headers_bytes + more for mtu in USUAL_MTU_BYTES for more in (0, 1)]


def _within(
    seconds: float, most_bytes: int, attempt: Callable[[int], SizeTry]
) -> Callable[[int], SizeTry]:
    """The same until the time is over; the longest, on which all depends, is doubted always."""
    give_up = time.monotonic() + seconds

    def tried(message_bytes: int) -> SizeTry:
        for _ in range(DOUBTS if message_bytes == most_bytes else 0):
            found = attempt(message_bytes)
            if found.passed or found.evidence != "timeout":
                return found
        if time.monotonic() > give_up:
            raise ProbeError("", "deadline", detail=f"not found within {seconds:g} s")
        return attempt(message_bytes)

    return tried


def _is_still(limit_bytes: int, attempt: Callable[[int], SizeTry]) -> bool:
    """Whether what was found is a limit, and no moment in which nothing passed: a cable that flaps
    would make each longer cell impossible."""
    return attempt(limit_bytes).passed and not attempt(limit_bytes + 1).passed


def _passes(path: Direction, message_bytes: int) -> bool:
    """Whether a message arrives that may be cut up, now that the sender's system may know more."""
    for _ in range(1 + DOUBTS):
        try:
            path.exchange(message_bytes, whole=False)
        except ProbeError:
            continue
        return True
    return False


def _segments_pass(path: Direction, mtu_bytes: int, interface_mtu_bytes: int) -> bool:
    """Whether TCP passes with segments as long as both ends' interfaces take."""
    over = path.ends.reversed()
    far_mtu_bytes = Direction(path.setup, over).interface_mtu_bytes()
    if min(interface_mtu_bytes, far_mtu_bytes or interface_mtu_bytes) <= mtu_bytes:
        return True  # the receiver says what it takes, and that passes
    tcp = Direction(replace(path.setup, protocol="TCP", timeout_s=TCP_S), path.ends)
    least_bytes = LEAST_MESSAGE_BYTES["TCP"]
    try:
        tcp.exchange(least_bytes)
        told = [each[_MSS] for each in tcp.results[least_bytes] if _MSS in each]
        # One segment, and not more: what is cut up by a card may be dropped in other places.
        tcp.exchange(max([least_bytes, *told[:1]]) if told else interface_mtu_bytes)
    except ProbeError:
        return False
    return True
