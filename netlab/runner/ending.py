"""How a signal ends the process: the first in order and within a time, the second at once.

The first one raises ``Interrupted`` in the main thread, but never while something is written that
must be whole. The system writes each signal's number into a socket that a thread of its own reads:
so the time is kept, and the second signal heard, also where the main thread is stuck in a call.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import NoReturn

from netlab.errors import Interrupted

SAME_WISH_S = 0.3
"""The same signal within this time is the same wish: timeout(1) signals its child and the child's
group, and a terminal that is closed brings SIGHUP from the shell and from the system."""

END_S = 4.5
"""What the orderly end may take, whatever a host or a disk does; with Python's own it is 5 s."""

AGAIN_S = 0.01
"""So long after it was swallowed a signal is raised again."""

SHOW_CURSOR = b"\x1b[?25h"

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

_shielded = 0
_held: int | None = None
"""The signal that came while the main thread was shielded."""


@contextmanager
def interruptible(within_s: float = END_S) -> Iterator[None]:
    """Turn the first ending signal into ``Interrupted``; the process ends ``within_s`` of it.

    A signal that is ignored stays ignored (nohup). For the main thread. Left by ``Interrupted``
    the time goes on: what is still done then is done within it.
    """
    wanted = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    ending = [each for each in wanted if signal.getsignal(each) != signal.SIG_IGN]
    watch = _Watch(ending, within_s)
    before = {number: signal.signal(number, watch.handle) for number in ending}
    before_fd = signal.set_wakeup_fd(watch.notice, warn_on_full_buffer=False)
    try:
        with shielded_at_the_end():
            yield
    finally:
        if watch.first is None:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before_fd)
            watch.end()


def raise_swallowed() -> None:
    """See to it that no signal is lost: one that comes while a callback runs which lets nothing out
    (of a weak reference, a finalizer) is raised again a moment later. For the whole process.
    """
    others = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        global _held  # noqa: PLW0603
        raised = unraisable.exc_value
        if isinstance(raised, Interrupted):
            _held = raised.signal_number
            _raise_soon(_held)
        elif isinstance(raised, KeyboardInterrupt):
            _raise_soon(signal.SIGINT)
        else:
            others(unraisable)

    sys.unraisablehook = hook


def _raise_soon(number: int) -> None:
    """To the main thread itself, where that can be said: else its sleep would go on."""
    main = threading.main_thread().ident
    send: Callable[[], None] = partial(signal.raise_signal, number)
    if hasattr(signal, "pthread_kill") and main is not None:
        send = partial(signal.pthread_kill, main, number)
    timer = threading.Timer(AGAIN_S, send)
    timer.daemon = True
    timer.start()


@contextmanager
def shielded() -> Iterator[None]:
    """Something that must be whole: a signal that comes meanwhile is raised when it is."""
    global _shielded  # noqa: PLW0603  (signals are the process's)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _shielded += 1
    try:
        yield
    finally:
        _shielded -= 1
        _raise_held()


@contextmanager
def shielded_at_the_end() -> Iterator[None]:
    """What came while the last part was shielded is not forgotten."""
    yield
    _raise_held()


def _raise_held() -> None:
    global _held
    if _held is not None and not _shielded:
        number, _held = _held, None
        raise _interrupted(number)


def _interrupted(number: int) -> Interrupted:
    return Interrupted(number, f"ended by {signal.Signals(number).name}")


class _Watch:
    """Hears each signal's number, in a thread of its own."""

    def __init__(self, ending: list[int], within_s: float) -> None:
        self.first: int | None = None
        self._ending = frozenset(ending)
        self._within_s = within_s
        self._heard, notice = socket.socketpair()
        notice.setblocking(False)
        self._notice = notice
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def notice(self) -> int:
        """Where the system writes each signal's number."""
        return self._notice.fileno()

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """In the main thread, between two of its steps."""
        global _held  # noqa: PLW0603
        if self.first is not None:
            _raise_held()  # one that was swallowed
            return  # whether this is another wish is known to the thread that hears them
        self.first = number
        if _shielded:
            _held = number
            return
        raise _interrupted(number)

    def end(self) -> None:
        """No signal came."""
        self._notice.close()

    def _watch(self) -> None:
        first = self._next(None)
        if first is None:
            self._heard.close()
            return
        began_s = time.monotonic()
        second: int | None = first
        while second == first and time.monotonic() < began_s + SAME_WISH_S:
            second = self._next(max(0.0, began_s + self._within_s - time.monotonic()))
        _leave(second or first)

    def _next(self, within_s: float | None) -> int | None:
        """The next ending signal; ``None`` where none came in time, or none will."""
        while select.select([self._heard], [], [], within_s)[0]:
            heard = self._heard.recv(1)
            if not heard:
                return None
            if heard[0] in self._ending:
                return heard[0]
        return None


def _leave(number: int) -> NoReturn:
    """At once: agents end with their input, and the journal needs no last word. A progress bar has
    hidden the terminal's cursor.
    """
    with suppress(OSError, ValueError):
        if os.isatty(2) and select.select([], [2], [], 0)[1]:
            os.write(2, SHOW_CURSOR)
    os._exit(128 + number)
