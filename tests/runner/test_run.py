"""Whole runs on this machine through the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_runs import probes_of

import netlab
from netlab.build.local import local_probe
from netlab.experiment.records import REASONS, Record
from netlab.experiment.stopping import StopRule, progress_of
from netlab.store.reader import read

MATRIX = """\
title: a small loopback
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
defaults: {duration: 100ms}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [1448, 8KiB]
    socket_buffer: [64KiB, auto]
"""
CELLS = 8
UNTIL = "until={within: 3 %, at_least: 3, at_most: 5}"
UNTIL_RULE = StopRule(within=0.03, confidence=0.95, at_least=3, at_most=5)
REFUSED = {
    # Loopback takes packets of 65536 bytes, and 48 of them are headers.
    "message-too-long": (
        90,  # EMSGSIZE
        "protocol: UDP, ip: 6, message_size: 65489, dont_fragment: true",
    ),
    "capability-missing": (
        2,  # ENOENT
        "protocol: TCP, message_size: 1448, congestion: no-such-thing",
    ),
}
"""Reason → the number of the system that gives it, and the settings of a cell that gets it."""
IMPOSSIBLE = """\
title: beyond this system
hosts: {{server: {{local: true}}, client: {{local: true}}}}
pairs: {{LL: [server, client]}}
pairings: [LL]
tests: [{{test: stream, duration: 100ms, {settings}}}]
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    local_probe()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Path]:
    """A folder with a matrix in it; no probe is left when the test is over."""
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    yield tmp_path
    give_up = time.monotonic() + 15
    while (probes := probes_of(tmp_path)) and time.monotonic() < give_up:
        time.sleep(0.1)
    assert probes == []


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "netlab", *words]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def records(folder: Path) -> list[str]:
    """The lines of the journal that are records."""
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"kind":"record"' in line]


def test_a_run_measures_every_cell_and_makes_its_report(lab: Path) -> None:
    process = run(lab, "run", "matrix.yaml", "--into", "out")
    assert process.returncode == 0, process.stderr
    frame = netlab.load(lab / "out").frame
    assert len(frame) == CELLS
    assert set(frame["status"]) == {"ok"}
    assert (frame["throughput_bit_per_s"] > 0).all()
    assert frame["same_host"].all()
    assert (lab / "out" / "index.html").stat().st_size > 10_000
    assert "TCP 1448" in process.stdout
    assert "report: out/index.html" in process.stdout


def test_a_second_run_into_the_same_folder_measures_nothing_again(lab: Path) -> None:
    run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    old_records = records(lab / "out")
    process = run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    assert process.returncode == 0, process.stderr
    assert records(lab / "out") == old_records


def test_another_matrix_is_refused_with_the_difference(lab: Path) -> None:
    run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    process = run(lab, "run", "matrix.yaml", "--into", "out", "--set", "duration=200ms")
    assert process.returncode == 2
    assert "duration" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_cell_can_be_measured_again_and_its_old_record_stays(lab: Path) -> None:
    run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    key = netlab.load(lab / "out").plan.cells[0].key
    process = run(lab, "run", "matrix.yaml", "--into", "out", "--no-report", "--redo", key)
    assert process.returncode == 0, process.stderr
    assert sum(key in line for line in records(lab / "out")) == 2
    assert len(netlab.load(lab / "out").frame) == CELLS


def test_resume_redo_measures_that_cell_and_nothing_else(lab: Path) -> None:
    run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    key, lost_key = (cell.key for cell in netlab.load(lab / "out").plan.cells[:2])
    journal = lab / "out" / "journal.jsonl"
    is_of = '"kind":"record"'
    journal_lines = [
        line
        for line in journal.read_text().splitlines(keepends=True)
        if not (is_of in line and lost_key in line)
    ]
    journal.write_text("".join(journal_lines))
    process = run(lab, "resume", "out", "--no-report", "--redo", key)
    assert process.returncode == 0, process.stderr
    record_lines = records(lab / "out")
    assert sum(key in line for line in record_lines) == 2
    assert sum(lost_key in line for line in record_lines) == 0
    assert len(record_lines) == CELLS
    again = run(lab, "resume", "out", "--no-report", "--redo", "failed")
    assert again.returncode == 2
    assert "without --redo" in again.stderr


def test_json_is_a_line_a_record_on_standard_output(lab: Path) -> None:
    process = run(lab, "run", "matrix.yaml", "--into", "out", "--json", "--no-report")
    events = [json.loads(line) for line in process.stdout.splitlines()]
    assert len(events) == CELLS
    assert {event["status"] for event in events} == {"ok"}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_system_refuses_is_impossible_with_its_number_and_no_failure(
    lab: Path, reason: str
) -> None:
    number, settings = REFUSED[reason]
    (lab / "matrix.yaml").write_text(IMPOSSIBLE.format(settings=settings))
    process = run(lab, "run", "matrix.yaml", "--into", "out")
    assert process.returncode == 0, process.stderr
    (record,) = read(lab / "out").records
    assert (str(record.status), record.reason, record.errno) == ("impossible", reason, number)
    assert record.attempt == 1
    frame = netlab.load(lab / "out").frame
    assert "throughput_bit_per_s" not in frame or frame["throughput_bit_per_s"].isna().all()
    tables = (lab / "out" / "tables.md").read_text("utf-8")
    sentence = str(REASONS[reason]).rstrip(".")
    assert re.search(r"^\| +auto \| +\*a\* \|$", tables, re.MULTILINE)
    assert f"- *a* Impossible: {sentence} ({reason}, error number {number})." in tables
    assert f"{reason} (errno {number})" in process.stderr


