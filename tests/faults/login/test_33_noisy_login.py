"""What a login prints of its own is skipped and counted; one that runs nothing is named."""

from __future__ import annotations

import time

import pytest
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from sshd import Site, host_at, needs_sshd, site

from netlab.errors import HostError
from netlab.remote import system
from netlab.remote.agent import Agent

__all__ = ["bench", "site"]

pytestmark = [needs_sshd, pytest.mark.alone]

NOISE = b'Welcome!\r\n\x1b[32m\xff\xfe\x00 no record\n{"type": 3}\n' + b"y" * 200_000 + b"\n$ "


def test_a_run_with_it_measures_what_a_run_without_it_does(bench: Bench, site: Site) -> None:
    server = site.server()
    bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}")
    assert bench.run("run", "matrix.yaml", "--into", "clean").returncode == 0
    (server.home / ".noise").write_bytes(NOISE)
    server.says(at_first="cat .noise")
    assert bench.run("run", "matrix.yaml", "--into", "noisy").returncode == 0
    noisy = bench.load("noisy")
    assert by_status(noisy) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), noisy) == []


def test_it_is_counted(site: Site) -> None:
    server = site.server()
    (server.home / ".noise").write_bytes(NOISE)
    agent = Agent.open(host_at(server))
    try:
        assert agent.ask("clock")["type"] == "clock"
        assert agent.skipped_lines >= 3
    finally:
        agent.close()


@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        ("echo This account is currently not available.; exit 1", "currently not available"),
        ("exec cat", "`uname -s -m` printed nothing"),
        ("exec /usr/lib/openssh/sftp-server", "`uname -s -m` printed nothing"),
        ("exec sleep 20", r"no command ends in 0\.8 s; does its shell wait for something"),
    ],
    ids=["no shell", "one command", "files alone", "it waits"],
)
def test_a_login_that_runs_no_commands_is_named_soon(
    site: Site, monkeypatch: pytest.MonkeyPatch, login: str, sentence: str
) -> None:
    monkeypatch.setattr(system, "COMMAND_S", 0.8)
    server = site.server()
    (server.folder / "login").write_text(f"#!/bin/sh\n{login}\n")
    began = time.monotonic()
    with pytest.raises(HostError, match=f"^far: .*{sentence}"):
        Agent.open(host_at(server))
    assert time.monotonic() - began < 10
