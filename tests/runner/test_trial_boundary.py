"""An error in a trial becomes the record of that trial, and the next trial begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from made_sessions import Bench, FakePool, bench

from netlab.errors import (
    HostError,
    HostGone,
    HostKeyError,
    LockedError,
    ProbeError,
    StoreError,
    UsageError,
)
from netlab.experiment.schedule import Trial
from netlab.runner.trial_faults import Unmeasured, keep_traceback
from netlab.store.reader import read
from netlab.trial.record import Record, Status

__all__ = ["bench"]

BAD = "LL-stream-udp-576"


@dataclass
class BadPool(FakePool):
    """Hosts with one faulty cell."""

    trouble: Callable[[], None] = lambda: None
    spoil: Callable[[Record], Record] = lambda record: record
    lost_: list[str] = field(default_factory=list)

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        record = super().measure(trial, ends, attempt, live)
        if not trial.cell.key.startswith(BAD):
            return record
        self.trouble()
        return self.spoil(record)

    def lost(self, trial: Trial, attempt: int, error: HostGone) -> Record:
        self.lost_.append(str(error))
        return Unmeasured(Status.FAILED, "probe-died", str(error)).record(trial, attempt)


def raised(error: Exception) -> Callable[[], None]:
    def trouble() -> None:
        raise error

    return trouble


def bad_and_good(bench: Bench) -> tuple[list[Record], set[str]]:
    """The records of the faulty cell, and the status words of the others."""
    latest = read(bench.path / "run").latest.values()
    bad = [record for record in latest if record.cell.startswith(BAD)]
    return bad, {str(record.status) for record in latest if record not in bad}


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ProbeError("far", "bad-answer", detail="its result has no bytes"), "failed", "bad-answer"),
        (ProbeError("far", "no-answer"), "failed", "no-answer"),
        (ProbeError("far", "capability-missing"), "impossible", "capability-missing"),
        (ProbeError("far", "never-heard-of"), "failed", "unknown-error"),
        (HostGone("far: the probe died (signal 9)"), "failed", "probe-died"),
        (HostError("far: no SFTP"), "failed", "host-gone"),
        (HostKeyError("far: another key"), "pending", "host-refused"),
        (LockedError("far is measured by Ada"), "pending", "locked"),
        (UsageError("far has no IPv6 address"), "failed", "address-not-available"),
    ],
)
def test_each_error_of_a_host_becomes_a_record_with_its_own_status_and_reason(
    bench: Bench, error: Exception, status: str, reason: str
) -> None:
    bench.run(BadPool(trouble=raised(error)))
    bad, good = bad_and_good(bench)
    assert {(str(record.status), record.reason) for record in bad} == {(status, reason)}
    assert {record.detail for record in bad} == {str(error)}
    assert good == {"ok"}
    assert not (bench.path / "run" / "tracebacks").exists()


@pytest.mark.parametrize("error", [KeyError("bytes"), AssertionError(), TypeError("a text")])
def test_a_defect_becomes_a_failed_record_and_a_traceback_in_the_run_folder(
    bench: Bench, error: Exception
) -> None:
    bench.run(BadPool(trouble=raised(error)))
    bad, good = bad_and_good(bench)
    assert {(str(record.status), record.reason) for record in bad} == {("failed", "internal")}
    assert good == {"ok"}
    for record in bad:
        assert record.detail is not None
        file = bench.path / "run" / record.detail.partition("its traceback is in ")[2]
        text = file.read_text()
        assert text.startswith("Traceback")
        assert f"in {raised(error).__name__}" in text
        assert type(error).__name__ in text


def test_no_traceback_is_written_through_a_link_out_of_the_run_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    run = tmp_path / "run"
    run.mkdir()
    (run / "tracebacks").symlink_to(outside)
    sentence = keep_traceback(KeyError("bytes"), run, "cell-1-1")
    assert sentence.startswith("KeyError: 'bytes'; its traceback could not be saved (")
    assert "it is a link" in sentence
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_a_traceback_file_is_replaced(tmp_path: Path) -> None:
    victim = tmp_path / "thesis.txt"
    victim.write_text("mine")
    (tmp_path / "tracebacks").mkdir()
    (tmp_path / "tracebacks" / "cell-1-1.txt").symlink_to(victim)
    sentence = keep_traceback(KeyError("bytes"), tmp_path, "cell-1-1")
    assert sentence.endswith("its traceback is in tracebacks/cell-1-1.txt")
    assert victim.read_text() == "mine"


def test_a_record_with_an_invalid_value_is_stored_as_failed_with_reason_bad_answer(
    bench: Bench,
) -> None:
    bench.run(BadPool(spoil=lambda record: replace(record, values={"elapsed_ns": float("nan")})))
    bad, good = bad_and_good(bench)
    assert {(str(record.status), record.reason) for record in bad} == {("failed", "bad-answer")}
    assert all(record.detail and "elapsed_ns is nan" in record.detail for record in bad)
    assert good == {"ok"}


def test_a_record_with_an_invalid_setting_is_stored_as_failed_with_reason_internal(
    bench: Bench,
) -> None:
    bench.run(BadPool(spoil=lambda record: replace(record, settings={"rate": float("nan")})))
    bad, good = bad_and_good(bench)
    assert {(str(record.status), record.reason) for record in bad} == {("failed", "internal")}
    assert all(
        record.detail and "its traceback is in tracebacks/" in record.detail for record in bad
    )
    assert good == {"ok"}


def test_a_record_of_an_unknown_cell_is_a_warning_and_the_run_continues(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(BadPool(spoil=lambda record: replace(record, cell="another")))
    bad, good = bad_and_good(bench)
    assert (bad, good) == ([], {"ok"})
    assert "warning: another: ValueError" in capsys.readouterr().err


def test_a_full_disk_ends_the_run(bench: Bench) -> None:
    with pytest.raises(StoreError, match="disk full"):
        bench.run(BadPool(trouble=raised(StoreError("disk full"))))
