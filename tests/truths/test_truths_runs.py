"""The benchmark of truths draws its runs by a seed and measures each run once."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.truths import one_run, runner, truths
from benchmarks.truths.answers import SaidAnswer
from benchmarks.truths.draw import Wanted, drawn, experiment_of, wanted_from_json
from benchmarks.truths.effects import Effects
from benchmarks.truths.one_run import TRUTH, Bench
from benchmarks.truths.read_runs import Recorded
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.score import Truth
from netlab import lab
from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.lab import state


def few(seed: str) -> tuple[Wanted, ...]:
    """Two runs a cause and strength, 3 clean ones, 4 mixtures."""
    return drawn(CAUSES, seed, runs=2, clean=3, mixtures=4)


def test_a_seed_draws_the_same_benchmark_runs_each_time_and_other_seeds_draw_others() -> None:
    assert drawn(CAUSES, "1") == drawn(CAUSES, "1")
    first = {planned_run.name: planned_run for planned_run in drawn(CAUSES, "1")}
    second = {planned_run.name: planned_run for planned_run in drawn(CAUSES, "2")}
    assert first.keys() == second.keys() and first != second


def test_a_drawn_benchmark_run_does_not_depend_on_the_number_of_runs() -> None:
    every = {planned_run.name: planned_run for planned_run in drawn(CAUSES, "7")}
    few = drawn(CAUSES, "7", runs=1, clean=0, mixtures=0, strengths=("plain",))
    assert few and all(every[planned_run.name] == planned_run for planned_run in few)


def test_every_benchmark_cause_is_drawn_at_each_strength_within_its_allowed_range() -> None:
    planned_runs = few("3")
    counts = Counter(
        (p.cause, p.strength) for w in planned_runs for p in w.parts if len(w.parts) == 1
    )
    cause_strengths = {(c.name, strength) for c in CAUSES.values() for strength in c.strengths}
    assert set(counts) == cause_strengths and set(counts.values()) == {2}
    for part in (part for planned_run in planned_runs for part in planned_run.parts):
        low, high = CAUSES[part.cause].dial[part.strength]
        assert low <= part.dial <= high
    assert sum(not planned_run.parts for planned_run in planned_runs) == 3
    assert sum(len(planned_run.parts) == 2 for planned_run in planned_runs) == 4


def test_a_mixture_combines_two_different_causes_of_one_lab() -> None:
    for planned_run in drawn(CAUSES, "3", runs=0, clean=0, mixtures=40):
        first, second = (CAUSES[part.cause] for part in planned_run.parts)
        assert first is not second
        assert first.experiment.lab == second.experiment.lab and first.mixes == second.mixes


def test_every_kind_of_benchmark_run_has_a_matrix_that_netlab_accepts(tmp_path: Path) -> None:
    combinations = set()
    for planned_run in few("5"):
        experiment = experiment_of(CAUSES, planned_run)
        if (planned_run.like, bool(planned_run.parts), planned_run.tests) in combinations:
            continue
        combinations.add((planned_run.like, bool(planned_run.parts), planned_run.tests))
        dial = planned_run.parts[0].dial if planned_run.parts else 0.0
        path = tmp_path / f"{planned_run.name}.yaml"
        path.write_text(
            experiment.matrix(planned_run.name, planned_run.tests, dial, planned_run.seed)
        )
        hosts = tmp_path / "hosts.yaml"
        names = ("linux-a", "linux-b", "linux-c", "linux-d", "windows-a")
        address = "os: L, local: true, addresses: {{test: 198.18.0.{0}}}"
        lines = [f"  {name}: {{{address.format(n)}}}" for n, name in enumerate(names, start=2)]
        hosts.write_text("hosts:\n" + "\n".join(lines) + "\n")
        assert expand(load_matrix(path, {}, hosts)), planned_run.name


def test_a_planned_benchmark_run_is_read_back_from_json_unchanged() -> None:
    for planned_run in few("1"):
        assert wanted_from_json(json.loads(json.dumps(planned_run.as_json()))) == planned_run


# ---- resumption ----------------------------------------------------------------------------------


class Killed(BaseException):
    """As if by a signal that nothing catches."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the runs that were measured; no lab, and a run is an empty folder."""
    names: list[str] = []

    @contextmanager
    def standing(kind: str, name: str) -> Iterator[Any]:
        yield SimpleNamespace(kind=kind)

    def run(self: Bench, planned_run: Wanted, site: Any, observations: Any, folder: Path) -> None:
        assert not folder.exists()
        names.append(planned_run.name)
        folder.mkdir(parents=True)

    monkeypatch.setattr(runner, "standing", standing)
    monkeypatch.setattr(Bench, "_run", run)
    monkeypatch.setattr(Bench, "_costs_alone", lambda *_: {})
    monkeypatch.setattr(Effects, "of", lambda *_: None)
    monkeypatch.setattr(one_run, "_stolen_share", lambda *_: 0.0)
    return names


def test_the_benchmark_measures_incomplete_runs_again_and_skips_complete_runs(
    tmp_path: Path, measured: list[str]
) -> None:
    planned_runs = drawn(CAUSES, "1", runs=1, clean=2, mixtures=1)
    assert runner.measure_all(planned_runs, CAUSES, tmp_path) == []
    assert sorted(measured) == sorted(planned_run.name for planned_run in planned_runs)
    half = planned_runs[3].name
    (tmp_path / half / TRUTH).unlink()
    measured.clear()
    assert runner.measure_all(planned_runs, CAUSES, tmp_path) == []
    assert measured == [half]


