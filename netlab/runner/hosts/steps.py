"""Messages about a step that takes long because there are many hosts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

SAY_S = 10.0
"""Time between two messages."""

Countable = TypeVar("Countable")


def counted(
    items: Iterable[Countable],
    in_all: int,
    what: str,
    notify: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Countable]:
    """The items as they come. If this takes long, there is a message every 10 s, such as
    ``connecting: 512 of 1000 hosts``; ``what`` is ``connecting: {} hosts``.
    """
    said_s = clock()
    for number, item in enumerate(items, start=1):
        yield item
        now_s = clock()
        if now_s - said_s >= SAY_S and number < in_all:
            said_s = now_s
            notify(what.format(f"{number} of {in_all}"))
