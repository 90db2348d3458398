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
    drawn = random.Random(SEED)  # noqa: S311
    bench.matrix(TESTS, defaults="{duration: 1s}")
    assert bench.run("run", "matrix.yaml", "--into", "clean", "--no-report").returncode == 0
    over = threading.Event()

    def burst() -> None:
        bench.wait_for('"kind":"attempt"')
        pid = max(bench.probes())
        while not over.is_set():
            stop_process(pid, drawn.uniform(0.12, 0.16))
            time.sleep(drawn.uniform(0.1, 0.2))

    with meanwhile(burst):
        done = bench.run("run", "matrix.yaml", "--into", "out", "--no-report")
        over.set()
    assert "1 trial in which data stopped: see the findings" in done.stderr
    faulty = bench.load()
    (found,) = [each for each in faulty.findings if each.kind is Kind.DATA_STOPPED]
    assert found.words["cause"].endswith("process did not run")
    assert found.evidence["gaps"] > 1
    assert "attempt_3_throughput_bit_per_s" in found.evidence
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property(
        "figure", f"{found.evidence['gaps']:g} gaps of {found.evidence['stopped_ns'] / 1e9:.2f} s"
    )
    record_property("seed", SEED)
