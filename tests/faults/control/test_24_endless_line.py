"""A line of 1 GiB is cut at the cap and its probe ended; the controller stays below 100 MB."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fault_runs import Bench, bench
from liars import LiedTo, lied_to

from netlab.experiment.records import Status

__all__ = ["bench", "lied_to"]

pytestmark = pytest.mark.alone

MOST_KIB = 100_000_000 // 1024


def test_it_is_a_failed_trial_and_takes_no_memory(
    bench: Bench, lied_to: LiedTo, record_property: Callable[[str, object], None]
) -> None:
    matrix = bench.matrix("{test: stream, protocol: TCP, message_size: [1448, 1449]}")
    kib = lied_to.most_kib(matrix, "@long-line")
    assert kib < MOST_KIB
    first, second = lied_to.load().latest.values()
    assert (first.status, first.reason) == (Status.FAILED, "bad-answer")
    assert first.detail is not None and "prints endless output that is no record" in first.detail
    assert second.status in (Status.OK, Status.FAILED)
    assert bench.probes_left() == []
    record_property("figure", f"{kib / 1000:.0f} MB at most")
