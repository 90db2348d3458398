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

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.over_time import BlockTable, _residuals, drifts, first_trials, within_blocks
from netlab.findings.series import series_of
from netlab.report.text.findings import RunIndex, sentence, statement
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Value

KINDS = {Kind.TREND_PROVED, Kind.TREND_POSSIBLE, Kind.FIRST_TRIAL_SLOWER}


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
    assert finding.kind is Kind.TREND_PROVED
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
    assert finding.kind is Kind.TREND_PROVED
    assert finding.evidence["change_share"] == pytest.approx(1.01**11 - 1, abs=0.03)


def test_a_change_below_1_percent_or_a_single_jump_is_no_drift() -> None:
    assert findings_of(run(12, 8, lambda block: 1 - 0.008 * block / 7, scatter=0)) == []
    assert findings_of(run(12, 10, lambda block: 1.0 if block < 8 else 0.9)) == []


def test_a_trend_is_consistent_with_drift_over_four_blocks_and_not_reported_over_two() -> None:
    (finding,) = findings_of(run(12, 4, lambda block: 1 - 0.02 * block))
    assert finding.kind is Kind.TREND_POSSIBLE
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
    slow_start = blocks_of(12, 0.9, 1.0, 1.0)
    assert list(first_trials(slow_start, series_of(slow_start), imported=True)) == []


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


def blocks_of(cells: int, *factors: float, round_trips: bool = False) -> Analysis:
    """A run whose blocks have the figures of the cells times these factors."""
    return run(
        cells, len(factors), lambda block: factors[block], scatter=0, round_trips=round_trips
    )


def kinds(cells: int, *factors: float) -> list[Kind]:
    return [finding.kind for finding in findings_of(blocks_of(cells, *factors))]


def test_a_drift_has_its_change_its_counts_its_probability_its_duration_and_all_trials() -> None:
    (finding,) = findings_of(run(12, 8, lambda block: 0.99**block, scatter=0))
    cells = tuple(f"cell-{number}" for number in range(12))
    assert (finding.kind, finding.group) == (Kind.TREND_PROVED, Group())
    assert finding.cells == cells
    assert finding.evidence == pytest.approx(
        # Two of the 8! orders of the blocks only rise or only fall. 96 trials, one a second.
        {
            "change_share": 0.99**7 - 1,
            "blocks": 8,
            "cells": 12,
            "p_value": 2 / 40_320,
            "lasted_s": 95.0,
        }
    )
    assert str(finding.words["what"]) == "throughput"
    assert finding.trials == tuple((cell, trial) for cell in cells for trial in range(1, 9))


def test_the_probability_of_a_trend_over_few_blocks_is_that_of_all_cells_together() -> None:
    (finding,) = findings_of(run(5, 3, lambda block: 1.02**-block, scatter=0))
    assert finding.kind is Kind.TREND_POSSIBLE
    assert finding.evidence == pytest.approx(
        {
            "change_share": 1.02**-2 - 1,
            "blocks": 3,
            "cells": 5,
            "p_value": 2 / 6**5,
            "lasted_s": 14.0,
        }
    )
    assert kinds(4, 1, 1.02**-1, 1.02**-2) == [], "four cells are too few"


def test_a_drift_needs_a_tau_of_at_least_0_6() -> None:
    """Seven of the blocks run backwards: 21 pairs fall, of 105 or of 91."""
    levels = [0, 1, 2, 9, 8, 7, 6, 5, 4, 3, 10, 11, 12, 13, 14]
    factors = [1.01**level for level in levels]
    assert kinds(1, *factors) == [Kind.TREND_PROVED], "63 of 105 is 0.6"
    assert kinds(1, *factors[:-1]) == [], "49 of 91 is 0.54"


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((0, 0.7, 0.8, 1), [Kind.TREND_POSSIBLE]),  # 30 % of the change after the second
        ((0, 0.78, 1), []),  # 22 %
        ((0, 0.5, 0.5, 1), []),  # a block without a change
    ],
)
def test_a_trend_over_few_blocks_goes_on_in_every_block_with_a_quarter_after_the_second(
    levels: tuple[float, ...], expected: list[Kind]
) -> None:
    assert kinds(12, *(0.9**level for level in levels)) == expected


def test_slower_first_trials_have_their_change_from_the_median_of_the_others_and_their_trials() -> (
    None
):
    """The geometric mean of the second and the third block is the square root of 1.02."""
    cells = tuple(f"cell-{number}" for number in range(8))
    middle = 1.02**0.5
    for round_trips, first in ((False, 0.9), (True, 1.1)):
        (finding,) = findings_of(blocks_of(8, first, 1.02, 1.0, round_trips=round_trips))
        assert (finding.kind, finding.group) == (Kind.FIRST_TRIAL_SLOWER, Group())
        assert finding.cells == cells
        assert finding.evidence == pytest.approx(
            {"change_share": first / middle - 1, "slower_cells": 8, "cells": 8, "blocks": 3}
        )
        assert str(finding.words["what"]) == ("round trips" if round_trips else "throughput")
        assert finding.trials == tuple((cell, 1) for cell in cells)


def test_the_number_of_blocks_is_the_one_that_gives_the_table_the_most_figures() -> None:
    """2 blocks of 5 cells are 10 figures, 6 of 4 are 24, and 8 of 1 are 8."""
    analysis = run(5, 8, lambda block: 0.99**block, scatter=0)
    blocks = dict(zip([f"cell-{number}" for number in range(5)], [2, 6, 6, 6, 8], strict=True))
    kept = [record for record in analysis.records if record.trial <= blocks[record.cell]]
    (finding,) = findings_of(run_of(analysis.plan, kept))
    assert (finding.evidence["blocks"], finding.evidence["cells"]) == (6, 4)


def test_three_blocks_that_end_where_they_began_have_no_trend() -> None:
    assert kinds(5, 1.0, 1.05, 1.0) == []


def test_figures_are_compared_with_the_geometric_mean_of_their_own_cell() -> None:
    e = math.e
    table = BlockTable("rtt_mean_ns", {("a", ""): (1.0, e**2), ("b", ""): (e**3, e**3)})
    first, second = _residuals(table)
    assert first == pytest.approx([-1, 1])
    assert second == pytest.approx([0, 0])
