"""Several processes draw the same bytes as one, and none of them remains afterwards."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from made_reports import drawn_here

from netlab.report.draw import parallel
from netlab.report.draw.parallel import draw, drawing_of_several
from netlab.report.draw.plot import Picture
from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE
from netlab.report.tables.elements import Chart, Curve, HeatMap

pytestmark = pytest.mark.lab

CHART = Chart(
    name="buffers",
    title="UDP, messages of 64 bytes",
    x_label="socket buffer",
    x_ticks=((16.0, "16 KiB"), (64.0, "64 KiB")),
    log_x=False,
    lines=(Curve("LL", 0, ((16.0, 48.5), (32.0, None), (64.0, 41.6))),),
)
MAP = HeatMap(
    name="map",
    title="TCP: throughput, Mbit/s",
    unit="Mbit/s",
    rows=("a", "b"),
    columns=("a", "b"),
    values=((None, 10.0), (20.0, None)),
    inside=((99.9, None), (None, None)),
)


@pytest.fixture(scope="module")
def pictures() -> tuple[Picture, ...]:
    """A map and a chart as this process draws them."""
    with drawn_here():
        return draw([MAP, CHART])


@pytest.fixture(scope="module")
def several() -> tuple[Picture, ...]:
    """Four charts as this process draws them."""
    charts = [replace(CHART, name=f"buffers-{number}") for number in range(4)]
    with drawn_here():
        pictures = draw(charts)
    assert [picture.chart.name for picture in pictures] == [chart.name for chart in charts]
    return pictures


def test_charts_drawn_by_another_process_in_another_environment_have_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, pictures: tuple[Picture, ...]
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    for name, value in (("PYTHONHASHSEED", "2"), ("TZ", "Asia/Tokyo"), ("SOURCE_DATE_EPOCH", "9")):
        monkeypatch.setenv(name, value)
    with parallel.drawers([(MAP, COLUMN_WIDE), (CHART, PAGE_WIDE)]) as drawers:
        assert drawers.pictures(0, 2) == [pictures[0].column, replace(pictures[1], column=None)]
    assert draw([MAP, CHART]) == pictures


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_charts_drawn_by_any_number_of_processes_keep_their_order_and_bytes(
    monkeypatch: pytest.MonkeyPatch, several: tuple[Picture, ...], cores: int
) -> None:
    charts, pictures = [picture.chart for picture in several], several
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 2)
    monkeypatch.setattr("netlab.report.draw.parallel._cores", lambda: cores)
    with drawing_of_several((PAGE_WIDE, COLUMN_WIDE)) as hand_over:
        first, second = hand_over(charts[:3]), hand_over(charts[3:])
        assert (*first(), *second()) == pictures
    assert all(
        picture.column is not None and picture.column.chart == picture.chart for picture in pictures
    )


def test_the_parent_process_helps_to_draw_where_processes_cannot_fork(
    monkeypatch: pytest.MonkeyPatch, pictures: tuple[Picture, ...]
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    monkeypatch.setattr("netlab.report.draw.parallel._CAN_BECOME_SEVERAL", False)
    monkeypatch.setattr("netlab.report.draw.parallel._cores", lambda: 2)
    assert draw([MAP, CHART]) == pictures


def test_the_parent_process_draws_all_charts_if_the_drawing_process_dies_or_is_missing(
    monkeypatch: pytest.MonkeyPatch, pictures: tuple[Picture, ...]
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    for program in ("/bin/false", "/nowhere/python"):
        monkeypatch.setattr("netlab.report.draw.parallel.sys.executable", program)
        assert draw([MAP, CHART]) == pictures


@pytest.mark.parametrize("many", [1, 50])
def test_no_drawing_process_remains_if_drawing_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    processes = []
    start = subprocess.Popen

    def noted(*words: Any, **wish: Any) -> Any:
        processes.append(start(*words, **wish))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(ZeroDivisionError), parallel.drawers([(MAP, PAGE_WIDE)] * many):
        _ = 1 / 0
    (process,) = processes
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert not _alive_in_group(process.pid)


def test_no_drawing_process_remains_after_all_charts_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._cores", lambda: 3)
    with parallel.drawers([(MAP, PAGE_WIDE)]) as drawers:
        drawers.pictures(0, 1)
        process = drawers._process
    assert process is not None
    assert process.returncode == 0
    assert not _alive_in_group(process.pid)


def _alive_in_group(group: int) -> list[str]:
    """What runs there; a process that nobody has asked for its end does not."""
    listing = subprocess.run(
        ["ps", "-eo", "pgid=,stat=,args="], check=True, capture_output=True, text=True
    )
    lines = [line.split(None, 2) for line in listing.stdout.splitlines()]
    return [line[2] for line in lines if line[0] == str(group) and not line[1].startswith("Z")]
