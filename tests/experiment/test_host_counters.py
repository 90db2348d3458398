"""Drops and CPU load of a host are the difference of two readings of its counters."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netlab.trial.host_counters import (
    Counters,
    Cpu,
    Watched,
    busiest,
    counters_in,
    cpu_between,
    cpu_in,
)

LEFT = {"route_interface": "left", "interface_dropped_packets": 3, "interface_errors": 1}
RIGHT = {"route_interface": "right", "interface_dropped_packets": 10}


def test_drops_of_a_host_are_the_sum_over_its_interfaces_each_counted_once() -> None:
    queue = {"interface_queue_dropped_packets": 7, "softnet_dropped_packets": 2}
    assert counters_in([LEFT, {**RIGHT, **queue}]).dropped == {
        "interface": 14,
        "queue": 7,
        "softnet": 2,
    }
    assert counters_in([LEFT, LEFT]).dropped == {"interface": 4}
    shared = counters_in([{**LEFT, "softnet_dropped_packets": 2}], softnet=False)
    assert "softnet" not in shared.dropped


def test_drops_at_a_place_are_unknown_unless_both_readings_have_the_counter() -> None:
    start, end = Counters({"interface": 5, "queue": 9}), Counters({"interface": 7, "softnet": 1})
    assert start.until(end) == ({"interface": 2}, {})
    assert counters_in([]) == Counters({})


def test_a_drop_counter_that_was_reset_gives_zero_drops() -> None:
    assert Counters({"queue": 9}).until(Counters({"queue": 2})) == ({"queue": 0}, {})


def facts(*cores: tuple[int, int, int]) -> dict[str, Any]:
    numbers, busy, total = zip(*cores, strict=True) if cores else ((), (), ())
    ticks = {"cpu_numbers": numbers, "cpu_busy_ticks": busy, "cpu_total_ticks": total}
    return {name: list(values) for name, values in ticks.items()}


def test_the_busiest_core_has_the_number_that_the_system_uses() -> None:
    start = counters_in([facts((0, 100, 1000), (5, 0, 1000))])
    end = counters_in([facts((0, 150, 1100), (5, 99, 1100))])
    assert cpu_between(start, end) == Cpu(149 / 200, 0.99, 5)


def test_cpu_load_is_unknown_without_passed_time_or_without_counters() -> None:
    same = counters_in([facts((0, 1, 2))])
    assert cpu_between(same, same) is None
    assert cpu_between(counters_in([{}]), same) is None
    assert cpu_between(same, counters_in([facts((1, 5, 9))])) is None
    assert cpu_in({"host_busy_share": 0.5}) is None
    values = {"host_busy_share": 0.5, "host_busiest_core_share": 0.9, "host_busiest_core": 3}
    assert cpu_in(values) == Cpu(0.5, 0.9, 3)
    assert cpu_in(values | {"host_steal_share": 0.02}) == Cpu(0.5, 0.9, 3, 0.02)


def test_a_core_whose_counters_went_back_has_no_cpu_share() -> None:
    """Of its own system's correction, or where it was switched off and on."""
    start = counters_in([facts((0, 100, 1000), (1, 50, 1000))])
    end = counters_in([facts((0, 90, 1100), (1, 60, 1100))])
    assert cpu_between(start, end) == Cpu(0.1, 0.1, 1)


ticks = st.dictionaries(
    st.integers(0, 63), st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1
)


@given(ticks, ticks)
def test_cpu_shares_of_growing_counters_are_between_0_and_1(
    first: dict[int, tuple[int, int]], more: dict[int, tuple[int, int]]
) -> None:
    """Busy and idle ticks only grow."""
    start = {number: (busy, busy + idle) for number, (busy, idle) in first.items()}
    end = {
        number: (busy + more.get(number, (0, 0))[0], total + sum(more.get(number, (0, 0))))
        for number, (busy, total) in start.items()
    }
    cpu = cpu_between(Counters({}, start), Counters({}, end))
    if cpu is None:
        assert start == end
        return
    assert 0 <= cpu.busy_share <= cpu.busiest_core_share <= 1
    assert cpu.busiest_core in start


def test_a_frame_counted_by_interface_and_backlog_is_one_drop() -> None:
    host = Watched("b", None, {"interface": 7, "softnet": 7, "queue": 100, "socket": 3})
    assert host.dropped_on_the_way == 7


def test_the_busiest_host_is_chosen_among_hosts_with_known_load() -> None:
    idle, busy = (Watched(name, Cpu(0.1, share, 0), {}) for name, share in (("a", 0.2), ("b", 0.9)))
    assert busiest([idle, Watched("c", None, {}), busy]) is busy
    assert busiest([Watched("c", None, {})]) is None
