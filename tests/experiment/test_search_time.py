"""The estimated time of a search bounds what a search takes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.kinds import PayloadSearch, ThroughputSearch
from netlab.kinds.groups import Bounds
from netlab.kinds.payload_search.limit_search import SizeTry, find_limit
from netlab.kinds.throughput_search.rate_search import (
    NextRate,
    RateGrid,
    RateTry,
    Search,
    TryVerdict,
)
from netlab.kinds.throughput_search.settings import rate_tries
from netlab.measurement.payload_search import sizes_around

GIGABIT = 1e9


def rates(**settings: object) -> ThroughputSearch:
    return ThroughputSearch(**{"frame_bytes": 64, **settings})  # type: ignore[arg-type]


def test_the_time_bounds_of_a_throughput_search_match_a_manual_calculation() -> None:
    # 10 rates: the line rate, and 4 that halve 10. The least: two trials of 60 s with 0.1 s before
    # each, 5 s between them. The most: each of 5 rates twice, 2 s for late frames, 9 pauses.
    bounds = rates(resolution=0.1).bounds(None)
    assert bounds is not None
    assert bounds.least_s == pytest.approx(2 * 60.1 + 5)
    assert bounds.most_s == pytest.approx(10 * 62.1 + 9 * 5)


def test_the_time_bounds_of_a_search_with_short_trials_match_a_manual_calculation() -> None:
    # One short trial and two that count; 9 short ones (the result passes once) and two that count.
    bounds = rates(resolution=0.1, search_duration_s=2.0).bounds(None)
    assert bounds is not None
    assert bounds.least_s == pytest.approx(2 + 2 * 60 + 3 * 0.1 + 2 * 5)
    assert bounds.most_s == pytest.approx(9 * 2 + 2 * 60 + 11 * 2.1 + 10 * 5)


def test_the_time_bounds_of_frame_loss_and_latency_tests_match_a_manual_calculation() -> None:
    bare = rates(resolution=0.1).bounds(None)
    loss = rates(resolution=0.1, frame_loss=True).bounds(None)
    latency = rates(resolution=0.1, latency=True).bounds(None)
    assert bare and loss and latency
    assert loss.least_s - bare.least_s == pytest.approx(2 * 65.1)
    assert loss.most_s - bare.most_s == pytest.approx(10 * 67.1)
    assert latency.least_s - bare.least_s == pytest.approx(4 * 65.5)
    assert latency.most_s - bare.most_s == pytest.approx(4 * 67.5)


def test_the_time_bounds_of_bursts_match_a_manual_calculation_and_need_a_line_rate() -> None:
    bare = rates(resolution=0.1).bounds(GIGABIT)
    bursts = rates(resolution=0.1, back_to_back=50).bounds(GIGABIT)
    assert bare and bursts
    # 1 Gbit/s of 84 bytes a frame on the wire: 2,976,190 frames in 2 s, 21 doublings of 2.
    assert math.ceil(math.log2(2 * 1e9 / (8 * 84) / 2)) == 21
    assert bursts.least_s == bare.least_s
    assert bursts.most_s - bare.most_s == pytest.approx(0.1 + (1 + 2 * 21 + 3 * 49) * 4)
    assert rates(back_to_back=50).bounds(None) is None
    double_bounds = rates(resolution=0.1, back_to_back=50).bounds(GIGABIT, turns=2)
    assert double_bounds
    assert double_bounds.most_s - bursts.most_s == pytest.approx(bursts.most_s - bare.most_s)


@pytest.mark.parametrize("short", [None, 2.0])
@pytest.mark.parametrize("steps", [10, 11, 16, 17, 100, 200])
def test_a_device_with_one_limit_needs_a_number_of_tries_within_the_estimated_bounds(
    steps: int, short: float | None
) -> None:
    resolution = float(Fraction(1, steps))
    setup = rates(resolution=resolution, search_duration_s=short)
    grid = RateGrid(Fraction(repr(resolution)))
    try_counts = set()
    for holds in range(grid.size + 1):
        search = Search.over(grid, short=short is not None)
        while isinstance(step := search.next(), NextRate):
            verdict: TryVerdict = "passed" if step.number <= holds else "lost"
            search = search.after(RateTry(step.number, step.full, verdict))
        full = sum(attempt.full for attempt in search.tries)
        try_counts.add((len(search.tries) - full, full))
    least, most = rate_tries(setup)
    assert min(map(sum, try_counts)) == sum(least)
    assert max(map(sum, try_counts)) <= sum(most)
    assert max(full for _, full in try_counts) <= most[1]
    if steps == 16:
        assert max(map(sum, try_counts)) >= sum(most) - 2


def test_the_time_bounds_of_a_payload_search_match_a_manual_calculation() -> None:
    # Of 65,492 sizes of UDP 16 halvings are left after two guesses, and a message cut up: 19 that
    # come to nothing, 0.5 s each, both ways. Then 14 to 16 streams of a second.
    udp = PayloadSearch(protocol="UDP", timeout_s=0.5, sweep=True)
    assert udp.bounds(None) == Bounds(14.0, 2 * 19 * 0.5 + 16)
    tcp = PayloadSearch(protocol="TCP")
    assert tcp.bounds(None) == Bounds(0.0, 2 * 18 * (1.0 + 1.0))


@given(st.integers(16, 65507), st.integers(16, 65507))
def test_a_payload_search_has_no_more_failed_tries_than_estimated(limit: int, guess: int) -> None:
    measured_limit = find_limit(
        lambda size: SizeTry(size, size <= limit),
        least_bytes=16,
        most_bytes=65507,
        guesses=[guess],
    )
    # One more vanishes at most where a message one byte longer may be cut up.
    assert sum(not attempt.passed for attempt in measured_limit.tries) <= 2 + 16


@pytest.mark.parametrize(("protocol", "payload"), [("UDP", 1472), ("TCP", 1448), ("UDP", 8972)])
def test_the_time_of_a_sweep_is_within_its_estimated_bounds(protocol: str, payload: int) -> None:
    setup = PayloadSearch(protocol=protocol, sweep=True)  # type: ignore[arg-type]
    bounds = setup.bounds(None)
    assert bounds is not None
    silent_s = PayloadSearch(protocol=protocol).bounds(None)  # type: ignore[arg-type]
    assert silent_s is not None
    swept_s = len(sizes_around(payload, protocol, 4)) * setup.duration_s
    assert bounds.least_s <= swept_s <= bounds.most_s - silent_s.most_s
