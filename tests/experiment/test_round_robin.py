"""Pairs of hosts are planned in as few rounds as possible, with no machine twice in a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match, rounds_of
from netlab.experiment.schedule import Round, Trial, rounds
from netlab.kinds import Stream
from netlab.runner.planning import plan_of, plan_text


def fewest(matches: Iterable[Match]) -> int:
    """A number of rounds that no plan of these meetings can be shorter than."""
    listed = list(matches)
    return sum(
        _fewest([match for match in listed if match.inside is inside]) for inside in (False, True)
    )


def _fewest(matches: Sequence[Match]) -> int:
    """The busiest need has a round a meeting; and a round holds half of the machines' number."""
    if not matches:
        return 0
    loads = Counter(need for match in matches for need in match.needs)
    machines = sum(isinstance(need, str) for need in loads)
    at_once = machines if matches[0].inside else machines // 2
    return max(*loads.values(), -(-len(matches) // at_once))


def everybody(hosts: int, *, inside: bool = True) -> list[Match]:
    """Every ordered pair of so many hosts, each a machine of its own."""
    return [
        Match(f"h{server}+h{client}", f"m{server}", f"m{client}")
        for server, client in product(range(hosts), repeat=2)
        if inside or server != client
    ]


def check(matches: Sequence[Match], plan: Sequence[Sequence[Match]]) -> None:
    """Each meeting once; nothing that a meeting needs is needed twice in a round."""
    assert Counter(match for meetings in plan for match in meetings) == Counter(matches)
    for meetings in plan:
        needs = Counter(need for match in meetings for need in match.needs)
        assert meetings
        assert set(needs.values()) == {1}
        assert len({match.inside for match in meetings}) == 1


@given(st.integers(2, 60), st.booleans())
def test_a_plan_of_all_pairs_has_the_fewest_rounds_and_no_machine_twice_in_a_round(
    hosts: int, inside: bool
) -> None:
    matches = everybody(hosts, inside=inside)
    plan = rounds_of(matches)
    check(matches, plan)
    each_way = hosts - 1 if hosts % 2 == 0 else hosts
    assert len(plan) == 2 * each_way + inside == fewest(matches)


def test_two_hundred_hosts_are_planned_in_199_rounds_for_each_direction() -> None:
    matches = everybody(200, inside=False)
    plan = rounds_of(matches)
    assert len(plan) == 2 * 199
    assert {len(meetings) for meetings in plan} == {100}
    check(matches, plan)


def test_the_plan_of_many_hosts_states_its_rounds_and_the_time_saved(
    tmp_path: Path,
) -> None:
    hosts = "".join(f"  h{n}: {{local: true}}\n" for n in range(40))
    matrix = tmp_path / "m.yaml"
    matrix.write_text(
        "title: t\npairings: {between: all, inside: false}\nparallel: true\n"
        "tests: [{test: stream, protocol: TCP, message_size: 1448, duration: 10s}]\n"
        f"hosts:\n{hosts}"
    )
    plan = plan_of(matrix, None)
    assert (plan.trials, len(plan.rounds)) == (40 * 39, 2 * 39)
    text = plan_text(plan)
    assert "1560 trials in 78 rounds" in text
    assert "Up to 20 trials at once: 13 min 40 s instead of 4 h 21 min one by one" in text


def test_the_two_directions_of_a_pair_are_in_adjacent_rounds() -> None:
    at = {
        match.pairing: n
        for n, meetings in enumerate(rounds_of(everybody(12)))
        for match in meetings
    }
    for server, client in product(range(12), repeat=2):
        if server != client:
            assert abs(at[f"h{server}+h{client}"] - at[f"h{client}+h{server}"]) == 1


def test_in_one_direction_each_of_20_hosts_is_the_server_in_at_least_five_rounds() -> None:
    plan = rounds_of(everybody(20, inside=False))
    serving = Counter(match.server_machine for meetings in plan[::2] for match in meetings)
    assert min(serving.values()) >= 5


hosts_on_machines = st.lists(
    st.tuples(st.integers(0, 7), st.frozensets(st.sampled_from("xyz"), max_size=1)),
    min_size=1,
    max_size=14,
)


@given(hosts_on_machines, st.randoms(use_true_random=False))
def test_no_round_uses_a_machine_or_a_shared_link_twice(
    hosts: list[tuple[int, frozenset[str]]], random: object
) -> None:
    matches = [
        Match(f"h{i}+h{j}", f"m{hosts[i][0]}", f"m{hosts[j][0]}", hosts[i][1] | hosts[j][1])
        for i, j in product(range(len(hosts)), repeat=2)
    ]
    random.shuffle(matches)  # type: ignore[attr-defined]
    plan = rounds_of(matches)
    check(matches, plan)
    assert plan == rounds_of(matches)
    inside = [any(match.inside for match in meetings) for meetings in plan]
    assert inside == sorted(inside)
    if not any(shares for _, shares in hosts):
        assert len(plan) <= 2 * fewest(matches)


def test_pairs_that_share_an_uplink_are_in_different_rounds() -> None:
    uplink = frozenset({"uplink"})
    near = Match("a+b", "a", "b")
    matches = [near, Match("c+d", "c", "d", uplink), Match("e+f", "e", "f", uplink)]
    assert [len(meetings) for meetings in rounds_of(matches)] == [2, 1]
    assert all(
        sum(bool(match.shares) for match in meetings) <= 1 for meetings in rounds_of(matches)
    )


def test_pairs_within_one_machine_do_not_occupy_a_shared_link() -> None:
    uplink = frozenset({"uplink"})
    matches = [Match(f"{name}+{name}", name, name, uplink) for name in "abc"]
    assert [len(meetings) for meetings in rounds_of(matches)] == [3]


def test_no_pairs_make_no_rounds() -> None:
    assert rounds_of([]) == ()
    assert fewest([]) == 0


# In a schedule


def cells(*sizes: int) -> list[Cell]:
    return [
        Cell(pairing=f"{server}+{client}", test="stream", setup=setup)
        for server, client in product("abcd", repeat=2)
        for setup in (Stream(protocol="TCP", message_bytes=size) for size in sizes)
    ]


def trials_of(planned_cells: Sequence[Cell], repeats: int) -> list[Trial]:
    return [Trial(cell, number) for number in range(1, repeats + 1) for cell in planned_cells]


def match_of(pairing: str) -> Match:
    server, _, client = pairing.partition("+")
    return Match(pairing, server, client)


def scheduled(planned_cells: Sequence[Cell], repeats: int, order: str) -> tuple[Round, ...]:
    matrix = SimpleNamespace(
        order=order, seed=1, parallel=True, common_window=True, switching="interleaved"
    )
    return rounds(
        trials_of(planned_cells, repeats),
        cast(Any, matrix),
        lambda cell: frozenset(cell.pairing),
        match_of,
    )


@pytest.mark.parametrize("order", ["as-written", "shuffled"])
def test_trials_of_one_round_have_equal_settings_and_rounds_are_ordered_by_block(
    order: str,
) -> None:
    planned_cells = cells(64, 1448)
    plan = scheduled(planned_cells, 3, order)
    assert Counter(t for round_ in plan for t in round_.trials) == Counter(
        trials_of(planned_cells, 3)
    )
    numbers = [trial.number for round_ in plan for trial in round_.trials]
    assert numbers == sorted(numbers)
    # Six rounds of two pairs and one of four hosts with themselves; of each, a round a setup.
    assert [len({t.cell.setup for t in round_.trials}) for round_ in plan] == [1] * 3 * 2 * 7
    assert Counter(len(round_.trials) for round_ in plan) == {2: 36, 4: 6}


def test_shuffled_rounds_differ_from_block_to_block() -> None:
    plan = scheduled(cells(64), 2, "shuffled")
    first, second = (
        [{t.cell.pairing for t in round_.trials} for round_ in plan[n : n + 7]] for n in (0, 7)
    )
    assert first != second
    assert sorted(map(sorted, first)) == sorted(map(sorted, second))
