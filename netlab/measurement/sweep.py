"""A sweep: throughput over message sizes around the payload that fills a frame."""

from __future__ import annotations

from netlab.errors import ProbeError
from netlab.ethernet import FRAGMENT_HEADER_BYTES, MAX_DATAGRAM_BYTES, UDP_BYTES, IpVersion
from netlab.experiment.cells import Cell
from netlab.experiment.kinds import PayloadSearch, Stream
from netlab.experiment.records import Value
from netlab.experiment.schedule import Trial
from netlab.measurement import stream
from netlab.measurement.ends import Ends, OnGoodput

STREAM_MOST_BYTES = 1 << 24
"""Maximum message size of one send call of a TCP stream."""


def sweep(
    trial: Trial, setup: PayloadSearch, payload_bytes: int, ends: Ends, live: OnGoodput
) -> dict[str, Value]:
    """Measure one short stream from client to server per size; failed sizes have a separate list.

    Raises ``HostGone`` if one of the hosts is lost.
    """
    sizes: list[int] = []
    rates: list[float] = []
    failed: list[int] = []
    for message_bytes in sizes_around(payload_bytes, setup.protocol, setup.ip_version):
        settings = Stream(**setup.passed_on(Stream), message_bytes=message_bytes)
        cell = Cell(pairing=trial.cell.pairing, test="stream", setup=settings)
        try:
            values = stream.values_of(
                Trial(cell, trial.number), ends, lambda _cell, totals: live(trial.cell, totals)
            )
        except ProbeError:
            failed.append(message_bytes)
            continue
        rate = values.get("throughput_bit_per_s")
        if isinstance(rate, int | float):
            sizes.append(message_bytes)
            rates.append(float(rate))
        else:
            failed.append(message_bytes)
    swept: dict[str, Value] = {
        "sweep_message_bytes": sizes,
        "sweep_throughput_bit_per_s": rates,
    }
    return swept | ({"sweep_failed_message_bytes": failed} if failed else {})


def sizes_around(payload_bytes: int, protocol: str, ip_version: IpVersion) -> tuple[int, ...]:
    """Message sizes that show the saw-tooth of throughput: near one and two frames, and between.

    The sizes ascend. ``payload_bytes``: the payload of one frame. For UDP, the longest message in
    two fragments is included. Its size is not twice ``payload_bytes``: only the first fragment has
    a UDP header, and over IPv6 each fragment has a fragment header.
    """
    frame_payload = payload_bytes
    sizes = {frame_payload + step for step in (-2, -1, 0, 1, 2)} | {
        2 * frame_payload + step for step in (-1, 0, 1)
    }
    sizes |= {frame_payload * quarters // 4 for quarters in (1, 2, 3, 5, 6, 7)}
    most_bytes = STREAM_MOST_BYTES
    if protocol == "UDP":
        most_bytes = MAX_DATAGRAM_BYTES[ip_version]
        two = _in_two_fragments(frame_payload, ip_version)
        sizes |= {two, two + 1}
    return tuple(sorted(size for size in sizes if 1 <= size <= most_bytes))


def _in_two_fragments(payload_bytes: int, ip_version: IpVersion) -> int:
    """The longest UDP message in two packets of the MTU that ``payload_bytes`` fills.

    Some systems fragment so that the last packet carries up to 7 bytes more.
    """
    room = payload_bytes + UDP_BYTES - FRAGMENT_HEADER_BYTES[ip_version]
    return 2 * (room // 8 * 8) - UDP_BYTES
