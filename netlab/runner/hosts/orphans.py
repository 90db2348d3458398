"""Orphans: agents that still run and hold their host's lock after this session lost them.

An agent is the program of netlab on a host. It is lost if its connection breaks.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from netlab.errors import HostError
from netlab.remote.agent import Agent

LOOK_S = 5.0
"""Time limit for a command that looks at a process on a host."""

LOOK_MOST_BYTES = 1 << 16
"""Limit of the output of such a command, including the texts that a login prints."""

AGENT_FILE_BEGINS = b"netprobe"
"""Prefix of the file name of every agent's program. It is checked before a process is killed,
because another program may have the process id by now."""

Identity = tuple[str, str]


class Orphans:
    """The lost agents of this session on each host, to be ended. Threads may share this object."""

    def __init__(self) -> None:
        self._pids: dict[Identity, set[int]] = {}
        self._guard = threading.Lock()

    def add(self, agent: Agent) -> None:
        """Remember an agent that was lost: it may still run."""
        pid = agent.hello.get("pid")
        # A child process on this machine never outlives its connection.
        if isinstance(pid, int) and not agent.host.local and agent.host.os == "L":
            with self._guard:
                self._pids.setdefault(agent.identity, set()).add(pid)

    def end(self, agent: Agent) -> None:
        """End the orphans on the host of ``agent``, also those that are stopped (SIGSTOP).

        If a process could not be examined, for instance because the host allows no further session,
        the next call tries again.
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
    """Whether a process on the host runs a probe; TimeoutError if the answer takes too long."""
    process = agent.start_beside(("readlink", f"/proc/{pid}/exe"))
    # A background program that a login's rc file started may keep the output open after the
    # command ended. Closing the channel ends the reading.
    end = threading.Timer(LOOK_S, process.kill)
    end.daemon = True
    end.start()
    try:
        status = process.wait(LOOK_S)
        if status is None:
            raise TimeoutError
        output = b""
        # If the status is not 0, there is no such process, and no output.
        while status == 0 and len(output) < LOOK_MOST_BYTES and not _names_agent(output):
            part = process.read()
            if not part:
                break
            output += part
        return _names_agent(output)
    finally:
        end.cancel()
        process.kill()


def _names_agent(output: bytes) -> bool:
    """Whether a complete line of the output is the path of a probe."""
    names = (line.rpartition(b"/")[2] for line in output.split(b"\n")[:-1])
    return any(name.startswith(AGENT_FILE_BEGINS) for name in names)


def _kill(agent: Agent, pid: int) -> None:
    process = agent.start_beside(("kill", "-KILL", str(pid)))
    try:
        if process.wait(LOOK_S) is None:
            raise TimeoutError
    finally:
        process.kill()
