"""A chart has three files in two widths, and none of its texts is cut off or covered."""

from __future__ import annotations

import itertools
import math
import re
import struct
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest
from folders import REPORTS
from made_reports import RECORDED, drawn_here
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from netlab.findings.analysis import load
from netlab.report import in_tables
from netlab.report.draw.parallel import draw
from netlab.report.draw.plot import Picture, figure_of, style
from netlab.report.draw.style import COLUMN_WIDE, MARKERS, PAGE_WIDE, Format
from netlab.report.language import wording_in
from netlab.report.sections import parts_of
from netlab.report.tables.charts import charts, in_panels, with_shares
from netlab.report.tables.elements import Band, Chart, Curve, HeatMap, Panel, Strip
from netlab.results.layout import lay_out

CM = 72 / 2.54
FORMS = (("", 17.0), ("column/", 8.5))

CHART = Chart(
    name="buffers",
    title="UDP, messages of 64 bytes (streams 4, congestion control cubic, interface test-0)",
    x_label="socket buffer",
    x_ticks=tuple((float(n), f"{n} KiB") for n in range(16, 68, 4)),
    log_x=False,
    lines=tuple(
        Curve(f"{pairing} (same host)", place, ((16.0, 48.5), (32.0, None), (64.0, 41.6)))
        for place, pairing in enumerate(("LL", "WL", "LW", "WW"))
    ),
    ceilings=(Curve("wire ceiling", 0, ((16.0, 49.23), (64.0, 49.23))),),
)
STRIP = Strip(
    name="over-time",
    title="Each trial at the time when it began",
    x_label="minutes since the first trial began",
    panels=tuple(
        Panel(
            f"LL UDP {size} mean round trip of a long name", "% off the cell’s median", CHART.lines
        )
        for size in (64, 1472)
    ),
)
HOSTS = ("colinux-winpcap-bridge", "linux", "colinux-tap-router", "windows2000")
MAP = HeatMap(
    name="map",
    title="TCP, offered 100 Mbit/s: throughput, Mbit/s",
    unit="Mbit/s",
    rows=HOSTS,
    columns=HOSTS,
    values=tuple(tuple(10.0 * (x + y + 1) for x in range(4)) for y in range(4)),
    inside=((99.9, None, None, None),) + ((None,) * 4,) * 3,
)


@pytest.fixture(scope="module")
def pictures() -> tuple[Picture, ...]:
    """A chart of each kind in both widths."""
    with drawn_here():
        return draw([CHART, replace(STRIP, panels=STRIP.panels[:1]), MAP])


def test_each_chart_is_written_as_pdf_svg_and_png_in_page_and_column_width(
    pictures: tuple[Picture, ...],
) -> None:
    for picture, (form, wide_cm) in product(pictures, FORMS):
        files = picture.files()
        assert len(files) == 6
        name = f"{form}{picture.chart.name}"
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", files[f"{name}.pdf"])
        assert box is not None
        assert float(box.group(1)) == pytest.approx(wide_cm * CM, abs=0.01)
        assert f'width="{float(box.group(1)):.6f}pt"'.encode() in files[f"{name}.svg"]
        width, _ = struct.unpack(">II", files[f"{name}.png"][16:24])
        assert width == pytest.approx(wide_cm / 2.54 * 170, abs=1)


def test_a_chart_in_pdf_embeds_its_font_and_names_neither_date_nor_producer(
    pictures: tuple[Picture, ...],
) -> None:
    for picture in pictures:
        assert re.search(rb"/FontName /[A-Z+]*DejaVuSans", picture.pdf)
        for word in (b"CreationDate", b"Producer", b"Creator", b"matplotlib"):
            assert word not in picture.pdf


