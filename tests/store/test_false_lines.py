"""Intact lines of a journal with impossible content are damage, and the next run continues."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_runs import LL, made_plan, made_record, open_folder

from netlab.errors import StoreError
from netlab.findings.analysis import load
from netlab.results.value_types import RUN_CHECK
from netlab.store.files import make_folder
from netlab.store.journal import MAX_NUMBER, encode_line
from netlab.store.reader import read
from netlab.store.run_folder import RunFolder
from netlab.trial.record import to_json

NOW = "2026-01-31T12:00:00Z"
PARTS = {"settings", "values", "data"}


def run_with(path: Path, *lines: dict[str, Any]) -> Path:
    """A run folder whose journal ends with these lines."""
    open_folder(path).close()
    with (path / "journal.jsonl").open("ab") as journal:
        for line in lines:
            journal.write(encode_line(json.dumps({"at": NOW, **line})))
    return path


def record_line(**changes: Any) -> dict[str, Any]:
    """A record of the first cell; what is in ``settings`` and ``values`` is added."""
    line: dict[str, Any] = {"kind": "record", **json.loads(to_json(made_record(LL)))}
    parts = {name: line[name] | changes.pop(name) for name in PARTS & changes.keys()}
    return line | changes | parts


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"test": "foo", "settings": {"protocol": "UDP"}},
            "its test or its pairing differs from that",
        ),
        ({"pairing": "WW"}, "its test or its pairing differs from that"),
        ({"values": {"\ud800x": 1}}, "'\\ud800x' is not a valid name"),
        ({"values": {"A b": 1}}, "'A b' is not a valid name"),
        ({"values": {"x" * 129: 1}}, "is not a valid name"),
        ({"server": "\ud800"}, "a text contains half a surrogate pair"),
    ],
)
def test_a_record_with_impossible_content_is_reported_as_damage(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    stored = read(run_with(tmp_path / "run", record_line(**changes)), RUN_CHECK)
    assert stored.records == ()
    (damage,) = stored.damage
    assert str(damage).startswith("line 2: not a record of this format: ")
    assert words in str(damage)


def test_half_a_surrogate_pair_in_a_note_is_reported_as_damage(tmp_path: Path) -> None:
    note = {"kind": "weather", "data": {"sky": "\udfff"}}
    (damage,) = read(run_with(tmp_path / "run", note)).damage
    assert str(damage) == "line 2: a text contains half a surrogate pair"


def test_impossible_gaps_in_a_record_end_neither_a_report_nor_a_resume(tmp_path: Path) -> None:
    gaps = {"values": {"receiver_gaps": [1.7e308, 1.7e308]}}
    path = run_with(tmp_path / "run", record_line(**gaps))
    assert load(path).findings is not None
    RunFolder.open_for_writing(path, made_plan(), check=RUN_CHECK).close()


@pytest.mark.parametrize("attempt", [2**31, MAX_NUMBER - 1, 0, -1, True, "2", 1.5])
def test_an_impossible_attempt_number_in_a_note_is_ignored(tmp_path: Path, attempt: Any) -> None:
    note = {"kind": "attempt", "data": {"cell": LL.key, "trial": 1, "attempt": attempt}}
    path = run_with(tmp_path / "run", note)
    with open_folder(path) as folder:
        following = folder.next_attempt(LL.key, 1)
        folder.append(made_record(LL, 1, attempt=following))
    stored = read(path)
    assert (following, stored.damage) == (1, ())
    assert stored.latest[LL.key, 1].attempt == 1


def test_a_trial_can_be_repeated_after_the_largest_attempt_number(tmp_path: Path) -> None:
    path = run_with(tmp_path / "run", record_line(attempt=MAX_NUMBER - 1))
    with open_folder(path) as folder:
        folder.append(made_record(LL, 1, attempt=folder.next_attempt(LL.key, 1)))
    assert read(path).damage == ()


def test_a_folder_whose_creation_was_interrupted_can_be_written_without_damage(
    tmp_path: Path,
) -> None:
    open_folder(tmp_path / "run").close()
    (tmp_path / "run" / "run.json").unlink()
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
        assert read(tmp_path / "run").damage == ()
    stored = read(tmp_path / "run")
    assert [note.kind for note in stored.notes] == ["journal", "journal"]
    assert (stored.damage, len(stored.records)) == ((), 1)


@pytest.mark.parametrize("ask", [read, make_folder, open_folder])
def test_a_path_that_is_too_long_is_refused_with_the_reason(
    tmp_path: Path, ask: Callable[[Path], object]
) -> None:
    with pytest.raises(StoreError, match="ENAMETOOLONG"):
        ask(tmp_path / ("x" * 300) / "run")
