"""A command that answers a line at a time without end is given up after 20 s in all, and quoted."""

from __future__ import annotations

import pytest
from sshd import Site, host_at, needs_sshd, site, until

from netlab.errors import HostError
from netlab.remote import deploy
from netlab.remote.agent import Agent

__all__ = ["site"]

pytestmark = needs_sshd


def test_a_command_that_answers_without_end_is_given_up_by_a_deadline_and_quoted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "COMMAND_S", 2.0)
    server = site.server()
    server.says(at_first="while :; do echo still here; sleep 0.1; done")
    with pytest.raises(
        HostError, match=r"no command ends in 2 s \(output so far: '.*still here"
    ) as excinfo:
        Agent.open(host_at(server))
    assert "\n" not in str(excinfo.value)
    assert until(lambda: not server.sessions())
