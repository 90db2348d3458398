"""A run folder refuses another matrix, a second writer, damage and folders of other kinds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from folders import MADE, ROOT
from made_runs import (
    CONTENT,
    LL,
    lines_of,
    made_cell,
    made_plan,
    made_record,
    open_folder,
)

from netlab.errors import LockedError, StoreError, UsageError
from netlab.store.plan import differences
from netlab.store.reader import holder_of, read

# Another matrix


def test_a_run_folder_refuses_another_matrix_and_names_the_differences(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    tests = [{"kind": "stream", "duration_s": 1, "message_bytes": [64]}]
    new_plan = made_plan(content={**CONTENT, "tests": tests, "warm_up_s": 2})
    with pytest.raises(UsageError) as excinfo:
        open_folder(tmp_path / "run", new_plan)
    message = str(excinfo.value)
    assert excinfo.value.exit_code == 2
    assert "tests[0].duration_s: 10 in the folder, 1 now" in message
    assert "tests[0].message_bytes: [64, 1500] in the folder, [64] now" in message
    assert "warm_up_s: nothing in the folder, 2 now" in message
    assert len(read(tmp_path / "run").records) == 0
    open_folder(tmp_path / "run").close()


def test_a_run_can_be_resumed_with_an_equal_matrix_whose_text_differs(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    content = json.loads(json.dumps(CONTENT)) | {"pairings": ("LL", "WL")}
    open_folder(tmp_path / "run", made_plan(content=content, matrix_text="# another\n")).close()
    assert read(tmp_path / "run").plan.matrix_text == "title: made up\n"


def test_a_run_folder_refuses_the_same_matrix_with_other_cells(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    new_plan = made_plan(cells=(*made_plan().cells[:3], made_cell("WL", 9000)))
    with pytest.raises(UsageError, match="cells: 1 only in the folder, 1 only now"):
        open_folder(tmp_path / "run", new_plan)


def test_a_refusal_lists_eight_differences_and_counts_the_others(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    new_plan = made_plan(content={**CONTENT, **{f"key{n:02}": n for n in range(20)}})
    with pytest.raises(UsageError, match="key07: nothing in the folder, 7 now; and 12 more"):
        open_folder(tmp_path / "run", new_plan)


@pytest.mark.parametrize(
    ("old_content", "new_content", "words"),
    [
        ({"a": 10}, {"a": 10.0}, []),
        ({"a": True}, {"a": 1}, ["a: true in the folder, 1 now"]),
        ({"a": [{"b": 1}]}, {"a": []}, ['a[0]: {"b": 1} in the folder, nothing now']),
        ({"a": None}, {}, ["a: null in the folder, nothing now"]),
        (1, 2, ["the content: 1 in the folder, 2 now"]),
        ({"a": "x" * 99}, {"a": {}}, ['a: "' + "x" * 56 + "... in the folder, {} now"]),
    ],
)
def test_the_differences_of_two_matrices_are_listed_with_their_paths(
    old_content: Any, new_content: Any, words: list[str]
) -> None:
    assert list(differences(old_content, new_content)) == words


# One writer


def test_a_second_writer_of_a_run_folder_is_refused_with_the_name_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.store.journal_reading._PAUSE_S", 0)
    with open_folder(tmp_path / "run"):
        with pytest.raises(LockedError, match=f"pid {os.getpid()} on .* since ") as caught:
            open_folder(tmp_path / "run")
        assert caught.value.exit_code == 6
        assert f"pid {os.getpid()}" in (holder_of(tmp_path / "run") or "")
    assert holder_of(tmp_path / "run") is None
    open_folder(tmp_path / "run").close()


def test_a_run_can_be_read_while_a_writer_has_the_lock(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
        assert len(read(tmp_path / "run").records) == 1


def test_a_failed_opening_releases_the_lock_of_the_run_folder(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    with pytest.raises(UsageError):
        open_folder(tmp_path / "run", made_plan(content={}))
    assert holder_of(tmp_path / "run") is None


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from made_runs import *
from netlab.errors import LockedError
from netlab.store.run_folder import RunFolder
cells = tuple(made_cell("LL", size) for size in range(1, 5001))
try:
    folder = RunFolder.open_for_writing(Path(sys.argv[1]), made_plan(cells=cells, repeats=1))
except LockedError:
    print("locked", flush=True)
    sys.exit(6)
print("open", flush=True)
if sys.argv[3] == "wait":
    sys.stdin.read()
for key, trial in folder.outstanding() if sys.argv[3] == "write" else ():
    cell = next(cell for cell in cells if cell.key == key)
    folder.note("attempt", durable=False, cell=key, trial=1)
    folder.append(made_record(cell))
    print(key, flush=True)
folder.close()
"""


