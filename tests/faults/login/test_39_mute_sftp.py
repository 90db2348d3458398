"""A mute SFTP server is given up after 10 s, and the probe goes there by commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.build.local import local_probe
from netlab.cli import cli
from netlab.remote import sftp
from netlab.remote.agent import Agent

__all__ = ["bench", "site"]

pytestmark = [needs_sshd, pytest.mark.alone]

MUTE = "exec sleep 60"
# It answers what opens a session, and nothing afterwards.
SOON_MUTE = """\
head -c 9 >/dev/null
printf '\\000\\000\\000\\005\\002\\000\\000\\000\\003'
exec sleep 60"""


@pytest.mark.parametrize("to_sftp", [MUTE, SOON_MUTE], ids=["from the start", "later"])
def test_the_probe_goes_there_by_commands_once_and_is_found_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, to_sftp: str
) -> None:
    monkeypatch.setattr(sftp, "REPLY_S", 0.5)
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


def test_a_run_measures_as_with_sftp(
    bench: Bench,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    reply_s = 0.5
    monkeypatch.setattr(sftp, "REPLY_S", reply_s)
    server = site.server()
    matrix = str(bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}"))
    stderr: list[str] = []
    for name, to_sftp in (("clean", ""), ("mute", MUTE)):
        server.says(to_sftp=to_sftp)
        if stderr:
            cached(server).unlink()
        outcome = CliRunner().invoke(cli, ["run", matrix, "--into", str(bench.folder / name)])
        assert outcome.exit_code == 0, outcome.output
        stderr.append(outcome.stderr)
    assert ["copied by commands" in text for text in stderr] == [False, True]
    mute = bench.load("mute")
    assert by_status(mute) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), mute) == []
    record_property("figure", f"4 of 4 trials measured, with a wait of {reply_s:g} s")
    record_property("n", 4)
