"""A server that answers a login too late is said to be slow, not to take no key."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from key_agents import SIGN, key_agent
from sshd import Site, host_at, needs_sshd, site

from netlab.errors import HostError, HostRefused
from netlab.remote.connect import connect
from netlab.remote.login import login

__all__ = ["site"]

pytestmark = needs_sshd


def test_it_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert "took no key" not in str(raised.value)
