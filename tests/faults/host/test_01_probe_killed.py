"""A probe killed in mid-trial, on either side, costs that attempt: `probe-died`, then measured."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

__all__ = ["bench", "outcome_of"]

TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 8Mbit}"
WORDS = ("run", "matrix.yaml", "--no-report", "--into")
SIDES = ("server", "client")
"""In the order in which their probes are started."""


def started(pid: int) -> int:
    """When a process started, in ticks since the machine did (proc_pid_stat(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def kill_a_probe(bench: Bench, side: str) -> Seen:
    bench.matrix(TESTS, defaults="{duration: 600ms}", repeats="2")
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.4)
    os.kill(sorted(bench.probes(), key=started)[SIDES.index(side)], signal.SIGKILL)
    _, output = child.communicate(timeout=60)
    return {"code": child.returncode, "stderr": output}


@pytest.mark.parametrize("side", SIDES)
@injects()
def test_a_killed_probe_costs_one_attempt_and_every_trial_is_measured(
    outcome_of: OutcomeOf, side: str
) -> None:
    outcome = outcome_of(kill_a_probe, side=side)
    assert outcome["code"] == 0, outcome["stderr"]
    faulty = outcome.load()
    (died,) = (record for record in faulty.records if record.status != "ok")
    assert (died.status, died.reason) == ("failed", "probe-died")
    assert died.detail is not None
    assert died.detail.endswith("the probe died (signal 9)")
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure("1 attempt of 5 failed, 4 of 4 trials measured")
