"""A connection that is half open is noticed by heartbeats: nothing is lost, and no probe stays."""

from __future__ import annotations

import threading

import pytest
from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
TRIALS = 4


def freeze_the_connection(bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.setattr(agent, "SILENCE_S", 1.0)
    monkeypatch.setattr(agent, "HEARTBEAT_S", 0.2)
    far = site.server()
    matrix = bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    run_end = threading.Event()

    def freeze() -> None:
        bench.wait_for('"kind":"record"')
        with far.frozen():
            run_end.wait(60)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    try:
        ended = run(Options(matrix=matrix, into=bench.folder / "out"), Progress())
        # Its sshd is still stopped: what ended the old probe was not the end of its input.
        probes = bench.probes_left(3)
    finally:
        run_end.set()
        freezer.join()
    return {"counts": ended.counts, "probes_left": len(probes)}


@injects("sshd")
def test_a_run_replaces_a_frozen_connection_and_loses_no_trial(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(freeze_the_connection)
    assert outcome["counts"] == {"ok": TRIALS}
    assert outcome["probes_left"] == 0
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"0 of {TRIALS} trials lost")


def test_by_default_a_silent_host_counts_as_lost_within_45_s() -> None:
    assert agent.SILENCE_S + 2 * agent.HEARTBEAT_S < 45
