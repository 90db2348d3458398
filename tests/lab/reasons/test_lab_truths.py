"""A subset of `make benchmark-truths`: causes planted at their grossest are seen by another tool,
and named in the findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab

from benchmarks.truths.draw import drawn
from benchmarks.truths.one_run import Bench
from benchmarks.truths.read_runs import recorded
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.score import judge
from benchmarks.truths.site import Site, standing

pytestmark = [*needs_a_lab, pytest.mark.night, pytest.mark.needs("iperf3")]

TRIED = ("smaller-mtu", "cable-a-step-below", "full-socket", "stated-too-low", "receiver-stopped")


@pytest.fixture(scope="module")
def cable() -> Iterator[Site]:
    with standing("cable", f"truths-{os.getpid()}") as site:
        yield site


@pytest.mark.parametrize("name", TRIED)
def test_the_findings_name_a_strong_planted_cause(cable: Site, tmp_path: Path, name: str) -> None:
    causes = {name: CAUSES[name]}
    planned_runs = drawn(causes, "1", runs=1, clean=0, mixtures=0, strengths=("gross",))
    assert [part.cause for planned_run in planned_runs for part in planned_run.parts] == [name]
    bench = Bench(tmp_path, CAUSES)
    for planned_run in planned_runs:
        bench.measure(planned_run, cable)
        assert bench.is_done(planned_run)
    (run,) = recorded(tmp_path)
    assert run.truth.not_planted == (), bench.effects.all()
    verdict = judge(run.truth, run.statements, CAUSES)
    assert verdict.missed == (), [statement.sentence for statement in run.statements]
