"""Flows of one common window are added up if all of them were measured over the whole window."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from folders import PLAYED
from hypothesis import given
from hypothesis import strategies as st
from made_grids import trial_of

from netlab.build.binaries import local_probe
from netlab.findings.analysis import load
from netlab.remote.transport import LocalTransport, Process
from netlab.report.sections import parts_of
from netlab.report.sections.trial_times import (
    DRIFTED,
    MISSING,
    PARTLY,
    UNKNOWN,
    concurrent_rounds,
    together,
)
from netlab.report.tables.elements import Part, TableCell
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.trial.record import Record

FAKE_CLOCK = PLAYED / "fake_clock.py"


def reading(pairing: str, *mbit_per_s: float | None, window: int = 1, **more: Any) -> Record:
    """A trial of a stream in the window with this number; two figures are two directions."""
    values: dict[str, Any] = {
        "common_window": True,
        "common_window_trials": 2,
        "common_window_open_ns": window,
        "clock_bound_ns": 30_000,
        "clock_drift_ns": 0,
    }
    flows = ("",) if len(mbit_per_s) == 1 else ("to_server_", "to_client_")
    settings: dict[str, Any] = {"protocol": "UDP", "message_bytes": 1472, "duration_s": 1.0}
    if len(mbit_per_s) > 1:
        settings["direction"] = "both"
    for flow, rate in zip(flows, mbit_per_s, strict=True):
        values[f"{flow}throughput_bit_per_s"] = None if rate is None else rate * 1e6
    return trial_of(
        {**values, **more.get("values", {})},
        cell=f"{pairing} {more.get('settings')}",
        trial=window,
        pairing=pairing,
        same_host=more.get("same_host", False),
        settings={**settings, **more.get("settings", {})},
    )


def section_of(trials: Sequence[Record]) -> Part:
    section = together(trials)
    assert section is not None
    return section


def row(trials: Sequence[Record]) -> tuple[str, dict[str, TableCell], str]:
    """The only line: its label, its places by column, and all footnotes."""
    (sheet,) = section_of(trials).sheets
    (line,) = sheet.lines
    places = dict(zip(sheet.columns, line.places, strict=True))
    return line.label, places, " ".join(text for _, text in sheet.footnotes)


def test_flows_of_one_round_are_added_up_and_flows_of_two_rounds_never() -> None:
    trials = [
        *(reading("a+b", 90.0), reading("c+d", 80.0)),
        *(reading("a+c", 50.0, window=2), reading("b+d", 40.0, window=2)),
    ]
    label, places, footnotes = row(trials)
    assert label == "UDP 1472, 2 pairs"
    assert [places[name].text for name in ("flows", "rounds added up")] == ["2", "2 of 2"]
    together = [places[name].value for name in ("together, Mbit/s", "least", "most")]
    assert together == [pytest.approx(130), pytest.approx(90), pytest.approx(170)]
    assert footnotes == ""


def test_both_directions_of_one_pair_are_added_up() -> None:
    values = {"common_window_trials": 1}
    label, places, _ = row([reading("LL", 91.0, 90.0, values=values)])
    assert label == "LL, UDP 1472"
    assert places["together, Mbit/s"].value == pytest.approx(181)


def test_a_round_of_pairings_by_letter_is_labelled_with_pairings_and_settings() -> None:
    small = {"message_bytes": 64}
    assert row([reading("LL", 9.0), reading("WW", 8.0)])[0] == "LL with WW, UDP 1472"
    assert row([reading("LL", 9.0), reading("WW", 8.0, settings=small)])[0] == (
        "LL UDP 1472 with WW UDP 64"
    )


@pytest.mark.parametrize(
    ("partner", "reason"),
    [
        (None, MISSING),
        (reading("c+d", None), MISSING),
        (reading("c+d", 80.0, values={"common_window": False}), PARTLY),
        (reading("c+d", 80.0, values={"clock_drift_ns": 1_000_001}), DRIFTED),
        (reading("c+d", 80.0, values={"clock_drift_ns": None}), UNKNOWN),
    ],
)
def test_a_round_without_one_of_its_flows_has_no_sum_and_states_why(
    partner: Record | None, reason: str
) -> None:
    trials = [reading("a+b", 90.0), *([] if partner is None else [partner])]
    _, places, footnotes = row(trials)
    assert places["rounds added up"].text == "0 of 1"
    assert places["together, Mbit/s"].value is None
    assert footnotes == reason[0].upper() + reason[1:]


def test_a_round_without_a_sum_is_left_out_of_the_mean_of_all_rounds() -> None:
    missed = {"common_window": False}
    trials = [
        *(reading("a+b", 90.0), reading("c+d", 80.0)),
        *(reading("a+c", 5.0, window=2), reading("b+d", 4.0, window=2, values=missed)),
    ]
    _, places, footnotes = row(trials)
    assert places["rounds added up"].text == "1 of 2"
    assert places["together, Mbit/s"].value == pytest.approx(170)
    assert "did not send" in footnotes


def test_trials_alone_or_within_one_machine_have_no_section_on_concurrent_trials() -> None:
    values = {"common_window_trials": 1}
    assert together([reading("a+b", 90.0, values=values)]) is None
    assert together([reading("a+a", 90.0, same_host=True), reading("b+b", 9.0)]) is None
    assert together([reading("a+b", 90.0, values={"common_window_open_ns": None})]) is None


def test_the_section_on_concurrent_trials_states_the_uncertainty_of_the_common_window() -> None:
    (sentence,) = section_of([reading("a+b", 90.0), reading("c+d", 80.0)]).paragraphs
    assert "2 trials in 1 round, up to 2 flows at once" in sentence
    assert "known to within 30.00 µs" in sentence


figures = st.lists(st.floats(0.1, 1e5), min_size=1, max_size=6)


@given(st.lists(st.tuples(figures, st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_the_sum_of_a_round_covers_all_of_its_flows_or_is_absent(
    rounds: list[tuple[list[float], bool, bool]],
) -> None:
    trials = []
    for window, (rates, is_common, in_step) in enumerate(rounds):
        values = {
            "common_window_trials": len(rates) + 1,
            "common_window": is_common,
            "clock_drift_ns": 0 if in_step else 10**9,
        }
        trials += [
            reading(f"s{n}+c{n}", rate, window=window, values=values)
            for n, rate in enumerate([1.0, *rates])
        ]
    for round_, (rates, is_common, in_step) in zip(concurrent_rounds(trials), rounds, strict=True):
        if is_common and in_step:
            assert round_.bit_per_s == pytest.approx(1e6 * (1 + sum(rates)))
        else:
            assert round_.bit_per_s is None


# Real agents with different clocks, one of which runs fast

MATRIX = """\
title: five hosts, five clocks
pairings: [a+b, c+d, b+a, c+e]
parallel: true
defaults: {duration: 300ms, warm_up: 300ms, socket_buffer: auto}
tests:
  - {test: stream, protocol: UDP, message_size: 1472, rate: 5Mbit}
