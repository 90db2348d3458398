"""Times the set-up of a cell over SSH in the lab: `make benchmark-set-up`.

The cost of a cell is the time from the writing of the previous record to the writing of its own
record, minus the warm-up, the requested seconds and the receiver's drain (the wait for the last
datagrams), which is shown separately. The first cell has no previous record and is left out: its
time includes the connections. The hosts use this machine's clock, so the times in a record divide
the cost into parts.

For comparison, `ssh host iperf3 -c …` runs in the same lab, once per cell over a shared ssh
connection (ControlMaster), with an iperf3 server that runs all the time.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import netlab
from benchmarks.stage import NETLAB, ROOT, Verdict, a_lab, finish, run_words, table
from netlab.lab import LabState
from netlab.trial.record import Record

MOST_MS = 2.0
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


PARTS = (
    "record to the next cell's begin",
    "to its first message",
    "window beyond what was asked",
    "window's or drain's end to record",
)
DRAIN_PARTS = ("until the sender has ended", "the queue, and its end noticed")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--repeats", type=int, default=8, help="of 8 cells")
    words.add_argument("--iperf3", type=int, default=10, metavar="N", help="cells with iperf3")
    arguments = words.parse_args()
    with a_lab(100e6) as lab, tempfile.TemporaryDirectory() as scratch:
        first_half_ms = iperf3_costs_ms(lab, arguments.iperf3 // 2)
        costs = netlab_costs(lab, Path(scratch), arguments.repeats)
        iperf3_ms = first_half_ms + iperf3_costs_ms(lab, arguments.iperf3 - arguments.iperf3 // 2)
    costs_ms = [cost.cost_ms for cost in costs]
    drains = [cost for cost in costs if cost.drains_ms]
    rows = [spread("netlab, a cell", costs_ms)]
    for number, part in enumerate(PARTS):
        rows.append(spread(f"  {part}", [cost.parts_ms[number] for cost in costs]))
    rows.append(spread("netlab, drain of UDP (not in it)", [sum(d.drains_ms) for d in drains]))
    for number, part in enumerate(DRAIN_PARTS):
        rows.append(spread(f"  {part}", [drain.drains_ms[number] for drain in drains]))
    rows.append(spread("ssh host iperf3, ControlMaster", iperf3_ms))
    print(table(["ms", "cells", "least", "median", "90 %", "most"], rows))
    median = statistics.median(costs_ms)
    verdict = Verdict(
        median <= MOST_MS, f"set-up cost a cell, median at most {MOST_MS:g} ms", f"{median:.1f} ms"
    )
    return finish(
        [verdict],
        f"set-up: median {median:.1f} ms a cell over {len(costs_ms)} cells (drain of UDP "
        f"{statistics.median(sum(cost.drains_ms) for cost in drains):.1f} ms apart); ssh iperf3 "
        f"over ControlMaster "
        f"{statistics.median(iperf3_ms):.1f} ms",
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one cell."""

    cost_ms: float
    parts_ms: tuple[float, ...]
    """In the order of ``PARTS``. Their sum is the cost."""
    drains_ms: tuple[float, ...]
    """In the order of ``DRAIN_PARTS``. Empty for TCP, which is closed by reset and has no drain."""


def netlab_costs(
    lab: LabState,
    scratch: Path,
    repeats: int,
    pairings: str = "[LL]",
    *,
    duration_s: float = DURATION_S,
) -> list[Cost]:
    """The costs of every cell except the first."""
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
    wall_ns = time.time_ns() - time.monotonic_ns()
    arrivals = list(_arrivals(matrix, lab, into))
    records = {(record.cell, record.trial): record for record in netlab.load(into).stored.records}
    began = {trial: _ns_of(record.started_at) - wall_ns for trial, record in records.items()}
    measured_ns = round((WARM_UP_S + duration_s) * 1e9)
    return [
        _cost(before_ns, began[trial], records[trial], end_ns, measured_ns)
        for (before_ns, _), (end_ns, trial) in itertools.pairwise(arrivals)
    ]


