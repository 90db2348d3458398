"""Agents of ours that a lost connection left on a host: they hold its lock, and are ended there."""

from __future__ import annotations

import threading
from contextlib import suppress

from netlab.errors import HostError
from netlab.remote.agent import Agent

LOOK_S = 5.0
"""What a look at a process on a host may take."""

PROBE = "netprobe"
"""How the file of every agent begins; another program may have its number by now."""

Identity = tuple[str, str]


class Orphans:
    """The agents of this session that were lost, by host. Threads may share it."""

    def __init__(self) -> None:
        self._pids: dict[Identity, set[int]] = {}
        self._guard = threading.Lock()

    def add(self, agent: Agent) -> None:
        """An agent was lost: it may still run."""
        pid = agent.hello.get("pid")
        # Of this machine's own children none outlives its connection.
        if isinstance(pid, int) and not agent.host.local and agent.host.os == "L":
            with self._guard:
                self._pids.setdefault(agent.identity, set()).add(pid)

    def end(self, agent: Agent) -> None:
        """End those on the host of ``agent``, also one that is stopped and hears nothing."""
        with self._guard:
            pids = self._pids.pop(agent.identity, set())
        for pid in sorted(pids):
            with suppress(HostError, OSError):
                if PROBE in _said_by(agent, "readlink", f"/proc/{pid}/exe"):
                    _said_by(agent, "kill", "-KILL", str(pid))


def _said_by(agent: Agent, *words: str) -> str:
    """What a short command on the host printed; nothing where it takes too long."""
    process = agent.start_beside(words)
    try:
        if process.wait(LOOK_S) is None:
            return ""
        return process.read().decode("utf-8", "replace").strip().rpartition("/")[2]
    finally:
        process.kill()
