"""Compares latency under load with queues of known length: `make benchmark-queues`.

A router of 20 Mbit/s has queues of 1000, 200 and 50 full frames. With UDP offered at 1.1 times the
rate, the median round trip must grow by the queue's content divided by the rate, for each direction
whose queue is full. With one cubic stream, the 99th percentile must grow by this time. The
resolution is half a frame, because the UDP messages are a third of a frame.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table
from netlab import ethernet, load
from netlab.lab import LabState

RATE_BIT_PER_S = 20e6
QUEUES_FRAMES = (50, 200, 1000)
OFFERED = 1.1
UDP_BYTES = 472
WITHIN_UDP, WITHIN_CUBIC = 0.03, 0.05
LEAST_IDLE_NS = 500_000
"""Largest difference between the medians before and after the load: the time that a program may
take to wake up on two CPUs."""
WAYS = ("client-sends", "server-sends", "both")

MATRIX = """\
title: A queue of {frames} frames
link: {{rate: 20Mbit, hops: 1}}
pairings: [LL]
defaults: {{idle: 3s, after: 3s}}
tests:
  - test: latency_under_load
    load: {{protocol: UDP, message_size: {size}, rate: {offered:.0f}, direction: [{ways}]}}
    duration: {udp_s}s
  - test: latency_under_load
    load: {{protocol: TCP, message_size: 64KiB, congestion: cubic, direction: [{ways}]}}
    duration: {tcp_s}s
"""


def delay_ns(frames: int, ways: int) -> float:
    """Time in ns that a queue of this many full frames takes, in each of ``ways`` directions."""
    return ways * frames * 8 * ethernet.packet_wire_bytes(1500) / RATE_BIT_PER_S * 1e9


def matrix_of(frames: int) -> str:
    """The matrix for a queue. With UDP the queue fills at a tenth of the rate. TCP gets 30 s, and
    45 s for the longest queue.
    """
    on_wire = ethernet.packet_wire_bytes(UDP_BYTES + 28)
    return MATRIX.format(
        frames=frames,
        size=UDP_BYTES,
        offered=OFFERED * RATE_BIT_PER_S * UDP_BYTES / on_wire,
        ways=", ".join(WAYS),
        udp_s=30 if frames >= 500 else 10,
        tcp_s=45 if frames >= 500 else 30,
    )


def measure(frames: int, folder: Path) -> list[dict[str, Any]]:
    """Measure the cells of one queue, and return a row per cell."""
    matrix = folder / f"queue-{frames}.yaml"
    matrix.write_text(matrix_of(frames), "utf-8")
    with a_lab(topology="router", device_rate=RATE_BIT_PER_S, device_queue_frames=frames) as lab:
        return rows_of(lab, matrix, folder / f"queue-{frames}")


def rows_of(lab: LabState, matrix: Path, into: Path) -> list[dict[str, Any]]:
    netlab(*run_words(matrix, lab.hosts_file, into))
    return [{**record.settings, **record.values} for record in load(into).records]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--frames", type=int, nargs="*", default=QUEUES_FRAMES)
    arguments = words.parse_args()
    lines: list[list[str]] = []
    off: dict[str, list[float]] = {"UDP": [], "TCP": []}
    between: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for frames in arguments.frames:
            for row in measure(frames, Path(folder)):
                lines.append(_line(frames, row, off, between))
    head = ["frames, load", "arithmetic ms", "idle", "loaded", "99 %", "after", "off by"]
    print(table(head, lines))
    udp, tcp = (max(map(abs, deviations), default=1.0) for deviations in off.values())
    return finish(
        [
            Verdict(udp <= WITHIN_UDP, "UDP at 1.1 of the rate: increase", f"{udp:.1%} off"),
            Verdict(tcp <= WITHIN_CUBIC, "one cubic stream: 99th percentile", f"{tcp:.1%} off"),
            Verdict(
                max(between, default=1e9) <= LEAST_IDLE_NS,
                "idle and after: medians agree within 0.5 ms",
                f"{max(between, default=0) / 1e6:.2f} ms apart at most",
            ),
        ],
        f"queues: the increase under UDP within {udp:.1%} of the arithmetic, cubic's 99 % within "
        f"{tcp:.1%}, {len(lines)} cells, medians {statistics.median(map(abs, off['UDP'])):.1%} and "
        f"{statistics.median(map(abs, off['TCP'])):.1%}",
    )


def _line(
    frames: int, row: dict[str, Any], off: dict[str, list[float]], between: list[float]
) -> list[str]:
    """A row of the table for a cell; adds its deviations to ``off`` and ``between``.

    With TCP in both directions, the two streams delay each other's acknowledgements, so no queue is
    full all the time. Such a cell is shown, but its deviation is not judged.
    """
    is_both_ways = row["direction"] == "both"
    expected_ns = delay_ns(frames, 2 if is_both_ways else 1)
    # With UDP so many requests may be lost that there is no 99th percentile.
    idle_ns, half_ns, most_ns, after_ns = (
        float(row.get(f"{phase}_rtt_{name}_ns", math.nan))
        for phase, name in (("idle", "p50"), ("loaded", "p50"), ("loaded", "p99"), ("after", "p50"))
    )
    of_udp = row["protocol"] == "UDP"
    share = ((half_ns if of_udp else most_ns) - idle_ns) / expected_ns - 1
    if of_udp or not is_both_ways:
        off[row["protocol"]].append(share)
    between.append(abs(after_ns - idle_ns))
    times_ns = (idle_ns, half_ns, most_ns, after_ns)
    times = ["" if math.isnan(time_ns) else f"{time_ns / 1e6:.2f}" for time_ns in times_ns]
    deviation = f"{share:+.1%}" if of_udp or not is_both_ways else ""
    label = f"{frames}, {row['protocol']} {row['direction']}"
    return [label, f"{expected_ns / 1e6:.1f}", *times, deviation]


if __name__ == "__main__":
    sys.exit(main())
