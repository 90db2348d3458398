"""Captured frames, read from the classic pcap format of tcpdump. No I/O.

Source: draft-ietf-opsawg-pcap (the header of a file has 24 bytes, the header of a packet 16 bytes).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEADER_BYTES = 24
PACKET_HEADER_BYTES = 16
MAGIC = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
"""First bytes of a file → byte order: two entries for timestamps in µs, two for timestamps in
ns."""
IN_NS = frozenset({b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"})
ETHERNET = 1
"""Link type whose frames begin with the 14 bytes of an Ethernet header."""
RAW_IP = 101
"""Link type of frames that are IP packets, as of a TUN interface."""

_TAGS = (b"\x81\x00", b"\x88\xa8")
_IP = (b"\x08\x00", b"\x86\xdd")


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One frame of a capture."""

    at_ns: int
    """Time of the capture, in ns since 1970."""
    frame_bytes: int
    """Length of the frame on the link, with its header, without FCS."""
    kept: bytes
    """The first bytes of the frame."""
    link: int
    """Link type of the capture, such as ``ETHERNET``."""


def captured_frames(capture: bytes) -> Iterator[CapturedFrame]:
    """The frames of a capture in their order.

    A truncated last packet is left out. Raises ValueError with a sentence if the data are no
    capture.
    """
    order, link = _order_and_link(capture)
    part_ns = 1 if capture[:4] in IN_NS else 1000
    at = HEADER_BYTES
    while at + PACKET_HEADER_BYTES <= len(capture):
        seconds, parts, kept_bytes, frame_bytes = struct.unpack_from(order + "IIII", capture, at)
        begin = at + PACKET_HEADER_BYTES
        at = begin + kept_bytes
        if at <= len(capture):
            at_ns = 10**9 * seconds + part_ns * parts
            yield CapturedFrame(at_ns, frame_bytes, capture[begin:at], link)


def frame_lengths(capture: bytes) -> Iterator[int]:
    """Length in bytes of each frame on the link, with its header, without FCS.

    A truncated last packet is left out. Raises ValueError with a sentence if the data are no
    capture of Ethernet frames.
    """
    _, link = _order_and_link(capture)
    if link != ETHERNET:
        raise ValueError(f"the capture is of link type {link}, not of Ethernet frames")
    for frame in captured_frames(capture):
        yield frame.frame_bytes


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


def _order_and_link(capture: bytes) -> tuple[str, int]:
    """Byte order and link type of a capture; ValueError if the data are no capture."""
    order = MAGIC.get(capture[:4])
    if order is None or len(capture) < HEADER_BYTES:
        raise ValueError("the output of tcpdump is not a capture in the pcap format")
    (link,) = struct.unpack_from(order + "I", capture, 20)
    return order, link & 0xFFFF
