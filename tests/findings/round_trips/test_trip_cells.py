"""The cells and trials whose round trips have a finding."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest
from made_findings import run_of
from made_histograms import of_values, to_pairs
from made_readings import failure, of_round_trips, plan_of, planned, result

from netlab.ethernet import Link
from netlab.findings.buffers import variants
from netlab.findings.finding import Kind
from netlab.findings.round_trips import (
    below_floor,
    first_packet_lost,
    outliers,
    trip_cells,
    two_groups,
    waited,
)
from netlab.findings.series import Series, series_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

Trials = list[dict[str, Value]]
FIRST, SECOND = (planned("round_trip", message_bytes=size) for size in (18, 1472))
USUAL_NS = 10_000


def series(*cells: tuple[PlannedCell, Trials]) -> tuple[Series, ...]:
    records = [
        result(cell, number, values)
        for cell, trials in cells
        for number, values in enumerate(trials, 1)
    ]
    repeats = max(len(trials) for _cell, trials in cells)
    return series_of(run_of(plan_of([cell for cell, _trials in cells], repeats), records))


def timed(counts: dict[int, int], **more: Value) -> dict[str, Value]:
    times = [ns for ns, count in counts.items() for _ in range(count)]
    exact = to_pairs(of_values(times, bits=20))
    return {**of_round_trips(times), "rtt_histogram": exact, "rtt_histogram_bits": 20, **more}


SHORT = timed({USUAL_NS: 100})
TAIL = timed({USUAL_NS: 90, 500_000: 10})


def test_cells_of_round_trips_have_the_trials_with_a_result_and_streams_are_no_such_cells() -> None:
    other = planned("stream", protocol="TCP")
    records = [result(other, 1, {"throughput_bit_per_s": 1e6}), result(FIRST, 1, SHORT)]
    run = run_of(plan_of([other, FIRST], 3), [*records, failure(FIRST, 2)])
    cells = [
        (cell.cell, [trial.record.key for trial in cell.trials])
        for cell in trip_cells(series_of(run))
    ]
    assert cells == [(FIRST.key, [(FIRST.key, 1)])]


def test_long_round_trips_are_reported_of_each_cell_with_them_in_more_than_half_its_trials() -> (
    None
):
    found = outliers(series((FIRST, [SHORT] * 3), (SECOND, [TAIL, TAIL, SHORT])))
    assert [each.cells for each in found] == [(SECOND.key,)]
    assert [*outliers(series((FIRST, [TAIL, SHORT])))] == []


def test_long_round_trips_that_a_quota_explains_are_not_reported_again() -> None:
    quota: dict[str, Value] = {
        **{"client_quota_periods": 10, "client_quota_throttled_periods": 9},
        **{"client_quota_throttled_ns": 700_000_000, "elapsed_ns": 10**9},
    }
    cells = series((FIRST, [{**TAIL, **quota}] * 2))
    assert len([*waited(cells)]) == 1
    assert [*outliers(cells)] == []


def test_two_groups_are_reported_of_each_cell_that_has_them() -> None:
    near = {USUAL_NS + 10 * step: 30 for step in range(-5, 6)}
    far = {60_000 + 10 * step: 30 for step in range(-5, 6)}
    found = two_groups(series((FIRST, [timed(near)]), (SECOND, [timed({**near, **far})])), {})
    assert [each.cells for each in found] == [(SECOND.key,)]


def test_lost_first_packets_are_reported_of_each_cell_that_has_them() -> None:
    first, second = (planned("connect", message_bytes=size) for size in (64, 1000))
    lossy = timed({USUAL_NS: 100, 1_000_000_255: 2})
    found = first_packet_lost(series((first, [SHORT]), (second, [lossy])))
    assert [each.cells for each in found] == [(second.key,)]


def test_typical_round_trips_below_their_floor_come_before_single_ones() -> None:
    """At 10 Mbit/s, two frames of 72 bytes with preamble take 115 µs, two of 1526 bytes 2442 µs."""
    single, typical = timed({50_000: 1, 200_000: 10}), timed({50_000: 20})
    found = below_floor(series((FIRST, [single]), (SECOND, [typical])), Link(1e7, 1500))
    assert [each.cells for each in found] == [(SECOND.key,), (FIRST.key,)]


def test_waits_of_a_trial_with_two_requests_under_way_lengthen_both() -> None:
    """400 ms of 10,000 requests: each of the two that were under way waited 80 µs."""
    cell = planned("round_trip", outstanding=2)
    usual: dict[str, Value] = {"rtt_count": 10_000, "elapsed_ns": 10**9}
    slow = {**usual, "rtt_mean_ns": 200_000, "client_run_queue_delay_ns": 400_000_000}
    fast = {**usual, "rtt_mean_ns": 120_000, "client_run_queue_delay_ns": 0}
    (only,) = waited(series((cell, [slow, fast, fast])))
    assert only.evidence == {
        **{"mean_trip_ns": 200_000, "waited_trip_ns": 80_000, "waited_share": 0.4},
        **{"best_trip_ns": 120_000, "trials": 1, "of_trials": 3},
    }


def means(*means_ns: float) -> Trials:
    return [{"rtt_mean_ns": mean_ns} for mean_ns in means_ns]


BASE = [1_000.0, 100_000.0, 10_000.0]
BLOCKING = (FIRST, means(*BASE))


def beside(logs: tuple[float, ...], **settings: Any) -> tuple[PlannedCell, Trials]:
    """A cell whose means are longer than those of the base by these logarithms."""
    cell = planned("round_trip", message_bytes=18, **settings)
    return cell, means(*(mean * exp(log) for mean, log in zip(BASE, logs, strict=True)))


SPINNING = beside((0.42785, 0.5, 0.57215), server_receive="spinning")
"""Three differences whose t is 12: with 2 degrees of freedom, p is 1 - 12 / √146 = 0.0069."""
EQUAL = beside((-0.01, 0, 0.01), server_receive="blocking", client_receive="spinning")


@pytest.mark.parametrize(
    ("cells", "imported", "kinds"),
    [
        ([BLOCKING, SPINNING], False, [Kind.COMPARISON_DIFFERS]),
        (
            [BLOCKING, SPINNING],
            True,
            [Kind.COMPARISON_INCONCLUSIVE],
        ),  # no blocks: the scatter hides it
        ([BLOCKING, SPINNING, EQUAL], False, [Kind.COMPARISON_INCONCLUSIVE] * 2),  # twice 0.0069
    ],
)
def test_settings_differ_if_all_comparisons_of_blocks_together_show_it_at_one_in_a_hundred(
    cells: list[tuple[PlannedCell, Trials]], imported: bool, kinds: list[Kind]
) -> None:
    assert [each.kind for each in variants(series(*cells), imported=imported)] == kinds
