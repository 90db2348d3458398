"""Runs on this machine in which the client's host lies (lying_probe.py)."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from fault_runs import Bench

PACED = "{test: stream, protocol: UDP, message_size: 1000, rate: 20Mbit}"
COUNTED = "{count: 300}"
"""A stream whose figure, and that it has one, does not depend on how busy the machine is."""


class LiedTo:
    """A bench whose netlab has one host that lies."""

    def __init__(self, honest: Bench) -> None:
        self.honest = honest
        self.bench = replace(
            honest, program=(str(Path(__file__).parent / "lying_probe.py"), "netlab")
        )

    def env(self, *lies: str, liar: str = "client") -> dict[str, str]:
        return {"LIES": json.dumps(lies), "LIAR": liar}

    def run(self, matrix: Path, *lies: str, into: str = "out") -> str:
        """A run to its end, without a report; what it said on standard error."""
        process = self.bench.run(
            *("run", str(matrix), "--into", into, "--no-report", "--retries", "0"),
            env=self.env(*lies),
        )
        return process.stderr

    def most_kib(self, matrix: Path, *lies: str, into: str = "out") -> int:
        """The largest resident memory of a controller whose host lies, in KiB."""
        child = self.bench.start(
            *("run", str(matrix), "--into", into, "--no-report", "--retries", "0"),
            env=self.env(*lies),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        most = 0
        while child.poll() is None:
            # Of its own program: what a child's usage tells is also that of its parent's fork.
            with suppress(OSError, StopIteration):
                lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
                peak = next(line for line in lines if line.startswith("VmHWM:"))
                most = int(peak.split()[1])
            time.sleep(0.01)
        return most


@pytest.fixture
def lied_to(bench: Bench) -> LiedTo:
    return LiedTo(bench)
