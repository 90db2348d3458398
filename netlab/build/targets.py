"""The systems and processors that a netprobe is built for, and what each is called."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from netlab.experiment.hosts import OS_NAMES, OS_OF_PROBE, local_os


@dataclass(frozen=True, slots=True)
class Target:
    """What a binary runs on."""

    os: str
    """A letter, as in the inventory."""
    architecture: str
    """As the probe's ``hello`` names it: ``x86_64`` or ``aarch64``."""

    @property
    def system(self) -> str:
        """What the probe calls the system: ``linux``, ``windows``, ``macos`` or ``freebsd``."""
        return next(name for name, letter in OS_OF_PROBE.items() if letter == self.os)

    @property
    def name(self) -> str:
        """For instance ``windows-x86_64``."""
        return f"{self.system}-{self.architecture}"

    @property
    def file_name(self) -> str:
        """What a probe's file is called on this system."""
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
"""All that a release carries a probe for, in the order of probes/targets.mk."""


def target_of(os: str, architecture: str) -> Target:
    """From an inventory's letter and whatever the system calls its processor."""
    return Target(os, machine(architecture))


def local_target() -> Target:
    """This machine."""
    return target_of(local_os(), platform.machine())


MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other names of an architecture."""


def machine(name: str) -> str:
    """An architecture by the name that `hello` has for it."""
    return MACHINES.get(name.lower(), name.lower())
