"""A host whose probe runs in bursts is named after three attempts, not silently averaged."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest
from fault_runs import Bench, bench, wrong_ok
from stops import meanwhile, stop_process

from netlab.findings.finding import Kind

__all__ = ["bench"]

pytestmark = pytest.mark.alone

SEED = 25
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 10Mbit}"


def test_bursts_are_a_warning_with_all_attempts(
    bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)  # noqa: S311
    bench.matrix(TESTS, defaults="{duration: 1s}")
    assert bench.run("run", "matrix.yaml", "--into", "clean", "--no-report").returncode == 0
    over = threading.Event()

    def burst() -> None:
        bench.wait_for('"kind":"attempt"')
        pid = max(bench.probes())
        while not over.is_set():
            stop_process(pid, chance.uniform(0.12, 0.16))
            time.sleep(chance.uniform(0.1, 0.2))

    with meanwhile(burst):
        process = bench.run("run", "matrix.yaml", "--into", "out", "--no-report")
        over.set()
    assert "1 trial in which data stopped: see the findings" in process.stderr
    faulty = bench.load()
    (data_stop,) = [finding for finding in faulty.findings if finding.kind is Kind.DATA_STOPPED]
    assert data_stop.words["cause"].endswith("process did not run")
    assert data_stop.evidence["gaps"] > 1
    assert "attempt_3_throughput_bit_per_s" in data_stop.evidence
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property(
        "figure",
        f"{data_stop.evidence['gaps']:g} gaps of {data_stop.evidence['stopped_ns'] / 1e9:.2f} s",
    )
    record_property("seed", SEED)
