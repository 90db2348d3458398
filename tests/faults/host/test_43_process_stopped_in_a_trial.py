"""A probe whose process does not run for a while is named, and the trial is repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from fault_runs import Bench, bench, wrong_ok
from netprobe_agents import Agent, agents, netprobe, trial
from stops import meanwhile, stop_process, stopped

from netlab.experiment.interruptions import Cause, interruptions
from netlab.experiment.records import Record, Status, Value
from netlab.findings.finding import Kind

__all__ = ["agents", "bench", "netprobe"]

pytestmark = pytest.mark.alone

SEED = 43
DRAWN = 4
RATE_BIT_PER_S = 10e6
TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 10Mbit}"


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_the_run_says_it_and_measures_the_trial_again(
    bench: Bench, protocol: str, record_property: Callable[[str, object], None]
) -> None:
    tests = TESTS.replace("[TCP, UDP]", protocol)
    bench.matrix(tests, defaults="{duration: 1.2s}")
    assert bench.run("run", "matrix.yaml", "--into", "clean", "--no-report").returncode == 0

    def stop() -> None:
        bench.wait_for('"kind":"attempt"')
        time.sleep(0.5)
        stop_process(max(bench.probes()), 0.4)

    with meanwhile(stop):
        process = bench.run("run", "matrix.yaml", "--into", "out", "--no-report")
    assert "measured again: 1 trial in which data stopped" in process.stderr
    faulty = bench.load()
    (repeat,) = [finding for finding in faulty.findings if finding.kind is Kind.MEASURED_AGAIN]
    assert repeat.words["cause"].endswith("process did not run")
    assert {record.attempt for record in faulty.latest.values()} == {2}
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", f"{protocol}: {repeat.evidence['stopped_ns'] / 1e9:.1f} s of 0.4 s")


def test_drawn_stops_name_the_end_that_was_stopped(
    agents: tuple[Agent, Agent], record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)  # noqa: S311
    missed, wrong = 0, 0
    for _ in range(DRAWN):
        protocol, end = chance.choice(["TCP", "UDP"]), chance.choice(["receiver", "sender"])
        at_s, for_s = chance.uniform(0.2, 0.8), chance.uniform(0.2, 0.5)
        pid = agents[end == "sender"].process.pid
        with stopped(pid, at_s, for_s):
            stops = [*interruptions(measured(agents, protocol))]
        missed += not stops
        wrong += any((stop.cause, stop.end) != (Cause.PROCESS, end) for stop in stops)
        wrong += any(abs(stop.stopped_ns - 1e9 * for_s) > 0.1e9 for stop in stops)
    wrong += sum(any(interruptions(measured(agents, name))) for name in ("TCP", "UDP"))
    record_property("figure", f"{missed} missed, {wrong} wrong")
    record_property("n", DRAWN + 2)
    record_property("seed", SEED)
    assert (missed, wrong) == (0, 0)


def measured(agents: tuple[Agent, Agent], protocol: str) -> Record:
    """A stream of 1.2 s between two agents on loopback, as a record."""
    keys: dict[str, Any] = {"proto": protocol.lower(), "message": 1448, "seconds": 1.2}
    rate = {"rate": int(RATE_BIT_PER_S)} if protocol == "UDP" else {}
    outcome = trial(agents, **keys, **rate)
    values = {f"receiver_{name}": value for name, value in outcome.received.items()}
    values |= {f"sender_{name}": value for name, value in outcome.sent.items()}
    values |= {name: outcome.received[name] for name in ("elapsed_ns", "received_messages")}
    settings: dict[str, Value] = {"protocol": protocol, "message_bytes": 1448, "duration_s": 1.2}
    return Record(
        cell=protocol,
        trial=1,
        attempt=1,
        status=Status.OK,
        pairing="LL",
        server="a",
        client="b",
        test="stream",
        started_at="",
        settings=settings,
        values=values,
    )
