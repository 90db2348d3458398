"""netlab compare: runs and axes beside each other, what is refused, what a verdict is worth."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from folders import REPORTS
from hypothesis import given
from hypothesis import strategies as st
from made_readings import drawn_ns, of_round_trips, plan_of, planned
from made_streams import Mbit, netlab, run_of, stream, stream_run

from netlab.compare.align import AlignedPair
from netlab.compare.judge import Judged, judge, smallest_shown
from netlab.compare.matching import agreement
from netlab.compare.runs import Compared, compare_levels, compare_runs
from netlab.errors import UsageError
from netlab.experiment.matrix import Link
from netlab.findings.analysis import Analysis, load
from netlab.report.comparison_text import WRITERS
from netlab.results.quantities import Quantity
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder

LAB_REPORT = REPORTS / "lab-report"
STEADY = (94.10, 94.12, 94.11, 94.09, 94.13)
FASTER = (1.02, 1.021, 1.019, 1.02)
LESS = tuple(0.97 * each for each in STEADY)


def two(tmp_path: Path, old: Sequence[Mbit], new: Sequence[Mbit]) -> tuple[Analysis, Analysis]:
    return (
        stream_run(tmp_path / "old", (stream(), old)),
        stream_run(tmp_path / "new", (stream(), new)),
    )


def only_row(compared: Compared) -> Judged:
    (row,) = compared.rows
    return row


def test_a_slower_cable_is_different_with_its_ratio_interval_and_adjusted_p(tmp_path: Path) -> None:
    row = only_row(compare_runs(*two(tmp_path, STEADY, LESS)))
    verdict = row.verdict
    assert verdict.verdict == "different"
    assert verdict.ratio == pytest.approx(0.97)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 0.969 < verdict.low < 0.97 < verdict.high < 0.971
    assert verdict.p_together == verdict.p
    assert [*row.aligned.means] == pytest.approx([94.11, 91.29], abs=0.01)


def test_the_same_twice_is_not_different_and_says_what_would_have_shown(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, (94.11, 94.10, 94.12, 94.13, 94.10)))
    assert only_row(compared).verdict.verdict == "same within the margin"
    assert smallest_shown(compared.rows) == pytest.approx((0.005, 0.005, 0.005))
    text = WRITERS["text"](compared)
    assert "The smallest difference that would have shown, in four of five such runs: 0.5 %" in text
    assert "Test: Welch’s t on logarithms" in text
    assert "the two runs are two occasions" in text
    assert "5 and 5" in text


def test_one_trial_cannot_tell(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, [91.0]))
    verdict = only_row(compared).verdict
    assert verdict.verdict == "cannot tell"
    assert (verdict.p, verdict.low, verdict.smallest_ratio) == (None, None, None)
    assert "cannot tell: a side with one trial has no interval" in WRITERS["text"](compared)
    assert "smallest_difference" not in json.loads(WRITERS["json"](compared))["comparisons"][0]


def test_a_failed_trial_is_no_figure_and_its_reason_is_said(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, (None, *STEADY[1:])))
    assert [len(side) for side in only_row(compared).aligned.figures] == [5, 4]
    for form in ("text", "markdown", "csv", "json"):
        assert "(peer-vanished)" in WRITERS[form](compared).replace("\\", "")
    nothing = compare_runs(*two(tmp_path / "again", STEADY, [None, None]))
    assert only_row(nothing).verdict.ratio is None
    assert only_row(nothing).aligned.means[1] is None
    assert "there is no trial with a figure on both sides" in WRITERS["text"](nothing)


def test_a_figure_of_nothing_has_no_ratio_and_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    row = only_row(compare_runs(*two(tmp_path, STEADY, (0.0, *STEADY[1:]))))
    assert len(row.aligned.contender) == 4
    assert row.aligned.why_not == ("A figure of 0 has no ratio.",)


# What must agree


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({}, {"link": Link(1e9, 1500)}, "link’s rate: 100 Mbit/s in the baseline, 1 Gbit/s in the"),
        ({}, {"link": None}, "link’s MTU: 1500 B in the baseline, not said in the contender"),
        ({}, {"duration_s": 1.0}, "duration: 10 s in the baseline, 1 s in the contender"),
        ({}, {"size": 64}, "message size, bytes: 1448 in the baseline, 64 in the contender"),
        ({}, {"pairing": "WL"}, "pairing: LL in the baseline, WL in the contender"),
        ({}, {"protocol": "UDP"}, "stream over TCP: only in the baseline; stream over UDP: only"),
        ({"congestion": "bbr"}, {}, "control: bbr in the baseline, host’s default in the contend"),
    ],
)
def test_runs_that_differ_in_what_must_agree_are_refused_by_its_name(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], words: str
) -> None:
    sides = []
    for name, keys in (("old", old), ("new", new)):
        plan = {"link": keys["link"]} if "link" in keys else {}
        settings = {key: value for key, value in keys.items() if key != "link"}
        sides.append(stream_run(tmp_path / name, (stream(**settings), STEADY), **plan))
    with pytest.raises(UsageError) as refused:
        compare_runs(*sides)
    assert words in str(refused.value)
    assert "--anyway" in str(refused.value)
    if "protocol" in new:
        with pytest.raises(UsageError, match="no cell of one is in the other"):
            compare_runs(*sides, anyway=True)
        return
    compared = compare_runs(*sides, anyway=True)
    assert len(compared.rows) == 1
    assert any(words.split(";", maxsplit=1)[0] in each for each in compared.differences)


def test_of_sizes_that_both_have_those_are_compared_anyway_and_the_others_named(
    tmp_path: Path,
) -> None:
    old = stream_run(tmp_path / "old", *((stream(size=n), STEADY) for n in (64, 576, 1448)))
    new = stream_run(tmp_path / "new", *((stream(size=n), STEADY) for n in (576, 1448, 8000)))
    with pytest.raises(UsageError, match="bytes: 64 only in the baseline; 8000 only in the cont"):
        compare_runs(old, new)
    compared = compare_runs(old, new, anyway=True)
    assert [row.aligned.label for row in compared.rows] == ["TCP 576", "TCP 1448"]
    assert [each.partition(",")[0] for each in compared.remarks[:2]] == [
        "1 cell only in the baseline",
        "1 cell only in the contender",
    ]


def test_cells_that_a_rule_left_out_are_missed_where_all_settings_agree(tmp_path: Path) -> None:
    all_four = [(stream(p, size=size), STEADY) for p in ("LL", "WL") for size in (64, 576)]
    old = stream_run(tmp_path / "old", *all_four)
    new = stream_run(tmp_path / "new", *all_four[:3])
    with pytest.raises(UsageError, match="1 cell only in the baseline, such as WL-stream"):
        compare_runs(old, new)


def test_repeats_and_hosts_need_not_agree(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, STEADY[:3]))
    assert compared.differences == ()


def test_a_setting_that_an_older_run_knows_nothing_of_is_its_default(tmp_path: Path) -> None:
    cell = stream()
    fewer = {name: value for name, value in cell.settings.items() if name != "streams"}
    older = PlannedCell(f"{cell.key}-older", cell.pairing, cell.test, fewer)
    old = stream_run(tmp_path / "old", (older, STEADY))
    new = stream_run(tmp_path / "new", (cell, STEADY))
    assert only_row(compare_runs(old, new)).aligned.cells == (older.key, cell.key)
    more = stream_run(tmp_path / "more", (stream(streams=4), STEADY))
    with pytest.raises(UsageError, match="streams: 1 in the baseline, 4 in the contender"):
        compare_runs(old, more)
    printed = stream_run(tmp_path / "printed", (older, STEADY), source="a table")
    with pytest.raises(UsageError, match="streams: not set in the baseline, 1 in the contender"):
        compare_runs(printed, new)


ALL = [
    stream(pairing, protocol, size, duration_s=duration)
    for pairing in ("LL", "WL")
    for protocol in ("TCP", "UDP")
    for size in (64, 576)
    for duration in (1.0, 10.0)
]
some_cells = st.sets(st.integers(0, len(ALL) - 1), min_size=1)


@given(some_cells, some_cells)
def test_plans_agree_where_their_cells_are_the_same_and_no_cell_is_in_two_pairs(
    one: set[int], other: set[int]
) -> None:
    old, new = (plan_of([ALL[at] for at in sorted(those)], 1) for those in (one, other))
    found = agreement(old, new)
    assert bool(found.differences) == (one != other)
    for side in zip(*found.pairs, strict=True):
        assert len(set(side)) == len(side)
    keys = {cell.key for cell in old.cells} & {cell.key for cell in new.cells}
    if one == other:
        assert found.pairs == tuple((cell.key, cell.key) for cell in old.cells)
    assert keys <= {key for pair in found.pairs for key in pair}
    back = agreement(new, old)
    assert bool(back.differences) == bool(found.differences)
    assert {(b, a) for a, b in back.pairs} == set(found.pairs)


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_what_was_compared_anyway_is_marked_in_every_format(tmp_path: Path, form: str) -> None:
    old = stream_run(tmp_path / "old", (stream(), STEADY))
    new = stream_run(tmp_path / "new", (stream(duration_s=1.0), STEADY))
    written = WRITERS[form](compare_runs(old, new, anyway=True))
    marks = {"csv": "false,", "json": '"comparable": false'}
    assert marks.get(form, "NOT COMPARABLE, and compared anyway: duration: 10 s") in written
    agreed = WRITERS[form](compare_runs(old, old))
    assert marks.get(form, "NOT COMPARABLE") not in agreed


def test_what_is_known_to_have_changed_between_two_occasions_is_said(tmp_path: Path) -> None:
    old, new = two(tmp_path, STEADY, LESS)
    for run, kernel, load_average in ((old, "6.1", "0.1"), (new, "6.18", "0.9")):
        with RunFolder.open_for_writing(run.path, run.plan) as folder:
            folder.note("session", netlab="0.1.0")
            facts = {"kernel": kernel, "cpu_model": "x", "load_average": load_average}
            folder.note("facts", host="alpha", when="before", facts=facts)
    compared = compare_runs(load(old.path), load(new.path))
    assert compared.remarks == ("changed between them: alpha kernel: 6.1, then 6.18",)


# An axis of one run


def test_pairings_of_the_recorded_lab_report_cannot_be_told_apart_with_one_trial() -> None:
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
    assert "would have shown" not in text


def test_trials_of_one_block_are_pairs_and_drift_falls_out(tmp_path: Path) -> None:
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
    assert "pairs, each of one block" in WRITERS["text"](compared)
    back = only_row(compare_levels(run, "congestion", "bbr")).verdict
    assert back.ratio == pytest.approx(1 / 1.02)


def test_an_axis_is_named_as_in_a_matrix_and_its_level_as_it_is_printed(tmp_path: Path) -> None:
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
        ("streams", None, "every cell of .* has streams 1; its axes are message_size"),
        ("congestion", None, "has no congestion control; its axes are message_size"),
        (
            "message_size",
            "1500",
            "--against 1500: no level of message size, bytes; there are 64, 1",
        ),
    ],
)
def test_an_axis_or_level_that_the_run_does_not_have_is_refused_with_those_it_has(
    tmp_path: Path, axis: str, against: str | None, words: str
) -> None:
    run = stream_run(tmp_path / "run", (stream(size=64), STEADY), (stream(), STEADY))
    with pytest.raises(UsageError, match=words):
        compare_levels(run, axis, against)


def test_levels_without_two_cells_alike_compare_nothing(tmp_path: Path) -> None:
    cells = [(stream("LL", size=64), STEADY), (stream("WL", size=576), STEADY)]
    run = stream_run(tmp_path / "run", *cells)
    with pytest.raises(UsageError, match=r"no two cells of .* differ in that alone"):
        compare_levels(run, "pairing")
    cells.append((stream("WW", size=64), STEADY))
    compared = compare_levels(stream_run(tmp_path / "more", *cells), "pairing")
    assert [group.contender for group in compared.groups] == ["pairing WW"]
    assert compared.remarks == ("pairing WL: no cell differs from one of pairing LL in that alone",)


def test_round_trips_are_compared_by_their_mean_and_more_is_longer(tmp_path: Path) -> None:
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


def test_both_directions_of_a_stream_are_two_comparisons_and_no_sum(tmp_path: Path) -> None:
    cell = stream(direction="both")
    values = {"to_server_throughput_bit_per_s": 9e7, "to_client_throughput_bit_per_s": 4e7}
    run = run_of(tmp_path / "run", (cell, [values, values]))
    compared = compare_runs(run, run)
    assert [row.aligned.quantity.name for row in compared.rows] == [
        "throughput to server",
        "throughput to client",
    ]


# Formats


def test_csv_and_json_hold_the_same_and_what_cannot_be_told_is_absent(tmp_path: Path) -> None:
    cells = [stream(size=64), stream(size=576), stream()]
    figures: list[Sequence[Mbit]] = [LESS, [94.0], [None, None]]
    old = stream_run(tmp_path / "old", *((cell, STEADY) for cell in cells))
    new = stream_run(tmp_path / "new", *zip(cells, figures, strict=True))
    compared = compare_runs(old, new)
    rows = [*csv.DictReader(io.StringIO(WRITERS["csv"](compared)))]
    whole = json.loads(WRITERS["json"](compared))
    assert len(rows) == len(whole["comparisons"]) == 3
    for row, data in zip(rows, whole["comparisons"], strict=True):
        assert {name for name, text in row.items() if text} == data.keys()
        if "ratio" in data:
            assert float(row["ratio"]) == data["ratio"]
    assert [data["verdict"] for data in whole["comparisons"]] == [
        "different",
        "cannot tell",
        "cannot tell",
    ]
    assert whole["verdicts"]["cannot tell"] == 2
    assert whole["method"]["judged_together"] == 1
    assert "null" not in WRITERS["json"](compared)


def test_the_command_says_with_its_exit_code_whether_it_could_compare(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    old, new = (str(run.path) for run in two(tmp_path, STEADY, LESS))
    code, out, _ = netlab(capfdbinary, "compare", old, new, "--format", "markdown")
    assert (code, out.count("| TCP 1448 |")) == (0, 1)
    file = tmp_path / "out.json"
    assert netlab(capfdbinary, "compare", old, new, "--format", "json", "-o", str(file))[0] == 0
    assert json.loads(file.read_text())["verdicts"]["different"] == 1
    wide = ("compare", old, new, "--margin", "5 %", "--format", "csv")
    assert ",different," not in netlab(capfdbinary, *wide)[1]
    for words in ([old], [old, new, "--by", "pairing"], [old, new, "--against", "LL"]):
        code, out, err = netlab(capfdbinary, "compare", *words)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
    assert netlab(capfdbinary, "compare", old, str(tmp_path))[0] == 2
    assert netlab(capfdbinary, "compare", old, new, "--margin", "5")[0] == 2


# What the verdicts are worth, by simulation


MBIT = Quantity("throughput", "Mbit/s", 1e6, "more", "less", lambda _: None)


def drawn(
    chance: random.Random, cells: int, n: int, scatter: float, slower: set[int]
) -> list[AlignedPair]:
    """Cells of two runs that scatter alike; some of the second are slower by 3 %."""
    return [
        AlignedPair(
            label=str(at),
            cells=(str(at), str(at)),
            quantity=MBIT,
            baseline={k: 94 * chance.lognormvariate(0, scatter) for k in range(n)},
            contender={
                k: 94 * (0.97 if at in slower else 1) * chance.lognormvariate(0, scatter)
                for k in range(n)
            },
            paired=False,
        )
        for at in range(cells)
    ]


def test_two_runs_of_one_truth_are_hardly_ever_called_different() -> None:
    chance = random.Random(11)  # noqa: S311  (nothing secret)
    for scatter in (0.0005, 0.002, 0.03):
        judged = [row for _ in range(3) for row in judge(drawn(chance, 48, 5, scatter, set()))]
        found = Counter(row.verdict.verdict for row in judged)
        assert found["different"] <= 0.05 * len(judged)
        shown = smallest_shown(judged)
        assert shown is not None
        # With five trials, 1 % shows where they scatter by 0.2 %.
        assert (shown[1] <= 0.012) == (scatter <= 0.002)


def test_a_cable_slowed_by_3_percent_is_found_in_all_its_cells_and_hardly_in_others() -> None:
    chance = random.Random(12)  # noqa: S311
    slower = set(range(0, 48, 3))
    wrong = 0
    for _ in range(3):
        judged = judge(drawn(chance, 48, 5, 0.002, slower))
        different = {at for at, row in enumerate(judged) if row.verdict.verdict == "different"}
        assert slower <= different
        wrong += len(different - slower)
    assert wrong <= 0.05 * 3 * (48 - len(slower))


@given(
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.floats(1e-3, 1e3),
)
def test_scaling_both_sides_changes_nothing_and_exchanging_them_inverts_the_ratio(
    old: list[float], new: list[float], scale: float
) -> None:
    def verdict_of(old: Sequence[float], new: Sequence[float]) -> Judged:
        aligned = AlignedPair(
            label="x",
            cells=("a", "b"),
            quantity=MBIT,
            baseline=dict(enumerate(old)),
            contender=dict(enumerate(new)),
            paired=False,
        )
        return judge([aligned])[0]

    there = verdict_of(old, new).verdict
    scaled = verdict_of([scale * each for each in old], [scale * each for each in new]).verdict
    back = verdict_of(new, old).verdict
    assert scaled.ratio == pytest.approx(there.ratio)
    assert there.ratio is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert there.verdict == back.verdict
