"""One rate over several frame sizes is between the bounds of every size, some of them close."""

from __future__ import annotations

import pytest
from made_searches import one_trial

from netlab.findings.rates import Accounting
from netlab.findings.search_limits import OneRate, SizeSample, one_rate

_Bounds = tuple[int, float | None, float | None, float | None]
"""Frame size, highest rate that passed, lowest rate that failed, rate of the line."""


def sample(bounds: _Bounds) -> SizeSample:
    size, low, high, line = bounds
    trial = one_trial(size, low, line, high)
    return SizeSample(frame_bytes=size, trials=(trial,), of_trials=1)


def test_a_bit_rate_counts_bytes_in_every_way_that_agrees_with_bounds_5_percent_apart() -> None:
    """The bits a second of each size: with FCS 20.48, 20.48 and 20.48 Mbit/s; without FCS 19.2,
    19.84 and 20.16; on the wire 26.88, 23.68 and 22.08; in packets 14.72, 17.6 and 19.04.
    """
    rates = ((64, 40_000), (128, 20_000), (256, 10_000))
    sizes = [sample((size, rate, 1.05 * rate, 1e5)) for size, rate in rates]
    accounts = (Accounting.FRAME, Accounting.HEADED)
    assert one_rate(sizes, in_bits=True) == OneRate(tuple(sizes), 20.48e6, accounts)
    assert one_rate(sizes[:2], in_bits=True) is None
    assert one_rate(sizes, in_bits=False) is None


FIRST: _Bounds = (64, 101, 105, 1000)
SECOND: _Bounds = (128, 98, 100, 1000)
"""The bounds of the first and second size are 1 % apart, which scatter explains."""
LAST: _Bounds = (256, 100, 104, 1000)


def test_a_frame_rate_is_the_highest_that_passed_at_sizes_with_close_bounds() -> None:
    coarse: _Bounds = (512, 101.5, 150, 1000)
    for bounds in ([FIRST, SECOND, LAST], [FIRST, SECOND, LAST, (512, 90, 150, 1000)]):
        sizes = tuple(sample(each) for each in bounds)
        assert one_rate(sizes, in_bits=False) == OneRate(sizes, 101)
    apart = [sample(each) for each in (FIRST, SECOND, LAST, coarse)]
    assert one_rate(apart, in_bits=False) == OneRate(tuple(apart[:3]), 101)


@pytest.mark.parametrize(
    "bounds",
    [
        [FIRST, SECOND, (256, 100, 104, 100 / 0.95)],  # the line rate, almost
        [FIRST, SECOND, (256, 95, 104, 100)],
        [FIRST, SECOND, (256, None, 104, 1000)],
        [FIRST, SECOND, (256, 100, None, 1000)],
        [FIRST, SECOND, (256, 100, 104, None)],
        [FIRST, SECOND, (256, 100, 200, 1000)],  # only two sizes with close bounds
        [FIRST, SECOND, (255, 100, 104, 1000)],  # sizes that do not span a factor of four
        [FIRST, SECOND, (192, 100, 104, 1000), (256, 100, 200, 1000)],
        [FIRST, (128, 97, 99.9, 1000), LAST],  # more than 1 % apart
    ],
)
def test_sizes_without_three_close_bounds_that_agree_far_below_the_line_have_no_common_rate(
    bounds: list[_Bounds],
) -> None:
    assert one_rate([sample(each) for each in bounds], in_bits=False) is None
