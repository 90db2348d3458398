"""One session of a run: its trials, their order, and the effect of an interruption."""

from __future__ import annotations

import errno
import itertools
import os
import re
import threading
from pathlib import Path

import pytest
from advanced_clock import AdvancedClock, advanced, passing_clock
from made_sessions import MATRIX, Bench, FakePool, bench, scattered

from netlab import clock
from netlab.errors import StoreError
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.runner import session as room
from netlab.runner.progress import Progress
from netlab.store.reader import read
from netlab.trial.record import Record, Status

__all__ = ["bench", "passing_clock"]


def test_each_cell_gets_as_many_trials_as_its_precision_needs(bench: Bench) -> None:
    bench.run(FakePool())
    stored = read(bench.path / "run")
    ends = {}
    for cell in stored.plan.cells:
        progress = stored.progress(cell)
        words = re.search(r"(\w\w)-stream-(\w+-\d+)", cell.key)
        assert words is not None
        ends[words[1], words[2]] = (progress.trials, progress.ended, progress.precise)
        assert sum(record.cell == cell.key for record in stored.records) == progress.trials
    assert ends["LL", "udp-18"] == ends["WW", "udp-18"] == (9, True, False)
    assert ends["LL", "udp-1472"] == ends["WW", "udp-1472"] == (4, True, True)
    assert ends["LL", "tcp-64"] == (2, True, None)
    assert {trials for trials, _, _ in ends.values()} > {2, 4, 9}
    assert bench.counted == {"ok": len(stored.records)}


def test_each_block_has_one_trial_of_every_unfinished_cell_in_a_new_order(
    bench: Bench,
) -> None:
    trials = bench.run(FakePool())
    numbers = [trial.number for trial in trials]
    assert numbers == sorted(numbers)
    stored = read(bench.path / "run")
    for number in range(1, 10):
        block = [trial.cell.key for trial in trials if trial.number == number]
        assert sorted(block) == sorted(
            cell.key for cell in stored.plan.cells if stored.progress(cell).trials >= number
        )
    first, second = ([t.cell.key for t in trials if t.number == n] for n in (1, 2))
    assert sorted(first) == sorted(second)
    assert first != second


def test_a_run_cut_after_any_trial_resumes_with_the_same_trials_in_the_same_order(
    bench: Bench, tmp_path: Path
) -> None:
    bench.run(FakePool())
    for cut_after in (0, 1, 7, 23, 40):
        cut_bench = Bench(tmp_path / str(cut_after), bench.monkeypatch)
        cut_bench.path.mkdir()
        cut_bench.run(FakePool(cut_after=cut_after))
        assert len(cut_bench.recorded()) == cut_after
        cut_bench.run(FakePool())
        assert cut_bench.recorded() == bench.recorded()


