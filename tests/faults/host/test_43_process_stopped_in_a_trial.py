"""A probe whose process does not run for a while is named, and the trial is repeated."""

from __future__ import annotations

import time
from typing import Any

import pytest
from draws import chance, drawn
from fault_runs import Bench, bench, wrong_ok
from netprobe_agents import Agent, agents, netprobe, trial
from outcomes import OutcomeOf, Seen, injects, outcome_of, record_text
from stops import meanwhile, stop_process, stopped

from netlab.findings.finding import Kind
from netlab.trial.interruptions import Cause, interruptions
from netlab.trial.record import Record, Status, Value, from_json

__all__ = ["agents", "bench", "netprobe", "outcome_of"]

SEED = 43
RATE_BIT_PER_S = 10e6
TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 10Mbit}"


def stop_a_probe(bench: Bench, protocol: str) -> Seen:
    tests = TESTS.replace("[TCP, UDP]", protocol)
    bench.matrix(tests, defaults="{duration: 1.2s}")
    assert bench.run("run", "matrix.yaml", "--into", "clean", "--no-report").returncode == 0

    def stop() -> None:
        bench.wait_for('"kind":"attempt"')
        time.sleep(0.5)
        stop_process(max(bench.probes()), 0.4)

    with meanwhile(stop):
        process = bench.run("run", "matrix.yaml", "--into", "out", "--no-report")
    return {"stderr": process.stderr}


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@injects()
@pytest.mark.produces("interruption/earlier")
def test_a_run_names_a_stopped_probe_and_measures_the_trial_again(
    outcome_of: OutcomeOf, protocol: str
) -> None:
    outcome = outcome_of(stop_a_probe, protocol=protocol)
    assert "measured again: 1 trial in which data stopped" in outcome["stderr"]
    faulty = outcome.load()
    (repeat,) = [
        finding for finding in faulty.findings if finding.kind is Kind.INTERRUPTION_EARLIER
    ]
    assert repeat.words["cause"].endswith("process did not run")
    assert {record.attempt for record in faulty.latest.values()} == {2}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"{protocol}: {repeat.evidence['stopped_ns'] / 1e9:.1f} s of 0.4 s")


def stop_probes_at_random(agents: tuple[Agent, Agent]) -> Seen:
    moments = chance(SEED)
    stops = []
    for _ in range(drawn(few=4, many=12)):
        protocol, end = moments.choice(["TCP", "UDP"]), moments.choice(["receiver", "sender"])
        at_s, for_s = moments.uniform(0.2, 0.8), moments.uniform(0.2, 0.5)
        with stopped(agents[end == "sender"].process.pid, at_s, for_s):
            record = measured(agents, protocol)
        stops.append({"end": end, "for_s": for_s, "record": record_text(record)})
    clean = [record_text(measured(agents, name)) for name in ("TCP", "UDP")]
    return {"stops": stops, "clean": clean}


@injects()
def test_every_process_stop_at_a_random_moment_is_attributed_to_the_stopped_end(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(stop_probes_at_random)
    missed, wrong = 0, 0
    for entry in outcome["stops"]:
        found = [*interruptions(from_json(entry["record"]))]
        missed += not found
        wrong += any((stop.cause, stop.end) != (Cause.PROCESS, entry["end"]) for stop in found)
        wrong += any(abs(stop.stopped_ns - 1e9 * entry["for_s"]) > 0.1e9 for stop in found)
    wrong += sum(any(interruptions(from_json(text))) for text in outcome["clean"])
    n = len(outcome["stops"]) + len(outcome["clean"])
    outcome.figure(f"{missed} missed, {wrong} wrong", n=n, seed=SEED)
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
        started_at="2026-01-01T00:00:00.000000Z",
        settings=settings,
        values=values,
    )
