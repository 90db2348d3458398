"""A jump host that does not pass connections on is named, with what it forbids."""

from __future__ import annotations

import pytest
import sshd
from sshd import Site, alias, needs_sshd, site

from netlab.errors import HostError, HostRefused
from netlab.remote.agent import connect

__all__ = ["site"]

pytestmark = needs_sshd


def reached_by(site: Site, jump: sshd.Sshd, port: int) -> None:
    (site.ssh / "config").write_text(
        f"Host *\n  HostName 127.0.0.1\n  User {sshd.USER}\n"
        f"Host gate\n  Port {jump.port}\n"
        f"Host last\n  Port {port}\n  ProxyJump gate\n"
    )


@pytest.mark.parametrize("option", ["AllowTcpForwarding no", "PermitOpen 127.0.0.1:1"])
def test_the_error_about_a_jump_host_that_forbids_forwarding_names_the_responsible_options(
    site: Site, option: str
) -> None:
    jump, last = site.server(option), site.server()
    reached_by(site, jump, last.port)
    with pytest.raises(HostRefused) as raised:
        connect(alias("last"))
    message = str(raised.value)
    place = f"127.0.0.1 port {last.port}"
    assert message.startswith(f"last: the jump host gate does not allow forwarding to {place}")
    assert "AllowTcpForwarding" in message
    assert "PermitOpen" in message
    assert "ChannelException" not in message


def test_an_unreachable_host_behind_a_jump_host_is_not_reported_as_a_refusal(site: Site) -> None:
    jump, last = site.server(), site.server()
    last.stop()
    reached_by(site, jump, last.port)
    with pytest.raises(HostError, match=r"^last: the jump host gate cannot reach 127") as raised:
        connect(alias("last"))
    assert not isinstance(raised.value, HostRefused)
