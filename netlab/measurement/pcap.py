"""Captured frames: the classic pcap format, as tcpdump writes it, as lengths of frames. Pure.

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
"""First bytes → byte order; stamps in µs or ns."""
ETHERNET = 1
"""Link type whose frames begin with the 14 bytes of an Ethernet header."""


def frame_lengths(capture: bytes) -> Iterator[int]:
    """Bytes of each frame as it was on the link, header included, FCS not, in their order.

    A last packet that was cut off is left out. Raises ValueError with a sentence for what is no
    capture of Ethernet frames.
    """
    order = MAGIC.get(capture[:4])
    if order is None or len(capture) < HEADER_BYTES:
        raise ValueError("what came from tcpdump is no capture in the pcap format")
    (link,) = struct.unpack_from(order + "I", capture, 20)
    if link & 0xFFFF != ETHERNET:
        raise ValueError(f"the capture is of link type {link & 0xFFFF}, not of Ethernet frames")
    at = HEADER_BYTES
    while at + PACKET_HEADER_BYTES <= len(capture):
        kept_bytes, frame_bytes = struct.unpack_from(order + "II", capture, at + 8)
        at += PACKET_HEADER_BYTES + kept_bytes
        if at <= len(capture):
            yield frame_bytes
