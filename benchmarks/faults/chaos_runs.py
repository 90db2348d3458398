"""Measures runs with a random fault every few seconds, and checks the results: for chaos.py."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fault_runs import MEASURING_LEFT_S, Bench, bench_in, by_status, wrong_ok

from benchmarks.faults.chaos_faults import ChaosSite, LiveFault, chaos_site
from benchmarks.faults.chaos_kills import shown
from benchmarks.stage import Verdict
from netlab.errors import NetlabError
from netlab.findings.analysis import Analysis
from netlab.trial.record import Record, Status

MATRIX = """\
title: faults while it goes on
hosts:
  {left}
  {right}
pairings: [{a}+{b}, {b}+{a}]
order: shuffled
seed: 1
repeats: {repeats}
# What a hypervisor takes is no fault of these.
quiet: {{steal: 2 %, tries: 4}}
defaults: {{duration: {seconds:g}s}}
tests:
  - {{test: stream, protocol: TCP, message_size: 1448{tcp}}}
  - {{test: stream, protocol: UDP, message_size: 1448, rate: 10Mbit}}
"""
REPEATS, CLEAN_REPEATS = 3, 6
PAUSE_S = (0.5, 4.0)
"""Range of the pause between two faults."""
FAULTS_S = 60.0
"""Time in which faults are injected. After that the run must end."""
END_S = 240.0
"""Longest time from the last fault to the end of the run, with all waits of netlab."""
TRIAL = timedelta(seconds=60)
"""How long a trial may take at most, with all its waits."""
MAY_END = (0, 3, 4)
"""Allowed exit statuses: everything measured; some failed or pending; a host away."""
UNTRUE = ("measured by", "Traceback")
"""Texts that must not be printed in these runs. There is no other controller that measures."""


@dataclass(slots=True)
class Harm:
    """The results of the faults, over all runs."""

    runs: int = 0
    not_begun: int = 0
    """Runs that ended before their first trial because a host was away."""
    faults: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    """Number of trials at the end of the runs with faults, by status and reason."""
    took_s: list[float] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    """Trials that were not measured although every fault was over."""
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    """Results that the check would call wrong in a run without a fault."""

    def verdicts(self) -> list[Verdict]:
        """One verdict for each statement that must hold."""
        longest = max(self.took_s, default=0.0)
        return [
            Verdict(not self.noise, "a run without a fault is not wrong", shown(self.noise)),
            Verdict(
                not self.unended,
                "every run ends by itself",
                f"{shown(self.unended)}; the longest took {longest:.0f} s",
            ),
            Verdict(
                not self.untrue,
                "every cell is measured or has its true reason",
                shown(self.untrue),
            ),
            Verdict(not self.away, "a host that comes back is waited for", shown(self.away)),
            Verdict(not self.wrong, "no wrong `ok`", shown(self.wrong)),
            Verdict(not self.lost, "resumed without a fault, every cell is ok", shown(self.lost)),
            Verdict(not self.alive, "no probe is left", shown(self.alive)),
        ]


@contextmanager
def _prepared(scratch: Path, seconds: float) -> Iterator[tuple[Bench, ChaosSite]]:
    with chaos_site(scratch) as site, bench_in(scratch) as bench:
        left, right = site.hosts
        words = {
            "left": left.line(),
            "right": right.line(),
            "a": left.name,
            "b": right.name,
            "seconds": seconds,
            "tcp": "" if left.namespace else ", rate: 10Mbit",
        }
        for name, repeats in (("matrix", REPEATS), ("clean", CLEAN_REPEATS)):
            text = MATRIX.format(repeats=repeats, **words)
            (scratch / f"{name}.yaml").write_text(text)
        yield bench, site


def _start(bench: Bench, matrix: str, into: str) -> subprocess.Popen[str]:
    log = (bench.folder / f"{into}.log").open("ab")
    with log:
        return bench.start(
            *("run", matrix, "--into", into, "--no-report"), stdout=subprocess.DEVNULL, stderr=log
        )


def _said(bench: Bench, into: str) -> str:
    return (bench.folder / f"{into}.log").read_text(errors="replace").strip()


def hurt_all(scratch: Path, first: int, runs: int, seed: int, seconds: float) -> Harm:
    """Measure ``runs`` runs with faults, numbered from ``first`` upwards. Prints a line per run."""
    harm = Harm()
    with _prepared(scratch, seconds) as (bench, site):
        clean = _clean(bench, "clean")
        # If the check calls results of a run without a fault wrong, it cannot be trusted.
        harm.noise = wrong_ok(clean, _clean(bench, "matrix"))
        for number in range(first, first + runs):
            chance = random.Random(f"{seed}-{number}")  # noqa: S311 - what can be repeated
            Hurt(bench, site, f"hurt{number}", chance, harm).go_through(clean)
            harm.runs += 1
    return harm


def _by_cell(complaints: list[str]) -> dict[str, str]:
    """The first complaint about each cell: a trial has many figures. Complaints begin with the
    cell's key.
    """
    return {complaint.split()[0]: complaint for complaint in reversed(complaints)}


def _clean(bench: Bench, matrix: str) -> Analysis:
    """A run without a fault; SystemExit if it does not measure everything."""
    into = f"clean-{matrix}"
    child = _start(bench, f"{matrix}.yaml", into)
    if child.wait(END_S) != 0:
        raise SystemExit(f"the run without a fault: {_said(bench, into)}")
    return bench.load(into)


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that was injected, with its times by the wall clock."""

    fault: LiveFault
    host: str
    began: datetime
    ended: datetime

    def explains(self, record: Record) -> bool:
        """Whether the fault explains the reason of a trial, by its kind and its time."""
        at = datetime.fromisoformat(record.started_at)
        is_then = self.began - TRIAL <= at <= self.ended + timedelta(seconds=self.fault.after_s)
        return is_then and record.reason in self.fault.reasons


