"""A host whose probe runs in bursts is named after three attempts, not silently averaged."""

from __future__ import annotations

import threading
import time

import pytest
from draws import chance
from fault_runs import Bench, bench, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from stops import meanwhile, stop_process

from netlab.findings.finding import Kind

__all__ = ["bench", "outcome_of"]

SEED = 25
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 10Mbit}"


def run_in_bursts(bench: Bench) -> Seen:
    moments = chance(SEED)
    bench.matrix(TESTS, defaults="{duration: 1s}")
    assert bench.run("run", "matrix.yaml", "--into", "clean", "--no-report").returncode == 0
    over = threading.Event()

    def burst() -> None:
        bench.wait_for('"kind":"attempt"')
        pid = max(bench.probes())
        while not over.is_set():
            stop_process(pid, moments.uniform(0.12, 0.16))
            time.sleep(moments.uniform(0.1, 0.2))

    with meanwhile(burst):
        process = bench.run("run", "matrix.yaml", "--into", "out", "--no-report")
        over.set()
    return {"stderr": process.stderr}


@injects()
@pytest.mark.produces("interruption/final")
def test_a_probe_that_runs_in_bursts_is_named_after_three_attempts(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(run_in_bursts)
    assert "1 trial in which data stopped: see the findings" in outcome["stderr"]
    faulty = outcome.load()
    (data_stop,) = [
        finding for finding in faulty.findings if finding.kind is Kind.INTERRUPTION_FINAL
    ]
    assert data_stop.words["cause"].endswith("process did not run")
    assert data_stop.evidence["gaps"] > 1
    assert "attempt_3_throughput_bit_per_s" in data_stop.evidence
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(
        f"{data_stop.evidence['gaps']:g} gaps of {data_stop.evidence['stopped_ns'] / 1e9:.2f} s",
        seed=SEED,
    )
