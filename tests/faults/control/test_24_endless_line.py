"""A line of 1 GiB is cut at the cap and its probe ended; the controller stays below 100 MB."""

from __future__ import annotations

from fault_runs import Bench, bench
from liars import LiedTo, lied_to
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.trial.record import Status

__all__ = ["bench", "lied_to", "outcome_of"]

MOST_KIB = 100_000_000 // 1024


def print_an_endless_line(bench: Bench, lied_to: LiedTo) -> Seen:
    matrix = bench.matrix("{test: stream, protocol: TCP, message_size: [1448, 1449]}")
    kib = lied_to.most_kib(matrix, "@long-line")
    return {"kib": kib, "probes_left": len(bench.probes_left())}


@injects()
def test_an_endless_line_is_a_failed_trial_and_takes_little_memory(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(print_an_endless_line)
    assert outcome["kib"] < MOST_KIB
    first, second = outcome.load().latest.values()
    assert (first.status, first.reason) == (Status.FAILED, "bad-answer")
    assert first.detail is not None and "prints endless output that is no record" in first.detail
    assert second.status in (Status.OK, Status.FAILED)
    assert outcome["probes_left"] == 0
    outcome.figure(f"{outcome['kib'] / 1000:.0f} MB at most")
