"""Settings of the hosts that a run changes are put back, whatever ends it and whenever it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_labs import lab_of
from fault_runs import bench_in
from variant_ends import ENDS, TRIALS, SettingsLab, end_at

from netlab.findings.analysis import load

pytestmark = pytest.mark.needs("lab")

SEED = 64
RUN_S = 8.0
"""About as long as a run takes: ends come at a random moment of it."""


def test_whatever_ends_a_run_its_settings_are_put_back(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)  # noqa: S311  (moments, no secrets)
    with lab_of(sudo=True) as of, bench_in(tmp_path) as bench:
        lab = SettingsLab(of, bench)
        settings_before = lab.settings()
        whole = lab.start("whole")
        _, output = whole.communicate(timeout=60)
        assert whole.returncode == 0, output
        assert lab.settings() == settings_before
        records = load(tmp_path / "whole").latest.values()
        assert [record.status for record in records] == ["ok"] * TRIALS
        states = {(record.values["client_state"], record.settings["variant"]) for record in records}
        wanted = {variant for text, variant in states if "tcp_ecn = 1" in str(text)}
        assert wanted == {"ecn=wanted offload=on", "ecn=wanted offload=off"}
        without = {v for text, v in states if "generic-segmentation-offload: off" in str(text)}
        assert without == {"ecn=found offload=off", "ecn=wanted offload=off"}
        outcomes = {
            name: end_at(lab, f"ended-{n}", end, chance.uniform(1.5, RUN_S), chance)
            for n, (name, end) in enumerate(ENDS.items())
        }
    assert {name: o.complaint for name, o in outcomes.items() if o.complaint} == {}
    changed_count = sum(outcome.was_changed for outcome in outcomes.values())
    record_property(
        "figure", f"{len(outcomes)} of {len(outcomes)} put back, {changed_count} changed"
    )
    record_property("n", str(len(outcomes)))
    record_property("seed", str(SEED))
