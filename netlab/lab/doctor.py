"""Tries what a lab needs on this machine, and names the command that installs missing programs.

Each try runs in its own namespaces, which end with the try. The machine is not changed.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError
from netlab.lab import quota
from netlab.lab.programs import (
    Missing,
    has_dnf,
    missing_for_sudo,
    missing_for_windows,
    missing_packages,
    run,
)

LINUX = "the lab"
WINDOWS = "Windows hosts"
QUOTAS = "CPU quotas"
SUDO = "--sudo"

VETH = "ip link add name one type veth peer name two"
BRIDGE = "ip link add name three type bridge"
SHAPER = (
    f"{VETH} && tc qdisc add dev one root stab overhead 24 linklayer ethernet mpu 84 tbf "
    "rate 1mbit burst 3200 limit 32000"
)
LAYERS = (
    "mount -t tmpfs netlab /tmp && cd /tmp && mkdir a b c d && "
    "mount -t overlay -o lowerdir=a,upperdir=b,workdir=c netlab d"
)
LIMITS = Path("/proc/sys/user")
RIGHTS = (
    "root lacks a right; in a container: docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN "
    "--security-opt apparmor=unconfined (podman the same)"
)
KERNEL = "this kernel was built without namespaces; sudo apt-get install linux-image-amd64"


@dataclass(frozen=True, slots=True)
class LabNeed:
    """One thing that a lab needs."""

    needed_for: str
    what: str
    remedy: str | None
    """One line with the command that fulfils the need; None if it is fulfilled."""

    def as_text(self) -> str:
        """The need as one line of text."""
        if self.remedy is None:
            return f"ok       {self.needed_for}: {self.what}"
        return f"missing  {self.needed_for}: {self.what}: {self.remedy}"


def examine() -> tuple[LabNeed, ...]:
    """Everything that a lab needs, present or missing, in the order in which to fix it."""
    linux, windows = missing_packages(), missing_for_windows()
    needs = [_root(), _programs(LINUX, linux)]
    can_try = all(need.remedy is None for need in needs)
    needs.append(_programs(WINDOWS, windows))
    if can_try:
        namespaces = _trial(LINUX, "network, mount and process namespaces", "true")
        needs.append(namespaces)
        can_try = namespaces.remedy is None
    if can_try:  # the other tries need such namespaces
        needs += [
            _trial(LINUX, "veth", VETH, "veth"),
            _trial(LINUX, "bridge", BRIDGE, "bridge"),
            _trial(LINUX, "token bucket (tbf)", SHAPER, "sch_tbf"),
            LabNeed(QUOTAS, "control groups", quota.remedy()),
            _programs(SUDO, missing_for_sudo()),
            _trial(WINDOWS, "overlay file systems", LAYERS, "overlay"),
        ]
    return tuple(needs)


def _root() -> LabNeed:
    if sys.platform != "linux":
        return LabNeed(LINUX, "Linux", "it is made on a Linux machine: sudo netlab lab up")
    remedy = None if os.geteuid() == 0 else "sudo netlab lab doctor"
    return LabNeed(LINUX, "root", remedy)


def _programs(needed_for: str, shortage: Missing) -> LabNeed:
    if shortage:
        return LabNeed(needed_for, ", ".join(shortage.programs), shortage.command)
    return LabNeed(needed_for, "programs", None)


def _trial(needed_for: str, need: str, script: str, module: str | None = None) -> LabNeed:
    try:
        # fmt: off
        run(
            "unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child",
            "--mount-proc", "sh", "-ec", script,
        )
        # fmt: on
    except HostError as error:
        reason = str(error).rpartition("` failed: ")[2]
        return LabNeed(needed_for, need, f"{reason}: {_remedy(reason, module)}")
    return LabNeed(needed_for, need, None)


def _remedy(reason: str, module: str | None) -> str:
    """The remedy for the error message of a failed program; ``module``: the kernel module that the
    program needs.
    """
    if "not permitted" in reason or "ermission denied" in reason:
        return RIGHTS
    if "No space left" in reason:
        settings = [f"user.{limit.name}=10000" for limit in _exhausted(LIMITS)]
        return f"sudo sysctl -w {' '.join(settings)}"
    if module is None:
        return KERNEL
    further = "sudo apt-get install linux-modules-extra-$(uname -r)"
    if has_dnf():
        further = "sudo dnf install kernel-modules-extra"
    return f"sudo modprobe {module} (if there is no such module: {further})"


def _exhausted(limits: Path) -> list[Path]:
    """The limits on namespaces that are 0; all of them if none is 0."""
    files = [limits / f"max_{kind}_namespaces" for kind in ("net", "mnt", "pid", "uts")]
    low = [file for file in files if int(file.read_text(encoding="ascii")) == 0]
    return low or files