def test_status_reports_the_progress_of_a_running_run(lab: Path) -> None:
    with subprocess.Popen(
        command("run", "matrix.yaml", "--into", "out", "--set", "pause=10min", "--no-report"),
        cwd=lab,
        stderr=subprocess.DEVNULL,
    ) as child:
        wait_for_a_record(lab / "out")
        state = json.loads(run(lab, "status", "out", "--json").stdout)
        assert 0 < state["done"] < CELLS
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 143


def test_a_second_controller_is_refused_with_who_holds_the_host(lab: Path) -> None:
    with subprocess.Popen(
        command("run", "matrix.yaml", "--into", "one", "--set", "pause=10min", "--no-report"),
        cwd=lab,
        stderr=subprocess.DEVNULL,
    ) as child:
        wait_for_a_record(lab / "one")
        second = run(lab, "run", "matrix.yaml", "--into", "two", "--no-report")
        assert second.returncode == 6
        assert "is measured by" in second.stderr
        same = run(lab, "run", "matrix.yaml", "--into", "one", "--set", "pause=10min")
        assert same.returncode == 6
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
    assert run(lab, "run", "matrix.yaml", "--into", "two", "--no-report").returncode == 0


def test_a_signal_ends_a_pause_at_once_and_the_start_says_that_there_are_some(lab: Path) -> None:
    with subprocess.Popen(
        command("run", "matrix.yaml", "--into", "out", "--no-report", "--set", "pause=10min"),
        cwd=lab,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        wait_for_a_record(lab / "out")
        child.send_signal(signal.SIGINT)
        _, output = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "10 min between trials" in output
    assert len(records(lab / "out")) == 1


def test_a_run_with_until_resumes_after_kill_9_with_the_same_decisions(lab: Path) -> None:
    words = ("run", "matrix.yaml", "--into", "out", "--no-report", "--set", UNTIL)
    with subprocess.Popen(
        command(*words), cwd=lab, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        wait_for_a_record(lab / "out", CELLS + 3)
        os.kill(child.pid, signal.SIGKILL)
    old_records = records(lab / "out")
    process = run(lab, *words)
    assert process.returncode == 0, process.stderr
    assert records(lab / "out")[: len(old_records)] == old_records
    stored = read(lab / "out")
    own: dict[str, dict[int, Record]] = {cell.key: {} for cell in stored.plan.cells}
    for record in stored.records:
        progress = progress_of(UNTIL_RULE, own[record.cell])
        assert not progress.ended
        assert record.trial <= progress.trials
        own[record.cell][record.trial] = record
    assert all(progress_of(UNTIL_RULE, trials).ended for trials in own.values())
    state = json.loads(run(lab, "status", "out", "--json").stdout)
    assert (state["total"], state["done"]) == (len(stored.records), len(stored.records))
    wild = [key for key, trials in own.items() if progress_of(UNTIL_RULE, trials).precise is False]
    assert state["not_tight"] == wild


def test_the_export_is_the_frame(lab: Path) -> None:
    run(lab, "run", "matrix.yaml", "--into", "out", "--no-report")
    process = run(lab, "export", "out", "--format", "csv")
    header, *rows = process.stdout.splitlines()
    assert header.startswith("cell,trial,")
    assert len(rows) == CELLS


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("run", "no-such.yaml"), 2, "no-such.yaml"),
        (("run", "matrix.yaml", "--only", "XX"), 2, "no such pairing"),
        (("run", "matrix.yaml", "--set", "duration"), 2, "NAME=VALUE"),
        (("run", "matrix.yaml", "--set", "durration=1s"), 2, "duration"),
        (("run", "matrix.yaml", "--redo", "nothing"), 2, "no such cell"),
        (("report", "nowhere"), 2, "nowhere"),
        (("status", "nowhere"), 2, "nowhere"),
        (("export", "nowhere"), 2, "nowhere"),
        (("plan", "no-such.yaml"), 2, "no-such.yaml"),
        (("hosts", "no-such.yaml"), 2, "no-such.yaml"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_what_a_person_gets_wrong_is_one_line_and_exit_code_2(
    lab: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    process = run(lab, *words)
    assert process.returncode == code
    assert sentence in process.stderr
    assert "Traceback" not in process.stderr


def wait_for_a_record(folder: Path, count: int = 1) -> None:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        if (folder / "journal.jsonl").exists() and len(records(folder)) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no record in 30 s")
