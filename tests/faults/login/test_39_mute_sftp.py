"""A mute SFTP server is given up after 10 s, and the probe goes there by commands."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.build.binaries import local_probe
from netlab.cli import cli
from netlab.remote import ssh
from netlab.remote.agent import Agent

__all__ = ["bench", "outcome_of", "site"]

MUTE = "exec sleep 60"
# It answers what opens a session, and nothing afterwards.
SOON_MUTE = """\
head -c 9 >/dev/null
printf '\\000\\000\\000\\005\\002\\000\\000\\000\\003'
exec sleep 60"""


@needs_sshd
@pytest.mark.parametrize("to_sftp", [MUTE, SOON_MUTE], ids=["from the start", "later"])
def test_the_probe_is_copied_once_by_shell_commands_if_the_sftp_server_does_not_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, to_sftp: str
) -> None:
    monkeypatch.setattr(ssh, "REPLY_S", 0.5)
    server = site.server()
    server.says(to_sftp=to_sftp)
    messages: list[str] = []
    stamps = []
    for _ in range(2):
        agent = Agent.open(host_at(server), messages.append)
        assert agent.ask("clock")["type"] == "clock"
        agent.close()
        stamps.append(cached(server).stat().st_mtime_ns)
    assert stamps[0] == stamps[1]
    assert cached(server).read_bytes() == local_probe().read_bytes()
    assert cached(server).stat().st_mode & 0o777 == 0o700
    assert cached(server).parent.stat().st_mode & 0o777 == 0o700
    sentence = (
        "far: its SFTP server does not answer in 0.5 s: the probe is copied by commands instead"
    )
    # Whoever has the probe needs no files there.
    assert messages == [sentence]


REPLY_S = 0.5


def measure_with_mute_sftp(bench: Bench, site: Site, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.setattr(ssh, "REPLY_S", REPLY_S)
    server = site.server()
    matrix = str(bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}"))
    stderr: list[str] = []
    for name, to_sftp in (("clean", ""), ("mute", MUTE)):
        server.says(to_sftp=to_sftp)
        if stderr:
            cached(server).unlink()
        words = ["run", matrix, "--no-report", "--into", str(bench.folder / name)]
        invoked = CliRunner().invoke(cli, words)
        assert invoked.exit_code == 0, invoked.output
        stderr.append(invoked.stderr)
    return {"stderr": stderr}


@injects("sshd")
def test_a_run_with_a_silent_sftp_server_measures_the_figures_of_a_clean_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(measure_with_mute_sftp)
    assert ["copied by commands" in text for text in outcome["stderr"]] == [False, True]
    mute = outcome.load("mute")
    assert by_status(mute) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), mute) == []
    outcome.figure(f"4 of 4 trials measured, with a wait of {REPLY_S:g} s", n=4)
