"""Compares the shortest frames with other tools on an unshaped veth: `make benchmark-frames`.

64-byte frames (18 bytes of UDP payload) are sent from CPU 0 to CPU 1, with the same large socket
buffers for all tools, in interleaved rounds with rotating order. Every other tool is measured
twice: without and with receive steering (RPS) to CPU 1. Its better result counts. All tools send as
fast as they can. Each measurement of netlab is a `netlab run` of a matrix with one cell, in a lab
whose account may send frames that netlab builds itself. Every way of sending and receiving such
frames is tried before the rounds. A way that loses frames is paced, at the highest of a few rates
at which it loses almost none.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import netlab
from benchmarks.peers.ends import (
    RECEIVER_CPU,
    SENDER_CPU,
    Cable,
    Tool,
    ToolFailedError,
    by_tool,
    interleaved,
    those_installed,
)
from benchmarks.peers.tools import RIVALS, Case, Reading
from benchmarks.stage import Verdict, a_lab, finish, run_words, table
from benchmarks.stage import netlab as netlab_command

MESSAGE_BYTES = 18
LEAST_RATIO, MOST_LOSS = 2.0, 0.001
BUFFER_BYTES = 4 * 1024 * 1024
STEPS = 4
"""Number of trials in the search for the rate of a way that is paced."""
METHODS = ("packet", "xdp")
CONTENDERS = 2
"""Number of netlab's ways that are measured in the rounds."""
MATRIX = """\
title: 64-byte frames
pairings: [LL]
tests:
  - test: stream
    protocol: UDP
    message_size: {message_bytes}
    socket_buffer: {buffer_bytes}
    duration: {seconds}s
    client_cpu: {sender}
    server_cpu: {receiver}
    receive: polling
"""


def steer(cable: Cable, steered: bool) -> None:
    """Switch receive steering of the receiver's interfaces on (to the receiver's CPU) or off."""
    mask = f"{1 << RECEIVER_CPU:x}" if steered else "0"
    script = f"for queue in /sys/class/net/*/queues/rx-*; do echo {mask} >$queue/rps_cpus; done"
    words = ["ip", "netns", "exec", cable.receiver.namespace, "sh", "-c", script]
    subprocess.run(words, check=True)


def under(steered: bool, measure: Callable[[Case, Cable], Reading]) -> Callable[..., Reading]:
    """The same measurement with receive steering, or without."""

    def measured(case: Case, cable: Cable) -> Reading:
        steer(cable, steered)
        return measure(case, cable)

    return measured


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which netlab sends and receives frames."""

    hosts: Path
    """The lab's inventory."""
    method: str
    taken: str
    """The value of ``receive_from`` in the matrix."""
    steered: bool
    rate_per_s: float | None = None
    """``None``: as fast as possible."""

    def __str__(self) -> str:
        words = [f"netlab {self.method}", f"from the {self.taken}"]
        words += ["steered"] if self.steered else []
        words += [] if self.rate_per_s is None else [f"at {self.rate_per_s:,.0f}/s"]
        return ", ".join(words)

    def measure(self, case: Case, cable: Cable) -> Reading:
        """Measure one run, and return the receiver's figure."""
        lines = [f"    send_method: {self.method}", f"    receive_from: {self.taken}"]
        if self.rate_per_s is not None:
            lines.append(f"    message_rate: {self.rate_per_s:.0f}/s")
        text = MATRIX.format(
            message_bytes=case.message_bytes,
            buffer_bytes=case.buffer_bytes,
            seconds=case.seconds,
            sender=SENDER_CPU,
            receiver=RECEIVER_CPU,
        )
        steer(cable, self.steered)
        with tempfile.TemporaryDirectory() as folder:
            matrix, into = Path(folder, "frames.yaml"), Path(folder, "run")
            matrix.write_text(text + "\n".join(lines) + "\n")
            netlab_command(*run_words(matrix, self.hosts, into), accept=(0, 3))
            (row,) = netlab.load(into).frame.to_dict("records")
        if row["status"] != "ok":
            raise ToolFailedError(f"{self}: {row['reason']}")
        loss = row["lost_messages"] / row["sent_messages"]
        return Reading(row["throughput_bit_per_s"] / 1e6, loss)


def ways(hosts: Path, methods: Sequence[str]) -> list[Way]:
    """All ways: frames that bypass the sender's system, and possibly the receiver's system too."""
    return [
        Way(hosts, method, socket_kind, steered)
        for method in methods
        for socket_kind in ("socket", "packet")
        for steered in (False, True)
    ]


