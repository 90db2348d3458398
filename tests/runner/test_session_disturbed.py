"""Trials that lost CPU time are repeated after all the others."""

from __future__ import annotations

import re

import pytest
from made_sessions import MATRIX, Bench, FakePool, bench

from netlab.experiment.schedule import Trial
from netlab.store.reader import read

__all__ = ["bench"]


QUIET = MATRIX.replace(
    "until: {within: 1 %, at_least: 4, at_most: 9}", "quiet: {steal: 0.5 %, tries: 3}\nrepeats: 2"
)


def test_a_trial_with_too_much_steal_is_measured_again_after_all_others(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = QUIET

    def stolen(trial: Trial, attempt: int) -> float:
        return 0.01 if attempt == 1 and trial.number == 1 and trial.cell.pairing == "LL" else 0.005

    trials = bench.run(FakePool(stolen=stolen))
    first_trials, repeats = trials[:20], trials[20:]
    assert len(set(first_trials)) == 20
    assert {(t.cell.pairing, t.number) for t in repeats} == {("LL", 1)}
    assert len(repeats) == len(set(repeats)) == 5
    stored = read(bench.path / "run")
    assert all(stored.latest[t.cell.key, t.number].attempt == 2 for t in repeats)
    notes = [note.data for note in stored.notes if note.kind == "disturbed"]
    assert sorted(note["cell"] for note in notes) == sorted(t.cell.key for t in repeats)
    assert all(
        (n["trial"], n["attempt"], n["steal"], n["tries"]) == (1, 1, 0.005, 3) for n in notes
    )
    output = capsys.readouterr().err
    assert "measured again: 5 trials lost more than 0.5 % of a host's CPU time" in output
    assert "in every attempt" not in output
    assert bench.counted == {"ok": 20}


def test_a_trial_with_steal_in_every_attempt_is_reported_after_the_allowed_attempts(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = QUIET
    trials = bench.run(FakePool(stolen=lambda t, _: 0.2 if t.number == 2 else None))
    assert len(trials) == 20 + 2 * 10
    assert bench.counted == {"ok": 20}
    output = capsys.readouterr().err
    assert re.search(r"10 trials lost more than 0\.5 % .*, in every attempt", output)
    assert len(bench.run(FakePool())) == len(trials) - 40
    # Without a rule, no trial is repeated.
    bench.text = QUIET.replace("quiet: {steal: 0.5 %, tries: 3}\n", "")
    assert bench.run(FakePool()) == []


def test_a_run_cut_while_it_measures_trials_again_resumes_with_the_remaining_trials(
    bench: Bench,
) -> None:
    bench.text = QUIET

    def stolen(trial: Trial, attempt: int) -> float:
        return 0.3 if attempt == 1 and trial.number == 2 else 0.0

    bench.run(FakePool(stolen=stolen, cut_after=24))
    repeats = bench.run(FakePool(stolen=stolen))
    # The interrupted attempt counts; the third one is the last.
    assert len(repeats) == 6
    assert {trial.number for trial in repeats} == {2}
    stored = read(bench.path / "run")
    assert len(stored.records) == 30
    assert all(r.values["receiver_host_steal_share"] == 0.0 for r in stored.latest.values())
