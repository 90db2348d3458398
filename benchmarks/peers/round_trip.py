"""Compares round trips with sockperf and netperf on an unshaped veth: `make benchmark-round-trip`.

The other tests are sockperf's ping-pong, and netperf's request-response if netperf is installed.
For all tools one request is in flight, the client runs on CPU 0 and the mirror (the program that
answers) on CPU 1, in interleaved rounds with rotating order.
"""

from __future__ import annotations

import argparse
import re
import secrets
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.ends import (
    PORT,
    RECEIVER_CPU,
    SENDER_CPU,
    Cable,
    Tool,
    ToolFailedError,
    await_socket,
    by_tool,
    interleaved,
    netperf_omni,
    rest_of,
    result_of,
    run_to_end,
    start,
    those_installed,
)
from benchmarks.stage import Verdict, a_lab, finish, table
from netlab.build.binaries import local_probe
from netlab.stats.histogram import from_pairs

LEAST_BLOCKING, LEAST_SPINNING = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured."""

    protocol: str
    message_bytes: int
    seconds: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.message_bytes}"


@dataclass(frozen=True, slots=True)
class Reading:
    """Figures of the whole round trip. Percentiles are ``None`` if the tool reports none."""

    per_s: float
    p50_us: float | None
    p99_us: float | None


def blocking(case: Case, cable: Cable) -> Reading:
    return _netprobe(case, cable, [], [])


def spinning(case: Case, cable: Cable) -> Reading:
    """The probe pins itself, because it refuses to spin if only one CPU is allowed."""
    return _netprobe(
        case, cable, ["spin=1", f"cpu={SENDER_CPU}"], ["spin=1", f"cpu={RECEIVER_CPU}"]
    )


def _netprobe(case: Case, cable: Cable, asking: list[str], mirroring: list[str]) -> Reading:
    probe = str(local_probe())
    keys = ["kind=round_trip", f"proto={case.protocol.lower()}", f"message={case.message_bytes}"]
    keys += [f"seconds={case.seconds}", f"deadline={case.seconds + 10}"]
    token = {"NETPROBE_TOKEN": secrets.token_hex(16)}
    mirror = [probe, "mirror", "open=listen", f"bind={cable.to}", f"port={PORT}", *keys, *mirroring]
    ask = [probe, "ask", "open=connect", f"to={cable.to}:{PORT}", *keys, *asking]
    with start(cable, mirror, token, None if mirroring else RECEIVER_CPU) as far:
        await_socket(far, case.protocol, PORT)
        try:
            output = run_to_end(cable, ask, case.seconds, token, None if asking else SENDER_CPU)
        finally:
            far.terminate()
            rest_of(far, case.seconds)
    result = result_of(output)
    times = from_pairs(result["rtt_histogram"], result["rtt_histogram_bits"])
    return Reading(
        result["transactions_per_s"], _us(times.percentile(0.5)), _us(times.percentile(0.99))
    )


def _us(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / 1e3


def sockperf(case: Case, cable: Cable) -> Reading:
    endpoint = ["-i", cable.to, "-p", str(PORT), *(["--tcp"] if case.protocol == "TCP" else [])]
    ask = ["sockperf", "ping-pong", *endpoint, "-t", str(case.seconds), "--full-rtt"]
    ask += ["--msg-size", str(case.message_bytes)]
    with start(cable, ["sockperf", "server", *endpoint]) as server:
        await_socket(server, case.protocol, PORT)
        try:
            output = run_to_end(cable, ask, case.seconds)
        finally:
            server.terminate()
            rest_of(server, case.seconds)
    valid = re.search(r"Valid Duration\] RunTime=([0-9.]+) sec;.*ReceivedMessages=(\d+)", output)
    if valid is None:
        raise ToolFailedError(output.strip())
    percentiles = dict(re.findall(r"percentile +([0-9.]+) = +([0-9.]+)", output))
    return Reading(
        int(valid[2]) / float(valid[1]), float(percentiles["50.000"]), float(percentiles["99.000"])
    )


def netperf(case: Case, cable: Cable) -> Reading:
    words = ["--", "-d", "rr", "-T", case.protocol]
    words += ["-r", f"{case.message_bytes},{case.message_bytes}"]
    values = netperf_omni(cable, case.seconds, "THROUGHPUT,P50_LATENCY,P99_LATENCY", words)
    return Reading(
        float(values["THROUGHPUT"]), float(values["P50_LATENCY"]), float(values["P99_LATENCY"])
    )


OURS = ("netlab", "netlab spinning")
TOOLS = (
    Tool(OURS[0], None, blocking),
    Tool(OURS[1], None, spinning),
    Tool("sockperf", "sockperf", sockperf, "sockperf"),
    Tool("netperf", "netperf", netperf, "netperf (Debian: section non-free)"),
)
Readings = dict[Case, list[dict[str, Reading]]]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=15)
    words.add_argument("--seconds", type=int, default=2, help="a measurement")
    arguments = words.parse_args()
    tools = those_installed(TOOLS, OURS)
    cases = [
        Case(protocol, size, arguments.seconds)
        for protocol in ("UDP", "TCP")
        for size in (64, 1400)
    ]
    with a_lab() as lab:
        readings = interleaved(cases, tools, Cable(lab.hosts[0], lab.hosts[1]), arguments.rounds)
    return judge(readings)


def judge(readings: Readings) -> int:
    """Print a row per case and tool, and compare netlab with the best other tool.

    The best other tool is the one with the highest median. The ratio is the median of the ratios of
    single rounds, because within a round both tools had the machine in a similar state.
    """
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {name: [] for name in OURS}
    for case, rounds in readings.items():
        of_tools = by_tool(rounds)
        medians = {
            name: statistics.median(reading.per_s for reading in tool_readings)
            for name, tool_readings in of_tools.items()
        }
        rivals = {name: medians[name] for name in medians if name not in OURS}
        best = max(rivals, key=lambda name: rivals[name], default="")
        for name, tool_readings in of_tools.items():
            within = ratios_of(rounds, name, best) if name in OURS else []
            row = [f"{case}, {name}", f"{medians[name]:.0f}", "", ""]
            if within:
                ratios[name].append(statistics.median(within))
                row[2:] = [f"{ratios[name][-1]:.3f}", f"{min(within):.2f} to {max(within):.2f}"]
            rows.append(row + [_median(tool_readings, of) for of in ("p50_us", "p99_us")])
    head = ["median of the rounds", "round trips/s", "to the best", "in rounds", "p50 µs", "p99 µs"]
    print(table(head, rows))
    least = {name: min(tool_ratios, default=0.0) for name, tool_ratios in ratios.items()}
    return finish(
        [
            Verdict(
                all(len(tool_ratios) == len(readings) for tool_ratios in ratios.values())
                and least["netlab"] >= LEAST_BLOCKING,
                f"blocking: at least {LEAST_BLOCKING} of the best of the others",
                f"{least['netlab']:.3f} at least",
            ),
            Verdict(
                least["netlab spinning"] >= LEAST_SPINNING,
                f"spinning: at least {LEAST_SPINNING:.0f} times the best of the others",
                f"{least['netlab spinning']:.2f} at least",
            ),
        ],
        f"round trips: blocking {least['netlab']:.3f}, spinning {least['netlab spinning']:.2f} of "
        "the best of the others, at least",
    )


def ratios_of(rounds: Sequence[dict[str, Reading]], name: str, to: str) -> list[float]:
    """Ratios of the round trips per second, for each round in which both tools gave a figure."""
    return [
        readings[name].per_s / readings[to].per_s
        for readings in rounds
        if {name, to} <= readings.keys()
    ]


def _median(readings: list[Reading], of: str) -> str:
    values = [value for reading in readings if (value := getattr(reading, of)) is not None]
    return f"{statistics.median(values):.1f}" if values else ""


if __name__ == "__main__":
    sys.exit(main())