def test_a_cell_that_stays_imprecise_is_noted_once_and_reported(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(FakePool())
    bench.run(FakePool())
    notes = [note for note in read(bench.path / "run").notes if note.kind == "not-tight"]
    wild = [note.data["cell"] for note in notes]
    assert len(wild) == len(set(wild)) > 1
    assert all(note.data["trials"] == 9 and note.data["within"] == 0.01 for note in notes)
    output = capsys.readouterr().err
    assert output.count("not within ± 1 % after 9 trials") == 1


def test_an_impossible_cell_is_tried_once_and_a_failed_trial_as_often_as_retries_allow(
    bench: Bench,
) -> None:
    def refused(trial: Trial) -> Status | None:
        return Status.IMPOSSIBLE if trial.cell.pairing == "WW" else Status.FAILED

    bench.text = MATRIX.replace(", repeats: 2", "")
    trials = bench.run(FakePool(away=refused), retries=1)
    tries: dict[str, list[int]] = {}
    for trial in trials:
        tries.setdefault(trial.cell.key, []).append(trial.number)
    for key, numbers in tries.items():
        assert numbers == ([1] if key.startswith("WW") else [1, 1, 2, 2, 3, 3, 4, 4])
    assert bench.counted == {"impossible": 5, "failed": 20}
    # After the repair, each failed trial is measured, and further ones if they are needed.
    bench.run(FakePool())
    assert set(bench.counted) == {"impossible", "ok"}


def test_cells_of_an_absent_host_stay_pending_and_are_measured_at_the_resume(bench: Bench) -> None:
    bench.run(FakePool(away=lambda t: Status.PENDING if t.cell.pairing == "WW" else None))
    assert bench.counted["pending"] == 4 * 4 + 2
    trials = bench.run(FakePool())
    assert {trial.cell.pairing for trial in trials} == {"WW"}
    assert set(bench.counted) == {"ok"}


def test_a_cell_to_redo_is_measured_again_in_all_its_trials(bench: Bench) -> None:
    bench.run(FakePool())
    stored = read(bench.path / "run")
    cell = stored.plan.cells[3]
    trials = bench.run(FakePool(), redo=frozenset({cell.key}))
    assert [(trial.cell.key, trial.number) for trial in trials] == [
        (cell.key, number) for number in range(1, stored.progress(cell).trials + 1)
    ]


def test_a_session_pauses_between_trials_but_not_before_the_first_or_after_the_last(
    bench: Bench, passing_clock: AdvancedClock
) -> None:
    bench.text = MATRIX.replace("until: {within: 1 %, at_least: 4, at_most: 9}", "pause: 3s")
    trials_at_s: list[float] = []

    def noted(cell: Cell, number: int) -> float:
        trials_at_s.append(clock.monotonic())
        return scattered(cell, number)

    bench.run(FakePool(value=noted))
    assert len(trials_at_s) == 12
    assert {later - sooner for sooner, later in itertools.pairwise(trials_at_s)} == {3.0}
    assert passing_clock.slept_s == [3.0] * 11


def test_trials_of_absent_hosts_cost_no_pause(bench: Bench, passing_clock: AdvancedClock) -> None:
    bench.text = MATRIX + "pause: 3s\n"
    bench.run(FakePool(away=lambda _: Status.PENDING))
    assert passing_clock.slept_s == []


def test_measured_trials_are_stored_although_a_defect_ends_the_session(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.text = MATRIX + "parallel: true\n"

    def defect(_progress: Progress, _record: Record) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(Progress, "record", defect)
    pool = FakePool()
    with pytest.raises(RuntimeError, match="a defect"):
        bench.run(pool)
    assert len(pool.measured) == 2
    records = read(bench.path / "run").records
    assert {(record.cell, record.status) for record in records} == {
        (trial.cell.key, Status.OK) for trial in pool.measured
    }


@pytest.mark.parametrize("common", [True, False])
def test_parallel_trials_share_a_common_window_unless_the_matrix_forbids_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, common: bool
) -> None:
    bench.text = MATRIX + "parallel: true\ndefaults: {duration: 1s}\n"
    bench.text += "" if common else "common_window: false\n"
    windows: list[int] = []
    with_agents = FakePool()
    monkeypatch.setattr(with_agents, "agents_of", lambda _cell: (object(), object()))
    monkeypatch.setattr(room, "common_window", lambda streams, *_: windows.append(len(streams)))
    bench.run(with_agents)
    assert (set(windows) == {2}) is common
    assert common or not windows


def test_the_first_line_of_a_run_states_trials_time_and_pause(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = MATRIX + "pause: 1ms\n"
    with advanced():
        bench.run(FakePool())
    first = capsys.readouterr().err.splitlines()[0]
    assert ": 36 trials to measure, up to 9 per cell until its mean is precise, about " in first
    assert first.endswith("1 ms between trials")


def test_a_record_is_written_before_the_next_trial_and_synced_during_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sync succeeds only after the next trial has begun: no trial waits for it."""
    true, beginnings = os.fsync, threading.Semaphore(0)
    counts: list[int] = []

    def slow(descriptor: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert beginnings.acquire()
        true(descriptor)

    def value(cell: Cell, number: int) -> float:
        counts.append(len(read(bench.path / "run").records))
        beginnings.release()
        return scattered(cell, number)

    monkeypatch.setattr(os, "fsync", slow)
    pool = FakePool(value=value)
    beginnings.release()  # for the sync of the last record
    trials = bench.run(pool)
    # Trials of a round that share no host run at the same time.
    assert all(count >= previous for previous, count in itertools.pairwise(counts))
    assert counts[-1] >= len(trials) - 2
    assert bench.counted == {"ok": len(trials)}


def test_a_failed_disk_sync_ends_the_run_and_its_running_trial(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = os.fsync
    closure = threading.Event()

    def refuse(descriptor: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        true(descriptor)

    class Waits(FakePool):
        """Hosts whose third trial ends only when they are closed."""

        def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
            if len(self.measured) >= 3:
                assert closure.wait()
            return super().measure(trial, ends, attempt, live)

        def close(self) -> None:
            closure.set()

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"cannot write a record: .*\(EIO\); the disk may"):
        bench.run(Waits())
    assert closure.is_set()
    assert 0 < len(read(bench.path / "run").records) <= 4
    monkeypatch.setattr(os, "fsync", true)
    bench.run(FakePool())
    assert set(bench.counted) == {"ok"}
