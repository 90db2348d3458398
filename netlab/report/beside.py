"""Has a text made by a copy of this process, on a core that else would be idle."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_CAN_COPY = sys.platform == "linux" and hasattr(os, "fork")
"""Elsewhere a process may not be copied once it has loaded libraries, or not at all."""
_FAILED = 1


@contextmanager
def beside(make: Callable[[], str], *, worth_it: bool) -> Iterator[Callable[[], str]]:
    """Have ``make`` called while the block does something else; it gets what it then asks for.

    The copy knows all that is known here when the block begins. Where it cannot be had, fails or is
    not worth it, ``make`` is called in this process, once the block asks. However the block is
    left, no process stays behind.
    """
    copy = _copied(make) if _CAN_COPY and worth_it else None
    if copy is None:
        yield make
        return
    child, said = copy
    ended = False

    def asked() -> str:
        nonlocal ended
        with os.fdopen(said, "rb", closefd=False) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        ended = True
        return text.decode("utf-8", "surrogatepass") if status == 0 else make()

    try:
        yield asked
    finally:
        os.close(said)
        if not ended:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _copied(make: Callable[[], str]) -> tuple[int, int] | None:
    """The copy, and where it says what it made."""
    asked, said = os.pipe()
    try:
        with warnings.catch_warnings():
            # Of locks that another thread may hold: the copy takes none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
    except OSError:
        os.close(asked)
        os.close(said)
        return None
    if child:
        os.close(said)
        return child, asked
    status = _FAILED
    try:
        os.close(asked)
        with os.fdopen(said, "wb") as pipe:
            pipe.write(make().encode("utf-8", "surrogatepass"))
        status = 0
    finally:
        # Nothing of what the original has open is ended twice.
        os._exit(status)
