"""A server that answers a login too late is said to be slow, not to take no key."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from key_agents import SIGN, key_agent
from sshd import Site, Sshd, host_at, make_key, needs_sshd, site

from netlab.errors import HostError, HostRefused
from netlab.remote import login
from netlab.remote.agent import connect

__all__ = ["site"]

pytestmark = needs_sshd


def test_a_server_that_answers_the_login_too_late_is_not_reported_as_a_refusal(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "AUTH_S", 0.7)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(site.folder / "agent"))
    server = site.server()
    with ExitStack() as stack:

        def stopped(request: int) -> bool:
            """The signature reaches a server that does not go on."""
            if request == SIGN:
                stack.enter_context(server.frozen())
            return True

        with (
            key_agent(site.folder / "agent", site.key, stopped),
            pytest.raises(HostError, match=r"did not answer the login as \S+ in 0\.7 s") as raised,
        ):
            connect(host_at(server))
    assert not isinstance(raised.value, HostRefused)
    assert "accepted no key" not in str(raised.value)


def refused_by(
    site: Site, server: Sshd, monkeypatch: pytest.MonkeyPatch, approval: Callable[[int], bool]
) -> HostError:
    """Why a login fails whose ssh-agent tells a test of each request."""
    path = site.folder / "agent"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    with key_agent(path, site.key, approval), pytest.raises(HostError) as raised:
        connect(host_at(server))
    return raised.value


def test_a_connection_that_ends_during_the_login_is_not_reported_as_a_refused_key(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = site.server()

    def cut(request: int) -> bool:
        if request == SIGN:
            server.cut()
        return True

    error = refused_by(site, server, monkeypatch, cut)
    assert not isinstance(error, HostRefused)
    place = f"127.0.0.1 port {server.port}"
    assert str(error).startswith(f"far: {place} ended the connection during the login as ")
    assert "too many keys" not in str(error)


def test_a_login_that_ends_after_too_many_keys_is_reported_as_a_refusal(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = site.server("MaxAuthTries 1")
    make_key(server.folder / "other")
    (server.folder / "authorized").write_text((server.folder / "other.pub").read_text())
    make_key(site.ssh / "id_rsa", "rsa")
    error = refused_by(site, server, monkeypatch, lambda _: True)
    assert isinstance(error, HostRefused)
    assert "accepted no key; tried: " in str(error)
    assert "after too many keys?" in str(error)
