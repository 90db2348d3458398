"""A sender and a receiver in two namespaces, each a probe of its own, started by hand."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from netprobe_agents import Reply
from round_trip_peers import TOKEN

ROOM = "socket_buffer=200000"
"""For some five hundred short messages: a receiver that this machine holds up loses none."""
ENTER = ("ip", "netns", "exec")


def fitting(size: int) -> int:
    """Messages of a size that all have room there at once, each with what the kernel adds."""
    return 300 if size <= 128 else 150


def stream_over(
    cable: tuple[str, str],
    netprobe: Path,
    *words: str,
    sample: tuple[str, ...] = (),
    receiving: tuple[str, ...] = (),
    to: str = "10.9.7.1",
    deadline_s: float = 20,
) -> tuple[Reply, Reply]:
    """The last records of a sender in the second namespace and of a receiver in the first."""
    environment = os.environ | {"NETPROBE_TOKEN": TOKEN}
    at = f"[{to}]:5001" if ":" in to else f"{to}:5001"
    with subprocess.Popen(
        [*ENTER, cable[0], netprobe, "receive", "proto=udp", f"bind={to}", "port=5001",
         f"deadline={deadline_s}", *words, *receiving],
        stdout=subprocess.PIPE, env=environment, text=True,
    ) as receiver:  # fmt: skip
        assert receiver.stdout is not None
        assert json.loads(receiver.stdout.readline())["type"] == "ready"
        sender_output = subprocess.run(
            [*ENTER, cable[1], netprobe, "send", "proto=udp", f"to={at}", *words, *sample],
            capture_output=True, env=environment, text=True, timeout=60, check=False,
        ).stdout  # fmt: skip
        receiver_output = receiver.stdout.read()
    return json.loads(sender_output.splitlines()[-1]), json.loads(receiver_output.splitlines()[-1])


def checksum_errors(namespace: str) -> int:
    """UDP datagrams over IPv4 with a wrong checksum that a namespace has seen."""
    text = subprocess.run(
        [*ENTER, namespace, "cat", "/proc/net/snmp"], capture_output=True, check=True, text=True
    ).stdout
    names, values = (line.split() for line in text.splitlines() if line.startswith("Udp:"))
    return int(dict(zip(names, values, strict=True))["InCsumErrors"])


def hello(*words: str | Path) -> set[str]:
    process = subprocess.run(words, capture_output=True, check=True, text=True)
    record: dict[str, Any] = json.loads(process.stdout)
    return set(record["capabilities"].split(","))
