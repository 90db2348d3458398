"""A cable that is down in mid-trial is said with when and how long, and the trial repeated."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, Literal

import pytest
from fault_labs import SERVER, lab_matrix, lab_of, lab_run, namespace_of
from fault_runs import Bench, bench, wrong_ok
from paths import Path, hosts_on, record_of
from stops import cable_down, meanwhile, take_down

from netlab.experiment.interruptions import Cause, interruptions
from netlab.experiment.kinds import Stream
from netlab.experiment.records import Status
from netlab.findings.finding import Kind

__all__ = ["bench"]

pytestmark = [pytest.mark.needs("lab"), pytest.mark.alone]

SEED = 42
DRAWN = 3
PROTOCOLS: tuple[Literal["TCP", "UDP"], ...] = ("TCP", "UDP")
SETTINGS: dict[str, Any] = {"message_bytes": 1448, "duration_s": 1.4, "rate_bit_per_s": 5e6}
TESTS = "{test: stream, protocol: [UDP, TCP], message_size: 1448}"


def test_the_page_says_it_and_the_trial_is_measured_again(
    bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    with lab_of() as lab:
        lab_matrix(bench, TESTS, duration="1.5s", order="as-written")
        clean, _ = lab_run(bench, lab, "clean")

        def cut() -> None:
            bench.wait_for('"kind":"attempt"')
            time.sleep(0.6)
            take_down(namespace_of(lab, SERVER), 0.5)

        with meanwhile(cut):
            faulty, output = lab_run(bench, lab, "out")
    assert not [finding for finding in clean.findings if finding.kind is Kind.DATA_STOPPED]
    assert wrong_ok(clean, faulty) == []
    assert "measured again: 1 trial in which data stopped" in output
    (repeat,) = [finding for finding in faulty.findings if finding.kind is Kind.MEASURED_AGAIN]
    assert repeat.group.protocol == "UDP"
    assert repeat.words["cause"] == "carrier lost"
    assert 0.4e9 < repeat.evidence["stopped_ns"] < 1.5e9
    assert {record.attempt for record in faulty.latest.values()} == {1, 2}
    record_property("figure", f"{repeat.evidence['stopped_ns'] / 1e9:.1f} s told, 2 attempts")


def test_drawn_cuts_are_all_told_and_clean_trials_are_not(
    record_property: Callable[[str, object], None],
) -> None:
    chance = random.Random(SEED)  # noqa: S311
    missed, wrong = 0, 0
    with hosts_on(Path()) as ends:
        for _ in range(DRAWN):
            protocol = chance.choice(PROTOCOLS)
            # At the sender's own end a system refuses to send datagrams.
            host = chance.choice(["client", "server"]) if protocol == "TCP" else "server"
            at_s, for_s = chance.uniform(0.2, 0.8), chance.uniform(0.3, 0.6)
            setup = Stream(**SETTINGS, protocol=protocol)
            with cable_down(f"netlab-test-{os.getpid()}-{host}", at_s, for_s):
                record = record_of("stream", setup, ends)
            stops = [*interruptions(record)]
            assert record.status is Status.OK, record.detail
            missed += not stops
            wrong += any(stop.cause is not Cause.CARRIER for stop in stops)
            wrong += any(stop.stopped_ns < 0.9e9 * for_s for stop in stops)
            time.sleep(1.1)  # the neighbour is found again
            wrong += any(interruptions(record_of("stream", setup, ends)))
    record_property("figure", f"{missed} missed, {wrong} wrong")
    record_property("n", 2 * DRAWN)
    record_property("seed", SEED)
    assert (missed, wrong) == (0, 0)
