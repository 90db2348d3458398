"""A host that allows a single session at a time (MaxSessions 1) is measured as any other."""

from __future__ import annotations

import pytest
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.errors import HostError
from netlab.remote import ssh
from netlab.remote.agent import Agent

__all__ = ["bench", "outcome_of", "site"]


def allow_one_session(bench: Bench, site: Site) -> Seen:
    server = site.server()
    bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}")
    words = ("run", "matrix.yaml", "--no-report", "--into")
    codes = [bench.run(*words, "clean").returncode]
    server.stop()
    server.options.append("MaxSessions 1")
    server.start()
    cached(server).unlink()
    return {"codes": [*codes, bench.run(*words, "single").returncode]}


@injects("sshd")
def test_a_run_over_a_single_session_measures_the_figures_of_a_clean_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(allow_one_session)
    assert outcome["codes"] == [0, 0]
    single = outcome.load("single")
    assert by_status(single) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), single) == []


@needs_sshd
def test_the_probe_is_copied_by_commands_over_a_single_session(site: Site) -> None:
    server = site.server("MaxSessions 1")
    server.says(to_sftp="exit 1")
    Agent.open(host_at(server)).close()
    assert cached(server).exists()


@needs_sshd
def test_the_error_for_a_second_program_over_a_single_ssh_session_names_maxsessions(
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