hosts: {a: {local: true}, b: {local: true}, c: {local: true}, d: {local: true}, e: {local: true}}
"""
CLOCKS = {"a": (0, 0), "b": (3600, 0), "c": (900, 0), "d": (17, 100_000), "e": (86_400, 0)}
"""Host → seconds by which its clock is off, and parts in a million by which it runs fast."""


@pytest.mark.lab
@pytest.mark.alone
def test_clock_offsets_do_not_prevent_sums_of_concurrent_flows_but_a_clock_skew_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = LocalTransport.start

    def with_a_clock_of_its_own(self: LocalTransport, argv: Sequence[str]) -> Process:
        words = map(str, CLOCKS[self._host.name])
        return start(self, [sys.executable, "-S", str(FAKE_CLOCK), *words, *argv])

    local_probe()
    monkeypatch.setattr(LocalTransport, "start", with_a_clock_of_its_own)
    matrix, folder = tmp_path / "m.yaml", tmp_path / "run"
    matrix.write_text(MATRIX)
    outcome = run(Options(matrix=matrix, into=folder), Progress(as_json=True))
    assert outcome.counts == {"ok": 4}
    analysis = load(folder)
    # One machine stands for five hosts, so the trials are made to look as if between machines.
    of_cables = [
        dataclasses.replace(trial, values={**trial.values, "same_host": False})
        for trial in analysis.trials
    ]
    drifts_ns = {trial.pairing: trial.number("clock_drift_ns") for trial in of_cables}
    assert drifts_ns["a+b"] == drifts_ns["b+a"] == drifts_ns["c+e"] == 0
    # A tenth of the third of a second before the window and of the window, 60 ms, less what this
    # machine leaves unknown of the clocks.
    assert (drifts_ns["c+d"] or 0) > 2e6
    rounds = {
        frozenset(r.pairing for r in together.records): together
        for together in concurrent_rounds(of_cables)
    }
    assert rounds.keys() == {frozenset({"a+b", "c+d"}), frozenset({"b+a", "c+e"})}
    assert rounds[frozenset({"a+b", "c+d"})].why_not == DRIFTED
    rates = [
        r.flows[""].throughput_bit_per_s or 0 for r in of_cables if r.pairing in ("b+a", "c+e")
    ]
    assert rounds[frozenset({"b+a", "c+e"})].bit_per_s == sum(rates) > 0
    section = next(s for s in parts_of(analysis, of_cables) if s.name == "together")
    assert section.sheets[0].lines[0].places[1].text == "1 of 2"
