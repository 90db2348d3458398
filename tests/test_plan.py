"""What `netlab plan` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netlab.cells import expand
from netlab.errors import UsageError
from netlab.matrix import load_matrix
from netlab.plan import plan_json, plan_of, plan_text

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "matrices" / "lab-report.yaml"
LOOPBACK = ROOT / "matrices" / "loopback.yaml"


def test_the_plan_of_the_lab_report_has_its_cells_rounds_and_time() -> None:
    plan = plan_of(REPORT, None)
    found = plan_json(plan)
    assert (found["cells"], found["trials"], found["rounds"]) == (416, 416, 416)
    assert 4160 < found["seconds"] < 4160 * 1.02
    assert [each["key"] for each in found["cell_list"]] == [
        cell.key for cell in expand(load_matrix(REPORT))
    ]
    counts = {each["pairing"]: each["cells"] for each in found["pairings"]}
    assert counts == {"LL": 104, "WL": 104, "LW": 104, "WW": 104}
    assert found["at_the_same_time"] == []
    assert json.loads(plan.as_json()) == found


def test_the_text_says_how_many_how_long_and_what_is_measured() -> None:
    text = plan_text(plan_of(REPORT, None))
    assert "416 cells x 1 trial = 416 trials in 416 rounds" in text
    assert "About 1 h 9 min" in text
    assert "Link: 100 Mbit/s, MTU 1500" in text
    assert "16 KiB, 20 KiB, … 64 KiB (13)" in text
    assert "64, 576, 1500, 64512" in text
    assert "One trial at a time" in text


def test_the_text_lists_every_cell_with_its_key_where_asked() -> None:
    plan = plan_of(LOOPBACK, None)
    listed = plan.as_text(with_cells=True)
    assert all(cell.key in listed for cell in plan.cells)
    assert not any(cell.key in plan.as_text(with_cells=False) for cell in plan.cells)


def test_only_and_set_narrow_the_plan() -> None:
    found = plan_json(plan_of(REPORT, None, ["LL"], {"duration": "1s", "repeats": "2"}))
    assert (found["cells"], found["trials"]) == (104, 208)
    assert 208 < found["seconds"] < 215
    with pytest.raises(
        UsageError, match="--only XX: this matrix has no such pairing; it has LL, WL"
    ):
        plan_of(REPORT, None, ["XX"])


def test_pairings_that_share_no_host_are_named_where_the_matrix_allows_it() -> None:
    plan = plan_of(REPORT, None, (), {"parallel": "true"})
    assert plan_json(plan)["at_the_same_time"] == [["LL", "WW"]]
    assert plan_json(plan)["rounds"] == 312
    assert "At the same time: LL with WW (if each system has two hosts" in plan_text(plan)


def test_hosts_of_the_inventory_decide_what_runs_at_the_same_time(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text(
        "hosts:\n"
        "  one: {ssh: a@192.0.2.1, os: L, machine: first, addresses: {test: 198.51.100.1}}\n"
        "  two: {ssh: a@192.0.2.2, os: L, machine: second, addresses: {test: 198.51.100.2}}\n"
        "  three: {ssh: a@192.0.2.1, os: W, machine: first, addresses: {test: 198.51.100.1}}\n"
        "  four: {ssh: a@192.0.2.2, os: W, machine: second, addresses: {test: 198.51.100.2}}\n",
        encoding="utf-8",
    )
    found = plan_json(plan_of(REPORT, hosts, (), {"parallel": "true"}))
    assert found["at_the_same_time"] == []
    assert found["rounds"] == 416
    assert not found["hosts_assumed"]
    text = plan_text(plan_of(REPORT, hosts, (), {"parallel": "true"}))
    assert "no two pairings are free of a common host" in text


def test_a_count_without_a_rate_is_said_to_be_missing_from_the_time() -> None:
    plan = plan_of(LOOPBACK, None, (), {"count": "1000"})
    assert plan_json(plan)["trials_of_unknown_length"] == len(plan.cells)
    assert "are bounded by a count, and not in this time" in plan_text(plan)
