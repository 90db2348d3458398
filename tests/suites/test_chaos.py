"""What the benchmarks of faults look for is found where it is there."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from made_runs import made_record
from stalling_ssh_server import STAGES, Said

from benchmarks.faults import chaos_faults
from benchmarks.faults.chaos_kills import Toll, changes, judge
from benchmarks.faults.chaos_runs import Done
from benchmarks.faults.interrupts import NEVER, draw
from netlab.trial.record import REASONS, Record, Status, to_json


def journal(folder: Path, *lines: dict[str, Any]) -> Path:
    """A run of one cell and two trials, with these lines."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"cells": [{"key": "one"}]}))
    texts = [json.dumps(line).encode() for line in lines]
    data = b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts)
    (folder / "journal.jsonl").write_bytes(data)
    return folder


def record(trial: int, status: str = "ok") -> dict[str, Any]:
    reason = {"failed": "peer-vanished", "pending": "host-away"}.get(status)
    trial_record = replace(
        made_record(trial=trial, status=Status(status), reason=reason), cell="one"
    )
    return {"kind": "record", **json.loads(to_json(trial_record))}


def attempt(trial: int) -> dict[str, Any]:
    return {"kind": "attempt", "data": {"cell": "one", "trial": trial}}


def test_the_benchmark_of_kills_counts_trials_without_a_result_and_repeated_trials(
    tmp_path: Path,
) -> None:
    full_toll, loss_toll, repeat_toll = Toll(), Toll(), Toll()
    retried = (attempt(1), record(1, "failed"), attempt(1), record(1), attempt(2), record(2))
    judge(journal(tmp_path / "whole", *retried), full_toll)
    assert (full_toll.lost, full_toll.twice, full_toll.trials) == ([], [], 2)
    judge(journal(tmp_path / "lost", attempt(1), record(1), record(2, "pending")), loss_toll)
    assert len(loss_toll.lost) == 1
    judge(journal(tmp_path / "again", record(1), record(2), attempt(1)), repeat_toll)
    assert (repeat_toll.lost, len(repeat_toll.twice)) == ([], 1)


def test_the_benchmark_of_kills_accepts_longer_journals_and_reports_other_file_changes() -> None:
    old_files = {"run.json": b"plan", "journal.jsonl": b"one\n", "matrix.yaml": b""}
    assert changes(old_files, old_files | {"journal.jsonl": b"one\ntwo\n"}, "run") == []
    assert changes(old_files, old_files | {"journal.jsonl": b"One\ntwo\n"}, "run") == [
        "run/journal.jsonl"
    ]
    assert changes(old_files, old_files | {"run.json": b"plan "}, "run") == ["run/run.json"]
    assert changes(old_files, {"run.json": b"plan", "journal.jsonl": b"one\n"}, "run") == [
        "run/matrix.yaml"
    ]


def test_each_chaos_fault_excuses_only_known_reasons_and_never_an_internal_error() -> None:
    for fault in chaos_faults.FAULTS:
        assert fault.reasons <= REASONS.keys()
        assert not fault.reasons & {"internal", "locked", "unknown-error"}


def test_a_chaos_fault_explains_only_failures_with_its_reasons_and_near_its_time() -> None:
    cable = next(
        fault for fault in chaos_faults.FAULTS if fault.deed is chaos_faults.pull_test_cable
    )
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    incident = Done(cable, "linux-a", noon, noon + timedelta(seconds=3))

    def failed(seconds: float, reason: str) -> Record:
        at = (noon + timedelta(seconds=seconds)).isoformat()
        trial_record = made_record(status=Status.FAILED, reason=reason)
        return replace(trial_record, started_at=at)

    assert incident.explains(failed(-1, "unreachable"))
    assert incident.explains(failed(4, "path-blocked"))
    assert not incident.explains(failed(4, "host-gone"))
    assert not incident.explains(failed(30, "path-blocked"))
    assert not incident.explains(failed(-100, "unreachable"))


def test_the_benchmark_of_interrupts_draws_a_signal_for_every_stage() -> None:
    clean = [Said(stage, n / 10) for n, stage in enumerate(STAGES)]
    chance = random.Random(1)  # noqa: S311 - can be repeated
    signals = [draw(chance, clean, 2.0) for _ in range(1000)]
    stalled = [signal for signal in signals if signal.most is not None]
    assert {signal.stage for signal in signals} == {*STAGES, NEVER}
    assert all(clean[signal.most or 0].stage == signal.stage for signal in stalled)
    assert 0.6 < sum(signal.in_silence for signal in stalled) / len(stalled) < 0.8
