"""Lines of a chart are divided into panels and shown as shares of the wire ceiling."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from netlab.report.language import wording_in
from netlab.report.tables.charts import LEAST_PERCENT, in_panels, share_range, with_shares
from netlab.report.tables.elements import Chart, Curve

CEILING = Curve("wire ceiling", 0, ((1.0, 50.0), (2.0, 100.0)))


def chart_of(*lines: Curve, ceilings: tuple[Curve, ...] = (CEILING,)) -> Chart:
    return Chart(
        name="made",
        title="UDP",
        x_label="message size, bytes",
        x_ticks=((1.0, "1"), (2.0, "2")),
        log_x=False,
        lines=lines,
        ceilings=ceilings,
    )


def line(*figures: float | None, words: tuple[str, ...] = ("LL",), place: int = 0) -> Curve:
    points = tuple((float(x), y) for x, y in enumerate(figures, start=1))
    return Curve(" ".join(words), place, points, words=words)


def lines_of(*levels: tuple[str, ...]) -> list[Curve]:
    return [line(1.0, 2.0, words=words, place=n) for n, words in enumerate(product(*levels))]


def test_a_line_label_names_what_varies_and_the_title_what_does_not() -> None:
    chart = in_panels(chart_of(*lines_of(("LL",), ("18 bytes",), ("blocking", "spinning"))))
    assert [curve.label for curve in chart.lines] == ["blocking", "spinning"]
    assert chart.title == "UDP (LL, 18 bytes)"
    assert chart.panels == ()


def test_a_chart_with_equal_missing_or_unmatched_line_labels_is_left_unchanged() -> None:
    same = chart_of(line(1.0, words=("LL",)), line(2.0, words=("LL",)))
    without = chart_of(Curve("one", 0, ((1.0, 1.0),)), Curve("other", 1, ((1.0, 1.0),)))
    unequal = chart_of(line(1.0, words=("LL",)), line(1.0, words=("WL", "spinning")))
    for chart in (same, without, unequal, chart_of(line(1.0))):
        assert in_panels(chart) == chart


def test_more_than_four_lines_are_split_into_panels_by_the_setting_with_most_levels() -> None:
    sizes = ("18 bytes", "576 bytes", "1472 bytes")
    chart = in_panels(chart_of(*lines_of(("blocking", "spinning"), sizes)))
    assert [panel.title for panel in chart.panels] == list(sizes)
    for panel in chart.panels:
        assert [curve.label for curve in panel.lines] == ["blocking", "spinning"]
        assert [curve.place for curve in panel.lines] == [0, 1]
    assert len(chart.lines) == 6
    assert in_panels(chart_of(*lines_of(("LL", "WL"), ("18 bytes", "64 bytes")))).panels == ()


def test_panels_together_contain_every_line_once() -> None:
    every = lines_of(("LL", "WL", "LW"), ("18", "64"), ("blocking", "spinning"), ("yes", "no"))
    curves = [replace(curve, points=((float(n), 1.0),)) for n, curve in enumerate(every)]
    chart = in_panels(chart_of(*curves))
    points = [curve.points for panel in chart.panels for curve in panel.lines]
    assert sorted(points) == sorted(curve.points for curve in curves)
    assert max(len(panel.lines) for panel in chart.panels) <= 4
    # With two dimensions the first one varies from left to right.
    assert [panel.title for panel in chart.panels[:3]] == ["LL, 18", "WL, 18", "LW, 18"]


def test_lines_that_differ_in_one_setting_stay_in_one_diagram() -> None:
    chart = in_panels(chart_of(*lines_of(tuple(f"host {n}" for n in range(7)))))
    assert chart.panels == ()
    assert len(chart.lines) == 7


def test_lines_near_the_ceiling_are_also_shown_as_shares_of_the_ceiling() -> None:
    chart = with_shares(chart_of(line(48.0, 99.0), line(49.0, 97.0, words=("WL",))))
    assert [curve.points for curve in chart.shares] == [
        ((1.0, 96.0), (2.0, 99.0)),
        ((1.0, 98.0), (2.0, 97.0)),
    ]
    assert [curve.points for curve in chart.share_ceilings] == [((1.0, 100.0), (2.0, 100.0))]
    assert share_range(chart) == (90.0, 101.0)
    assert chart.share_note == ""
    assert "shares of the wire ceiling" in chart.alt


def test_confidence_intervals_are_converted_to_shares_of_the_ceiling_and_fit_on_the_axis() -> None:
    wide = replace(line(48.0, 93.0), half_widths=(1.0, 9.0))
    chart = with_shares(chart_of(wide))
    assert chart.shares[0].half_widths == (2.0, 9.0)
    low, high = share_range(chart)
    assert 80 < low <= 84
    assert 102 <= high < 105


def test_lines_mostly_far_below_the_ceiling_are_not_shown_as_shares() -> None:
    for chart in (
        chart_of(line(10.0, 20.0), line(49.0, 99.0)),
        chart_of(line(49.0, 99.0), ceilings=()),
        replace(chart_of(line(49.0, 99.0)), as_bars=True),
    ):
        assert with_shares(chart) == chart


def test_a_point_far_below_the_ceiling_is_a_gap_and_the_note_names_its_line() -> None:
    lines = (line(49.0, 99.0), line(5.0, 99.0, words=("WL",)), line(48.0, 97.0, words=("LW",)))
    chart = with_shares(chart_of(*lines))
    assert chart.shares[1].points == ((1.0, None), (2.0, 99.0))
    assert chart.share_note == "below 80 %, not shown: WL (1 of 2 points)"
    silent = with_shares(chart_of(*lines, line(1.0, 2.0, words=("WW",))))
    assert [curve.label for curve in silent.shares] == ["LL", "WL", "LW"]
    assert silent.share_note.endswith("; WW")
    inside = with_shares(chart_of(*lines, line(9e3, 9e3, words=("LL (same host)",))))
    assert inside.share_note.startswith("outside 80 % to 110 %, not shown: ")
    for drawing in (chart, silent, inside):
        low, high = share_range(drawing)
        percents = [y for curve in drawing.shares for _x, y in curve.points if y is not None]
        assert low >= LEAST_PERCENT - 1
        assert all(low <= share <= high for share in percents)


def test_each_panel_shows_only_its_own_lines_as_shares_of_the_ceiling() -> None:
    every = lines_of(("LL", "WL", "LW"), ("to client", "to server"))
    close = [replace(curve, points=((1.0, 45.0 + curve.place), (2.0, None))) for curve in every]
    chart = with_shares(in_panels(chart_of(*close)))
    assert [panel.title for panel in chart.panels] == ["LL", "WL", "LW"]
    shares = [[share.points[0][1] for share in panel.shares] for panel in chart.panels]
    assert shares == [[90.0, 92.0], [94.0, 96.0], [98.0, 100.0]]
    assert chart.shares[0].points[1] == (2.0, None)


def test_texts_of_panels_and_shares_are_translated() -> None:
    lines = (line(49.0, 99.0), line(5.0, 99.0, words=("WL",)))
    chart = wording_in("de").of(with_shares(chart_of(*lines)))
    assert isinstance(chart, Chart)
    assert chart.share_label == "% der Obergrenze der Leitung"
    assert chart.share_note == "unter 80 %, nicht gezeigt: WL (1 von 2 Punkten)"
    assert "Darunter dieselben Linien" in chart.alt


@pytest.mark.parametrize("number", [1, 4, 5, 12, 30])
def test_no_number_of_levels_gives_more_than_twelve_panels(number: int) -> None:
    levels = tuple(f"{n} bytes" for n in range(number))
    chart = in_panels(chart_of(*lines_of(levels, ("blocking", "spinning", "polling"))))
    assert len(chart.panels) <= 12
    assert len(chart.lines) == 3 * number
