"""The path MTU between two hosts: whether it is below the MTU of the sender's interface.

The path MTU may be below the MTU of both interfaces (a switch without jumbo frames, a tunnel). If a
router reports it to the sender's system (ICMP), TCP and messages that may be fragmented continue in
shorter packets. If none does, each way to send a message is tried: whole, in fragments, over TCP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlab import ethernet
from netlab.errors import ProbeError
from netlab.ethernet import IpVersion
from netlab.kinds import PayloadSearch
from netlab.kinds.groups import SentMessages
from netlab.kinds.payload_search.limit_search import Limit, SizeTry, find_limit
from netlab.kinds.payload_search.settings import LEAST_MESSAGE_BYTES
from netlab.measurement.conversation import can
from netlab.measurement.ends import Ends
from netlab.measurement.payload_search import DOUBTS, Direction, whole_messages

USUAL_MTU_BYTES = (1500, 1504, 1450, 1400, 1492, 1420, 1476, 1480, 1280, 4470, 9000)
"""MTUs that are tried first: Ethernet, VXLAN, PPPoE, WireGuard, GRE, least of IPv6."""

FIRST_TIMEOUT_S = 1.0
"""Timeout of a message before the round-trip time is known."""
ROUND_TRIPS, LEAST_TIMEOUT_S = 4, 0.1
"""Timeout of a message in longest round trips so far, and its minimum in seconds."""

TCP_S = 3.0
"""Time for a dropped segment: Linux with tcp_mtu_probing then sends shorter ones."""

WITHIN_S = 10.0
"""Time limit of the search in one direction; a longer search has no result."""

_MSS = "tcp_end_snd_mss"
PIECES_BYTES = 1000
"""A UDP message that is this much longer than the longest packet is sent in two packets."""


@dataclass(frozen=True, slots=True)
class NarrowPath:
    """A direction whose path MTU is below the MTU of the sender's interface."""

    sender: str
    receiver: str
    sender_address: str
    receiver_address: str
    mtu_bytes: int
    """Longest IP packet that passes."""
    interface_mtu_bytes: int
    is_reported: bool
    """Whether the sender's system knows this path MTU: from a router, or from its own routes."""
    whole_passes: bool
    """Whether a UDP message that fills the interface's MTU arrives if it may be fragmented."""
    pieces_pass: bool
    """Whether a longer UDP message arrives, which the sender's system fragments."""
    segments_pass: bool
    """Whether TCP's longest segments arrive, or shorter ones in their place."""

    @property
    def sentence(self) -> str:
        """The path MTU, and whether the sender's system knows it."""
        unknown, known = "no router reports this limit", "the sender's system knows this limit"
        knowledge = known if self.is_reported else unknown
        return (
            f"{self.sender}→{self.receiver}: packets of up to {self.mtu_bytes} bytes pass "
            f"({self.sender_address} to {self.receiver_address}), but the sender's interface has "
            f"an MTU of {self.interface_mtu_bytes}; {knowledge}"
        )

    def stops(self, messages: SentMessages, ip_version: int) -> bool:
        """Whether the messages of an end are too long for the path and nothing shortens them."""
        most = messages.message_bytes
        if messages.protocol == "TCP":
            headers_bytes = (
                ethernet.IP_BYTES[ip_version] + ethernet.TCP_BYTES + ethernet.TIMESTAMPS_BYTES
            )
            return not self.segments_pass and (
                most is None or most + headers_bytes > self.mtu_bytes
            )
        packet_bytes = (most or 0) + ethernet.IP_BYTES[ip_version] + ethernet.UDP_BYTES
        if packet_bytes <= self.mtu_bytes:
            return False
        if messages.whole:
            return True
        fits_interface = packet_bytes <= self.interface_mtu_bytes
        return not (self.whole_passes if fits_interface else self.pieces_pass)


def narrow_ways(
    ends: Ends, ip_version: IpVersion, facts: Sequence[Mapping[str, Any] | None] = (None, None)
) -> tuple[NarrowPath, ...]:
    """Each of the two directions whose path MTU is below the MTU of the sender's interface.

    ``facts``: of the server and the client with their routes, if known. A direction that cannot be
    checked is left out, as when its sender cannot forbid fragments. Raises HostGone.
    """
    setup = PayloadSearch(protocol="UDP", ip_version=ip_version, timeout_s=FIRST_TIMEOUT_S)
    of_server, of_client = facts
    directions = Direction(setup, ends, of_client), Direction(setup, ends.reversed(), of_server)
    return tuple(way for way in map(_narrow, directions) if way is not None)


