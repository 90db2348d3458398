"""Runs with a fault and runs without: how they are started, and when a result would be wrong.

A test of tests/faults injects one fault into a run through the command line. What it may not be:
a record that is ``ok``, without a warning about its cell, and more than 5 % outside the interval
of a clean run; a run that does not end; a probe that outlives its lease.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netlab.experiment.hosts import local_os
from netlab.findings.analysis import Analysis, load
from netlab.stats import MIN_TRIALS, interval
from netlab.trial.record import Record, Status

if TYPE_CHECKING:
    from sshd import Sshd

FIGURES = ("throughput_bit_per_s", "sent_bit_per_s", "rtt_mean_ns")
"""Endings of the values that a report shows as results."""
BEYOND = 0.05
"""Of a clean run's interval: further outside a result is wrong."""
LEASE_S = 12.0
IDLE_LEFT_S = LEASE_S + 5
MEASURING_LEFT_S = 65.0
"""How long a probe may live after its controller's last line: idle, or where a trial ran."""

LOCAL = "{local: true}"
PACED = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 20Mbit}"
"""Tests whose figures are the same on every machine, for faults that are not of the data's way."""


def at(server: Sshd, test: str = "127.0.0.1", **more: str) -> str:
    """A host of the inventory: this machine, or a namespace of it, by way of a real sshd."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    words = {"os": local_os(), "ssh": f"{user}@{server.address}:{server.port}"} | more
    inside = ", ".join(f"{key}: {value}" for key, value in words.items())
    return f"{{{inside}, addresses: {{test: {test}}}}}"


@dataclass
class Bench:
    """A folder in which netlab is run as a person runs it, with a home of its own."""

    folder: Path
    program: tuple[str, ...] = ("-m", "netlab")
    """What Python runs: netlab, or a program around it."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Of the person: ``.ssh`` and the cache are in it."""
        return self.folder / "home"

    def matrix(
        self,
        tests: str = "{test: stream, protocol: [TCP, UDP], message_size: 1448}",
        *,
        server: str = LOCAL,
        client: str = LOCAL,
        name: str = "matrix.yaml",
        **top: str,
    ) -> Path:
        """Write a matrix of one pairing; ``top`` are further keys, such as ``repeats="3"``."""
        pairing = 2 * local_os()
        defaults = top.pop("defaults", "{duration: 200ms}")
        lines = [
            "title: a fault",
            f"hosts: {{server: {server}, client: {client}}}",
            f"pairs: {{{pairing}: [server, client]}}",
            f"pairings: [{pairing}]",
            f"defaults: {defaults}",
            *(f"{key}: {value}" for key, value in top.items()),
            f"tests: [{tests}]",
        ]
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def start(
        self, *words: str, env: Mapping[str, str] | None = None, **popen: object
    ) -> subprocess.Popen[str]:
        """Start ``netlab words…``; it is killed at the test's end where it still runs."""
        child = subprocess.Popen(  # type: ignore[call-overload]
            [sys.executable, *self.program, *words],
            **{
                "cwd": self.folder,
                "env": os.environ | {"HOME": str(self.home)} | dict(env or {}),
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **popen,
            },
        )
        self.started.append(child)
        return child  # type: ignore[no-any-return]

    def run(
        self, *words: str, timeout_s: float = 300, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``netlab words…`` to its end, which comes by itself."""
        child = self.start(*words, env=env)
        out, err = child.communicate(timeout=timeout_s)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)

    def load(self, into: str = "out") -> Analysis:
        """What a run left."""
        return load(self.folder / into)

    def probes(self) -> list[int]:
        """Agents of this test's runs."""
        return probes_of(self.folder)

    def probes_left(self, within_s: float = IDLE_LEFT_S) -> list[int]:
        """Those that still live after a time; empty as soon as none does."""
        give_up = time.monotonic() + within_s
        while (process_ids := self.probes()) and time.monotonic() < give_up:
            time.sleep(0.05)
        return process_ids

    def wait_for(self, text: str, into: str = "out", timeout_s: float = 120.0) -> None:
        """Until a text is in the journal of a run, such as ``"kind":"attempt"``."""
        journal = self.folder / into / "journal.jsonl"
        give_up = time.monotonic() + timeout_s
        while time.monotonic() < give_up:
            if journal.exists() and text in journal.read_text("utf-8", "replace"):
                return
            time.sleep(0.01)
        raise AssertionError(f"no {text} in {journal} within {timeout_s:g} s")


@contextmanager
def bench_in(folder: Path) -> Iterator[Bench]:
    """A bench whose runs are over at the end."""
    new_bench = Bench(folder)
    new_bench.home.mkdir(exist_ok=True)
    try:
        yield new_bench
    finally:
        for child in new_bench.started:
            if child.poll() is None:
                child.kill()
                child.communicate()
            for pipe in (child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()


def probes_of(folder: Path) -> list[int]:
    """Agents that a test's runs started: they work in its folder, or their file is in it."""
    process_ids = []
    for entry in Path("/proc").iterdir():
        try:
            program = (entry / "exe").readlink()
            places = (program, (entry / "cwd").readlink())
        except (OSError, ValueError):
            continue
        ours = any(place.is_relative_to(folder) for place in places)
        if ours and program.name.startswith("netprobe"):
            process_ids.append(int(entry.name))
    return process_ids


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench whose runs are over and whose probes are gone at the end."""
    with bench_in(tmp_path) as new_bench:
        yield new_bench
    assert new_bench.probes_left() == []


def figures_of(record: Record) -> Iterator[tuple[str, float]]:
    """The results of a trial that a report shows."""
    for name, value in record.values.items():
        if name.endswith(FIGURES) and isinstance(value, int | float) and not name.startswith("p"):
            yield name, float(value)


def wrong_ok(clean: Analysis, faulty: Analysis) -> list[str]:
    """Results of a faulty run that nobody would know to be wrong; a sentence each.

    The interval is that of the clean run's mean at 95 % (Student's t), or where that is wider, from
    its smallest to its largest trial.
    """
    clean_values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in clean.latest.values():
        for name, value in figures_of(record):
            clean_values[record.cell, name].append(value)
    warned = {
        key for finding in faulty.findings if finding.severity == "warning" for key in finding.cells
    }
    sentences = []
    for record in faulty.latest.values():
        if record.status is not Status.OK or record.cell in warned:
            continue
        for name, value in figures_of(record):
            values = clean_values[record.cell, name]
            bounds = interval(values) if len(values) >= MIN_TRIALS else None
            low = min([*values, *([bounds.low] if bounds else [])])
            high = max([*values, *([bounds.high] if bounds else [])])
            if not low * (1 - BEYOND) <= value <= high * (1 + BEYOND):
                sentences.append(f"{record.cell} {name}: {value:g}, clean {low:g} to {high:g}")
    return sentences


def by_status(run: Analysis) -> dict[str, int]:
    """Planned trials by how they stand; one without a record is ``pending``."""
    counts: dict[str, int] = defaultdict(int)
    for cell in run.plan.cells:
        for number in range(1, (cell.repeats or run.plan.repeats) + 1):
            record = run.latest.get((cell.key, number))
            counts["pending" if record is None else record.status.value] += 1
    return dict(counts)
