"""A host whose sshd and connections are killed, and that is back after 3 s, loses no cell."""

from __future__ import annotations

import threading

from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
AWAY_S = 3.0
TRIALS = 6


def take_the_server_away(bench: Bench, site: Site) -> Seen:
    far = site.server()
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    far.stop()
    back = threading.Timer(AWAY_S, far.start)
    back.start()
    _, output = child.communicate(timeout=60)
    back.join()
    return {"code": child.returncode, "stderr": output}


@injects("sshd")
def test_a_run_waits_until_a_killed_sshd_is_back_and_loses_no_trial(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(take_the_server_away)
    assert outcome["code"] == 0, outcome["stderr"]
    assert "the run waits until" in outcome["stderr"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert {record.reason for record in faulty.records} <= {None, "host-away", "host-gone"}
    assert [entry["when"] for entry in faulty.facts].count("again") == 1
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"0 of {TRIALS} trials lost, away for {AWAY_S:g} s")
