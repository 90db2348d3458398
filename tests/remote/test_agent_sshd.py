"""The probe over SSH, against a real OpenSSH server on loopback: installed, asked, and lost."""

from __future__ import annotations

import os
import re
import socket
import statistics
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
import sshd
from sshd import Site, cached, host_at, is_alive, site, until

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote import agent as probe
from netlab.remote import deploy
from netlab.remote.agent import Agent
from netlab.remote.programs import same_host
from netlab.remote.ssh import SshTransport

__all__ = ["site"]

pytestmark = sshd.needs_sshd


class TestDeployment:
    def test_the_probe_is_installed_once_and_used_again(self, site: Site) -> None:
        server = site.server()
        stamps = []
        for _ in range(2):
            agent = Agent.open(host_at(server))
            agent.close()
            stat = cached(server).stat()
            stamps.append((stat.st_ino, stat.st_mtime_ns, stat.st_mode & 0o777))
        assert stamps[0] == stamps[1]
        assert stamps[0][2] == 0o700
        assert re.fullmatch("netprobe-[0-9a-f]{16}", cached(server).name)

    @pytest.mark.parametrize("damage", ["flipped", "cut", "not-executable", "link"])
    def test_a_damaged_installed_probe_is_replaced(self, site: Site, damage: str) -> None:
        server = site.server()
        Agent.open(host_at(server)).close()
        file = cached(server)
        content = file.read_bytes()
        if damage == "flipped":
            file.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
        elif damage == "cut":
            file.write_bytes(content[:-1])
        elif damage == "not-executable":
            file.chmod(0o600)
        else:
            target = server.folder / "elsewhere"
            target.write_bytes(b"#!/bin/sh\n")
            file.unlink()
            file.symlink_to(target)
        Agent.open(host_at(server)).close()
        assert file.read_bytes() == content
        assert not file.is_symlink()
        assert file.stat().st_mode & 0o777 == 0o700
        assert cached(server) == file

    def test_the_probe_is_installed_in_another_folder_if_the_home_folder_cannot_hold_it(
        self, site: Site
    ) -> None:
        server = site.server()
        (server.home / ".cache").write_text("a file where a directory should be")
        (site.folder / "fallback").mkdir()
        Agent.open(host_at(server)).close()
        (private,) = (site.folder / "fallback").iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
        assert len(list(private.iterdir())) == 1

    @pytest.mark.parametrize("trap", ["link", "open"])
    def test_a_folder_that_another_user_could_have_prepared_gets_no_probe(
        self, site: Site, trap: str
    ) -> None:
        server = site.server()
        (server.home / ".cache").write_text("")
        fallback = site.folder / "fallback"
        fallback.mkdir()
        place = fallback / f"netlab-{os.geteuid()}"
        bait = site.folder / "bait"
        bait.mkdir()
        if trap == "link":
            place.symlink_to(bait)
        else:
            place.mkdir()
            place.chmod(0o777)
        with pytest.raises(HostError, match=f"no place to start the probe from.*{place}"):
            Agent.open(host_at(server))
        assert not list(bait.iterdir())
        assert trap == "link" or not list(place.iterdir())

    @pytest.mark.parametrize("commands", [False, True], ids=["sftp", "commands"])
    def test_old_probes_of_earlier_runs_are_removed_and_other_files_stay(
        self, site: Site, commands: bool
    ) -> None:
        server = site.server()
        if commands:
            server.says(to_sftp="exit 1")
        Agent.open(host_at(server)).close()
        probe = cached(server)
        old, new, suffix = "netprobe-" + "0" * 16, "netprobe-" + "1" * 16, ".12345678"
        survivors = {
            "notes": 500,
            old + ".bak": 500,
            new: 80,
            new + suffix: 0.1,
            probe.name + suffix: 0.5,
        }
        for name, days in ({old: 95, old + suffix: 2, old + ".exe": 95} | survivors).items():
            file = probe.parent / name
            file.write_text("")
            then_s = time.time() - days * 86400
            os.utime(file, (then_s, then_s))
        os.utime(probe, (1e9, 1e9))
        Agent.open(host_at(server)).close()
        assert {path.name for path in probe.parent.iterdir()} == {probe.name, *survivors}
        # It was used today, whenever it was installed.
        assert abs(probe.stat().st_mtime - time.time()) < 60

    def test_the_installation_of_the_probe_has_one_time_limit(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(deploy, "DEPLOY_S", 1.0)
        server = site.server()
        server.says(at_first="sleep 0.3", to_sftp="exit 1")
        with pytest.raises(HostError, match=r"^far: the probe could not be copied there in 1 s$"):
            Agent.open(host_at(server))
        assert until(lambda: not server.sessions())

    def test_a_wrong_system_in_the_inventory_is_refused_before_a_probe_is_installed(
        self, site: Site
    ) -> None:
        server = site.server()
        host = Host(name="far", os="M", ssh=host_at(server).ssh, addresses={"test": ("10.0.0.1",)})
        with pytest.raises(HostError, match="far runs Linux, and the inventory says `os: M`"):
            Agent.open(host)
        assert not (server.home / ".cache").exists()


class TestAgent:
    @pytest.mark.alone
    @pytest.mark.night
    def test_a_request_over_ssh_takes_less_than_five_milliseconds(self, site: Site) -> None:
        agent = Agent.open(host_at(site.server()))

        def ask_s() -> float:
            start_s = time.perf_counter()
            agent.ask("clock")
            return time.perf_counter() - start_s

        try:
            # The best tenth: other programs of this machine are not what is tested. Without
            # TCP_NODELAY each takes 40 ms.
            assert statistics.quantiles([ask_s() for _ in range(200)], n=10)[0] < 0.005
        finally:
            agent.close()

    def test_two_names_of_one_ssh_host_are_one_host(self, site: Site) -> None:
        server = site.server()
        first_agent, second_agent = (
            Agent.open(host_at(server, name=name)) for name in ("one", "two")
        )
        local = Agent.open(Host(name="here", os="L", local=True))
        try:
            assert same_host(first_agent, second_agent)
            assert same_host(first_agent, local)
        finally:
            for agent in (first_agent, second_agent, local):
                agent.close()

    def test_closing_an_ssh_agent_ends_its_probe_and_its_ssh_session(self, site: Site) -> None:
        server = site.server()
        agent = Agent.open(host_at(server))
        pid = int(agent.hello["pid"])
        assert is_alive(pid)
        agent.close()
        assert until(lambda: not is_alive(pid) and not server.sessions())

    def test_a_cut_ssh_connection_ends_the_pending_request_and_the_probe(self, site: Site) -> None:
        server = site.server()
        agent = Agent.open(host_at(server))
        pid = int(agent.hello["pid"])
        listen: dict[str, Any] = {
            "open": "listen",
            "bind": "127.0.0.1",
            "token": "5a" * 16,
            "deadline": 120,
        }
        pending = agent.start("receive", kind="check", **listen)
        assert pending.record(60)["type"] == "ready"
        server.cut()
        with pytest.raises(HostGone, match="far: the connection ended"):
            pending.record(60)
        assert agent.gone
        assert until(lambda: not is_alive(pid))
        agent.close()

    def test_heartbeats_notice_a_half_open_ssh_connection(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(probe, "HEARTBEAT_S", 0.1)
        monkeypatch.setattr(probe, "SILENCE_S", 5.0)
        server = site.server()
        agent = Agent.open(host_at(server))
        with server.frozen():
            with pytest.raises(HostGone, match="far: silent for"):
                agent.ask("clock", timeout_s=60)
            agent.close()

    def test_an_ssh_connection_that_breaks_while_the_host_is_silent_is_reported_as_gone(
        self, site: Site
    ) -> None:
        server = site.server()
        transport = SshTransport(host_at(server))
        transport.log_in()
        process = transport.start(("sleep", "60"))
        with ExitStack() as stack:
            stack.callback(transport.close)
            with (
                pytest.raises(HostError, match="far: its SFTP server ends"),
                transport.sftp() as sftp,
            ):
                stack.enter_context(server.frozen())
                # From now on nothing can be sent, and paramiko does not know it.
                transport._chain.connections[-1].sock.shutdown(socket.SHUT_WR)
                sftp.seen(".")
            with pytest.raises(OSError, match="EOFError"):
                process.write(b"x")
            process.close_input()
            process.kill()
            with pytest.raises(HostGone, match="far: the SSH connection is gone"):
                transport.start(("true",))

    def test_a_command_that_does_not_read_its_input_still_returns_status_and_errors(
        self, site: Site
    ) -> None:
        transport = SshTransport(host_at(site.server()))
        transport.log_in()
        try:
            for _ in range(10):
                answer = transport.answer(
                    ("cat", "/nowhere"), data=bytes(8 << 20), most_bytes=1000, timeout_s=60
                )
                assert (answer.stdout, answer.status) == (b"", 1)
                assert "/nowhere" in answer.stderr
        finally:
            transport.close()

    def test_a_command_that_accepts_no_input_is_given_up_at_the_time_limit(
        self, site: Site
    ) -> None:
        transport = SshTransport(host_at(site.server()))
        transport.log_in()
        steps: list[str] = []
        data = bytes(8 << 20)  # more than its channel holds

        def ask() -> None:
            process = transport.start(("sleep", "60"))
            with pytest.raises(TimeoutError, match=r"takes no input for 0\.3 s"):
                process.write(data, 0.3)
            steps.append("write")
            process.kill()
            with pytest.raises(TimeoutError):
                transport.answer(("sleep", "60"), data=data, most_bytes=10, timeout_s=0.3)
            steps.append("answer")

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(60)
        transport.close()
        assert steps == ["write", "answer"]

    def test_the_default_limit_for_silence_plus_two_heartbeats_is_under_45_seconds(self) -> None:
        assert probe.SILENCE_S + 2 * probe.HEARTBEAT_S < 45
