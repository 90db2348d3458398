"""The experiments recorded in the lab: their tables are what the records give, nothing is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from netlab.frame import load
from netlab.report import write_report

REPORTS = Path(__file__).parent.parent / "reports"
RECORDED = [path.parent.name for path in sorted(REPORTS.glob("*-lab*/run.json"))]


def test_each_experiment_is_recorded_shaped_and_unshaped_and_with_windows_programs() -> None:
    experiments = {name.partition("-lab")[0] for name in RECORDED}
    assert experiments == {"nettest", "payload", "udp-mirror"}
    shaped = {name for name in RECORDED if "unshaped" not in name and "windows" not in name}
    assert {name.partition("-lab")[0] for name in shaped} == experiments
    assert {f"{each}-lab-unshaped" for each in experiments} <= set(RECORDED)
    assert pairings_of("udp-mirror-lab-windows") == {"LL", "WL", "LW", "WW"}


def pairings_of(name: str) -> set[str]:
    return set(load(REPORTS / name).frame["pairing"])


@pytest.mark.parametrize("name", RECORDED)
def test_every_trial_is_ok_or_impossible_with_its_reason_and_the_scale_is_told(name: str) -> None:
    frame = load(REPORTS / name).frame
    assert set(frame["status"]) <= {"ok", "impossible"}
    assert not frame.loc[frame["status"] == "impossible", "reason"].isna().any()
    content = json.loads((REPORTS / name / "run.json").read_text("utf-8"))["content"]
    assert content.get("scale") == (None if name.startswith("payload") else 0.1)


@pytest.mark.parametrize("name", RECORDED)
def test_the_tables_of_a_recorded_run_are_what_its_records_give(name: str, tmp_path: Path) -> None:
    copy = tmp_path / name
    shutil.copytree(REPORTS / name, copy)
    kept = (copy / "tables.md").read_bytes()
    page = write_report(load(copy))
    assert (copy / "tables.md").read_bytes() == kept
    assert page.stat().st_size > 10_000
