"""Heartbeats: one thread for all agents, in which no agent waits for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from netlab.remote.upkeep import heartbeats
from netlab.remote.upkeep.heartbeats import Heartbeats


def beating_threads() -> int:
    return sum(thread.name == "heartbeats-test" for thread in threading.enumerate())


def until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "TICK_S", 0.005)
    monkeypatch.setattr(heartbeats, "THREAD", "heartbeats-test")


def test_all_agents_share_one_heartbeat_thread_that_ends_with_the_last_agent() -> None:
    beats = Heartbeats()
    called = [0] * 100
    ended = threading.Event()

    def beat_of(number: int) -> Callable[[float], float | None]:
        def beat(_now_s: float) -> float | None:
            called[number] += 1
            return None if ended.is_set() else 0.0

        return beat

    for number in range(100):
        beats.add(beat_of(number), 0.0)
    until(lambda: min(called) >= 3)
    assert beating_threads() == 1
    ended.set()
    until(lambda: beating_threads() == 0)
    ended.clear()
    beats.add(beat_of(0), 0.0)
    before = called[0]
    until(lambda: called[0] > before)
    ended.set()
    until(lambda: beating_threads() == 0)


def test_a_heartbeat_that_fails_is_not_called_again_and_the_others_continue() -> None:
    beats = Heartbeats()
    called = {"good": 0, "bad": 0}

    def bad(_now_s: float) -> float | None:
        called["bad"] += 1
        raise ValueError("a defect")

    def good(_now_s: float) -> float | None:
        called["good"] += 1
        return 0.0 if called["good"] < 20 else None

    beats.add(bad, 0.0)
    beats.add(good, 0.0)
    until(lambda: beating_threads() == 0)
    assert called == {"good": 20, "bad": 1}


def test_a_heartbeat_is_called_when_due_and_not_before() -> None:
    beats = Heartbeats()
    times_s: list[float] = []

    def beat(now_s: float) -> float | None:
        times_s.append(now_s)
        return 0.05 if len(times_s) < 4 else None

    began_s = time.monotonic()
    beats.add(beat, 0.05)
    until(lambda: beating_threads() == 0)
    gaps_s = [later - sooner for sooner, later in zip([began_s, *times_s], times_s, strict=False)]
    assert len(times_s) == 4
    assert min(gaps_s) >= 0.049
