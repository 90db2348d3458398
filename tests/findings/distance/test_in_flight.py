"""Buffers bound the data in flight, and sometimes give a likely value between the bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest

from netlab.findings.distance import UNKNOWN, BuffersInEffect, InFlight, by_receiver, by_sender

auto = partial(BuffersInEffect, auto_tuning=True)
fixed = partial(BuffersInEffect, auto_tuning=False)
RMEM = {"tcp_rmem": "4096 1000 200000"}
WMEM = {"tcp_wmem": "4096 1000 300000"}


@pytest.mark.parametrize(
    ("buffers", "least", "most", "likely"),
    [
        (fixed(announced_bytes=70_000), 0, math.inf, None),
        (fixed(receive_bytes=100_000), 50_000, 100_000, None),
        (fixed(receive_bytes=100_000, announced_bytes=49_999), 49_999, 100_000, None),
        (fixed(receive_bytes=100_000, announced_bytes=50_000), 50_000, 100_000, 50_000),
        (fixed(receive_bytes=100_000, announced_bytes=100_000), 50_000, 100_000, 100_000),
        (fixed(receive_bytes=100_000, announced_bytes=100_001), 50_000, 100_000, None),
        (auto(), 100_000, 200_000, None),
        (auto(announced_bytes=150_000), 150_000, 200_000, None),
        (auto(announced_bytes=250_000), 250_000, 250_000, None),
    ],
)
def test_a_receive_buffer_bounds_the_window_and_an_announced_window_within_it_is_likely(
    buffers: BuffersInEffect, least: float, most: float, likely: float | None
) -> None:
    assert by_receiver(buffers, RMEM) == InFlight(least=least, most=most, likely=likely)


def test_an_auto_tuned_window_without_a_known_limit_is_at_least_the_announced_one() -> None:
    assert by_receiver(auto(announced_bytes=150_000), {}) == InFlight(least=150_000, most=math.inf)
    assert by_receiver(auto(), {}) == InFlight(least=0, most=math.inf)


@pytest.mark.parametrize(
    ("buffers", "least", "most", "likely"),
    [
        (fixed(receive_bytes=200_000, announced_bytes=150_000), 65_535, 65_535, 65_535),
        (fixed(receive_bytes=100_000, announced_bytes=60_000), 50_000, 65_535, 60_000),
        (auto(), 65_535, 65_535, None),
    ],
)
def test_no_bound_of_an_unscaled_window_exceeds_65535_bytes(
    buffers: BuffersInEffect, least: float, most: float, likely: float | None
) -> None:
    assert by_receiver(replace(buffers, window_scaling=False), RMEM) == InFlight(
        least=least, most=most, likely=likely
    )


@pytest.mark.parametrize(
    ("offloads", "buffers", "shares"),
    [
        ("rx-checksum,scatter-gather", fixed(send_bytes=300_000), (0.4, 0.63, 0.45)),
        ("rx-checksum,scatter-gather", auto(), (0.4, 0.63, None)),
        ("rx-checksum,tso", fixed(send_bytes=300_000), (0.4, 1, None)),
        ("gso,scatter-gather", auto(), (0.4, 1, None)),
        (None, auto(), (0.4, 1, None)),
    ],
)
def test_a_host_with_segmentation_offload_may_keep_its_whole_send_buffer_in_flight(
    offloads: str | None, buffers: BuffersInEffect, shares: tuple[float, float, float | None]
) -> None:
    facts = WMEM if offloads is None else WMEM | {"interface_offloads": offloads}
    least, most, likely = (None if share is None else share * 300_000 for share in shares)
    found = by_sender(buffers, facts)
    assert (found.least, found.most, found.likely) == (least, most, likely)
    assert by_sender(buffers, {}) == by_sender(fixed(), facts) == UNKNOWN
