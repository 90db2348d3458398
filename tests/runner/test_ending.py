"""Signals are raised once, in the main thread, and never during a write that must be complete."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from terminals import terminal

pytestmark = pytest.mark.lab

BEGIN = """
import ctypes, os, signal, sys, threading, time
from netlab.errors import Interrupted
from netlab.runner.ending import interruptible, shielded
"""


def program(text: str, **popen: object) -> subprocess.Popen[str]:
    """Python that says ``ready`` and then waits for signals."""
    child = subprocess.Popen(  # type: ignore[call-overload]
        [sys.executable, "-c", BEGIN + text], stdout=subprocess.PIPE, text=True, **popen
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child  # type: ignore[no-any-return]


def test_a_signal_during_a_shielded_write_is_raised_after_the_write() -> None:
    child = program("""
try:
    with interruptible():
        with shielded():
            print("ready", flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.4)
            print("whole", flush=True)
        time.sleep(600)
except Interrupted as interrupt:
    print(interrupt, interrupt.signal_number, flush=True)
""")
    output, _ = child.communicate(timeout=60)
    assert output == "whole\nended by SIGTERM 15\n"


def test_a_signal_ends_the_process_although_the_main_thread_is_stuck() -> None:
    # A call into C that no signal ends, like a write to a disk that does not answer.
    child = program("""
with interruptible(within_s=0.5):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    threading.Timer(1.0, print, ["ready"], {"flush": True}).start()
    ctypes.CDLL(None).sleep(600)
""")
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    child.communicate()


def test_a_second_signal_of_another_kind_ends_the_process() -> None:
    child = program("""
try:
    with interruptible():
        print("ready", flush=True)
        time.sleep(600)
except Interrupted:
    print("handled", flush=True)
    time.sleep(600)
""")
    child.send_signal(signal.SIGINT)
    assert child.stdout is not None
    assert child.stdout.readline() == "handled\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 143
    child.communicate()


def test_two_equal_signals_at_the_same_time_count_as_one() -> None:
    # As timeout(1) does; a closed terminal sends SIGHUP twice, which nohup ignores.
    child = program("""
import netlab.runner.ending
netlab.runner.ending.SAME_WISH_S = 30.0  # a busy machine may take long between the two
try:
    with interruptible():
        print("ready", flush=True)
        time.sleep(600)
except Interrupted as interrupt:
    time.sleep(0.5)
    print(interrupt, flush=True)
""")
    child.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=60)
    assert (child.returncode, output) == (0, "ended by SIGTERM\n")


SWALLOWS = """
import weakref
from contextlib import nullcontext
from netlab.runner.ending import raise_swallowed
class Thing: pass
def swallow(number):
    # Python swallows an exception in the callback of a weak reference.
    thing = Thing()
    kept = weakref.ref(thing, lambda _: (os.kill(os.getpid(), number), time.sleep(0)))
    del thing
    return kept
raise_swallowed()
try:
    with {watch}:
        print("ready", flush=True)
        swallow(signal.{name})
        time.sleep(600)
except (Interrupted, KeyboardInterrupt) as ended:
    print(type(ended).__name__, getattr(ended, "signal_number", 2), flush=True)
"""


@pytest.mark.parametrize(
    ("watch", "name", "output"),
    [
        ("interruptible()", "SIGINT", "Interrupted 2"),
        ("interruptible()", "SIGTERM", "Interrupted 15"),
        ("nullcontext()", "SIGINT", "KeyboardInterrupt 2"),
    ],
)
def test_a_signal_that_a_weak_reference_callback_swallows_is_raised_again(
    watch: str, name: str, output: str
) -> None:
    child = program(SWALLOWS.format(watch=watch, name=name), stderr=subprocess.PIPE)
    assert child.communicate(timeout=60) == (f"{output}\n", "")


def test_a_swallowed_signal_raised_again_during_its_handling_is_not_lost() -> None:
    """As on a busy machine, where the delay is over before the hook has ended."""
    text = SWALLOWS.format(watch="interruptible()", name="SIGINT")
    hasty = "import netlab.runner.ending\nnetlab.runner.ending.AGAIN_S = 2e-6\n"
    child = program(hasty + text, stderr=subprocess.PIPE)
    assert child.communicate(timeout=60) == ("Interrupted 2\n", "")


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_shows_the_cursor_of_the_terminal_again(second: signal.Signals) -> None:
    with terminal() as screen:
        child = program(
            """
try:
    with interruptible():
        print("ready", flush=True)
        time.sleep(600)
except Interrupted:
    print("handled", flush=True)
    time.sleep(600)
""",
            stderr=screen.end,
        )
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        assert child.stdout.readline() == "handled\n"
        time.sleep(0.5)  # the same signal sooner would count as the first
        child.send_signal(second)
        assert child.wait(60) == 128 + second
        child.communicate()
        assert screen.written() == b"\x1b[?25h"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_ignored_signal_stays_ignored_and_all_handlers_are_restored_afterwards(
    name: str,
) -> None:
    text = f"""
signal.signal(signal.{name}, signal.SIG_IGN)
before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
with interruptible():
    print("ready", flush=True)
    os.kill(os.getpid(), signal.{name})
    time.sleep(0.2)
after = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
print(before == after, flush=True)
"""
    child = program(text)
    output, _ = child.communicate(timeout=60)
    assert (child.returncode, output) == (0, "True\n")
