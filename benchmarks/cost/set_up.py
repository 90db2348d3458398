"""What a cell costs beyond its measured time, over SSH in the lab: `make benchmark-set-up`.

Cost of a cell = time from the record before it to its own record, both on disk (fsync), less the
warm-up and the seconds that were asked for, less the receiver's drain, which is shown apart. The
first cell has no record before it and is left out: it pays for the connections.
Beside it, in the same lab, what people do otherwise: `ssh host iperf3 -c …` once a cell over a
connection that ssh keeps (ControlMaster), with the iperf3 server running all the time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import netlab
from benchmarks.stage import NETLAB, ROOT, Verdict, a_lab, finish, run_words, table
from netlab.lab import LabState

MOST_MS = 10.0
DURATION_S = 0.5
WARM_UP_S = 0.1
MATRIX = """\
title: Cost of setting up a cell
link: {rate: 100Mbit, mtu: 1500}
pairings: PAIRINGS
parallel: false
repeats: REPEATS
defaults:
  duration: DURATION
  warm_up: WARM_UP
  congestion: cubic
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [576, 1448]
    socket_buffer: [32KiB, 64KiB]
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--repeats", type=int, default=8, help="of 8 cells")
    words.add_argument("--iperf3", type=int, default=10, metavar="N", help="cells with iperf3")
    asked = words.parse_args()
    with a_lab(100e6) as lab, tempfile.TemporaryDirectory() as scratch:
        before = iperf3_costs_ms(lab, asked.iperf3 // 2)
        costs_ms, drains_ms, setups_ms = netlab_costs_ms(lab, Path(scratch), asked.repeats)
        iperf3_ms = before + iperf3_costs_ms(lab, asked.iperf3 - asked.iperf3 // 2)
    rows = [
        spread("netlab, a cell", costs_ms),
        spread("  of it: request to streams open", setups_ms),
        spread("netlab, drain (not in it)", drains_ms),
        spread("ssh host iperf3, ControlMaster", iperf3_ms),
    ]
    print(table(["ms", "cells", "least", "median", "90 %", "most"], rows))
    median = statistics.median(costs_ms)
    met = Verdict(
        median <= MOST_MS, f"set-up cost a cell, median at most {MOST_MS:g} ms", f"{median:.1f} ms"
    )
    return finish(
        [met],
        f"set-up: median {median:.1f} ms a cell over {len(costs_ms)} cells (drain "
        f"{statistics.median(drains_ms):.1f} ms apart); ssh iperf3 over ControlMaster "
        f"{statistics.median(iperf3_ms):.1f} ms",
    )


def netlab_costs_ms(
    lab: LabState,
    scratch: Path,
    repeats: int,
    pairings: str = "[LL]",
    *,
    duration_s: float = DURATION_S,
) -> tuple[list[float], list[float], list[float]]:
    """Cost, drain and set-up of every cell but the first."""
    matrix, into = scratch / "set-up.yaml", scratch / "set-up"
    text = MATRIX
    for word, value in (
        ("PAIRINGS", pairings),
        ("REPEATS", str(repeats)),
        ("DURATION", f"{duration_s:g}s"),
        ("WARM_UP", f"{WARM_UP_S:g}s"),
    ):
        text = text.replace(word, value)
    matrix.write_text(text)
    arrivals: list[tuple[float, str, int]] = []
    with subprocess.Popen(
        [*NETLAB, *run_words(matrix, lab.hosts_file, into, "--json")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None and run.stderr is not None
        for line in run.stdout:
            now, event = time.monotonic(), json.loads(line)
            if event["status"] != "ok":
                raise SystemExit(f"a cell is not ok: {line}")
            arrivals.append((now, event["cell"], event["trial"]))
        if run.wait():
            raise SystemExit(run.stderr.read())
    trials = {
        (row["cell"], row["trial"]): row for row in netlab.load(into).frame.to_dict("records")
    }
    costs, drains, setups = [], [], []
    for (begin, *_), (end, cell, trial) in itertools.pairwise(arrivals):
        values = trials[cell, trial]
        # TCP is closed by reset and has no drain.
        drain_ms = 0.0 if values["protocol"] == "TCP" else float(values["drain_ns"]) / 1e6
        costs.append((end - begin - WARM_UP_S - duration_s) * 1e3 - drain_ms)
        drains.append(drain_ms)
        setups.append(float(values["setup_ns"]) / 1e6)
    return costs, drains, setups


def iperf3_costs_ms(lab: LabState, count: int) -> list[float]:
    """Wall time of `ssh linux-a iperf3 -c … -t 1` less its second."""
    server, client = lab.hosts[0], lab.hosts[1]
    ssh = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes"]
    serve = ["iperf3", "-s", "-B", server.addresses[0]]
    with subprocess.Popen(
        [*ssh, "-tt", server.name, *serve],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as listening:
        try:
            with kept_connection(lab, client.name) as words:
                time.sleep(1.0)  # the server is there: not a part of what is timed
                asked = [*words, *iperf3_client(server.addresses[0])]
                return [timed_ms(asked, of_it_s=1.0) for _ in range(count)]
        finally:
            listening.kill()


@contextmanager
def kept_connection(lab: LabState, host: str) -> Iterator[list[str]]:
    """The words of an ssh that goes to a host over one connection, kept meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        ssh = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes"]
        kept = [*ssh, "-o", f"ControlPath={folder}/%h"]
        master = [*kept, "-o", "ControlMaster=yes", "-o", "ControlPersist=60", "-Nf", host]
        subprocess.run(master, check=True, capture_output=True, timeout=30)
        try:
            yield [*kept, host]
        finally:
            leave = [*kept, "-O", "exit", host]
            subprocess.run(leave, check=False, capture_output=True, timeout=30)


def iperf3_client(to: str) -> list[str]:
    return ["iperf3", "-c", to, "-t", "1", "-l", "1448", "-w", "64K", "-C", "cubic", "-J"]


def timed_ms(argv: list[str], of_it_s: float = 0.0) -> float:
    """How long a program runs, less the seconds that it was asked to."""
    begin = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    elapsed_s = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return (elapsed_s - of_it_s) * 1e3


def spread(name: str, values: list[float]) -> list[str]:
    ordered = sorted(values)
    upper = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    figures = (ordered[0], statistics.median(ordered), upper, ordered[-1])
    return [name, str(len(values)), *(f"{each:.1f}" for each in figures)]


if __name__ == "__main__":
    sys.exit(main())
