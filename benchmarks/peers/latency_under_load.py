"""Compares latency under load with flent's: `make benchmark-latency-under-load`.

flent's tests are tcp_upload and rrul. A router of 20 Mbit/s has a queue of 200 frames. The load is
TCP with cubic for 30 s. flent (PyPI) uses netperf and ping. Rounds are interleaved, and each ratio
is of two measurements of one round. Both tools are compared over the same part: from 2 s after the
load's start to its end. For a download, flent counts received data, as netlab always does. For an
upload, flent counts data that the sender's buffers accepted, so rrul is compared by its
downloads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table
from netlab import load
from netlab.lab import LabState
from netlab.lab.network import NAMESPACES
from netlab.trial.record import as_number

RATE_BIT_PER_S, QUEUE_FRAMES = 20e6, 200
WITHIN_THROUGHPUT, WITHIN_INCREASE = 0.02, 0.10
SETTLED_S = 2.0

AS_NETPERF = "congestion: cubic, message_size: 16KiB"
"""The settings with which netlab sends like netperf: 16 KiB per send call."""
TESTS = {
    "tcp_upload": f"{{streams: 1, direction: client-sends, {AS_NETPERF}}}",
    "rrul": f"{{streams: 4, direction: both, {AS_NETPERF}}}",
}
"""flent's test → the same load in netlab. rrul has four streams in each direction."""


@dataclass(frozen=True, slots=True)
class LoadReading:
    """The figures of one tool."""

    throughput_bit_per_s: float
    """Throughput during the load; with both directions, the throughput to the client."""
    increase_ms: float


Measure = Callable[[str, LabState, int, Path], LoadReading]


def ours(name: str, lab: LabState, seconds: int, folder: Path) -> LoadReading:
    matrix = folder / f"{name}.yaml"
    lines = (
        f"title: As flent's {name}",
        "link: {rate: 20Mbit, hops: 1}",
        "pairings: [LL]",
        "tests:",
        f"  - {{test: latency_under_load, load: {TESTS[name]}, duration: {seconds}s}}",
    )
    matrix.write_text("\n".join(lines) + "\n", "utf-8")
    into = Path(tempfile.mkdtemp(dir=folder))
    netlab(*run_words(matrix, lab.hosts_file, into / "run"))
    (record,) = load(into / "run").records
    flow = "to_client_" if record.settings["direction"] == "both" else ""
    rate = as_number(record.values[f"{flow}throughput_bit_per_s"]) or 0.0
    return LoadReading(rate, (as_number(record.values["increase_ns"]) or 0.0) / 1e6)


def flent(program: str, name: str, lab: LabState, seconds: int, folder: Path) -> LoadReading:
    sender, receiver = lab.hosts
    into = Path(tempfile.mkdtemp(dir=folder))
    words = [program, name, "-H", receiver.addresses[0], "-l", str(seconds), "-s", "0.1"]
    words += ["-D", str(into), "--test-parameter", "tcp_cong_control=cubic"]
    with _netserver(receiver.namespace):
        subprocess.run(
            _inside(sender.namespace, words),
            check=True,
            capture_output=True,
            timeout=seconds + 60,
            env={**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"},
        )
    (file,) = into.glob("*.flent.gz")
    with gzip.open(file) as packed:
        return reading_of(json.load(packed)["raw_values"], seconds)


def reading_of(raw: dict[str, list[dict[str, Any]]], seconds: int) -> LoadReading:
    """The figures from flent's points, which have a time by the wall clock.

    A point is a ping, or the rate of a stream over the time since the last point.
    """
    streams = [name for name in raw if name.startswith("TCP") and raw[name]]
    downloads = [name for name in streams if "download" in name]
    begins = min(point["t"] - point["dur"] for name in streams for point in raw[name][:1])
    window = begins + SETTLED_S, begins + seconds
    pings = [(point["t"], point["val"]) for point in raw["Ping (ms) ICMP"]]
    idle_ms = [value for at, value in pings if at < begins]
    load_ms = [value for at, value in pings if window[0] <= at < window[1]]
    rate = sum(_mean_over(raw[name], window) for name in downloads or streams)
    return LoadReading(1e6 * rate, statistics.median(load_ms) - statistics.median(idle_ms))


def _mean_over(points: Sequence[dict[str, Any]], window: tuple[float, float]) -> float:
    inside = [point for point in points if window[0] <= point["t"] < window[1]]
    whole_s = sum(point["dur"] for point in inside)
    return float(sum(point["val"] * point["dur"] for point in inside) / whole_s)


@contextmanager
def _netserver(namespace: str) -> Iterator[None]:
    words = _inside(namespace, ["netserver", "-D", "-4"])
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.5)
            yield
        finally:
            server.terminate()