LONG = "a-host-of-the-second-laboratory.with.a.very.long.domain.example"
WIDE = "W" * 70
MANY = tuple(
    Curve(f"{pairing} {LONG}", place, tuple((float(x), 1e9 - x * place) for x in (16, 32, 64)))
    for place, pairing in enumerate(("LL", "WL", WIDE))
)
CURVES = Curve("wire ceiling", 0, ((16.0, 50.0), (64.0, 50.0)))
NEAR = replace(
    CHART,
    lines=tuple(
        Curve(name, at, ((16.0, 48.5), (32.0, None), (64.0, 49.0)))
        for at, name in enumerate(("LL", LONG))
    ),
    ceilings=(CURVES,),
    title=f"TCP {LONG}",
)
PANELS = replace(
    CHART,
    title=LONG,
    lines=tuple(
        Curve("", place, ((16.0, 48.5), (64.0, 49.9)), words=words)
        for place, words in enumerate(product((LONG, "LL", "WL"), ("blocking", WIDE, "a b " * 30)))
    ),
    ceilings=(CURVES,),
)
TRIPS = (
    Curve("round trip", 0, tuple((x / 10, 0.1 + x % 7) for x in range(300))),
    Curve("lost", 1, ((4.0, 6.1), (9.0, 6.1)), joined=False),
)
BANDS = Strip(
    name="latency-over-time-1",
    title="TCP both ways, round trips over UDP, congestion control cubic: load over time",
    x_label="seconds since the first request",
    panels=(
        Panel("round trip", "ms", TRIPS),
        Panel("throughput of the load", "Mbit/s", (Curve("to server", 2, ((1.5, 9.0), (25, 9))),)),
    ),
    bands=(Band(0, 0.2, "before the load"), Band(0.3, 25, "loaded"), Band(25.1, 25.2, "after")),
    from_zero=True,
)
MADE: tuple[Chart | Strip | HeatMap, ...] = (
    BANDS,
    CHART,
    STRIP,
    MAP,
    replace(CHART, lines=MANY, ceilings=(), title=WIDE, x_label=f"{LONG} {LONG}"),
    replace(CHART, lines=MANY, as_bars=True, quantity=LONG, unit=WIDE, log_x=False),
    replace(CHART, x_ticks=((16.0, LONG), (64.0, "line\nend"))),
    with_shares(NEAR),
    with_shares(in_panels(PANELS)),
    in_panels(replace(PANELS, as_bars=True, ceilings=())),
    replace(
        STRIP, title=f"{LONG} {LONG}", panels=(Panel(LONG, WIDE, CHART.lines), STRIP.panels[0])
    ),
    replace(MAP, rows=(LONG, WIDE, "a", "b"), columns=(LONG, WIDE, "a", "b"), title=WIDE),
)
OF_EACH_LOOK = (
    ("connection-kinds-lab", "every-host-with-every-other-1", PAGE_WIDE),
    ("connection-kinds-lab", "every-host-with-every-other-2", COLUMN_WIDE),
    ("engines-lab", "message-size-udp-direction-client-sends-engine-netprobe", PAGE_WIDE),
    ("engines-lab", "cpu-tcp-4", COLUMN_WIDE),
    ("lab-report-lab", "socket-buffer-udp-1500", COLUMN_WIDE),
    ("lab-report-lab", "cpu-udp-1", PAGE_WIDE),
    ("latency-under-load-lab", "latency-over-time-4", PAGE_WIDE),
    ("latency-under-load-lab", "latency-by-phase-1", COLUMN_WIDE),
    ("payload-lab", "payload-udp-ipv4", PAGE_WIDE),
    ("rfc2544-lab", "rate-without-loss-cpu", COLUMN_WIDE),
    ("rfc2544-lab", "rates-tried-1", PAGE_WIDE),
    ("udp-mirror-lab-unshaped", "round-trip-udp-1", PAGE_WIDE),
    ("udp-mirror-lab-unshaped", "over-time-1", COLUMN_WIDE),
)
"""Charts of recorded runs that differ in their look, each in one width."""


@cache
def charts_of(name: str, language: str) -> list[Chart | Strip | HeatMap]:
    """All charts of a recorded run."""
    run = load(REPORTS / name)
    rows = run.trials
    table_charts, _ = charts(lay_out(in_tables(rows)), run.plan.link)
    of_parts = [chart for part in parts_of(run, rows) for chart in part.charts]
    return [wording_in(language).of(chart) for chart in (*table_charts, *of_parts)]


