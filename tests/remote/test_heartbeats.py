"""Heartbeats: one thread for all agents, in which no agent waits for another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from advanced_clock import AdvancedClock, clock_by_hand

from netlab import clock
from netlab.remote import agent
from netlab.remote.agent import TICK_S, Heartbeats

__all__ = ["clock_by_hand"]

pytestmark = pytest.mark.agents


def beating_threads() -> int:
    return sum(thread.name == "heartbeats-test" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def own_thread(clock_by_hand: AdvancedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The thread has a name of its own, and ends with the test."""
    monkeypatch.setattr(agent, "THREAD", "heartbeats-test")
    yield
    assert beating_threads() == 0


def tick(test_clock: AdvancedClock) -> None:
    """Let the thread, which sleeps, look at all agents once, and wait until it sleeps again or has
    ended.
    """
    (thread,) = (each for each in threading.enumerate() if each.name == "heartbeats-test")
    test_clock.await_waits()
    slept = len(test_clock.slept_s)
    test_clock.advance(TICK_S)
    while thread.is_alive() and len(test_clock.slept_s) == slept:
        thread.join(0.001)
    if thread.is_alive():
        test_clock.await_waits()


def test_all_agents_share_one_heartbeat_thread_that_ends_with_the_last_agent(
    clock_by_hand: AdvancedClock,
) -> None:
    beats = Heartbeats()
    called = [0] * 100
    ended = threading.Event()

    def beat_of(number: int) -> Callable[[float], float | None]:
        def beat(_now_s: float) -> float | None:
            called[number] += 1
            return None if ended.is_set() else 0.0

        return beat

    for number in range(100):
        beats.add(beat_of(number), TICK_S)
    for _ in range(3):
        tick(clock_by_hand)
    assert set(called) == {3}
    assert beating_threads() == 1
    ended.set()
    tick(clock_by_hand)
    assert beating_threads() == 0
    ended.clear()
    beats.add(beat_of(0), TICK_S)
    tick(clock_by_hand)
    assert called[0] == 5
    ended.set()
    tick(clock_by_hand)


def test_a_heartbeat_that_fails_is_not_called_again_and_the_others_continue(
    clock_by_hand: AdvancedClock,
) -> None:
    beats = Heartbeats()
    called = {"good": 0, "bad": 0}

    def bad(_now_s: float) -> float | None:
        called["bad"] += 1
        raise ValueError("a defect")

    def good(_now_s: float) -> float | None:
        called["good"] += 1
        return 0.0 if called["good"] < 20 else None

    beats.add(bad, TICK_S)
    beats.add(good, TICK_S)
    while beating_threads():
        tick(clock_by_hand)
    assert called == {"good": 20, "bad": 1}


def test_a_heartbeat_is_called_when_due_and_not_before(clock_by_hand: AdvancedClock) -> None:
    beats = Heartbeats()
    times_s = [clock.monotonic()]

    def beat(now_s: float) -> float | None:
        times_s.append(now_s)
        return 2.0 if len(times_s) < 5 else None

    beats.add(beat, 2.0)
    while beating_threads():
        tick(clock_by_hand)
    assert [later - sooner for sooner, later in pairwise(times_s)] == [2.0] * 4
