"""Framing arithmetic of Ethernet: how much payload a link can carry.

Sources: IEEE 802.3 (preamble with delimiter 8 bytes, header 14, FCS 4, inter-frame gap 12, payload
of at least 46 bytes; 802.1Q tag 4), RFC 791 and RFC 8200 (IP headers, fragments in units of 8
bytes), RFC 768, RFC 9293, RFC 7323 (timestamps: 12 bytes of options in every segment).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from netlab.messages import _

Protocol = Literal["TCP", "UDP"]
IpVersion = Literal[4, 6]

PREAMBLE_BYTES = 8
HEADER_BYTES = 14
TAG_BYTES = 4
FCS_BYTES = 4
GAP_BYTES = 12
MIN_FRAME_BYTES = 64
"""From header to FCS, including a tag; shorter frames are padded to this length."""

UDP_BYTES = 8
TCP_BYTES = 20
TIMESTAMPS_BYTES = 12
IP_BYTES = {4: 20, 6: 40}
FRAGMENT_HEADER_BYTES = {4: 0, 6: 8}
"""Extra header of a fragment: IPv4 has these fields in its header already."""

MIN_MTU_BYTES = {4: 68, 6: 1280}
MAX_DATAGRAM_BYTES = {4: 65507, 6: 65527}
"""The longest UDP message: IPv4 counts its own header in the 16-bit length, IPv6 does not."""


@dataclass(frozen=True, slots=True)
class Link:
    """The link between the hosts. It determines the wire ceilings (its highest payload rates)."""

    rate_bit_per_s: float
    """Bit rate of the line at layer 1, without the overhead of its line code."""
    mtu_bytes: int
    """Of the interfaces that the tests use; through a tunnel, those of the tunnel."""
    vlan: bool = False
    """Whether frames carry an 802.1Q tag."""
    hops: int = 0
    """Routers between the hosts: a frame crosses ``hops`` + 1 cables, one after the other."""
    overhead_bytes: int = 0
    """Bytes that a tunnel adds to each IP packet, such as 60 (WireGuard over IPv4)."""

    @property
    def added_bytes(self) -> int:
        """Bytes in each frame besides IP packet, header and FCS: of the tunnel and of the tag."""
        return self.overhead_bytes + (TAG_BYTES if self.vlan else 0)

    def content(self) -> dict[str, Any]:
        """As data. A link without hops or overhead is written as before there were any."""
        later = "hops", "overhead_bytes"
        return {name: value for name, value in asdict(self).items() if value or name not in later}


def ip_version_of(settings: Mapping[str, Any]) -> IpVersion:
    """The IP version in the settings of a test; 4 if they have none."""
    return 6 if settings.get("ip_version") == 6 else 4


def above_tolerance(*, imported: bool) -> float:
    """How far clock errors alone can raise a figure above a ceiling, as a share: two crystals give
    less than 0.001; the clock of a printed table (``imported``) has hundredths of a second.
    """
    return 0.002 if imported else 0.001


def packet_wire_bytes(ip_packet_bytes: int) -> int:
    """Byte times for which an IP packet (header included, and ``added_bytes`` of the ``Link``)
    occupies the link, preamble and gap included. Raises ValueError below 1 byte.
    """
    if ip_packet_bytes < 1:
        raise ValueError(_("an IP packet of {size} bytes: it has at least 1", size=ip_packet_bytes))
    frame_bytes = max(HEADER_BYTES + ip_packet_bytes + FCS_BYTES, MIN_FRAME_BYTES)
    return PREAMBLE_BYTES + frame_bytes + GAP_BYTES


def fragments(message_bytes: int, *, mtu_bytes: int, ip_version: IpVersion = 4) -> tuple[int, ...]:
    """Sizes of the IP packets of one UDP message in bytes, headers included, in order. Every
    fragment except the last carries a multiple of 8 bytes. Raises ValueError for a message that UDP
    cannot carry and for an impossible MTU.
    """
    _check_mtu(mtu_bytes, ip_version)
    most = MAX_DATAGRAM_BYTES[ip_version]
    if not 0 <= message_bytes <= most:
        raise ValueError(
            _(
                "a UDP message of {size} bytes: IPv{version} carries 0 to {most}",
                size=message_bytes,
                version=ip_version,
                most=most,
            )
        )
    header = IP_BYTES[ip_version]
    datagram_bytes = message_bytes + UDP_BYTES
    if header + datagram_bytes <= mtu_bytes:
        return (header + datagram_bytes,)
    header += FRAGMENT_HEADER_BYTES[ip_version]
    step = (mtu_bytes - header) // 8 * 8
    full_fragments, last = divmod(datagram_bytes, step)
    return (*([header + step] * full_fragments), *([header + last] if last else []))


def best_udp_message(mtu_bytes: int, *, ip_version: IpVersion = 4) -> int:
    """The UDP message size with the highest throughput on a link, in bytes: one frame, or as many
    full fragments as possible, which share a header but waste what is no multiple of 8 bytes. The
    added bytes of a link do not change which one it is.
    """
    one_frame = mtu_bytes - IP_BYTES[ip_version] - UDP_BYTES
    header = IP_BYTES[ip_version] + FRAGMENT_HEADER_BYTES[ip_version]
    step = (mtu_bytes - header) // 8 * 8
    full_fragments = (MAX_DATAGRAM_BYTES[ip_version] + UDP_BYTES) // step
    candidates = [one_frame, full_fragments * step - UDP_BYTES]
    return max(
        candidates, key=lambda size: ceiling_share("UDP", size, mtu_bytes, ip_version=ip_version)
    )


def mss_of(mtu_bytes: int, *, ip_version: IpVersion = 4, timestamps: bool = True) -> int:
    """Payload bytes of a full TCP segment with this MTU, without other TCP options."""
    _check_mtu(mtu_bytes, ip_version)
    options = TIMESTAMPS_BYTES if timestamps else 0
    return mtu_bytes - IP_BYTES[ip_version] - TCP_BYTES - options


def has_timestamps(mss_bytes: int | None, mtu_bytes: int, *, ip_version: IpVersion = 4) -> bool:
    """Whether an effective MSS shows TCP timestamps: a full packet with no other option fills the
    MTU.
    """
    return mss_bytes == mss_of(mtu_bytes, ip_version=ip_version)


def ceiling_share(
    protocol: Protocol,
    message_bytes: int,
    mtu_bytes: int,
    *,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    mss_bytes: int | None = None,
    added_bytes: int = 0,
) -> Fraction:
    """The most payload that a link can carry one way, as an exact share of its rate, 0 to 1.

    UDP: every message is its own datagram. TCP: all segments are full, so the message size does not
    matter; ``mss_bytes`` is the effective MSS (``tcpi_snd_mss``, without the 12 bytes of
    timestamps), by default the largest that fits the MTU. ``added_bytes`` as in ``Link``; fragments
    and segments fit the MTU without them. Acknowledgements of data that flows the other way are not
    counted: with data both ways the share is an upper bound.

    Raises ValueError for sizes that the protocol or the MTU does not allow.
    """
    if message_bytes < 1:
        raise ValueError(_("a message of {size} bytes carries no payload", size=message_bytes))
    if protocol == "UDP":
        packets = fragments(message_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version)
        return Fraction(message_bytes, sum(packet_wire_bytes(p + added_bytes) for p in packets))
    if protocol != "TCP":
        raise ValueError(f"{protocol}: neither TCP nor UDP")
    mss, headers = _segment(mss_bytes, mtu_bytes, ip_version=ip_version, timestamps=timestamps)
    return Fraction(mss, packet_wire_bytes(mss + headers + added_bytes))


_cached_share = lru_cache(maxsize=4096)(ceiling_share)
"""``ceiling_share``, cached: a report calls it thousands of times with few different arguments, and
a long datagram has many fragments."""


def ceiling_bit_per_s(
    link: Link,
    protocol: Protocol,
    message_bytes: int,
    mtu_bytes: int,
    *,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    mss_bytes: int | None = None,
) -> float:
    """``ceiling_share`` of the link's rate, in bit/s, with an MTU of the path that may be below the
    link's. Raises ValueError as it does, and for a rate that is not above 0.
    """
    if link.rate_bit_per_s <= 0:
        raise ValueError(f"a link of {link.rate_bit_per_s} bit/s carries nothing")
    share = _cached_share(
        protocol,
        message_bytes,
        mtu_bytes,
        ip_version=ip_version,
        timestamps=timestamps,
        mss_bytes=mss_bytes,
        added_bytes=link.added_bytes,
    )
    return float(Fraction(link.rate_bit_per_s) * share)


def packets(
    protocol: Protocol,
    message_bytes: int,
    mtu_bytes: int,
    *,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    mss_bytes: int | None = None,
) -> tuple[int, ...]:
    """Sizes of the IP packets of a single message in bytes, headers included, in order. A UDP
    message has its fragments; a TCP message, sent alone, has full segments and the rest (arguments
    and errors as in ``ceiling_share``).
    """
    if protocol == "UDP":
        return fragments(message_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version)
    if message_bytes < 1:
        raise ValueError(_("a message of {size} bytes carries no payload", size=message_bytes))
    mss, headers = _segment(mss_bytes, mtu_bytes, ip_version=ip_version, timestamps=timestamps)
    full_segments, last = divmod(message_bytes, mss)
    return (*([headers + mss] * full_segments), *([headers + last] if last else []))


def transfer_wire_bytes(packet_bytes: Sequence[int], link: Link) -> int:
    """Byte times from the first bit of IP packets sent back to back to the arrival of the last bit.

    The gap after the last frame does not count. Over several cables of one rate, a frame is
    forwarded after it has arrived whole, so each further cable adds only the time of the first
    frame. The first frame is assumed to be the longest, as it is when a message is split.
    Propagation delay is not included. Raises ValueError without a packet.
    """
    if not packet_bytes:
        raise ValueError("there must be at least one packet")
    wire = [packet_wire_bytes(size + link.added_bytes) for size in packet_bytes]
    return sum(wire) - GAP_BYTES + link.hops * (wire[0] - GAP_BYTES)


def transfer_floor_bytes(packet_bytes: Sequence[int], link: Link) -> int:
    """Lower bound of ``transfer_wire_bytes`` for these IP packets in any order: each further cable
    adds the time of the shortest frame, which may be the last one.
    """
    return transfer_wire_bytes(sorted(packet_bytes), link)


def frames_per_s(rate_bit_per_s: float, frame_bytes: int) -> float:
    """The line rate in frames per second; the size includes header and FCS (RFC 2544: 64 … 1518).
    Raises ValueError below 64 bytes.
    """
    _check_frame(frame_bytes)
    return float(Fraction(rate_bit_per_s) / (8 * (PREAMBLE_BYTES + frame_bytes + GAP_BYTES)))


def udp_message_in_frame(frame_bytes: int, *, ip_version: IpVersion = 4) -> int:
    """The UDP message size that fills a frame of this size (header and FCS included). Raises
    ValueError if the headers alone do not fit, such as IPv6 in 64 bytes (66 at least).
    """
    _check_frame(frame_bytes)
    least = HEADER_BYTES + FCS_BYTES + IP_BYTES[ip_version] + UDP_BYTES
    if frame_bytes < least:
        raise ValueError(
            f"a frame of {frame_bytes} bytes has no room for IPv{ip_version} and UDP; "
            f"at least {least} bytes"
        )
    return frame_bytes - least


def _check_frame(frame_bytes: int) -> None:
    if frame_bytes < MIN_FRAME_BYTES:
        raise ValueError(f"a frame of {frame_bytes} bytes: the shortest on Ethernet has 64")


def _check_mtu(mtu_bytes: int, ip_version: IpVersion) -> None:
    least = MIN_MTU_BYTES[ip_version]
    if mtu_bytes < least:
        raise ValueError(
            _(
                "an MTU of {mtu} bytes: IPv{version} requires at least {least}",
                mtu=mtu_bytes,
                version=ip_version,
                least=least,
            )
        )


def _segment(
    mss_bytes: int | None, mtu_bytes: int, *, ip_version: IpVersion, timestamps: bool
) -> tuple[int, int]:
    """The effective MSS, by default the largest, and the length of a segment's headers."""
    most = mss_of(mtu_bytes, ip_version=ip_version, timestamps=timestamps)
    mss = most if mss_bytes is None else mss_bytes
    if not 1 <= mss <= most:
        raise ValueError(
            _(
                "an MSS of {mss} bytes: MTU {mtu} allows 1 to {most}",
                mss=mss,
                mtu=mtu_bytes,
                most=most,
            )
        )
    return mss, mtu_bytes - most
