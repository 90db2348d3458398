"""After `kill -9` of the controller the run is resumed: finished records stay byte for byte."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from draws import chance
from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
KILLS = 3
SEED = 6
TRIALS = 8


def records(folder: Path) -> list[str]:
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"kind":"record"' in line]


def kill_the_controller(bench: Bench, site: Site) -> Seen:
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(site.server()),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    moments = chance(SEED)
    are_kept: list[bool] = []
    earlier_lines: list[str] = []
    for _ in range(KILLS):
        child = bench.start(*WORDS, "out", start_new_session=True)
        bench.wait_for('"kind":"session"')
        time.sleep(moments.uniform(0.0, 1.2))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        later_lines = records(bench.folder / "out")
        are_kept.append(later_lines[: len(earlier_lines)] == earlier_lines)
        earlier_lines = later_lines
    process = bench.run(*WORDS, "out")
    are_kept.append(records(bench.folder / "out")[: len(earlier_lines)] == earlier_lines)
    return {"code": process.returncode, "stderr": process.stderr, "are_kept": are_kept}


@injects("sshd")
def test_a_run_whose_controller_is_killed_loses_no_record_and_repeats_none(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(kill_the_controller)
    assert outcome["code"] == 0, outcome["stderr"]
    assert outcome["are_kept"] == [True] * (KILLS + 1)
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert len(faulty.records) == TRIALS
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure("0 lost, 0 twice", n=KILLS, seed=SEED)
