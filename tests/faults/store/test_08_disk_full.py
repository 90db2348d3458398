"""A full disk stops the run with one line and exit 1; its folder is read, and resumed elsewhere."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok
from refusing_disk import refusals

__all__ = ["bench"]

TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 2Mbit}"
TRIALS = 12


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 48 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.alone
@pytest.mark.needs("root")
def test_a_run_stops_and_is_resumed_on_a_larger_disk(
    bench: Bench, small: Path, record_property: Callable[[str, object], None]
) -> None:
    matrix = str(bench.matrix(TESTS, repeats=str(TRIALS), defaults="{duration: 300ms}"))
    full = bench.run("run", matrix, "--into", "small/run", "--no-report", "--wait", "60")
    assert full.returncode == 1
    last = full.stderr.splitlines()[-1]
    assert "small/run/" in last
    assert last.endswith("(ENOSPC); free some space, then repeat the command")
    assert bench.probes_left() == []
    first_records = bench.load("small/run").records
    assert 0 < len(first_records) < TRIALS
    shutil.copytree(small / "run", bench.folder / "large")
    assert (
        bench.run("run", matrix, "--into", "large", "--no-report", "--wait", "60").returncode == 0
    )
    second_run = bench.load("large")
    assert second_run.records[: len(first_records)] == first_records
    assert by_status(second_run) == {"ok": TRIALS}
    assert (
        bench.run("run", matrix, "--into", "clean", "--no-report", "--wait", "60").returncode == 0
    )
    assert wrong_ok(bench.load("clean"), second_run) == []
    record_property("figure", f"{len(first_records)} records before, {TRIALS} after")


@pytest.mark.parametrize("name", ["write", "open", "mkdir"])
def test_every_call_that_may_find_it_full_stops_a_run_with_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    refusal_count = sum(1 for _ in refusals(monkeypatch, tmp_path, name, errno.ENOSPC))
    record_property("n", f"every {name}: {refusal_count}")
