"""The first screen, the terminal and an opened cell show latency under load."""

from __future__ import annotations

import pytest
from made_parts import Make
from made_readings import failure, plan_of, result
from made_under_load import (
    losing,
    trips,
    under_load_cell,
    under_load_records,
    under_load_values,
)

from netlab.findings.analysis import Analysis
from netlab.report import Report
from netlab.report.answer import answer_of
from netlab.report.first_picture import pictures
from netlab.report.language import Wording
from netlab.report.page.small_charts import small_charts
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record

COMPARED = """\
title: made up
link: {rate: 100Mbit, mtu: 1500}
pairings: [LL]
compare:
  - name: BBR in place of Cubic
    baseline: {congestion: cubic}
    contender: {congestion: bbr}
tests:
  - {test: latency_under_load, load: {congestion: [cubic, bbr]}}
"""


def sentences_of(
    make: Make, cells: list[PlannedCell], records: list[Record], trials: int = 1
) -> list[str]:
    run = make(plan_of(cells, trials), records)
    return [line.sentence for line in answer_of(run).verdicts]


def test_the_answer_states_how_far_round_trips_rise_and_under_which_load(make: Make) -> None:
    cell = under_load_cell(protocol="UDP", rate_bit_per_s=1e8)
    assert sentences_of(make, [cell], under_load_records(cell, [123.0]))[0] == (
        "Under load round trips rise from 0.10 ms to 123 ms (90.00 Mbit/s)"
    )


def test_the_answer_of_three_loaded_trials_has_an_interval(make: Make) -> None:
    cell = under_load_cell()
    line, *_ = sentences_of(make, [cell], under_load_records(cell, [9.0, 10.0, 11.0]), 3)
    assert line == (
        "Under load round trips rise from 0.10 ms to 10.0 ms (90.00 Mbit/s), by 9.9 ± 2.5 ms "
        "(3 trials)"
    )


def test_the_answer_states_if_round_trips_do_not_rise(make: Make) -> None:
    cell = under_load_cell()
    records = [result(cell, 1, under_load_values(trips(loaded_ms=0.105)))]
    line, *_ = sentences_of(make, [cell], records)
    assert line.startswith("Under load round trips take no longer: 0.11 ms, before the load")


def test_the_answer_states_if_half_of_the_requests_are_lost(make: Make) -> None:
    cell = under_load_cell()
    records = [result(cell, 1, under_load_values(trips(loaded_ms=None)))]
    *_, line = sentences_of(make, [cell], records)
    assert line.startswith("Under load at least half of the requests are lost (90.00 Mbit/s)")


def test_the_answer_of_many_loads_names_the_smallest_and_the_largest_increase(make: Make) -> None:
    cells = [under_load_cell(streams=number) for number in (1, 2, 3, 4, 5, 6)]
    records = [
        record
        for number, cell in enumerate(cells[:4], start=1)
        for record in under_load_records(cell, [100.0 * number])
    ]
    records += [result(c, 1, under_load_values(trips(loaded_ms=None))) for c in cells[4:]]
    increase, _load, lost = answer_of(make(plan_of(cells, 1), records)).verdicts
    assert increase.sentence == (
        "Increase of the round trip under load: 99.9 ms (streams 1) to 400 ms (streams 4)"
    )
    assert {*increase.cells[:2]} == {cells[0].key, cells[3].key}
    assert lost.sentence == "Under load at least half of the requests are lost, in 2 cells"


def test_a_load_without_a_result_says_so(make: Make) -> None:
    cell = under_load_cell()
    sentences = sentences_of(make, [cell], [failure(cell)])
    assert sentences == ["Latency under load: no cell has a result (no-answer)"]


def two_controls(make: Make) -> Analysis:
    cells = [under_load_cell(congestion=control) for control in ("cubic", "bbr")]
    times = {"cubic": [100.0, 101.0, 102.0], "bbr": [10.0, 10.2, 10.1]}
    records = [
        record
        for cell in cells
        for record in under_load_records(cell, times[str(cell.settings["congestion"])])
    ]
    return make(plan_of(cells, 3, matrix_text=COMPARED), records)


def test_a_comparison_of_congestion_controls_has_the_increase_with_its_interval(
    make: Make,
) -> None:
    report = Report(two_controls(make), Wording())
    (line,) = report.compared
    assert "increase of the round trip under load 90 % smaller (−90" in line.sentence
    (sheet,) = next(part for part in report.parts if part.name == "comparisons").sheets
    increase = sheet.lines[0]
    assert increase.places[2].value == pytest.approx(0.1, rel=0.01)
    assert "0.09" in increase.places[3].text
    assert sheet.lines[1].label.endswith("throughput")


def test_the_pictures_show_the_rows_of_the_answer_and_the_comparisons(make: Make) -> None:
    report = Report(two_controls(make), Wording())
    rows, comparisons = pictures(report.answer, report.judged)
    assert rows.title == "Increase of the round trip under load; with 95 % intervals"
    for scene in rows.scenes:
        words = [mark.words for mark in scene.marks if mark.tag == "text"]
        assert {"cubic", "bbr", "ms"} <= {*words}
        points = [mark for mark in scene.marks if mark.tag == "circle"]
        assert [mark.cell for mark in points] == [r.cell for r in report.answer.tables[0].rows]
    assert comparisons.title == "Comparisons: ratio, 95 % interval"


def test_the_terminal_answer_of_latency_under_load_states_the_rise_of_round_trips(
    make: Make,
) -> None:
    cell = under_load_cell()
    run = make(plan_of([cell], 1), under_load_records(cell, [100.0]))
    _title, rise, *_ = Report(run, Wording()).overview_text(80).splitlines()
    assert rise == "Under load round trips rise from 0.10 ms to 100 ms (90.00 Mbit/s)"


def test_an_opened_cell_of_latency_under_load_shows_round_trips_per_trial_and_the_phases(
    make: Make,
) -> None:
    cell = under_load_cell()
    records = [
        *under_load_records(cell, [100.0]),
        result(cell, 2, under_load_values(losing(trips(), 100))),
    ]
    run = make(plan_of([cell], 2), records)
    trials = run.trials
    trip_chart, throughput, *_others = small_charts(trials, {})
    assert (trip_chart.title, trip_chart.y_label) == (
        "Round trips before, during and after the load",
        "ms",
    )
    assert [line.label for line in trip_chart.lines] == ["trial 1", "trial 2", "lost"]
    assert [(mark.words, mark.from_s, mark.until_s) for mark in trip_chart.marks] == [
        ("idle", -1, 0),
        ("loaded", 1, 4),
        ("after", 4.1, 5.1),
    ]
    assert throughput.title == "Throughput within the window"


def test_an_opened_cell_without_single_round_trips_shows_only_the_load(make: Make) -> None:
    cell = under_load_cell()
    values = under_load_values(trips())
    del values["trip_ns"]
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    trials = run.trials
    assert [chart.title for chart in small_charts(trials, {})] == ["Throughput within the window"]
