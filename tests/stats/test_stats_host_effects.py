"""Round trips that the hosts' added times do not explain are told from those that they explain."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from netlab.stats.mesh import host_effects, round_trip_deviations


def test_a_pair_deviates_if_it_exceeds_what_its_hosts_add_by_more_than_the_margin() -> None:
    added = {"a": 20.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0}
    trials = {(x, y): [100.0 + added[x] + added[y]] for x, y in permutations(added, 2)}
    # The margin is 10 % of 100: 110 between two median hosts may be chance, 111 is not.
    trials |= {("d", "e"): [110.0], ("e", "d"): [111.0], ("a", "b"): [135.0], ("c", "a"): [90.0]}
    trials |= {("b", "a"): [131.0], ("a", "a"): [900.0], ("c", "d"): []}
    assert round_trip_deviations(trials) == pytest.approx(
        {("e", "d"): 100.0, ("a", "b"): 120.0, ("b", "a"): 120.0}
    )
    three_hosts = {pair: values for pair, values in trials.items() if {"d", "e"}.isdisjoint(pair)}
    assert round_trip_deviations(three_hosts) == {}


def test_the_delays_that_two_of_five_hosts_add_are_recovered_exactly() -> None:
    added = {"a": 0.0, "b": 20.0, "c": 30.0, "d": 0.0, "e": 0.0}
    effects = host_effects({(x, y): [100 + added[x] + added[y]] for x, y in combinations(added, 2)})
    assert effects is not None
    assert effects.added == pytest.approx(added)
    assert [effects.typical, effects.margin] == pytest.approx([100, 10])
    assert effects.far == ("b", "c")


@pytest.mark.parametrize(
    ("added", "odd"),
    [
        ({"c": -30.0}, {("a", "c"): 40.0, ("b", "e"): -40.0}),
        ({"c": -30.0, "d": -30.0}, {("b", "f"): -40.0, ("e", "f"): 80.0}),
    ],
)
def test_two_odd_pairs_of_six_hosts_do_not_change_what_the_hosts_add(
    added: dict[str, float], odd: dict[tuple[str, str], float]
) -> None:
    # Each case is fitted from one start only: the median of all pairs, and the lowest pair.
    trials = {
        (x, y): [100 + added.get(x, 0) + added.get(y, 0) + odd.get((x, y), 0)]
        for x, y in combinations("abcdef", 2)
    }
    effects = host_effects(trials)
    assert effects is not None
    assert effects.added == pytest.approx(dict.fromkeys("abcdef", 0.0) | added)
    assert effects.typical == pytest.approx(100)


def test_a_host_with_two_peers_leaves_the_added_times_of_five_hosts_unknown() -> None:
    pairs = [pair for pair in combinations("abcde", 2) if pair not in {("a", "e"), ("b", "e")}]
    assert host_effects({pair: [100.0] for pair in pairs}) is None
    assert host_effects({pair: [100.0] for pair in [*pairs, ("b", "e")]}) is not None


def test_round_trips_of_zero_mean_that_no_host_adds_time() -> None:
    effects = host_effects({pair: [0.0] for pair in combinations("abcd", 2)})
    assert effects is not None
    assert (effects.added, effects.typical) == (dict.fromkeys("abcd", 0.0), 0)
