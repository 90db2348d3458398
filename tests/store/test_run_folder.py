"""store.py: resume, one writer, refusal of another matrix, and a disk that refuses."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from folders import FIXTURES, ROOT, SUPPORT
from made_runs import CONTENT, made_cell, made_plan, made_record, ticking

from netlab.errors import LockedError, NetlabError, StoreError, UsageError
from netlab.experiment.matrix import Link
from netlab.experiment.records import Status
from netlab.experiment.stopping import StopRule
from netlab.store.files import write_file
from netlab.store.plan import differences
from netlab.store.run_folder import Plan, RunFolder, holder_of, read

LL, LL_LARGE, WL, WL_LARGE = made_plan().cells


def open_folder(path: Path, plan: Plan | None = None) -> RunFolder:
    return RunFolder.open_for_writing(path, plan or made_plan(), clock=ticking())


def lines_of(path: Path) -> list[bytes]:
    return (path / "journal.jsonl").read_bytes().splitlines(keepends=True)


# A folder and its plan


def test_what_was_planned_and_recorded_is_read_back(tmp_path: Path) -> None:
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


def test_a_plan_with_trials_until_tight_and_cells_of_their_own_number_is_read_back(
    tmp_path: Path,
) -> None:
    until = StopRule(within=0.025, confidence=0.9, at_least=3, at_most=7)
    cells = (LL, replace(LL_LARGE, repeats=12))
    plan = replace(made_plan(cells=cells, repeats=7), until=until, link=Link(1e8, 1500, hops=1))
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
    other = replace(plan, until=replace(until, at_most=8))
    with pytest.raises(UsageError, match=r"until: ± 2.5 % at 90 %, 3 to 7 trials there, .* 3 to 8"):
        open_folder(tmp_path / "run", other)


def test_a_plan_without_news_is_written_as_ever(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    old = json.loads((FIXTURES / "run-v1" / "run.json").read_text())
    assert header.keys() - {"source"} == old.keys() - {"source"}
    assert header["cells"][0].keys() == old["cells"][0].keys()
    assert header["link"].keys() == old["link"].keys()


def test_every_line_carries_the_wall_clock(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.note("session")
        folder.append(made_record())
    for line in lines_of(tmp_path / "run"):
        assert json.loads(line[9:])["at"].startswith("2026-01-31T12:00:0")


def test_the_folder_and_its_files_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    open_folder(path).close()
    assert path.stat().st_mode & 0o777 == 0o700
    assert {each.name for each in path.iterdir()} == {
        "run.json",
        "matrix.yaml",
        "journal.jsonl",
        "lock",
    }
    assert all(each.stat().st_mode & 0o077 == 0 for each in path.iterdir())


def test_unknown_kinds_of_notes_and_unknown_keys_are_kept_and_ignored(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8", "tr_TR.UTF-8"])
def test_the_journal_is_the_same_bytes_in_every_locale(tmp_path: Path, locale: str) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from made_runs import *\n"
        "from netlab.store.run_folder import RunFolder\n"
        "f = RunFolder.open_for_writing(\n"
        "    Path(sys.argv[1]), made_plan(), clock=ticking(), run_id='0')\n"
        "f.append(made_record(detail='I\\u0131\\xdf')); f.close()\n"
    )
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONPATH": os.getcwd()}  # noqa: PTH109
    command = [sys.executable, "-c", program, str(tmp_path / "run"), str(SUPPORT)]
    subprocess.run(command, env=environment, check=True, timeout=60)
    with RunFolder.open_for_writing(
        tmp_path / "here", made_plan(), clock=ticking(), run_id="0"
    ) as here:
        here.append(made_record(detail="Iıß"))
    for name in ("journal.jsonl", "run.json", "matrix.yaml"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


# Resume


def test_outstanding_is_what_has_no_record_failed_or_is_pending(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        assert len(folder.outstanding()) == 8
        folder.append(made_record(LL, 1))
        folder.append(made_record(LL, 2, status=Status.IMPOSSIBLE, reason="no-buffers"))
        folder.append(made_record(LL_LARGE, 1, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(LL_LARGE, 2, status=Status.PENDING, reason="host-away"))
        left = [(LL_LARGE.key, 1), (LL_LARGE.key, 2), (WL.key, 1), (WL.key, 2)]
        left += [(WL_LARGE.key, 1), (WL_LARGE.key, 2)]
        assert list(folder.outstanding()) == left
    with open_folder(tmp_path / "run") as folder:
        assert list(folder.outstanding()) == left
        folder.append(made_record(LL_LARGE, 1, attempt=2))
        assert list(folder.outstanding()) == left[1:]


def test_redo_measures_again_and_keeps_the_old_record(tmp_path: Path) -> None:
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
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    header = (tmp_path / "run" / "run.json").read_bytes()
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record(LL, 2))
    assert (tmp_path / "run" / "journal.jsonl").read_bytes().startswith(before)
    assert (tmp_path / "run" / "run.json").read_bytes() == header
    assert len(read(tmp_path / "run").records) == 2


def test_an_attempt_that_a_lost_run_began_is_counted(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        assert folder.next_attempt(LL.key, 1) == 1
        folder.note("attempt", durable=False, cell=LL.key, trial=1, attempt=1)
        assert folder.next_attempt(LL.key, 1) == 2
        folder.append(made_record(WL, 1, attempt=3))
    with open_folder(tmp_path / "run") as folder:
        assert folder.next_attempt(LL.key, 1) == 2
        assert folder.next_attempt(WL.key, 1) == 4
        assert folder.next_attempt(WL.key, 2) == 1


def test_a_trial_that_was_begun_is_unfinished_until_its_record_or_the_next_session(
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


def test_a_record_that_the_plan_has_not_is_refused(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        with pytest.raises(ValueError, match="not in the plan"):
            folder.append(made_record(made_cell("WW")))
        with pytest.raises(ValueError, match="not in the plan"):
            folder.append(made_record(trial=3))
        assert folder.records == ()


def test_a_refused_record_leaves_no_line_behind(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        before = len(lines_of(tmp_path / "run"))
        with pytest.raises(ValueError, match="closed list"):
            folder.append(made_record(status=Status.FAILED, reason="bad-luck"))
        with pytest.raises(ValueError, match="not a kind of note"):
            folder.note("record", cell=LL.key)
        assert len(lines_of(tmp_path / "run")) == before
        assert folder.latest == {}


# Another matrix


def test_another_matrix_is_refused_with_the_difference_in_words(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    tests = [{"kind": "stream", "duration_s": 1, "message_bytes": [64]}]
    other = made_plan(content={**CONTENT, "tests": tests, "warm_up_s": 2})
    with pytest.raises(UsageError) as caught:
        open_folder(tmp_path / "run", other)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert "tests[0].duration_s: 10 there, 1 here" in message
    assert "tests[0].message_bytes: [64, 1500] there, [64] here" in message
    assert "warm_up_s: nothing there, 2 here" in message
    assert len(read(tmp_path / "run").records) == 0
    open_folder(tmp_path / "run").close()


def test_the_same_matrix_under_another_title_goes_on(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    content = json.loads(json.dumps(CONTENT)) | {"pairings": ("LL", "WL")}
    open_folder(tmp_path / "run", made_plan(content=content, matrix_text="# another\n")).close()
    assert read(tmp_path / "run").plan.matrix_text == "title: made up\n"


def test_the_same_matrix_with_other_cells_is_refused(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    other = made_plan(cells=(*made_plan().cells[:3], made_cell("WL", 9000)))
    with pytest.raises(UsageError, match="cells: 1 only there, 1 only here"):
        open_folder(tmp_path / "run", other)


def test_many_differences_are_cut_short(tmp_path: Path) -> None:
    open_folder(tmp_path / "run").close()
    other = made_plan(content={**CONTENT, **{f"key{n:02}": n for n in range(20)}})
    with pytest.raises(UsageError, match="key07: nothing there, 7 here; and 12 more"):
        open_folder(tmp_path / "run", other)


@pytest.mark.parametrize(
    ("there", "here", "words"),
    [
        ({"a": 10}, {"a": 10.0}, []),
        ({"a": True}, {"a": 1}, ["a: true there, 1 here"]),
        ({"a": [{"b": 1}]}, {"a": []}, ['a[0]: {"b": 1} there, nothing here']),
        ({"a": None}, {}, ["a: null there, nothing here"]),
        (1, 2, ["the whole: 1 there, 2 here"]),
        ({"a": "x" * 99}, {"a": {}}, ['a: "' + "x" * 56 + "... there, {} here"]),
    ],
)
def test_differences_are_said_path_by_path(there: Any, here: Any, words: list[str]) -> None:
    assert list(differences(there, here)) == words


# One writer


def test_a_second_writer_is_refused_with_who_holds_the_folder(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run"):
        with pytest.raises(LockedError, match=f"pid {os.getpid()} on .* since ") as caught:
            open_folder(tmp_path / "run")
        assert caught.value.exit_code == 6
        assert f"pid {os.getpid()}" in (holder_of(tmp_path / "run") or "")
    assert holder_of(tmp_path / "run") is None
    open_folder(tmp_path / "run").close()


def test_reading_needs_no_lock(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
        assert len(read(tmp_path / "run").records) == 1


def test_a_failed_opening_gives_the_lock_back(tmp_path: Path) -> None:
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


def start_writer(path: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(SUPPORT), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )


def test_of_several_processes_one_writes_and_the_others_are_refused(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path / "run", "wait") for _ in range(4)]
    words = sorted(str(writer.stdout and writer.stdout.readline()) for writer in writers)
    codes = []
    for writer in writers:
        writer.communicate(timeout=30)
        codes.append(writer.returncode)
    assert words == ["locked\n"] * 3 + ["open\n"]
    assert sorted(codes) == [0, 6, 6, 6]


def test_kill_9_at_any_moment_loses_no_record_and_frees_the_lock_at_once(tmp_path: Path) -> None:
    chance = random.Random(20260131)  # noqa: S311
    path = tmp_path / "run"
    told: list[str] = []
    before = b""
    for _ in range(5):
        writer = start_writer(path, "write")
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        told += [writer.stdout.readline().strip() for _ in range(chance.randint(0, 40))]
        writer.send_signal(signal.SIGKILL)
        told += [key for key in writer.communicate(timeout=30)[0].split("\n") if "stream" in key]
        journal = (path / "journal.jsonl").read_bytes()
        assert journal.startswith(before)
        before = journal
        assert holder_of(path) is None
        recorded = [record.cell for record in read(path).records]
        assert len(set(recorded)) == len(recorded)
        # The record that was on disk and not yet told is allowed; none that was told is lost.
        assert set(told) <= set(recorded)
    assert len(told) > 20


# What is damaged, and what is no run folder


def test_the_journals_of_two_runs_in_one_file_are_told_apart(tmp_path: Path) -> None:
    other = made_plan(cells=(made_cell("WW"), LL))
    with open_folder(tmp_path / "one") as folder:
        folder.append(made_record(LL))
    with open_folder(tmp_path / "two", other) as folder:
        folder.append(made_record(made_cell("WW")))
    joined = tmp_path / "one" / "journal.jsonl"
    joined.write_bytes(joined.read_bytes() + (tmp_path / "two" / "journal.jsonl").read_bytes())
    stored = read(tmp_path / "one")
    assert len(stored.records) == 2
    assert stored.latest.keys() == {(LL.key, 1)}
    assert [str(each) for each in stored.damage] == [
        "line 3: the journal of another run begins",
        f"line 4: a record of {made_cell('WW').key}, trial 1, which the plan has not",
    ]


def test_records_of_a_newer_and_of_no_format_are_reported_with_their_lines(tmp_path: Path) -> None:
    from netlab.store.journal import encode_line

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
    assert [each.line for each in stored.damage] == [3, 4, 5]
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


def test_every_flipped_bit_of_the_header_is_noticed(tmp_path: Path) -> None:
    plan = made_plan(cells=(LL,))
    open_folder(tmp_path / "run", plan).close()
    header = tmp_path / "run" / "run.json"
    whole = header.read_bytes()
    for bit in range(0, len(whole) * 8):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << (bit % 8)
        header.write_bytes(bytes(data))
        with contextlib.suppress(StoreError):
            # White space between the values is the only place where a flip does no harm.
            assert read(tmp_path / "run").plan == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "[" * 100_000, "\xff"])
def test_a_header_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    open_folder(tmp_path / "run").close()
    (tmp_path / "run" / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match="restore it from a copy"):
        read(tmp_path / "run")


def test_a_folder_that_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"it has no run\.json"):
        read(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"not empty \(thesis\.tex is in it\)"):
        open_folder(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        open_folder(tmp_path / "thesis.tex")
    assert {each.name for each in tmp_path.iterdir()} == {"thesis.tex"}


def test_a_journal_without_its_header_is_not_buried(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder:
        folder.append(made_record())
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(StoreError, match=r"run\.json is missing, and journal\.jsonl has 1 records"):
        open_folder(tmp_path / "run")
    assert len(lines_of(tmp_path / "run")) == 2


# A disk that refuses


@contextlib.contextmanager
def refusing(
    monkeypatch: pytest.MonkeyPatch, name: str, nth: int, number: int
) -> Iterator[Callable[[], int]]:
    """The n-th call of os.NAME raises, and all that follow: a disk does not get well by itself."""
    calls = 0
    true = getattr(os, name)

    def hooked(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= nth:
            if name == "write" and len(arguments[1]) > 8:
                true(arguments[0], bytes(arguments[1])[:7])  # a part may be there all the same
            raise OSError(number, os.strerror(number))
        return true(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, hooked)
        yield lambda: calls


def write_a_run(path: Path) -> list[str]:
    """Everything that a run does with its folder; the cells whose record was acknowledged."""
    told = []
    with open_folder(path) as folder:
        folder.note("session")
        for key, trial in folder.outstanding():
            cell = next(cell for cell in folder.plan.cells if cell.key == key)
            folder.note("attempt", durable=False, cell=key, trial=trial)
            folder.append(made_record(cell, trial))
            told.append(f"{key}/{trial}")
            ACKNOWLEDGED.append(told[-1])
        folder.note("session-end")
        folder.write_file("averages.csv", b"a,b\n1,2\n")
    return told


ACKNOWLEDGED: list[str] = []


@pytest.mark.parametrize("name", ["write", "fsync", "replace", "open"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_the_nth_refusal_stops_with_a_sentence_and_nothing_acknowledged_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    for nth in range(1, 200):
        path = tmp_path / f"{name}-{nth}" / "run"
        ACKNOWLEDGED.clear()
        with refusing(monkeypatch, name, nth, number) as calls:
            try:
                write_a_run(path)
                refused = False
            except NetlabError as error:
                refused = True
                assert type(error) is StoreError
                assert error.exit_code == 1
                assert str(tmp_path) in str(error)
                assert "\n" not in str(error)
        if not refused:
            assert calls() < nth
            assert nth > 1
            break
        acknowledged = list(ACKNOWLEDGED)
        # The disk is well again: the same command goes on in the same folder.
        write_a_run(path)
        stored = read(path)
        recorded = [f"{record.cell}/{record.trial}" for record in stored.records]
        assert set(acknowledged) <= set(recorded)
        assert len(stored.latest) == 8
        assert all(each.message for each in stored.damage)
        assert not [each for each in path.iterdir() if each.name.endswith(".tmp")] or (
            name == "replace"
        )
    else:
        pytest.fail("the run never got through")


def test_a_derived_file_is_whole_or_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "averages.csv"
    write_file(path, b"old")
    for name in ("write", "fsync", "replace"):
        with refusing(monkeypatch, name, 1, errno.EIO), pytest.raises(StoreError, match="EIO"):
            write_file(path, b"new and much longer than before")
        assert path.read_bytes() == b"old"
        assert [each.name for each in tmp_path.iterdir()] == ["averages.csv"]
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_the_runs_own_files_are_not_overwritten_by_derived_ones(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run") as folder, pytest.raises(ValueError, match="run's own"):
        folder.write_file("journal.jsonl", b"")


@pytest.mark.needs("root")
def test_a_full_disk_stops_the_run_and_it_goes_on_elsewhere(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert mounted.returncode == 0, mounted.stderr
    cells = tuple(made_cell("LL", size) for size in range(1, 11))
    plan = made_plan(cells=cells, repeats=30)
    told = 0
    try:
        with open_folder(small / "run", plan) as folder:
            with pytest.raises(StoreError, match=r"\(ENOSPC\); free some space") as caught:
                for key, trial in folder.outstanding():
                    folder.append(made_record(next(c for c in cells if c.key == key), trial))
                    told += 1
            assert caught.value.exit_code == 1
        stored = read(small / "run")
        assert len(stored.records) == told > 10
        large.mkdir()
        subprocess.run(["cp", "-r", str(small / "run"), str(large / "run")], check=True)
    finally:
        subprocess.run(["umount", str(small)], check=True)
    with open_folder(large / "run", plan) as folder:
        key, trial = folder.outstanding()[0]
        folder.append(made_record(next(c for c in cells if c.key == key), trial))
    assert len(read(large / "run").records) == told + 1


# The format's history


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
    assert [str(each) for each in stored.damage] == [
        "line 10: damaged: the checksum does not agree"
    ]


def test_a_file_system_without_fsync_of_folders_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        true(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert len(write_a_run(tmp_path / "run")) == 8