def start_writer(path: Path, task: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(MADE), task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )


@pytest.mark.lab
def test_of_four_processes_one_opens_the_run_folder_and_the_others_are_refused(
    tmp_path: Path,
) -> None:
    writers = [start_writer(tmp_path / "run", "wait") for _ in range(4)]
    words = sorted(str(writer.stdout and writer.stdout.readline()) for writer in writers)
    codes = []
    for writer in writers:
        writer.communicate(timeout=120)
        codes.append(writer.returncode)
    assert words == ["locked\n"] * 3 + ["open\n"]
    assert sorted(codes) == [0, 6, 6, 6]


@pytest.mark.lab
def test_kill_9_of_a_writer_loses_no_record_and_frees_the_lock_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    keys: list[str] = []
    old_journal = b""
    for number in range(drawn(few=3, many=50)):
        writer = start_writer(path, "write")
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        keys += [writer.stdout.readline().strip() for _ in range(chance(number).randint(0, 40))]
        writer.send_signal(signal.SIGKILL)
        keys += [key for key in writer.communicate(timeout=120)[0].split("\n") if "stream" in key]
        journal = (path / "journal.jsonl").read_bytes()
        assert journal.startswith(old_journal)
        old_journal = journal
        assert holder_of(path) is None
        recorded = [record.cell for record in read(path).records]
        assert len(set(recorded)) == len(recorded)
        # The record that was on disk and not yet told is allowed; none that was told is lost.
        assert set(keys) <= set(recorded)
    assert keys


# What is damaged, and what is no run folder


def test_a_flipped_bit_in_the_header_of_a_run_is_noticed(tmp_path: Path) -> None:
    plan = made_plan(cells=(LL,))
    open_folder(tmp_path / "run", plan).close()
    header = tmp_path / "run" / "run.json"
    header_data = header.read_bytes()
    for place in range(len(header_data)):
        for bit in chance(place).sample(range(8), drawn(few=1, many=8)):
            data = bytearray(header_data)
            data[place] ^= 1 << bit
            header.write_bytes(bytes(data))
            with contextlib.suppress(StoreError):
                # White space between the values is the only place where a flip does no harm.
                assert read(tmp_path / "run").plan == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "[" * 100_000, "\xff"])
def test_an_invalid_header_of_a_run_is_refused(tmp_path: Path, text: str) -> None:
    open_folder(tmp_path / "run").close()
    (tmp_path / "run" / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match="restore it from a copy"):
        read(tmp_path / "run")


def test_a_folder_that_is_not_a_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"it has no run\.json"):
        read(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"not empty \(thesis\.tex is in it\)"):
        open_folder(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        open_folder(tmp_path / "thesis.tex")
    assert {file.name for file in tmp_path.iterdir()} == {"thesis.tex"}


def test_a_journal_with_records_but_without_a_header_is_not_overwritten(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(StoreError, match=r"run\.json is missing, and journal\.jsonl has 1 records"):
        open_folder(tmp_path / "run")
    assert len(lines_of(tmp_path / "run")) == 2