def words_in(figure: Figure) -> list[tuple[str, Text]]:
    """Each text that is seen, with its kind."""
    texts: list[tuple[str, Text]] = [("text", text) for text in figure.texts]
    texts += [("legend", text) for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        texts += [("title", text) for text in (axes.title, axes._left_title)]  # type: ignore[attr-defined]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    texts += [("tick", tick.label1)]
            texts += [("label", axis.label)]
    return [(kind, text) for kind, text in texts if text.get_visible() and text.get_text().strip()]


def words_of(value: str | Format) -> str:
    """How a row of a test is called."""
    return value if isinstance(value, str) else "page" if value is PAGE_WIDE else "column"


def drawn_figure(chart: Chart | Strip | HeatMap, form: Format) -> Figure:
    with style(form):
        figure = figure_of(chart, form)
        figure.canvas.draw()
    return figure


def assert_all_is_seen(chart: Chart | Strip | HeatMap, form: Format, figure: Figure) -> None:
    with style(form):
        room, boxes = figure.bbox, []
        for kind, text in words_in(figure):
            box = text.get_window_extent()
            context = (chart.name, kind, text.get_text(), box)
            assert box.x0 >= -1 and box.y0 >= -1, context
            assert box.x1 <= room.x1 + 1 and box.y1 <= room.y1 + 1, context
            if kind != "tick" or not text.get_rotation():
                boxes.append((kind, text.get_text(), box))
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert box.x0 >= -1 and box.x1 <= room.x1 + 1, (chart.name, "legend", box)
    for label1, label2 in combinations(boxes, 2):
        across = min(label1[2].x1, label2[2].x1) - max(label1[2].x0, label2[2].x0)
        up = min(label1[2].y1, label2[2].y1) - max(label1[2].y0, label2[2].y0)
        assert across <= 1 or up <= 1, (chart.name, label1, label2)


FORM = pytest.mark.parametrize("form", [PAGE_WIDE, COLUMN_WIDE], ids=["page", "column"])


@pytest.mark.parametrize(("name", "chart_name", "form"), OF_EACH_LOOK, ids=words_of)
def test_no_text_of_a_recorded_chart_is_cut_off_or_overlaps_another_text(
    name: str, chart_name: str, form: Format
) -> None:
    # In German: its words are the longer ones.
    (chart,) = [chart for chart in charts_of(name, "de") if chart.name == chart_name]
    assert_all_is_seen(chart, form, drawn_figure(chart, form))


@pytest.mark.night
@FORM
@pytest.mark.parametrize("name", [path.name for path in RECORDED])
def test_no_text_of_any_chart_of_a_recorded_run_is_cut_off_or_overlaps_another_text(
    name: str, form: Format
) -> None:
    for chart in charts_of(name, "de"):
        assert_all_is_seen(chart, form, drawn_figure(chart, form))


@pytest.fixture(
    scope="module",
    params=[*product(range(len(MADE)), (PAGE_WIDE, COLUMN_WIDE))],
    ids=lambda made: f"{made[0]}-{'page' if made[1] is PAGE_WIDE else 'column'}",
)
def made(request: pytest.FixtureRequest) -> tuple[Chart | Strip | HeatMap, Format, Figure]:
    """A made-up chart, its width, and its figure."""
    at, form = request.param
    return MADE[at], form, drawn_figure(MADE[at], form)


def test_no_text_of_a_chart_with_long_names_is_cut_off_or_overlaps_another_text(
    made: tuple[Chart | Strip | HeatMap, Format, Figure],
) -> None:
    assert_all_is_seen(*made)


def test_charts_show_every_name_in_full_however_long(
    made: tuple[Chart | Strip | HeatMap, Format, Figure],
) -> None:
    chart, _form, figure = made
    lettering = "".join(letters(text.get_text()) for _kind, text in words_in(figure))
    match chart:
        case Strip():
            names = [chart.title, *(panel.title for panel in chart.panels)]
        case HeatMap():
            names = [chart.title, *chart.rows, *chart.columns]
        case _:
            panels = chart.panels or (Panel("", chart.unit, chart.lines),)
            names = [chart.title, chart.x_label, chart.quantity, chart.unit]
            names += [panel.title for panel in panels]
            names += [line.label for panel in panels for line in panel.lines]
    assert [name for name in names if letters(name) not in lettering] == []


def letters(words: str) -> str:
    """Words without what a line's end may take the place of."""
    return re.sub(r"\s", "", words)


def test_chart_lines_are_straight_between_measured_points_and_each_point_has_a_marker() -> None:
    run_charts = charts_of("lab-report", "en")
    assert len(run_charts) == 10
    for form, drawn_charts in ((PAGE_WIDE, run_charts[1::4]), (COLUMN_WIDE, run_charts[::4])):
        for chart in drawn_charts:
            with style(form):
                figure = figure_of(chart, form)
            for line in curves_of(chart):
                (path,) = [
                    curve for curve in figure.axes[0].lines if points_of(curve) == line.points
                ]
                assert path.get_drawstyle() == "default"
                # Few points: each has its marker.
                assert path.get_marker() in MARKERS
                assert path.get_markevery() is None


def points_of(line: Line2D) -> tuple[tuple[float, float | None], ...]:
    pairs: Any = line.get_xydata()
    return tuple((x, None if math.isnan(y) else y) for x, y in pairs.tolist())


def curves_of(chart: Chart | Strip | HeatMap) -> tuple[Curve, ...]:
    assert isinstance(chart, Chart)
    return chart.lines


def test_shares_of_the_ceiling_are_drawn_below_the_chart_on_the_same_x_axis() -> None:
    with style(PAGE_WIDE):
        figure = figure_of(with_shares(NEAR), PAGE_WIDE)
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_position().x0 == below.get_position().x0
    assert above.get_position().y0 > below.get_position().y1
    assert below.get_ylim()[0] <= 90 and below.get_ylim()[1] >= 101
    point_lists = [points_of(line) for line in below.lines]
    assert point_lists.count(((16.0, 97.0), (32.0, None), (64.0, 98.0))) == 2


@FORM
def test_all_panels_of_a_chart_share_their_axes_and_one_legend(form: Format) -> None:
    chart = in_panels(PANELS)
    with style(form):
        figure = figure_of(chart, form)
    assert len(figure.axes) == len(chart.panels) == 3
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3 + 1


def test_each_figure_on_a_heat_map_contrasts_with_its_background() -> None:
    with style(PAGE_WIDE):
        figure = figure_of(MAP, PAGE_WIDE)
        figure.canvas.draw()
        mesh: Any = figure.axes[0].collections[0]
        grounds = [tuple(colour[:3]) for colour in mesh.get_facecolors()]
    for text in figure.axes[0].texts:
        x, y = (int(coordinate) for coordinate in text.get_position())
        if MAP.inside[y][x] is None:
            ink, ground = (luminance(rgb) for rgb in (to_rgb(text.get_color()), grounds[4 * y + x]))
            low, high = sorted((ink, ground))
            assert (high + 0.05) / (low + 0.05) >= 3, (text.get_text(), ink, ground)


def luminance(colour: Any) -> float:
    parts: list[float] = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_chart_axes_of_a_german_report_have_decimal_commas() -> None:
    small = Chart(
        name="small",
        title="small",
        x_label="x",
        x_ticks=((1.0, "1"), (2.0, "2")),
        log_x=False,
        lines=(Curve("LL", 0, ((1.0, 0.2), (2.0, 0.21))),),
    )
    for chart, marker in ((small, "."), (wording_in("de").of(small), ",")):
        with style(PAGE_WIDE):
            figure = figure_of(chart, PAGE_WIDE)
            figure.canvas.draw()
        figures = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert any(f"0{marker}" in text for text in figures)
        assert all(text.count(marker) <= 1 and ",." not in text for text in figures)


@FORM
def test_phase_bands_are_shaded_in_every_panel_and_their_labels_do_not_touch(form: Format) -> None:
    with style(form):
        figure = figure_of(BANDS, form)
        figure.canvas.draw()
    above, below = figure.axes
    assert len(above.patches) == len(below.patches) == len(BANDS.bands)
    assert (above.get_xlim(), above.get_ylim()[0]) == (below.get_xlim(), 0)
    boxes = [text.get_window_extent() for text in above.texts]
    assert [text.get_text() for text in above.texts] == [band.label for band in BANDS.bands]
    for left_box, right_box in itertools.pairwise(boxes):
        assert left_box.x1 < right_box.x0
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["round trip", "lost", "to server"]
