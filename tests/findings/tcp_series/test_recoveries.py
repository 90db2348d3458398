"""Findings report recoveries of TCP after a loss and no other slow times."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import draws
import pytest
from made_samples import tcp
from made_tcp_series import MSS, STEP_US, MadePath, flow

from netlab.findings.finding import Kind
from netlab.findings.tcp_series.recoveries import (
    MOST_SHARE,
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
        {"tcp_series": replace(series_of(dented(), {300}), retransmissions=())},
        {"tcp_series": replace(series_of(dented(), {300}), delivered_bytes=())},
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
        queued = flow(replace(path, window=1.6 * path.window), draw)
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
