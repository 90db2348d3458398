"""Several processes draw the same bytes as one, and none of them remains afterwards."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from made_reports import drawn_here

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
    with drawing_of_several((COLUMN_WIDE,)) as hand_over:
        assert hand_over([MAP])() == (pictures[0].column,)
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


def test_charts_that_were_handed_over_before_the_processes_started_are_drawn_by_them(
    monkeypatch: pytest.MonkeyPatch, several: tuple[Picture, ...]
) -> None:
    charts = [picture.chart for picture in several]
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 2)
    with drawing_of_several((PAGE_WIDE, COLUMN_WIDE)) as hand_over:
        first, second = hand_over(charts[:1]), hand_over(charts[1:])
        monkeypatch.setattr("netlab.report.draw.parallel.drawn_each", lambda _jobs: iter(()))
        assert (*first(), *second()) == several


def test_the_parent_process_draws_all_charts_if_the_drawing_process_dies_or_is_missing(
    monkeypatch: pytest.MonkeyPatch, pictures: tuple[Picture, ...]
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._MANY", 1)
    for program in ("/bin/false", "/nowhere/python"):
        monkeypatch.setattr("netlab.report.draw.parallel.sys.executable", program)
        assert draw([MAP, CHART]) == pictures


@pytest.mark.parametrize("many", [1, 50])
def test_no_drawing_process_remains_if_drawing_is_interrupted(
    processes: list[subprocess.Popen[bytes]], many: int
) -> None:
    with pytest.raises(ZeroDivisionError), drawing_of_several(many=True) as hand_over:
        hand_over([MAP] * many)
        _ = 1 / 0
    assert processes
    assert not any(map(_is_alive, processes))


def test_no_drawing_process_remains_after_all_charts_are_drawn(
    monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setattr("netlab.report.draw.parallel._cores", lambda: 3)
    with drawing_of_several(many=True) as hand_over:
        assert len(hand_over([MAP])()) == 1
    assert len(processes) == 3
    assert not any(map(_is_alive, processes))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that a test starts."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def noted(*words: Any, **wish: Any) -> Any:
        started.append(start(*words, **wish))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    return started


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    return True
