"""Findings report periodic dips with their period."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from draws import chance, drawn
from made_findings import plan_of, run_of
from made_runs import made_cell, made_record

from netlab.findings.analysis import Analysis
from netlab.findings.derived import samples
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.over_time import dips
from netlab.report.text.findings import statement
from netlab.stats.trends import periodic_dips
from netlab.trial.record import Record, Status, Value

KINDS = {Kind.DIPS_UNEXPLAINED, Kind.DIPS_CONGESTION}
USUAL = 1_176_000


def series(
    n: int, period: float, depth: float, *, width: float = 0.2, noise: float = 0.01, seed: int = 1
) -> list[int]:
    rng = random.Random(seed)  # noqa: S311
    begin = rng.random()
    low = [(index / period + begin) % 1 < width for index in range(n)]
    return [round(USUAL * (1 - depth * dip) * (1 + rng.gauss(0, noise))) for dip in low]


def run(
    trials: Sequence[Sequence[int]], *, largest: int = 2920, sent_again: int | None = None
) -> Analysis:
    cell = replace(made_cell(), settings={"protocol": "TCP", "message_bytes": 1448})
    records = []
    for number, bytes_each in enumerate(trials, 1):
        values: dict[str, Value] = {
            "throughput_bit_per_s": 80.0 * sum(bytes_each) / len(bytes_each),
            "receiver_interval_ns": 100_000_000,
            "receiver_interval_bytes": list(bytes_each),
            "receiver_largest_receive_bytes": largest,
            "same_host": False,
        }
        if sent_again is not None:
            values |= {
                "sender_tcp_begin_total_retrans": 3,
                "sender_tcp_end_total_retrans": 3 + sent_again,
            }
        records.append(made_record(cell, number, values=values))
    return run_of(plan_of([cell], repeats=len(trials)), records)


def findings_of(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind in KINDS]


def test_periodic_dips_are_reported_with_period_depth_and_number_of_trials() -> None:
    flat = series(100, 10, 0, noise=0.01)
    (finding,) = findings_of(run([series(100, 10, 0.4, seed=n) for n in (1, 2)] + [flat]))
    assert finding.kind is Kind.DIPS_UNEXPLAINED
    assert statement(finding).startswith("in 2 of 3 trials: the rate dips by 4")
    assert statement(finding).endswith("every 1 s")
    assert finding.trials == ((finding.cells[0], 1), (finding.cells[0], 2))


def test_figures_of_periodic_dips_are_those_of_the_trial_with_the_median_depth() -> None:
    """Two of ten intervals of 0.1 s are lower by 30, 50, 10, 40 and 20 %, without a slope; one
    trial is flat, and the last interval does not count.
    """
    lows = [700, 500, 900, 600, 800, 1000]
    trials = [[*([1000] * 4 + [low] * 2 + [1000] * 4) * 10, 1] for low in lows]
    analysis = run(trials, largest=1)
    (only,) = findings_of(analysis)
    (cell,) = only.cells
    figures: dict[str, Any] = {"period_ns": pytest.approx(1e9), "depth_share": pytest.approx(0.3)}
    assert only == finding(
        Kind.DIPS_UNEXPLAINED,
        Group("LL", "TCP", 1448),
        (analysis.plan.cells[0].key,),
        figures | {"interval_ns": 1e8, "trials": 5, "of_trials": 6},
        in_trials(5, 6),
        tuple((cell, number) for number in range(1, 6)),
    )


def test_periodic_dips_with_retransmissions_are_attributed_to_congestion_control() -> None:
    (finding,) = findings_of(run([series(100, 20, 0.3)], sent_again=12))
    assert (finding.kind, finding.severity) == (Kind.DIPS_CONGESTION, "note")
    assert "TCP sent 12 segments again: this is TCP’s congestion control" in statement(finding)
    (plain_finding,) = findings_of(run([series(100, 20, 0.3)], sent_again=0))
    assert plain_finding.kind is Kind.DIPS_UNEXPLAINED


def test_periodic_dips_in_one_trial_of_three_are_not_reported() -> None:
    flat = series(100, 10, 0)
    assert findings_of(run([series(100, 10, 0.4), flat, flat])) == []


def test_periodic_dips_in_half_of_the_trials_are_not_reported() -> None:
    flat = series(100, 10, 0)
    assert findings_of(run([series(100, 10, 0.4), series(100, 10, 0.4, seed=2), flat, flat])) == []


def test_failed_trials_and_trials_without_an_interval_do_not_count_for_dips() -> None:
    analysis = run([series(100, 10, 0)] * 2 + [series(100, 10, 0.4)])
    failed, no_interval, dipping = analysis.records
    kept = {
        name: value for name, value in no_interval.values.items() if name != "receiver_interval_ns"
    }
    records: list[Record] = [
        replace(failed, status=Status.FAILED, reason="timeout"),
        replace(no_interval, values=kept),
        dipping,
    ]
    (of_run,) = dips(samples(run_of(analysis.plan, records)), imported=False)
    assert (of_run.evidence["trials"], of_run.evidence["of_trials"]) == (1, 1)
    assert of_run.trials == ((dipping.cell, 3),)


def test_periodic_dips_of_one_of_two_directions_are_reported_with_this_direction() -> None:
    analysis = run([series(100, 10, 0.4)])
    (record,) = analysis.records
    to_client: dict[str, Value] = {
        f"to_client_{name}": value for name, value in record.values.items()
    }
    both_ways = run_of(analysis.plan, [replace(record, values=to_client)])
    (of_run,) = dips(samples(both_ways), imported=False)
    assert (of_run.kind, of_run.group.flow) == (Kind.DIPS_UNEXPLAINED, "to client")


def test_shallow_dips_large_receives_and_short_series_have_no_dip_finding() -> None:
    assert findings_of(run([series(100, 10, 0.04, noise=0.001)])) == []
    assert findings_of(run([series(100, 10, 0.2)], largest=130_320)) == []
    assert findings_of(run([series(38, 5, 0.5)])) == []


def beats(
    rate_bit_per_s: float,
    message: int,
    link_bit_per_s: float,
    streams: int = 1,
    first_s: float = 0.05,
) -> list[int]:
    """Bytes in 100 intervals of 0.1 s of evenly sent messages, each as fast as the link."""
    values = [0.0] * 101
    lasts_s, time_s = 8 * message * streams / link_bit_per_s, first_s
    while time_s < 10:
        for part in range(10):
            values[int((time_s + lasts_s * part / 10) / 0.1) % 101] += message * streams / 10
        time_s += 8 * message * streams / rate_bit_per_s
    return [round(value) for value in values]


def paced(values: Sequence[int], message: int, rate: float, streams: int = 1) -> Analysis:
    """One trial with these bytes in the intervals, of messages sent at a rate."""
    analysis = run([values])
    settings = {"message_bytes": message, "rate_bit_per_s": rate, "streams": streams}
    (record,) = analysis.records
    changed = replace(record, settings={**record.settings, **settings})
    return run_of(analysis.plan, [changed])


def test_large_messages_at_a_low_rate_are_no_dips_though_intervals_differ_with_a_period() -> None:
    """Messages of 128 KiB at 20 Mbit/s: 1.9 in each interval, so one in eleven has one only."""
    values = beats(20e6, 131_072, 1e9)
    dips = periodic_dips([float(value) for value in values])
    assert dips is not None and dips.period == pytest.approx(10.8, abs=0.3)
    assert findings_of(paced(values, 131_072, 20e6)) == []
    # Deeper dips than by a message and a half are none of its grain.
    deep = [value * (at % 11 != 3) for at, value in enumerate(beats(80e6, 131_072, 1e9))]
    assert len(findings_of(paced(deep, 131_072, 80e6))) == 1


@pytest.mark.parametrize("seed", range(3))
def test_random_paced_messages_have_no_dips_and_few_planted_dips_are_missed(seed: int) -> None:
    rng, periodic, missed = chance(seed), 0, 0
    for _ in range(drawn(20, 60)):
        message, streams = rng.choice([1472, 16_384, 65_536, 1 << 20]), rng.choice([1, 1, 4])
        rate = message * streams * 8 * rng.uniform(6, 200)
        values = beats(rate, message, rate * rng.uniform(1.1, 10), streams, 0.1 * rng.random())
        periodic += periodic_dips([float(value) for value in values]) is not None
        assert findings_of(paced(values, message, rate, streams)) == []
        small = [round(value * (1 - 0.5 * (at % 10 < 2))) for at, value in enumerate(values)]
        missed += not findings_of(paced(small, message, rate, streams)) and rate > 5e2 * message
    assert periodic >= 1
    assert missed <= drawn(3, 15)


def _following(rng: random.Random, n: int, share: float) -> list[float]:
    values, off = [], 0.0
    for _ in range(n):
        off = share * off + rng.gauss(0, 3)
        values.append(max(1.0, 100 + off))
    return values


def _holes(rng: random.Random, n: int) -> list[float]:
    values = [100 + rng.gauss(0, 0.5) for _ in range(n)]
    for _ in range(rng.randint(1, 5)):
        begin = rng.randrange(n)
        for index in range(begin, min(n, begin + rng.randint(1, 10))):
            values[index] *= rng.random()
    return values


STATIONARY: dict[str, Callable[[random.Random, int], list[float]]] = {
    "white": lambda drawn, n: [100 + drawn.gauss(0, 10) for _ in range(n)],
    "hangs-together": lambda drawn, n: _following(drawn, n, 0.8),
    "walks": lambda drawn, n: _following(drawn, n, 1.0),
    "holes": _holes,
}


@pytest.mark.parametrize("kind", STATIONARY)
def test_random_series_without_a_period_rarely_have_periodic_dips(kind: str) -> None:
    rng, number = chance(kind), drawn(30, 300)
    all_dips = [
        periodic_dips(STATIONARY[kind](rng, rng.choice([40, 100, 300]))) for _ in range(number)
    ]
    assert sum(dips is not None for dips in all_dips) <= number // 75


def test_nearly_all_random_periodic_dips_are_found_with_their_period() -> None:
    rng, number = chance(2), drawn(25, 200)
    missed = wrong = 0
    for seed in range(number):
        n = rng.choice([100, 200, 400])
        period, depth = rng.uniform(3.2, n / 4.1), rng.uniform(0.1, 0.8)
        width = rng.uniform(max(0.15, 1.2 / period), 0.45)
        values = series(n, period, depth, width=width, noise=0.1 * depth, seed=seed)
        dips = periodic_dips([float(value) for value in values])
        missed += dips is None
        wrong += dips is not None and abs(dips.period / period - 1) > 0.1
    assert missed <= number // 20
    assert wrong <= number // 20
