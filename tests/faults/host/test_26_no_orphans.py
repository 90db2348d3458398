"""Where the controller and its connections vanish silently, probes end by their lease."""

from __future__ import annotations

import os
import signal
import time

from fault_runs import IDLE_LEFT_S, Bench, at, bench
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]


def vanish(bench: Bench, site: Site) -> Seen:
    far = site.server()
    # A second trial: in the pause before it both agents are there, and the run has not ended.
    tests = "{test: stream, protocol: UDP, message_size: [1448, 1000]}"
    bench.matrix(tests, server=at(far), pause="1min")
    child = bench.start("run", "matrix.yaml", "--no-report", "--into", "out")
    bench.wait_for('"kind":"record"')
    probes_before = len(bench.probes())
    with far.frozen():
        # Nobody tells the host that the controller is dead.
        os.kill(child.pid, signal.SIGKILL)
        killed = time.monotonic()
        probes_left = len(bench.probes_left(IDLE_LEFT_S))
        lived_s = time.monotonic() - killed
    return {"probes_before": probes_before, "probes_left": probes_left, "lived_s": lived_s}


@injects("sshd")
def test_probes_whose_controller_vanished_end_by_their_lease(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(vanish)
    assert (outcome["probes_before"], outcome["probes_left"]) == (2, 0)
    # The run that they measured for has its one record, and nothing of the second trial.
    (record,) = outcome.load().records
    assert record.status == "ok"
    outcome.figure(f"none after {outcome['lived_s']:.0f} s")
