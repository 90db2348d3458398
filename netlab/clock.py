"""The clock of this process: its time, and every wait that a time limit ends.

Code that measures, or leads a run, reads the time and waits by these functions only. A test puts
another clock in place of ``current``, so that minutes pass without anybody waiting.
"""

from __future__ import annotations

import concurrent.futures
import queue
import time
from collections.abc import Collection
from typing import Any, TypeVar

Queued = TypeVar("Queued")


class Clock:
    """The system's monotonic clock."""

    def monotonic_ns(self) -> int:
        """The time."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Wait. The functions below say more about this method and the others."""
        time.sleep(seconds)

    def get(self, items: queue.SimpleQueue[Queued], timeout_s: float | None) -> Queued:
        """Take from a queue."""
        return items.get(timeout=timeout_s)

    def wait_futures(
        self,
        futures: Collection[concurrent.futures.Future[Any]],
        timeout_s: float | None,
    ) -> bool:
        """Wait for futures."""
        return not concurrent.futures.wait(futures, timeout_s).not_done


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


def get(items: queue.SimpleQueue[Queued], timeout_s: float | None) -> Queued:
    """The next item of a queue; queue.Empty if none arrives in time."""
    return current.get(items, timeout_s)


def wait_futures(
    futures: Collection[concurrent.futures.Future[Any]], timeout_s: float | None
) -> bool:
    """Wait until all futures are done; whether they are."""
    return current.wait_futures(futures, timeout_s)
