"""An SSH connection that goes mute at any stage of its opening ends by a deadline, with a name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT, SUPPORT
from sshd import Site, host_at, needs_sshd, site, until

from netlab.errors import HostError, HostGone
from netlab.remote import ssh
from netlab.remote.agent import Agent
from netlab.remote.connect import connect
from netlab.remote.login import reach

__all__ = ["site"]

pytestmark = needs_sshd


def took_s(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def test_a_server_that_is_stopped_before_its_first_word(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "CONNECT_S", 0.5)
    server = site.server()
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(HostError, match=r"far: .* sends no SSH greeting for 0\.5 s"):
            connect(host_at(server))
    finally:
        server.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("channel_use", ["a command", "files"])
def test_a_session_that_is_stopped_after_its_login(
    site: Site, monkeypatch: pytest.MonkeyPatch, channel_use: str
) -> None:
    monkeypatch.setattr(ssh, "CHANNEL_S", 0.5)
    server = site.server()
    transport = ssh.SshTransport(host_at(server))
    transport.log_in()

    def ask() -> None:
        with pytest.raises(HostGone, match=r"^far: it opens no channel in 0\.5 s$"):
            if channel_use == "a command":
                transport.start(("true",))
            else:
                with transport.sftp():
                    raise AssertionError("nobody answers")

    try:
        with server.frozen():
            assert took_s(ask) < 3
    finally:
        transport.close()


def test_a_session_that_is_stopped_before_the_greeting(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = site.server()
    greet = Agent.greet
    with ExitStack() as stack:

        def stopped(agent: Agent, *arguments: Any) -> None:
            stack.enter_context(server.frozen())
            greet(agent, *arguments, hello_s=0.5)

        monkeypatch.setattr(Agent, "greet", stopped)
        with pytest.raises(HostError, match=r"^far: no probe answers: nothing in 0\.5 s$"):
            Agent.open(host_at(server))
    assert until(lambda: not server.sessions())


# A cable that is pulled: loopback of a namespace of its own goes down under an idle connection.
PULLED = """
import subprocess, sys, time
from pathlib import Path
import sshd
from netlab.remote.login import reach
from netlab.remote.ssh import SshTransport
reach.KEEPALIVE_S, reach.USER_TIMEOUT_MS = 1, 1500
site = sshd.Site(Path(sys.argv[1]))
server = site.server()
transport = SshTransport(sshd.host_at(server))
transport.log_in()
process = transport.start(("sleep", "60"))
subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
began = time.monotonic()
try:
    process.read()
except OSError:
    pass
print(f"{time.monotonic() - began:.1f}")
transport.close()
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server.stop()
"""


@pytest.mark.needs("namespaces")
def test_a_cable_that_is_pulled_under_an_idle_connection_is_noticed_by_keepalives(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    name = f"netlab-half-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        path = os.pathsep.join([str(ROOT), str(SUPPORT), str(ROOT / "tests" / "suites")])
        process = subprocess.run(
            ["ip", "netns", "exec", name, sys.executable, "-c", PULLED, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": path, "HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        noticed_s = float(process.stdout)
        # Both waits, once more for the retransmission that finds the end.
        assert noticed_s < 3 * (1 + 1.5)
        limit_s = reach.KEEPALIVE_S + reach.USER_TIMEOUT_MS / 1000
        assert limit_s <= 45
        record_property("figure", f"noticed {noticed_s:g} s after it, with waits of 1 s and 1.5 s")
        record_property("n", 1)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
