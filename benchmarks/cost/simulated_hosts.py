"""Measures a controller of a thousand simulated hosts: `make benchmark-simulated-hosts`.

The hosts are simulated agents in helper processes; nothing is sent between them. They answer with
the records of a real probe after a short delay. All else is real: the plan, the connections, the
locks, the check of each pair, the rounds, the journal. The figures are those of this process. There
are three parts: `netlab plan` for the pairs; a run with one round trip cell for each pair; and a
run with one stream for each two hosts, all in one round and in one common window.
``--hosts N`` and ``--pairs N`` set the numbers.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.cost.many_hosts import inventory
from benchmarks.cost.simulated.transports import COUNT, Farm, simulated_hosts
from benchmarks.stage import NETLAB, ROOT, Verdict, finish
from netlab.cli import COLLECTOR_THRESHOLDS
from netlab.runner import run as room
from netlab.runner.host_agents import HostAgents
from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

PLAN_MOST_S, CONNECT_MOST_S = 5.0, 60.0
MEMORY_MOST_BYTES = 1_500_000_000
RECORDS_LEAST_PER_S = 300.0
SEED = 1


def matrix_of(pairs: list[tuple[str, str]], test: str) -> str:
    """A matrix with one cell for each pair of hosts."""
    pairings = "".join(f"  - {server}+{client}\n" for server, client in pairs)
    return f"title: simulated hosts\npairings:\n{pairings}parallel: true\ntests: [{test}]\n"


ROUND_TRIPS = f"{{test: round_trip, protocol: UDP, message_size: 64, count: {COUNT}}}"
STREAM = "{test: stream, protocol: UDP, message_size: 64, rate: 1Mbit, duration: 1s}"


def random_pairs(hosts: int, pairs: int) -> list[tuple[str, str]]:
    """Different ordered pairs of two hosts; the same for each call."""
    chance = random.Random(SEED)  # noqa: S311  (not for secrets)
    chosen: dict[tuple[str, str], None] = {}
    while len(chosen) < min(pairs, hosts * (hosts - 1)):
        server, client = chance.sample(range(hosts), 2)
        chosen[f"h{server}", f"h{client}"] = None
    return list(chosen)


def neighbours(hosts: int) -> list[tuple[str, str]]:
    """Each host in one pair."""
    return [(f"h{n}", f"h{n + 1}") for n in range(0, hosts - 1, 2)]


@dataclass
class Times:
    """Wall time and CPU time of some steps of a run, in seconds, and the most threads."""

    wall_s: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)
    threads_most: int = 0
    threads_connected: int = 0
    records: int = 0

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call``, with its times noted under ``name``."""

        def noted(*args: Any, **keys: Any) -> Any:
            began_s, cpu_began_s = time.perf_counter(), time.process_time()
            try:
                return call(*args, **keys)
            finally:
                self.wall_s[name] = time.perf_counter() - began_s
                self.cpu_s[name] = time.process_time() - cpu_began_s
                self.threads_connected = threading.active_count()

        return noted

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the times of the steps, and count the threads, within the context."""
        ended = threading.Event()

        def count() -> None:
            while not ended.wait(0.05):
                self.threads_most = max(self.threads_most, threading.active_count())

        steps = [
            (HostAgents, "open_all", "connect"),
            (HostAgents, "lock_all", "lock"),
            (HostPool, "_try_pairs", "check"),
            (room, "measure", "measure"),
            (HostPool, "note_facts", "facts"),
            (HostPool, "close", "close"),
        ]
        patches = [
            patch.object(owner, method, self.timed(name, getattr(owner, method)))
            for owner, method, name in steps
        ]
        for one in patches:
            one.start()
        counter = threading.Thread(target=count, daemon=True)
        counter.start()
        try:
            yield
        finally:
            ended.set()
            counter.join()
            for one in patches:
                one.stop()


def measured(folder: Path, matrix: str, name: str) -> Times:
    """The times of a run of ``matrix`` with the simulated hosts."""
    times = Times()
    file = folder / f"{name}.yaml"
    file.write_text(matrix)
    options = Options(matrix=file, hosts=folder / "hosts.yaml", into=folder / name)
    with times.watching():
        outcome = times.timed("run", run)(options, Progress(quiet=True))
    times.records = outcome.counts.get("ok", 0)
    return times


def planned_s(folder: Path, matrix: str) -> float:
    """Seconds that `netlab plan` takes."""
    file = folder / "planned.yaml"
    file.write_text(matrix)
    words = [*NETLAB, "plan", str(file), "--offline", "--hosts", str(folder / "hosts.yaml")]
    began_s = time.perf_counter()
    subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - began_s


def memory_bytes() -> int:
    """The most memory that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    """Plan, measure, print the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=5000)
    asked = parser.parse_args()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    before_bytes = memory_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hosts.yaml").write_text(inventory(asked.hosts))
        matrix = matrix_of(random_pairs(asked.hosts, asked.pairs), ROUND_TRIPS)
        plan_s = planned_s(folder, matrix)
        with simulated_hosts(folder) as farm:
            trips = measured(folder, matrix, "round-trips")
            memory = memory_bytes()
            streams = measured(folder, matrix_of(neighbours(asked.hosts), STREAM), "streams")
    verdicts = [
        Verdict(plan_s < PLAN_MOST_S, f"planned in {PLAN_MOST_S:g} s", f"{plan_s:.1f} s"),
        Verdict(
            memory < MEMORY_MOST_BYTES,
            f"less than {MEMORY_MOST_BYTES / 1e9:g} GB of memory",
            f"{memory / 1e6:.0f} MB",
        ),
        *verdicts_of_round_trips(trips, asked.pairs),
        *verdicts_of_streams(streams, asked.hosts // 2, farm),
    ]
    figures = {
        "hosts": asked.hosts,
        "pairs": asked.pairs,
        "plan_s": round(plan_s, 2),
        "wall_s": {step: round(took_s, 2) for step, took_s in trips.wall_s.items()},
        "cpu_s": {step: round(took_s, 2) for step, took_s in trips.cpu_s.items()},
        "records_per_s": round(trips.records / trips.wall_s["measure"]),
        "memory_bytes": memory,
        "memory_per_host_bytes": (memory - before_bytes) // asked.hosts,
        "threads_most": trips.threads_most,
        "streams_wall_s": round(streams.wall_s["measure"], 2),
        "requests": dict(farm.requests),
    }
    print(json.dumps(figures))
    return finish(
        verdicts,
        f"{asked.hosts} hosts, {asked.pairs} pairs: planned in {plan_s:.2f} s, "
        f"run in {trips.wall_s['run']:.2f} s, {trips.cpu_s['run']:.2f} s of CPU time; "
        f"{figures['records_per_s']} records/s, {memory / 1e6:.0f} MB, "
        f"at most {trips.threads_most} threads",
    )


def verdicts_of_round_trips(trips: Times, pairs: int) -> list[Verdict]:
    """Whether every pair has its record, in time."""
    connect_s = sum(trips.wall_s[step] for step in ("connect", "lock", "check"))
    per_s = trips.records / trips.wall_s["measure"]
    return [
        Verdict(
            connect_s < CONNECT_MOST_S,
            f"connected, locked and checked in {CONNECT_MOST_S:g} s",
            f"{connect_s:.1f} s",
        ),
        Verdict(trips.records == pairs, "no cell lost", f"{trips.records} records"),
        Verdict(
            per_s >= RECORDS_LEAST_PER_S,
            f"{RECORDS_LEAST_PER_S:g} records a second",
            f"{per_s:.0f} a second",
        ),
    ]


def verdicts_of_streams(streams: Times, pairs: int, farm: Farm) -> list[Verdict]:
    """Whether all pairs streamed at once, each from the common start on."""
    return [
        Verdict(
            streams.records == pairs and farm.flows == 2 * pairs,
            "every host streams in one round",
            f"{streams.records} streams",
        ),
        Verdict(
            farm.late_flows == 0,
            "every request of a stream comes before the common start",
            f"{farm.late_flows} late; the last one {farm.least_ahead_s or 0:.2f} s before",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