def test_a_killed_benchmark_measures_only_the_interrupted_run_again(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned_runs = drawn(CAUSES, "1", runs=1, clean=2, mixtures=0)
    real_run = Bench._run

    def killed(
        self: Bench, planned_run: Wanted, site: Any, observations: Any, folder: Path
    ) -> str | None:
        real_run(self, planned_run, site, observations, folder)
        if len(measured) == 5:
            raise Killed
        return None

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Bench, "_run", killed)
        runner.measure_all(planned_runs, CAUSES, tmp_path)
    assert runner.measure_all(planned_runs, CAUSES, tmp_path) == []
    times = Counter(measured)
    assert set(times) == {planned_run.name for planned_run in planned_runs}
    assert [name for name, count in times.items() if count > 1] == [measured[4]]


def test_a_benchmark_run_with_much_steal_is_set_aside_and_measured_again(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter((0.5, 0.021, 0.02))
    monkeypatch.setattr(one_run, "_stolen_share", lambda *_: next(shares))
    (planned_run,) = drawn(CAUSES, "1", runs=0, clean=1, mixtures=0)
    runner.measure_all([planned_run], CAUSES, tmp_path)
    truth = json.loads((tmp_path / planned_run.name / TRUTH).read_text())
    assert measured == 3 * [planned_run.name]
    assert (truth["left_out"], truth["stolen_share"]) == (2, 0.02)
    assert len(list((tmp_path / one_run.LEFT_OUT).iterdir())) == 2


def test_a_benchmark_run_with_much_steal_in_one_trial_is_measured_again(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter(([0.0, 0.05], [0.0, 0.02]))
    monkeypatch.setattr(one_run, "_stolen_in_trials", lambda _: next(shares))
    (planned_run,) = drawn(CAUSES, "1", runs=0, clean=1, mixtures=0)
    runner.measure_all([planned_run], CAUSES, tmp_path)
    assert measured == 2 * [planned_run.name]


def test_the_benchmark_reports_a_run_that_fails_and_measures_the_other_runs(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned_runs = drawn(CAUSES, "1", runs=0, clean=3, mixtures=0)

    def effects(self: Any, planned_run: Wanted, *_: Any) -> None:
        measured.append(planned_run.name)
        if planned_run.name == "clean-001":
            raise RuntimeError("no iperf3")
        (tmp_path / planned_run.name).mkdir()

    monkeypatch.setattr(Bench, "_run", effects)
    assert runner.measure_all(planned_runs, CAUSES, tmp_path) == [
        "clean-001: RuntimeError: no iperf3"
    ]
    assert len(measured) == 3
    assert (tmp_path / "clean-001.broken").exists()


@pytest.mark.lab
def test_several_benchmark_workers_share_the_runs_and_measure_each_run_once(
    tmp_path: Path, measured: list[str]
) -> None:
    planned_runs = drawn(CAUSES, "1", runs=1, clean=6, mixtures=2)
    assert runner.measure_all(planned_runs, CAUSES, tmp_path, at_once=3) == []
    lone_names = {
        planned_run.name for planned_run in planned_runs if runner.is_alone(planned_run, CAUSES)
    }
    # What other processes measured is not in this one's list.
    assert set(measured) == lone_names
    assert {path.parent.name for path in tmp_path.glob(f"*/{TRUTH}")} == {
        w.name for w in planned_runs
    }


def test_a_second_benchmark_on_a_machine_is_refused_and_leftover_labs_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals: list[str] = []
    monkeypatch.setattr(runner, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(state, "names", lambda: ("lab", "truths-4", "truths0-cable"))
    monkeypatch.setattr(lab, "down", lambda name, *, forget: removals.append(f"{name} {forget}"))
    with (
        runner.machine_to_ourselves(),
        pytest.raises(SystemExit, match="another"),
        runner.machine_to_ourselves(),
    ):
        pass
    assert removals == ["truths0-cable True"]


# ---- what is held back ---------------------------------------------------------------------------


def test_the_held_back_seed_is_random_and_stays_the_same_in_its_folder(tmp_path: Path) -> None:
    first = truths.held_back_seed(tmp_path / "one")
    assert truths.held_back_seed(tmp_path / "one") == first
    assert truths.held_back_seed(tmp_path / "other") != first
    assert len(first) == 16


def test_held_back_runs_do_not_print_their_seed_and_can_be_scored_only_once(
    tmp_path: Path,
    measured: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(state, "names", tuple)  # a benchmark may run on this machine
    words = ["--held-back", "--into", os.fspath(tmp_path)]
    assert truths.main([*words, *["--runs", "0", "--clean", "2", "--mixtures", "0"]]) == 0
    output = capsys.readouterr()
    assert measured
    assert truths.held_back_seed(tmp_path / truths.HELD_BACK) not in output.out + output.err
    recordings: list[Any] = []
    monkeypatch.setattr(truths, "recorded", lambda _: recordings)
    with pytest.raises(SystemExit, match="no complete run"):
        truths.main([*words, "--score"])
    recordings.append(Recorded(Truth("clean-000", "slower-cable", ()), (), SaidAnswer(())))
    truths.main([*words, "--score"])
    assert "1 runs: 0 of one cause, 1 clean" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="was scored before"):
        truths.main([*words, "--score"])
    assert capsys.readouterr().out == ""
