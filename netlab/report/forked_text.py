"""Makes a text in a fork of this process, on a core that would otherwise be idle."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_CAN_COPY = sys.platform == "linux" and hasattr(os, "fork")
"""On other systems a process cannot be forked, or not safely after it has loaded libraries."""
_FAILED = 1


@contextmanager
def forked_text(make: Callable[[], str], *, worth_it: bool) -> Iterator[Callable[[], str]]:
    """Call ``make`` in a fork while the block runs. The block gets a function that returns the
    text.

    The fork has the state of this process at the beginning of the block. If the fork cannot be made
    or fails, or if ``worth_it`` is false, the function calls ``make`` in this process. No process
    remains after the block, however the block ends.
    """
    fork = _forked(make) if _CAN_COPY and worth_it else None
    if fork is None:
        yield make
        return
    child, reader = fork
    is_over = False

    def result() -> str:
        nonlocal is_over
        with os.fdopen(reader, "rb", closefd=False) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        is_over = True
        return text.decode("utf-8", "surrogatepass") if status == 0 else make()

    try:
        yield result
    finally:
        os.close(reader)
        if not is_over:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _forked(make: Callable[[], str]) -> tuple[int, int] | None:
    """(process id, descriptor to read the text from) of a fork; ``None`` if forking failed."""
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python warns about locks that another thread may hold; the fork takes none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if child:
        os.close(writer)
        return child, reader
    status = _FAILED
    try:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(make().encode("utf-8", "surrogatepass"))
        status = 0
    finally:
        # Exit without clean-up, because the parent still uses the shared resources.
        os._exit(status)
