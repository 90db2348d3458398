"""A run of a sample of a matrix: resumed, extended, and what its status and effects say of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from made_sessions import Bench, Cut, FakePool, bench, scattered

from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import expand
from netlab.report.notebook import LoadedRun
from netlab.report.sections.effects import as_text
from netlab.runner.options import NOTE, Options, data_of, options_to_resume
from netlab.runner.planning import plan_of, plan_text
from netlab.store.reader import read, status_of
from netlab.store.run_folder import RunFolder

__all__ = ["Cut", "bench"]

MATRIX = """\
pairings: [LL]
sample: {cells: 40, pairs: [[message_size, streams]]}
repeats: 2
tests:
  - test: stream
    protocol: TCP
    message_size: [64, 256, 1024, 4096]
    streams: [1, 2, 4]
    socket_buffer: [16KiB, 64KiB, 256KiB, 1MiB]
    dscp: [0, 46, 8]
"""
OF = 4 * 3 * 4 * 3
LARGER = MATRIX.replace("cells: 40", "cells: 55")


def by_size(cell: Cell, number: int) -> float:
    """A throughput that the message size and the streams decide, with little noise."""
    size, streams = (float(cell.settings[name]) for name in ("message_bytes", "streams"))
    return 1e6 * size * streams * math.pow(scattered(cell, number) / 1e8, 0.01)


def keys(run: Path) -> set[str]:
    return {cell.key for cell in read(run).plan.cells}


def test_a_sample_that_was_cut_is_resumed_with_the_same_cells(bench: Bench) -> None:
    bench.text = MATRIX
    first = [*bench.run(FakePool(cut_after=33))]
    assert status_of(bench.path / "run").total == 80
    second = bench.run(FakePool())
    cells = {trial.cell.key for trial in [*first, *second]}
    assert cells == keys(bench.path / "run") == {cell.key for cell in expand(bench.matrix)}
    assert len(first) + len(second) == 80
    assert status_of(bench.path / "run").remaining == 0


def test_a_larger_sample_measures_only_the_cells_that_the_smaller_one_lacks(bench: Bench) -> None:
    bench.text = MATRIX
    bench.run(FakePool())
    old, created_at = keys(bench.path / "run"), read(bench.path / "run").created_at
    bench.text = LARGER
    trials = bench.run(FakePool())
    assert len(trials) == 30
    assert not {trial.cell.key for trial in trials} & old
    stored = read(bench.path / "run")
    assert (len(stored.records), len(stored.damage), stored.created_at) == (110, 0, created_at)
    assert stored.plan.matrix_text == LARGER
    assert old < keys(bench.path / "run")
    assert status_of(bench.path / "run").remaining == 0
    assert bench.run(FakePool()) == []


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        (LARGER.replace("pairs", "seed: 2, pairs"), "sample.seed: 1 in the folder, 2 now"),
        (LARGER.replace("repeats: 2", "repeats: 3"), "repeats: 2 in the folder, 3 now"),
        (LARGER.replace("[0, 46, 8]", "[0, 46, 10]"), "dscp"),
        (MATRIX.replace("cells: 40", "cells: 30"), "sample.cells: 40 in the folder, 30 now"),
    ],
)
def test_a_sample_that_is_not_a_larger_one_of_the_same_matrix_is_refused(
    bench: Bench, text: str, difference: str
) -> None:
    bench.text = MATRIX
    bench.run(FakePool(cut_after=3))
    bench.text = text
    with pytest.raises(UsageError, match=difference):
        bench.run(FakePool())
    assert read(bench.path / "run").plan.matrix_text == MATRIX


def test_a_run_is_resumed_with_the_cells_of_its_plan_or_with_more(bench: Bench) -> None:
    bench.text = MATRIX
    bench.run(FakePool(cut_after=3))
    run = bench.path / "run"
    with RunFolder.open_for_writing(run, read(run).plan) as folder:
        folder.note(NOTE, **data_of(Options(matrix=bench.path / "matrix.yaml"), run))
    bench.text = LARGER
    bench.run(FakePool(cut_after=3))

    def cells(**more: Any) -> set[str]:
        options = options_to_resume(run, **more)
        return {c.key for c in expand(load_matrix(options.matrix, options.overrides))}

    assert cells() == keys(run)
    assert cells(overrides={"sample.cells": "70"}) > keys(run)
    assert len(cells(overrides={"sample.cells": "70"})) == 70


def test_the_effects_of_a_sample_say_what_was_not_measured_and_name_its_pair(bench: Bench) -> None:
    bench.text = MATRIX
    bench.run(FakePool(value=by_size))
    (kind,) = LoadedRun(read(bench.path / "run")).effects
    assert kind.effects is not None
    assert kind.sample == f"40 of {OF} cells (fractional, seed 1)"
    terms = {term.axes: term for term in kind.effects.terms}
    assert [axes for axes in terms if len(axes) == 2] == [("message_bytes", "streams")]
    sizes = {size.axis: size for size in kind.effects.sizes if not size.within}
    assert [*sizes["streams"].means] == [1, 2, 4]
    assert [means[0] for means in sizes["streams"].means.values()] == pytest.approx(
        [512, 1024, 2048], rel=0.02
    )
    text = as_text([kind])
    said = " ".join(text.split())
    assert f"empty: {OF - 40} of {OF} combinations" in said
    assert f"not measured, as the run is a sample: 40 of {OF} cells" in said
    assert "all other interactions" in text
    assert "not known" not in text


def test_the_effects_of_a_sample_of_all_cells_are_those_of_the_matrix(bench: Bench) -> None:
    bench.text = MATRIX.replace("cells: 40", f"cells: {OF}")
    bench.run(FakePool(value=by_size))
    run = LoadedRun(read(bench.path / "run"))
    (kind,) = run.effects
    assert kind.effects is not None
    assert kind.sample == ""
    assert sum(len(term.axes) == 2 for term in kind.effects.terms) == 6


def test_the_plan_says_how_many_cells_of_how_many_are_measured(bench: Bench) -> None:
    bench.text = MATRIX
    assert len(expand(bench.matrix)) == 40
    text = plan_text(plan_of(bench.path / "matrix.yaml", None))
    assert f"Sample: 40 of {OF} cells (fractional, seed 1)\n40 cells x 2 trials = 80" in text
