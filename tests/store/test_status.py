"""The status states how far a run is, also while another process writes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from folders import FIXTURES
from made_runs import made_plan, made_record, ticking

from netlab.errors import UsageError
from netlab.experiment.matrix import StopRule, outline
from netlab.store.reader import status_of
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status

FIXTURE = FIXTURES / "run-v1"
LL, LL_LARGE, WL, WL_LARGE = made_plan().cells


def open_folder(path: Path) -> RunFolder:
    return RunFolder.open_for_writing(path / "run", made_plan(), clock=ticking())


def test_all_trials_of_a_new_run_are_pending(tmp_path: Path) -> None:
    open_folder(tmp_path).close()
    state = status_of(tmp_path / "run")
    assert (state.total, state.done, state.remaining, state.pending) == (8, 0, 8, 8)
    assert state.last is None
    assert state.writer is None
    assert state.as_text().splitlines() == [
        f"{tmp_path / 'run'}: made up",
        "0 of 8 trials done: 0 ok, 0 impossible; 8 left: 0 failed, 8 pending",
        "not running",
    ]


def test_the_status_counts_the_latest_record_of_each_trial(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        folder.append(made_record(LL, 1, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(LL, 1, attempt=2))
        folder.append(made_record(LL, 2, status=Status.IMPOSSIBLE, reason="no-buffers"))
        folder.append(made_record(WL, 1, status=Status.PENDING, reason="host-away"))
        folder.append(made_record(WL, 2, status=Status.FAILED, reason="no-traffic"))
    state = status_of(tmp_path / "run")
    assert (state.ok, state.impossible, state.failed, state.pending) == (1, 1, 1, 5)
    assert (state.done, state.remaining, state.total) == (2, 6, 8)
    last = made_record(WL, 2, status=Status.FAILED, reason="no-traffic")
    assert state.last == outline(last)
    assert f"last record: {WL.key}: failed (no-traffic)" in state.as_text()


def test_the_status_names_the_writer_and_the_trial_that_is_being_measured(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        folder.note("session")
        folder.note("attempt", durable=False, cell=LL.key, trial=1)
        folder.append(made_record(LL, 1))
        folder.note("attempt", durable=False, cell=LL.key, trial=2)
        state = status_of(tmp_path / "run")
        assert f"pid {os.getpid()}" in (state.writer or "")
        assert [(active.cell, active.trial) for active in state.active] == [(LL.key, 2)]
        assert f"measuring {LL.key}, trial 2, since 2026-01-31T12:00:04" in state.as_text()
        assert state.as_dict()["running"] is True
    # The writer died in mid-trial: nothing is being measured any more.
    state = status_of(tmp_path / "run")
    assert state.active == ()
    assert state.as_dict()["running"] is False


def test_an_unfinished_last_line_is_damage_only_if_nobody_writes(tmp_path: Path) -> None:
    journal = tmp_path / "run" / "journal.jsonl"
    with open_folder(tmp_path) as folder:
        folder.append(made_record())
        with journal.open("ab") as file:
            file.write(b'12345678 {"kind":"rec')
        assert status_of(tmp_path / "run").damage == ()
    state = status_of(tmp_path / "run")
    assert [place.line for place in state.damage] == [3]
    assert "journal, line 3: torn: the file ends after 21 bytes of this line" in state.as_text()


def test_the_status_in_json_has_all_counts_and_the_damage() -> None:
    data = status_of(FIXTURE).as_dict()
    assert {name: data[name] for name in ("ok", "failed", "impossible", "pending")} == {
        "ok": 2,
        "failed": 0,
        "impossible": 1,
        "pending": 1,
    }
    assert (data["done"], data["remaining"], data["total"]) == (3, 1, 4)
    assert data["last"]["reason"] == "host-away"
    assert data["damage"] == [{"line": 10, "message": "damaged: the checksum does not match"}]
    assert data["writer"] is None


def test_the_status_text_shortens_a_long_list_of_damage(tmp_path: Path) -> None:
    open_folder(tmp_path).close()
    with (tmp_path / "run" / "journal.jsonl").open("ab") as file:
        file.write(b"rubbish\n" * 40)
    text = status_of(tmp_path / "run").as_text()
    assert text.count("rubbish") == 0
    assert text.splitlines()[-1] == "and 35 more damaged places"
    assert len(status_of(tmp_path / "run").as_dict()["damage"]) == 40


def test_asking_for_the_status_does_not_lock_out_a_writer(tmp_path: Path) -> None:
    open_folder(tmp_path).close()
    for _ in range(3):
        status_of(tmp_path / "run")
        open_folder(tmp_path).close()


def test_the_status_counts_cells_that_are_repeated_until_their_mean_is_precise(
    tmp_path: Path,
) -> None:
    until = StopRule(within=0.025, confidence=0.95, at_least=4, at_most=5)
    own = replace(WL, repeats=1)
    plan = replace(made_plan(cells=(LL, LL_LARGE, own), repeats=5), until=until)
    with RunFolder.open_for_writing(tmp_path / "run", plan, clock=ticking()) as folder:
        state = status_of(tmp_path / "run")
        assert (state.total, state.pending, state.undecided) == (9, 9, 2)
        folder.append(made_record(own))
        for trial in range(1, 5):
            folder.append(made_record(LL, trial))
            folder.append(made_record(LL_LARGE, trial, values={"throughput_bit_per_s": trial}))
        state = status_of(tmp_path / "run")
        assert (state.total, state.done, state.undecided, state.not_tight) == (10, 9, 1, ())
        assert "1 cell is measured until within ± 2.5 %, up to 5 trials each" in state.as_text()
        folder.append(made_record(LL_LARGE, 5, values={"throughput_bit_per_s": 1.0}))
    state = status_of(tmp_path / "run")
    assert (state.total, state.done, state.undecided) == (10, 10, 0)
    assert state.not_tight == (LL_LARGE.key,)
    assert "1 cell was not within ± 2.5 % after 5 trials" in state.as_text()
    assert f"  {LL_LARGE.key}" in state.as_text().splitlines()
    assert state.as_dict()["not_tight"] == [LL_LARGE.key]


@pytest.mark.parametrize(
    ("quiet", "counts", "sentence"),
    [
        ({"steal": 0.01, "tries": 3}, (2, 1), "2 trials lost more than 1 % of a host's CPU time"),
        ({"steal": 0.1, "tries": 1}, (1, 0), "1 trial lost more than 10 % of a host's CPU time"),
        ({"steal": "a lot", "tries": 3}, (0, 0), None),
        (None, (0, 0), None),
    ],
)
def test_the_status_counts_trials_above_the_steal_limit_of_the_last_session(
    tmp_path: Path, quiet: object, counts: tuple[int, int], sentence: str | None
) -> None:
    with open_folder(tmp_path) as folder:
        folder.note("session", quiet={"steal": 0.5, "tries": 2})
        folder.note("session", quiet=quiet)
        for number, attempt, stolen in ((1, 1, 0.05), (2, 3, 0.2)):
            record = made_record(LL, number, attempt=attempt)
            values = {**record.values, "receiver_host_steal_share": stolen}
            folder.append(replace(record, values=values))
        folder.append(made_record(WL, 1))
    state = status_of(tmp_path / "run")
    assert (state.disturbed, state.disturbed_again) == counts
    assert state.as_dict()["disturbed"] == counts[0]
    lines = [line for line in state.as_text().splitlines() if "CPU time" in line]
    assert [line.partition(" to others")[0] for line in lines] == ([sentence] if sentence else [])


def test_the_status_of_a_folder_that_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        status_of(tmp_path)
