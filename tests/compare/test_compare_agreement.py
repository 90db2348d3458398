"""Runs whose settings differ are refused, or are compared anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from netlab.results.labels import setting_name
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({}, {"link": Link(1e9, 1500)}, "link’s rate: 100 Mbit/s in the baseline, 1 Gbit/s in the"),
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
    # --anyway is advised only where it helps.
    has_pairs = "protocol" not in new
    assert ("--anyway" in str(excinfo.value)) == has_pairs
    if not has_pairs:
        with pytest.raises(UsageError, match="have no cell in common: stream over TCP: only in"):
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
    compared = compare_runs(document_run, new)
    assert compared.differences == ()
    assert compared.remarks == (
        "not stated by both: streams: not stated in the baseline, 1 in the contender",
    )


# What only one of two runs states

SETTINGS: dict[str, tuple[Any, Any]] = {
    "streams": (1, 4),
    "nodelay": (False, True),
    "duration_s": (10.0, 1.0),
    "warm_up_s": (0.0, 2.0),
    "message_bytes": (1448, 64),
    "congestion": ("bbr", "cubic"),
    "ip_version": (4, 6),
    "server": ("192.0.2.1", "192.0.2.9"),
    "client": ("192.0.2.2", "192.0.2.8"),
    "link": (Link(1e8, 1500), Link(1e9, 1500)),
}
"""What an import may state, with two values each."""


def imported(stated: Mapping[str, Any]) -> Plan:
    """The plan of an import of one test, whose output states this."""
    ends = stated.get("server", "server"), stated.get("client", "client")
    settings = {n: v for n, v in stated.items() if n not in ("server", "client", "link")}
    cell = PlannedCell("x", "+".join(ends), "stream", {"protocol": "TCP", **settings})
    return plan_of([cell], 1, source="a tool", link=stated.get("link"))


def label_of(name: str) -> str:
    return "link’s rate" if name == "link" else str(setting_name(name))


choices = st.fixed_dictionaries(
    {name: st.tuples(*2 * [st.sampled_from((None, *levels))]) for name, levels in SETTINGS.items()}
)


@given(choices)
def test_imports_are_refused_for_what_both_state_differently_and_for_nothing_else(
    drawn: dict[str, tuple[Any, Any]],
) -> None:
    old, new = (
        imported({name: pair[side] for name, pair in drawn.items() if pair[side] is not None})
        for side in (0, 1)
    )
    agreed = agreement(old, new)
    assert agreed.pairs == (("x", "x"),)
    remarks = "; ".join(agreed.remarks)
    for name, (one, other) in drawn.items():
        both = one is not None and other is not None
        label = f"{label_of(name)}: "
        is_refused = any(phrase.startswith(label) for phrase in agreed.differences)
        assert is_refused == (both and one != other), name
        assert (label in remarks) == (not both and one != other), name
    assert bool(agreed.differences) == any(
        None not in pair and pair[0] != pair[1] for pair in drawn.values()
    )


VALUES = {"message_bytes": (64, 1448), "nodelay": (False, True), "streams": (1, 4)}
stated = {name: st.sampled_from(levels) for name, levels in VALUES.items()}


def several(one: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda test: frozenset(test.items()))


outputs = several(st.fixed_dictionaries({}, optional=stated))
"""The settings of the tests of an import, each stated or not."""
measured = several(st.fixed_dictionaries(stated))


@given(outputs, outputs | measured)
def test_matching_cells_contradict_each_other_only_in_settings_with_one_value_in_each_run(
    old_tests: list[dict[str, Any]], new_tests: list[dict[str, Any]]
) -> None:
    old, new = (
        plan_of(
            [
                PlannedCell(f"{side} {at}", "LL", "stream", {"protocol": "TCP", **settings})
                for at, settings in enumerate(tests)
            ],
            1,
            source="a tool",
        )
        for side, tests in (("old", old_tests), ("new", new_tests))
    )
    agreed, back = agreement(old, new), agreement(new, old)
    assert {(b, a) for a, b in back.pairs} == set(agreed.pairs)
    assert bool(back.differences) == bool(agreed.differences)
    for keys in zip(*agreed.pairs, strict=True):
        assert len(set(keys)) == len(keys)
    of = {cell.key: cell.settings for cell in (*old.cells, *new.cells)}
    for name in VALUES:
        one, other = ({test.get(name) for test in tests} for tests in (old_tests, new_tests))
        # A value that one run states, if every test of the other run states another one.
        refuses = any(a - b - {None} and None not in b for a, b in ((one, other), (other, one)))
        label = f"{setting_name(name)}: "
        assert any(phrase.startswith(label) for phrase in agreed.differences) == refuses
        if len(one) > 1 or len(other) > 1:
            for keys in agreed.pairs:
                assert len({of[key].get(name) for key in keys} - {None}) <= 1


@given(measured)
def test_an_import_that_is_silent_about_a_constant_setting_has_the_cells_of_a_measured_run(
    tests: list[dict[str, Any]],
) -> None:
    names = [name for name in VALUES if len({test[name] for test in tests}) == 1]
    old = plan_of(
        [
            PlannedCell(
                f"old {at}",
                "192.0.2.1+192.0.2.2",
                "stream",
                {"protocol": "TCP", **{n: v for n, v in test.items() if n not in names}},
            )
            for at, test in enumerate(tests)
        ],
        1,
        source="a tool",
    )
    new = plan_of(
        [
            replace(stream(size=test["message_bytes"], **rest), key=f"new {at}")
            for at, test in enumerate(tests)
            for rest in [{n: v for n, v in test.items() if n != "message_bytes"}]
        ],
        1,
    )
    agreed = agreement(old, new)
    assert agreed.differences == ()
    assert agreed.pairs == tuple((f"old {at}", f"new {at}") for at in range(len(tests)))
    for name in names:
        assert f"{setting_name(name)}: not stated in the baseline" in agreed.remarks[0]


def test_letters_and_names_of_hosts_are_no_contradiction_but_two_names_are() -> None:
    def named(pairing: str, source: str | None = "a tool") -> Plan:
        return plan_of([stream(pairing)], 1, source=source)

    measured = named("LL", None)
    agreed = agreement(named("192.0.2.1+192.0.2.2"), measured)
    assert (agreed.differences, len(agreed.pairs)) == ((), 1)
    assert "server: 192.0.2.1 in the baseline, not stated in the contender" in agreed.remarks[0]
    # An importer names an end by its role if the output of the tool has no name of it.
    agreed = agreement(named("server+client"), named("nas+laptop", None))
    assert agreed.differences == ()
    agreed = agreement(named("server+client", None), named("nas+laptop", None))
    assert agreed.differences[0] == "server: server in the baseline, nas in the contender"


def test_a_run_that_does_not_state_an_axis_of_the_other_run_has_no_cell_in_common(
    tmp_path: Path,
) -> None:
    silent = PlannedCell("x", "LL", "stream", {"protocol": "TCP"})
    old = stream_run(tmp_path / "old", (silent, STEADY), source="a tool")
    new = stream_run(tmp_path / "new", *((stream(size=n), STEADY) for n in (64, 1448)))
    for anyway in (False, True):
        with pytest.raises(UsageError, match=r"no cell in common: .*message size, bytes: not st"):
            compare_runs(old, new, anyway=anyway)


def test_a_link_that_only_one_run_states_is_a_remark(tmp_path: Path) -> None:
    old = stream_run(tmp_path / "old", (stream(), STEADY))
    new = stream_run(tmp_path / "new", (stream(), STEADY), link=None)
    compared = compare_runs(old, new)
    assert compared.differences == ()
    words = "link’s MTU: 1500 B in the baseline, not stated in the contender"
    assert words in compared.remarks[0]


def test_links_that_differ_only_in_their_tunnel_are_a_difference(tmp_path: Path) -> None:
    links = Link(1e8, 1420), Link(1e8, 1420, overhead_bytes=60)
    old, new = (
        stream_run(tmp_path / name, (stream(), STEADY), link=link)
        for name, link in zip(("old", "new"), links, strict=True)
    )
    with pytest.raises(UsageError, match="link’s overhead: 0 B in the baseline, 60 B in the con"):
        compare_runs(old, new)


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
