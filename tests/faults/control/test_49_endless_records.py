"""Valid records without end, asked for or not, are cut at a cap and kept nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fault_runs import Bench, bench
from liars import LiedTo, lied_to

from netlab.experiment.records import Status

__all__ = ["bench", "lied_to"]

pytestmark = pytest.mark.alone

MOST_KIB = 100_000_000 // 1024


@pytest.mark.parametrize(("lie", "ends"), [("@endless", "failed"), ("@strange-ids", "ok")])
def test_the_controller_stays_below_100_mb(
    bench: Bench,
    lied_to: LiedTo,
    record_property: Callable[[str, object], None],
    lie: str,
    ends: str,
) -> None:
    matrix = bench.matrix("{test: stream, protocol: TCP, message_size: 1448}")
    kib = lied_to.most_kib(matrix, lie)
    (record,) = lied_to.load().latest.values()
    assert record.status.value == ends
    if record.status is Status.FAILED:
        assert record.reason == "bad-answer"
        assert record.detail is not None and "too many records" in record.detail
    assert kib < MOST_KIB
    record_property("figure", f"{kib / 1000:.0f} MB at most")
