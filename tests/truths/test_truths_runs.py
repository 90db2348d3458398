"""Which runs are drawn, that none is measured twice, and what is held back."""

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
from benchmarks.truths.draw import Wanted, drawn, experiment_of, wanted_from_json
from benchmarks.truths.effects import Effects
from benchmarks.truths.one_run import TRUTH, Bench
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.score import Truth
from netlab import lab
from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.lab import state


def few(seed: str) -> tuple[Wanted, ...]:
    """Two runs a cause and strength, 3 clean ones, 4 mixtures."""
    return drawn(CAUSES, seed, runs=2, clean=3, mixtures=4)


def test_a_seed_draws_the_same_runs_and_another_seed_others() -> None:
    assert drawn(CAUSES, "1") == drawn(CAUSES, "1")
    first = {each.name: each for each in drawn(CAUSES, "1")}
    other = {each.name: each for each in drawn(CAUSES, "2")}
    assert first.keys() == other.keys() and first != other


def test_a_run_is_the_same_however_many_are_asked_for() -> None:
    every = {each.name: each for each in drawn(CAUSES, "7")}
    few = drawn(CAUSES, "7", runs=1, clean=0, mixtures=0, strengths=("plain",))
    assert few and all(every[each.name] == each for each in few)


def test_every_cause_has_its_runs_at_each_of_its_strengths_and_its_dial_is_in_range() -> None:
    found = few("3")
    counts = Counter((p.cause, p.strength) for w in found for p in w.parts if len(w.parts) == 1)
    wanted = {(c.name, strength) for c in CAUSES.values() for strength in c.strengths}
    assert set(counts) == wanted and set(counts.values()) == {2}
    for part in (part for each in found for part in each.parts):
        low, high = CAUSES[part.cause].dial[part.strength]
        assert low <= part.dial <= high
    assert sum(not each.parts for each in found) == 3
    assert sum(len(each.parts) == 2 for each in found) == 4


def test_a_mixture_is_of_two_causes_in_one_experiment_lab() -> None:
    for each in drawn(CAUSES, "3", runs=0, clean=0, mixtures=40):
        one, other = (CAUSES[part.cause] for part in each.parts)
        assert one is not other
        assert one.experiment.lab == other.experiment.lab and one.mixes == other.mixes


def test_every_run_has_a_matrix_that_netlab_reads(tmp_path: Path) -> None:
    seen = set()
    for each in few("5"):
        experiment = experiment_of(CAUSES, each)
        if (each.like, bool(each.parts), each.tests) in seen:
            continue
        seen.add((each.like, bool(each.parts), each.tests))
        dial = each.parts[0].dial if each.parts else 0.0
        path = tmp_path / f"{each.name}.yaml"
        path.write_text(experiment.matrix(each.name, each.tests, dial, each.seed))
        hosts = tmp_path / "hosts.yaml"
        names = ("linux-a", "linux-b", "linux-c")
        address = "os: L, local: true, addresses: {{test: 198.18.0.{0}}}"
        lines = [f"  {name}: {{{address.format(n)}}}" for n, name in enumerate(names, start=2)]
        hosts.write_text("hosts:\n" + "\n".join(lines) + "\n")
        assert expand(load_matrix(path, {}, hosts)), each.name


def test_what_is_written_of_a_run_is_read_back() -> None:
    for each in few("1"):
        assert wanted_from_json(json.loads(json.dumps(each.as_json()))) == each


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

    def run(self: Bench, wanted: Wanted, site: Any, seen: Any, folder: Path) -> None:
        assert not folder.exists()
        names.append(wanted.name)
        folder.mkdir(parents=True)

    monkeypatch.setattr(runner, "standing", standing)
    monkeypatch.setattr(Bench, "_run", run)
    monkeypatch.setattr(Bench, "_costs_alone", lambda *_: {})
    monkeypatch.setattr(Effects, "of", lambda *_: None)
    monkeypatch.setattr(one_run, "_stolen_share", lambda *_: 0.0)
    return names


def test_a_run_that_is_whole_is_not_measured_again_and_one_that_is_half_is(
    tmp_path: Path, measured: list[str]
) -> None:
    wanted = drawn(CAUSES, "1", runs=1, clean=2, mixtures=1)
    assert runner.measure_all(wanted, CAUSES, tmp_path) == []
    assert sorted(measured) == sorted(each.name for each in wanted)
    half = wanted[3].name
    (tmp_path / half / TRUTH).unlink()
    measured.clear()
    assert runner.measure_all(wanted, CAUSES, tmp_path) == []
    assert measured == [half]


