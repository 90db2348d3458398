"""An executor for calls that wait on hosts: daemon threads, one for each call that runs.

Python's ``ThreadPoolExecutor`` joins its threads when the interpreter ends. With it, a host that
does not answer would delay the end of a run.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 32
"""Maximum number of hosts to which netlab connects at the same time."""


class DaemonExecutor(Executor):
    """Runs each call in a daemon thread, which does not keep the process alive. A call begins at
    once, unless ``most`` calls run; then it begins as soon as one of them has ended.
    """

    def __init__(self, most: int | None = None) -> None:
        """``most``: maximum number of calls at the same time, at least 1; ``None``: no maximum."""
        self._most = math.inf if most is None else most
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        """Calls that have not begun."""
        self._threads = 0
        self._lock = threading.Lock()
        self._open: set[Future[Any]] = set()
        """Calls that have not ended."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start a call; the future holds its result or its exception."""
        future: Future[T] = Future()
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        with self._lock:
            self._calls.append((future, partial(fn, *args, **kwargs)))
            needs_thread = self._threads < self._most
            self._threads += needs_thread
        if needs_thread:
            threading.Thread(target=self._work, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the started calls if ``wait``; a running call is never interrupted."""
        futures = self._open.copy()
        if cancel_futures:
            for future in futures:
                future.cancel()
        for future in futures if wait else ():
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

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._calls:
                    self._threads -= 1
                    return
                future, call = self._calls.popleft()
            _run(future, call)


def _run(future: Future[T], call: Callable[[], T]) -> None:
    try:
        if future.set_running_or_notify_cancel():
            future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
