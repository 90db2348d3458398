"""The SSH login, against a real OpenSSH server on loopback: keys and jump hosts."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import sshd
from sshd import Site, alias, host_at, log_in, make_key, public, site, until

from netlab.errors import HostError, HostKeyError, HostRefused
from netlab.remote.agent import Agent

__all__ = ["site"]

pytestmark = sshd.needs_sshd


class TestHostKeys:
    def test_a_login_to_a_host_with_a_known_host_key_succeeds(self, site: Site) -> None:
        log_in(host_at(site.server()))

    def test_a_login_with_a_hashed_known_hosts_entry_succeeds(self, site: Site) -> None:
        server = site.server()
        subprocess.run(
            [str(sshd.KEYGEN), "-q", "-H", "-f", str(site.known)], check=True, capture_output=True
        )
        assert site.known.read_text().startswith("|1|")
        log_in(host_at(server))

    def test_a_known_hosts_entry_without_the_port_can_only_confirm_a_host_key(
        self, site: Site
    ) -> None:
        server = site.server(trust=False)
        site.trust(f"127.0.0.1 {public(make_key(site.folder / 'other'))}\n")
        with pytest.raises(HostKeyError, match="unknown host key"):
            log_in(host_at(server))
        site.trust(f"127.0.0.1 {public(server.key())}\n")
        log_in(host_at(server))

    def test_an_unknown_host_key_is_refused_with_the_command_that_adds_it(self, site: Site) -> None:
        server = site.server(trust=False)
        with pytest.raises(HostKeyError, match="unknown host key") as raised:
            log_in(host_at(server))
        assert sshd.fingerprint(server.key()) in str(raised.value)
        assert not site.known.exists()
        command = re.search(r"mkdir -p .*$", str(raised.value))
        assert command is not None
        subprocess.run(["sh", "-c", command[0]], check=True)
        log_in(host_at(server))

    def test_a_host_key_of_another_kind_than_the_known_one_is_reported_as_changed(
        self, site: Site
    ) -> None:
        server = site.server(trust=False)
        site.trust(f"{server.name} {public(make_key(site.folder / 'rsa', 'rsa'))}\n")
        with pytest.raises(HostKeyError, match="CHANGED"):
            log_in(host_at(server))

    def test_the_known_kind_of_host_key_is_negotiated(self, site: Site) -> None:
        server = site.server(kinds=("ed25519", "rsa", "ecdsa"), trust=False)
        site.trust(server.line("rsa"))
        log_in(host_at(server))

    def test_a_revoked_host_key_is_refused_even_if_the_inventory_pins_it(self, site: Site) -> None:
        server = site.server()
        site.trust(f"@revoked * {public(server.key())}\n")
        for pinned in (None, public(server.key())):
            with pytest.raises(HostKeyError, match=r"is revoked in .*known_hosts:2"):
                log_in(host_at(server, host_key=pinned))

    def test_a_pinned_host_key_needs_no_known_hosts(self, site: Site) -> None:
        server = site.server(trust=False)
        log_in(host_at(server, host_key=public(server.key())))
        log_in(host_at(server, host_key=sshd.fingerprint(server.key())))

    @pytest.mark.parametrize("kind", ["ed25519", "rsa"])
    def test_a_pinned_fingerprint_selects_its_host_key_among_several(
        self, site: Site, kind: str
    ) -> None:
        server = site.server(kinds=("ed25519", "rsa"), trust=False)
        log_in(host_at(server, host_key=sshd.fingerprint(server.key(kind))))

    def test_a_pinned_host_key_overrides_known_hosts(self, site: Site) -> None:
        server = site.server()
        wrong_key = make_key(site.folder / "other")
        for pinned in (public(wrong_key), sshd.fingerprint(wrong_key)):
            with pytest.raises(HostKeyError, match="not the one that the inventory pins"):
                log_in(host_at(server, host_key=pinned))


class TestLogin:
    def test_a_missing_identity_file_is_named(self, site: Site) -> None:
        with pytest.raises(HostRefused, match="/nowhere/key does not exist"):
            log_in(host_at(site.server(), identity=Path("/nowhere/key")))

    def test_a_key_of_the_ssh_agent_logs_in(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = site.server()
        locked = make_key(site.folder / "locked", passphrase="open sesame")
        (server.folder / "authorized").write_text(public(locked))
        socket = site.folder / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
        try:
            assert until(socket.exists)
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            ask = site.folder / "ask"
            ask.write_text("#!/bin/sh\necho open sesame\n")
            ask.chmod(0o700)
            answers = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
            subprocess.run(["ssh-add", "-q", str(locked)], check=True, env=os.environ | answers)
            log_in(host_at(server, identity=locked))
            log_in(host_at(server))
        finally:
            agent.terminate()
            agent.wait(60)

    def test_a_port_at_which_nobody_listens_is_reported(self, site: Site) -> None:
        server = site.server()
        server.stop()
        with pytest.raises(HostError, match=r"^far: nobody listens at 127.0.0.1 port \d+"):
            log_in(host_at(server))


class TestConfiguration:
    def test_host_settings_of_an_included_ssh_configuration_are_used_for_the_login(
        self, site: Site
    ) -> None:
        server = site.server()
        key = site.key.rename(site.ssh / "another")
        Path(f"{site.key}.pub").rename(site.ssh / "another.pub")
        (site.ssh / "config").write_text("Include conf.d/*\nHost *\n  User nobody\n")
        (site.ssh / "conf.d").mkdir()
        (site.ssh / "conf.d" / "lab").write_text(
            f"Host rack-*\n  HostName 127.0.0.1\n  Port {server.port}\n"
            f"  User {sshd.USER}\n  IdentityFile {key}\n"
        )
        log_in(alias("rack-7"))

    def test_a_host_behind_two_jump_hosts_is_reached_through_both(self, site: Site) -> None:
        first, second, last = site.server(), site.server(), site.server()
        (site.ssh / "config").write_text(
            f"Host *\n  HostName 127.0.0.1\n  User {sshd.USER}\n"
            f"Host first\n  Port {first.port}\n"
            f"Host second\n  Port {second.port}\n  ProxyJump first\n"
            f"Host last\n  Port {last.port}\n  ProxyJump second\n"
            f"Host plain\n  Port {second.port}\n"
            f"Host chained\n  Port {last.port}\n  ProxyJump first,plain\n"
        )
        for name in ("last", "chained"):
            agent = Agent.open(alias(name))
            try:
                assert agent.ask("clock")["type"] == "clock"
                assert all(server.sessions() for server in (first, second, last))
            finally:
                agent.close()
            conditions = (lambda s=server: not s.sessions() for server in (first, second, last))
            assert all(until(condition) for condition in conditions)

    def test_the_host_key_of_a_jump_host_is_checked(self, site: Site) -> None:
        jump, last = site.server(trust=False), site.server()
        (site.ssh / "config").write_text(
            f"Host last\n  HostName 127.0.0.1\n  User {sshd.USER}\n  Port {last.port}\n"
            f"  ProxyJump {sshd.USER}@127.0.0.1:{jump.port}\n"
        )
        with pytest.raises(HostKeyError, match=r"^last \(jump host 127.0.0.1\): unknown host key"):
            log_in(alias("last"))
