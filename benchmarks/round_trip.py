"""Round trips beside sockperf's ping-pong on an unshaped veth: `make benchmark-round-trip`.

And netperf's request-response where it is installed. One request under way, the client on CPU 0 and
the mirror on CPU 1 for all tools, in interleaved rounds whose order turns.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

from ends import (
    RECEIVER_CPU,
    SENDER_CPU,
    Cable,
    ToolFailedError,
    await_socket,
    rest_of,
    run_to_end,
    start,
)
from stage import Verdict, a_lab, finish, table

from netlab.build import local_probe
from netlab.histogram import from_pairs
from netlab.lab.programs import SEARCH_PATH

PORT, CONTROL_PORT = 5311, 5310
LEAST_BLOCKING, LEAST_SPINNING = 0.95, 4.0


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
    """Of the whole round trip; a tool that tells no percentiles has none."""

    per_s: float
    p50_us: float | None
    p99_us: float | None


def blocking(case: Case, cable: Cable) -> Reading:
    return _netprobe(case, cable, [], [])


def spinning(case: Case, cable: Cable) -> Reading:
    """Pinned by the probe itself, which refuses to spin where it may use one CPU only."""
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
            said = run_to_end(cable, ask, case.seconds, token, None if asking else SENDER_CPU)
        finally:
            far.terminate()
            rest_of(far, case.seconds)
    records = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    results = [record for record in records if record["type"] == "result"]
    if not results:
        raise ToolFailedError(said.strip())
    result = results[-1]
    times = from_pairs(result["rtt_histogram"], result["rtt_histogram_bits"])
    return Reading(
        result["transactions_per_s"], _us(times.percentile(0.5)), _us(times.percentile(0.99))
    )


def _us(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / 1e3


def sockperf(case: Case, cable: Cable) -> Reading:
    where = ["-i", cable.to, "-p", str(PORT), *(["--tcp"] if case.protocol == "TCP" else [])]
    ask = ["sockperf", "ping-pong", *where, "-t", str(case.seconds), "--full-rtt"]
    ask += ["--msg-size", str(case.message_bytes)]
    with start(cable, ["sockperf", "server", *where]) as server:
        await_socket(server, case.protocol, PORT)
        try:
            said = run_to_end(cable, ask, case.seconds)
        finally:
            server.terminate()
            rest_of(server, case.seconds)
    valid = re.search(r"Valid Duration\] RunTime=([0-9.]+) sec;.*ReceivedMessages=(\d+)", said)
    if valid is None:
        raise ToolFailedError(said.strip())
    percentiles = dict(re.findall(r"percentile +([0-9.]+) = +([0-9.]+)", said))
    return Reading(
        int(valid[2]) / float(valid[1]), float(percentiles["50.000"]), float(percentiles["99.000"])
    )


def netperf(case: Case, cable: Cable) -> Reading:
    keys = "THROUGHPUT,P50_LATENCY,P99_LATENCY"
    ask = [
        "netperf",
        "-H",
        cable.to,
        "-p",
        str(CONTROL_PORT),
        "-t",
        "omni",
        "-l",
        str(case.seconds),
    ]
    ask += ["--", "-d", "rr", "-T", case.protocol, "-P", f",{PORT}", "-k", keys]
    ask += ["-r", f"{case.message_bytes},{case.message_bytes}"]
    with start(cable, ["netserver", "-D", "-p", str(CONTROL_PORT)]) as server:
        await_socket(server, "tcp", CONTROL_PORT)
        try:
            said = run_to_end(cable, ask, case.seconds)
        finally:
            server.kill()
    values = dict(re.findall(r"^(\w+)=([0-9.]+)\s*$", said, re.MULTILINE))
    if "THROUGHPUT" not in values:
        raise ToolFailedError(said.strip())
    return Reading(
        float(values["THROUGHPUT"]), float(values["P50_LATENCY"]), float(values["P99_LATENCY"])
    )


TOOLS: dict[str, tuple[str | None, Callable[[Case, Cable], Reading]]] = {
    "netlab": (None, blocking),
    "netlab spinning": (None, spinning),
    "sockperf": ("sockperf", sockperf),
    "netperf": ("netperf", netperf),
}
OURS = ("netlab", "netlab spinning")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=7)
    words.add_argument("--seconds", type=int, default=2, help="a measurement")
    asked = words.parse_args()
    if (os.cpu_count() or 1) < 2:
        raise SystemExit("two CPUs are needed: one for the client, one for the mirror")
    tools = [name for name, (program, _) in TOOLS.items() if _installed(program)]
    for name in TOOLS.keys() - set(tools):
        print(f"{name} is not installed and left out")
    if not set(tools) - set(OURS):
        raise SystemExit("nothing to compare with: apt-get install sockperf")
    cases = [
        Case(protocol, size, asked.seconds) for protocol in ("UDP", "TCP") for size in (64, 1400)
    ]
    with a_lab() as lab:
        readings = measure(cases, tools, Cable(lab.hosts[0], lab.hosts[1]), asked.rounds)
    return judge(readings)


def _installed(program: str | None) -> bool:
    return program is None or shutil.which(program, path=SEARCH_PATH) is not None


Readings = dict[Case, dict[str, list[Reading]]]


def measure(cases: list[Case], tools: list[str], cable: Cable, rounds: int) -> Readings:
    """Every case with every tool, once a round; the tool that begins is another each round."""
    readings: Readings = {case: {name: [] for name in tools} for case in cases}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        turn = number % len(tools)
        for case in cases:
            for name in tools[turn:] + tools[:turn]:
                try:
                    readings[case][name].append(TOOLS[name][1](case, cable))
                except (ToolFailedError, KeyError, ValueError) as error:
                    print(f"{case}: {name} gave no figure: {error}", file=sys.stderr)
    return readings


def judge(readings: Readings) -> int:
    """A row a case and tool, and both ratios to the best of the others."""
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {name: [] for name in OURS}
    for case, by_tool in readings.items():
        medians = {
            name: statistics.median(each.per_s for each in found)
            for name, found in by_tool.items()
            if found
        }
        best = max((medians[name] for name in medians if name not in OURS), default=None)
        for name, found in by_tool.items():
            if name not in medians:
                continue
            ratio = "" if best is None else f"{medians[name] / best:.2f}"
            if best is not None and name in OURS:
                ratios[name].append(medians[name] / best)
            rows.append(
                [f"{case}, {name}", f"{medians[name]:.0f}", ratio]
                + [_median(found, of) for of in ("p50_us", "p99_us")]
            )
    print(table(["median of the rounds", "round trips/s", "to the best", "p50 µs", "p99 µs"], rows))
    least = {name: min(found, default=0.0) for name, found in ratios.items()}
    return finish(
        [
            Verdict(
                all(len(found) == len(readings) for found in ratios.values())
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


def _median(found: list[Reading], of: str) -> str:
    values = [value for each in found if (value := getattr(each, of)) is not None]
    return f"{statistics.median(values):.1f}" if values else ""


if __name__ == "__main__":
    sys.exit(main())
