"""Whole runs on this machine through the command line: few are measured, many tests read them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import Ended, netlab
from fault_runs import bench_in, probes_of

from netlab.build.binaries import local_probe
from netlab.experiment.matrix import StopRule, progress_of
from netlab.findings.analysis import load
from netlab.store.reader import read
from netlab.trial.record import REASONS, Record

HOSTS = """\
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
defaults: {duration: 100ms}
"""
# Loopback takes packets of 65536 bytes, and 48 of them are headers.
MATRIX = f"""\
title: a small loopback
{HOSTS}
tests:
  - {{test: stream, protocol: [TCP, UDP], message_size: [1448, 8KiB], socket_buffer: [64KiB, auto]}}
  - {{test: stream, protocol: UDP, ip: 6, message_size: 65489, dont_fragment: true}}
"""
CELLS = 9
TOO_LONG = "message-too-long"
UNTIL = "until={within: 3 %, at_least: 3, at_most: 5}"
UNTIL_RULE = StopRule(within=0.03, confidence=0.95, at_least=3, at_most=5)
TWO_CELLS = f"""\
title: two cells
{HOSTS}
tests: [{{test: stream, protocol: [TCP, UDP], message_size: 8KiB}}]
"""
INTO = ("--into", "out", "--no-report")

pytestmark = pytest.mark.needs("linux", "cc")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    local_probe()


def records(folder: Path) -> list[str]:
    """The lines of the journal that are records."""
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"kind":"record"' in line]


def wait_for_a_record(folder: Path, count: int = 1) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if (folder / "journal.jsonl").exists() and len(records(folder)) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no record in 60 s")


def no_probes(folder: Path) -> bool:
    """Whether all probes of runs in a folder end."""
    give_up = time.monotonic() + 60
    while probes_of(folder) and time.monotonic() < give_up:
        time.sleep(0.1)
    return probes_of(folder) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "no-such.yaml"), "no-such.yaml"),
        (("run", "matrix.yaml", "--only", "XX"), "no such pairing"),
        (("run", "matrix.yaml", "--set", "duration"), "NAME=VALUE"),
        (("run", "matrix.yaml", "--set", "durration=1s"), "duration"),
        (("run", "matrix.yaml", "--redo", "nothing"), "no such cell"),
        (("report", "nowhere"), "nowhere"),
        (("status", "nowhere"), "nowhere"),
        (("export", "nowhere"), "nowhere"),
        (("plan", "no-such.yaml"), "no-such.yaml"),
        (("hosts", "no-such.yaml"), "no-such.yaml"),
        (("frobnicate",), "frobnicate"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_ends_with_a_sentence_and_exit_code_2(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    process = netlab(tmp_path, *words)
    assert process.returncode == 2
    assert sentence in process.stderr
    assert "Traceback" not in process.stderr


# ---- a run, measured once ----


@dataclass(frozen=True)
class Measured:
    """A run of ``MATRIX`` with its report."""

    folder: Path
    """With the matrix; the run is ``out``."""
    process: Ended


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "matrix.yaml").write_text(MATRIX)
    return Measured(folder, netlab(folder, "run", "matrix.yaml", "--into", "out", "--wait", "60"))


@pytest.fixture
def copied(measured: Measured, tmp_path: Path) -> Path:
    """A copy of the folder, for a test that changes the run."""
    shutil.copytree(measured.folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.lab
def test_a_run_measures_every_cell_and_makes_its_report(measured: Measured) -> None:
    process = measured.process
    assert process.returncode == 0, process.stderr
    frame = load(measured.folder / "out").frame
    assert list(frame["status"]) == [*["ok"] * 8, "impossible"]
    assert (frame["throughput_bit_per_s"][:8] > 0).all()
    assert frame["same_host"][:8].all()
    assert (measured.folder / "out" / "index.html").stat().st_size > 10_000
    assert re.search(r"^TCP +1448 ", process.stdout, re.MULTILINE)
    assert "report: out/index.html" in process.stdout


@pytest.mark.lab
def test_a_run_leaves_no_probe_behind(measured: Measured) -> None:
    assert no_probes(measured.folder)


@pytest.mark.lab
def test_a_cell_that_the_system_refuses_is_impossible_with_its_error_number(
    measured: Measured,
) -> None:
    (record,) = [e for e in read(measured.folder / "out").latest.values() if e.reason is not None]
    assert (str(record.status), record.reason, record.errno) == ("impossible", TOO_LONG, 90)
    assert record.attempt == 1
    assert load(measured.folder / "out").frame["throughput_bit_per_s"].isna().sum() == 1
    tables = (measured.folder / "out" / "tables.md").read_text("utf-8")
    sentence = str(REASONS[TOO_LONG]).rstrip(".")
    assert re.search(r"\| +\*a\* +\|", tables)
    assert f"- *a* Impossible: {sentence} ({TOO_LONG}, error number 90)." in tables
    assert f"{TOO_LONG} (errno 90)" in measured.process.stderr


@pytest.mark.lab
def test_an_export_of_a_run_has_one_row_for_each_cell(measured: Measured) -> None:
    process = netlab(measured.folder, "export", "out", "--format", "csv")
    header, *rows = process.stdout.splitlines()
    assert header.startswith("cell,trial,")
    assert len(rows) == CELLS


@pytest.mark.lab
def test_a_run_of_another_matrix_into_the_folder_is_refused_with_the_difference(
    measured: Measured,
) -> None:
    words = ("run", "matrix.yaml", "--into", "out", "--set", "duration=200ms")
    process = netlab(measured.folder, *words)
    assert process.returncode == 2
    assert "duration" in process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.lab
def test_a_second_run_into_the_folder_tries_only_the_impossible_cell_again(copied: Path) -> None:
    old_records = records(copied / "out")
    process = netlab(copied, "run", "matrix.yaml", *INTO, "--wait", "60")
    assert process.returncode == 0, process.stderr
    (record,) = records(copied / "out")[len(old_records) :]
    assert TOO_LONG in record


@pytest.mark.lab
def test_run_with_redo_measures_a_cell_again_and_prints_its_record_as_json(copied: Path) -> None:
    key = load(copied / "out").plan.cells[0].key
    old_records = records(copied / "out")
    process = netlab(copied, "run", "matrix.yaml", *INTO, "--redo", key, "--json", "--wait", "60")
    assert process.returncode == 0, process.stderr
    assert any(key in line for line in records(copied / "out")[len(old_records) :])
    assert len(load(copied / "out").frame) == CELLS
    # An impossible cell is tried again by each session, a trial that a stall disturbed at once.
    events = map(json.loads, process.stdout.splitlines())
    results = {(e["cell"] == key, e["status"]) for e in events if e["type"] == "record"}
    assert results == {(True, "ok"), (False, "impossible")}


@pytest.mark.lab
def test_resume_with_redo_measures_only_the_named_cell_even_if_another_cell_is_missing(
    copied: Path,
) -> None:
    key, lost_key = (cell.key for cell in load(copied / "out").plan.cells[:2])
    journal = copied / "out" / "journal.jsonl"
    journal_lines = [
        line
        for line in journal.read_text().splitlines(keepends=True)
        if not ('"kind":"record"' in line and lost_key in line)
    ]
    journal.write_text("".join(journal_lines))
    process = netlab(copied, "resume", "out", "--no-report", "--redo", key)
    assert process.returncode == 0, process.stderr
    kept = sum('"kind":"record"' in line for line in journal_lines)
    new_records = records(copied / "out")[kept:]
    assert new_records and all(key in line for line in new_records)
    again = netlab(copied, "resume", "out", "--no-report", "--redo", "failed")
    assert again.returncode == 2
    assert "without --redo" in again.stderr


# ---- a run that pauses between its trials ----


@dataclass(frozen=True)
class Paused:
    """What others got from commands while a run paused, and its own end."""

    state: dict[str, object]
    """Of ``netlab status --json``."""
    same_folder: Ended
    other_folder: Ended
    exit_code: int
    stderr: str
    afterwards: Ended
    """Of the command for the other folder, repeated after the run."""
    records: int


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paused]:
    folder = tmp_path_factory.mktemp("paused")
    with bench_in(folder) as bench:
        (folder / "matrix.yaml").write_text(TWO_CELLS)
        words = ("run", "matrix.yaml", "--no-report", "--set", "pause=10min", "--wait", "60")
        child = bench.start(*words, "--into", "out")
        wait_for_a_record(folder / "out")
        state = json.loads(netlab(folder, "status", "out", "--json").stdout)
        other = ("run", "matrix.yaml", "--no-report", "--into", "two")
        other_folder = netlab(folder, *other)
        same_folder = netlab(folder, *words[:-2], "--into", "out")
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate(timeout=60)
        yield Paused(
            state,
            same_folder,
            other_folder,
            child.returncode,
            stderr,
            netlab(folder, *other, "--wait", "60"),
            len(records(folder / "out")),
        )


@pytest.mark.lab
def test_status_reports_the_progress_of_a_running_run(paused: Paused) -> None:
    assert (paused.state["done"], paused.state["total"]) == (1, 2)


@pytest.mark.lab
def test_a_second_run_on_a_host_is_refused_with_the_holder_of_the_host(paused: Paused) -> None:
    assert paused.other_folder.returncode == 6
    assert "is measured by" in paused.other_folder.stderr
    assert paused.same_folder.returncode == 6
    assert paused.afterwards.returncode == 0


@pytest.mark.lab
def test_a_signal_ends_a_run_during_the_pause_between_two_trials(paused: Paused) -> None:
    assert paused.exit_code == 130
    assert "10 min between trials" in paused.stderr
    assert paused.records == 1


# ---- other runs ----


@pytest.mark.lab
def test_a_run_that_repeats_until_precise_resumes_after_sigkill_with_the_same_decisions(
    tmp_path: Path,
) -> None:
    (tmp_path / "matrix.yaml").write_text(TWO_CELLS)
    words = ("run", "matrix.yaml", *INTO, "--set", UNTIL, "--wait", "60")
    with subprocess.Popen(
        [sys.executable, "-m", "netlab", *words],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        wait_for_a_record(tmp_path / "out", 3)
        os.kill(child.pid, signal.SIGKILL)
    old_records = records(tmp_path / "out")
    process = netlab(tmp_path, *words)
    assert process.returncode == 0, process.stderr
    assert records(tmp_path / "out")[: len(old_records)] == old_records
    stored = read(tmp_path / "out")
    own: dict[str, dict[int, Record]] = {cell.key: {} for cell in stored.plan.cells}
    for record in stored.records:
        progress = progress_of(UNTIL_RULE, own[record.cell])
        if record.trial not in own[record.cell]:  # a trial that a busy machine failed is repeated
            assert not progress.ended
            assert record.trial <= progress.trials
        own[record.cell][record.trial] = record
    assert all(progress_of(UNTIL_RULE, trials).ended for trials in own.values())
    state = json.loads(netlab(tmp_path, "status", "out", "--json").stdout)
    assert (state["total"], state["done"]) == (len(stored.latest), len(stored.latest))
    wild = [key for key, trials in own.items() if progress_of(UNTIL_RULE, trials).precise is False]
    assert state["not_tight"] == wild
    assert no_probes(tmp_path)
