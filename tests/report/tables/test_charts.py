"""The report's charts have lines with gaps, error bars and looks that stay the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from made_reports import failure, make, planned, read_page, result, several_cells

from netlab.findings.analysis import Analysis
from netlab.report.draw.plot import drawn_each
from netlab.report.draw.style import PAGE_WIDE
from netlab.report.tables.charts import MAX_CHARTS, charts
from netlab.report.tables.elements import Chart, Curve
from netlab.results.layout import lay_out
from netlab.store.plan import PlannedCell

__all__ = ["make"]


def test_no_chart_line_connects_automatic_buffers_to_buffer_sizes(
    make: Callable[..., Analysis],
) -> None:
    sized = [planned(socket_buffer_bytes=size) for size in (1024, 2048)]
    settings = {n: v for n, v in sized[0].settings.items() if n != "socket_buffer_bytes"}
    run = make([*sized, PlannedCell("auto", "LL", "stream", settings)])
    (chart,) = charts(lay_out(run.trials), run.plan.link)[0]
    assert [label for _, label in chart.x_ticks] == ["1 KiB", "2 KiB", "auto"]
    assert [y for _, y in chart.lines[0].points] == [48.0, 48.0, None, 48.0]


def test_a_stream_in_both_directions_has_a_chart_line_per_direction_and_no_sum(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(direction="both", socket_buffer_bytes=size) for size in (1024, 2048)]
    values = {"to_server_throughput_bit_per_s": 40e6, "to_client_throughput_bit_per_s": 30e6}
    run = make(cells, [result(cell, values=values) for cell in cells])
    (chart,) = charts(lay_out(run.trials), run.plan.link)[0]
    assert [line.label for line in chart.lines] == ["to client", "to server"]
    assert chart.title.endswith("(LL)")
    assert "the directions are not added" in read_page(run).text


def test_a_failed_cell_is_a_gap_in_the_chart_line(make: Callable[..., Analysis]) -> None:
    cells = [planned(socket_buffer_bytes=1024 * step) for step in (1, 2, 3)]
    run = make(cells, [result(cells[0]), failure(cells[1]), result(cells[2])])
    (chart,) = charts(lay_out(run.trials), run.plan.link)[0]
    assert chart.lines[0].points == ((1024.0, 48.0), (2048.0, None), (3072.0, 48.0))
    full_chart = Chart(**{**_fields(chart), "lines": (_filled(chart.lines[0]),)})
    assert _moves(_svg(chart)) > _moves(_svg(full_chart))


def test_error_bars_show_the_95_percent_interval_from_three_trials_upwards(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(socket_buffer_bytes=1024 * step) for step in (1, 2, 3)]

    def measured(trials: int) -> Analysis:
        rates = (47e6, 48e6, 49e6)[:trials]
        records = [
            result(cell, n, values={"throughput_bit_per_s": rate})
            for cell in cells
            for n, rate in enumerate(rates, start=1)
        ]
        return make(cells, records, repeats=trials)

    run = measured(3)
    (chart,) = charts(lay_out(run.trials), run.plan.link)[0]
    # Student's t of two degrees of freedom, 4.303, times the standard deviation, over root three.
    assert chart.lines[0].half_widths == pytest.approx((4.30265 / 3**0.5,) * 3, rel=1e-4)
    bare = Chart(**{**_fields(chart), "lines": (Curve("LL", 0, chart.lines[0].points),)})
    assert len(_svg(chart)) > len(_svg(bare))
    assert "Error bars show the 95 % interval" in read_page(run).text
    few = measured(2)
    (chart,) = charts(lay_out(few.trials), few.plan.link)[0]
    assert not chart.has_bars
    assert "Error bars" not in read_page(few).text


def test_a_pairing_has_the_same_look_in_every_chart(
    make: Callable[..., Analysis],
) -> None:
    cells = several_cells()
    records = [
        failure(cell)
        if cell.pairing == "LL" and cell.settings["protocol"] == "UDP"
        else result(cell)
        for cell in cells
    ]
    run = make(cells, records)
    diagrams, _ = charts(lay_out(run.trials), run.plan.link)
    places = {(line.label, line.place) for chart in diagrams for line in chart.lines}
    assert places == {("LL", 0), ("WL", 1)}
    svg = _svg(diagrams[0]).decode()
    assert len(set(re.findall(r"stroke-dasharray: [0-9., ]+; [^\"]*stroke-width: 1.4", svg))) == 1


def test_many_settings_give_a_limited_number_of_charts_and_a_count_of_the_others(
    make: Callable[..., Analysis],
) -> None:
    cells = [
        planned(source_port=port, socket_buffer_bytes=buffer)
        for port in range(1, MAX_CHARTS + 4)
        for buffer in (1024, 2048)
    ]
    run = make(cells)
    diagrams, left_out = charts(lay_out(run.trials), None)
    assert (len(diagrams), left_out) == (MAX_CHARTS, 3)
    assert len({chart.name for chart in diagrams}) == MAX_CHARTS


def test_charts_of_similar_conditions_have_different_file_names(
    make: Callable[..., Analysis],
) -> None:
    cells = [
        planned(interface=name, socket_buffer_bytes=buffer)
        for name in ("a-b", "a_b")
        for buffer in (1024, 2048)
    ]
    diagrams, _ = charts(lay_out(make(cells).trials), None)
    assert [chart.name[-2:] for chart in diagrams] == ["-b", "-2"]


def _svg(chart: Chart) -> bytes:
    (picture,) = drawn_each([(chart, PAGE_WIDE)])
    return picture.svg


def _fields(chart: Chart) -> dict[str, Any]:
    return {name: getattr(chart, name) for name in Chart.__slots__}


def _filled(line: Curve) -> Curve:
    return Curve(line.label, line.place, tuple((x, 48.0) for x, _ in line.points))


def _moves(svg: bytes) -> int:
    """How often the measured lines are interrupted."""
    lines = re.findall(
        r'<path d="([^"]+)" clip-path="[^"]*" style="[^"]*stroke-width: 1.4', _open(svg)
    )
    lines += re.findall(r'<path d="([^"]+)" style="[^"]*stroke-width: 1.4', _open(svg))
    return sum(path.count("M") for path in lines)


def _open(svg: bytes) -> str:
    return svg.decode("utf-8").replace("\n", " ")
