"""A deadline for calls that know none: a name that is looked up, a file on a share that is away."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_time(work: Callable[[], T], seconds: float) -> T:
    """What ``work`` returns or raises; TimeoutError where it takes longer.

    It is done in a thread of its own, which nobody waits for at the end.
    """
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((work(), None))
        except BaseException as error:
            outcome.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        value, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
