"""The first signal ends a run in order within 5 s, whatever a host does; the second at once."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
END_S = 5.0


def ended(child: subprocess.Popen[str]) -> tuple[float, str]:
    """How long it took from now, and what was said."""
    start_s = time.monotonic()
    _, output = child.communicate(timeout=30)
    assert "Traceback" not in output
    return time.monotonic() - start_s, output


def good(folder: Path) -> list[str]:
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"status":"ok"' in line]


def end_a_run(bench: Bench, site: Site, name: str) -> Seen:
    bench.matrix(TESTS, server=at(site.server()), repeats="4", defaults="{duration: 600ms}")
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "ended")
    bench.wait_for('"kind":"record"', "ended")
    time.sleep(0.2)
    child.send_signal(signal.Signals[name])
    took_s, output = ended(child)
    probes_left = len(bench.probes_left(1))
    shutil.copytree(bench.folder / "ended", bench.folder / "out")
    process = bench.run(*WORDS, "out")
    good_lines = good(bench.folder / "ended")
    return {
        "code": child.returncode,
        "stderr": output,
        "took_s": took_s,
        "probes_left": probes_left,
        "resumed_code": process.returncode,
        "are_kept": good(bench.folder / "out")[: len(good_lines)] == good_lines,
    }


@pytest.mark.parametrize(("number", "code"), SIGNALS, ids=[n.name for n, _ in SIGNALS])
@injects("sshd")
def test_the_first_signal_closes_the_journal_and_names_the_command_that_resumes_the_run(
    outcome_of: OutcomeOf, number: signal.Signals, code: int
) -> None:
    outcome = outcome_of(end_a_run, name=number.name)
    assert outcome["code"] == code
    assert outcome["took_s"] < END_S
    assert f"ended by {number.name}" in outcome["stderr"]
    assert "to resume: netlab resume ended" in outcome["stderr"]
    assert outcome["probes_left"] == 0
    first_run = outcome.load("ended")
    (pending_record,) = (record for record in first_run.records if record.status != "ok")
    assert (pending_record.status, pending_record.reason) == ("pending", "interrupted")
    assert outcome["resumed_code"] == 0
    assert outcome["are_kept"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": 4}
    assert len(good(outcome.folder / "out")) == 4
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"{number.name}: {outcome['took_s']:.1f} s")


def end_with_a_stopped_host(bench: Bench, site: Site) -> Seen:
    far = site.server()
    bench.matrix(TESTS, server=at(far), repeats="3", defaults="{duration: 2s}")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.5)
    with far.frozen():
        child.send_signal(signal.SIGINT)
        took_s, output = ended(child)
    return {"code": child.returncode, "stderr": output, "took_s": took_s}


@injects("sshd")
def test_a_stopped_host_does_not_hold_up_the_end_of_a_run_and_is_named(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(end_with_a_stopped_host)
    assert outcome["code"] == 130
    assert outcome["took_s"] < END_S
    assert re.search(r"waiting for .*server to end the probe", outcome["stderr"])
    outcome.figure(f"a stopped host: {outcome['took_s']:.1f} s")


def signal_twice(bench: Bench, site: Site) -> Seen:
    far = site.server()
    bench.matrix(TESTS, server=at(far), repeats="2", defaults="{duration: 2s}")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.5)
    with far.frozen():
        child.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        took_s, _ = ended(child)
    resumed_code = bench.run(*WORDS, "out").returncode
    return {"code": child.returncode, "took_s": took_s, "resumed_code": resumed_code}


@injects("sshd")
def test_the_second_signal_ends_a_run_at_once_and_the_run_can_be_resumed(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(signal_twice)
    assert outcome["code"] == 130
    assert outcome["took_s"] < 2
    assert outcome["resumed_code"] == 0
    assert by_status(outcome.load()) == {"ok": 2}
    outcome.figure(f"twice: {outcome['took_s']:.1f} s after the second")


def end_in_a_pause(bench: Bench) -> Seen:
    bench.matrix(TESTS, repeats="2", pause="10min")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    child.send_signal(signal.SIGINT)
    took_s, output = ended(child)
    return {"code": child.returncode, "stderr": output, "took_s": took_s}


@injects()
def test_a_signal_ends_a_run_in_the_pause_between_two_trials(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(end_in_a_pause)
    assert outcome["code"] == 130
    assert by_status(outcome.load()) == {"ok": 1, "pending": 1}
    assert outcome["took_s"] < END_S
    assert "10 min between trials" in outcome["stderr"]
