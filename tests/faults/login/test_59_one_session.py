"""A host that allows a single session at a time (MaxSessions 1) is measured as any other."""

from __future__ import annotations

import pytest
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.errors import HostError
from netlab.remote import ssh
from netlab.remote.agent import Agent

__all__ = ["bench", "site"]

pytestmark = [needs_sshd, pytest.mark.alone]


def test_a_run_measures_as_with_many_sessions(bench: Bench, site: Site) -> None:
    server = site.server()
    bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}")
    assert bench.run("run", "matrix.yaml", "--into", "clean").returncode == 0
    server.stop()
    server.options.append("MaxSessions 1")
    server.start()
    cached(server).unlink()
    assert bench.run("run", "matrix.yaml", "--into", "single").returncode == 0
    single = bench.load("single")
    assert by_status(single) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), single) == []


def test_by_commands_too(site: Site) -> None:
    server = site.server("MaxSessions 1")
    server.says(to_sftp="exit 1")
    Agent.open(host_at(server)).close()
    assert cached(server).exists()


def test_a_second_program_beside_the_agent_is_refused_by_name(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "FREED_S", 0.2)
    agent = Agent.open(host_at(site.server("MaxSessions 1")))
    try:
        with pytest.raises(HostError, match=r"^far: it opens no further channel .*MaxSessions"):
            agent.start_beside(("true",))
        assert agent.ask("clock")["type"] == "clock"
    finally:
        agent.close()
