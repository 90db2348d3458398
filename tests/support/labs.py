"""Labs for tests: looks inside their hosts, which processes go first, and what is left of one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from netlab import lab
from netlab.lab import network, programs, quota, state
from netlab.lab.plan import LabPlan

needs_a_lab = [pytest.mark.needs("lab")]


def ssh(of: lab.LabState, host: str, *words: str) -> str:
    argv = ["ssh", "-F", str(of.ssh_config), "-o", "BatchMode=yes", host, *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()


def inside(of: lab.LabState, host: int, *words: str) -> str:
    return programs.run("ip", "netns", "exec", of.hosts[host].namespace, *words).strip()


WATCH = """
import time
files = [open(f"/sys/class/net/test/statistics/rx_{what}") for what in ("packets", "bytes")]
def read():
    for file in files: file.seek(0)
    print(*(int(file.read()) for file in files), time.monotonic_ns())
read(); time.sleep(0.4); read()
"""


def wire_mbit_per_s(of: lab.LabState, host: int) -> float:
    """What a host's test interface takes in, as it is on the wire, over 0.4 s from now.

    Counted by the interface, so that a slow receiver is no part of it: frames between two readings,
    by the clock of the readings. The interface counts the header of 14 bytes, the wire 24 more.
    """
    lines = inside(of, host, sys.executable, "-c", WATCH).splitlines()
    first, second = ([int(word) for word in line.split()] for line in lines)
    frames, frame_bytes, elapsed_ns = (b - a for a, b in zip(first, second, strict=True))
    return (frame_bytes + 24 * frames) * 8 / elapsed_ns * 1000


def traces(plan: LabPlan) -> list[str]:
    """Everything of a lab that is still there."""
    namespaces = [host.namespace for host in plan.hosts]
    namespaces += [each for each in (plan.switch, plan.router) if each is not None]
    left = [name for name in namespaces if (network.NAMESPACES / name).exists()]
    left += [path.name for path in network.INTERFACES.glob(f"{plan.bridge}-*")]
    left += [plan.bridge] if (network.INTERFACES / plan.bridge).exists() else []
    left += [str(path) for path in (plan.hosts_file, state.folder_of(plan.name)) if path.exists()]
    groups = quota.controller()
    if groups is not None:
        folders = [groups.folder / host.namespace for host in plan.hosts]
        left += [str(folder) for folder in folders if folder.exists()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            uid, words = process.stat().st_uid, (process / "cmdline").read_bytes()
        except OSError:
            continue
        if uid in {host.uid for host in plan.hosts} or plan.hosts[0].namespace.encode() in words:
            left.append(words.decode())
    return left


@contextmanager
def first_on_the_cpus(of: lab.LabState, *names: str) -> Iterator[None]:
    """Whatever else this machine computes waits for the processes of these hosts, of all without a
    name, and for what they start: a figure of the lab is then not one of the others.

    They do not interrupt each other: two that are measured together have a CPU each, or sleep.
    """
    hosts = [host for host in of.hosts if not names or host.name in names]
    networks = {(network.NAMESPACES / host.namespace).stat().st_ino for host in hosts}

    def schedule(policy: int, priority: int) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "ns/net").stat().st_ino not in networks:
                    continue
                threads = [int(thread.name) for thread in (process / "task").iterdir()]
            except OSError:
                continue  # it ended meanwhile, or is none of ours to look into
            for thread in threads:
                with suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, policy, os.sched_param(priority))

    schedule(os.SCHED_RR, 1)
    try:
        yield
    finally:
        schedule(os.SCHED_OTHER, 0)


@contextmanager
def first_itself() -> Iterator[None]:
    """The same for the programs that this test starts meanwhile."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "waited 10 s in vain"
        time.sleep(0.002)
