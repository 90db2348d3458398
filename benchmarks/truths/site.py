"""A lab that stays up while many runs are measured in it, and processes inside its hosts.

The processes in the hosts end when this process ends, even if it is killed: a program that takes
CPU time would otherwise disturb all later runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlab import lab
from netlab.lab import LabOptions, LabState, programs
from netlab.lab.plan import Cable, LabHost, LabPlan

RECEIVER, SENDER = "linux-a", "linux-b"
"""The hosts of all runs with two hosts. The client sends."""
SENDER_CPU, RECEIVER_CPU = 1, 0
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
SCRIPTS = Path(__file__).parent / "scripts"
RATE_BIT_PER_S = 100e6
SLOW_BIT_PER_S = 20e6
"""Rate of the path with delay. It is low because a Python program delays the packets."""
ENDS_S = 2.0
UNLIMITED_CPUS = 64.0
NO_QUOTA = {1: ("cpu.cfs_quota_us", "-1"), 2: ("cpu.max", "max")}

LABS: Mapping[str, Mapping[str, Any]] = {
    "cable": {"rate": RATE_BIT_PER_S},
    "fast": {},
    "router": {"rate": RATE_BIT_PER_S, "topology": "router", "device_queue_frames": 1000},
    "delay": {
        "rate": SLOW_BIT_PER_S,
        "topology": "router",
        "rates": {SENDER: RATE_BIT_PER_S},
        "device_queue_frames": 1000,
    },
    "mesh": {"rate": RATE_BIT_PER_S, "linux": 3},
    "four": {"rate": RATE_BIT_PER_S, "linux": 4},
}
"""Name of a lab → its options, as in ``LabOptions``. ``fast`` is a cable without a rate limit, so
the CPU is its limit."""
WITH_GROUPS = ("cable",)
"""Labs whose hosts are in control groups, without a quota until one is planted."""


@dataclass(frozen=True, slots=True)
class Site:
    """One standing lab."""

    kind: str
    state: LabState
    undone: list[str] = field(default_factory=list)
    """What could not be undone. If there is any, the lab cannot be used any more."""

    @property
    def plan(self) -> LabPlan:
        assert self.state.plan is not None
        return self.state.plan

    def host(self, name: str) -> LabHost:
        return next(host for host in self.plan.logins if host.name == name)

    def cable(self, host: str) -> Cable:
        """The test cable of a host."""
        namespace = self.host(host).namespace
        return next(
            cable
            for cable in self.plan.cables
            if namespace in {end.namespace for end in cable.ends}
        )

    def words(self, host: str, argv: Sequence[str], *, in_group: bool = False) -> list[str]:
        """The command that runs ``argv`` in the host's network namespace. It ends when this process
        ends.
        """
        namespace = self.host(host).namespace
        inside = ["ip", "netns", "exec", namespace, *argv]
        group = self.group(host)
        if in_group and group is not None:
            inside = programs.ControlGroup(group, {}).entered(inside)
        return [*ENDS_WITH_US, *inside]

    def run(self, host: str, *argv: str) -> str:
        """Run a program in the host's network namespace to its end, and return its standard
        output.
        """
        process = subprocess.run(
            self.words(host, argv), capture_output=True, text=True, timeout=60, check=False
        )
        if process.returncode:
            raise RuntimeError(
                f"{' '.join(argv)}: {process.stderr.strip() or process.stdout.strip()}"
            )
        return process.stdout

    @contextmanager
    def running(
        self, host: str, *argv: str, in_group: bool = False
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a program in the host's network namespace until the context ends."""
        words = self.words(host, argv, in_group=in_group)
        with killed(words) as process:
            yield process

    def script(self, name: str, *words: str) -> list[str]:
        """The command line of a script of the folder ``scripts``."""
        return [sys.executable, "-I", "-S", str(SCRIPTS / name), *words]

    def group(self, host: str) -> Path | None:
        """The control group of a host; ``None`` if it has none."""
        controller = programs.quota_controller()
        folder = None if controller is None else controller.folder / self.host(host).namespace
        return folder if folder is not None and folder.is_dir() else None

    def set_quota(self, host: str, share: float | None) -> None:
        """Limit a host to this share of one CPU from now on; ``None``: no limit."""
        controller, group = programs.quota_controller(), self.group(host)
        if controller is None or group is None:
            raise RuntimeError("this machine has no control group that sets a CPU quota")
        limits = dict([NO_QUOTA[controller.version]]) if share is None else controller.limit(share)
        for name, value in limits.items():
            (group / name).write_text(value)

    def probes(self, host: str) -> list[int]:
        """Process numbers of the probes of a host, which are found by the host's account."""
        uid, process_numbers = self.host(host).uid, []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_probe = b"netprobe" in (process / "cmdline").read_bytes()
                if is_probe and process.stat().st_uid == uid:
                    process_numbers.append(int(process.name))
        return process_numbers

    def sshd(self, host: str) -> int:
        """The process number of the host's sshd, which is in the host's mount namespace."""
        uid = self.host(host).namespace
        inode = (Path("/run/netns") / uid).stat().st_ino
        for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes()
                if (process / "ns/net").stat().st_ino == inode and b"sshd" in words:
                    return int(process.name)
        raise RuntimeError(f"{host} has no sshd")


@contextmanager
def killed(words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a process until the context ends.

    A script of the folder ``scripts`` prints `ready` when it has started, and ends when its
    standard input ends. Raises RuntimeError if it does not start.
    """
    is_ours = any(word.startswith(str(SCRIPTS)) for word in words)
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if is_ours:
                assert process.stdout is not None
                if process.stdout.readline() != "ready\n":
                    raise RuntimeError(f"{' '.join(words)}: did not start")
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            # A script may have to undo something before it ends.
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_S if is_ours else 0)
            process.kill()
            process.wait()


@contextmanager
def standing(kind: str, name: str) -> Iterator[Site]:
    """Make a lab of a kind of ``LABS`` until the context ends. A lab of the same name is removed
    first.
    """
    lab.down(name)
    wish = dict(LABS[kind])
    if kind in WITH_GROUPS and programs.quota_controller() is not None:
        wish["cpu_shares"] = dict.fromkeys((RECEIVER, SENDER), UNLIMITED_CPUS)
    try:
        site = Site(kind, lab.up(LabOptions(name=name, **wish)))
        for host in wish.get("cpu_shares", ()):
            site.set_quota(host, None)
        with _delayed(site) if kind == "delay" else _nothing():
            yield site
    finally:
        lab.down(name, forget=True)


DELAY_S = 0.01
"""Delay in each direction."""


@contextmanager
def _delayed(site: Site) -> Iterator[None]:
    """Delay every packet in the router."""
    router = site.plan.router
    assert router is not None
    ports = [cable.ends[1].interface for cable in site.plan.cables]
    script = site.script("delay.py", str(DELAY_S), *ports)
    with killed([*ENDS_WITH_US, "ip", "netns", "exec", router, *script]):
        time.sleep(0.05)
        yield


@contextmanager
def _nothing() -> Iterator[None]:
    yield
