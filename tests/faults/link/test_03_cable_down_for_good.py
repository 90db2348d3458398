"""A cable that goes down in mid-trial for good leaves no plain result, and the run ends."""

from __future__ import annotations

import time

import pytest
from fault_labs import SERVER, lab_matrix, lab_of, lab_run, namespace_of
from fault_runs import Bench, bench, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from stops import meanwhile, take_down

from netlab.findings.finding import Kind
from netlab.trial.interruptions import Cause, interruptions
from netlab.trial.record import Status

__all__ = ["bench", "outcome_of"]

TESTS = "{test: stream, protocol: TCP, message_size: 1448}"


def cut_the_cable(bench: Bench) -> Seen:
    with lab_of() as lab:
        lab_matrix(bench, TESTS, duration="1s")
        lab_run(bench, lab, "clean")

        def cut() -> None:
            bench.wait_for('"kind":"attempt"')
            time.sleep(0.6)
            take_down(namespace_of(lab, SERVER), None)

        with meanwhile(cut):
            words = ("--into", "out", "--no-report", "--retries", "0", "--patience", "3")
            process = bench.run("run", "matrix.yaml", "--hosts", str(lab.hosts_file), *words)
    return {"code": process.returncode, "stderr": process.stderr}


@injects("lab")
@pytest.mark.produces("no-result/trials")
def test_a_trial_whose_cable_goes_down_for_good_fails_and_the_run_ends(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(cut_the_cable)
    assert outcome["code"] == 3, outcome["stderr"]
    faulty = outcome.load()
    first, *later_records = faulty.records
    (stop,) = interruptions(first)
    assert (first.status, stop.cause) == (Status.OK, Cause.CARRIER)
    assert first.values["receiver_closed_by_silence"] == 1
    assert [record.status for record in later_records] == [Status.FAILED]
    (latest,) = faulty.latest.values()
    assert latest.status is Status.FAILED
    (failed,) = (each for each in faulty.findings if each.kind is Kind.NO_RESULT_TRIALS)
    assert failed.evidence["trials"] == 1 and failed.words["reason"] == latest.reason
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"failed: {latest.reason}")
