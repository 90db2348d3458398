"""The experiments recorded in the lab: their tables are what the records give, nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import matplotlib
import pytest
from folders import REPORTS
from matplotlib import image

from benchmarks.truth.recorded import RECORDINGS
from netlab.findings.analysis import load
from netlab.report import write_report
from netlab.report.draw.address import drawing_address

DRAWN_WITH = "3.11.2"
"""Version of matplotlib that drew the charts of the committed pages."""
RECORDED = [path.parent.name for path in sorted(REPORTS.glob("*-lab*/run.json"))]


SCALED = {recording.name: 0.1 if recording.is_scaled else None for recording in RECORDINGS}
"""Recorded run → the scale of its counts; None: of an experiment without counts."""


def test_recordings_of_every_experiment_cover_its_labs_pairings_and_cells() -> None:
    shaped = {"nettest", "payload", "lab-report", "connection-kinds"}
    assert {f"{experiment}-lab" for experiment in shaped} <= set(RECORDED)
    assert {
        f"{experiment}-lab-unshaped" for experiment in ("nettest", "payload", "udp-mirror")
    } <= {*RECORDED}
    assert {"rfc2544-lab", "udp-mirror-lab-pinned", "latency-under-load-lab"} <= set(RECORDED)
    for name in ("udp-mirror-lab-windows", "lab-report-lab"):
        assert pairings_of(name) == {"LL", "WL", "LW", "WW"}
    assert len(load(REPORTS / "lab-report-lab").plan.cells) == 416
    assert {pairing for pairing in pairings_of("connection-kinds-lab") if "@second" in pairing}


def pairings_of(name: str) -> set[str]:
    return set(load(REPORTS / name).frame["pairing"])


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_trials_are_ok_or_impossible_with_a_reason_and_the_scale_is_stored(
    name: str,
) -> None:
    frame = load(REPORTS / name).frame
    assert set(frame["status"]) <= {"ok", "impossible"}
    assert not frame.loc[frame["status"] == "impossible", "reason"].isna().any()
    content = json.loads((REPORTS / name / "run.json").read_text("utf-8"))["content"]
    assert content.get("scale") == SCALED[name]


@pytest.fixture(scope="module", params=RECORDED)
def made_anew(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a recorded run, without its report, and that made out of its records."""
    copy = tmp_path_factory.mktemp("reports") / str(request.param)
    shutil.copytree(REPORTS / str(request.param), copy)
    for file_name in ("tables.md", "index.html"):
        (copy / file_name).unlink()
    write_report(load(copy))
    return copy


DRAWING = re.compile(r'data:image/svg\+xml,[^"]+')


def test_the_committed_markdown_tables_of_a_recorded_run_match_its_records(made_anew: Path) -> None:
    recorded_tables = REPORTS / made_anew.name / "tables.md"
    assert (made_anew / "tables.md").read_bytes() == recorded_tables.read_bytes()


def test_the_committed_page_of_a_recorded_run_matches_its_records(made_anew: Path) -> None:
    """Byte for byte where the same matplotlib draws the charts; else all but their drawings."""
    check_page(REPORTS / made_anew.name, made_anew)


def check_page(recorded: Path, fresh: Path) -> None:
    """The page of the one folder is that of the other, and each of its charts lies beside it."""
    recorded_page, fresh_page = (
        (folder / "index.html").read_text("utf-8") for folder in (recorded, fresh)
    )
    assert DRAWING.sub("", fresh_page) == DRAWING.sub("", recorded_page)
    assert len(DRAWING.findall(fresh_page)) == len(DRAWING.findall(recorded_page))
    if matplotlib.__version__ == DRAWN_WITH:
        assert fresh_page == recorded_page
    addresses = {drawing_address(path.read_bytes()) for path in (fresh / "charts").glob("*.svg")}
    assert [drawing for drawing in DRAWING.findall(fresh_page) if drawing not in addresses] == []


def test_the_committed_charts_of_the_lab_report_match_its_records(tmp_path: Path) -> None:
    recorded, fresh = REPORTS / "lab-report", tmp_path / "lab-report"
    shutil.copytree(recorded, fresh, ignore=shutil.ignore_patterns("charts", "index.html"))
    write_report(load(fresh))
    check_page(recorded, fresh)
    recorded_files, fresh_files = (
        {str(path.relative_to(folder)): path for path in (folder / "charts").rglob("*.*")}
        for folder in (recorded, fresh)
    )
    assert recorded_files.keys() == fresh_files.keys()
    for name, path in recorded_files.items():
        if name.endswith(".png"):
            old, new = image.imread(path), image.imread(fresh_files[name])
            assert old.shape == new.shape
            # Another version draws letters and edges elsewhere by a hair, and nothing else.
            assert abs(old - new).mean() < 0.01, name
        if matplotlib.__version__ == DRAWN_WITH:
            assert path.read_bytes() == fresh_files[name].read_bytes(), name
