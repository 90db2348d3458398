"""Controllers on the same hosts at once take turns: never two on a host, and none is stuck.

`make benchmark-locks` does the same a thousand times.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from fault_runs import Bench, bench

from benchmarks.faults.locks import Contest, Hold, contend, holds_of, hosts_in, overlaps, settle

__all__ = ["bench"]
pytestmark = pytest.mark.alone

SEED, CONTROLLERS = 27, 3
Recorder = Callable[[str, object], None]


def test_controllers_with_pairs_in_random_order_never_share_a_host(
    bench: Bench, record_property: Recorder
) -> None:
    contest = Contest()
    with hosts_in(bench.folder, 3) as lock_of:
        chance = random.Random(SEED)  # noqa: S311 - can be repeated
        contenders = contend(bench, lock_of, CONTROLLERS, chance, batch=1)
        settle(bench, lock_of, contenders, contest)
    assert (contest.overlaps, contest.stuck, contest.bad) == ([], [], [])
    assert contest.acquired >= CONTROLLERS
    record_property("figure", "0 overlaps, 0 deadlocks")
    record_property("n", f"{contest.acquired} acquisitions by {contest.runs} controllers")
    record_property("seed", SEED)


def test_who_does_not_wait_is_told_who_measures_and_ends_with_6(bench: Bench) -> None:
    tests = "{test: stream, protocol: UDP, message_size: 256, rate: 8Mbit, duration: 3s}"
    bench.matrix(tests)
    first = bench.start("run", "matrix.yaml", "--into", "first", "--no-report", "--wait", "60")
    bench.wait_for('"kind":"attempt"', "first")
    second = bench.run("run", "matrix.yaml", "--into", "second", "--no-report")
    assert second.returncode == 6
    assert "first" in second.stderr.splitlines()[-1]
    assert "Traceback" not in second.stderr
    assert first.communicate(timeout=60)[1] is not None
    assert first.returncode == 0
    lock_of = {"server": "this machine", "client": "this machine"}
    assert len(holds_of(bench.folder / "first", lock_of)) == 1
    assert holds_of(bench.folder / "second", lock_of) == []


def test_two_runs_on_a_host_at_once_would_be_seen() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def hold(host: str, run: str, began_s: float, ended_s: float) -> Hold:
        return Hold(host, run, noon + timedelta(seconds=began_s), noon + timedelta(seconds=ended_s))

    holds = [hold("a", "one", 0, 9), hold("b", "one", 0, 9)]
    assert overlaps([*holds, hold("a", "two", 9, 10), hold("c", "three", 1, 2)]) == []
    (overlap,) = overlaps([*holds, hold("a", "two", 1, 2), hold("a", "three", 9.5, 10)])
    assert "one" in overlap
    assert "two" in overlap
    assert len(overlaps([*holds, hold("a", "two", 1, 2), hold("a", "three", 8, 10)])) == 2
