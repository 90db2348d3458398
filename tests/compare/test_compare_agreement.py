"""Runs whose settings differ are refused, or are compared anyway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_readings import plan_of
from made_streams import LESS, STEADY, only_row, stream, stream_run, two

from netlab.compare.runs import agreement, compare_runs
from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.findings.analysis import load
from netlab.report.comparison_text import WRITERS
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({}, {"link": Link(1e9, 1500)}, "link’s rate: 100 Mbit/s in the baseline, 1 Gbit/s in the"),
        ({}, {"link": None}, "link’s MTU: 1500 B in the baseline, not stated in the contender"),
        ({}, {"duration_s": 1.0}, "duration: 10 s in the baseline, 1 s in the contender"),
        ({}, {"size": 64}, "message size, bytes: 1448 in the baseline, 64 in the contender"),
        ({}, {"pairing": "WL"}, "pairing: LL in the baseline, WL in the contender"),
        ({}, {"protocol": "UDP"}, "stream over TCP: only in the baseline; stream over UDP: only"),
        ({"congestion": "bbr"}, {}, "control: bbr in the baseline, host’s default in the contend"),
    ],
)
def test_runs_with_different_settings_are_refused_with_the_difference(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], words: str
) -> None:
    sides = []
    for name, keys in (("old", old), ("new", new)):
        plan = {"link": keys["link"]} if "link" in keys else {}
        settings = {key: value for key, value in keys.items() if key != "link"}
        sides.append(stream_run(tmp_path / name, (stream(**settings), STEADY), **plan))
    with pytest.raises(UsageError) as excinfo:
        compare_runs(*sides)
    assert words in str(excinfo.value)
    assert "--anyway" in str(excinfo.value)
    if "protocol" in new:
        with pytest.raises(UsageError, match="have no cell in common"):
            compare_runs(*sides, anyway=True)
        return
    compared = compare_runs(*sides, anyway=True)
    assert len(compared.rows) == 1
    assert any(words.split(";", maxsplit=1)[0] in difference for difference in compared.differences)


def test_the_option_anyway_compares_common_cells_and_counts_the_cells_of_only_one_run(
    tmp_path: Path,
) -> None:
    old = stream_run(tmp_path / "old", *((stream(size=n), STEADY) for n in (64, 576, 1448)))
    new = stream_run(tmp_path / "new", *((stream(size=n), STEADY) for n in (576, 1448, 8000)))
    with pytest.raises(UsageError, match="bytes: 64 only in the baseline; 8000 only in the cont"):
        compare_runs(old, new)
    compared = compare_runs(old, new, anyway=True)
    assert [row.aligned.label for row in compared.rows] == ["TCP 576", "TCP 1448"]
    assert [remark.partition(",")[0] for remark in compared.remarks[:2]] == [
        "1 cell only in the baseline",
        "1 cell only in the contender",
    ]


def test_netlab_compare_refuses_runs_with_equal_settings_but_different_cells(
    tmp_path: Path,
) -> None:
    all_four = [(stream(p, size=size), STEADY) for p in ("LL", "WL") for size in (64, 576)]
    old = stream_run(tmp_path / "old", *all_four)
    new = stream_run(tmp_path / "new", *all_four[:3])
    with pytest.raises(UsageError, match="1 cell only in the baseline, such as WL-stream"):
        compare_runs(old, new)


def test_compared_runs_may_differ_in_their_number_of_repeats(tmp_path: Path) -> None:
    compared = compare_runs(*two(tmp_path, STEADY, STEADY[:3]))
    assert compared.differences == ()


def test_a_setting_that_an_older_run_lacks_has_its_default_in_a_comparison(tmp_path: Path) -> None:
    cell = stream()
    fewer = {name: value for name, value in cell.settings.items() if name != "streams"}
    older = PlannedCell(f"{cell.key}-older", cell.pairing, cell.test, fewer)
    old = stream_run(tmp_path / "old", (older, STEADY))
    new = stream_run(tmp_path / "new", (cell, STEADY))
    assert only_row(compare_runs(old, new)).aligned.cells == (older.key, cell.key)
    more = stream_run(tmp_path / "more", (stream(streams=4), STEADY))
    with pytest.raises(UsageError, match="streams: 1 in the baseline, 4 in the contender"):
        compare_runs(old, more)
    document_run = stream_run(tmp_path / "printed", (older, STEADY), source="a table")
    with pytest.raises(UsageError, match="streams: not set in the baseline, 1 in the contender"):
        compare_runs(document_run, new)


ALL = [
    stream(pairing, protocol, size, duration_s=duration)
    for pairing in ("LL", "WL")
    for protocol in ("TCP", "UDP")
    for size in (64, 576)
    for duration in (1.0, 10.0)
]
some_cells = st.sets(st.integers(0, len(ALL) - 1), min_size=1)


@given(some_cells, some_cells)
def test_plans_agree_exactly_if_their_cells_are_equal_and_no_cell_is_paired_twice(
    old_indices: set[int], new_indices: set[int]
) -> None:
    old, new = (
        plan_of([ALL[index] for index in sorted(indices)], 1)
        for indices in (old_indices, new_indices)
    )
    agreed = agreement(old, new)
    assert bool(agreed.differences) == (old_indices != new_indices)
    for side in zip(*agreed.pairs, strict=True):
        assert len(set(side)) == len(side)
    keys = {cell.key for cell in old.cells} & {cell.key for cell in new.cells}
    if old_indices == new_indices:
        assert agreed.pairs == tuple((cell.key, cell.key) for cell in old.cells)
    assert keys <= {key for pair in agreed.pairs for key in pair}
    back = agreement(new, old)
    assert bool(back.differences) == bool(agreed.differences)
    assert {(b, a) for a, b in back.pairs} == set(agreed.pairs)


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_every_format_marks_a_comparison_with_the_option_anyway_as_not_comparable(
    tmp_path: Path, form: str
) -> None:
    old = stream_run(tmp_path / "old", (stream(), STEADY))
    new = stream_run(tmp_path / "new", (stream(duration_s=1.0), STEADY))
    output = WRITERS[form](compare_runs(old, new, anyway=True))
    marks = {"csv": "false,", "json": '"comparable": false'}
    assert marks.get(form, "NOT COMPARABLE, compared anyway: duration: 10 s") in output
    agreed = WRITERS[form](compare_runs(old, old))
    assert marks.get(form, "NOT COMPARABLE") not in agreed


def test_a_comparison_lists_facts_of_hosts_that_changed_between_the_runs(tmp_path: Path) -> None:
    old, new = two(tmp_path, STEADY, LESS)
    for run, kernel, load_average in ((old, "6.1", "0.1"), (new, "6.18", "0.9")):
        with RunFolder.open_for_writing(run.path, run.plan) as folder:
            folder.note("session", netlab="0.1.0")
            facts = {"kernel": kernel, "cpu_model": "x", "load_average": load_average}
            folder.note("facts", host="alpha", when="before", facts=facts)
    compared = compare_runs(load(old.path), load(new.path))
    assert compared.remarks == ("changed between them: alpha kernel: 6.1, then 6.18",)
