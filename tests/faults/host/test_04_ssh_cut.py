"""SSH connections cut in mid-trial are made again: nothing is lost, and no probe is left."""

from __future__ import annotations

import time

from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def cut_the_connections(bench: Bench, site: Site) -> Seen:
    far = site.server()
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        defaults="{duration: 500ms}",
        repeats="4",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.2)
    far.cut()
    _, output = child.communicate(timeout=60)
    return {
        "code": child.returncode,
        "stderr": output,
        "probes_left": len(bench.probes_left(5)),
    }


@injects("sshd")
def test_a_trial_whose_ssh_connections_are_cut_is_measured_again(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cut_the_connections)
    assert outcome["code"] == 0, outcome["stderr"]
    faulty = outcome.load()
    (failure,) = (record for record in faulty.records if record.status != "ok")
    assert (failure.status, failure.reason) == ("failed", "host-gone")
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    assert outcome["probes_left"] == 0
    outcome.figure("0 of 4 trials lost")
