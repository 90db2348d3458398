"""Runs of the space of causes: the forwarder's rules, resumption, and what is held back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.space import held_back, one_run, space
from benchmarks.space.draw import Planned, chosen, drawn
from benchmarks.space.forwarder import SOURCE, counters_from
from benchmarks.space.plants import selector_of
from benchmarks.space.rows import ROWS
from benchmarks.space.rules_of import MOST, acting_share, rule_of
from benchmarks.space.words import Words
from benchmarks.truths import runner
from benchmarks.truths.one_run import TRUTH
from netlab.lab import state

RUNS = drawn("3")
NAMES = {*re.findall(r'\{"(\w+)", offsetof', SOURCE.read_text("utf-8")), "do", "when", "way"}


def planter(words: Words) -> str:
    return ROWS[f"{words.where} {words.what}"].planter


def test_each_cause_between_the_hosts_is_a_rule_that_the_forwarder_knows() -> None:
    rules = 0
    for run in RUNS:
        for words in run.parts:
            if planter(words) == "forwarder":
                parts = dict(part.split("=") for part in rule_of(words, run.stand).split(","))
                assert parts.keys() <= NAMES, parts
                assert parts["off"] == "1" and "None" not in parts.values()
                assert ("when" in parts) == (words.when in ("periodic", "bursts", "begin"))
                assert (parts["way"] == "ba") == (words.where == "path-back")
                assert words.which == "all" or len(parts) > 4
                assert all(float(v) >= 0 for v in parts.values() if re.fullmatch(r"[\d.e+-]+", v))
                rules += 1
    assert rules > 200


def test_a_cause_that_comes_and_goes_takes_its_share_of_the_whole_time() -> None:
    assert acting_share(Words("path", "rate", share=0.1)) == 0.1
    assert acting_share(Words("path", "rate", when="periodic", share=0.1)) == 0.2
    assert acting_share(Words("path", "drops", when="bursts", share=0.4)) == MOST
    assert acting_share(Words("path", "rate", when="begin", share=0.02)) == pytest.approx(0.1)
    assert acting_share(Words("path", "pause", when="periodic", share=0.4)) == 0.4


def test_a_cause_in_some_trials_is_in_some_but_not_in_all_and_one_that_comes_stays() -> None:
    for run in RUNS:
        for words in run.parts:
            selector = selector_of(run, words)
            trials = [selector(number) for number in range(1, run.stand.repeats + 1)]
            if words.when in ("trials", "onset"):
                assert any(trials) and not all(trials)
            else:
                assert all(trials)
            if words.when == "onset":
                assert trials == sorted(trials)


def test_the_counters_of_a_rule_say_which_share_it_acted_on() -> None:
    pairs = {"matched": [10, 0], "matched_bytes": [1, 0], "active": [8, 0], "acted": [2, 0]}
    rule = {"do": "drop", **pairs, "acted_bytes": [1, 0], "dropped": [2, 0]}
    port = {"name": "linux-a", "missed": 3}
    counters = counters_from(json.dumps({"ports": [port, port], "rules": [rule], "no_room": 0}))
    assert counters.rules[0].share == 0.25
    assert counters.own_loss == 6


# ---- resumption ----------------------------------------------------------------------------------


class Killed(BaseException):
    """As if by a signal that nothing catches."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of the runs that were measured; no lab, and a run has an empty folder."""
    names: list[str] = []

    @contextmanager
    def standing(planned: Planned) -> Iterator[Any]:
        yield SimpleNamespace()

    def both(planned: Planned, site: Any, folder: Path, evidence: list[dict[str, Any]]) -> None:
        names.append(planned.name)
        evidence += [
            {"cells": [], "shares": {"planted": words.share}, "acted": True}
            for words in planned.parts
        ]

    monkeypatch.setattr(one_run, "standing", standing)
    monkeypatch.setattr(one_run, "_both", both)
    monkeypatch.setattr(space, "built", lambda: None)
    monkeypatch.setattr(runner, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(state, "names", tuple)
    monkeypatch.setattr("benchmarks.truths.one_run._stolen_share", lambda *_: 0.0)
    return names


def test_complete_runs_of_the_space_are_not_measured_again_after_a_kill(
    measured: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = chosen(RUNS, {}, 5)
    both = one_run._both

    def killed(planned: Planned, *rest: Any) -> None:
        both(planned, *rest)
        if len(measured) == 3:
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(one_run, "_both", killed)
        space.measure_all(runs, tmp_path)
    assert space.measure_all(runs, tmp_path) == []
    assert [name for name in measured if measured.count(name) > 1] == 2 * [runs[2].name]
    assert {path.parent.name for path in tmp_path.glob(f"*/{TRUTH}")} == {run.name for run in runs}


def test_a_run_of_the_space_that_does_not_end_is_given_up() -> None:
    with pytest.raises(TimeoutError, match=r"0\.05 s"), one_run.deadline(0.05):
        while True:
            os.getpid()


def test_runs_of_one_left_out_thing_are_scored_alone(
    measured: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--into", os.fspath(tmp_path), "--seed", "3", "--limit", "40", "--leave-out", "drops"]
    assert space.main(words) == 1
    those = [run for run in RUNS[:40] if any(part.what == "drops" for part in run.parts)]
    assert those and f"{len(those)} runs:" in capsys.readouterr().out


def test_words_that_choose_runs_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        space.main(["--only", "where=there"])
    assert "sender-queue" in capsys.readouterr().err


# ---- what is held back ---------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose benchmark is older than its rules."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "benchmarks/space/draw.py")
    commit(root, "netlab/findings/rules.py")
    return root


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    argv = ["git", *who, *words]
    return subprocess.run(argv, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, name: str) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{name}{path.read_text() if path.exists() else ''}")
    git(root, "add", name)
    git(root, "commit", "--quiet", "-m", name)
    return git(root, "rev-parse", "HEAD")


def test_the_held_back_seed_is_that_of_the_last_commit_of_the_rules(repository: Path) -> None:
    kept = repository / "kept.json"
    draw = held_back.present_draw(kept, repository)
    commit(repository, "docs/page.md")
    assert held_back.present_draw(kept, repository) == draw
    later = commit(repository, "probes/probe.c")
    assert held_back.present_draw(kept, repository).rules == later
    assert held_back.present_draw(kept, repository).seed != draw.seed
    assert len(draw.seed) == 64


def test_a_held_back_draw_needs_an_older_benchmark_and_no_open_change(repository: Path) -> None:
    kept = repository / "kept.json"
    (repository / "netlab/findings/rules.py").write_text("changed")
    with pytest.raises(SystemExit, match="commit the changes"):
        held_back.present_draw(kept, repository)
    commit(repository, "netlab/findings/rules.py")
    commit(repository, "benchmarks/space/score.py")
    with pytest.raises(SystemExit, match="is not older than the rules"):
        held_back.present_draw(kept, repository)


def test_each_draw_is_scored_once_and_three_are_kept_together(repository: Path) -> None:
    kept = repository / "kept.json"
    runs = [run for run in RUNS if run.kind != "healthy"][:4]
    judgements = [
        held_back._read(
            {
                "name": run.name,
                "kind": run.kind,
                "parts": [[*(word for _, word in part.each()), part.share] for part in run.parts],
                "counts": True,
                "outcome": "right",
                "named": [True] * len(run.parts),
                "first": None,
            }
        )
        for run in runs
    ]
    for number in range(held_back.MOST_DRAWS):
        held_back.keep(held_back.present_draw(kept, repository), judgements, kept)
        with pytest.raises(SystemExit, match="were scored"):
            held_back.present_draw(kept, repository)
        commit(repository, f"netlab/findings/more-{number}.py")
    with pytest.raises(SystemExit, match="3 draws were scored"):
        held_back.present_draw(kept, repository)
    together = held_back.all_judged(kept)
    assert len(together) == 3 * len(runs)
    assert [each.truth.planned.parts for each in together[:4]] == [run.parts for run in runs]
    assert {each.outcome for each in together} == {"right"}
