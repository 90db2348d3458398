"""Two to eight controllers compete for the same hosts, many times: `make benchmark-locks`.

Each batch starts two to eight runs at once, each with random pairs of hosts in random order, and
with real agents: as root in network namespaces over SSH, otherwise two hosts on this machine. Some
runs do not wait for a host that is taken. The benchmark counts the hosts that a run got while
another run wanted them too. By the journals, which share one clock, a run holds its hosts from the
note of its session to the note of its end. It is checked that no two runs hold a host at the same
time, that each run that waits is measured to its end, and that each run that does not wait either
ends with 6 or is measured.

``--acquisitions``, ``--seed`` and ``--most`` (controllers of a batch) set the size. Everything is
in a temporary folder. 1,000 acquisitions take a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import Any

from fault_runs import Bench, bench_in

from benchmarks.faults.chaos_kills import shown
from benchmarks.stage import Verdict, a_lab, finish, table
from netlab.lab import missing_programs
from netlab.store.journal import read_journal

ACQUISITIONS, HOSTS, MOST = 1000, 4, 8
WAIT_S, END_S = 240.0, 300.0
"""How long a run waits for hosts; and the time after which a run without an end is a deadlock."""
IMPATIENT = 0.2
"""Share of the runs that do not wait."""
MATRIX = """\
title: contended
pairings: {pairings}
tests:
  - {{test: stream, protocol: UDP, message_size: 256, rate: 8Mbit, count: 200}}
"""
LOOPBACK = """\
hosts:
  one: {os: L, local: true}
  other: {os: L, local: true}
"""


@dataclass(frozen=True, slots=True)
class Hold:
    """A host and the run that held it, with the times by the clock that all controllers share."""

    host: str
    run: str
    began: datetime
    ended: datetime


@dataclass(frozen=True, slots=True)
class Contender:
    """One controller of a batch."""

    run: str
    hosts: frozenset[str]
    """The hosts that it locks."""
    waits: bool
    child: subprocess.Popen[str]


@dataclass(slots=True)
class Contest:
    """The results of all batches."""

    runs: int = 0
    turned_away: int = 0
    acquired: int = 0
    """Number of hosts that a run got although another run of its batch wanted them too."""
    batch_s: list[float] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One verdict for each statement that must hold."""
        return [
            Verdict(not self.overlaps, "no host has two controllers", shown(self.overlaps)),
            Verdict(not self.stuck, "nobody waits for ever", shown(self.stuck)),
            Verdict(
                not self.bad, "who waits is measured, who does not ends with 6", shown(self.bad)
            ),
        ]


def overlaps(holds: Iterable[Hold]) -> list[str]:
    """A sentence for each time that two runs held a host at once."""
    by_host: dict[str, list[Hold]] = defaultdict(list)
    for hold in holds:
        by_host[hold.host].append(hold)
    sentences = []
    for host, host_holds in by_host.items():
        host_holds.sort(key=lambda hold: hold.began)
        last = host_holds[0]
        for hold in host_holds[1:]:
            if hold.began < last.ended:
                sentences.append(f"{host}: {last.run} until {last.ended}, {hold.run} {hold.began}")
            last = max(last, hold, key=lambda candidate: candidate.ended)
    return sentences


def holds_of(folder: Path, lock_of: dict[str, str]) -> list[Hold]:
    """Which locks a run held, and when; empty if it measured nothing. ``lock_of``: host → its
    lock.
    """
    path = folder / "journal.jsonl"
    if not path.exists():
        return []
    lines = [line.data for line in read_journal(path)[0]]
    began = [line for line in lines if line["kind"] == "session"]
    if not began:
        return []
    ends = [line for line in lines if line["kind"] == "session-end"] or lines[-1:]
    first, last = _moment(began[0]), _moment(ends[-1])
    locks = {lock_of[name] for name in began[0]["data"]["hosts"]}
    return [Hold(lock, folder.name, first, last) for lock in sorted(locks)]


