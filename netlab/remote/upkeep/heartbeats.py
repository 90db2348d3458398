"""The heartbeats of all agents, without which an agent exits: one thread, however many there are.

A thread for each agent would cost a thousand hosts a thousand threads, which wake 500 times a
second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from netlab import clock

_LOG = logging.getLogger(__name__)

THREAD = "heartbeats"
"""Name of the thread."""

TICK_S = 0.25
"""Time between two looks at the agents."""

Beat = Callable[[float], float | None]
"""Sends a heartbeat if one is due, without waiting for the host. Gets the time of the monotonic
clock; returns the seconds until the next call, or ``None`` if there is nothing left to do."""


class Heartbeats:
    """Calls the ``Beat`` of each agent when it is due, in a daemon thread that ends with the last
    agent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due_s: dict[Beat, float] = {}
        """Beat → time of the monotonic clock at which it is called."""
        self._is_running = False

    def add(self, beat: Beat, after_s: float) -> None:
        """Call ``beat`` for the first time after ``after_s``."""
        with self._lock:
            self._due_s[beat] = clock.monotonic() + after_s
            begins = not self._is_running
            self._is_running = True
        if begins:
            threading.Thread(target=self._run, name=THREAD, daemon=True).start()

    def _run(self) -> None:
        while self._beat_all():
            clock.sleep(TICK_S)

    def _beat_all(self) -> bool:
        """Make the calls that are due; returns whether any agent is left."""
        now_s = clock.monotonic()
        with self._lock:
            due = [beat for beat, at_s in self._due_s.items() if at_s <= now_s]
        nexts = {beat: _kept(beat, now_s) for beat in due}
        with self._lock:
            for beat, after_s in nexts.items():
                if after_s is None:
                    del self._due_s[beat]
                else:
                    self._due_s[beat] = now_s + after_s
            self._is_running = bool(self._due_s)
            return self._is_running


def _kept(beat: Beat, now_s: float) -> float | None:
    """The result of a beat. An agent whose beat raises an exception gets no more heartbeats; the
    others go on.
    """
    try:
        return beat(now_s)
    except Exception:
        _LOG.exception("a heartbeat failed")
        return None


HEARTBEATS = Heartbeats()
"""The heartbeats of this process."""
