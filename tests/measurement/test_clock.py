"""The clock of tests lets time pass as the system's clock does, without anybody waiting."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from advanced_clock import AdvancedClock, clock_by_hand, passing_clock

from netlab import clock

__all__ = ["clock_by_hand", "passing_clock"]


def test_the_clock_is_the_monotonic_clock_of_the_system() -> None:
    before_ns = time.monotonic_ns()
    now_ns, now_s = clock.monotonic_ns(), clock.monotonic()
    assert before_ns <= now_ns <= now_s * 1e9 + 1000 <= time.monotonic_ns() + 1000


@pytest.mark.parametrize(
    "wait",
    [
        lambda: clock.sleep(60),
        lambda: clock.wait_futures([Future[None]()], 60),
    ],
)
def test_the_self_advancing_test_clock_ends_each_wait_at_its_time_limit(
    passing_clock: AdvancedClock, wait: Callable[[], object]
) -> None:
    before_s = clock.monotonic()
    assert not wait()
    assert clock.monotonic() - before_s == pytest.approx(60)


def test_the_self_advancing_test_clock_makes_scheduled_calls_in_the_order_of_their_times(
    passing_clock: AdvancedClock,
) -> None:
    items: queue.SimpleQueue[str] = queue.SimpleQueue()
    passing_clock.call_later(9, lambda: items.put("late"))
    passing_clock.call_later(2, lambda: items.put("second"))
    passing_clock.call_later(1, lambda: items.put("first"))
    passing_clock.call_later(1, lambda: items.put("never")).cancel()
    before_s = clock.monotonic()
    assert [clock.get(items, 3), clock.get(items, 3)] == ["first", "second"]
    assert clock.monotonic() - before_s == pytest.approx(2)
    with pytest.raises(queue.Empty):
        clock.get(items, 3)
    assert clock.get(items, None) == "late"
    assert clock.monotonic() - before_s == pytest.approx(9)


def test_the_self_advancing_test_clock_ends_a_wait_when_a_scheduled_call_meets_its_condition(
    passing_clock: AdvancedClock,
) -> None:
    before_s = clock.monotonic()
    done: Future[None] = Future()
    passing_clock.call_later(1, lambda: done.set_result(None))
    assert clock.wait_futures([done], 5)
    assert clock.monotonic() - before_s == pytest.approx(1)
    assert clock.wait_futures([done], 0)


def test_the_manual_test_clock_ends_only_waits_whose_time_limit_has_passed(
    clock_by_hand: AdvancedClock,
) -> None:
    items: queue.SimpleQueue[str] = queue.SimpleQueue()
    with ThreadPoolExecutor() as executor:
        sleep = executor.submit(clock.sleep, 1)
        empty = executor.submit(clock.get, items, 2)
        wait = executor.submit(clock.wait_futures, [Future[None]()], 3)
        clock_by_hand.await_waits(3)
        clock_by_hand.advance(1.5)
        sleep.result()
        assert not empty.done()
        clock_by_hand.advance(0.5)
        assert isinstance(empty.exception(), queue.Empty)
        assert not wait.done()
        assert clock_by_hand.advance_to_next() == pytest.approx(1)
        assert not wait.result()


def test_the_manual_test_clock_ends_a_wait_when_another_thread_meets_its_condition(
    clock_by_hand: AdvancedClock,
) -> None:
    items: queue.SimpleQueue[str] = queue.SimpleQueue()
    future: Future[None] = Future()
    with ThreadPoolExecutor() as executor:
        item = executor.submit(clock.get, items, 2)
        is_done = executor.submit(clock.wait_futures, [future], 2)
        clock_by_hand.await_waits(2)
        items.put("item")
        future.set_result(None)
        assert (item.result(), is_done.result()) == ("item", True)
    items.put("next")
    clock_by_hand.advance(5)
    assert clock.get(items, 0) == "next"
