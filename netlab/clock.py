"""The clock of this process: its time, and every wait that a time limit ends.

Code that measures, or leads a run, reads the time and waits by these functions only. A test puts
another clock in place of ``current``, so that minutes pass without anybody waiting.
"""

from __future__ import annotations

import concurrent.futures
import queue
import threading
import time
from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")


class Cancellable(Protocol):
    """A call that was arranged for later."""

    def cancel(self) -> None:
        """Do not make the call, if it was not made yet."""


class Clock:
    """The system's monotonic clock."""

    def monotonic_ns(self) -> int:
        """The time."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Wait. The functions below say more about this method and the others."""
        time.sleep(seconds)

    def wait(self, event: threading.Event, timeout_s: float | None) -> bool:
        """Wait for an event."""
        return event.wait(timeout_s)

    def wait_for(
        self, condition: threading.Condition, predicate: Callable[[], bool], timeout_s: float | None
    ) -> bool:
        """Wait at a condition."""
        return condition.wait_for(predicate, timeout_s)

    def get(self, items: queue.SimpleQueue[Item], timeout_s: float | None) -> Item:
        """Take from a queue."""
        return items.get(timeout=timeout_s)

    def wait_futures(
        self,
        futures: Collection[concurrent.futures.Future[Any]],
        timeout_s: float | None,
    ) -> bool:
        """Wait for futures."""
        return not concurrent.futures.wait(futures, timeout_s).not_done

    def call_later(self, seconds: float, call: Callable[[], None]) -> Cancellable:
        """Make a call later."""
        timer = threading.Timer(seconds, call)
        timer.daemon = True
        timer.start()
        return timer


current = Clock()
"""The clock that the functions of this module use."""


def monotonic_ns() -> int:
    """The time of a clock that nobody sets, in ns."""
    return current.monotonic_ns()


def monotonic() -> float:
    """The time of ``monotonic_ns`` in seconds."""
    return current.monotonic_ns() / 1e9


def sleep(seconds: float) -> None:
    """Wait for some seconds."""
    current.sleep(seconds)


def wait(event: threading.Event, timeout_s: float | None) -> bool:
    """Wait until an event is set, without limit if ``timeout_s`` is ``None``; whether it is set."""
    return current.wait(event, timeout_s)


def wait_for(
    condition: threading.Condition, predicate: Callable[[], bool], timeout_s: float | None = None
) -> bool:
    """Wait at a condition, which the caller has acquired, until the predicate is true; its value.

    The predicate only reads: a test's clock calls it more often.
    """
    return current.wait_for(condition, predicate, timeout_s)


def get(items: queue.SimpleQueue[Item], timeout_s: float | None) -> Item:
    """The next item of a queue; queue.Empty if none arrives in time."""
    return current.get(items, timeout_s)


def wait_futures(
    futures: Collection[concurrent.futures.Future[Any]], timeout_s: float | None
) -> bool:
    """Wait until all futures are done; whether they are."""
    return current.wait_futures(futures, timeout_s)


def call_later(seconds: float, call: Callable[[], None]) -> Cancellable:
    """Make a call after some seconds, in another thread, unless the process ends before."""
    return current.call_later(seconds, call)
