"""Of controllers that create the same run folder one gets it, and each other ends with exit 6.

``make benchmark-folder-creation`` does it 1,000 times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fault_runs import Bench, bench

from benchmarks.faults.folder_creation import create_at_once
from netlab.store.lock import WriterLock

__all__ = ["bench"]

CREATIONS = 8


@pytest.mark.parametrize("processes", [2, 4, 8])
def test_one_wins_and_every_loser_is_locked_out(
    tmp_path: Path, processes: int, record_property: Callable[[str, object], None]
) -> None:
    folders = [tmp_path / f"new-{number}" / "run" for number in range(CREATIONS)]
    codes = [create_at_once(folder, processes) for folder in folders]
    assert codes == [[0] + [6] * (processes - 1)] * CREATIONS
    record_property("figure", f"{processes} processes: {CREATIONS} of {CREATIONS}")
    record_property("n", f"{CREATIONS} each")


def test_the_command_says_who_has_the_folder(bench: Bench) -> None:
    (bench.folder / "out").mkdir()
    lock = WriterLock.acquire(bench.folder / "out" / "lock")
    process = bench.run("run", str(bench.matrix()), "--into", "out")
    lock.release()
    assert process.returncode == 6
    assert process.stderr.count("\n") == 1
    assert "netlab with pid" in process.stderr
    assert "is writing here" in process.stderr
    assert [entry.name for entry in (bench.folder / "out").iterdir()] == ["lock"]
