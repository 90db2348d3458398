"""Programs at the two ends of a lab's cable: each in its host's namespace, pinned to a CPU.

The side that sends or asks runs on CPU 0, the side that receives or answers on CPU 1.
"""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from netlab.lab.plan import LabHost
from netlab.lab.programs import SEARCH_PATH

SENDER_CPU, RECEIVER_CPU = 0, 1
LISTEN_S, SLACK_S = 5.0, 15.0


@dataclass(frozen=True, slots=True)
class Cable:
    """The two hosts of an unshaped lab."""

    sender: LabHost
    receiver: LabHost

    @property
    def to(self) -> str:
        return self.receiver.addresses[0]


class ToolFailedError(Exception):
    """A tool gave no figure; says what it said."""


def _inside(host: LabHost, cpu: int | None, argv: list[str]) -> list[str]:
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return ["ip", "netns", "exec", host.namespace, *pinned, *argv]


def _environment(more: dict[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PATH": SEARCH_PATH, **(more or {})}


def start(
    cable: Cable,
    argv: list[str],
    more: dict[str, str] | None = None,
    cpu: int | None = RECEIVER_CPU,
) -> subprocess.Popen[str]:
    """Start the receiving side."""
    return subprocess.Popen(
        _inside(cable.receiver, cpu, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(more),
    )


def run_to_end(
    cable: Cable,
    argv: list[str],
    seconds: float,
    more: dict[str, str] | None = None,
    cpu: int | None = SENDER_CPU,
) -> str:
    """Run the sending side; what it printed. Raises ToolFailedError with it."""
    done = subprocess.run(
        _inside(cable.sender, cpu, argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + SLACK_S,
        env=_environment(more),
        check=False,
    )
    if done.returncode:
        raise ToolFailedError(f"{' '.join(argv)}: {done.stdout}{done.stderr}".strip())
    return done.stdout


def rest_of(receiver: subprocess.Popen[str], seconds: float) -> str:
    """What the receiver still says until it ends."""
    try:
        return receiver.communicate(timeout=seconds + SLACK_S)[0]
    except subprocess.TimeoutExpired:
        receiver.kill()
        raise ToolFailedError("the receiver does not end") from None


def await_socket(receiver: subprocess.Popen[str], protocol: str, port: int) -> None:
    """Wait until something listens in the receiver's namespace: seen from outside, no packet."""
    protocol = protocol.lower()
    end = time.monotonic() + LISTEN_S
    while time.monotonic() < end and receiver.poll() is None:
        for kind in (protocol, f"{protocol}6"):
            try:
                text = Path(f"/proc/{receiver.pid}/net/{kind}").read_text()
            except OSError:
                continue
            for line in text.splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                bound = local.rpartition(":")[2] == f"{port:04X}"
                if bound and (protocol == "udp" or state == "0A"):
                    return
        time.sleep(0.01)
    receiver.kill()
    raise ToolFailedError(f"the receiver does not listen: {receiver.communicate()[0].strip()}")