def _inside(namespace: str, words: Sequence[str]) -> list[str]:
    return ["nsenter", f"--net={NAMESPACES / namespace}", *words]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--seconds", type=int, default=30, help="of load")
    words.add_argument("--flent", default="flent", help="the program, as pip installs it")
    arguments = words.parse_args()
    program = shutil.which(arguments.flent)
    if program is None or shutil.which("netserver") is None:
        raise SystemExit("flent (PyPI), netperf and ping are wanted: see docs/benchmarks.md")
    rows, off = [], {}
    with (
        a_lab(
            topology="router", device_rate=RATE_BIT_PER_S, device_queue_frames=QUEUE_FRAMES
        ) as lab,
        tempfile.TemporaryDirectory() as folder,
    ):
        for name in TESTS:
            pairs = []
            for number in range(arguments.rounds):
                tools: dict[str, Measure] = {"flent": partial(flent, program), "netlab": ours}
                turn = list(tools) if number % 2 else list(tools)[::-1]
                turn_readings = {
                    tool_name: tools[tool_name](name, lab, arguments.seconds, Path(folder))
                    for tool_name in turn
                }
                pairs.append((turn_readings["netlab"], turn_readings["flent"]))
            rows += _lines(name, pairs)
            off[name] = _off(pairs)
    print(table(["test", "Mbit/s", "increase ms", "to flent's", "in rounds"], rows))
    throughput = max(abs(ratios[0] - 1) for ratios in off.values())
    increase = max(abs(ratios[1] - 1) for ratios in off.values())
    return finish(
        [
            Verdict(throughput <= WITHIN_THROUGHPUT, "throughput as flent's", f"{throughput:.1%}"),
            Verdict(increase <= WITHIN_INCREASE, "increase as flent's", f"{increase:.1%}"),
        ],
        f"latency under load beside flent's {' and '.join(TESTS)}: throughput within "
        f"{throughput:.1%}, increase within {increase:.1%}",
    )


def _off(pairs: Sequence[tuple[LoadReading, LoadReading]]) -> tuple[float, float]:
    """Medians over the rounds of the ratios netlab / flent: of the throughput, and of the
    increase.
    """
    return (
        statistics.median(a.throughput_bit_per_s / b.throughput_bit_per_s for a, b in pairs),
        statistics.median(a.increase_ms / b.increase_ms for a, b in pairs),
    )


def _lines(name: str, pairs: Sequence[tuple[LoadReading, LoadReading]]) -> list[list[str]]:
    lines = []
    for index, tool_name in enumerate(("netlab", "flent")):
        readings = [pair[index] for pair in pairs]
        rate = statistics.median(reading.throughput_bit_per_s for reading in readings) / 1e6
        increase = statistics.median(reading.increase_ms for reading in readings)
        lines.append([f"{name}, {tool_name}", f"{rate:.2f}", f"{increase:.1f}", "", ""])
    throughput, increase = _off(pairs)
    ratios = [a.increase_ms / b.increase_ms for a, b in pairs]
    lines[0][3:] = [f"{throughput:.3f}, {increase:.3f}", f"{min(ratios):.2f} to {max(ratios):.2f}"]
    return lines


if __name__ == "__main__":
    sys.exit(main())
