"""Runs over the cables of a virtual lab, in which a test breaks something on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fault_runs import Bench
from labs import first_on_the_cpus

from netlab import lab
from netlab.findings.analysis import Analysis
from netlab.lab import programs
from netlab.lab.plan import LabOptions

RATE_BIT_PER_S = 20e6
"""Slow enough for a busy machine to fill the cable."""

SERVER, CLIENT = "linux-a", "linux-b"
"""Hosts of a lab of two, by their part in ``lab_matrix``."""


@contextmanager
def lab_of(**options: Any) -> Iterator[lab.LabState]:
    """A lab of this process alone, first on the CPUs, gone at the end."""
    name = f"f{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, **{"rate": RATE_BIT_PER_S} | options))
        with first_on_the_cpus(lab_state):
            yield lab_state
    finally:
        lab.down(name)


def namespace_of(of: lab.LabState, host: str) -> str:
    """The network namespace of a host, or of the ``router``."""
    if host == "router":
        assert of.plan is not None and of.plan.router is not None
        return of.plan.router
    return next(lab_host.namespace for lab_host in of.hosts if lab_host.name == host)


def on(of: lab.LabState, host: str, words: str) -> str:
    """``ip`` in a host's namespace."""
    return programs.run("ip", "-n", namespace_of(of, host), *words.split())


def drop_into(of: lab.LabState, host: str, match: str) -> None:
    """Let a host drop what comes in over the test cable, as a firewall does: in silence."""
    on(of, host, "rule add preference 100 lookup local")
    on(of, host, "rule delete preference 0")
    on(of, host, f"rule add preference 10 iif test {match} blackhole")


def let_in(of: lab.LabState, host: str) -> None:
    """Take that back."""
    on(of, host, "rule delete preference 10")


def lab_matrix(bench: Bench, tests: str, *, duration: str = "300ms", **top: str) -> None:
    """Write a matrix for two hosts of a lab."""
    lines = [
        "title: a fault",
        f"pairs: {{LL: [{SERVER}, {CLIENT}]}}",
        "pairings: [LL]",
        f"defaults: {{duration: {duration}}}",
        *(f"{key}: {value}" for key, value in top.items()),
        f"tests: [{tests}]",
    ]
    (bench.folder / "matrix.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def lab_run(bench: Bench, of: lab.LabState, into: str, *, code: int = 0) -> tuple[Analysis, str]:
    """A run over the lab, or what is left of one; what it left, and what it said."""
    words = ("run", "matrix.yaml", "--hosts", str(of.hosts_file), "--into", into, "--no-report")
    process = bench.run(*words)
    assert process.returncode == code, process.stderr
    return bench.load(into), process.stderr
