"""What tests of the kinds ``unit`` and ``agents`` must not do.

Such a test fails where it starts a program other than a compiler, a C unit or the tools that build
them, where it connects or binds a socket, where it sleeps, and where it waits until a time is over.
Programs and sockets are seen by Python's audit events (docs.python.org, audit events table), sleeps
and waits by wrappers. Threads count for the test during which they act.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, SupportsIndex

import pytest
from kinds import kind_of

BUILDING = {"cc", "gcc", "clang", "make", "ld", "nm", "objdump", "git"}
"""Programs that build, or read what was built."""
BUILT = {"contract", "units"}
"""Programs of C units."""


class Guard:
    """Collects the forbidden acts of the test that runs now."""

    def __init__(self) -> None:
        self.acts: list[str] | None = None
        """``None``: the test may do anything."""

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """One audit event."""
        acts = self.acts
        if acts is None:
            return
        if event in ("socket.connect", "socket.bind"):
            acts.append(f"{event} {arguments[1]!r}")
        elif event in ("os.fork", "os.forkpty"):
            acts.append(event)
        elif event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
            name = Path(os.fsdecode(arguments[0])).name
            if name not in BUILDING | BUILT:
                acts.append(f"started {name}")

    def wait(self, verb: str, wait_s: float | None) -> None:
        """A thread slept, or waited until the time was over.

        The thread of the heartbeats may outlive a test of the lab by one heartbeat.
        """
        if threading.current_thread().name == "heartbeats":
            return
        if self.acts is not None and wait_s is not None and wait_s > 0:
            self.acts.append(f"{verb} {wait_s:g} s")


GUARD = Guard()
sys.addaudithook(GUARD.hear)
_SLEEP, _WAIT = time.sleep, threading.Condition.wait


def _sleep(seconds: float | SupportsIndex, /) -> None:
    # A program that a unit may start is waited for in steps.
    if sys._getframe(1).f_globals.get("__name__") != "subprocess":
        GUARD.wait("slept", float(seconds))
    _SLEEP(seconds)


def _wait(self: threading.Condition, timeout: float | None = None) -> bool:
    notified = _WAIT(self, timeout)
    if not notified:
        GUARD.wait("waited", timeout)
    return notified


time.sleep = _sleep
threading.Condition.wait = _wait  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that did what its kind must not."""
    GUARD.acts = [] if kind_of(item) in ("unit", "agents") else None
    try:
        yield
        acts, GUARD.acts = GUARD.acts, None
        if acts:
            pytest.fail(f"a test of the kind {kind_of(item)!r} must not: {', '.join(acts[:5])}")
    finally:
        GUARD.acts = None
