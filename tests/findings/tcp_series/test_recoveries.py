"""Findings report recoveries of TCP after a loss and no other slow times."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import draws
import pytest
from made_samples import changed, tcp
from made_tcp_series import MSS, STEP_US, MadePath, flow

from netlab.findings.finding import Kind
from netlab.findings.tcp_series import (
    MOST_SHARE,
    Recovery,
    recoveries,
    recoveries_of,
    recovering_share,
)
from netlab.results.tcp_series import TcpSeries

MS = 1_000


def series_of(rates: list[float], lost_at: set[int]) -> TcpSeries:
    """A series from rates in bytes/µs, one per 10 ms, and the places of lost segments."""
    delivered, retransmissions = [0], [0]
    for place, rate in enumerate(rates):
        delivered.append(delivered[-1] + round(rate * 10 * MS))
        retransmissions.append(retransmissions[-1] + (place in lost_at))
    return TcpSeries(
        time_us=[10 * MS * place for place in range(len(delivered))],
        rtt_us=[20 * MS] * len(delivered),
        retransmissions=retransmissions,
        delivered_bytes=delivered,
    )


def dented(*dents: tuple[int, int, float]) -> list[float]:
    """10 s at one rate, with dents: (place, number of places, share of the rate)."""
    rates = [10.0] * 1000
    for place, length, share in dents:
        rates[place : place + length] = [10.0 * share] * length
    return rates


def test_a_recovery_after_a_loss_is_reported_with_its_length() -> None:
    series = series_of(dented((300, 80, 0.6)), {300})
    (recovery,) = recoveries_of(series)
    assert recovery.from_us == pytest.approx(3_000 * MS, abs=100 * MS)
    assert recovery.length_us == pytest.approx(800 * MS, abs=110 * MS)
    assert recovering_share(tcp(tcp_series=series)) == pytest.approx(0.08, abs=0.012)
    (finding,) = recoveries([tcp(tcp_series=series)])
    assert finding.kind is Kind.LOSS_RECOVERY
    assert finding.evidence["longest_us"] == recovery.length_us
    assert finding.evidence["retransmissions"] == 1


@pytest.mark.parametrize(
    ("rates", "lost_at"),
    [
        (dented((300, 80, 0.6)), set[int]()),  # no loss: something else
        (dented((300, 80, 0.6)), {100}),  # long before
        (dented((300, 80, 0.6)), {340}),  # in its middle: it came of what made the rate fall
        (dented((300, 80, 0.6)), {377}),
        (dented((300, 80, 0.97)), {300}),  # hardly slower
        (dented((300, 8, 0.2)), {300}),  # fleeting
        (dented((300, 80, 0.6), (500, 80, 0.6), (700, 80, 0.6)), {300}),  # two of three without
        (dented((300, 80, 0.6)), set(range(0, 1000, 9))),  # losses all the time
        (dented(), {300}),
    ],
)
def test_slow_times_without_a_loss_at_their_beginning_are_no_recoveries(
    rates: list[float], lost_at: set[int]
) -> None:
    series = series_of(rates, lost_at)
    assert recovering_share(tcp(tcp_series=series)) == 0
    assert list(recoveries([tcp(tcp_series=series)])) == []


def test_a_gap_in_the_tcp_series_gives_no_recovery() -> None:
    """The sampling thread did not run, so the sending threads may not have run either."""
    series = series_of(dented((300, 80, 0.6)), {300})
    places = [place for place in range(len(series.time_us)) if not 290 < place < 390]
    holed = TcpSeries(
        **{
            name: [getattr(series, name)[place] for place in places]
            for name in ("time_us", "rtt_us", "retransmissions", "delivered_bytes")
        }
    )
    assert recoveries_of(holed) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"tcp_series": None},
        {"streams": 2},
        {"tcp_series": series_of([10.0] * 150, {100})},
        {"tcp_series": changed(series_of(dented(), {300}), retransmissions=())},
        {"tcp_series": changed(series_of(dented(), {300}), delivered_bytes=())},
    ],
)
def test_a_stream_without_a_complete_tcp_series_has_no_share_of_recovery(
    changes: dict[str, Any],
) -> None:
    series = series_of(dented((300, 80, 0.6)), {300})
    sample = tcp(**({"tcp_series": series} | changes))
    assert recovering_share(sample) is None
    assert list(recoveries([sample])) == []


def test_recoveries_that_fill_more_than_two_fifths_of_the_window_are_not_reported() -> None:
    dents = [(place, 50, 0.7) for place in range(0, 900, 100)]
    series = series_of(dented(*dents), {place for place, _, _ in dents})
    share = recovering_share(tcp(tcp_series=series))
    assert share is not None and share > MOST_SHARE
    assert list(recoveries([tcp(tcp_series=series)])) == []


def slow_share(series: TcpSeries, rate: float) -> float:
    steps = [b - a for a, b in pairwise(series.delivered_bytes)]
    return sum(step < 0.95 * rate * STEP_US for step in steps) / len(steps)


def test_rare_losses_on_a_long_path_are_reported_unless_a_queue_compensates_the_losses() -> None:
    """A window reduced to 70 % leaves the path idle unless the queue held as much."""
    draw, number = draws.chance(20100117), draws.drawn(20, 200)
    cases = reports = made_up_for = wrong = 0
    for _ in range(number):
        rate, base_us = 10 ** draw.uniform(0, 1), draw.uniform(30_000, 60_000)
        segments = rate * 10_000_000 / MSS
        path = MadePath(
            rate=rate,
            base_us=base_us,
            room=1e9,
            window=rate * base_us,
            losses=1.5 / segments,
            jitter_us=300,
        )
        series = flow(path, draw)
        slow = slow_share(series, rate)
        findings = list(recoveries([tcp(tcp_series=series)]))
        cases += 0.07 < slow < 0.35
        reports += bool(findings) and 0.07 < slow < 0.35
        queued = flow(changed(path, window=1.6 * path.window), draw)
        quick = slow_share(queued, rate) == 0
        made_up_for += quick and queued.retransmissions[-1] > 0
        wrong += quick and bool(list(recoveries([tcp(tcp_series=queued)])))
    assert (wrong, made_up_for > number / 3) == (0, True)
    assert cases > number / 4
    assert reports >= 0.5 * cases, (reports, cases)  # where chance would do, it is silent


def test_slow_times_unrelated_to_losses_are_rarely_reported_as_recoveries() -> None:
    """With random slow times and random losses, the rule is wrong in fewer than one of 20 cases."""
    draw, number = draws.chance(20100117), draws.drawn(80, 1000)
    wrong = 0
    for _ in range(number):
        noise = draw.uniform(0.0, 0.05)
        dents = [
            (draw.randrange(0, 900), draw.randrange(20, 100), draw.uniform(0.4, 0.85))
            for _ in range(draw.randrange(1, 4))
        ]
        rates = [rate * draw.gauss(1, noise) for rate in dented(*dents)]
        losses = {draw.randrange(1000) for _ in range(draw.randrange(0, 12))}
        wrong += bool(list(recoveries([tcp(tcp_series=series_of(rates, losses))])))
    assert wrong < number / 20


def spans_of(rates: list[float], lost_at: set[int], steps_us: list[int]) -> TcpSeries:
    """A series from the rates in bytes/µs of its steps, their lengths, and the places of lost
    segments; its first sample is at 30 ms.
    """
    sent = [round(rate * step_us) for rate, step_us in zip(rates, steps_us, strict=True)]
    return TcpSeries(
        time_us=list(accumulate(steps_us, initial=30 * MS)),
        retransmissions=list(
            accumulate((place in lost_at for place in range(len(rates))), initial=0)
        ),
        delivered_bytes=list(accumulate(sent, initial=0)),
    )


def test_recoveries_at_the_thresholds_are_reported_with_their_figures() -> None:
    """Two of three slow runs follow losses in 2 of 45 spans, two spans after them. A run ends at
    95 % of the usual rate. By chance: p = 1 - (43/45)^3 = 0.1275; 3 p^2 (1 - p) + p^3 = 0.0446.
    """
    rates = [10.0] * 45
    rates[10:15] = [8.5, 8.5, 9.5, 8.5, 8.5]
    rates[30:32] = [5.0, 5.0]
    # The last step is no span: it is shorter than 100 ms.
    series = spans_of([*rates, 10.0], {8, 11, 45}, [*[100 * MS] * 45, 10 * MS])
    assert recoveries_of(series) == (
        Recovery(from_us=1_030 * MS, length_us=200 * MS),
        Recovery(from_us=1_330 * MS, length_us=200 * MS),
    )
    sample = tcp(tcp_series=series)
    (finding,) = recoveries([sample])
    assert (finding.group, finding.cells, finding.trials) == (sample.group, ("a",), (("a", 1),))
    assert finding.evidence == pytest.approx(
        {
            "recoveries": 2,
            "longest_us": 200 * MS,
            "longest_from_us": 1_030 * MS,
            "recovering_share": 400 / 4_510,
            "retransmissions": 3,
            "trials": 1,
            "of_trials": 1,
        }
    )


def test_a_gap_divides_a_slow_time_and_twenty_spans_are_enough_for_recoveries() -> None:
    """Both runs follow the loss in the first span. By chance: (1 - (19/20)^3)^2 = 0.02."""
    steps_us = [100 * MS] * 21
    steps_us[2] = 500 * MS
    series = spans_of([5.0] * 5 + [10.0] * 16, {0}, steps_us)
    assert recoveries_of(series) == (
        Recovery(from_us=30 * MS, length_us=200 * MS),
        Recovery(from_us=730 * MS, length_us=200 * MS),
    )
    assert recovering_share(tcp(tcp_series=series)) == pytest.approx(400 / 2_500)


def test_recoveries_are_counted_in_spans_of_100_ms_or_of_three_round_trips() -> None:
    """With a round trip of 50 ms, the four slow steps are in two spans of three steps each."""
    rates = [10.0] * 180
    rates[90:94] = [5.0] * 4
    series = spans_of(rates, {90}, [50 * MS] * 180)
    assert recoveries_of(series) == (Recovery(from_us=4_530 * MS, length_us=200 * MS),)
    slower = changed(series, rtt_us=[50 * MS] * 181)
    assert recoveries_of(slower) == (Recovery(from_us=4_530 * MS, length_us=300 * MS),)
    for missing in ("retransmissions", "delivered_bytes"):
        assert recoveries_of(changed(series, **{missing: ()})) == ()


def test_a_span_of_twice_the_needed_length_counts_in_a_recovery() -> None:
    rates = [10.0] * 60
    rates[30:32] = [5.0, 5.0]
    steps_us = [100 * MS] * 60
    steps_us[30:32] = [200 * MS, 200 * MS]
    series = spans_of(rates, {30}, steps_us)
    assert recoveries_of(series) == (Recovery(from_us=3_030 * MS, length_us=400 * MS),)


def test_recoveries_of_5_to_40_percent_of_the_window_are_reported_with_the_worst_trial() -> None:
    """Of 60 spans, 2, 3 (5 %), 24 (40 %) and 25 are slow after the only loss."""
    trials = [
        tcp(
            tcp_series=spans_of([5.0] * slow + [10.0] * (60 - slow), {0}, [100 * MS] * 60),
            trial=trial,
        )
        for trial, slow in enumerate((2, 3, 24, 25), start=1)
    ]
    (finding,) = recoveries(trials)
    assert finding.trials == (("a", 2), ("a", 3))
    assert finding.words == {"in_trials": "in 2 of 4 trials"}
    assert finding.evidence["recovering_share"] == 0.4
    assert finding.evidence["longest_us"] == 2_400 * MS
