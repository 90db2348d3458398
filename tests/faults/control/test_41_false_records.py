"""A record with a missing key, or a value that cannot be, is a failed trial: ``bad-answer``."""

from __future__ import annotations

from fault_runs import Bench, bench, figures_of, wrong_ok
from liars import COUNTED, PACED, LiedTo, lied_to
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.trial.record import Status

__all__ = ["bench", "lied_to", "outcome_of"]

LIES = {
    "result.sent_messages": "its result has no sent_messages",
    'result.sent_messages="12"': "its result has sent_messages '12', which should be",
    "result.elapsed_ns=NaN": "its result has elapsed_ns nan, which should be",
    "result.sent_bit_per_s=-Infinity": "its result has sent_bit_per_s -inf",
    "result.sent_bit_per_s=1e999": "its result has sent_bit_per_s inf",
    'result.host_busy_share={"a":[1]}': "its result has host_busy_share with an object in it",
    "result.sent_messages=9223372036854775808": "which should be a whole number from 0",
    "result.user_ns=-5": "its result has user_ns -5",
    "result.user_ns=null": "its result has user_ns None",
    "result.sent_bit_per_s=1e12": "its result has sent_bit_per_s 1000000000000, and sent_bytes",
    'result.\\u001b[31m="red"': r"its result has a key '\x1b[31m', which is not a valid name",
    "half": "an incomplete record",
}
"""Lies about a result of the sending host, and what the record's detail says."""


SIZES = [1000 + number for number in range(len(LIES) // 2)]


def lie_about_results(bench: Bench, lied_to: LiedTo) -> Seen:
    matrix = bench.matrix(PACED.replace("1000", str(SIZES)), repeats="3", defaults=COUNTED)
    bench.run("run", str(matrix), "--into", "clean", "--no-report")
    output = lied_to.run(matrix, *(f"@{lie}" for lie in LIES))
    return {"stderr": output, "report_code": bench.run("report", "out").returncode}


@injects()
def test_each_false_record_is_a_failed_trial_that_names_the_key_and_its_value(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(lie_about_results)
    lied = outcome.load()
    records = lied.records  # in the order of the trials: two rounds of lies, then one of truth
    for record, detail in zip(records, LIES.values(), strict=False):
        assert (record.status, record.reason) == (Status.FAILED, "bad-answer"), detail
        assert record.detail is not None and detail in record.detail
        assert record.detail in outcome["stderr"]
        assert list(figures_of(record)) == []
    assert [record.status for record in records[len(LIES) :]] == [Status.OK] * len(SIZES)
    assert outcome["report_code"] == 0
    assert wrong_ok(outcome.load("clean"), lied) == []
    outcome.figure(f"{len(LIES)} of {len(LIES)} lies are failed trials", n=len(LIES))