def _narrow(path: Direction) -> NarrowPath | None:
    if not can(path.ends.client, "dont-fragment"):
        return None
    version = path.setup.ip_version
    interface_mtu_bytes = path.interface_mtu_bytes()
    if interface_mtu_bytes is None:
        return None
    headers_bytes = ethernet.IP_BYTES[version] + ethernet.UDP_BYTES
    most_bytes = min(interface_mtu_bytes - headers_bytes, ethernet.MAX_DATAGRAM_BYTES[version])
    if most_bytes <= LEAST_MESSAGE_BYTES["UDP"]:
        return None
    try:
        limit = _limit_of(path, interface_mtu_bytes, most_bytes)
    except ProbeError:
        return None  # UDP does not pass: the check of the protocol, or each trial, reports this
    if limit is None:
        return None
    mtu_bytes = limit.message_bytes + headers_bytes
    return NarrowPath(
        path.ends.client.host.name,
        path.ends.agent_of_server.host.name,
        *path.addresses,
        mtu_bytes=mtu_bytes,
        interface_mtu_bytes=interface_mtu_bytes,
        is_reported=any(size_try.evidence == "icmp" for size_try in limit.tries),
        whole_passes=_passes(path, most_bytes),
        pieces_pass=_passes(
            path, min(most_bytes + PIECES_BYTES, ethernet.MAX_DATAGRAM_BYTES[version])
        ),
        segments_pass=_segments_pass(path, mtu_bytes, interface_mtu_bytes),
    )


def _limit_of(path: Direction, interface_mtu_bytes: int, most_bytes: int) -> Limit | None:
    """The longest message that passes; ``None`` if the largest does or it does not last."""
    attempt = whole_messages(path, interface_mtu_bytes)
    if attempt(most_bytes).passed:
        return None  # as on most paths, with one exchange
    path.exchange(LEAST_MESSAGE_BYTES["UDP"])
    rtt_ns = path.results[LEAST_MESSAGE_BYTES["UDP"]][0].get("rtt_max_ns", 0)
    timeout_s = min(FIRST_TIMEOUT_S, max(LEAST_TIMEOUT_S, ROUND_TRIPS * rtt_ns / 1e9))
    path.setup = replace(path.setup, timeout_s=timeout_s)
    headers_bytes = ethernet.IP_BYTES[path.setup.ip_version] + ethernet.UDP_BYTES
    limit = find_limit(
        _within(WITHIN_S, most_bytes, attempt),
        least_bytes=LEAST_MESSAGE_BYTES["UDP"],
        most_bytes=most_bytes,
        guesses=[most_bytes, *(mtu - headers_bytes + n for mtu in USUAL_MTU_BYTES for n in (0, 1))],
    )
    # The limit is checked again: a short outage, such as of a loose cable, must not make each cell
    # with longer messages impossible.
    longest_bytes = limit.message_bytes
    lasts = longest_bytes < most_bytes and attempt(longest_bytes).passed
    return limit if lasts and not attempt(longest_bytes + 1).passed else None


def _within(
    seconds: float, most_bytes: int, attempt: Callable[[int], SizeTry]
) -> Callable[[int], SizeTry]:
    """``attempt`` with a time limit. A lost largest message is sent again: no search follows."""
    give_up = time.monotonic() + seconds

    def limited(message_bytes: int) -> SizeTry:
        for _ in range(DOUBTS if message_bytes == most_bytes else 0):
            size_try = attempt(message_bytes)
            if size_try.passed or size_try.evidence != "timeout":
                return size_try
        if time.monotonic() > give_up:
            detail = f"the path MTU was not found within {seconds:g} s"
            raise ProbeError("", "deadline", detail=detail)
        return attempt(message_bytes)

    return limited


def _passes(path: Direction, message_bytes: int) -> bool:
    """Whether a message that may be fragmented arrives. The sender may know the path MTU by now."""
    for _ in range(1 + DOUBTS):
        try:
            path.exchange(message_bytes, whole=False)
        except ProbeError:
            continue
        return True
    return False


def _segments_pass(path: Direction, mtu_bytes: int, interface_mtu_bytes: int) -> bool:
    over = path.ends.reversed()
    far_mtu_bytes = Direction(path.setup, over).interface_mtu_bytes()
    if min(interface_mtu_bytes, far_mtu_bytes or interface_mtu_bytes) <= mtu_bytes:
        return True  # the receiver announces a shorter MSS, whose segments pass
    tcp = Direction(replace(path.setup, protocol="TCP", timeout_s=TCP_S), path.ends)
    least_bytes = LEAST_MESSAGE_BYTES["TCP"]
    try:
        tcp.exchange(least_bytes)
        mss_bytes = [result[_MSS] for result in tcp.results[least_bytes] if _MSS in result]
        # Only one segment: data that a network card splits may be dropped for other reasons.
        tcp.exchange(max([least_bytes, *mss_bytes[:1]]) if mss_bytes else interface_mtu_bytes)
    except ProbeError:
        return False
    return True
