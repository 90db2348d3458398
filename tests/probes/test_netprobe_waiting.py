"""How long a thread of a test waited for a CPU, as the probe tells it: against one that has it."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from netprobe_agents import CPUS, Reply, agents, netprobe
from round_trip_peers import Agents, done

__all__ = ["agents", "netprobe"]

pytestmark = [pytest.mark.night, pytest.mark.alone]

RIVALS = 4
ROUNDS = 5


@contextmanager
def rivals(count: int, cpu: int) -> Iterator[None]:
    """So many programs that take all they get of one CPU."""
    with ExitStack() as stack:
        for _ in range(count):
            rival = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
            stack.callback(rival.kill)
            os.sched_setaffinity(rival.pid, {cpu})
        yield


def spun(agents: Agents, cpu: int) -> Reply:
    """What a mirror said that never sleeps: it runs on its CPU, or waits for it."""
    keys: dict[str, Any] = {"proto": "udp", "message": 64, "seconds": 0.3}
    ask = {"message_rate": 1000, "cpu": CPUS[0]}
    return done(agents, mirror={"spin": 1, "cpu": cpu}, ask=ask, **keys).mirrored


@pytest.mark.needs("linux", "two-cpus")  # a probe does not spin on the only CPU
def test_the_wait_of_a_thread_for_its_cpu_grows_with_the_number_of_rivals(
    agents: Agents,
) -> None:
    """With rivals and without in turns: whatever else this machine does meets both alike. Time is
    shared out evenly, so waiting / running is the number of those that it is shared with; it grows
    by the rivals, or by more where the others' programs have a share of their own."""
    accounted, more = [], []
    for _ in range(ROUNDS):
        shared_with = []
        for count in (0, RIVALS):
            with rivals(count, CPUS[-1]):
                record = spun(agents, CPUS[-1])
            waited, ran = record["run_queue_delay_ns"], record["thread_ns"]
            shared_with.append(waited / ran)
            accounted.append((waited + ran) / record["elapsed_ns"])
        more.append(shared_with[1] - shared_with[0])
    assert statistics.median(more) > RIVALS / 2, more
    assert statistics.median(accounted) == pytest.approx(1, abs=0.1), accounted
