"""The committed tables, pages and charts of the recorded runs are what their records give."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib
import pytest
from folders import REPORTS
from made_reports import RECORDED, copied, undrawn
from matplotlib import image

from benchmarks.truth.recorded import RECORDINGS
from netlab.findings.analysis import Analysis, load
from netlab.report import Report, write_report
from netlab.report.draw.plot import Picture, drawing_address, drawn_each
from netlab.report.draw.style import PAGE_WIDE
from netlab.report.language import Wording
from netlab.report.tables.charts import charts

DRAWN_WITH = "3.11.2"
"""Version of matplotlib that drew the charts of the committed pages."""
RUNS = [path.name for path in RECORDED]
MEASURED = [name for name in RUNS if "-lab" in name]
"""Runs recorded in a lab; the others are imported documents."""
SCALED = {recording.name: 0.1 if recording.is_scaled else None for recording in RECORDINGS}
"""Recorded run → the scale of its counts; None: of an experiment without counts."""
DRAWN = (
    ("lab-report", "message-size-udp"),  # lines, their ceilings and their shares of the ceilings
    ("lab-report", "socket-buffer-udp-1500"),  # a gap
    ("engines-lab", "message-size-udp-direction-client-sends-engine-netperf"),  # error bars
    ("rfc2544-lab", "rate-without-loss-frames"),  # bars
    ("connection-kinds", "every-host-with-every-other-1"),  # a heat map
    ("latency-under-load-lab", "latency-over-time-1"),  # a strip with bands
    ("latency-under-load-lab", "latency-by-phase-1"),  # panels
    ("payload-lab", "payload-udp-ipv4"),  # single points
    ("nettest-lab-unshaped", "over-time-1"),  # a strip
)
"""Recorded runs with the name of a chart of theirs: one of each look."""
DRAWING = re.compile(r'src="(data:image/svg\+xml,[^"]+)" width="(\d+)" height="(\d+)"')


Reports = Callable[[str], Report]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Recorded run → its report, which is computed once, in a folder of its own."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def report(name: str) -> Report:
        return Report(load(copied(REPORTS / name, folder)), Wording())

    return report


def pairings_of(run: Analysis) -> set[str]:
    return {cell.pairing for cell in run.plan.cells}


def test_recorded_runs_cover_the_labs_pairings_and_cells_of_the_experiments(
    reports: Reports,
) -> None:
    shaped = {"nettest", "payload", "lab-report", "connection-kinds"}
    assert {f"{experiment}-lab" for experiment in shaped} <= set(MEASURED)
    assert {
        f"{experiment}-lab-unshaped" for experiment in ("nettest", "payload", "udp-mirror")
    } <= {*MEASURED}
    assert {"rfc2544-lab", "udp-mirror-lab-pinned", "latency-under-load-lab"} <= set(MEASURED)
    for name in ("udp-mirror-lab-windows", "lab-report-lab"):
        assert pairings_of(reports(name).run) == {"LL", "WL", "LW", "WW"}
    assert len(reports("lab-report-lab").run.plan.cells) == 416
    pairings = pairings_of(reports("connection-kinds-lab").run)
    assert any("@second" in pairing for pairing in pairings)


@pytest.mark.parametrize("name", MEASURED)
def test_recorded_trials_are_ok_or_impossible_and_a_reduced_scale_of_counts_is_stored(
    name: str, reports: Reports
) -> None:
    trials = reports(name).run.trials
    assert {trial.status for trial in trials} <= {"ok", "impossible"}
    assert all(trial.reason for trial in trials if trial.status == "impossible")
    content = json.loads((REPORTS / name / "run.json").read_text("utf-8"))["content"]
    assert content.get("scale") == SCALED[name]


@pytest.fixture(
    scope="module",
    # The pinned run takes longest, and shows what the unpinned one shows.
    params=[
        name if "pinned" not in name else pytest.param(name, marks=pytest.mark.night)
        for name in RUNS
    ],
)
def made_anew(request: pytest.FixtureRequest, reports: Reports) -> Path:
    """A recorded run with a report that is made out of its records, without drawings."""
    with undrawn():
        return reports(request.param).write().parent


def test_the_committed_tables_of_a_recorded_run_match_its_records(made_anew: Path) -> None:
    committed = [*(REPORTS / made_anew.name).glob("tables.*")]
    committed += (REPORTS / made_anew.name).glob("figures.csv")
    assert "tables.md" in [path.name for path in committed]
    for path in committed:
        assert path.read_bytes() == (made_anew / path.name).read_bytes(), path.name


def test_the_committed_page_of_a_recorded_run_matches_its_records(made_anew: Path) -> None:
    committed, fresh = pages_of(REPORTS / made_anew.name, made_anew)
    assert DRAWING.sub("", fresh) == DRAWING.sub("", committed)
    assert len(DRAWING.findall(fresh)) == len(DRAWING.findall(committed))


def pages_of(*folders: Path) -> list[str]:
    return [(folder / "index.html").read_text("utf-8") for folder in folders]


@pytest.mark.parametrize("name", ["lab-report", "lab-report-lab"])
def test_a_page_of_416_cells_has_at_most_1_5_megabytes(name: str, reports: Reports) -> None:
    assert len(reports(name).run.plan.cells) == 416
    assert (REPORTS / name / "index.html").stat().st_size <= 1_500_000


@pytest.mark.parametrize(("name", "chart"), DRAWN, ids=str)
def test_a_committed_chart_of_each_type_matches_its_records(
    name: str, chart: str, reports: Reports
) -> None:
    picture = drawn(reports(name), chart)
    (page,) = pages_of(REPORTS / name)
    drawings = {address: size for address, *size in DRAWING.findall(page)}
    sizes = [[str(picture.width_px), str(picture.height_px)]]
    assert sizes[0] in drawings.values()
    if matplotlib.__version__ == DRAWN_WITH:
        assert [drawings.get(picture.address)] == sizes
    for suffix, data in (("svg", picture.svg), ("png", picture.png), ("pdf", picture.pdf)):
        committed = REPORTS / name / "charts" / f"{chart}.{suffix}"
        if committed.exists() and matplotlib.__version__ == DRAWN_WITH:
            assert data == committed.read_bytes(), suffix


def drawn(report: Report, chart: str) -> Picture:
    """A chart of a report, drawn now."""
    of_tables, _left_out = charts(report.layout, report.run.plan.link)
    every = [*of_tables, *(each for part in report.parts for each in part.charts)]
    (picture,) = drawn_each([(each, PAGE_WIDE) for each in every if each.name == chart])
    return picture


@pytest.mark.night
@pytest.mark.parametrize("name", RUNS)
def test_all_committed_charts_of_a_recorded_run_match_its_records(
    name: str, tmp_path: Path
) -> None:
    """Byte for byte where the same matplotlib draws the charts."""
    old_folder, new_folder = REPORTS / name, copied(REPORTS / name, tmp_path)
    write_report(load(new_folder))
    committed, fresh = pages_of(old_folder, new_folder)
    if matplotlib.__version__ == DRAWN_WITH:
        assert fresh == committed
    new_files = {path.name: path for path in (new_folder / "charts").glob("*.*")}
    addresses = {
        drawing_address(path.read_bytes()) for path in new_files.values() if path.suffix == ".svg"
    }
    assert {address for address, *_size in DRAWING.findall(fresh)} <= addresses
    for path in (old_folder / "charts").glob("*.*"):
        if path.suffix == ".png":
            old, new = image.imread(path), image.imread(new_files[path.name])
            assert old.shape == new.shape
            # Another version draws letters and edges elsewhere by a hair, and nothing else.
            assert abs(old - new).mean() < 0.01, path.name
        if matplotlib.__version__ == DRAWN_WITH:
            assert path.read_bytes() == new_files[path.name].read_bytes(), path.name
    if name == "lab-report":
        assert {path.name for path in (old_folder / "charts").glob("*.*")} == {*new_files}
