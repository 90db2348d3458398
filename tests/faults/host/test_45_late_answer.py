"""An answer that comes too late costs its trial an attempt, and never the run."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench", "outcome_of"]

WORDS = ("run", "matrix.yaml", "--no-report", "--retries", "3", "--into")
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit, direction: both}"
"""Both directions have one window: the probes' clocks are asked before each trial."""


MOMENTS = {"between-trials": '"kind":"record"', "asking-facts": '"kind":"session"'}
"""When probes are slow → what the journal has then."""


def answer_late(bench: Bench, monkeypatch: pytest.MonkeyPatch, moment: str) -> Seen:
    monkeypatch.setattr(agent, "ANSWER_S", 1.0)
    monkeypatch.chdir(bench.folder)
    matrix = bench.matrix(TESTS, repeats="4", defaults="{duration: 500ms}")
    assert bench.run(*WORDS, "clean").returncode == 0

    def slow() -> None:
        bench.wait_for(MOMENTS[moment])
        for pid in bench.probes():
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2.0)
        for pid in bench.probes():
            os.kill(pid, signal.SIGCONT)

    slower = threading.Thread(target=slow)
    slower.start()
    ended = run(Options(matrix=matrix, into=bench.folder / "out", retries=3), Progress())
    slower.join()
    return {"counts": ended.counts}


@pytest.mark.parametrize("moment", MOMENTS)
@injects()
def test_a_late_answer_costs_its_trial_an_attempt_and_every_trial_is_measured(
    outcome_of: OutcomeOf, moment: str
) -> None:
    outcome = outcome_of(answer_late, moment=moment)
    assert outcome["counts"] == {"ok": 4}
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure("4 of 4 trials measured")
