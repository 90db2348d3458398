"""Bursts and latency of a device are measured with played loads."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_histograms import of_values, to_pairs

from netlab.errors import ProbeError
from netlab.kinds import ThroughputSearch
from netlab.kinds.throughput_search.rate_search import Counts
from netlab.measurement.search_trial import Offered, OfferedLoad, TrialRunner
from netlab.measurement.throughput_search import (
    INVALID,
    back_to_back,
    latency_at,
    latency_values,
    requests_of,
)

LINE_PER_S = 10_000.0


def bench(device: Callable[[OfferedLoad], Counts]) -> TrialRunner:
    """A trial runner whose loads go to a simulated device."""
    runner = SimpleNamespace(
        setup=ThroughputSearch(frame_bytes=1518),
        line=SimpleNamespace(frames_per_s=LINE_PER_S),
        ends=None,
        link_paces=True,
        learn=lambda _load: None,
        offer=lambda load: Offered((device(load),), {}, {}),
    )
    return cast(TrialRunner, runner)


def counts(load: OfferedLoad, losses: int, *, own_drops: int = 0, at: float = 1.0) -> Counts:
    """Counts of a load that was sent at a share of the line rate."""
    span_ns = round(1e9 * (load.frames - 1) / (at * LINE_PER_S))
    return Counts(load.frames, load.frames - losses, span_ns, span_ns, own_drops)


def queue_of(frames: int, forwards: float) -> Callable[[OfferedLoad], Counts]:
    """A device that forwards a share of the line rate and drops what exceeds its queue."""
    return lambda load: counts(load, max(0, round(load.frames * (1 - forwards)) - frames))


def test_the_queue_of_a_device_is_computed_from_the_longest_burst_without_loss() -> None:
    values: Any = back_to_back(bench(queue_of(20, 0.4)), 3, 0.4)
    assert values["back_to_back_limit"] == "device"
    assert values["back_to_back_each_frames"] == [34, 34, 34]
    assert values["back_to_back_frames"] == 34
    assert values["back_to_back_waiting_frames"] == pytest.approx(20.4)


def test_no_burst_is_sent_to_a_device_that_forwards_the_line_rate() -> None:
    def never(_: OfferedLoad) -> Counts:
        raise AssertionError("a burst was sent")

    assert back_to_back(bench(never), 3, 1.0) == {"back_to_back_limit": "line rate"}


def test_the_longest_burst_lasts_two_seconds_at_the_line_rate() -> None:
    values = back_to_back(bench(queue_of(10**6, 0.4)), 2, 0.4)
    assert values["back_to_back_limit"] == "line rate"
    assert values["back_to_back_frames"] == 2 * LINE_PER_S
    assert "back_to_back_waiting_frames" not in values


@pytest.mark.parametrize(
    ("device", "limit"),
    [
        (lambda load: counts(load, 1, own_drops=1), "receiver-bound"),
        (lambda load: counts(load, 0, at=0.5), "generator-bound"),
    ],
)
def test_bursts_limited_by_the_test_hosts_give_no_figure_of_the_device(
    device: Callable[[OfferedLoad], Counts], limit: str
) -> None:
    assert back_to_back(bench(device), 3, 0.4) == {"back_to_back_limit": limit}
    countdown = INVALID - 1

    def seldom(load: OfferedLoad) -> Counts:
        nonlocal countdown
        countdown -= 1
        return device(load) if countdown >= 0 else queue_of(20, 0.4)(load)

    assert back_to_back(bench(seldom), 1, 0.4)["back_to_back_frames"] == 34


def test_a_failed_burst_ends_the_burst_test_but_not_the_search() -> None:
    def fails(_: OfferedLoad) -> Counts:
        raise ProbeError("b", "no-answer")

    assert back_to_back(bench(fails), 2, 0.4) == {"back_to_back_limit": "failed"}
    countdown = 20

    def at_first(load: OfferedLoad) -> Counts:
        nonlocal countdown
        countdown -= 1
        return queue_of(20, 0.4)(load) if countdown >= 0 else fails(load)

    values = back_to_back(bench(at_first), 50, 0.4)
    assert values["back_to_back_limit"] == "device"
    assert set(cast(list[int], values["back_to_back_each_frames"])) == {34}


def asked(times_ns: list[int]) -> dict[str, Any]:
    return {
        "rtt_histogram": to_pairs(of_values(times_ns)),
        "rtt_histogram_bits": 7,
        "rtt_count": len(times_ns),
        "rtt_min_ns": min(times_ns),
        "rtt_mean_ns": sum(times_ns) / len(times_ns),
        "rtt_max_ns": max(times_ns),
        "lost_messages": 2,
    }


def test_latency_at_several_loads_has_one_value_for_each_load_and_lists_failed_loads() -> None:
    loads = [latency_at(0.1, asked([1000] * 200), 0), latency_at(1.0, asked([3000] * 200), 7)]
    values = latency_values(loads, [0.5])
    assert values["latency_found_share"] == [0.1, 1.0]
    assert values["latency_failed_share"] == [0.5]
    assert values["latency_lost_frames"] == [0, 7]
    assert "latency_lost_frames" not in latency_values([latency_at(1.0, asked([3000]), None)], [])
    assert values["latency_lost_requests"] == [2, 2]
    assert values["latency_max_ns"] == [1000, 3000]
    assert values["latency_p99_ns"] == pytest.approx([1000, 3000], rel=0.01)
    assert latency_values([], [0.1, 0.5]) == {"latency_failed_share": [0.1, 0.5]}


def test_a_latency_percentile_without_enough_round_trips_is_left_out() -> None:
    values = latency_values([latency_at(0.1, asked([1000] * 99), 0)], [])
    assert "latency_p99_ns" not in values
    assert "latency_p50_ns" in values


@given(st.floats(min_value=1, max_value=1e8))
def test_the_request_rate_is_a_small_share_of_the_frame_rate_and_above_zero(per_s: float) -> None:
    request_rate = requests_of(per_s)
    assert 0 < request_rate <= 0.2 * per_s
    assert request_rate <= 1000
    if per_s > 5000:
        assert request_rate == pytest.approx(min(961.8, 0.009618 * per_s))
