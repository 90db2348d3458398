"""The end of the process after a signal, and the threads of a run, which never delay this end.

The first signal raises ``Interrupted`` in the main thread, but never during a write that must be
complete; a second one ends the process at once. The system writes the number of each signal into a
socket that a thread reads, so the time limit holds even if the main thread is stuck in a call.
"""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from netlab.errors import HostError, Interrupted, ProbeError

SAME_WISH_S = 0.3
"""If the same signal arrives again within this time, the two count as one. Some senders signal
twice: timeout(1) signals its child and the child's group; if a terminal is closed, both the shell
and the system send a SIGHUP."""

END_S = 4.5
"""Time from the first signal to the end of the process; with Python's own end at most 5 s."""

AGAIN_S = 0.01
"""Delay after which a signal is sent again if Python swallowed its exception."""

SHOW_CURSOR = b"\x1b[?25h"

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

_shielded = 0
_held: int | None = None
"""The signal that came while the main thread was shielded."""
_in_hook = False
"""Whether the hook of ``raise_swallowed`` runs, in which an exception would be lost."""


@contextmanager
def interruptible(within_s: float = END_S) -> Iterator[None]:
    """Turn the first signal of ``NAMES`` into ``Interrupted``, in the main thread; the process ends
    within ``within_s`` seconds, also after the context. An ignored signal, as under nohup, stays
    so.
    """
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    ending = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    watch = _Watch(ending, within_s)
    old_handlers = {number: signal.signal(number, watch.handle) for number in ending}
    before_fd = signal.set_wakeup_fd(watch.notice.fileno(), warn_on_full_buffer=False)
    try:
        yield
        _raise_held()
    finally:
        if watch.first is None:
            for number, handler in old_handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before_fd)
            watch.notice.close()  # ends its thread


def raise_swallowed() -> None:
    """Install a hook for the whole process: Python swallows an exception in the callback of a weak
    reference or in a finalizer; the hook sends a signal that arrives there again.
    """
    previous_hook = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        global _held, _in_hook  # noqa: PLW0603
        raised = unraisable.exc_value
        _in_hook = True
        try:
            if isinstance(raised, Interrupted):
                _held = raised.signal_number
                _raise_soon(_held)
            elif isinstance(raised, KeyboardInterrupt):
                _raise_soon(signal.SIGINT)
            else:
                previous_hook(unraisable)
        finally:
            _in_hook = False

    sys.unraisablehook = hook


def _raise_soon(number: int) -> None:
    """Send a signal to the main thread (or else the process) soon, so that a sleep of it ends."""
    main = threading.main_thread().ident
    send: Callable[[], None] = partial(signal.raise_signal, number)
    if hasattr(signal, "pthread_kill") and main is not None:
        send = partial(signal.pthread_kill, main, number)
    timer = threading.Timer(AGAIN_S, send)
    timer.daemon = True
    timer.start()


@contextmanager
def shielded() -> Iterator[None]:
    """A context for a write that must be complete: a signal during it is raised at its end."""
    global _shielded  # noqa: PLW0603  (signals belong to the process)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _shielded += 1
    try:
        yield
    finally:
        _shielded -= 1
        _raise_held()


def _raise_held() -> None:
    global _held
    if _held is not None and not _shielded:
        number, _held = _held, None
        raise Interrupted(number, f"ended by {signal.Signals(number).name}")


class _Watch:
    """Reads signals in its own thread. A second one ends the process, or the time limit."""

    def __init__(self, ending: list[int], within_s: float) -> None:
        self.first: int | None = None
        self._ending = frozenset(ending)
        self._within_s = within_s
        self._heard, self.notice = socket.socketpair()
        """``notice``: the system writes the number of each signal to it."""
        self.notice.setblocking(False)
        threading.Thread(target=self._watch, daemon=True).start()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Python's signal handler: it runs in the main thread."""
        global _held  # noqa: PLW0603
        if _in_hook:
            # On a busy machine ``AGAIN_S`` may be over before the hook has ended.
            _raise_soon(number)
        elif self.first is not None:
            _raise_held()  # if ``_raise_soon`` has sent this signal again
            return  # the watching thread decides whether it is a second signal
        self.first = _held = number
        if not _in_hook:
            _raise_held()

    def _watch(self) -> None:
        first = self._next(None)
        if first is None:
            self._heard.close()
            return
        began_s = time.monotonic()
        second: int | None = first
        while second == first and time.monotonic() < began_s + SAME_WISH_S:
            second = self._next(max(0.0, began_s + self._within_s - time.monotonic()))
        # To exit at once is safe: agents end when their input is closed, and the journal needs no
        # last entry. The cursor of the terminal, which a progress bar hides, is shown again.
        with suppress(OSError, ValueError):
            if os.isatty(2) and select.select([], [2], [], 0)[1]:
                os.write(2, SHOW_CURSOR)
        os._exit(128 + (second or first))

    def _next(self, within_s: float | None) -> int | None:
        """The next signal that ends the process; ``None`` if none comes in time or by ``end``."""
        while select.select([self._heard], [], [], within_s)[0]:
            received = self._heard.recv(1)
            if not received:
                return None
            if received[0] in self._ending:
                return received[0]
        return None


P = ParamSpec("P")
T = TypeVar("T")
Key = TypeVar("Key")

AT_ONCE = 32
"""Maximum number of hosts to which netlab connects at the same time."""


class DaemonExecutor(Executor):
    """Runs each call in a daemon thread, at once or when fewer than ``most`` run. Python's own
    ``ThreadPoolExecutor`` would wait for a host that does not answer when the interpreter ends.
    """

    def __init__(self, most: int | None = None) -> None:
        """``most``: maximum number of calls at the same time, at least 1; ``None``: no maximum."""
        self._most = math.inf if most is None else most
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._threads = 0
        self._lock = threading.Lock()
        self._open: set[Future[Any]] = set()

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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the calls. After an exception do not wait; cancel those that have not begun."""
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._calls:
                    self._threads -= 1
                    return
                future, call = self._calls.popleft()
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


def ask_all(requests: Mapping[Key, Callable[[], T]]) -> dict[Key, T | HostError | ProbeError]:
    """Key → the answer to its request, or the error of the host. All hosts are asked at once."""

    def answer_to(ask: Callable[[], T]) -> T | HostError | ProbeError:
        try:
            return ask()
        except (HostError, ProbeError) as error:
            return error

    answers = DaemonExecutor(AT_ONCE).map(answer_to, requests.values())
    return dict(zip(requests, answers, strict=True))


A_HOST_S = 0.0001
"""Switch interval for each host: 0.1 s for 1000 hosts."""


@contextmanager
def switching_seldom(hosts: int) -> Iterator[None]:
    """Within this context, threads that wait for the interpreter ask for it less often, in
    proportion to the number of hosts; up to 50 hosts, Python's own interval of 5 ms stays. With
    1000 hosts, whose threads wake each 5 ms, these wake-ups would cost more than the work.
    """
    earlier_s = sys.getswitchinterval()
    sys.setswitchinterval(max(earlier_s, hosts * A_HOST_S))
    try:
        yield
    finally:
        sys.setswitchinterval(earlier_s)
