"""An ssh-agent that waits for a touch is named after 3 s, and given up after 30 s."""

from __future__ import annotations

import time

import pytest
from key_agents import LIST, SIGN, key_agent
from sshd import Site, host_at, make_key, needs_sshd, public, site

from netlab.errors import HostError
from netlab.remote import keys, login
from netlab.remote.agent import connect

__all__ = ["site"]

pytestmark = needs_sshd


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setattr(keys, "AGENT_S", 2.0)
    monkeypatch.setattr(keys, "TOUCH_S", 6.0)
    monkeypatch.setattr(login, "SAY_S", 1.0)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(site.folder / "agent"))


@pytest.mark.usefixtures("waits")
def test_a_login_waits_for_a_late_touch_of_the_key_and_says_that_ssh_agent_has_not_signed(
    site: Site,
) -> None:
    server = site.server()
    key = make_key(site.folder / "held")
    (server.folder / "authorized").write_text(public(key))
    messages: list[str] = []

    def touched(request: int) -> bool:
        time.sleep(2.5 if request == SIGN else 0)
        return True

    with key_agent(site.folder / "agent", key, touched):
        connect(host_at(server, identity=key), messages.append).close()
    assert messages == [
        "far: ssh-agent has not signed yet; its key may wait for a touch, or for an answer to a "
        "dialog (6 s at most)"
    ]


@pytest.mark.usefixtures("waits")
def test_an_ssh_agent_that_never_signs_is_given_up_and_named(site: Site) -> None:
    server = site.server()
    key = make_key(site.folder / "held")
    messages: list[str] = []
    with (
        key_agent(site.folder / "agent", key, lambda request: request == LIST),
        pytest.raises(HostError, match=r"^far: ssh-agent did not sign the login in 6 s; does"),
    ):
        connect(host_at(server, identity=key), messages.append)
    assert len(messages) == 1


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("authorized", [True, False], ids=["authorized", "not authorized"])
def test_a_login_with_a_key_file_succeeds_although_ssh_agent_never_lists_its_keys(
    site: Site, authorized: bool
) -> None:
    server = site.server()
    if not authorized:
        (server.folder / "authorized").write_text("")
    with key_agent(site.folder / "agent", site.key, lambda _: False):
        if authorized:
            connect(host_at(server)).close()
        else:
            with pytest.raises(HostError, match=r"ssh-agent did not list its keys in 2 s"):
                connect(host_at(server))
