"""The systems and processors that a netprobe is built for, with their names."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from netlab.experiment.hosts import OS_NAMES, OS_OF_PROBE, local_os


@dataclass(frozen=True, slots=True)
class Target:
    """A system and processor that a binary runs on."""

    os: str
    """A letter, as in the inventory."""
    architecture: str
    """As the probe's ``hello`` names it: ``x86_64`` or ``aarch64``."""

    @property
    def system(self) -> str:
        """The probe's word for the system: ``linux``, ``windows``, ``macos`` or ``freebsd``."""
        return next(name for name, letter in OS_OF_PROBE.items() if letter == self.os)

    @property
    def name(self) -> str:
        """System and processor, such as ``windows-x86_64``."""
        return f"{self.system}-{self.architecture}"

    @property
    def file_name(self) -> str:
        """Name of a probe's file on this system."""
        return "netprobe.exe" if self.os == "W" else "netprobe"

    def __str__(self) -> str:
        return f"{OS_NAMES[self.os]} on {self.architecture}"


TARGETS = tuple(
    Target(os, architecture)
    for os, architecture in [
        ("L", "x86_64"),
        ("L", "aarch64"),
        ("W", "x86_64"),
        ("W", "aarch64"),
        ("M", "x86_64"),
        ("M", "aarch64"),
        ("F", "x86_64"),
    ]
)
"""All targets of a release, in the order of probes/targets.mk."""


def target_of(os: str, architecture: str) -> Target:
    """A target from an inventory's letter and the system's name of its processor."""
    return Target(os, machine(architecture))


def local_target() -> Target:
    """The target of this machine."""
    return target_of(local_os(), platform.machine())


MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other names of architectures → netlab's names."""


def machine(name: str) -> str:
    """The name of an architecture as the probe states it in its first message (``hello``)."""
    return MACHINES.get(name.lower(), name.lower())
