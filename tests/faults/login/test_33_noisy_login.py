"""What a login prints of its own is skipped and counted; one that runs nothing is named."""

from __future__ import annotations

import pytest
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, host_at, needs_sshd, site

from netlab.errors import HostError
from netlab.remote import deploy
from netlab.remote.agent import Agent

__all__ = ["bench", "outcome_of", "site"]

NOISE = b'Welcome!\r\n\x1b[32m\xff\xfe\x00 no record\n{"type": 3}\n' + b"y" * 200_000 + b"\n$ "


def print_noise(bench: Bench, site: Site) -> Seen:
    server = site.server()
    bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}")
    words = ("run", "matrix.yaml", "--no-report", "--into")
    codes = [bench.run(*words, "clean").returncode]
    (server.home / ".noise").write_bytes(NOISE)
    server.says(at_first="cat .noise")
    return {"codes": [*codes, bench.run(*words, "out").returncode]}


@injects("sshd")
def test_a_run_through_a_noisy_login_measures_the_figures_of_a_clean_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(print_noise)
    assert outcome["codes"] == [0, 0]
    noisy = outcome.load()
    assert by_status(noisy) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), noisy) == []


@needs_sshd
def test_lines_that_a_login_prints_are_skipped_and_counted(site: Site) -> None:
    server = site.server()
    (server.home / ".noise").write_bytes(NOISE)
    agent = Agent.open(host_at(server))
    try:
        assert agent.ask("clock")["type"] == "clock"
        assert agent.skipped_lines >= 3
    finally:
        agent.close()


@needs_sshd
@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        ("echo This account is currently not available.; exit 1", "currently not available"),
        ("exec cat", "`uname -s -m` printed nothing"),
        ("exec /usr/lib/openssh/sftp-server", "`uname -s -m` printed nothing"),
        ("exec sleep 20", r"no command ends in 3 s; does its shell wait for something"),
    ],
    ids=["no shell", "one command", "files alone", "it waits"],
)
def test_a_login_that_runs_no_commands_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch, login: str, sentence: str
) -> None:
    monkeypatch.setattr(deploy, "COMMAND_S", 3.0)
    server = site.server()
    (server.folder / "login").write_text(f"#!/bin/sh\n{login}\n")
    with pytest.raises(HostError, match=f"^far: .*{sentence}"):
        Agent.open(host_at(server))
