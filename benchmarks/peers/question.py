"""Compares one measurement by `netlab measure` with `iperf3 -c`: `make benchmark-question`.

Both measure TCP for the same time, alternately, over a cable of 100 Mbit/s in the lab. The table
has the throughput of each in Mbit/s, the time that the whole command takes in addition to the
measured seconds, and the time from the start of the command to netlab's first figure, without the
second that this figure covers.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.stage import NETLAB, ROOT, Verdict, a_lab, finish, table
from netlab import load
from netlab.config.inventory import load_inventory
from netlab.lab import LabState

RATE_BIT_PER_S = 100e6
MOST_BEYOND_S = 2.0
MOST_FIRST_S = 3.0
MOST_APART = 0.01


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=7)
    words.add_argument("--seconds", type=int, default=5)
    arguments = words.parse_args()
    ours, theirs, beyond_s, first_s = [], [], [], []
    with a_lab(RATE_BIT_PER_S) as lab, tempfile.TemporaryDirectory() as scratch:
        assert lab.hosts_file is not None
        address = load_inventory(lab.hosts_file).host("linux-a").address(None)
        for number in range(arguments.rounds):
            into = Path(scratch) / f"run{number}"
            first, whole_s, rate = asked_of_netlab(lab, into, arguments.seconds)
            first_s.append(first - 1)
            beyond_s.append(whole_s - arguments.seconds)
            ours.append(rate)
            theirs.append(asked_of_iperf3(lab, address, arguments.seconds))
    ratios = [our_rate / their_rate for our_rate, their_rate in zip(ours, theirs, strict=True)]
    rows = [
        row("netlab, Mbit/s", [rate / 1e6 for rate in ours]),
        row("iperf3, Mbit/s", [rate / 1e6 for rate in theirs]),
        row("netlab / iperf3, of a round", ratios, 4),
        row("beyond the seconds, s", beyond_s),
        row("to the first figure, s", first_s),
    ]
    print(table(["", "least", "median", "most"], rows))
    ratio, beyond, first = (statistics.median(figures) for figures in (ratios, beyond_s, first_s))
    verdicts = [
        Verdict(abs(ratio - 1) <= MOST_APART, "the same figure within 1 %", f"{ratio:.4f}"),
        Verdict(beyond <= MOST_BEYOND_S, "at most 2 s beyond the seconds", f"{beyond:.2f} s"),
        Verdict(first <= MOST_FIRST_S, "first figure within 3 s", f"{first:.2f} s"),
    ]
    return finish(
        verdicts,
        f"one question: {ratio:.4f} of iperf3’s figure; {beyond:.2f} s beyond the seconds, the "
        f"first figure after {first:.2f} s (medians of {arguments.rounds} rounds)",
    )


def ssh_words(lab: LabState, host: str) -> list[str]:
    return ["ssh", "-F", str(lab.ssh_config), host]


def asked_of_netlab(lab: LabState, into: Path, seconds: int) -> tuple[float, float, float]:
    """Seconds to the first figure and to the end, and the measured throughput in bit/s."""
    words = [*NETLAB, "measure", "linux-a", "linux-b", "--hosts", str(lab.hosts_file)]
    words += ["--link", "100Mbit", "--seconds", str(seconds), "--into", str(into)]
    began, first, text = time.monotonic(), None, []
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            text.append(line)
            if first is None and re.match(r" *0\.0 to ", line):
                first = time.monotonic() - began
    whole_s = time.monotonic() - began
    if process.returncode != 0 or first is None:
        raise SystemExit("".join(text))
    (record,) = load(into).records
    return first, whole_s, float(str(record.values["throughput_bit_per_s"]))


def asked_of_iperf3(lab: LabState, address: str, seconds: int) -> float:
    """The throughput in bit/s that iperf3's server received."""
    serve = [*ssh_words(lab, "linux-a"), "iperf3", "--server", "--one-off", "--forceflush"]
    ask = [*ssh_words(lab, "linux-b"), "iperf3", "--client", address, "--json"]
    ask += ["--time", str(seconds), "--omit", "1"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            if server.poll() is not None:
                raise SystemExit("iperf3 does not listen")
        try:
            process = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True)
        finally:
            server.communicate(timeout=60)
    return float(json.loads(process.stdout)["end"]["sum_received"]["bits_per_second"])


def row(name: str, values: list[float], digits: int = 2) -> list[str]:
    figures = (min(values), statistics.median(values), max(values))
    return [name, *(f"{figure:.{digits}f}" for figure in figures)]


if __name__ == "__main__":
    raise SystemExit(main())
