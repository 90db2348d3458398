"""Findings report drift over blocks and slower first trials."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from draws import chance, drawn
from made_findings import plan_of, run_of
from made_runs import made_record, ticking

from netlab.experiment.records import Record, Value
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.findings.over_time.blocks import within_blocks
from netlab.findings.over_time.drift import drifts, first_trials
from netlab.findings.series import series_of
from netlab.report.text.findings import sentence, statement
from netlab.report.text.run_index import RunIndex
from netlab.store.plan import PlannedCell

KINDS = {Kind.DRIFT, Kind.CONSISTENT_WITH_DRIFT, Kind.FIRST_TRIAL_SLOWER}


def run(
    cells: int,
    blocks: int,
    factor: Callable[[int], float] = lambda block: 1.0,
    *,
    scatter: float = 0.005,
    seed: int = 1,
    round_trips: bool = False,
    began: bool = True,
) -> Analysis:
    """A run by blocks: each cell once per block, its figure times ``factor`` of the block."""
    rng = random.Random(seed)  # noqa: S311
    clock = ticking()
    test = "round_trip" if round_trips else "stream"
    planned_cells = []
    for number in range(cells):
        size = 1000 + number
        settings: dict[str, Value] = {"protocol": "TCP", "message_bytes": size, "duration_s": 1.0}
        planned_cells.append(PlannedCell(f"cell-{number}", "LL", test, settings))
    records: list[Record] = []
    for block in range(blocks):
        for cell in rng.sample(planned_cells, cells):
            size = int(str(cell.settings["message_bytes"]))
            value = 1e4 * size * factor(block) * math.exp(rng.gauss(0, scatter))
            values: dict[str, Value] = {"rtt_mean_ns": value, "same_host": False}
            if not round_trips:
                values = {"throughput_bit_per_s": value, "same_host": False}
            record = made_record(cell, block + 1, values=values)
            at = clock() if began else ""
            records.append(replace(record, test=test, started_at=at))
    return run_of(plan_of(planned_cells, None, repeats=blocks), records)


def findings_of(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind in KINDS]


def test_a_run_that_slows_down_by_4_percent_is_a_drift_of_4_percent() -> None:
    analysis = run(12, 8, lambda block: 1 - 0.04 * block / 7, scatter=0)
    (finding,) = findings_of(analysis)
    assert finding.kind is Kind.DRIFT
    assert sentence(finding, RunIndex(analysis)) == (
        "Throughput: -4 % from the first to the last of 8 blocks, over 1 min 35 s, as the median "
        "of 12 cells; chance alone gives such a change in one of 20,000 runs."
    )
    assert len(finding.trials) == 96


def test_a_small_drift_of_round_trips_is_stated_with_one_decimal() -> None:
    (finding,) = findings_of(
        run(6, 10, lambda block: 1 + 0.013 * block / 9, scatter=0, round_trips=True)
    )
    assert statement(finding).startswith(
        "round trips: +1.3 % from the first to the last of 10 blocks"
    )


def test_a_single_cell_with_twelve_trials_can_show_a_drift() -> None:
    (finding,) = findings_of(run(1, 12, lambda block: 1.01**block))
    assert finding.kind is Kind.DRIFT
    assert finding.evidence["change_share"] == pytest.approx(1.01**11 - 1, abs=0.03)


def test_a_change_below_1_percent_or_a_single_jump_is_no_drift() -> None:
    assert findings_of(run(12, 8, lambda block: 1 - 0.008 * block / 7, scatter=0)) == []
    assert findings_of(run(12, 10, lambda block: 1.0 if block < 8 else 0.9)) == []


def test_a_trend_is_consistent_with_drift_over_four_blocks_and_not_reported_over_two() -> None:
    (finding,) = findings_of(run(12, 4, lambda block: 1 - 0.02 * block))
    assert finding.kind is Kind.CONSISTENT_WITH_DRIFT
    assert "consistent with drift, but 4 blocks are too few to prove it" in statement(finding)
    assert findings_of(run(12, 2, lambda block: 1 - 0.02 * block)) == []
    assert findings_of(run(2, 4, lambda block: 1 - 0.02 * block)) == [], (
        "of two cells nobody can tell"
    )


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_slower_first_trials_are_reported_as_slower_first_trials_and_not_as_drift(
    blocks: int,
) -> None:
    (finding,) = findings_of(run(12, blocks, lambda block: 1.0 if block else 0.95))
    assert finding.kind is Kind.FIRST_TRIAL_SLOWER
    assert statement(finding).startswith("throughput of the first trials: -")
    assert finding.evidence["change_share"] == pytest.approx(-0.05, abs=0.005)
    assert f"slower in 12 of 12 cells (n = {blocks} trials each)" in statement(finding)
    (slow,) = findings_of(run(12, blocks, lambda block: 1.0 if block else 1.05, round_trips=True))
    assert statement(slow).startswith("round trips of the first trials: +")
    assert findings_of(run(12, blocks, lambda block: 1.0 if block else 1.05)) == [], "it is faster"


def test_four_cells_are_too_few_for_a_finding_about_first_trials() -> None:
    assert findings_of(run(4, 5, lambda block: 1.0 if block else 0.9)) == []


def test_drift_ignores_trials_repeated_after_their_block_or_without_a_start_time() -> None:
    analysis = run(3, 8, lambda block: 1 - 0.04 * block / 7)
    assert findings_of(run(12, 8, lambda block: 1 - 0.04 * block / 7, began=False)) == []
    again = replace(analysis.records[0], attempt=2, started_at="2026-01-31T13:00:00.000000Z")
    later = run_of(analysis.plan, [*analysis.records, again])
    assert (again.cell, 1) not in within_blocks(later)
    assert len(within_blocks(later)) == 23


def test_imported_runs_have_no_drift_and_no_first_trial_finding() -> None:
    analysis = run(12, 8, lambda block: 1 - 0.04 * block / 7)
    series = series_of(analysis)
    assert list(drifts(analysis, series, imported=True)) == []
    assert list(first_trials(analysis, series, imported=True)) == []


def test_random_runs_without_drift_rarely_have_a_drift_or_first_trial_finding() -> None:
    rng, number = chance(11), drawn(30, 400)
    wrong: list[Sequence[Finding]] = []
    for seed in range(number):
        scatter = rng.choice([0.001, 0.01, 0.05])
        block_scatter = rng.choice([0, 0.003, 0.02])
        analysis = run(
            rng.choice([1, 5, 12, 30]),
            rng.choice([3, 5, 6, 10, 15]),
            lambda block, by=block_scatter, key=seed: math.exp(  # type: ignore[misc]
                random.Random(f"{key} {block}").gauss(0, by)  # noqa: S311
            ),
            scatter=scatter,
            seed=seed,
        )
        series = series_of(analysis)
        findings = (
            *drifts(analysis, series, imported=False),
            *first_trials(analysis, series, imported=False),
        )
        wrong += [findings] if findings else []
    warnings = [finding for of_run in wrong for finding in of_run if finding.severity == "warning"]
    assert len(warnings) <= number // 60
    assert len(wrong) <= max(3, number // 25)


def test_nearly_all_random_drifts_are_found_with_their_direction() -> None:
    rng, number = chance(12), drawn(15, 100)
    missed = 0
    for seed in range(number):
        change = rng.choice([-1, 1]) * rng.uniform(0.05, 0.3)
        blocks = rng.randint(7, 14)
        analysis = run(
            rng.choice([3, 8, 20]),
            blocks,
            lambda block, by=change, of=blocks: math.exp(by * block / (of - 1)),  # type: ignore[misc]
            scatter=rng.choice([0.001, 0.005]),
            seed=seed,
        )
        findings = list(drifts(analysis, series_of(analysis), imported=False))
        missed += not findings
        assert all(finding.evidence["change_share"] * change > 0 for finding in findings)
    assert missed <= number // 20
