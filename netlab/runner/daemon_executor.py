"""An executor for calls that wait on hosts: one daemon thread for each call.

Python's ``ThreadPoolExecutor`` joins its threads when the interpreter ends. With it, a host that
does not answer would delay the end of a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 16
"""Maximum number of hosts to which netlab connects at the same time."""


class DaemonExecutor(Executor):
    """Runs each call in its own daemon thread, which does not keep the process alive."""

    def __init__(self, most: int | None = None) -> None:
        """``most``: maximum number of calls at the same time, at least 1; ``None``: no maximum."""
        self._room = None if most is None else threading.Semaphore(most)
        self._started: list[Future[Any]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start a call; the future holds its result or its exception."""
        future: Future[T] = Future()
        self._started = [task for task in self._started if not task.done()]
        self._started.append(future)
        call = partial(fn, *args, **kwargs)
        threading.Thread(target=self._run, args=(future, call), daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the started calls if ``wait``; a running call is never interrupted."""
        if cancel_futures:
            for future in self._started:
                future.cancel()
        for future in self._started if wait else ():
            if not future.cancelled():
                future.exception()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the calls. If an exception leaves the context, do not wait, and cancel the calls
        that have not begun.
        """
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _run(self, future: Future[T], call: Callable[[], T]) -> None:
        if self._room is not None:
            self._room.acquire()
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        finally:
            if self._room is not None:
                self._room.release()
