"""A probe killed in mid-trial, on either side, costs that attempt: `probe-died`, then measured."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok

__all__ = ["bench"]

pytestmark = pytest.mark.alone

TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 8Mbit}"
WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def started(pid: int) -> int:
    """When a process started, in ticks since the machine did (proc_pid_stat(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.mark.parametrize("side", [0, 1])
def test_it_is_retried_and_the_others_are_measured(
    bench: Bench, side: int, record_property: Callable[[str, object], None]
) -> None:
    bench.matrix(TESTS, defaults="{duration: 600ms}", repeats="2")
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.4)
    killed = sorted(bench.probes(), key=started)[side]
    os.kill(killed, signal.SIGKILL)
    _, output = child.communicate(timeout=60)
    assert child.returncode == 0, output
    faulty = bench.load()
    (died,) = (record for record in faulty.records if record.status != "ok")
    assert (died.status, died.reason) == ("failed", "probe-died")
    assert died.detail is not None
    assert died.detail.endswith("the probe died (signal 9)")
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", "1 attempt of 5 failed, 4 of 4 trials measured")
