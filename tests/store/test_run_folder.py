"""A run folder returns what was written, and tells a resume what is outstanding."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from folders import FIXTURES
from made_runs import (
    LL,
    LL_LARGE,
    WL,
    WL_LARGE,
    lines_of,
    made_cell,
    made_plan,
    made_record,
    open_folder,
)

from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.experiment.matrix import StopRule
from netlab.store.reader import read
from netlab.trial.record import Status, Value

# A folder and its plan


def test_a_run_folder_returns_the_plan_records_and_notes_that_were_written(tmp_path: Path) -> None:
    record = made_record()
    with open_folder(tmp_path / "run") as folder:
        folder.note("session", hosts={"alpha": {"os": "L"}}, order="shuffled")
        folder.append(record)
    stored = read(tmp_path / "run")
    assert stored.plan == made_plan()
    assert stored.plan.matrix_text == "title: made up\n"
    assert stored.records == (record,)
    assert stored.latest == {(LL.key, 1): record}
    assert stored.damage == ()
    assert [(note.kind, dict(note.data)) for note in stored.notes[1:]] == [
        ("session", {"hosts": {"alpha": {"os": "L"}}, "order": "shuffled"})
    ]


def test_a_plan_with_a_stop_rule_and_a_cell_with_its_own_repeats_is_read_back(
    tmp_path: Path,
) -> None:
    until = StopRule(within=0.025, confidence=0.9, at_least=3, at_most=7)
    cells = (LL, replace(LL_LARGE, repeats=12))
    plan = replace(made_plan(cells=cells, repeats=7), until=until)
    plan = replace(plan, link=Link(1e8, 1420, hops=1, overhead_bytes=60))
    with open_folder(tmp_path / "run", plan) as folder:
        assert len(folder.outstanding()) == 3 + 12
        folder.append(made_record(LL_LARGE, 12))
        folder.append(made_record(LL, 7))
        with pytest.raises(ValueError, match="not in the plan"):
            folder.append(made_record(LL, 8))
    stored = read(tmp_path / "run")
    assert stored.plan == plan
    assert stored.plan.rule_of(stored.plan.cells[0]) == until
    assert stored.plan.rule_of(stored.plan.cells[1]) == 12
    assert [(cell.key, trial) for cell, trial, _ in stored.trials()] == [
        *((LL.key, trial) for trial in range(1, 8)),
        *((LL_LARGE.key, trial) for trial in range(1, 13)),
    ]
    new_plan = replace(plan, until=replace(until, at_most=8))
    with pytest.raises(
        UsageError, match=r"until: ± 2.5 % at 90 %, 3 to 7 trials in the folder, .* 3 to 8"
    ):
        open_folder(tmp_path / "run", new_plan)


def test_a_plan_without_new_features_has_the_keys_of_format_version_1(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    old = json.loads((FIXTURES / "run-v1" / "run.json").read_text())
    assert header.keys() - {"source"} == old.keys() - {"source"}
    assert header["cells"][0].keys() == old["cells"][0].keys()
    assert header["link"].keys() == old["link"].keys()


def test_every_line_of_the_journal_has_the_wall_clock_time(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.note("session")
        folder.append(made_record())
    for line in lines_of(tmp_path / "run"):
        assert json.loads(line[9:])["at"].startswith("2026-01-31T12:00:0")


def test_a_run_folder_and_its_files_are_private_to_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    open_folder(path).close()
    assert path.stat().st_mode & 0o777 == 0o700
    assert {file.name for file in path.iterdir()} == {
        "run.json",
        "matrix.yaml",
        "journal.jsonl",
        "lock",
    }
    assert all(file.stat().st_mode & 0o077 == 0 for file in path.iterdir())


def test_unknown_kinds_of_notes_are_read_without_damage(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.note("weather", sky="grey")
        folder.append(made_record())
    stored = read(tmp_path / "run")
    assert [note.kind for note in stored.notes] == ["journal", "weather"]
    assert stored.damage == ()
    assert len(stored.latest) == 1


def test_names_with_spaces_umlauts_and_emoji_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "Läufe im März" / "走 🏁"
    with open_folder(path) as folder:
        folder.append(made_record(detail="Rechner „Käfer“ 🐞"))
    assert read(path).records[0].detail == "Rechner „Käfer“ 🐞"
    assert all(line.isascii() for line in lines_of(path))


# Resume


def test_trials_without_a_record_or_with_a_failed_or_pending_record_are_outstanding(
    tmp_path: Path,
) -> None:
    with open_folder(tmp_path / "run") as folder:
        assert len(folder.outstanding()) == 8
        folder.append(made_record(LL, 1))
        folder.append(made_record(LL, 2, status=Status.IMPOSSIBLE, reason="capability-missing"))
        folder.append(made_record(LL_LARGE, 1, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(LL_LARGE, 2, status=Status.PENDING, reason="host-away"))
        trials = [(LL_LARGE.key, 1), (LL_LARGE.key, 2), (WL.key, 1), (WL.key, 2)]
        trials += [(WL_LARGE.key, 1), (WL_LARGE.key, 2)]
        assert list(folder.outstanding()) == trials
    with open_folder(tmp_path / "run") as folder:
        assert list(folder.outstanding()) == trials
        folder.append(made_record(LL_LARGE, 1, attempt=2))
        assert list(folder.outstanding()) == trials[1:]


@pytest.mark.parametrize(
    ("reason", "errno", "is_final"),
    [
        ("capability-missing", None, True),
        ("capability-missing", 1, False),
        ("not-as-set-up", None, False),
        ("path-mtu", None, False),
        ("message-too-long", 90, False),
        ("no-buffers", 105, False),
    ],
)
def test_a_trial_that_a_path_or_host_refused_is_outstanding_unless_the_refusal_is_final(
    tmp_path: Path, reason: str, errno: int | None, is_final: bool
) -> None:
    record = made_record(LL, 1, status=Status.IMPOSSIBLE, reason=reason, errno=errno)
    assert record.is_final is is_final
    with open_folder(tmp_path / "run") as folder:
        folder.append(record)
        assert ((LL.key, 1) not in folder.outstanding()) is is_final


def test_redo_measures_a_trial_again_and_the_old_record_stays(tmp_path: Path) -> None:
    old, new = made_record(), made_record(attempt=2, values={"throughput_bit_per_s": 1.5})
    with open_folder(tmp_path / "run") as folder:
        folder.append(old)
        assert (LL.key, 1) not in folder.outstanding()
        assert (LL.key, 1) in folder.outstanding(frozenset({LL.key}))
        with pytest.raises(UsageError, match="the plan has no cell nonsense"):
            folder.outstanding(frozenset({"nonsense"}))
        folder.append(new)
    stored = read(tmp_path / "run")
    assert stored.records == (old, new)
    assert stored.latest[LL.key, 1] == new


def test_finished_records_stay_byte_identical_over_a_resume(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record(LL, 1))
    journal = (tmp_path / "run" / "journal.jsonl").read_bytes()
    header = (tmp_path / "run" / "run.json").read_bytes()
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record(LL, 2))
    assert (tmp_path / "run" / "journal.jsonl").read_bytes().startswith(journal)
    assert (tmp_path / "run" / "run.json").read_bytes() == header
    assert len(read(tmp_path / "run").records) == 2


def test_the_next_attempt_follows_an_attempt_that_an_interrupted_run_began(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        assert folder.next_attempt(LL.key, 1) == 1
        folder.note("attempt", durable=False, cell=LL.key, trial=1, attempt=1)
        assert folder.next_attempt(LL.key, 1) == 2
        folder.append(made_record(WL, 1, attempt=3))
    with open_folder(tmp_path / "run") as folder:
        assert folder.next_attempt(LL.key, 1) == 2
        assert folder.next_attempt(WL.key, 1) == 4
        assert folder.next_attempt(WL.key, 2) == 1


def test_an_attempt_that_was_noted_as_in_vain_counts_as_finished(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record(LL, 1))
        folder.note("attempt", cell=LL.key, trial=1, attempt=2)
        assert read(tmp_path / "run").unfinished.keys() == {(LL.key, 1)}
        folder.note("in-vain", cell=LL.key, trial=[1])
        folder.note("in-vain", cell=LL.key, trial=1, attempt=2)
        assert not read(tmp_path / "run").unfinished


def test_a_begun_trial_is_unfinished_until_its_record_or_the_next_session(
    tmp_path: Path,
) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.note("session")
        folder.note("attempt", cell=LL.key, trial=1)
        folder.note("attempt", cell=WL.key, trial=2)
        assert read(tmp_path / "run").unfinished.keys() == {(LL.key, 1), (WL.key, 2)}
        folder.append(made_record(LL, 1))
        assert read(tmp_path / "run").unfinished.keys() == {(WL.key, 2)}
        folder.note("session")
        assert not read(tmp_path / "run").unfinished


def test_a_record_that_is_not_in_the_plan_is_refused(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        with pytest.raises(ValueError, match="not in the plan"):
            folder.append(made_record(made_cell("WW")))
        with pytest.raises(ValueError, match="not in the plan"):
            folder.append(made_record(trial=3))
        assert not folder.latest


def test_a_writer_holds_only_those_values_in_memory_that_decide_about_further_trials(
    tmp_path: Path,
) -> None:
    rule_values = {"throughput_bit_per_s": 1e6, "receiver_host_steal_share": 0.01}
    long: dict[str, Value] = {"receiver_interval_bytes": [1] * 1000, "receiver_congestion": "cubic"}
    record = made_record(values=rule_values | long)
    with open_folder(tmp_path / "run") as folder:
        folder.append(record)
        assert folder.latest[LL.key, 1].values == rule_values
    with open_folder(tmp_path / "run") as folder:
        (again,) = folder.latest.values()
        assert (again.values, again.settings, again.status) == (rule_values, {}, record.status)
    assert read(tmp_path / "run").records == (record,)


def test_a_refused_record_leaves_no_line_in_the_journal(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        line_count = len(lines_of(tmp_path / "run"))
        with pytest.raises(ValueError, match="which netlab does not know"):
            folder.append(made_record(status=Status.FAILED, reason="bad-luck"))
        assert len(lines_of(tmp_path / "run")) == line_count
        assert folder.latest == {}
