"""A cable that is down in mid-trial is said with when and how long, and the trial repeated."""

from __future__ import annotations

import os
import time
from typing import Any, Literal

import pytest
from draws import chance, drawn
from fault_labs import SERVER, lab_matrix, lab_of, lab_run, namespace_of
from fault_runs import Bench, bench, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of, record_text
from paths import Path, hosts_on, record_of
from stops import cable_down, meanwhile, take_down

from netlab.findings.finding import Kind
from netlab.kinds import Stream
from netlab.trial.interruptions import Cause, interruptions
from netlab.trial.record import Status, from_json

__all__ = ["bench", "outcome_of"]

SEED = 42
PROTOCOLS: tuple[Literal["TCP", "UDP"], ...] = ("TCP", "UDP")
SETTINGS: dict[str, Any] = {"message_bytes": 1448, "duration_s": 1.4, "rate_bit_per_s": 5e6}
TESTS = "{test: stream, protocol: [UDP, TCP], message_size: 1448}"


def cut_the_cable(bench: Bench) -> Seen:
    with lab_of() as lab:
        lab_matrix(bench, TESTS, duration="1.5s", order="as-written")
        lab_run(bench, lab, "clean")

        def cut() -> None:
            bench.wait_for('"kind":"attempt"')
            time.sleep(0.6)
            take_down(namespace_of(lab, SERVER), 0.5)

        with meanwhile(cut):
            _, output = lab_run(bench, lab, "out")
    return {"stderr": output}


@injects("lab")
@pytest.mark.produces("interruption/earlier")
def test_a_trial_whose_cable_was_down_is_measured_again_and_the_finding_says_how_long(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(cut_the_cable)
    clean, faulty = outcome.load("clean"), outcome.load()
    assert not [finding for finding in clean.findings if finding.kind is Kind.INTERRUPTION_FINAL]
    assert wrong_ok(clean, faulty) == []
    assert "measured again: 1 trial in which data stopped" in outcome["stderr"]
    (repeat,) = [
        finding for finding in faulty.findings if finding.kind is Kind.INTERRUPTION_EARLIER
    ]
    assert repeat.group.protocol == "UDP"
    assert repeat.words["cause"] == "carrier lost"
    assert 0.4e9 < repeat.evidence["stopped_ns"] < 1.5e9
    assert {record.attempt for record in faulty.latest.values()} == {1, 2}
    outcome.figure(f"{repeat.evidence['stopped_ns'] / 1e9:.1f} s named, 2 attempts")


def cut_at_random() -> Seen:
    moments = chance(SEED)
    cuts = []
    with hosts_on(Path()) as ends:
        for _ in range(drawn(few=3, many=9)):
            protocol = moments.choice(PROTOCOLS)
            # At the sender's own end a system refuses to send datagrams.
            host = moments.choice(["client", "server"]) if protocol == "TCP" else "server"
            at_s, for_s = moments.uniform(0.2, 0.8), moments.uniform(0.3, 0.6)
            setup = Stream(**SETTINGS, protocol=protocol)
            with cable_down(f"netlab-test-{os.getpid()}-{host}", at_s, for_s):
                record = record_of("stream", setup, ends)
            time.sleep(1.1)  # the neighbour is found again
            clean = record_of("stream", setup, ends)
            texts = {"record": record_text(record), "clean": record_text(clean)}
            cuts.append({"for_s": for_s, **texts})
    return {"cuts": cuts}


@injects("lab")
def test_every_cable_cut_at_a_random_moment_is_found_and_clean_trials_have_no_interruption(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(cut_at_random)
    missed, wrong = 0, 0
    for cut in outcome["cuts"]:
        record = from_json(cut["record"])
        assert record.status is Status.OK, record.detail
        stops = [*interruptions(record)]
        missed += not stops
        wrong += any(stop.cause is not Cause.CARRIER for stop in stops)
        wrong += any(stop.stopped_ns < 0.9e9 * cut["for_s"] for stop in stops)
        wrong += any(interruptions(from_json(cut["clean"])))
    outcome.figure(f"{missed} missed, {wrong} wrong", n=2 * len(outcome["cuts"]), seed=SEED)
    assert (missed, wrong) == (0, 0)
