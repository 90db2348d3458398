"""Data that arrive evenly come from a limit, and not from random loss or a host that pauses."""

from __future__ import annotations

from typing import Any

import pytest
from draws import chance, drawn
from made_arrivals import MESSAGE, at_two_rates, lossy, measured, of_tcp, of_udp, paused, steady
from made_samples import changed

from netlab.findings.derived import StreamSample

PARTS = (0.01, 0.02, 0.05, 0.1, 0.4)


def is_even(sample: StreamSample) -> bool:
    return sample.is_even


def test_a_limit_passes_messages_evenly_whatever_share_it_drops() -> None:
    random = chance("limits")
    for _ in range(drawn(60, 1000)):
        lost = random.choice((0.0, *PARTS))
        each = random.uniform(10, 400)
        scatter = each * lost
        sample = of_udp(steady(each, 100, random.random()), lost=lost)
        # A hundredth of few messages is too little to be told from chance in this window.
        assert is_even(sample) or 0 < scatter < 0.8, (each, lost)


def test_messages_after_random_loss_hardly_ever_arrive_evenly() -> None:
    random, number = chance("losses"), drawn(80, 600)
    even = 0
    for _ in range(number):
        lost, each = random.choice(PARTS), random.uniform(20, 200)
        even += is_even(of_udp(lossy(random, each, lost), lost=lost))
    assert even <= number // 40


def test_data_with_pauses_or_two_rates_do_not_arrive_evenly() -> None:
    random = chance("uneven")
    for _ in range(drawn(40, 400)):
        values = steady(random.uniform(60, 400))
        begins, lasts = random.randrange(5), random.choice((4, 6))
        # What is held back arrives later: without a loss of rate, only many pauses count.
        many = paused(values, range(begins, 90, random.choice((10, 20))), lasts, kept=True)
        missing = paused(values, range(begins, 90, random.choice((10, 20, 30))), lasts, kept=False)
        for uneven in (many, missing):
            assert not is_even(of_tcp(uneven)) and not is_even(of_udp(uneven))
        slower = at_two_rates(values, 20, 10, random.uniform(0.1, 0.6))
        assert not is_even(of_tcp(slower)) and not is_even(of_udp(slower))


def test_tcp_arrives_evenly_if_four_fifths_of_the_times_have_the_usual_rate() -> None:
    def with_others(number: int, share: float) -> list[float]:
        """A hundred times, of which some pairs are above and below the usual rate alike."""
        pairs = [1e5 * (1 + share), 1e5 * (1 - share)] * (number // 2)
        return [*pairs, *[1e5] * (100 - len(pairs))]

    assert is_even(of_tcp(with_others(20, 0.1)))
    assert not is_even(of_tcp(with_others(22, 0.1)))
    assert is_even(of_tcp(with_others(80, 0.024)))
    assert not is_even(of_tcp(with_others(80, 0.026)))


def test_the_mean_rate_must_be_the_usual_one_too() -> None:
    """A host that does not read for a tenth of the time lowers the mean."""
    for missing, even in ((2, True), (3, False)):
        values = [1e5] * (100 - missing) + [0.0] * missing
        assert is_even(of_tcp(values)) is even


def test_each_compared_time_has_fifty_receive_calls_or_there_are_too_few_times() -> None:
    values = [1.2e5 if at % 2 else 0.8e5 for at in range(100)]
    assert not is_even(of_tcp(values, call=2e3))  # fifty calls in each time
    assert is_even(of_tcp(values, call=4e3))  # two times have them together
    assert is_even(of_tcp([1e5] * 100, call=32e3))  # six of sixteen times
    assert not is_even(of_tcp([1e5] * 100, call=40e3))  # five of twenty


def test_streams_without_a_series_with_a_short_one_or_of_another_tool_show_nothing() -> None:
    values = steady(100)
    assert is_even(of_udp(values)) and is_even(of_udp(values[:12]))
    assert of_udp(values[:11]).arrivals is None
    for name in ("receiver_interval_ns", "receiver_received_bytes", "receiver_marks"):
        unknown: dict[str, Any] = {name: None}
        sample = changed(of_udp(values), measured=measured(values, **unknown))
        assert sample.arrivals is None and not is_even(sample)
    assert not is_even(of_udp(values, imported=True))
    assert not is_even(changed(of_udp(values), measured=measured([0.0] * 100)))


def test_the_times_are_so_long_that_chance_would_scatter_them_by_six() -> None:
    """A hundredth of 100 messages is lost in a time: six times together, of which there are 16."""
    values = steady(100, 96)
    assert is_even(of_udp(values, lost=0.01))
    assert not is_even(of_udp(values[:66], lost=0.01)), "eleven are too few"
    varied = [MESSAGE * (100 + (3 if at // 6 % 2 else -3) / 6) for at in range(96)]
    assert not is_even(of_udp(varied, lost=0.01)), "nine is more than a quarter of six"
    little = [MESSAGE * (100 + (1.2 if at // 6 % 2 else -1.2) / 6) for at in range(96)]
    assert is_even(of_udp(little, lost=0.01))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_times_are_put_together_without_an_incomplete_rest(number: int) -> None:
    arrivals = of_udp(steady(10, 12)).arrivals
    assert arrivals is not None
    assert arrivals.merged(number) == (10.0 * number * MESSAGE,) * (12 // number)
