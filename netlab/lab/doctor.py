"""What this machine lacks for a lab, found by trying, with what brings it.

Each trial takes place in namespaces of its own that end with it; nothing of the machine changes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from netlab.errors import HostError
from netlab.lab import quota
from netlab.lab.programs import Missing, missing_for_windows, missing_packages, run

LINUX = "the lab"
WINDOWS = "Windows hosts"
QUOTAS = "CPU quotas"

CABLE = (
    "ip link add name one type veth peer name two && ip link add name three type bridge && "
    "tc qdisc add dev one root stab overhead 24 linklayer ethernet mpu 84 tbf "
    "rate 1mbit burst 3200 limit 32000"
)
LAYERS = (
    "mount -t tmpfs netlab /tmp && cd /tmp && mkdir a b c d && "
    "mount -t overlay -o lowerdir=a,upperdir=b,workdir=c netlab d"
)


@dataclass(frozen=True, slots=True)
class LabNeed:
    """One thing that a lab needs."""

    needed_for: str
    what: str
    remedy: str | None
    """One line for people; None where it is there."""

    def as_text(self) -> str:
        """One line."""
        if self.remedy is None:
            return f"ok       {self.needed_for}: {self.what}"
        return f"missing  {self.needed_for}: {self.what}: {self.remedy}"


def examine() -> tuple[LabNeed, ...]:
    """Everything that a lab needs, there or not, in the order in which it is to be mended."""
    linux, windows = missing_packages(), missing_for_windows()
    findings = [_root(), _programs(LINUX, linux), _programs(WINDOWS, windows)]
    if all(finding.remedy is None for finding in findings[:2]):
        findings += [
            _trial(LINUX, "network, mount and process namespaces", "true"),
            _trial(LINUX, "veth, bridge and token bucket (tbf)", CABLE),
            LabNeed(QUOTAS, "control groups", None if quota.controller() else quota.ADVICE),
            _trial(WINDOWS, "overlay file systems", LAYERS),
        ]
    return tuple(findings)


def _root() -> LabNeed:
    if sys.platform != "linux":
        return LabNeed(LINUX, "Linux", "network namespaces are Linux's; use another machine")
    remedy = None if os.geteuid() == 0 else "try again with sudo"
    return LabNeed(LINUX, "root", remedy)


def _programs(needed_for: str, missing: Missing) -> LabNeed:
    if missing:
        return LabNeed(needed_for, ", ".join(missing.programs), missing.command)
    return LabNeed(needed_for, "programs", None)


def _trial(needed_for: str, what: str, script: str) -> LabNeed:
    try:
        # fmt: off
        run(
            "unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child",
            "--mount-proc", "sh", "-ec", script,
        )
        # fmt: on
    except HostError as error:
        last = str(error).rpartition("` failed: ")[2]
        advice = "a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN, a kernel the module"
        return LabNeed(needed_for, what, f"{last} ({advice})")
    return LabNeed(needed_for, what, None)