@dataclass
class Hurt:
    """One run with faults."""

    bench: Bench
    site: ChaosSite
    into: str
    chance: random.Random
    harm: Harm
    done: list[Done] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """A text for each fault, with its time."""

    def go_through(self, clean: Analysis) -> None:
        """Run with faults, check the results, resume without faults, check again."""
        began = time.monotonic()
        child = _start(self.bench, "matrix.yaml", self.into)
        self._hurt(child, began)
        code = self._end_of(child)
        took_s = time.monotonic() - began
        self.harm.took_s.append(took_s)
        status_counts = self._judge(code, clean)
        words = ", ".join(f"{count} {word}" for word, count in sorted(status_counts.items()))
        print(f"{self.into}: {took_s:.0f} s, {words}; {'; '.join(self.told)}", flush=True)
        self._resume(clean)

    def _hurt(self, child: subprocess.Popen[str], began: float) -> None:
        def wait(seconds: float) -> None:
            end = time.monotonic() + seconds
            while child.poll() is None and time.monotonic() < end:
                time.sleep(0.01)

        while child.poll() is None and time.monotonic() - began < FAULTS_S:
            wait(self.chance.uniform(*PAUSE_S))
            fault, host = self.site.draw(self.chance)
            if child.poll() is not None:
                break
            moment_s = time.monotonic() - began
            fault_began = datetime.now(UTC)
            words = fault.deed(host, self.chance, wait)
            if not words:
                continue
            self.done.append(Done(fault, host.name, fault_began, datetime.now(UTC)))
            self.told.append(f"{moment_s:.1f} s {host.name}: {words}")
            self.harm.faults[fault.deed.__name__] += 1

    def _end_of(self, child: subprocess.Popen[str]) -> int | None:
        """The exit status; ``None`` if the run did not end and was killed."""
        try:
            return child.wait(END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            self._complain(self.harm.unended, f"no end {END_S:g} s after the last fault")
            return None

    def _judge(self, code: int | None, clean: Analysis) -> Counter[str]:
        output = _said(self.bench, self.into)
        if code is not None and code not in MAY_END:
            self._complain(self.harm.unended, f"exit status {code}: {output[-300:]}")
        for phrase in UNTRUE:
            if phrase in output:
                self._complain(self.harm.untrue, f"it says {phrase!r}: {output[-300:]}")
        if not (self.bench.folder / self.into / "run.json").exists():
            return self._judge_start(code, output)
        run = self._load()
        if run is None:
            return Counter({"unreadable": 1})
        for complaint in _by_cell(wrong_ok(clean, run)).values():
            self._complain(self.harm.wrong, complaint)
        status_counts = Counter(f"{r.status} {r.reason or ''}".strip() for r in run.latest.values())
        for record in run.latest.values():
            self._judge_record(record)
        if not run.latest:
            return self._judge_start(code, output)
        gap_count = sum(by_status(run).values()) - len(run.latest)
        if gap_count:
            status_counts["without a record"] = gap_count
            self._complain(self.harm.away, f"exit status {code}, {gap_count} without a record")
        self.harm.statuses += status_counts
        return status_counts

    def _judge_start(self, code: int | None, output: str) -> Counter[str]:
        """Check that a run that could not begin names a host to which a fault was applied."""
        if code != 4 or not any(f"{deed.host}: " in output for deed in self.done):
            self._complain(self.harm.untrue, f"exit status {code} without a trial: {output[-300:]}")
        self.harm.not_begun += 1
        return Counter({"run that could not begin": 1})

    def _judge_record(self, record: Record) -> None:
        description = f"{record.status} {record.reason}: {record.detail}"
        if any(phrase in description for phrase in UNTRUE):
            self._complain(self.harm.untrue, description)
        elif record.status is Status.PENDING:
            self._complain(self.harm.away, description)
        elif record.status is not Status.OK and (
            record.status is Status.IMPOSSIBLE
            or not any(deed.explains(record) for deed in self.done)
        ):
            self._complain(self.harm.untrue, description)

    def _load(self) -> Analysis | None:
        try:
            return self.bench.load(self.into)
        except NetlabError as error:
            self._complain(self.harm.lost, f"its folder cannot be read: {error}")
            return None

    def _resume(self, clean: Analysis) -> None:
        """Resume without faults, and check that every cell is measured and no probe is left."""
        child = _start(self.bench, "matrix.yaml", self.into)
        code = self._end_of(child)
        run = self._load()
        if run is not None:
            status_counts = by_status(run)
            if code != 0 or set(status_counts) != {"ok"}:
                output = _said(self.bench, self.into)
                self._complain(self.harm.lost, f"resumed: {code}, {status_counts}: {output[-300:]}")
            for cell, complaint in _by_cell(wrong_ok(clean, run)).items():
                if not any(cell in entry for entry in self.harm.wrong if self.into in entry):
                    self._complain(self.harm.wrong, f"resumed: {complaint}")
        for pid in self.bench.probes_left(MEASURING_LEFT_S):
            self._complain(self.harm.alive, f"process {pid}")

    def _complain(self, complaints: list[str], complaint: str) -> None:
        complaints.append(f"{self.into}: {complaint}")
        print(f"  NOT MET {self.into}: {complaint}", flush=True)
