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
"""What one send call of a TCP stream takes."""


def sweep(
    trial: Trial, setup: PayloadSearch, payload_bytes: int, ends: Ends, live: OnGoodput
) -> dict[str, Value]:
    """One short stream from client to server a size; a size without a result is listed apart.

    Raises ``HostGone`` when one of the hosts is lost.
    """
    sizes: list[int] = []
    rates: list[float] = []
    failed: list[int] = []
    for message_bytes in sizes_around(payload_bytes, setup.protocol, setup.ip_version):
        settings = Stream(**setup.passed_on(Stream), message_bytes=message_bytes)
        cell = Cell(pairing=trial.cell.pairing, test="stream", setup=settings)
        try:
            values = stream.values_of(
                Trial(cell, trial.number), ends, lambda _cell, each: live(trial.cell, each)
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
    found: dict[str, Value] = {
        "sweep_message_bytes": sizes,
        "sweep_throughput_bit_per_s": rates,
    }
    return found | ({"sweep_failed_message_bytes": failed} if failed else {})


def sizes_around(payload_bytes: int, protocol: str, ip_version: IpVersion) -> tuple[int, ...]:
    """Sizes at which the saw-tooth of throughput shows: about one frame, two frames, and between.

    Ascending. ``payload_bytes`` is what one frame takes. Of UDP also what two fragments take,
    which is more than twice that: only the first has a UDP header.
    """
    one = payload_bytes
    sizes = {one + step for step in (-2, -1, 0, 1, 2)} | {2 * one + step for step in (-1, 0, 1)}
    sizes |= {one * quarters // 4 for quarters in (1, 2, 3, 5, 6, 7)}
    most_bytes = STREAM_MOST_BYTES
    if protocol == "UDP":
        most_bytes = MAX_DATAGRAM_BYTES[ip_version]
        two = _in_two_fragments(one, ip_version)
        sizes |= {two, two + 1}
    return tuple(sorted(size for size in sizes if 1 <= size <= most_bytes))


def _in_two_fragments(payload_bytes: int, ip_version: IpVersion) -> int:
    """The longest UDP message in two packets of the MTU that ``payload_bytes`` fills.

    Some systems cut so that the last packet takes up to 7 bytes more.
    """
    room = payload_bytes + UDP_BYTES - FRAGMENT_HEADER_BYTES[ip_version]
    return 2 * (room // 8 * 8) - UDP_BYTES
