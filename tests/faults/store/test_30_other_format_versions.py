"""A run of an older format is read as ever; one of a newer or of no format is refused with a line.

Version 1 is the only one so far: a folder of it is kept among the fixtures.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import Commands, commands
from folders import FIXTURES
from made_runs import lines_of, made_record, open_folder

from netlab.errors import StoreError
from netlab.store.journal import encode_line
from netlab.store.reader import read

__all__ = ["commands"]


def test_a_run_folder_of_format_version_1_stays_readable() -> None:
    stored = read(FIXTURES / "run-v1")
    assert stored.plan.title == "Recorded by format version 1"
    assert stored.plan.link is not None
    assert stored.plan.link.rate_bit_per_s == 1e8
    assert stored.created_at == "2026-01-31T12:00:00.000000Z"
    statuses = [(str(record.status), record.reason) for record in stored.records]
    assert statuses == [
        ("ok", None),
        ("failed", "no-peer"),
        ("ok", None),
        ("impossible", "no-buffers"),
        ("pending", "host-away"),
    ]
    assert stored.records[3].errno == 105
    assert [note.kind for note in stored.notes] == [
        "journal",
        "session",
        "facts",
        "attempt",
        "attempt",
        "session-end",
    ]
    assert [str(place) for place in stored.damage] == [
        "line 10: damaged: the checksum does not match"
    ]


def test_records_of_a_newer_and_of_no_format_are_reported_with_their_lines(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
    journal = tmp_path / "run" / "journal.jsonl"
    line = lines_of(tmp_path / "run")[1][9:].decode()
    for version in ("99", "0"):
        text = line.replace('"schema":1', f'"schema":{version}').strip()
        journal.write_bytes(journal.read_bytes() + encode_line(text))
    journal.write_bytes(journal.read_bytes() + encode_line('{"kind":7}'))
    stored = read(tmp_path / "run")
    assert len(stored.records) == 1
    assert [place.line for place in stored.damage] == [3, 4, 5]
    assert "use a newer netlab" in stored.damage[0].message
    assert "never existed" in stored.damage[1].message


@pytest.mark.parametrize("version", [0, 99])
def test_a_header_of_another_format_version_is_refused_with_a_sentence(
    tmp_path: Path, version: int
) -> None:
    open_folder(tmp_path / "run").close()
    header = tmp_path / "run" / "run.json"
    header.write_text(header.read_text().replace('"schema": 1', f'"schema": {version}'))
    sentence = "use a newer netlab" if version else "never existed"
    with pytest.raises(StoreError, match=rf"run\.json: .*{sentence}"):
        read(tmp_path / "run")


def test_commands_refuse_a_run_of_a_newer_format_and_leave_its_folder_as_it_was(
    commands: Commands,
) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    header = folder / "run.json"
    header.write_text(header.read_text().replace('"schema": 1', '"schema": 2'))
    old_contents = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    for words in (("status", "out"), ("report", "out"), ("export", "out")):
        process = commands.run(*words)
        assert process.returncode == 1
        assert process.stderr.count("\n") == 1
        assert "written in format version 2" in process.stderr
        assert "use a newer netlab" in process.stderr
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == old_contents
