"""Any error of paramiko's own thread ends the connection to a host with a sentence."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest
import stalling_ssh_server
from paramiko.common import cMSG_CHANNEL_OPEN_FAILURE
from sshd import Site, host_at, make_key, needs_sshd, site
from stalling_ssh_server import StallingServer

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import login, ssh
from netlab.remote.keys import Chain, endpoint
from netlab.remote.ssh import SshTransport
from netlab.runner.places import asking
from netlab.runner.survey import inspect

__all__ = ["site"]

pytestmark = pytest.mark.lab

LATIN_1 = "für heute genug".encode("latin-1")
RESOURCE_SHORTAGE = 4
NUMBERS_BYTES = 9
"""Of a refusal, before its words: its type, the channel and the reason."""


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StallingServer]:
    """A server that refuses every channel, with words that are no UTF-8."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    make_key(tmp_path / ".ssh" / "id_ed25519")
    send = paramiko.Transport._send_message  # type: ignore[attr-defined]

    def in_latin_1(transport: paramiko.Transport, message: paramiko.Message) -> None:
        data = message.asbytes()
        if data[:1] == cMSG_CHANNEL_OPEN_FAILURE:
            message = paramiko.Message(data[:NUMBERS_BYTES])
            message.packet.seek(0, os.SEEK_END)
            message.add_string(LATIN_1)
            message.add_string("en")
        send(transport, message)

    monkeypatch.setattr(paramiko.Transport, "_send_message", in_latin_1)
    refuse = lambda *_, **__: RESOURCE_SHORTAGE  # noqa: E731
    for name in ("check_channel_request", "check_channel_direct_tcpip_request"):
        monkeypatch.setattr(stalling_ssh_server._Login, name, refuse)
    server = StallingServer(tmp_path / "far")
    (tmp_path / ".ssh" / "known_hosts").write_text(server.known)
    yield server
    server.close()


def reached(server: StallingServer) -> Host:
    target = SshTarget("127.0.0.1", "ada", server.port)
    return Host(name="far", os="L", ssh=target, addresses={"test": ("10.0.0.1",)})


def test_a_channel_refused_with_invalid_text_is_reported_as_host_gone(
    refusing: StallingServer,
) -> None:
    transport = SshTransport(reached(refusing))
    transport.log_in()
    with pytest.raises(HostGone, match=r"^far: the SSH connection is gone \('utf-8' codec"):
        transport.start(("true",))
    transport.close()


def test_a_jump_host_that_refuses_with_invalid_text_is_named(refusing: StallingServer) -> None:
    transport = SshTransport(reached(refusing))
    transport.log_in()
    place = endpoint("last", SshTarget("192.0.2.1", "ada", 22))
    jump = "the jump host gate", transport._chain.connections[-1]
    with pytest.raises(HostError, match=r"^last: the jump host gate does not forward to 192\.0"):
        login.way_to(place, jump, Chain("last"))
    transport.close()


def test_other_hosts_are_reported_although_one_host_refuses_with_invalid_text(
    refusing: StallingServer,
) -> None:
    inspection = inspect(reached(refusing))
    assert inspection.unfit[0].startswith("far: the SSH connection is gone ('utf-8' codec")
    answers = asking(lambda _: None)([reached(refusing), Host(name="here", os="L", local=True)])
    assert answers["far"].fault == inspection.unfit[0]
    assert answers["here"].fault is None


@needs_sshd
def test_a_channel_that_breaks_after_its_time_limit_prints_no_traceback(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "CHANNEL_S", 2.0)
    server = site.server()
    transport = SshTransport(host_at(server))
    transport.log_in()
    dead: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", dead.append)
    close = paramiko.Channel.close

    def breaking(channel: paramiko.Channel) -> None:
        close(channel)
        if isinstance(threading.current_thread(), threading.Timer):
            raise EOFError

    def begin(channel: paramiko.Channel) -> None:
        # No answer comes, and nothing else ends the wait.
        with server.frozen():
            channel.exec_command("true")

    monkeypatch.setattr(paramiko.Channel, "close", breaking)
    with pytest.raises(HostGone, match=r"does not start a program within 2 s"):
        transport._channel(begin, "runs no commands")
    transport.close()
    assert dead == []
