"""The charts as files: three kinds, two widths, the same bytes, and nothing sticks out of them."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from folders import ROOT

from netlab.findings.analysis import load
from netlab.report import in_tables
from netlab.report.draw import parallel
from netlab.report.draw.parallel import draw, drawing
from netlab.report.draw.plot import figure_of, style
from netlab.report.draw.sizes import COLUMN_WIDE, PAGE_WIDE, Format
from netlab.report.language import wording_in
from netlab.report.sections import parts_of
from netlab.report.tables.charts import charts
from netlab.report.tables.elements import Chart, Curve, HeatMap, Panel, Strip
from netlab.results.layout import lay_out
from netlab.results.readings import readings

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


def test_each_chart_is_three_files_as_wide_as_a_page_and_as_one_of_its_columns() -> None:
    drawn = [(each, *form) for each in draw([CHART, STRIP, MAP]) for form in FORMS]
    for picture, form, wide_cm in drawn:
        files = picture.files()
        assert len(files) == 6
        name = f"{form}{picture.chart.name}"
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", files[f"{name}.pdf"])
        assert box is not None
        assert float(box.group(1)) == pytest.approx(wide_cm * CM, abs=0.01)
        assert f'width="{float(box.group(1)):.6f}pt"'.encode() in files[f"{name}.svg"]
        width, _ = struct.unpack(">II", files[f"{name}.png"][16:24])
        assert width == pytest.approx(wide_cm / 2.54 * 170, abs=1)


def test_a_pdf_holds_its_type_and_neither_a_date_nor_a_maker() -> None:
    (picture,) = draw([CHART])
    assert re.search(rb"/FontName /[A-Z+]*DejaVuSans", picture.pdf)
    for word in (b"CreationDate", b"Producer", b"Creator", b"matplotlib"):
        assert word not in picture.pdf


def shipped() -> list[Any]:
    """The charts of the recorded runs, in German: its words are the longer ones."""
    found: list[Any] = [CHART, STRIP, MAP]
    for name in ("lab-report", "connection-kinds"):
        run = load(ROOT / "reports" / name)
        german = wording_in("de")
        rows = readings(run)
        drawn, _ = charts(lay_out(in_tables(rows)), run.plan.link)
        of_parts = [chart for part in parts_of(run, rows) for chart in part.charts]
        found += [german.of_chart(chart) for chart in (*drawn[1:3], *of_parts[:1])]
    return found


@pytest.mark.parametrize("form", [PAGE_WIDE, COLUMN_WIDE], ids=["page", "column"])
def test_nothing_sticks_out_of_a_picture_and_no_label_stands_on_another(form: Format) -> None:
    for chart in shipped():
        with style(form):
            figure = figure_of(chart, form)
            figure.canvas.draw()
        room = figure.bbox
        boxes = [
            text.get_window_extent()
            for axes in figure.axes
            for text in (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label)  # type: ignore[attr-defined]
            if text.get_text()
        ]
        boxes += [text.get_window_extent() for text in figure.texts]
        boxes += [legend.get_window_extent() for legend in figure.legends]
        for box in boxes:
            assert box.x0 >= -1, (chart.name, box)
            assert box.y0 >= -1, (chart.name, box)
            assert box.x1 <= room.x1 + 1, (chart.name, box)
            assert box.y1 <= room.y1 + 1, (chart.name, box)
        if isinstance(chart, Chart):
            labels = [
                t.get_window_extent() for t in figure.axes[0].get_xticklabels() if t.get_text()
            ]
            assert all(after.x0 > before.x1 for before, after in pairwise(labels)), chart.name


def test_a_decimal_comma_stands_at_the_axes_too() -> None:
    small = Chart(
        name="small",
        title="small",
        x_label="x",
        x_ticks=((1.0, "1"), (2.0, "2")),
        log_x=False,
        lines=(Curve("LL", 0, ((1.0, 0.2), (2.0, 0.21))),),
    )
    for chart, marker in ((small, "."), (wording_in("de").of_chart(small), ",")):
        with style(PAGE_WIDE):
            figure = figure_of(chart, PAGE_WIDE)
            figure.canvas.draw()
        figures = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert any(f"0{marker}" in text for text in figures)
        assert all(text.count(marker) <= 1 and ",." not in text for text in figures)


def test_another_process_at_another_time_draws_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = draw([MAP, CHART])
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    for name, value in (("PYTHONHASHSEED", "2"), ("TZ", "Asia/Tokyo"), ("SOURCE_DATE_EPOCH", "9")):
        monkeypatch.setenv(name, value)
    with parallel.second_process([(MAP, COLUMN_WIDE), (CHART, PAGE_WIDE)]) as other:
        assert other.first(2) == [alone[0].column, replace(alone[1], column=None)]
    assert draw([MAP, CHART]) == alone


def test_both_processes_stop_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 4)
    charts = [replace(CHART, name=f"buffers-{number}") for number in range(4)]
    with drawing(charts) as pictures:
        found = pictures()
    assert [each.chart.name for each in found] == [each.name for each in charts]
    assert found == draw(charts)
    assert all(each.column is not None and each.column.chart == each.chart for each in found)


def test_where_there_is_nosecond_process_or_it_dies_this_one_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = draw([MAP, CHART])
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    monkeypatch.setattr("netlab.report.draw.parallel.sys.executable", "/bin/false")
    assert draw([MAP, CHART]) == alone
    monkeypatch.setattr("netlab.report.draw.parallel.sys.executable", "/nowhere/python")
    with parallel.second_process([(MAP, PAGE_WIDE)]) as other:
        assert not other.begun(0) and other.first(1) == []
    assert draw([MAP, CHART]) == alone


def test_no_process_stays_behind_when_drawing_is_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []
    start = subprocess.Popen

    def noted(*words: Any, **wish: Any) -> Any:
        started.append(start(*words, **wish))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(ZeroDivisionError), parallel.second_process([(MAP, PAGE_WIDE)]):
        _ = 1 / 0
    (process,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
