"""Cut ways, without any host: when they are tried again, and how a defect is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from advanced_clock import AdvancedClock, clock_by_hand
from made_paths import SILENT
from wired_pools import CELL

from netlab import clock
from netlab.errors import HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.kinds import Stream
from netlab.runner.preflight import PathFault, Preflight
from netlab.runner.trial_faults import FIRST_LOOK_S, Absence, PathChecks, way_of
from netlab.trial.record import Status

__all__ = ["clock_by_hand"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("clock_by_hand")]

PAIRS = {
    "LL": (
        Host(name="left", os="L", local=True, addresses={"test": ("10.0.0.1",)}),
        Host(name="right", os="L", local=True, addresses={"test": ("10.0.0.2",)}),
    )
}
PASSES = Preflight(blocked=(), warnings=())


def cut_ways(check: Callable[[str], Preflight]) -> PathChecks:
    """PathChecks with one that is cut and due."""
    ways = PathChecks(
        PAIRS, check, lambda _sentence: None, keep=lambda error, name: f"{name} {error!r}"
    )
    way = way_of(CELL, PAIRS)
    assert way is not None
    ways.cut[way] = Absence.begin("path-blocked", "TCP is blocked", clock.monotonic(), 0.0)
    return ways


def test_a_cut_path_is_tried_less_and_less_often_while_its_host_is_away() -> None:
    pairings: list[str] = []

    def gone(pairing: str) -> Preflight:
        pairings.append(pairing)
        raise HostGone("left: the connection ended")

    ways = cut_ways(gone)
    for _ in range(20):
        ways.ask_again()
    assert pairings == ["LL"]
    obstacle = ways.reason_left(CELL)
    assert obstacle is not None
    assert (obstacle.reason, obstacle.detail) == ("path-blocked", "TCP is blocked")
    assert ways.next_asks_s([CELL], 600.0) == [2.0]


def test_a_cut_path_is_tried_at_once_when_its_host_is_back() -> None:
    answers = iter([HostGone("left: the connection ended"), None])

    def check(_pairing: str) -> Preflight:
        error = next(answers)
        if error is not None:
            raise error
        return PASSES

    ways = cut_ways(check)
    ways.ask_again()
    ways.ask_again()
    assert ways.is_cut(CELL)
    ways.doubt(["LL"])
    ways.ask_again()
    assert not ways.is_cut(CELL)


def test_a_defect_in_a_path_check_is_reported_as_internal_with_its_traceback() -> None:
    def check(_pairing: str) -> Preflight:
        raise KeyError("addresses")

    ways = cut_ways(check)
    ways.ask_again()
    obstacle = ways.reason_left(CELL)
    assert obstacle is not None
    assert (obstacle.reason, obstacle.detail) == ("internal", "LL: check-LL KeyError('addresses')")
    warnings, faults = ways.try_all([["LL"]])
    assert warnings == faults == ["LL: check-LL KeyError('addresses')"]


SHUT = Preflight((PathFault("TCP", "10.0.0.1", "10.0.0.2", "TCP is blocked"),), warnings=())


def never_passed(*results: Preflight) -> tuple[PathChecks, list[str]]:
    """PathChecks with these results of the first and later checks; and their messages."""
    messages: list[str] = []
    answers = iter(results)
    ways = PathChecks(PAIRS, lambda _: next(answers), messages.append, keep=lambda *_: "")
    ways.try_all([["LL"]])
    obstacle = ways.obstacle(CELL)
    assert obstacle is not None
    assert (obstacle.reason, ways.is_cut(CELL)) == ("path-blocked", True)
    return ways, messages


def test_a_path_that_was_blocked_from_the_start_is_checked_again_and_used_once_it_is_open(
    clock_by_hand: AdvancedClock,
) -> None:
    ways, messages = never_passed(SHUT, PASSES)
    ways.ask_again()
    assert ways.is_cut(CELL)
    clock_by_hand.advance(FIRST_LOOK_S)
    ways.ask_again()
    assert not ways.is_cut(CELL)
    assert ways.obstacle(CELL) is None
    assert messages == ["LL: TCP passes now"]


def test_a_path_that_was_blocked_from_the_start_is_checked_again_exactly_twice(
    clock_by_hand: AdvancedClock,
) -> None:
    ways, messages = never_passed(SHUT, SHUT, SHUT)
    clock_by_hand.advance(FIRST_LOOK_S)
    ways.ask_again()
    clock_by_hand.advance(1000.0)
    ways.ask_again()
    assert ways.next_asks_s([CELL], 600.0) == [0.0]
    ways.ask_again()
    assert ways.next_asks_s([CELL], 600.0) == [None]
    obstacle = ways.reason_left(CELL)
    assert obstacle is not None
    assert (obstacle.status, obstacle.reason) == (Status.FAILED, "path-blocked")
    assert messages == []


def test_a_run_waits_for_a_path_blocked_from_the_start_unless_its_patience_is_zero() -> None:
    ways, _ = never_passed(SHUT)
    assert ways.next_asks_s([CELL], 0.0) == [None]
    assert ways.next_asks_s([CELL], 600.0) == [FIRST_LOOK_S]


NARROW = Preflight(blocked=(), warnings=(), narrow=(SILENT,))
LONG = Cell(pairing="LL", test="stream", setup=Stream(protocol="UDP", message_bytes=8972))
SHORT = replace(LONG, setup=Stream(protocol="UDP", message_bytes=512))


def test_a_path_that_carries_only_shorter_packets_by_now_is_checked_before_each_such_trial() -> (
    None
):
    checks = iter([PASSES, NARROW, NARROW, PASSES])
    ways = PathChecks(PAIRS, lambda _: next(checks), lambda _: None, keep=lambda *_: "")
    ways.try_all([["LL"]])
    assert ways.obstacle(LONG) is None
    found = ways.look_again(LONG)
    assert found is not None
    assert (found.status, found.reason) == (Status.IMPOSSIBLE, "path-mtu")
    assert found.values == {"path_mtu_bytes": 1500, "interface_mtu_bytes": 9000}
    assert ways.obstacle(SHORT) is None, "without a check"
    again = ways.obstacle(LONG)
    assert again is not None
    assert again.reason == "path-mtu"
    assert ways.obstacle(LONG) is None, "it is as long as it was"
    assert [*checks] == []


def test_a_path_that_was_short_from_the_start_is_not_checked_again() -> None:
    checks = iter([NARROW])
    ways = PathChecks(PAIRS, lambda _: next(checks), lambda _: None, keep=lambda *_: "")
    ways.try_all([["LL"]])
    for _ in range(3):
        found = ways.obstacle(LONG)
        assert found is not None
        assert found.reason == "path-mtu"
