"""A run folder on a disk that refuses: one sentence, and nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_runs import (
    made_cell,
    made_plan,
    made_record,
    open_folder,
)

from netlab.errors import NetlabError, StoreError
from netlab.store.files import write_file
from netlab.store.run_folder import read


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