def _arrivals(matrix: Path, lab: LabState, into: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    """When each record of a run was written, by the monotonic clock, and its trial."""
    words = [*NETLAB, *run_words(matrix, lab.hosts_file, into, "--json")]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None and run.stderr is not None
        for line in run.stdout:
            now_ns, event = time.monotonic_ns(), json.loads(line)
            if event["status"] != "ok":
                raise SystemExit(f"a cell is not ok: {line}")
            yield now_ns, (event["cell"], event["trial"])
        if run.wait():
            raise SystemExit(run.stderr.read())


def _cost(before_ns: int, began_ns: int, record: Record, end_ns: int, measured_ns: int) -> Cost:
    """The cost of a cell, from the time of the previous record, of its begin and of its own record.

    ``measured_ns``: warm-up and window, which are not a part of the cost.
    """
    number = {name: int(str(record.values[name])) for name in _TIMES}
    sends_ns = number["sender_first_send_ns"]
    closes_ns = number["receiver_window_open_ns"] + number["receiver_elapsed_ns"]
    has_drain = record.settings["protocol"] == "UDP"
    drain_ns = number["receiver_drain_ns"] if has_drain else 0
    parts = (
        began_ns - before_ns,
        sends_ns - began_ns,
        closes_ns - sends_ns - measured_ns,
        end_ns - closes_ns - drain_ns,
    )
    told_ns = min(drain_ns, max(0, number["sender_last_send_ns"] - closes_ns))
    drains = (told_ns, drain_ns - told_ns) if has_drain else ()
    in_ms = [tuple(time_ns / 1e6 for time_ns in times_ns) for times_ns in (parts, drains)]
    return Cost(sum(in_ms[0]), *in_ms)


_TIMES = (
    "sender_first_send_ns",
    "sender_last_send_ns",
    "receiver_window_open_ns",
    "receiver_elapsed_ns",
    "receiver_drain_ns",
)


def _ns_of(wall_clock: str) -> int:
    return round(datetime.datetime.fromisoformat(wall_clock).timestamp() * 1e9)


def iperf3_costs_ms(lab: LabState, count: int) -> list[float]:
    """Wall time of `ssh HOST iperf3 -c … -t 1` in ms, without the second of its measurement."""
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
                time.sleep(1.0)  # the start of the server is not timed
                command = [*words, *iperf3_client(server.addresses[0])]
                return [timed_ms(command, of_it_s=1.0) for _ in range(count)]
        finally:
            listening.kill()


@contextmanager
def kept_connection(lab: LabState, host: str) -> Iterator[list[str]]:
    """Keep an ssh connection to a host open, and yield the ssh command line that uses it."""
    with tempfile.TemporaryDirectory() as folder:
        ssh = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes"]
        prefix = [*ssh, "-o", f"ControlPath={folder}/%h"]
        master = [*prefix, "-o", "ControlMaster=yes", "-o", "ControlPersist=60", "-Nf", host]
        subprocess.run(master, check=True, capture_output=True, timeout=30)
        try:
            yield [*prefix, host]
        finally:
            leave = [*prefix, "-O", "exit", host]
            subprocess.run(leave, check=False, capture_output=True, timeout=30)


def iperf3_client(to: str) -> list[str]:
    return ["iperf3", "-c", to, "-t", "1", "-l", "1448", "-w", "64K", "-C", "cubic", "-J"]


def timed_ms(argv: list[str], of_it_s: float = 0.0) -> float:
    """The time in ms that a program runs, without the ``of_it_s`` seconds that it is told to
    measure.
    """
    begin = time.monotonic()
    process = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    elapsed_s = time.monotonic() - begin
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)}: {process.stdout}{process.stderr}")
    return (elapsed_s - of_it_s) * 1e3


def spread(name: str, values: list[float]) -> list[str]:
    ranking = sorted(values)
    upper = ranking[min(len(ranking) - 1, int(0.9 * len(ranking)))]
    figures = (ranking[0], statistics.median(ranking), upper, ranking[-1])
    return [name, str(len(values)), *(f"{figure:.1f}" for figure in figures)]


if __name__ == "__main__":
    sys.exit(main())
