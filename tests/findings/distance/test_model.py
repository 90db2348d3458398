"""The model of RFC 8337 computes windows, run lengths and verdicts about loss."""

from __future__ import annotations

import math
from random import Random

import pytest
from draws import chance, drawn
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.matrix import LongPath
from netlab.findings import distance as model

paths = st.builds(LongPath, st.floats(1e-5, 2), st.floats(1e4, 1e11))


def test_the_target_model_computes_the_window_the_run_length_and_the_rate_of_a_path() -> None:
    target = LongPath(0.05, 1e9)
    assert model.needed_bytes(target) == 6_250_000
    assert model.window_packets(target, 1448) == 4317
    assert model.run_length(target, 1448) == 3 * 4317**2
    assert model.allowed_bit_per_s(58_982, target) == pytest.approx(9.437e6, rel=1e-3)
    slow = LongPath(0.001, 8e6)
    assert [model.window_packets(slow, size) for size in (999, 1000, 1448)] == [2, 1, 1]
    assert model.run_length(slow, 1448) == 3


def test_the_target_model_states_how_many_packets_without_loss_prove_a_path() -> None:
    # ln(19) / ln(4 (1 - 1/L) / (1 - 4/L)) losses off a line of 2.16 / L: 0.98 of the run length.
    length = 3 * 173**2
    needed = model.packets_needed(0, length)
    assert needed == pytest.approx(0.981 * length, rel=2e-3)
    assert model.judged(needed, 0, length) == "few enough"
    assert model.judged(needed - 1, 0, length) == "not known"
    assert model.judged(0, 0, length) == "not known"
    assert model.judged(1000, 500, length) == "too many"


@pytest.mark.parametrize(
    ("length", "odds", "good"),
    [
        (8, 7.0, 1.75),  # 1/8 against 1/2: odds of 1/7 against 1, and 7/8 against 1/2 arrive
        (3, 198.0, 200 / 3),  # 1/3 against 0.99: odds of 1/2 against 99, and 2/3 against 1/100
    ],
)
def test_the_lines_of_the_loss_test_follow_from_the_odds_of_a_loss_on_good_and_bad_paths(
    length: int, odds: float, good: float
) -> None:
    expected = [math.log(good) / math.log(odds), math.log(19) / math.log(odds)]
    assert [*model._lines(length)] == pytest.approx(expected)


@given(paths, st.integers(40, 9000))
def test_a_loss_of_one_packet_per_run_length_allows_exactly_the_target_rate(
    path: LongPath, packet: int
) -> None:
    length = model.run_length(path, packet)
    rate = model.bit_per_s_at_loss(1 / length, path, packet)
    window_bytes = model.window_packets(path, packet) * packet
    assert rate == pytest.approx(8 * window_bytes / path.rtt_s)
    assert model.bit_per_s_at_loss(0, path, packet) == math.inf


@given(st.integers(0, 10**7), st.integers(0, 50), st.integers(3, 10**9))
def test_more_loss_never_improves_a_target_verdict_and_more_packets_never_worsen_a_verdict(
    packets: int, lost_count: int, length: int
) -> None:
    order = ["too many", "not known", "few enough"]
    rank = order.index(model.judged(packets, lost_count, length))
    assert order.index(model.judged(packets, lost_count + 1, length)) <= rank
    assert order.index(model.judged(2 * packets + 1, lost_count, length)) >= rank


def losses(packets: int, share: float, draw: Random) -> int:
    """Number of losses in so many packets, by random distances between losses."""
    at, count = 0, 0
    while True:
        at += 1 + int(math.log(1 - draw.random()) / math.log(1 - share))
        if at > packets:
            return count
        count += 1


@pytest.mark.parametrize(
    ("times", "wrong"), [(0.25, "too many"), (1, "too many"), (4, "few enough"), (10, "few enough")]
)
def test_the_loss_test_of_the_target_model_is_wrong_in_at_most_8_percent_of_random_cases(
    times: float, wrong: str
) -> None:
    draw = chance(f"{times}")
    length = 20_000
    runs = drawn(100, 1000)
    verdicts = [
        model.judged(n, losses(n, times / length, draw), length)
        for n in (draw.randrange(5_000, 200_000) for _ in range(runs))
    ]
    # 5 %, plus the scatter of so many runs.
    assert verdicts.count(wrong) <= 0.08 * runs  # type: ignore[arg-type]
    assert len(verdicts) - verdicts.count("not known") >= 0.2 * runs


def test_the_interval_of_a_loss_share_is_the_wilson_interval() -> None:
    assert model.loss_interval(0, 0) == (0.0, 1.0)
    assert model.loss_interval(1000, 0)[1] == pytest.approx(3.84 / 1003.84, rel=1e-3)
    assert [*model.loss_interval(100, 10)] == pytest.approx([0.0552, 0.1744], abs=1e-4)
    # z² = 3.8416; of one packet, none lost: 0 to z² / (1 + z²).
    assert model.loss_interval(10, 30) == model.loss_interval(10, 10)
    assert [*model.loss_interval(1, 0)] == pytest.approx([0.0, 3.8416 / 4.8416])


def test_the_interval_of_a_loss_share_begins_at_0_without_loss_and_never_exceeds_1() -> None:
    assert {model.loss_interval(packets, 0)[0] for packets in range(1, 100)} == {0.0}
    most = [model.loss_interval(packets, packets)[1] for packets in range(1, 100)]
    assert max(most) <= 1 and most == pytest.approx([1.0] * len(most))
