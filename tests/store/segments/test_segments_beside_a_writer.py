"""Segments are made while a run continues, by a process that may outlast it or be killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from draws import chance, drawn
from made_runs import made_plan, made_record, ticking

from netlab.results.arrow import segment_writer
from netlab.results.arrow.segment_writer import (
    SEGMENTS_LOCK,
    BackgroundSegments,
    compact,
    segments_made,
)
from netlab.results.run import read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.journal_reading import WriterLock
from netlab.store.reader import StoredRun
from netlab.store.run_folder import RunFolder
from netlab.store.segments import chain_of

pytestmark = pytest.mark.needs("pyarrow")

LL, LL_LARGE, WL, WL_LARGE = made_plan().cells
PATIENCE_S = 60.0


def open_run(path: Path) -> RunFolder:
    return RunFolder.open_for_writing(path, made_plan(), clock=ticking(), check=RUN_CHECK)


def told(stored: StoredRun) -> object:
    return list(stored.records), dict(stored.latest), stored.damage


def covered_bytes(path: Path) -> int:
    return chain_of(path, path / "journal.jsonl").end_bytes


def wait_until(is_true: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def test_journal_segments_made_during_writing_do_not_change_what_is_read_of_the_run(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.append(made_record(LL, 1))
        assert compact(path, least_bytes=1, least_lines=1) == 1
        first_bytes = covered_bytes(path)
        folder.append(made_record(LL, 1, attempt=2))
        folder.append(made_record(WL, 2))
        assert folder.next_attempt(LL.key, 1) == 3
        assert compact(path, least_bytes=1, least_lines=1) == 1
        folder.append(made_record(WL, 1))
    assert first_bytes < covered_bytes(path) < (path / "journal.jsonl").stat().st_size
    with_segments = told(read_checked(path))
    for segment in (path / "segments").iterdir():
        segment.unlink()
    assert told(read_checked(path)) == with_segments


def test_a_journal_segment_leaves_out_an_incomplete_line(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.append(made_record(LL, 1))
    whole = (path / "journal.jsonl").read_bytes()
    with open_run(path) as folder:
        folder.append(made_record(WL, 1))
    longer = (path / "journal.jsonl").read_bytes()
    (path / "journal.jsonl").write_bytes(longer[:-7])
    assert compact(path, least_bytes=1, least_lines=1) == 1
    assert covered_bytes(path) == len(whole)
    (path / "journal.jsonl").write_bytes(longer)
    assert compact(path, least_bytes=1, least_lines=1) == 1
    assert covered_bytes(path) == len(longer)


def test_only_one_process_makes_the_journal_segments_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.append(made_record(LL, 1))
    lock = WriterLock.acquire(path / SEGMENTS_LOCK)
    assert compact(path, least_bytes=1, least_lines=1) == 0
    assert compact(path, least_bytes=1, least_lines=1, patience_s=0.1) == 0
    lock.release()
    assert compact(path, least_bytes=1, least_lines=1) == 1


def test_journal_segments_are_made_at_the_end_of_a_session_if_the_journal_is_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.append(made_record(LL, 1))
    assert segments_made(path) == []
    assert not (path / SEGMENTS_LOCK).exists()  # the journal is short
    for module in (segment_writer, segment_writer):
        monkeypatch.setattr(module, "LEAST_LINES", 1)
    assert segments_made(path) == []
    wait_until(lambda: covered_bytes(path) == (path / "journal.jsonl").stat().st_size)


def test_a_process_for_journal_segments_that_cannot_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.append(made_record(LL, 1))
    monkeypatch.setattr(segment_writer, "LEAST_LINES", 1)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    (sentence,) = segments_made(path)
    assert "no segments were made of the journal, which is complete: " in sentence


def test_a_long_session_makes_journal_segments_while_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    monkeypatch.setattr(segment_writer, "LOOK_AFTER", 2)
    monkeypatch.setattr(segment_writer, "SEGMENT_BYTES", 1)
    with open_run(path) as folder:
        segments = BackgroundSegments(path)
        folder.append(made_record(LL, 1))
        segments.on_record()
        assert segments._process is None
        folder.append(made_record(LL, 2))
        segments.on_record()
        wait_until(lambda: covered_bytes(path) > 0)
        folder.append(made_record(WL, 1))
    assert len(list(read_checked(path).records)) == 3


def test_killing_the_process_for_journal_segments_does_not_change_what_is_read_of_the_run(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run"
    with open_run(path) as folder:
        for attempt in range(1, 200):
            folder.append(made_record(LL, 1, attempt=attempt), durable=False)
    before = told(read_checked(path))
    argv = [sys.executable, "-m", "netlab.results.arrow.segment_writer", str(path), "1", "1"]
    for number in range(drawn(few=3, many=30)):
        process = subprocess.Popen(argv)
        time.sleep(chance(number).uniform(0.1, 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert told(read_checked(path)) == before
    assert subprocess.run(argv, timeout=PATIENCE_S, check=False).returncode == 0
    assert covered_bytes(path) == (path / "journal.jsonl").stat().st_size
    assert told(read_checked(path)) == before
    assert [name.name for name in (path / "segments").iterdir() if name.suffix != ".parquet"] == []
