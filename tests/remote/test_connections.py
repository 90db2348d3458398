"""Closing connections from another thread ends every wait on a host, at every stage."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT
from key_agents import LIST, key_agent
from sshd import Site, host_at, needs_sshd, site, until

from netlab.errors import HostGone
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import deploy, login
from netlab.remote.agent import Agent, connect
from netlab.remote.transport import Connections

__all__ = ["site"]

WAITS = "touch {0}; exec sleep 60"
LET_GO_S = 15.0
"""Far less than a host takes by itself."""


@pytest.fixture(autouse=True)
def free_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """All four slots are free, also if an aborted login of another test is still ending."""
    monkeypatch.setattr(login, "LOGINS_AT_ONCE", threading.BoundedSemaphore(4))


@dataclass
class Stage:
    """A host whose opening waits at one stage, and the check that it does."""

    host: Host
    reached: Callable[[], bool]


@dataclass
class Stages:
    site: Site
    monkeypatch: pytest.MonkeyPatch
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def name(self) -> Stage:
        """The name of the host is looked up."""
        lookup, answer = threading.Event(), threading.Event()
        self.stack.callback(answer.set)

        def look_up(*_: object) -> list[object]:
            lookup.set()
            answer.wait(120)
            return []

        self.monkeypatch.setattr(socket, "getaddrinfo", look_up)
        return Stage(at(22, "far.example"), lookup.is_set)

    def connection(self) -> Stage:
        """The host's system takes no connection."""
        listener = self.stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        for _ in range(2):
            full = self.stack.enter_context(socket.socket())
            full.setblocking(False)
            full.connect_ex(("127.0.0.1", port))
        return Stage(at(port), lambda: syn_sent(port) > 1)

    def banner(self) -> Stage:
        """The server says nothing."""
        listener = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(60)

        connections: list[socket.socket] = []

        def reached() -> bool:
            if not connections:
                connections.append(self.stack.enter_context(listener.accept()[0]))
            return True

        return Stage(at(int(listener.getsockname()[1])), reached)

    def touch(self) -> Stage:
        """ssh-agent waits for a touch."""
        requests: list[int] = []

        def answers(request: int) -> bool:
            requests.append(request)
            return request == LIST

        path = self.site.folder / "agent"
        self.monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        self.stack.enter_context(key_agent(path, self.site.key, answers))
        return Stage(host_at(self.site.server()), lambda: len(requests) > 1)

    def rc_file(self) -> Stage:
        """The login sleeps before its first command."""
        return self._login(at_first=WAITS)

    def files(self) -> Stage:
        """SFTP is mute."""
        return self._login(to_sftp=WAITS)

    def greeting(self) -> Stage:
        """The agent does not answer."""
        case = 'case "$SSH_ORIGINAL_COMMAND" in */netprobe*) touch {0}; exec sleep 60;; esac'
        return self._login(at_first=case)

    def local_greeting(self) -> Stage:
        """An agent on this machine does not answer."""
        mark = self.site.folder / "mark"
        mute = self.site.folder / "mute"
        mute.write_text(f"#!/bin/sh\n{WAITS.format(mark)}\n")
        mute.chmod(0o755)
        self.monkeypatch.setattr(deploy, "local_probe", lambda _: mute)
        return Stage(Host(name="far", os="L", local=True), mark.exists)

    def _login(self, **says: str) -> Stage:
        mark = self.site.folder / "mark"
        server = self.site.server()
        server.says(**{moment: words.replace("{0}", str(mark)) for moment, words in says.items()})
        return Stage(host_at(server), mark.exists)


def at(port: int, name: str = "127.0.0.1") -> Host:
    target = SshTarget(name, "ada", port)
    return Host(name="far", os="L", ssh=target, addresses={"test": ("10.0.0.1",)})


def syn_sent(port: int) -> int:
    """Connections to a port that nobody took, by proc_net_tcp(5)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(f":{port:04X} 02 " in line for line in lines)


@pytest.fixture
def stages(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stages]:
    all_stages = Stages(site, monkeypatch)
    with all_stages.stack:
        yield all_stages


STAGES = ["name", "connection", "banner", "touch", "rc_file", "files", "greeting", "local_greeting"]


@needs_sshd
@pytest.mark.parametrize("stage", STAGES)
def test_closing_the_connections_ends_the_opening_of_an_agent_at_every_stage(
    stages: Stages, stage: str
) -> None:
    obstacle: Stage = getattr(stages, stage)()
    connections = Connections()
    raised: list[BaseException] = []

    def opening() -> None:
        try:
            Agent.open(obstacle.host, connections=connections).close()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=opening)
    thread.start()
    assert until(obstacle.reached)
    assert not raised
    began = time.monotonic()
    connections.close()
    closed_s = time.monotonic() - began
    thread.join(LET_GO_S)
    assert not thread.is_alive()
    assert closed_s < LET_GO_S
    assert time.monotonic() - began < LET_GO_S
    assert [type(error) for error in raised] == [HostGone]
    with pytest.raises(HostGone, match="the run is ending"):
        connect(obstacle.host, None, connections)


@needs_sshd
def test_closing_the_connections_ends_a_pending_request_to_an_agent(site: Site) -> None:
    connections = Connections()
    agent = Agent.open(host_at(site.server()), connections=connections)
    listen: dict[str, Any] = {
        "open": "listen",
        "bind": "127.0.0.1",
        "token": "5a" * 16,
        "deadline": 120,
    }
    pending = agent.start("receive", kind="check", **listen)
    assert pending.record(60)["type"] == "ready"
    threading.Timer(0.1, connections.close).start()
    with pytest.raises(HostGone):
        pending.record(60)
    agent.close()


# A server that begins as SSH does, and then says nothing: paramiko's own timer would wait for 15 s.
LEFT = """
import socket, threading, time
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote.agent import Agent
listener = socket.create_server(("127.0.0.1", 0))
target = SshTarget("127.0.0.1", "ada", listener.getsockname()[1])
host = Host(name="far", os="L", ssh=target, addresses={"test": ("10.0.0.1",)})
threading.Thread(target=Agent.open, args=(host,), daemon=True).start()
connection, _ = listener.accept()
connection.sendall(b"SSH-2.0-mute\\r\\n")
while connection.recv(4096)[-1:] == b"\\n":
    pass
print(time.time(), flush=True)
"""


@pytest.mark.lab
def test_an_unfinished_login_does_not_keep_the_program_alive(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", LEFT],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    left_s = time.time() - float(process.stdout)
    assert process.returncode == 0
    assert process.stderr == ""
    assert left_s < 12


@needs_sshd
def test_closed_logins_free_their_slots_for_other_logins(stages: Stages) -> None:
    stage = stages.connection()
    connections = Connections()
    threads = [
        threading.Thread(target=raises_gone, args=(stage.host, connections)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    assert until(stage.reached)
    connections.close()
    for thread in threads:
        thread.join(LET_GO_S)
    # All at the same time: there are four slots.
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            assert login.LOGINS_AT_ONCE.acquire(timeout=LET_GO_S)
            stack.callback(login.LOGINS_AT_ONCE.release)


def raises_gone(host: Host, connections: Connections) -> None:
    with pytest.raises(HostGone):
        connect(host, None, connections)
