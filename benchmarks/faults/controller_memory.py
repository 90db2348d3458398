"""Measures a controller's memory for 50,000 trials: `make benchmark-controller-memory`.

The run has 10,000 cells with 5 trials each. The agents are simulated: each answers at once, with
results as long as those of a real probe. Everything else is the real controller: conversations,
records, the journal, and their state in memory. Then the run is opened again, as for a resume. Both
must need less than 300 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.stage import ROOT, Verdict, finish
from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import LOOPBACK, Host
from netlab.experiment.matrix import expand
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import measure as measure_all
from netlab.runner.session import Session, Work, outstanding
from netlab.store.journal import read_journal
from netlab.store.plan import plan_of
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record

MOST_BYTES = 300e6
CELLS, TRIALS = 10_000, 5
BUFFERS = ("auto", "64KiB", "128KiB", "256KiB", "512KiB")
MODULE = "benchmarks.faults.controller_memory"
RECORDED = ROOT / "tests" / "fixtures" / "limits-linux" / "journal.jsonl"
MATRIX = """\
title: many cells
hosts: {{a: {{local: true}}, b: {{local: true}}}}
pairs: {{LL: [a, b]}}
pairings: [LL]
repeats: {trials}
defaults: {{duration: 1s}}
tests:
  - {{test: stream, protocol: UDP, message_size: {sizes}, socket_buffer: [{buffers}]}}
"""


def results() -> dict[str, dict[str, Any]]:
    """Recorded results of a real receiver and a real sender, by their verbs."""
    lines, _ = read_journal(RECORDED)
    values = next(
        line.data["values"]
        for line in lines
        if line.data.get("kind") == "record" and line.data["settings"]["protocol"] == "UDP"
    )
    return {
        verb: {
            name.removeprefix(prefix): value
            for name, value in values.items()
            if name.startswith(prefix)
        }
        for verb, prefix in (("receive", "receiver_"), ("send", "sender_"))
    }


class FakeAgent:
    """Answers at once, with new copies of the recorded results, as if each came in a line of its
    own.
    """

    skipped_lines = 0

    def __init__(self, name: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
        self.host = Host(name=name, os="L", local=True, addresses={"loopback": LOOPBACK})
        self.hello = {"capabilities": "stream,tcp,udp"}
        self._said = {verb: json.dumps(record) for verb, record in answers.items()}
        self._running: dict[str, tuple[Callable[..., None], Any, str]] = {}
        self._number = 0

    def start(self, verb: str, *, inbox: Any = None, **keys: Any) -> Any:
        self._number += 1
        pending = SimpleNamespace(id=str(self._number))
        if verb == "stop":
            tell, question, verb = self._running.pop(keys["test"])
            tell(question, {"type": "result"} | json.loads(self._said[verb]))
            return pending
        self._running[pending.id] = inbox, pending, verb
        if keys["open"] == "listen":
            inbox(pending, {"type": "ready", "port": 5001})
        if verb == "receive":
            inbox(pending, {"type": "window"})
        return pending


class FakePool:
    """Two hosts that can always be reached."""

    def __init__(self) -> None:
        answers = results()
        self.server, self.client = (FakeAgent(name, answers) for name in ("a", "b"))

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        return frozenset({"a", "b"})

    def match_of(self, pairing: str) -> Any:
        raise KeyError(pairing)

    def agents_of(self, cell: Cell) -> tuple[Agent, ...]:
        return ()

    def reason_not_to_measure(self, cell: Cell) -> None:
        return None

    def ends(self, cell: Cell) -> Ends:
        server, client = cast(Agent, self.server), cast(Agent, self.client)
        return Ends(server=server, client=client, same_host=True)

    def is_away(self, cell: Cell) -> bool:
        return False

    def ask_again(self) -> None:
        """Does nothing, because no host is ever away."""

    def next_ask_s(self, cells: object, patience_s: float) -> None:
        return None

    def check_path_again(self, record: Record, cell: Cell) -> Record:
        """The record as it is, because the path always works."""
        return record

    def returned(self) -> frozenset[str]:
        return frozenset()

    def close(self) -> None:
        """Does nothing, because nothing is open."""


def measure(into: Path, cells: int, trials: int) -> None:
    """Measure all outstanding trials, and print the most resident memory, in bytes, as JSON.

    This runs in its own process.
    """
    sizes = [100 + number for number in range(-(-cells // len(BUFFERS)))]
    file = into.parent / "matrix.yaml"
    file.write_text(MATRIX.format(trials=trials, sizes=sizes, buffers=", ".join(BUFFERS)))
    matrix = load_matrix(file)
    all_cells = expand(matrix)
    with RunFolder.open_for_writing(into, plan_of(matrix, all_cells)) as folder:
        folder.note("session")
        progress = Progress()
        due_trials: tuple[Trial, ...] = outstanding(folder, all_cells, frozenset())
        progress.begin(folder.path, due_trials, measured_count=0, matrix=matrix)
        session = Session(
            folder=folder,
            pool=cast(HostPool, FakePool()),
            matrix=matrix,
            progress=progress,
            options=Options(matrix=file, retries=0),
            work=Work(all_cells, due_trials, frozenset()),
        )
        measure_all(session)
        print(json.dumps({"cells": len(all_cells), "left": len(due_trials), "bytes": peak_bytes()}))


def peak_bytes() -> int:
    """The most resident memory that this process had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--cells", type=int, default=CELLS)
    words.add_argument("--trials", type=int, default=TRIALS)
    words.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    arguments = words.parse_args()
    if arguments.into is not None:
        measure(arguments.into, arguments.cells, arguments.trials)
        return 0
    verdicts = []
    with tempfile.TemporaryDirectory() as scratch:
        for stage in ("measured", "opened again"):
            began = time.monotonic()
            size_words = ["--into", f"{scratch}/run", "--cells", str(arguments.cells)]
            process = subprocess.run(
                [sys.executable, "-m", MODULE, *size_words, "--trials", str(arguments.trials)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            figures = json.loads(process.stdout)
            took_s = time.monotonic() - began
            print(
                f"{figures['cells']} cells x {arguments.trials} trials, {figures['left']} {stage}: "
                f"{figures['bytes'] / 1e6:.0f} MB at most, {took_s:.0f} s"
            )
            most = f"{figures['bytes'] / 1e6:.0f} MB"
            verdicts.append(Verdict(figures["bytes"] < MOST_BYTES, f"{stage} in 300 MB", most))
        size = (Path(scratch) / "run" / "journal.jsonl").stat().st_size
    return finish(
        verdicts, f"{arguments.cells} cells x {arguments.trials}, journal {size / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
