"""A file made durable by a thread of its own, while its writer goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future


class BackgroundSync:
    """Calls ``sync`` when it is asked to, once at a time: one call more serves all that asked
    meanwhile. After the first that fails there is no further one.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._changed = threading.Condition()
        self._asked: Future[None] | None = None
        self._running: Future[None] | None = None
        self._failed: Future[None] | None = None
        self._thread: threading.Thread | None = None
        self._ended = False

    def ask(self) -> Future[None]:
        """What is written by now is durable once the future is done; it has what was raised."""
        with self._changed:
            if self._failed is not None:
                return self._failed
            if self._asked is None:
                self._asked = Future()
                self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            return self._asked

    def wait(self) -> None:
        """Until nothing is under way; raises what the call that failed did."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked is None and self._running is None)
            failed = self._failed
        if failed is not None:
            failed.result()

    def check(self) -> None:
        """The same without waiting."""
        if self._failed is not None:
            self._failed.result()

    def end(self) -> None:
        """Let the thread end, once it has done what it was asked."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        while (future := self._take()) is not None:
            try:
                self._sync()
            except Exception as error:
                self._leave(future, error)
            else:
                self._leave(future, None)

    def _take(self) -> Future[None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._asked is not None or self._ended)
            self._running, self._asked = self._asked, None
            return self._running

    def _leave(self, future: Future[None], error: Exception | None) -> None:
        with self._changed:
            self._running = None
            if error is not None:
                self._failed = future
                if self._asked is not None:
                    self._asked.set_exception(error)
                    self._asked = None
            self._changed.notify_all()
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
