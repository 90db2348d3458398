"""A probe that is stopped (SIGSTOP) and found silent is ours: ended there, and nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, is_alive, site, until

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench", "outcome_of", "site"]

TRIALS = 4
WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def stop_a_probe(bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.setattr(agent, "SILENCE_S", 1.0)
    monkeypatch.setattr(agent, "HEARTBEAT_S", 0.2)
    matrix = bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(site.server()),
        client=at(site.server()),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    pids: list[int] = []

    def stop_one() -> None:
        bench.wait_for('"kind":"record"')
        pids.extend(pid for pid in bench.probes()[:1])
        os.kill(pids[0], signal.SIGSTOP)

    stopper = threading.Thread(target=stop_one)
    stopper.start()
    ended = run(Options(matrix=matrix, into=bench.folder / "out"), Progress())
    stopper.join()
    is_over = until(lambda: not is_alive(pids[0]) or not Path(f"/proc/{pids[0]}/exe").exists())
    return {"counts": ended.counts, "is_old_probe_over": is_over}


@injects("sshd")
def test_a_run_ends_its_own_silent_probe_and_takes_over_the_probes_lock(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(stop_a_probe)
    assert outcome["counts"] == {"ok": TRIALS}
    assert outcome["is_old_probe_over"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert all("measured by" not in (record.detail or "") for record in faulty.records)
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"0 of {TRIALS} trials lost")
