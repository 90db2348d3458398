"""Trials in which a host or a cable stopped the data are repeated, at most twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from made_sessions import MATRIX, Bench, FakePool, bench

from netlab.experiment.schedule import Trial
from netlab.findings.analysis import load
from netlab.findings.finding import Kind
from netlab.runner.trial_faults import Unmeasured
from netlab.store.reader import read
from netlab.trial.record import Record, Status, Value

__all__ = ["bench"]

REPEATED = MATRIX.replace("until: {within: 1 %, at_least: 4, at_most: 9}", "repeats: 2")
GAP: dict[str, Value] = {
    "elapsed_ns": 4_000_000_000,
    "receiver_gap_count": 1,
    "receiver_gap_total_ns": 2_000_000_000,
    "receiver_gaps": [1_100_000_000, 2_000_000_000],
}
CARRIER: dict[str, Value] = {**GAP, "receiver_interface_carrier_changes": 2}


@dataclass
class Interrupted(FakePool):
    """Hosts that record gaps, by trial and attempt."""

    gaps: Callable[[Trial, int], dict[str, Value]] = lambda *_: {}

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        record = super().measure(trial, ends, attempt, live)
        return replace(record, values={**record.values, **self.gaps(trial, attempt)})


def first_of_ll(trial: Trial) -> bool:
    return trial.number == 1 and trial.cell.pairing == "LL"


def test_a_trial_interrupted_by_a_cable_is_measured_again_after_all_others(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = REPEATED
    pool = Interrupted(
        gaps=lambda trial, attempt: CARRIER if attempt == 1 and first_of_ll(trial) else {}
    )
    trials = bench.run(pool)
    first_trials, repeats = trials[:20], trials[20:]
    assert len(set(first_trials)) == 20
    assert len(repeats) == 5
    assert all(first_of_ll(trial) for trial in repeats)
    stored = read(bench.path / "run")
    notes = [note.data for note in stored.notes if note.kind == "interrupted"]
    assert [(n["attempt"], n["cause"], n["stopped_ns"]) for n in notes] == [
        (1, "carrier", 2_000_000_000)
    ] * 5
    output = capsys.readouterr().err
    assert "measured again: 5 trials in which data stopped" in output
    assert "see the findings" not in output
    run = load(bench.path / "run")
    assert [finding.kind for finding in run.findings if finding.severity == "warning"] == []
    findings = [finding for finding in run.findings if finding.kind is Kind.INTERRUPTION_EARLIER]
    assert len(findings) == 5
    assert all("attempt_2_throughput_bit_per_s" in finding.evidence for finding in findings)
    assert bench.run(Interrupted()) == []


def test_a_trial_interrupted_in_three_attempts_is_not_tried_again_and_is_reported(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = REPEATED
    trials = bench.run(Interrupted(gaps=lambda trial, _: CARRIER if first_of_ll(trial) else {}))
    assert len(trials) == 20 + 2 * 5
    assert "5 trials in which data stopped: see the findings" in capsys.readouterr().err
    run = load(bench.path / "run")
    assert {record.attempt for record in run.latest.values() if record.attempt > 1} == {3}
    findings = [finding for finding in run.findings if finding.kind is Kind.INTERRUPTION_FINAL]
    assert len(findings) == 5
    assert all("attempt_3_throughput_bit_per_s" in finding.evidence for finding in findings)
    assert bench.run(Interrupted()) == []


def test_a_gap_without_an_explanation_is_a_finding_and_is_not_measured_again(bench: Bench) -> None:
    bench.text = REPEATED
    trials = bench.run(Interrupted(gaps=lambda trial, _: GAP if first_of_ll(trial) else {}))
    assert len(trials) == 20
    findings = [e for e in load(bench.path / "run").findings if e.kind is Kind.INTERRUPTION_FINAL]
    assert len(findings) == 5
    assert all(finding.severity == "warning" for finding in findings)


def test_a_run_cut_before_a_further_attempt_resumes_with_the_attempt(bench: Bench) -> None:
    bench.text = REPEATED

    def gaps(trial: Trial, attempt: int) -> dict[str, Value]:
        return CARRIER if attempt == 1 and first_of_ll(trial) else {}

    bench.run(Interrupted(gaps=gaps, cut_after=20))
    repeats = bench.run(Interrupted(gaps=gaps))
    assert len(repeats) == 5
    assert all(first_of_ll(trial) for trial in repeats)


@dataclass
class Pulled(Interrupted):
    """A cable that is unplugged after all trials: no further attempt has a result."""

    status: Status = Status.FAILED

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        record = super().measure(trial, ends, attempt, live)
        if attempt == 1:
            return record
        reason = {Status.IMPOSSIBLE: "path-mtu", Status.FAILED: "path-blocked"}[self.status]
        return Unmeasured(self.status, reason, "TCP is blocked").record(trial, attempt)


@pytest.mark.parametrize("status", [Status.FAILED, Status.IMPOSSIBLE])
def test_a_further_attempt_without_a_result_leaves_the_first_record_valid(
    bench: Bench, capsys: pytest.CaptureFixture[str], status: Status
) -> None:
    bench.text = REPEATED

    def gaps(trial: Trial, _attempt: int) -> dict[str, Value]:
        return CARRIER if first_of_ll(trial) else {}

    trials = bench.run(Pulled(gaps=gaps, status=status))
    assert len(trials) == 20 + 2 * 5
    assert bench.counted == {"ok": 20}
    stored = read(bench.path / "run")
    assert {record.attempt for record in stored.latest.values()} == {1}
    notes = [note.data for note in stored.notes if note.kind == "in-vain"]
    assert sorted(note["attempt"] for note in notes) == [2] * 5 + [3] * 5
    assert {(note["status"], note["detail"]) for note in notes} == {(status, "TCP is blocked")}
    output = capsys.readouterr().err
    assert "repeated without a result (TCP is blocked)" in output
    findings = [e for e in load(bench.path / "run").findings if e.kind is Kind.INTERRUPTION_FINAL]
    assert len(findings) == 5
    # No session repeats it for ever.
    assert bench.run(Pulled(gaps=gaps, status=status)) == []


def test_a_trial_whose_data_stopped_for_good_has_failed(bench: Bench) -> None:
    bench.text = REPEATED
    silence: dict[str, Value] = {**CARRIER, "receiver_closed_by_silence": 1}
    bench.run(Pulled(gaps=lambda trial, _: silence if first_of_ll(trial) else {}))
    assert bench.counted == {"ok": 15, "failed": 5}


def test_a_redone_trial_that_fails_counts_as_failed(bench: Bench) -> None:
    bench.text = REPEATED
    bench.run(FakePool())
    key = read(bench.path / "run").plan.cells[0].key
    bench.run(Pulled(), redo=frozenset({key}))
    assert bench.counted == {"ok": 18, "failed": 2}
