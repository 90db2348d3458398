"""A terminal shows latency under load as two lines of blocks above the phases."""

from __future__ import annotations

from made_readings import result
from made_under_load import losing, trips, under_load_cell, under_load_values

from netlab.kinds.latency_under_load.phases import Trip, timeline_of
from netlab.report.sections.latency_under_load import BLOCKS, LABEL, LOST, load_figure

WIDTH = 62
"""One column is a tenth of a second: 6.2 s of requests."""


def lines_of(requests: list[Trip]) -> list[str]:
    cell = under_load_cell(request_rate_per_s=100.0)
    timeline = timeline_of(result(cell, 1, under_load_values(requests)))
    assert timeline is not None
    return list(load_figure(timeline, WIDTH))


def test_the_terminal_figure_shows_low_then_high_then_low_round_trips_above_the_load() -> None:
    round_trips, load, phases = lines_of(trips(idle_ms=1.0, loaded_ms=100.0, after_ms=1.0))
    bars = round_trips[LABEL : LABEL + WIDTH]
    assert bars[:9] == BLOCKS[0] * 9
    assert set(bars[12:48]) == {BLOCKS[-1]}
    assert bars[54:] == BLOCKS[0] * (WIDTH - 54)
    assert round_trips.endswith("up to 100 ms")
    rates = load[LABEL : LABEL + WIDTH]
    assert rates[:9].strip() == ""
    assert set(rates[12:48]) == {BLOCKS[-1]}
    assert rates[53:].strip() == ""
    assert phases.index("idle") == LABEL
    assert phases.index("loaded") == LABEL + 20
    assert phases.index("after") > LABEL + 50


def test_the_terminal_figure_marks_a_column_only_if_all_its_requests_are_lost() -> None:
    requests = trips()
    losses = [
        Trip(trip.at_ns, None) if 100 <= at < 120 else trip for at, trip in enumerate(requests)
    ]
    bars = lines_of(losses)[0][LABEL : LABEL + WIDTH]
    assert [at for at, mark in enumerate(bars) if mark == LOST] == [10, 11]
    assert LOST not in lines_of(losing(requests, 5))[0]