def per_s(reading: Reading) -> float:
    """Messages per second that the receiver took in."""
    return reading.mbit_per_s * 1e6 / 8 / MESSAGE_BYTES


def without_loss(way: Way, case: Case, cable: Cable) -> tuple[float, Way] | None:
    """The messages per second that a way receives almost without loss, and the way.

    The way is paced if it loses too much without pacing. ``None`` if it does so at every rate.
    """
    reading = way.measure(case, cable)
    low, high, best = 0.0, 1.5 * per_s(reading), None
    rate = per_s(reading)
    print(f"{way}: {rate:,.0f}/s, loss {reading.loss:.4f}", file=sys.stderr, flush=True)
    if _fits(reading):
        return rate, way
    for _ in range(STEPS):
        paced = replace(way, rate_per_s=rate)
        reading = paced.measure(case, cable)
        if _fits(reading) and per_s(reading) > 0.98 * rate:
            low, best = rate, (per_s(reading), paced)
        else:
            high = rate
        rate = (low + high) / 2 if low else 0.8 * rate
    print(f"{way}: {best[0]:,.0f}/s, paced" if best else f"{way}: always some", file=sys.stderr)
    return best


def _fits(reading: Reading) -> bool:
    return reading.loss is not None and reading.loss < MOST_LOSS / 2


def contenders(candidates: Sequence[Way], case: Case, cable: Cable) -> list[Way]:
    """The ways that received most, almost without loss."""
    finalists = [
        finalist for way in candidates if (finalist := without_loss(way, case, cable)) is not None
    ]
    finalists.sort(key=lambda finalist: finalist[0], reverse=True)
    return [way for _, way in finalists[:CONTENDERS]]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--seconds", type=int, default=2, help="a measurement")
    words.add_argument("--method", choices=METHODS, nargs="*", default=METHODS, help="only these")
    arguments = words.parse_args()
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    case = Case("UDP", MESSAGE_BYTES, min(BUFFER_BYTES, most), arguments.seconds)
    rivals = those_installed(RIVALS, ())
    with a_lab(frames=True) as lab:
        # The client sends: its host is the second of the inventory's two.
        cable = Cable(lab.hosts[1], lab.hosts[0])
        candidates = ways(Path(str(lab.hosts_file)), arguments.method)
        ours = contenders(candidates, replace(case, seconds=1), cable)
        tools = [Tool(str(way), None, way.measure) for way in ours]
        for rival in rivals:
            for steered, name in ((False, rival.name), (True, f"{rival.name}, steered")):
                tools.append(Tool(name, rival.program, under(steered, rival.measure)))
        readings = by_tool(interleaved([case], tools, cable, arguments.rounds)[case])
    return judge(readings, [str(way) for way in ours])


def judge(readings: dict[str, list[Reading]], ours: list[str]) -> int:
    """Print a line per tool and way, and compare netlab's best way without loss with the best other
    tool.
    """
    rows, took, losses = [], {}, {}
    for name, tool_readings in readings.items():
        rates = sorted(per_s(reading) for reading in tool_readings)
        took[name] = statistics.median(rates)
        losses[name] = statistics.median(
            reading.loss for reading in tool_readings if reading.loss is not None
        )
        worst = max(reading.loss for reading in tool_readings if reading.loss is not None)
        rows.append(
            [
                *(name, f"{took[name]:,.0f}", f"{rates[0]:,.0f}", f"{rates[-1]:,.0f}"),
                *(f"{100 * losses[name]:.3f}", f"{100 * worst:.3f}"),
            ]
        )
    head = ["64-byte frames", "received/s, median", "least", "most", "loss, %", "worst"]
    print(table(head, rows))
    fit = [name for name in ours if name in took and losses[name] < MOST_LOSS]
    rivals = [name for name in took if name not in ours]
    if not fit or not rivals:
        return finish([Verdict(False, "a way of ours without loss, and a rival", "none")], "none")
    best, rival = (max(names, key=lambda name: took[name]) for names in (fit, rivals))
    ratio = took[best] / took[rival]
    figures = (
        f"{ratio:.2f}: {best} {took[best]:,.0f}/s, loss {100 * losses[best]:.3f} %; {rival} "
        f"{took[rival]:,.0f}/s, loss {100 * losses[rival]:.3f} %"
    )
    criterion = (
        f"at least {LEAST_RATIO} times what the best of the others received, with loss under "
        f"{100 * MOST_LOSS:g} %"
    )
    return finish([Verdict(ratio >= LEAST_RATIO, criterion, figures)], f"frames: {figures}")


if __name__ == "__main__":
    sys.exit(main())
