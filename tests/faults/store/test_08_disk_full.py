"""A full disk stops the run with one line and exit 1; its folder is read, and resumed elsewhere."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from refusing_disk import refusals

__all__ = ["bench", "outcome_of"]

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


def fill_the_disk(bench: Bench, small: Path) -> Seen:
    matrix = str(bench.matrix(TESTS, repeats=str(TRIALS), defaults="{duration: 300ms}"))
    words = ("run", matrix, "--no-report", "--wait", "60", "--into")
    full = bench.run(*words, "small/run")
    probes_left = len(bench.probes_left())
    for copy in ("full", "out"):
        shutil.copytree(small / "run", bench.folder / copy)
    codes = [full.returncode, *(bench.run(*words, into).returncode for into in ("out", "clean"))]
    return {"codes": codes, "stderr": full.stderr, "probes_left": probes_left}


@injects("root")
def test_a_run_stops_on_a_full_disk_and_is_resumed_on_a_larger_disk(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(fill_the_disk)
    assert outcome["codes"] == [1, 0, 0]
    last = outcome["stderr"].splitlines()[-1]
    assert "small/run/" in last
    assert last.endswith("(ENOSPC); free some space, then repeat the command")
    assert outcome["probes_left"] == 0
    first_records = outcome.load("full").records
    assert 0 < len(first_records) < TRIALS
    second_run = outcome.load()
    assert second_run.records[: len(first_records)] == first_records
    assert by_status(second_run) == {"ok": TRIALS}
    assert wrong_ok(outcome.load("clean"), second_run) == []
    outcome.figure(f"{len(first_records)} records before, {TRIALS} after")


@pytest.mark.parametrize("name", ["write", "open", "mkdir"])
def test_a_full_disk_at_any_write_open_or_mkdir_stops_a_run_with_an_error_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    refusal_count = sum(1 for _ in refusals(monkeypatch, tmp_path, name, errno.ENOSPC))
    record_property("n", f"every {name}: {refusal_count}")
