"""Times that requests and answers spend in a host's network stack, from captured frames. No I/O.

The time of one datagram is from the stamp of the frame with the request to the stamp of the frame
with the answer. A request and its answer have the same payload and the same port of the client. Of
a datagram in several fragments, only the first fragment counts: it alone has the UDP header.
"""

from __future__ import annotations

import ipaddress
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netlab.measurement.capture import CapturedFrame, ip_packet
from netlab.stats.histogram import BITS, bucket_of
from netlab.trial.record import Value

PAYLOAD_BYTES = 16
"""Number of first bytes of the payload that are compared. The probes write the number of the
request there."""

_UDP, _FRAGMENT = 17, 44
_V6_BYTES = 40


@dataclass(frozen=True, slots=True)
class _Datagram:
    source: tuple[bytes, int]
    destination: tuple[bytes, int]
    """Packed address and port."""
    payload: bytes
    """The first bytes of the payload."""


def stack_times_ns(frames: Sequence[CapturedFrame], address: str, port: int) -> list[int]:
    """The times in the stack of the host whose program answers at ``address`` and ``port``, in ns,
    in the order of the answers.

    If the interface shows each frame twice, as loopback does, the time is from the last frame with
    the request to the first frame with the answer. Requests without an answer, and frames that are
    no UDP datagrams, are left out.
    """
    mirror = (ipaddress.ip_address(address.partition("%")[0]).packed, port)
    requested_ns: dict[tuple[tuple[bytes, int], bytes], int] = {}
    times: list[int] = []
    for frame in frames:
        packet = ip_packet(frame)
        datagram = None if packet is None else _datagram(packet)
        if datagram is None:
            continue
        if datagram.destination == mirror:
            requested_ns[datagram.source, datagram.payload] = frame.at_ns
        elif datagram.source == mirror:
            at_ns = requested_ns.pop((datagram.destination, datagram.payload), None)
            if at_ns is not None and frame.at_ns >= at_ns:
                times.append(frame.at_ns - at_ns)
    return times


def stack_values(times_ns: Sequence[int]) -> dict[str, Value]:
    """The values of a record about ``times_ns``, which has at least one time.

    The values have the names that a probe uses for them; ``mean``, ``min``, ``max`` and ``sum`` are
    in ns.
    """
    buckets = Counter(map(bucket_of, times_ns))
    return {
        "stack_count": len(times_ns),
        "stack_min_ns": min(times_ns),
        "stack_max_ns": max(times_ns),
        "stack_sum_ns": sum(times_ns),
        "stack_mean_ns": sum(times_ns) / len(times_ns),
        "stack_histogram": [number for pair in sorted(buckets.items()) for number in pair],
        "stack_histogram_bits": BITS,
        "stack_stamps": "capture",
    }


def _datagram(packet: bytes) -> _Datagram | None:
    """The UDP datagram that begins in an IP packet; ``None`` if no datagram begins in it."""
    for source, destination, udp in _udp(packet):
        if len(udp) >= 8:
            source_port, destination_port = struct.unpack_from(">HH", udp)
            payload = bytes(udp[8 : 8 + PAYLOAD_BYTES])
            return _Datagram((source, source_port), (destination, destination_port), payload)
    return None


def _udp(packet: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Source and destination address, and the UDP header with its payload (RFC 791, RFC 8200).

    Yields nothing if the packet has no UDP header.
    """
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        offset = struct.unpack_from(">H", packet, 6)[0] & 0x1FFF
        if packet[9] == _UDP and offset == 0:
            length = struct.unpack_from(">H", packet, 2)[0]
            yield packet[12:16], packet[16:20], packet[4 * (packet[0] & 15) : length]
    elif version == 6 and len(packet) >= _V6_BYTES:
        next_header, at = packet[6], _V6_BYTES
        if next_header == _FRAGMENT and len(packet) >= at + 8:
            offset = struct.unpack_from(">H", packet, at + 2)[0] >> 3
            next_header, at = (packet[at] if offset == 0 else -1), at + 8
        if next_header == _UDP:
            length = _V6_BYTES + struct.unpack_from(">H", packet, 4)[0]
            yield packet[8:24], packet[24:40], packet[at:length]
