"""Two network namespaces of a test, with a cable between them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture
def cable() -> Iterator[tuple[str, str]]:
    """Two network namespaces, 10.9.7.1 and 10.9.7.2, a cable with an MTU of 1400 between them."""
    names = (f"dgram-a-{os.getpid()}", f"dgram-b-{os.getpid()}")
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(
            ["ip", "link", "add", "cable", "netns", names[0], "type", "veth",
             "peer", "name", "cable", "netns", names[1]],
            check=True,
        )  # fmt: skip
        for number, name in enumerate(names, 1):
            for words in (
                f"addr add 10.9.7.{number}/24 dev cable",
                "link set cable mtu 1400 up",
                "link set lo up",
            ):
                subprocess.run(["ip", "-n", name, *words.split()], check=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
