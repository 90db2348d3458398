"""Times a run from the command to its first message, over SSH: `make benchmark-start`.

Every host has the probe already. Twenty hosts are in labs of four, each host with its own sshd and
cable. They are measured in ten pairs without a common host. The probes use this machine's clock, so
the time of the first send call can be compared with the time of the command. The times in the
journal divide the whole time into parts.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netlab
from benchmarks.cost.set_up import spread
from benchmarks.stage import NETLAB, ROOT, Verdict, a_lab, finish, run_words, table
from netlab.lab import LabState

MOST_S = {2: 1.5, 20: 5.0}
HOSTS_A_LAB = 4
MATRIX = """\
title: The start of a run
link: {{rate: 100Mbit, mtu: 1500}}
pairings: [{pairings}]
parallel: true
defaults: {{duration: 0.3s, warm_up: 0.1s, congestion: cubic}}
tests: [{{test: stream, protocol: TCP, message_size: 1448, socket_buffer: 64KiB}}]
"""
PARTS = ("command to folder", "to hosts ready", "to facts noted", "to first message")


@dataclass(frozen=True, slots=True)
class Start:
    """The times of the start of one run."""

    whole_s: float
    parts_s: tuple[float, ...]
    """In the order of ``PARTS``."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=7)
    words.add_argument("--hosts", type=int, nargs="*", default=list(MOST_S), choices=list(MOST_S))
    arguments = words.parse_args()
    verdicts, figures = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for hosts in arguments.hosts:
            with labs(hosts) as lab_states:
                run_starts = starts(lab_states, Path(scratch), arguments.rounds)
            whole_s = [run_start.whole_s for run_start in run_starts]
            rows = [spread("command to first message", [1e3 * time_s for time_s in whole_s])]
            for number, part in enumerate(PARTS):
                rows.append(
                    spread(
                        f"  {part}", [1e3 * run_start.parts_s[number] for run_start in run_starts]
                    )
                )
            print(table([f"{hosts} hosts, ms", "runs", "least", "median", "90 %", "most"], rows))
            median_s = statistics.median(whole_s)
            criterion = f"first cell of {hosts} hosts, median at most {MOST_S[hosts]:g} s"
            verdicts.append(Verdict(median_s <= MOST_S[hosts], criterion, f"{median_s:.2f} s"))
            figures.append(f"{median_s:.2f} s on {hosts} hosts")
    return finish(verdicts, f"command to the first cell's first message: {', '.join(figures)}")


@contextmanager
def labs(hosts: int) -> Iterator[list[LabState]]:
    """Make this number of hosts, in labs of at most four."""
    with ExitStack() as stack:
        lab_states = []
        for number in range(-(-hosts // HOSTS_A_LAB)):
            host_count = min(HOSTS_A_LAB, hosts)
            wish: dict[str, Any] = {"name": f"start-{number}", "linux": host_count}
            lab_states.append(stack.enter_context(a_lab(100e6, **wish)))
        yield lab_states


def starts(lab_states: Sequence[LabState], scratch: Path, rounds: int) -> list[Start]:
    """The starts of ``rounds`` runs. An earlier run copies the probe to the hosts."""
    inventory, pairings = scratch / "hosts.yaml", []
    lines = ["hosts:"]
    for number, lab in enumerate(lab_states):
        names = [host.name for host in lab.hosts]
        text = Path(str(lab.hosts_file)).read_text(encoding="utf-8").partition("hosts:\n")[2]
        for name in names:
            text = text.replace(f"  {name}:\n", f"  {name}-{number}:\n")
        lines.append(text.rstrip("\n"))
        pairs = zip(names[::2], names[1::2], strict=True)
        pairings += [f"{server}-{number}+{client}-{number}" for server, client in pairs]
    inventory.write_text("\n".join(lines) + "\n", encoding="utf-8")
    matrix = scratch / "start.yaml"
    matrix.write_text(MATRIX.format(pairings=", ".join(pairings)), encoding="utf-8")
    run_starts = []
    for number in range(rounds + 1):
        into = scratch / f"run-{len(lab_states)}-{number}"
        run_starts.append(start_of(matrix, inventory, into))
    return run_starts[1:]


def start_of(matrix: Path, inventory: Path, into: Path) -> Start:
    """Run once, and return the times until its first message was sent."""
    wall_s, began_ns = time.time(), time.monotonic_ns()
    words = [*NETLAB, *run_words(matrix, inventory, into, "--quiet")]
    process = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(process.stderr)
    run = netlab.load(into)
    first_ns = min(int(str(record.values["sender_first_send_ns"])) for record in run.stored.records)
    whole_s = (first_ns - began_ns) / 1e9
    noted = {
        note.kind: datetime.datetime.fromisoformat(note.at).timestamp() - wall_s
        for note in reversed(run.stored.notes)
    }
    times = (0.0, noted["journal"], noted["session"], noted["attempt"], whole_s)
    return Start(whole_s, tuple(end - begin for begin, end in itertools.pairwise(times)))


if __name__ == "__main__":
    sys.exit(main())
