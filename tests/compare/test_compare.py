"""netlab compare compares two runs, or two values of an axis, and prints the verdicts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from folders import REPORTS
from made_readings import drawn_ns, of_round_trips, planned
from made_streams import LESS, STEADY, Mbit, netlab, only_row, run_of, stream, stream_run, two

from netlab.compare.align import smallest_shown
from netlab.compare.runs import compare_levels, compare_runs
from netlab.errors import UsageError
from netlab.findings.analysis import load
from netlab.report.comparison_text import WRITERS

LAB_REPORT = REPORTS / "lab-report"

FASTER = (1.02, 1.021, 1.019, 1.02)


def test_a_run_slower_by_3_percent_is_different_with_its_ratio_and_interval(tmp_path: Path) -> None:
    row = only_row(compare_runs(*two(tmp_path, STEADY, LESS)))
    verdict = row.verdict
    assert verdict.verdict == "different"
    assert verdict.ratio == pytest.approx(0.97)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 0.969 < verdict.low < 0.97 < verdict.high < 0.971
    assert verdict.p_together == verdict.p
    assert [*row.aligned.means] == pytest.approx([94.11, 91.29], abs=0.01)


def test_a_comparison_of_equal_runs_states_the_smallest_difference_that_it_detects(
    tmp_path: Path,
) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, (94.11, 94.10, 94.12, 94.13, 94.10)))
    assert only_row(compared).verdict.verdict == "same within the margin"
    assert smallest_shown(compared.rows) == pytest.approx((0.005, 0.005, 0.005))
    text = WRITERS["text"](compared)
    assert "Smallest difference that four of five such runs would detect: 0.5 %" in text
    assert "Test: Welch’s t on logarithms" in text
    assert "the runs were measured at different times" in text
    assert "5 and 5" in text


def test_a_comparison_with_one_trial_on_a_side_gives_no_verdict(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, [91.0]))
    verdict = only_row(compared).verdict
    assert verdict.verdict == "cannot tell"
    assert (verdict.p, verdict.low, verdict.smallest_ratio) == (None, None, None)
    assert "cannot tell: a side with one trial has no interval" in WRITERS["text"](compared)
    assert "smallest_difference" not in json.loads(WRITERS["json"](compared))["comparisons"][0]


def test_a_failed_trial_has_no_figure_in_a_comparison_and_its_reason_is_printed(
    tmp_path: Path,
) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, (None, *STEADY[1:])))
    assert [len(side) for side in only_row(compared).aligned.figures] == [5, 4]
    for form in ("text", "markdown", "csv", "json"):
        assert "(peer-vanished)" in WRITERS[form](compared).replace("\\", "")
    nothing = compare_runs(*two(tmp_path / "again", STEADY, [None, None]))
    assert only_row(nothing).verdict.ratio is None
    assert only_row(nothing).aligned.means[1] is None
    assert "there is no trial with a figure on both sides" in WRITERS["text"](nothing)


def test_a_figure_of_zero_has_no_ratio_and_the_comparison_states_this(tmp_path: Path) -> None:
    row = only_row(compare_runs(*two(tmp_path, STEADY, (0.0, *STEADY[1:]))))
    assert len(row.aligned.contender) == 4
    assert row.aligned.why_not == ("A figure of 0, or below it, has no ratio.",)


# An axis of one run


def test_one_trial_per_cell_cannot_distinguish_pairings_of_the_lab_report() -> None:
    compared = compare_levels(load(LAB_REPORT), "pairing")
    assert [group.contender for group in compared.groups] == [
        "pairing WL",
        "pairing LW",
        "pairing WW",
    ]
    assert {row.verdict.verdict for row in compared.rows} == {"cannot tell"}
    assert {len(group.rows) for group in compared.groups} == {104}
    text = WRITERS["text"](compared)
    assert "312 comparisons: 312 cannot tell." in text
    assert "would detect" not in text


def test_trials_of_one_block_are_compared_in_pairs_without_their_common_drift(
    tmp_path: Path,
) -> None:
    drift = [90.0, 80.0, 70.0, 60.0]
    run = stream_run(
        tmp_path / "run",
        (stream(congestion="cubic"), drift),
        (stream(congestion="bbr"), [a * b for a, b in zip(drift, FASTER, strict=True)]),
        (stream(protocol="UDP"), drift),
    )
    compared = compare_levels(run, "congestion")
    row = only_row(compared)
    assert (row.verdict.verdict, row.verdict.n) == ("different", 4)
    assert row.verdict.ratio == pytest.approx(1.02)
    assert compared.groups[0].contender == "congestion control bbr"
    assert "pairs, each from one block" in WRITERS["text"](compared)
    back = only_row(compare_levels(run, "congestion", "bbr")).verdict
    assert back.ratio == pytest.approx(1 / 1.02)


def test_netlab_compare_accepts_the_name_of_an_axis_in_a_matrix_and_its_values_as_printed(
    tmp_path: Path,
) -> None:
    cells = [(stream(socket_buffer_bytes=n), STEADY) for n in (None, 65536, 16384)]
    run = stream_run(tmp_path / "run", *cells)
    compared = compare_levels(run, "socket_buffer", "64KiB")
    assert [group.contender for group in compared.groups] == [
        "socket buffer auto",
        "socket buffer 16 KiB",
    ]
    assert compare_levels(run, "socket_buffer_bytes").baseline.endswith("socket buffer auto")


@pytest.mark.parametrize(
    ("axis", "against", "words"),
    [
        ("conjestion", None, "no such axis; did you mean `congestion`?"),
        ("streams", None, "every cell of .* has streams 1; the axes of this run are message_size"),
        ("congestion", None, "has no congestion control; the axes of this run are message_size"),
        (
            "message_size",
            "1500",
            "--against 1500: not a value of message size, bytes; the run has 64, 1",
        ),
    ],
)
def test_netlab_compare_refuses_an_axis_or_value_that_the_run_lacks(
    tmp_path: Path, axis: str, against: str | None, words: str
) -> None:
    run = stream_run(tmp_path / "run", (stream(size=64), STEADY), (stream(), STEADY))
    with pytest.raises(UsageError, match=words):
        compare_levels(run, axis, against)


def test_values_of_an_axis_without_two_matching_cells_cannot_be_compared(tmp_path: Path) -> None:
    cells = [(stream("LL", size=64), STEADY), (stream("WL", size=576), STEADY)]
    run = stream_run(tmp_path / "run", *cells)
    with pytest.raises(UsageError, match=r"no two cells of .* differ only in pairing"):
        compare_levels(run, "pairing")
    cells.append((stream("WW", size=64), STEADY))
    compared = compare_levels(stream_run(tmp_path / "more", *cells), "pairing")
    assert [group.contender for group in compared.groups] == ["pairing WW"]
    assert compared.remarks == ("pairing WL: no cell differs only in it from a cell of pairing LL",)


def test_round_trips_are_compared_by_their_mean_and_a_larger_mean_is_longer(tmp_path: Path) -> None:
    cell = planned("round_trip")
    sides = [
        run_of(
            tmp_path / name,
            (cell, [of_round_trips(drawn_ns(200, median, seed)) for seed in range(3)]),
        )
        for name, median in (("old", 90), ("new", 180))
    ]
    text = WRITERS["text"](compare_runs(*sides))
    assert "mean round trip" in text
    assert "times as long" in text or "twice as long" in text


def test_both_directions_of_a_stream_are_compared_separately(tmp_path: Path) -> None:
    cell = stream(direction="both")
    values = {"to_server_throughput_bit_per_s": 9e7, "to_client_throughput_bit_per_s": 4e7}
    run = run_of(tmp_path / "run", (cell, [values, values]))
    compared = compare_runs(run, run)
    assert [row.aligned.quantity.name for row in compared.rows] == [
        "throughput to server",
        "throughput to client",
    ]


# Formats


def test_csv_and_json_of_a_comparison_have_the_same_content_without_unknown_values(
    tmp_path: Path,
) -> None:
    cells = [stream(size=64), stream(size=576), stream()]
    figures: list[Sequence[Mbit]] = [LESS, [94.0], [None, None]]
    old = stream_run(tmp_path / "old", *((cell, STEADY) for cell in cells))
    new = stream_run(tmp_path / "new", *zip(cells, figures, strict=True))
    compared = compare_runs(old, new)
    rows = [*csv.DictReader(io.StringIO(WRITERS["csv"](compared)))]
    content = json.loads(WRITERS["json"](compared))
    assert len(rows) == len(content["comparisons"]) == 3
    for row, data in zip(rows, content["comparisons"], strict=True):
        assert {name for name, text in row.items() if text} == data.keys()
        if "ratio" in data:
            assert float(row["ratio"]) == data["ratio"]
    assert [data["verdict"] for data in content["comparisons"]] == [
        "different",
        "cannot tell",
        "cannot tell",
    ]
    assert content["verdicts"]["cannot tell"] == 2
    assert content["method"]["judged_together"] == 1
    assert "null" not in WRITERS["json"](compared)


def test_the_exit_code_of_netlab_compare_shows_whether_a_comparison_was_possible(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    old, new = (str(run.path) for run in two(tmp_path, STEADY, LESS))
    code, out, _ = netlab(capfdbinary, "compare", old, new, "--format", "markdown")
    assert (code, out.count("| TCP 1448 |")) == (0, 1)
    file = tmp_path / "out.json"
    assert netlab(capfdbinary, "compare", old, new, "--format", "json", "-o", str(file))[0] == 0
    assert json.loads(file.read_text())["verdicts"]["different"] == 1
    command = ("compare", old, new, "--margin", "5 %", "--format", "csv")
    assert ",different," not in netlab(capfdbinary, *command)[1]
    for words in ([old], [old, new, "--by", "pairing"], [old, new, "--against", "LL"]):
        code, out, err = netlab(capfdbinary, "compare", *words)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
    assert netlab(capfdbinary, "compare", old, str(tmp_path))[0] == 2
    assert netlab(capfdbinary, "compare", old, new, "--margin", "5")[0] == 2
