"""Plans of the same cells share them when they are read one after the other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from folders import FIXTURES, REPORTS
from made_runs import made_plan

from netlab.errors import StoreError
from netlab.results.value_types import RUN_CHECK
from netlab.store.plan import _checksum, to_text
from netlab.store.reader import read_plan

RECORDED = sorted(path.parent for root in (FIXTURES, REPORTS) for path in root.glob("*/run.json"))
AT = "2026-01-31T12:00:00Z"


def written(folder: Path, name: str, text: str) -> Path:
    run = folder / name
    run.mkdir()
    (run / "run.json").write_text(text)
    return run


def test_two_runs_of_the_same_cells_share_the_cells_but_not_the_title(tmp_path: Path) -> None:
    plan = made_plan()
    first = written(tmp_path, "first", to_text(plan, AT))
    second = written(tmp_path, "second", to_text(replace(plan, title="another"), AT))
    (first_plan, _), (second_plan, _) = (read_plan(run, RUN_CHECK) for run in (first, second))
    assert first_plan.cells is second_plan.cells
    assert (first_plan.title, second_plan.title) == (plan.title, "another")
    unchecked, _ = read_plan(first)
    assert unchecked.cells is not first_plan.cells  # its settings were not checked
    assert unchecked == first_plan


def test_reading_a_plan_twice_gives_equal_plans_with_shared_cells() -> None:
    assert len(RECORDED) > 10
    for run in RECORDED:
        read_plan(RECORDED[0], RUN_CHECK)
        once, twice = read_plan(run, RUN_CHECK), read_plan(run, RUN_CHECK)
        assert once == twice
        assert once[0].cells is twice[0].cells


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["cells"][0].update(repeats=True),
        lambda data: data["cells"][0].update(pairing="WL"),
        lambda data: data["cells"].pop(),
        lambda data: data.pop("cells"),
        lambda data: data.update(repeats=0),
    ],
)
def test_a_changed_plan_is_noticed_even_if_its_cells_were_read_before(
    tmp_path: Path, change: Any
) -> None:
    text = to_text(made_plan(), AT)
    read_plan(written(tmp_path, "good", text), RUN_CHECK)
    data = json.loads(text)
    change(data)
    torn = json.dumps(data, indent=1)
    with pytest.raises(StoreError, match="its checksum does not match"):
        read_plan(written(tmp_path, "changed", torn), RUN_CHECK)
    del data["checksum"]
    data["checksum"] = _checksum(data)
    whole = written(tmp_path, "whole", json.dumps(data, indent=1))
    try:
        plan, _ = read_plan(whole, RUN_CHECK)
    except StoreError as error:
        assert "checksum" not in str(error)
    else:
        assert [cell.pairing for cell in plan.cells] == [c["pairing"] for c in data["cells"]]


def test_a_plan_whose_end_repeats_a_key_of_its_head_is_refused(tmp_path: Path) -> None:
    text = to_text(made_plan(), AT)
    run = written(tmp_path, "run", text.replace(" ]\n}", ' ],\n "title": "of the end"\n}'))
    for _ in range(2):
        with pytest.raises(StoreError, match="its checksum does not match"):
            read_plan(run, RUN_CHECK)