def _moment(line: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(line["at"])


@contextmanager
def hosts_in(folder: Path, count: int = HOSTS) -> Iterator[dict[str, str]]:
    """Write an inventory of hosts into ``folder``, and yield host name → what the host locks."""
    target = folder / "hosts.yaml"
    if os.geteuid() != 0 or missing_programs():
        target.write_text(LOOPBACK)
        yield {"one": "this machine", "other": "this machine"}
        return
    with a_lab(linux=count) as lab:
        assert lab.hosts_file is not None
        target.write_text(lab.hosts_file.read_text())
        yield {host.name: host.name for host in lab.hosts}


def contend(
    bench: Bench, lock_of: dict[str, str], controllers: int, chance: random.Random, batch: int
) -> list[Contender]:
    """Start ``controllers`` runs at once, and do not wait for them."""
    contenders = []
    pairs = list(permutations(sorted(lock_of), 2))
    for number in range(1, controllers + 1):
        run = f"batch{batch}-{number}"
        sample = chance.sample(pairs, min(len(pairs), chance.randint(1, 3)))
        matrix = bench.folder / f"{run}.yaml"
        pairings = [f"{server}+{client}" for server, client in sample]
        matrix.write_text(MATRIX.format(pairings=json.dumps(pairings)))
        waits = chance.random() >= IMPATIENT
        child = bench.start(
            *("run", matrix.name, "--hosts", "hosts.yaml", "--into", run, "--no-report"),
            *(("--wait", f"{WAIT_S:g}") if waits else ()),
            stdout=subprocess.DEVNULL,
        )
        hosts = frozenset(lock_of[name] for pair in sample for name in pair)
        contenders.append(Contender(run, hosts, waits, child))
    return contenders


def settle(
    bench: Bench, lock_of: dict[str, str], contenders: Sequence[Contender], contest: Contest
) -> None:
    """Wait for the end of the runs of a batch, and check them."""
    began, end = time.monotonic(), time.monotonic() + END_S
    holds = []
    for contender in contenders:
        contest.runs += 1
        try:
            output = contender.child.communicate(timeout=max(0.1, end - time.monotonic()))[1]
        except subprocess.TimeoutExpired:
            contest.stuck.append(f"{contender.run}: no end in {END_S:g} s")
            contender.child.kill()
            contender.child.communicate()
            continue
        had = holds_of(bench.folder / contender.run, lock_of)
        holds += had
        rival_hosts = frozenset().union(
            *(rival.hosts for rival in contenders if rival is not contender)
        )
        contest.acquired += sum(hold.host in rival_hosts for hold in had)
        code = contender.child.returncode
        if code == 6 and not contender.waits and not had:
            contest.turned_away += 1
        elif code != 0:
            contest.bad.append(f"{contender.run}: exit status {code}: {output.strip()[-300:]}")
    contest.overlaps += overlaps(holds)
    contest.batch_s.append(time.monotonic() - began)


def main() -> int:
    """Run the batches, print the verdicts. Returns the exit status."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--acquisitions", type=int, default=ACQUISITIONS)
    words.add_argument("--most", type=int, default=MOST, help="controllers of a batch")
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    contest, batch, began = Contest(), 0, time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="netlab-") as name,
        bench_in(Path(name)) as bench,
        hosts_in(bench.folder) as lock_of,
    ):
        while contest.acquired < arguments.acquisitions and not contest.stuck:
            batch += 1
            chance = random.Random(f"{arguments.seed}-{batch}")  # noqa: S311 - can be repeated
            controllers, earlier_count = chance.randint(2, arguments.most), contest.acquired
            contenders = contend(bench, lock_of, controllers, chance, batch)
            settle(bench, lock_of, contenders, contest)
            print(
                f"batch {batch}: {controllers} controllers, {contest.acquired - earlier_count} "
                f"acquisitions, over in {contest.batch_s[-1]:.1f} s",
                flush=True,
            )
    rows = [
        ("runs", str(contest.runs)),
        ("  turned away with 6", str(contest.turned_away)),
        ("contended acquisitions", str(contest.acquired)),
        ("seconds of a batch, median", f"{statistics.median(contest.batch_s):.1f}"),
        ("seconds of a batch, longest", f"{max(contest.batch_s):.1f}"),
    ]
    print(table(("what", "how many"), rows))
    return finish(
        contest.verdicts(),
        f"locks: {contest.acquired} contended acquisitions by {contest.runs} runs in {batch} "
        f"batches, {len(contest.overlaps)} overlaps, {len(contest.stuck)} deadlocks; "
        f"seed {arguments.seed}, {time.monotonic() - began:.0f} s",
    )


if __name__ == "__main__":
    sys.exit(main())
