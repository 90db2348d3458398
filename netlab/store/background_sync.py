"""A thread that makes a file durable while its writer continues."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future


class BackgroundSync:
    """Calls ``sync`` in a thread, one call at a time.

    Requests that arrive during a call share the next call. After a call that failed, ``sync`` is
    not called again.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._changed = threading.Condition()
        self._requested: Future[None] | None = None
        self._running: Future[None] | None = None
        self._failed: Future[None] | None = None
        self._thread: threading.Thread | None = None
        self._ended = False

    def ask(self) -> Future[None]:
        """Request a sync. Once the future is done, all data written before is durable; the future
        holds the exception that ``sync`` raised.
        """
        with self._changed:
            if self._failed is not None:
                return self._failed
            if self._requested is None:
                self._requested = Future()
                self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            return self._requested

    def wait(self) -> None:
        """Wait until no sync is requested or running; raise the exception of a call that failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._requested is None and self._running is None)
            failed = self._failed
        if failed is not None:
            failed.result()

    def check(self) -> None:
        """Raise the exception of a call that failed, without waiting."""
        if self._failed is not None:
            self._failed.result()

    def end(self) -> None:
        """Let the thread end after the sync that is requested."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        while (future := self._next()) is not None:
            try:
                self._sync()
            except Exception as error:
                self._finish(future, error)
            else:
                self._finish(future, None)

    def _next(self) -> Future[None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._requested is not None or self._ended)
            self._running, self._requested = self._requested, None
            return self._running

    def _finish(self, future: Future[None], error: Exception | None) -> None:
        with self._changed:
            self._running = None
            if error is not None:
                self._failed = future
                if self._requested is not None:
                    self._requested.set_exception(error)
                    self._requested = None
            self._changed.notify_all()
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
