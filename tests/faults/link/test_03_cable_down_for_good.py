"""A cable that goes down in mid-trial for good leaves no plain result, and the run ends."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from fault_labs import SERVER, lab_matrix, lab_of, lab_run, namespace_of
from fault_runs import Bench, bench, wrong_ok
from stops import meanwhile, take_down

from netlab.experiment.interruptions import Cause, interruptions
from netlab.experiment.records import Status

__all__ = ["bench"]

pytestmark = [pytest.mark.needs("lab"), pytest.mark.alone]

TESTS = "{test: stream, protocol: TCP, message_size: 1448}"


def test_the_trial_is_tried_again_and_fails(
    bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    with lab_of() as lab:
        lab_matrix(bench, TESTS, duration="1s")
        clean, _ = lab_run(bench, lab, "clean")

        def cut() -> None:
            bench.wait_for('"kind":"attempt"')
            time.sleep(0.6)
            take_down(namespace_of(lab, SERVER), None)

        with meanwhile(cut):
            words = ("--into", "out", "--no-report", "--retries", "0", "--patience", "3")
            process = bench.run("run", "matrix.yaml", "--hosts", str(lab.hosts_file), *words)
    assert process.returncode == 3, process.stderr
    faulty = bench.load()
    first, *later_records = faulty.records
    (stop,) = interruptions(first)
    assert (first.status, stop.cause) == (Status.OK, Cause.CARRIER)
    assert first.values["receiver_closed_by_silence"] == 1
    assert [record.status for record in later_records] == [Status.FAILED]
    (stands,) = faulty.latest.values()
    assert stands.status is Status.FAILED
    assert wrong_ok(clean, faulty) == []
    record_property("figure", f"failed: {stands.reason}")
