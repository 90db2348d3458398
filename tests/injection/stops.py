"""What stops data in the middle of a trial: a process that does not run, a cable that is down."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from paths import ip


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Something that happens beside what the test does; over when the block is left."""
    thread = threading.Thread(target=action)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def stop_process(pid: int, for_s: float) -> None:
    """A process does not run for a while; nothing where it has gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(for_s)
        finally:
            os.kill(pid, signal.SIGCONT)


def take_down(namespace: str, for_s: float | None) -> None:
    """The test cable is down at a host's end for a while; ``None``: for good."""
    ip("-n", namespace, "link", "set", "dev", "test", "down")
    if for_s is not None:
        try:
            time.sleep(for_s)
        finally:
            ip("-n", namespace, "link", "set", "dev", "test", "up")


@contextmanager
def stopped(pid: int, after_s: float, for_s: float) -> Iterator[None]:
    """A process does not run for a while, from some time on."""

    def stop() -> None:
        time.sleep(after_s)
        stop_process(pid, for_s)

    with meanwhile(stop):
        yield


@contextmanager
def cable_down(namespace: str, after_s: float, for_s: float | None) -> Iterator[None]:
    """A host's end of the test cable is down for a while, from some time on."""

    def cut() -> None:
        time.sleep(after_s)
        take_down(namespace, for_s)

    with meanwhile(cut):
        yield
