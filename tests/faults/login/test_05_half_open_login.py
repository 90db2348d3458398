"""An SSH connection that goes mute at any stage of its opening ends by a deadline, with a name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT, SUPPORT
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, host_at, needs_sshd, site, until

from netlab.errors import HostError, HostGone
from netlab.remote import agent as room
from netlab.remote import login, ssh
from netlab.remote.agent import Agent, connect

__all__ = ["outcome_of", "site"]


@needs_sshd
def test_a_server_that_sends_no_greeting_is_given_up_by_a_deadline(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "CONNECT_S", 0.5)
    server = site.server()
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(HostError, match=r"far: .* sends no SSH greeting for 0\.5 s"):
            connect(host_at(server))
    finally:
        server.process.send_signal(signal.SIGCONT)


@needs_sshd
@pytest.mark.parametrize("channel_use", ["a command", "files"])
def test_a_session_that_goes_mute_after_the_login_is_given_up_by_a_deadline(
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
            ask()
    finally:
        transport.close()


@needs_sshd
def test_a_probe_that_answers_no_greeting_is_given_up_by_a_deadline(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = site.server()
    greet = Agent.greet
    with ExitStack() as stack:

        def stopped(agent: Agent, *arguments: Any) -> None:
            stack.enter_context(server.frozen())
            greet(agent, *arguments)

        monkeypatch.setattr(room, "HELLO_S", 0.5)
        monkeypatch.setattr(room, "SAY_S", 0.0)
        monkeypatch.setattr(Agent, "greet", stopped)
        with pytest.raises(HostError, match=r"^far: no probe answers: nothing in 0\.5 s$"):
            Agent.open(host_at(server))
    assert until(lambda: not server.sessions())


# A cable that is pulled: loopback of a namespace of its own goes down under an idle connection.
PULLED = """
import subprocess, sys, time
from pathlib import Path
import sshd
from netlab.remote import login
from netlab.remote.ssh import SshTransport
login.KEEPALIVE_S = 1
login._TCP_OPTIONS.update(TCP_KEEPIDLE=1, TCP_KEEPINTVL=1, TCP_USER_TIMEOUT=1500)
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


def pull_the_cable(tmp_path: Path) -> Seen:
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
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
    assert process.returncode == 0, process.stderr
    return {"noticed_s": float(process.stdout)}


@injects("namespaces", "sshd")
def test_keepalives_notice_a_cable_that_is_pulled_under_an_idle_connection(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(pull_the_cable)
    # Both waits, once more for the retransmission that finds the end.
    assert outcome["noticed_s"] < 3 * (1 + 1.5)
    limit_s = login.KEEPALIVE_S + login.USER_TIMEOUT_MS / 1000
    assert limit_s <= 45
    noticed = f"noticed {outcome['noticed_s']:g} s after it, with waits of 1 s and 1.5 s"
    outcome.figure(noticed, n=1)
