"""Lengths of captured frames, read from the classic pcap format of tcpdump. Pure.

Source: draft-ietf-opsawg-pcap (the file's header of 24 bytes, a header of 16 before each packet).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
ETHERNET = 1
"""Link type whose frames begin with the 14 bytes of an Ethernet header."""


def frame_lengths(capture: bytes) -> Iterator[int]:
    """Length in bytes of each frame on the link, with its header, without FCS, in their order.

    A truncated last packet is left out. Raises ValueError with a sentence if the data are no
    capture of Ethernet frames.
    """
    order = MAGIC.get(capture[:4])
    if order is None or len(capture) < HEADER_BYTES:
        raise ValueError("the output of tcpdump is not a capture in the pcap format")
    (link,) = struct.unpack_from(order + "I", capture, 20)
    if link & 0xFFFF != ETHERNET:
        raise ValueError(f"the capture is of link type {link & 0xFFFF}, not of Ethernet frames")
    at = HEADER_BYTES
    while at + PACKET_HEADER_BYTES <= len(capture):
        kept_bytes, frame_bytes = struct.unpack_from(order + "II", capture, at + 8)
        at += PACKET_HEADER_BYTES + kept_bytes
        if at <= len(capture):
            yield frame_bytes
