"""Two network namespaces with two cables between them, and a probe in each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from netprobe_agents import Agent
from runners import script

HERE, THERE = ("10.78.1.1", "10.78.1.2")
"""The ends of the cable ``one``, each ``/24``; those of ``two`` are in 10.78.2.0/24."""


@dataclass(frozen=True)
class Networks:
    """The namespaces ``here`` and ``there``, and what starts a probe in each."""

    names: tuple[str, str]
    probes: tuple[Path, Path]

    def ip(self, side: int, words: str) -> None:
        """``ip`` in one of the two: 0 is here, 1 there."""
        subprocess.run(["ip", "-n", self.names[side], *words.split()], check=True)

    def tc(self, side: int, words: str) -> None:
        argv = ["ip", "netns", "exec", self.names[side], "tc", *words.split()]
        subprocess.run(argv, check=True)

    def agent(self, side: int, *words: str) -> Agent:
        return Agent(self.probes[side], *words)


@pytest.fixture
def networks(netprobe: Path, tmp_path: Path) -> Iterator[Networks]:
    """Both cables are up; of IPv6 each side has one link-local address, on either of them."""
    names = (f"netlab-two-{os.getpid()}-a", f"netlab-two-{os.getpid()}-b")
    for name in names:
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        probes = [
            script(tmp_path / name, "ip", "netns", "exec", name, str(netprobe)) for name in names
        ]
        pair = Networks(names, (probes[0], probes[1]))
        for number, device in enumerate(("one", "two"), start=1):
            pair.ip(0, f"link add {device} type veth peer name {device} netns {names[1]}")
            for side in (0, 1):
                pair.ip(side, f"addr add 10.78.{number}.{side + 1}/24 dev {device}")
                pair.ip(side, f"addr add fe80::{side + 1}/64 dev {device} nodad")
                pair.ip(side, f"link set {device} addrgenmode none up")
        for side in (0, 1):
            pair.ip(side, "link set lo up")
        yield pair
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=True)
