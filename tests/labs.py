"""Labs for tests: reasons to skip, looks inside their hosts, and what is left of one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
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


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "waited 10 s in vain"
        time.sleep(0.002)
