"""Agents of ours that a lost connection left on a host: they hold its lock, and are ended there."""

from __future__ import annotations

import threading
from contextlib import suppress

from netlab.errors import HostError
from netlab.remote.agent import Agent

LOOK_S = 5.0
"""What a look at a process on a host may take."""

LOOK_MOST_BYTES = 1 << 16
"""What a login may print around the answer."""

AGENT_FILE_BEGINS = b"netprobe"
"""How the file of every agent is named; another program may have its number by now."""

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
        """End those on the host of ``agent``, also one that is stopped and hears nothing.

        One that could not be looked at, as where the host has no room for another session, is
        looked at the next time.
        """
        with self._guard:
            pids = sorted(self._pids.get(agent.identity, ()))
        for pid in pids:
            with suppress(HostError, OSError):
                if _is_agent(agent, pid):
                    _kill(agent, pid)
                with self._guard:
                    self._pids[agent.identity].discard(pid)


def _is_agent(agent: Agent, pid: int) -> bool:
    """Whether a process on the host runs a probe; TimeoutError where it does not say so in time."""
    process = agent.start_beside(("readlink", f"/proc/{pid}/exe"))
    # The output of a command may never end, though the command did: what a login's rc file left
    # in the background holds it open. Closing the channel ends the reading.
    end = threading.Timer(LOOK_S, process.kill)
    end.daemon = True
    end.start()
    try:
        status = process.wait(LOOK_S)
        if status is None:
            raise TimeoutError
        said = b""
        # Where it names no file, there is no such process, and nothing to read.
        while status == 0 and len(said) < LOOK_MOST_BYTES and not _names_agent(said):
            part = process.read()
            if not part:
                break
            said += part
        return _names_agent(said)
    finally:
        end.cancel()
        process.kill()


def _names_agent(said: bytes) -> bool:
    """Whether a whole line of it is the path of a probe."""
    names = (line.rpartition(b"/")[2] for line in said.split(b"\n")[:-1])
    return any(name.startswith(AGENT_FILE_BEGINS) for name in names)


def _kill(agent: Agent, pid: int) -> None:
    process = agent.start_beside(("kill", "-KILL", str(pid)))
    try:
        if process.wait(LOOK_S) is None:
            raise TimeoutError
    finally:
        process.kill()
