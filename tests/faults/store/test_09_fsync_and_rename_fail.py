"""Where the n-th fsync, rename, write or open fails, a run stops with a sentence and is resumed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from refusing_disk import refusals, refusing, write_a_run

from netlab.errors import StoreError
from netlab.store.files import write_inside
from netlab.store.reader import read


@pytest.mark.parametrize("name", ["fsync", "replace", "write", "open"])
def test_a_disk_error_in_any_fsync_replace_write_or_open_loses_no_acknowledged_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    refusal_count = 0
    for path in refusals(monkeypatch, tmp_path, name, errno.EIO):
        refusal_count += 1
        assert all(place.message for place in read(path).damage)
        leftovers = [entry.name for entry in path.iterdir() if entry.name.endswith(".tmp")]
        assert not leftovers or name in ("replace", "fsync", "write")
    assert refusal_count > 1
    record_property("n", f"every {name}: {refusal_count}")


@pytest.mark.parametrize("name", ["fsync", "write"])
def test_a_disk_error_loses_no_acknowledged_record_that_is_synced_while_the_next_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    refusal_count = 0
    for path in refusals(monkeypatch, tmp_path, name, errno.EIO, overlap=True):
        refusal_count += 1
        assert all(place.message for place in read(path).damage)
    assert refusal_count > 1
    record_property("n", f"every {name} beside: {refusal_count}")


def test_a_file_that_cannot_be_replaced_keeps_its_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "averages.csv"
    write_inside(tmp_path, path.name, b"old")
    for name in ("write", "fsync", "replace"):
        with refusing(monkeypatch, name, 1, errno.EIO), pytest.raises(StoreError, match="EIO"):
            write_inside(tmp_path, path.name, b"new and much longer than before")
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["averages.csv"]
    write_inside(tmp_path, path.name, b"new")
    assert path.read_bytes() == b"new"


def test_a_run_is_written_to_a_file_system_without_fsync_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        true(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    acknowledgements: list[str] = []
    write_a_run(tmp_path / "run", acknowledgements)
    assert len(acknowledgements) == 8
