"""The report compares what the matrix asks to compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_parts import Make, part_of, place, why
from made_readings import MATRIX, failure, of_round_trips, plan_of, planned, result, round_trip_run

from netlab.compare.align import AlignedPair, judge_groups
from netlab.experiment.cells import Comparison
from netlab.findings.analysis import Analysis, load
from netlab.report.sections import comparisons, parts_of
from netlab.report.tables.elements import Part
from netlab.store.plan import Plan
from netlab.trial.column import Quantity
from netlab.trial.record import Record


def compare(run: Analysis, **sides: Any) -> Part:
    comparison = Comparison("asked", **sides)
    part = comparisons.part(comparisons.judged(run.trials, [comparison]))
    assert part is not None
    return part


RECEIVE: dict[str, Any] = {
    "baseline": {"server_receive": "spinning"},
    "contender": {"server_receive": "blocking"},
}


def test_a_comparison_states_round_trips_as_percent_longer_or_as_twice_as_long(make: Make) -> None:
    part = compare(make(*round_trip_run(5)), **RECEIVE)
    (sheet,) = part.sheets
    short = place(sheet, "UDP 18, mean round trip", "in words").text
    long = place(sheet, "UDP 1472, mean round trip", "in words").text
    assert short.startswith("2") and "% longer (+" in short
    assert long.startswith("twice as long (1.9") or long.startswith("twice as long (2.0")
    sentence = next(text for text in part.paragraphs if "mean round trip" in text)
    assert f"{short} for UDP 18" in sentence
    assert f"{long} for UDP 1472" in sentence


def test_equal_cells_are_reported_as_equivalent(make: Make) -> None:
    (sheet,) = compare(make(*round_trip_run(5)), **RECEIVE).sheets
    words = place(sheet, "UDP 18, mean time in the mirror’s stack", "in words").text
    assert words.startswith("equivalent within ±0.5 %")


def test_a_noisy_comparison_is_inconclusive_and_states_the_detectable_difference(
    make: Make,
) -> None:
    run = make(*scattered([100, 130, 90, 120], [110, 95, 125, 101]))
    (sheet,) = compare(run, **RECEIVE).sheets
    words = place(sheet, "UDP 18", "in words").text
    assert words.startswith("inconclusive (")
    assert "; four of five such runs would show " in words


def test_a_difference_that_may_be_chance_among_many_comparisons_is_inconclusive(make: Make) -> None:
    sizes = range(100, 112)
    cells = [
        planned("round_trip", message_bytes=size, server_receive=word)
        for size in sizes
        for word in ("spinning", "blocking")
    ]
    base, same, apart = (100, 104, 102), (102, 100, 104), (104, 109, 105.5)
    records = [
        result(cell, trial, of_round_trips([round(1000 * us)] * 9))
        for cell in cells
        for trial, us in enumerate(
            base
            if cell.settings["server_receive"] == "spinning"
            else apart
            if cell.settings["message_bytes"] == 100
            else same,
            start=1,
        )
    ]
    (sheet,) = compare(make(plan_of(cells, 3), records), **RECEIVE).sheets
    words = place(sheet, "UDP 100", "in words").text
    assert words.startswith("inconclusive among so many comparisons (+")


def test_a_comparison_of_single_trials_gives_a_ratio_but_no_interval_or_verdict(make: Make) -> None:
    (sheet,) = compare(make(*scattered([100], [200])), **RECEIVE).sheets
    assert place(sheet, "UDP 18", "in words").text.startswith("cannot tell")
    assert place(sheet, "UDP 18", "95 % interval").text == ""
    assert place(sheet, "UDP 18", "ratio").text == "2.000"


def test_a_comparison_pairs_trials_by_number_and_leaves_out_pairs_with_a_failure(
    make: Make,
) -> None:
    plan, records = scattered([100, 110, 120], [200, 220, 240])
    failed_record = failure(plan.cells[1], 2)
    remainder = [r for r in records if not (r.cell == failed_record.cell and r.trial == 2)]
    (sheet,) = compare(make(plan, [*remainder, failed_record]), **RECEIVE).sheets
    assert place(sheet, "UDP 18", "pairs").text == "2"
    assert place(sheet, "UDP 18", "ratio").value == pytest.approx(2.0)
    assert "(no-answer)" in why(sheet, place(sheet, "UDP 18", "baseline"))


def test_two_pairings_can_be_compared(make: Make) -> None:
    cells = [planned("round_trip", pairing) for pairing in ("LL", "WL")]
    records = [
        result(cell, trial, of_round_trips([(1000 if cell.pairing == "LL" else 1500) + trial] * 9))
        for cell in cells
        for trial in (1, 2, 3)
    ]
    part = compare(
        make(plan_of(cells, 3), records), baseline={"pairing": "LL"}, contender={"pairing": "WL"}
    )
    assert place(part.sheets[0], "UDP 18", "in words").text.startswith("50 % longer")


def test_a_comparison_of_a_setting_that_the_run_never_varied_has_a_sentence_and_no_table(
    make: Make,
) -> None:
    part = compare(
        make(*scattered([100], [200])),
        baseline={"udp_checksum": True},
        contender={"udp_checksum": False},
    )
    assert "no two cells of this run differ" in part.paragraphs[0]
    assert part.sheets == ()


def test_the_report_makes_the_comparisons_of_the_matrix(make: Make) -> None:
    part = part_of(make(*round_trip_run(3)), "comparisons")
    assert part.sheets[0].title.startswith("A mirror that never sleeps: ")


def test_a_comparison_can_be_added_to_the_matrix_after_the_run(make: Make) -> None:
    plan, records = round_trip_run(2)
    run = make(plan_of(plan.cells, 2, matrix_text="title: made up\n"), records)
    assert "comparisons" not in [part.name for part in parts_of(run, run.trials)]
    (run.path / "matrix.yaml").write_text(MATRIX)
    part = part_of(load(run.path), "comparisons")
    assert len(part.sheets[0].lines) == 4


@pytest.mark.parametrize("text", ["compare: [", MATRIX.replace("baseline", "base"), "compare: 3"])
def test_an_unreadable_matrix_gives_no_comparison_and_the_report_states_the_error(
    make: Make, text: str
) -> None:
    plan, records = scattered([100], [200])
    run = make(plan_of(plan.cells, 1, matrix_text=text), records)
    part = part_of(run, "comparisons")
    assert part.sheets == ()
    assert part.paragraphs[0].startswith(
        "Nothing is compared: the run’s matrix.yaml cannot be read"
    )
    assert "matrix.yaml:" in part.paragraphs[0]


def scattered(baseline: Sequence[int], contender: Sequence[int]) -> tuple[Plan, list[Record]]:
    """A spinning and a blocking mirror with these mean round trips in µs, a trial each."""
    cells = [planned("round_trip", server_receive=word) for word in ("spinning", "blocking")]
    records = [
        result(cell, trial, of_round_trips([1000 * us] * 9))
        for cell, times in zip(cells, (baseline, contender), strict=True)
        for trial, us in enumerate(times, start=1)
    ]
    return plan_of(cells, len(baseline)), records


# The first lines of the report

THROUGHPUT = Quantity("throughput", "Mbit/s", 1e6, "more", "less", lambda _: None)


def without_difference(trials: Sequence[int]) -> list[AlignedPair]:
    """Two cells for each number of trials, whose figures differ by noise alone."""
    noise = ((100.0, 104.0, 102.0), (102.0, 100.0, 104.0))
    return [
        AlignedPair(
            label=f"TCP {number}",
            cells=(f"old {number}", f"new {number}"),
            quantity=THROUGHPUT,
            baseline=dict(enumerate(noise[0][:count])),
            contender=dict(enumerate(noise[1][:count])),
            paired=True,
        )
        for number, count in enumerate(trials)
    ]


def answers_to(*groups: list[AlignedPair]) -> list[str]:
    asked = [
        Comparison(f"question {number}", {"streams": 1}, {"streams": 4})
        for number in range(len(groups))
    ]
    verdicts = tuple(zip(asked, judge_groups(groups), strict=True))
    return [str(line.sentence) for line in comparisons.answers(verdicts)]


def test_an_answer_counts_the_compared_pairs_of_cells_and_says_why_others_were_not() -> None:
    assert answers_to(without_difference([3] * 4 + [1] * 12)) == [
        "question 0: throughput without a significant difference in any of 4 pairs of cells, "
        "not compared: 12 with one pair of trials each"
    ]
    assert answers_to(without_difference([3, 3]), without_difference([3, 0, 0])) == [
        "No significant difference in any pair of cells: question 0 (throughput, 2 pairs); "
        "question 1 (throughput, 1 pair, not compared: 2 without a pair of trials with figures)"
    ]


@given(st.lists(st.lists(st.sampled_from([0, 1, 3]), min_size=2, max_size=9), min_size=1))
def test_answers_never_count_a_pair_of_cells_that_was_not_compared(
    trials: list[list[int]],
) -> None:
    lines = answers_to(*map(without_difference, trials))
    for number, counts in enumerate(trials):
        (line,) = [line for line in lines if re.search(rf"\bquestion {number}\b", line)]
        (part,) = re.findall(rf"question {number}(?: \((.*?)\)(?=; question|$)|: (.*))", line)
        text = "".join(part)
        compared = re.findall(r"(?:any of|difference in|throughput,) (\d+) pair", text)
        assert compared == ([str(counts.count(3))] if 3 in counts else [])
        assert ("compared in no pair of cells" in text) == (3 not in counts)
        for count, words in ((1, "with one pair of trials"), (0, "without a pair of trials")):
            assert re.findall(rf"(\d+) {words}", text) == [str(counts.count(count))] * (
                count in counts
            )
        assert ("significant" in line) == (3 in counts)


def test_the_table_of_a_comparison_names_its_means(make: Make) -> None:
    (sheet,) = compare(make(*scattered([100, 400], [100, 400])), **RECEIVE).sheets
    assert "mean round trip, geometric mean, baseline server" in sheet.title
    assert place(sheet, "UDP 18", "baseline").value == pytest.approx(200)
