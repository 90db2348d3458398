"""Pairs of hosts that search together meet before and after each trial."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from netlab.errors import ProbeError
from netlab.measurement.ends import Participant, Rendezvous, alone

NAMES = ("a+b", "c+d", "e+f")


def at_once(
    rendezvous: Rendezvous, act: Callable[[Participant], Any], names: tuple[str, ...] = NAMES
) -> list[Any]:
    """The result of a thread for each participant, or its error."""

    def acted(name: str) -> Any:
        participant = Participant(rendezvous, name)
        try:
            return act(participant)
        except ProbeError as error:
            return error
        finally:
            participant.leave()

    with ThreadPoolExecutor(max_workers=len(names)) as executor:
        return [future.result(timeout=10) for future in [executor.submit(acted, n) for n in names]]


def test_each_pair_of_a_common_search_receives_all_results_with_its_own_result_first() -> None:
    def act(participant: Participant) -> Any:
        return [participant.meet((participant.name, number)) for number in range(50)]

    outcomes = at_once(Rendezvous(NAMES), act)
    for name, meetings in zip(NAMES, outcomes, strict=True):
        for number, meeting in enumerate(meetings):
            assert meeting.said[0] == (name, number)
            assert sorted(meeting.said) == [(member, number) for member in NAMES]
    for meetings in zip(*outcomes, strict=True):
        assert len({meeting.over_ns for meeting in meetings}) == 1


def test_a_common_search_continues_without_a_pair_that_leaves_before_the_first_meeting() -> None:
    def act(participant: Participant) -> Any:
        return None if participant.name == "c+d" else participant.meet(participant.name).said

    assert at_once(Rendezvous(NAMES), act) == [("a+b", "e+f"), None, ("e+f", "a+b")]


def test_a_common_search_fails_for_all_pairs_if_one_leaves_after_the_first_meeting() -> None:
    def act(participant: Participant) -> Any:
        participant.meet(1)
        return None if participant.name == "e+f" else participant.meet(2)

    first, second, _ = at_once(Rendezvous(NAMES), act)
    for name, error in (("a+b", first), ("c+d", second)):
        assert isinstance(error, ProbeError)
        assert (error.host, error.word) == (name, "pair-gone")
        assert "e+f left the common search" in str(error)


def test_all_pairs_receive_the_results_of_a_meeting_although_each_pair_leaves_afterwards() -> None:
    assert [
        m.said for m in at_once(Rendezvous(NAMES), lambda participant: participant.meet(0))
    ] == [(0, 0, 0)] * 3


def test_pairs_of_a_common_search_take_turns_one_after_the_other() -> None:
    acting, most, order = set(), [0], []
    lock = threading.Lock()

    def act(participant: Participant) -> None:
        for mine in participant.turns():
            if mine:
                with lock:
                    acting.add(participant.name)
                    order.append(participant.name)
                    most[0] = max(most[0], len(acting))
                with lock:
                    acting.discard(participant.name)

    at_once(Rendezvous(NAMES), act)
    assert (order, most) == (list(NAMES), [1])


def test_a_search_of_a_single_pair_waits_for_no_other_pair() -> None:
    participant = alone()
    assert participant.meet("x").said == ("x",)
    assert list(participant.turns()) == [True]


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_that_leaves_a_common_search_twice_is_removed_once(name: str) -> None:
    rendezvous = Rendezvous(NAMES)
    rendezvous.leave(name)
    rendezvous.leave(name)
    assert rendezvous.names == tuple(member for member in NAMES if member != name)
