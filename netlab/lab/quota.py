"""A CPU quota for a host: one control group (cgroup v1 or v2) for all processes of the host.

The kernel gives the group a limited CPU time in each period. When this time is used up, the
processes wait for the next period (throttling). Work outside processes has no quota: the kernel
forwards and receives frames in softirq, on the core on which the sender runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError
from netlab.lab.plan import LabHost

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
"""Period of the quota in µs; the default of the kernel and of containers."""
GONE_S = 5.0
POLL_S = 0.01

ADVICE = "a CPU quota needs the control group controller `cpu`, and the right to write to it"
ENTER = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Controller:
    """Where this machine keeps its CPU quotas."""

    folder: Path
    """The folder that contains the folder of each group."""
    version: int

    @property
    def mount(self) -> Mapping[str, str]:
        """The mount that shows a host its group at the usual place: type, options, target."""
        if self.version == 2:
            return {"type": "cgroup2", "options": "", "at": str(ROOT)}
        name = self.folder.name
        return {"type": "cgroup", "options": name, "at": str(ROOT / name)}

    def limit(self, share: float) -> Mapping[str, str]:
        """File → text to write into it, for this share of one CPU."""
        quota_us = round(share * PERIOD_US)
        if self.version == 2:
            return {"cpu.max": f"{quota_us} {PERIOD_US}"}
        return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control group of one host."""

    folder: Path
    mount: Mapping[str, str]

    def entered(self, argv: Sequence[str]) -> list[str]:
        """A command that enters the group and executes ``argv``, with the same process number."""
        return ["/bin/sh", "-c", ENTER, str(self.folder / "cgroup.procs"), *argv]


def controller(root: Path = ROOT) -> Controller | None:
    """The CPU controller of this machine, if groups can be made in it; otherwise ``None``.

    In version 1 the name of the folder lists its controllers, such as ``cpu,cpuacct``; links to it
    that have the name of one controller are ignored.
    """
    result = None
    for folder in sorted(root.glob("*cpu*")):
        is_cpu = "cpu" in folder.name.split(",") and not folder.is_symlink()
        if is_cpu and (folder / "cpu.cfs_quota_us").exists():
            result = Controller(folder, 1)
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" in listed.read_text(encoding="ascii").split():
        result = Controller(root, 2)
    return result if result is not None and os.access(result.folder, os.W_OK) else None


def remedy(root: Path = ROOT) -> str | None:
    """The command that provides a CPU controller; ``None`` if this machine already has one."""
    if controller(root) is not None:
        return None
    if not any(root.glob("cgroup.controllers")) and not any(root.glob("*cpu*")):
        return f"{root} has no control groups: sudo mount -t cgroup2 none {root}"
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" not in listed.read_text(encoding="ascii").split():
        return (
            f"{root} has no controller `cpu`; in a container: docker run --privileged "
            "--cgroupns=host; on a machine: remove cgroup_disable=cpu from the kernel's parameters"
        )
    return (
        f"{root} may not be written: sudo mount -o remount,rw {root}; "
        "in a container: docker run --privileged --cgroupns=host"
    )


def make(host: LabHost, share: float, root: Path = ROOT) -> ControlGroup:
    """Make the group of a host, limited to a share of one CPU. Raises HostError if impossible.

    In version 2 the root group must delegate the controller to its groups. If it does not, this
    function makes it delegate the controller, which limits no process.
    """
    cpu_controller = controller(root)
    if cpu_controller is None:
        raise HostError(f"--cpu-quota {host.name}: {root} has no CPU controller: {ADVICE}")
    group = cpu_controller.folder / host.namespace
    try:
        if cpu_controller.version == 2:
            _hand_on(cpu_controller.folder)
        group.mkdir()
        for name, value in cpu_controller.limit(share).items():
            (group / name).write_text(value)
    except OSError as error:
        words = f"{error.filename or group}: {error.strerror}"
        raise HostError(f"--cpu-quota {host.name}: {words}: {ADVICE}") from None
    return ControlGroup(group, cpu_controller.mount)


def _hand_on(root: Path) -> None:
    handed_on = root / "cgroup.subtree_control"
    if "cpu" not in handed_on.read_text(encoding="ascii").split():
        handed_on.write_text("+cpu")


def remove(host: LabHost, root: Path = ROOT) -> None:
    """Remove the group of a host whose processes have ended; does nothing if there is none."""
    cpu_controller = controller(root)
    if cpu_controller is None:
        return
    group = cpu_controller.folder / host.namespace
    end = time.monotonic() + GONE_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError as error:
            # The last process of the group may still be ending.
            if time.monotonic() > end:
                words = f"{group}: {error.strerror}: it contains a process of another program"
                raise HostError(words) from None
            time.sleep(POLL_S)
