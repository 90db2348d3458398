"""An answer that comes too late costs its trial an attempt, and never the run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench"]

pytestmark = pytest.mark.alone

WORDS = ("run", "matrix.yaml", "--no-report", "--retries", "3", "--into")
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit, direction: both}"
"""Both directions have one window: the probes' clocks are asked before each trial."""


@pytest.mark.parametrize("until", ['"kind":"record"', '"kind":"session"'])
def test_the_next_trial_is_measured(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    until: str,
) -> None:
    """Between trials, and while the facts are asked for that a run begins with."""
    monkeypatch.setattr(agent, "ANSWER_S", 1.0)
    monkeypatch.chdir(bench.folder)
    matrix = bench.matrix(TESTS, repeats="4", defaults="{duration: 500ms}")
    assert bench.run(*WORDS, "clean").returncode == 0

    def slow() -> None:
        bench.wait_for(until)
        for pid in bench.probes():
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2.0)
        for pid in bench.probes():
            os.kill(pid, signal.SIGCONT)

    slower = threading.Thread(target=slow)
    slower.start()
    outcome = run(Options(matrix=matrix, into=bench.folder / "out", retries=3), Progress())
    slower.join()
    assert outcome.counts == {"ok": 4}
    faulty = bench.load()
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", "4 of 4 trials measured")
