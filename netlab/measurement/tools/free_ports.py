"""Free ports of a host, for a program that the agent starts there."""

from __future__ import annotations

import secrets
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.measurement.flow import PROBE_SLACK_S
from netlab.remote.agent import Agent
from netlab.remote.pending import Pending


def free_ports(agent: Agent, address: str) -> tuple[int, int]:
    """Two free TCP ports of an address, within the host's port range if it has one.

    The agent listens on both at the same time, so that they differ. Raises ProbeError, HostGone.
    """
    keys: dict[str, Any] = {"kind": "stream", "open": "listen", "bind": address, "message": 64}
    if agent.host.ports is not None:
        keys["port"] = agent.host.ports
    tests: list[Pending] = []
    try:
        ports = []
        for _ in range(2):
            test = agent.start("receive", proto="tcp", token=secrets.token_hex(16), **keys)
            tests.append(test)
            ports.append(int(test.record(PROBE_SLACK_S)["port"]))
        return ports[0], ports[1]
    finally:
        for test in tests:
            agent.start("stop", test=test.id, abort=1)
        for test in tests:
            _wait_for_end(test)


def _wait_for_end(test: Pending) -> None:
    try:
        while test.record(PROBE_SLACK_S)["type"] != "result":
            pass
    except (ProbeError, HostGone):
        return
