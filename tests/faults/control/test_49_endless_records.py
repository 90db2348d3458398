"""Valid records without end, asked for or not, are cut at a cap and kept nowhere."""

from __future__ import annotations

import pytest
from fault_runs import Bench, bench
from liars import LiedTo, lied_to
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.trial.record import Status

__all__ = ["bench", "lied_to", "outcome_of"]

MOST_KIB = 100_000_000 // 1024


def print_endless_records(bench: Bench, lied_to: LiedTo, lie: str) -> Seen:
    matrix = bench.matrix("{test: stream, protocol: TCP, message_size: 1448}")
    return {"kib": lied_to.most_kib(matrix, f"@{lie}")}


@pytest.mark.parametrize(("lie", "status"), [("endless", "failed"), ("strange-ids", "ok")])
@injects()
def test_endless_valid_records_take_little_memory_of_the_controller(
    outcome_of: OutcomeOf, lie: str, status: str
) -> None:
    outcome = outcome_of(print_endless_records, lie=lie)
    (record,) = outcome.load().latest.values()
    assert record.status.value == status
    if record.status is Status.FAILED:
        assert record.reason == "bad-answer"
        assert record.detail is not None and "too many records" in record.detail
    assert outcome["kib"] < MOST_KIB
    outcome.figure(f"{outcome['kib'] / 1000:.0f} MB at most")
