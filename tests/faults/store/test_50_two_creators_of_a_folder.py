"""Of controllers that create the same run folder one gets it, and each other ends with exit 6.

``make benchmark-folder-creation`` does it 1,000 times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Commands, commands
from draws import drawn

from benchmarks.faults.folder_creation import create_at_once
from netlab.store.journal_reading import WriterLock

__all__ = ["commands"]

CREATIONS = drawn(few=3, many=8)
MATRIX = """\
title: t
hosts: {a: {local: true}, b: {local: true}}
pairs: {LL: [a, b]}
pairings: [LL]
tests: [{test: stream, protocol: UDP, message_size: 64}]
"""


@pytest.mark.lab
@pytest.mark.parametrize("processes", [2, 4, 8])
def test_exactly_one_of_several_controllers_that_create_a_run_folder_at_once_succeeds(
    tmp_path: Path, processes: int, record_property: Callable[[str, object], None]
) -> None:
    folders = [tmp_path / f"new-{number}" / "run" for number in range(CREATIONS)]
    codes = [create_at_once(folder, processes) for folder in folders]
    assert codes == [[0] + [6] * (processes - 1)] * CREATIONS
    record_property("figure", f"{processes} processes: {CREATIONS} of {CREATIONS}")
    record_property("n", f"{CREATIONS} each")


def test_a_run_into_a_folder_in_use_names_the_process_that_writes_and_exits_with_code_6(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.store.journal_reading._PAUSE_S", 0)
    (commands.folder / "matrix.yaml").write_text(MATRIX)
    (commands.folder / "out").mkdir()
    lock = WriterLock.acquire(commands.folder / "out" / "lock")
    process = commands.run("run", "matrix.yaml", "--into", "out")
    lock.release()
    assert process.returncode == 6
    assert process.stderr.count("\n") == 1
    assert "netlab with pid" in process.stderr
    assert "is writing here" in process.stderr
    assert [entry.name for entry in (commands.folder / "out").iterdir()] == ["lock"]