def test_a_kill_in_mid_run_loses_that_run_alone(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = drawn(CAUSES, "1", runs=1, clean=2, mixtures=0)
    whole = Bench._run

    def killed(self: Bench, wanted: Wanted, site: Any, seen: Any, folder: Path) -> str | None:
        whole(self, wanted, site, seen, folder)
        if len(measured) == 5:
            raise Killed
        return None

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Bench, "_run", killed)
        runner.measure_all(wanted, CAUSES, tmp_path)
    assert runner.measure_all(wanted, CAUSES, tmp_path) == []
    times = Counter(measured)
    assert set(times) == {each.name for each in wanted}
    assert [name for name, count in times.items() if count > 1] == [measured[4]]


def test_a_run_whose_cpus_were_taken_is_kept_aside_and_measured_again(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter((0.5, 0.021, 0.02))
    monkeypatch.setattr(one_run, "_stolen_share", lambda *_: next(shares))
    (wanted,) = drawn(CAUSES, "1", runs=0, clean=1, mixtures=0)
    runner.measure_all([wanted], CAUSES, tmp_path)
    truth = json.loads((tmp_path / wanted.name / TRUTH).read_text())
    assert measured == 3 * [wanted.name]
    assert (truth["left_out"], truth["stolen_share"]) == (2, 0.02)
    assert len(list((tmp_path / one_run.LEFT_OUT).iterdir())) == 2


def test_a_run_of_which_one_window_was_taken_is_measured_again(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter(([0.0, 0.05], [0.0, 0.02]))
    monkeypatch.setattr(one_run, "_stolen_in_trials", lambda _: next(shares))
    (wanted,) = drawn(CAUSES, "1", runs=0, clean=1, mixtures=0)
    runner.measure_all([wanted], CAUSES, tmp_path)
    assert measured == 2 * [wanted.name]


def test_a_run_that_breaks_is_told_and_the_others_are_measured(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = drawn(CAUSES, "1", runs=0, clean=3, mixtures=0)

    def effects(self: Any, wanted: Wanted, *_: Any) -> None:
        measured.append(wanted.name)
        if wanted.name == "clean-001":
            raise RuntimeError("no iperf3")
        (tmp_path / wanted.name).mkdir()

    monkeypatch.setattr(Bench, "_run", effects)
    assert runner.measure_all(wanted, CAUSES, tmp_path) == ["clean-001: RuntimeError: no iperf3"]
    assert len(measured) == 3
    assert (tmp_path / "clean-001.broken").exists()


def test_several_workers_share_what_is_not_of_cpus_and_measure_each_run_once(
    tmp_path: Path, measured: list[str]
) -> None:
    wanted = drawn(CAUSES, "1", runs=1, clean=6, mixtures=2)
    assert runner.measure_all(wanted, CAUSES, tmp_path, at_once=3) == []
    alone = {each.name for each in wanted if runner.is_alone(each, CAUSES)}
    # What other processes measured is not in this one's list.
    assert set(measured) == alone
    assert {path.parent.name for path in tmp_path.glob(f"*/{TRUTH}")} == {w.name for w in wanted}


def test_only_one_measures_on_a_machine_and_what_an_earlier_one_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    monkeypatch.setattr(runner, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(state, "names", lambda: ("lab", "truths-4", "truths0-cable"))
    monkeypatch.setattr(lab, "down", lambda name, *, forget: removed.append(f"{name} {forget}"))
    with (
        runner.machine_to_ourselves(),
        pytest.raises(SystemExit, match="another"),
        runner.machine_to_ourselves(),
    ):
        pass
    assert removed == ["truths0-cable True"]


# ---- what is held back ---------------------------------------------------------------------------


def test_the_seed_that_is_held_back_stays_and_is_nobodys_guess(tmp_path: Path) -> None:
    first = truths.held_back_seed(tmp_path / "one")
    assert truths.held_back_seed(tmp_path / "one") == first
    assert truths.held_back_seed(tmp_path / "other") != first
    assert len(first) == 16


def test_what_is_held_back_is_not_shown_when_measured_and_scored_once(
    tmp_path: Path,
    measured: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "LOCK", tmp_path / "lock")
    words = ["--held-back", "--into", os.fspath(tmp_path)]
    assert truths.main([*words, *["--runs", "0", "--clean", "2", "--mixtures", "0"]]) == 0
    told = capsys.readouterr()
    assert measured
    assert truths.held_back_seed(tmp_path / truths.HELD_BACK) not in told.out + told.err
    found: list[Any] = []
    monkeypatch.setattr(truths, "recorded", lambda _: found)
    with pytest.raises(SystemExit, match="no complete run"):
        truths.main([*words, "--score"])
    found.append((Truth("clean-000", "slower-cable", ()), ()))
    truths.main([*words, "--score"])
    assert "1 runs: 0 of one cause, 1 clean" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="was scored before"):
        truths.main([*words, "--score"])
    assert capsys.readouterr().out == ""
