"""Trials are scheduled in rounds and blocks, in the order that the matrix states."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Literal, cast

from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match
from netlab.experiment.matrix import Matrix
from netlab.experiment.schedule import Round, Trial, rounds, with_partners
from netlab.kinds import Stream, ThroughputSearch

Order = Literal["as-written", "shuffled"]

PAIRINGS = {"LL": "ab", "WL": "ca", "LW": "ac", "WW": "cd", "MM": "ef", "LM": "ae"}


def cell(pairing: str, message_bytes: int, **settings: object) -> Cell:
    stream = Stream(protocol="TCP", message_bytes=message_bytes, **settings)  # type: ignore[arg-type]
    return Cell(pairing=pairing, test="stream", setup=stream)


def search(pairing: str, frame_bytes: int, together: Literal[True] | None) -> Cell:
    setup = ThroughputSearch(frame_bytes=frame_bytes, together=together)
    return Cell(pairing=pairing, test="throughput_search", setup=setup)


def trials_of(cells: list[Cell], repeats: int) -> tuple[Trial, ...]:
    """Every trial, block by block."""
    return tuple(
        Trial(planned_cell, number) for number in range(1, repeats + 1) for planned_cell in cells
    )


def hosts_of(cell: Cell) -> frozenset[str]:
    return frozenset(PAIRINGS[cell.pairing])


def a_matrix(**stated: object) -> Matrix:
    """A matrix with only what decides about rounds."""
    usual = {"order": "as-written", "seed": 1, "parallel": False, "common_window": True}
    stated = usual | {"switching": "interleaved"} | stated
    return cast("Matrix", SimpleNamespace(**stated))


def planned(
    trials: tuple[Trial, ...], order: Order = "as-written", seed: int = 1, parallel: bool = False
) -> tuple[Round, ...]:
    return rounds(trials, a_matrix(order=order, seed=seed, parallel=parallel), hosts_of)


def flat(plan: tuple[Round, ...]) -> list[Trial]:
    return [trial for round_ in plan for trial in round_.trials]


cells_of = st.lists(
    st.builds(cell, st.sampled_from(sorted(PAIRINGS)), st.integers(1, 30)), unique=True, max_size=40
)
orders: st.SearchStrategy[Order] = st.sampled_from(["as-written", "shuffled"])


@given(cells_of, st.integers(1, 4), orders, st.integers(0, 9), st.booleans())
def test_every_trial_is_scheduled_once_in_whole_blocks_without_a_host_twice_in_a_round(
    cells: list[Cell], repeats: int, order: Order, seed: int, parallel: bool
) -> None:
    trials = trials_of(cells, repeats)
    plan = planned(trials, order, seed, parallel)
    ran = flat(plan)
    assert sorted(ran, key=repr) == sorted(trials, key=repr)
    assert [t.number for t in ran] == [n for n in range(1, repeats + 1) for _ in cells]
    for round_ in plan:
        busy = [host for trial in round_.trials for host in hosts_of(trial.cell)]
        assert len(busy) == len(set(busy))
        assert len({trial.number for trial in round_.trials}) == 1
        assert len(round_.trials) == 1 or parallel
    assert plan == planned(trials, order, seed, parallel)


@given(cells_of, st.integers(0, 9), st.data())
def test_the_remaining_trials_of_a_shuffled_block_keep_their_order(
    cells: list[Cell], seed: int, data: st.DataObject
) -> None:
    trials = trials_of(cells, 2)
    full_order = flat(planned(trials, "shuffled", seed))
    remainder = tuple(trial for trial in trials if data.draw(st.booleans()))
    assert flat(planned(remainder, "shuffled", seed)) == [
        trial for trial in full_order if trial in remainder
    ]


def test_a_remaining_trial_of_a_joint_search_adds_the_same_trials_of_its_partner_pairs() -> None:
    lone_cells, joint_cells = (
        [search(pairing, 64, together) for pairing in ("a+b", "c+d", "e+f")]
        for together in (None, True)
    )
    further_cells = [search("a+b", 128, True)]
    cells = [*lone_cells, *joint_cells, *further_cells]
    remainder = [Trial(lone_cells[0], 2), Trial(joint_cells[1], 2)]
    trials = with_partners(remainder, cells)
    assert trials == (*remainder, Trial(joint_cells[0], 2), Trial(joint_cells[2], 2))
    assert with_partners(trials, cells) == trials
    assert with_partners(remainder[:1], cells) == tuple(remainder[:1])


@given(cells_of)
def test_a_round_leaves_out_no_trial_whose_hosts_are_free(cells: list[Cell]) -> None:
    plan = planned(trials_of(cells, 1), parallel=True)
    for index, round_ in enumerate(plan):
        busy = {host for trial in round_.trials for host in hosts_of(trial.cell)}
        for later in plan[index + 1 :]:
            assert all(busy & hosts_of(trial.cell) for trial in later.trials)


def test_the_order_as_written_is_block_by_block_in_the_order_of_the_cells() -> None:
    cells = [cell("LL", 3), cell("WL", 1), cell("LL", 2)]
    trials = trials_of(cells, 2)
    assert flat(planned(trials)) == [Trial(c, n) for n in (1, 2) for c in cells]
    assert flat(planned(trials[::-1])) == [Trial(c, n) for n in (1, 2) for c in cells[::-1]]


def test_shuffled_blocks_differ_from_each_other_and_between_seeds() -> None:
    cells = [cell("LL", size) for size in range(1, 30)]
    trials = trials_of(cells, 2)
    ran = [trial.cell for trial in flat(planned(trials, "shuffled", 5))]
    assert ran[:29] != ran[29:]
    assert ran[:29] != cells
    assert ran != [trial.cell for trial in flat(planned(trials, "shuffled", 6))]


def test_pairings_without_a_common_host_share_a_round_only_in_a_parallel_schedule() -> None:
    trials = trials_of([cell("LL", 1), cell("WL", 1), cell("WW", 1), cell("LL", 2)], 1)
    together = [
        [t.cell.pairing for t in round_.trials] for round_ in planned(trials, parallel=True)
    ]
    assert together == [["LL", "WW"], ["WL"], ["LL"]]
    assert [len(round_.trials) for round_ in planned(trials)] == [1, 1, 1, 1]


def test_trials_with_unequal_settings_share_a_round_unless_equal_settings_are_required() -> None:
    """The rest of a block in which one pair has had enough of what the other still needs."""

    def match_of(pairing: str) -> Match:
        server, client = pairing.split("+")
        return Match(pairing, server, client)

    def drawn(cells: list[Cell], *, common: bool) -> list[tuple[tuple[str, object], ...]]:
        schedule = rounds(
            trials_of(cells, 1),
            a_matrix(parallel=True, common_window=common),
            lambda planned_cell: frozenset(planned_cell.pairing.split("+")),
            match_of,
        )
        return [
            tuple((trial.cell.pairing, trial.cell.setup) for trial in round_.trials)
            for round_ in schedule
        ]

    first_cells = [cell("b+a", size) for size in (64, 576)]
    second_cells = [cell("d+c", size) for size in (1472, 8192)]
    back = [cell("a+b", 64)]
    assert [len(round_) for round_ in drawn([*first_cells, *second_cells, *back], common=True)] == [
        1
    ] * 5
    apart = drawn([*first_cells, *second_cells, *back], common=False)
    assert [[pairing for pairing, _ in round_] for round_ in apart] == [
        ["b+a", "d+c"],
        ["b+a", "d+c"],
        ["a+b"],
    ]
    # Those that search together are no less together.
    ports = [search(pairing, 64, True) for pairing in ("b+a", "d+c")]
    assert [
        [pairing for pairing, _ in round_] for round_ in drawn([*ports, *back], common=False)
    ] == [
        ["a+b"],
        ["b+a", "d+c"],
    ]


variants = st.sampled_from([None, "a=1", "a=2", "a=3"])
varied = st.lists(
    st.builds(lambda size, level: cell("LL", size, variant=level), st.integers(1, 30), variants),
    unique=True,
    min_size=1,
    max_size=40,
)


@given(varied, st.integers(1, 4), orders)
def test_hosts_switch_variants_as_seldom_as_blocks_allow(
    cells: list[Cell], repeats: int, order: Order
) -> None:
    trials = trials_of(cells, repeats)
    plan = flat(rounds(trials, a_matrix(order=order, switching="seldom"), hosts_of))
    assert sorted(plan, key=trials.index) == list(trials)
    assert [trial.number for trial in plan] == sorted(trial.number for trial in plan)
    levels = [trial.cell.setup.variant for trial in plan]
    switches = sum(one != other for one, other in pairwise(levels))
    assert switches == repeats * (len(set(levels)) - 1)
    for level in set(levels):
        own = [trial for trial in plan if trial.cell.setup.variant == level]
        alone = [cell_ for cell_ in cells if cell_.setup.variant == level]
        assert own == flat(planned(trials_of(alone, repeats), order))


@given(varied, orders)
def test_interleaved_variants_follow_the_order_of_the_matrix(
    cells: list[Cell], order: Order
) -> None:
    trials = trials_of(cells, 2)
    plan = rounds(trials, a_matrix(order=order, switching="interleaved"), hosts_of)
    assert plan == planned(trials, order)
