"""A CPU quota on a host: a control group of its own for all its processes, of version 1 or 2.

The kernel gives the group so much CPU time in each period and lets its processes wait for the next
one (it calls that throttling). What no process does has no quota: frames are forwarded and received
in softirq, on whichever core the sender runs.
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
"""The kernel's own default, and what containers have."""
GONE_S = 5.0
POLL_S = 0.01

ADVICE = "a CPU quota needs control groups with the controller `cpu`, writable (in a container too)"
ENTER = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Controller:
    """Where this machine keeps its CPU quotas."""

    folder: Path
    """Groups are folders in here."""
    version: int

    @property
    def mount(self) -> Mapping[str, str]:
        """What shows a host its own group at the usual place: a mount's type, options, target."""
        if self.version == 2:
            return {"type": "cgroup2", "options": "", "at": str(ROOT)}
        name = self.folder.name
        return {"type": "cgroup", "options": name, "at": str(ROOT / name)}

    def limit(self, share: float) -> Mapping[str, str]:
        """File → what is written into it, for so much of one CPU."""
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
        """The command that becomes ``argv`` inside the group; its number stays the same."""
        return ["/bin/sh", "-c", ENTER, str(self.folder / "cgroup.procs"), *argv]


def controller(root: Path = ROOT) -> Controller | None:
    """The controller of CPU time, where this machine has one that groups can be made of.

    Of version 1 the folder bears the controllers' names, such as ``cpu,cpuacct``; links to it by
    single names are not followed.
    """
    found = None
    for folder in sorted(root.glob("*cpu*")):
        named = "cpu" in folder.name.split(",") and not folder.is_symlink()
        if named and (folder / "cpu.cfs_quota_us").exists():
            found = Controller(folder, 1)
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" in listed.read_text(encoding="ascii").split():
        found = Controller(root, 2)
    return found if found is not None and os.access(found.folder, os.W_OK) else None


def remedy(root: Path = ROOT) -> str | None:
    """The command that brings a controller; ``None`` where there is one."""
    if controller(root) is not None:
        return None
    if not any(root.glob("cgroup.controllers")) and not any(root.glob("*cpu*")):
        return f"{root} has no control groups: sudo mount -t cgroup2 none {root}"
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" not in listed.read_text(encoding="ascii").split():
        return (
            f"{root} has no controller `cpu`; of a container: docker run --privileged "
            "--cgroupns=host; of a machine: cat /proc/cmdline, and take out cgroup_disable=cpu"
        )
    return (
        f"{root} may not be written: sudo mount -o remount,rw {root}; "
        "of a container: docker run --privileged --cgroupns=host"
    )


def make(host: LabHost, share: float, root: Path = ROOT) -> ControlGroup:
    """The group of a host, limited to so much of one CPU. HostError where this machine has none.

    Of version 2 the root has to hand the controller on to its groups; where it did not before, it
    does from now on, which limits nobody.
    """
    found = controller(root)
    if found is None:
        raise HostError(f"--cpu-quota {host.name}: nothing in {root} sets one: {ADVICE}")
    group = found.folder / host.namespace
    try:
        if found.version == 2:
            _hand_on(found.folder)
        group.mkdir()
        for name, value in found.limit(share).items():
            (group / name).write_text(value)
    except OSError as error:
        words = f"{error.filename or group}: {error.strerror}"
        raise HostError(f"--cpu-quota {host.name}: {words}: {ADVICE}") from None
    return ControlGroup(group, found.mount)


def _hand_on(root: Path) -> None:
    handed_on = root / "cgroup.subtree_control"
    if "cpu" not in handed_on.read_text(encoding="ascii").split():
        handed_on.write_text("+cpu")


def remove(host: LabHost, root: Path = ROOT) -> None:
    """Remove the group of a host whose processes have ended; does nothing where there is none."""
    found = controller(root)
    if found is None:
        return
    group = found.folder / host.namespace
    end = time.monotonic() + GONE_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError as error:
            # The last of its processes may be on its way out.
            if time.monotonic() > end:
                raise HostError(
                    f"{group}: {error.strerror}: a process of others is in it"
                ) from None
            time.sleep(POLL_S)
