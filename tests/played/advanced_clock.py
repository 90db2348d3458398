"""A clock for netlab.clock that a test advances, so that no test waits.

Time passes either by itself or by hand. By itself: as soon as a thread sleeps or waits for what is
not there, the clock jumps to the next call that was arranged (``call_later``) or to the next time
limit of a wait, whichever is first. That is right where all that answers is called by the waiting
thread or arranged with the clock. By hand: a thread waits until the test advances the clock beyond
its time limit, or until what it waits for is there. That is for threads that really work meanwhile.
"""

from __future__ import annotations

import concurrent.futures
import heapq
import queue
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from netlab import clock
from netlab.clock import Clock, Queued

BEGIN_NS = 1_000_000_000_000
"""Time of a new clock: more than any time that is subtracted from it."""

_WAKE: Any = object()
"""What a queue gets when the time of a wait is over; nobody else sees it."""


@dataclass(order=True)
class _Due:
    """A call at a time: one that was arranged, or one that ends a wait."""

    at_ns: int
    number: int
    call: Callable[[], object] = field(compare=False)
    ends_wait: bool = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class AdvancedClock(Clock):
    """A clock whose time passes without waiting."""

    def __init__(self, *, by_hand: bool = False) -> None:
        self.slept_s: list[float] = []
        """The length of each sleep."""
        self._by_hand = by_hand
        self._now_ns = BEGIN_NS
        self._dues: list[_Due] = []
        self._number = 0
        self._changed = threading.Condition()
        """Guards the fields above; notified when a wait begins or ends."""
        self._advancing = threading.RLock()
        """Held by the thread that lets time pass, so that calls happen in their order."""

    # What a test does

    def advance(self, seconds: float) -> None:
        """Let time pass: make the calls that become due, and end the waits."""
        with self._advancing:
            until_ns = self._now_ns + round(1e9 * seconds)
            while self._pass_to_next(until_ns):
                pass
            self._now_ns = max(self._now_ns, until_ns)

    def await_waits(self, number: int = 1) -> None:
        """Wait until so many threads wait with a time limit, or sleep."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waits()) >= number)

    def advance_to_next(self, number: int = 1) -> float:
        """Wait until so many threads wait, and let time pass until the first of them ends or the
        next arranged call is made; the seconds that passed.
        """
        self.await_waits(number)
        with self._advancing:
            before_ns = self._now_ns
            self._pass_to_next()
            return (self._now_ns - before_ns) / 1e9

    def call_later(self, seconds: float, call: Callable[[], object]) -> _Due:
        """Arrange a call. The thread that lets time pass makes the call; it can be cancelled."""
        return self._add(seconds, call, ends_wait=False)

    # What netlab does

    def monotonic_ns(self) -> int:
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        condition = threading.Condition()
        with condition:
            self._wait_for(condition, lambda: False, seconds)

    def get(self, items: queue.SimpleQueue[Queued], timeout_s: float | None) -> Queued:
        with self._wait_until(timeout_s, lambda: items.put(_WAKE)) as is_over:
            while True:
                try:
                    item = items.get_nowait()
                except queue.Empty:
                    if is_over():
                        raise
                    if self._passes(lambda: not items.empty()):
                        continue
                    item = items.get()
                if item is not _WAKE:
                    return item

    def wait_futures(
        self,
        futures: Collection[concurrent.futures.Future[Any]],
        timeout_s: float | None,
    ) -> bool:
        changed = threading.Condition()

        def notify(_future: object) -> None:
            with changed:
                changed.notify_all()

        for future in futures:
            future.add_done_callback(notify)
        with changed:
            return self._wait_for(changed, lambda: all(f.done() for f in futures), timeout_s)

    # How

    def _wait_for(
        self, condition: threading.Condition, predicate: Callable[[], bool], timeout_s: float | None
    ) -> bool:
        def wake() -> None:
            with condition:
                condition.notify_all()

        with self._wait_until(timeout_s, wake) as is_over:
            while not predicate() and not is_over():
                condition.release()
                try:
                    passed = self._passes(lambda: predicate() or is_over())
                finally:
                    condition.acquire()
                if not passed and not predicate() and not is_over():
                    condition.wait()
        return predicate()

    def _add(self, seconds: float, call: Callable[[], object], *, ends_wait: bool) -> _Due:
        with self._changed:
            self._number += 1
            due = _Due(self._now_ns + round(1e9 * seconds), self._number, call, ends_wait)
            heapq.heappush(self._dues, due)
            self._changed.notify_all()
        return due

    def _waits(self) -> list[_Due]:
        return [due for due in self._dues if due.ends_wait and not due.cancelled]

    @contextmanager
    def _wait_until(
        self, timeout_s: float | None, wake: Callable[[], object]
    ) -> Iterator[Callable[[], bool]]:
        """While a thread waits; yields whether its time is over."""
        if timeout_s is None:
            yield lambda: False
            return
        due = self._add(max(0.0, timeout_s), wake, ends_wait=True)
        try:
            yield lambda: self._now_ns >= due.at_ns
        finally:
            due.cancel()

    def _passes(self, ends: Callable[[], bool]) -> bool:
        """Let time pass to the next call or limit, unless the test does it, or another thread just
        let pass what ends this wait; whether to look again.
        """
        if self._by_hand:
            return False
        with self._advancing:
            return ends() or self._pass_to_next()

    def _pass_to_next(self, until_ns: int | None = None) -> bool:
        """Make the next call, if there is one and it is due until then."""
        with self._changed:
            while self._dues and self._dues[0].cancelled:
                heapq.heappop(self._dues)
            if not self._dues or (until_ns is not None and self._dues[0].at_ns > until_ns):
                return False
            due = heapq.heappop(self._dues)
            self._now_ns = max(self._now_ns, due.at_ns)
        due.call()
        return True


@contextmanager
def advanced(*, by_hand: bool = False) -> Iterator[AdvancedClock]:
    """A new clock in place of the system's."""
    with pytest.MonkeyPatch.context() as patch:
        new_clock = AdvancedClock(by_hand=by_hand)
        patch.setattr(clock, "current", new_clock)
        yield new_clock


def call_later(seconds: float, call: Callable[[], object]) -> None:
    """Arrange a call with the clock of the test."""
    assert isinstance(clock.current, AdvancedClock)
    clock.current.call_later(seconds, call)


@contextmanager
def passing() -> Iterator[AdvancedClock]:
    """A clock whose time passes by itself: the test's, or a new one in place of the system's."""
    if isinstance(clock.current, AdvancedClock):
        yield clock.current
        return
    with advanced() as new_clock:
        yield new_clock


@pytest.fixture
def passing_clock() -> Iterator[AdvancedClock]:
    """Time passes as soon as somebody waits."""
    with advanced() as new_clock:
        yield new_clock


@pytest.fixture
def clock_by_hand() -> Iterator[AdvancedClock]:
    """Time passes only when the test advances it."""
    with advanced(by_hand=True) as new_clock:
        yield new_clock
