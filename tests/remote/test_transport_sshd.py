"""Everything over SSH, against a real OpenSSH server on loopback."""

from __future__ import annotations

import os
import re
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sshd
from sshd import Sshd, make_key, public

from netlab.errors import HostError, HostGone, HostKeyError, HostRefused
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import agent as probe
from netlab.remote import deploy, system
from netlab.remote.agent import Agent
from netlab.remote.host_lock import same_host
from netlab.remote.ssh import SshTransport

pytestmark = sshd.needs_sshd


@dataclass
class Site:
    """A home directory of a user, and the servers he can log in to."""

    folder: Path
    servers: list[Sshd] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ssh = self.folder / "home" / ".ssh"
        self.key = make_key(self.ssh / "id_ed25519")
        self.known = self.ssh / "known_hosts"

    def server(
        self, *options: str, kinds: tuple[str, ...] = ("ed25519",), trust: bool = True
    ) -> Sshd:
        made = Sshd(self.folder / f"server{len(self.servers)}", self.key, list(options), kinds)
        self.servers.append(made.start())
        if trust:
            self.trust(made.line(kinds[0]))
        return made

    def trust(self, line: str) -> None:
        with self.known.open("a") as file:
            file.write(line)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    # Nothing of a test lands in the machine's own temporary directories.
    monkeypatch.setattr(deploy, "FALLBACKS", (str(tmp_path / "fallback"),))
    made = Site(tmp_path)
    yield made
    for server in made.servers:
        server.stop()


def host_at(
    server: Sshd, *, host_key: str | None = None, identity: Path | None = None, name: str = "far"
) -> Host:
    return Host(
        name=name,
        os="L",
        ssh=SshTarget("127.0.0.1", sshd.USER, server.port),
        addresses={"test": ("127.0.0.1",)},
        host_key=host_key,
        identity=None if identity is None else str(identity),
    )


def alias(name: str) -> Host:
    return Host(name=name, os="L", ssh=SshTarget(name), addresses={"test": ("127.0.0.1",)})


def log_in(host: Host) -> None:
    SshTransport.connect(host).close()


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    give_up = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.01)
    return condition()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cached(server: Sshd) -> Path:
    """The one probe in the server's cache."""
    (only,) = (server.home / ".cache" / "netlab").iterdir()
    return only


class TestHostKeys:
    def test_a_known_key_lets_in(self, site: Site) -> None:
        log_in(host_at(site.server()))

    def test_a_hashed_entry_lets_in(self, site: Site) -> None:
        server = site.server()
        subprocess.run(
            [str(sshd.KEYGEN), "-q", "-H", "-f", str(site.known)], check=True, capture_output=True
        )
        assert site.known.read_text().startswith("|1|")
        log_in(host_at(server))

    def test_an_entry_without_the_port_confirms_a_key_and_never_makes_it_wrong(
        self, site: Site
    ) -> None:
        server = site.server(trust=False)
        site.trust(f"127.0.0.1 {public(make_key(site.folder / 'other'))}\n")
        with pytest.raises(HostKeyError, match="unknown host key"):
            log_in(host_at(server))
        site.trust(f"127.0.0.1 {public(server.key())}\n")
        log_in(host_at(server))

    def test_an_unknown_key_is_refused_with_its_fingerprint_and_the_command_that_adds_it(
        self, site: Site
    ) -> None:
        server = site.server(trust=False)
        with pytest.raises(HostKeyError, match="unknown host key") as raised:
            log_in(host_at(server))
        assert sshd.fingerprint(server.key()) in str(raised.value)
        assert not site.known.exists()
        command = re.search(r"echo .*$", str(raised.value))
        assert command is not None
        subprocess.run(["sh", "-c", command[0]], check=True)
        log_in(host_at(server))

    def test_a_changed_key_is_refused_with_both_fingerprints(self, site: Site) -> None:
        server = site.server()
        old = sshd.fingerprint(server.key())
        server.stop()
        for half in (server.key(), Path(f"{server.key()}.pub")):
            half.unlink()
        make_key(server.key())
        server.start()
        with pytest.raises(HostKeyError, match="CHANGED") as raised:
            log_in(host_at(server))
        assert old in str(raised.value)
        assert sshd.fingerprint(server.key()) in str(raised.value)
        assert f"{site.known}:1" in str(raised.value)

    def test_a_key_of_another_kind_than_the_known_one_is_changed_and_not_unsupported(
        self, site: Site
    ) -> None:
        server = site.server(trust=False)
        site.trust(f"{server.name} {public(make_key(site.folder / 'rsa', 'rsa'))}\n")
        with pytest.raises(HostKeyError, match="CHANGED"):
            log_in(host_at(server))

    def test_the_kind_that_is_known_is_negotiated(self, site: Site) -> None:
        server = site.server(kinds=("ed25519", "rsa", "ecdsa"), trust=False)
        site.trust(server.line("rsa"))
        log_in(host_at(server))

    def test_a_revoked_key_is_refused_even_where_it_is_pinned(self, site: Site) -> None:
        server = site.server()
        site.trust(f"@revoked * {public(server.key())}\n")
        for pinned in (None, public(server.key())):
            with pytest.raises(HostKeyError, match=r"is revoked in .*known_hosts:2"):
                log_in(host_at(server, host_key=pinned))

    def test_a_pinned_key_needs_no_known_hosts(self, site: Site) -> None:
        server = site.server(trust=False)
        log_in(host_at(server, host_key=public(server.key())))
        log_in(host_at(server, host_key=sshd.fingerprint(server.key())))

    @pytest.mark.parametrize("kind", ["ed25519", "rsa"])
    def test_a_pinned_fingerprint_finds_its_key_among_several(self, site: Site, kind: str) -> None:
        server = site.server(kinds=("ed25519", "rsa"), trust=False)
        log_in(host_at(server, host_key=sshd.fingerprint(server.key(kind))))

    def test_a_pinned_key_goes_before_known_hosts(self, site: Site) -> None:
        server = site.server()
        other = make_key(site.folder / "other")
        for pinned in (public(other), sshd.fingerprint(other)):
            with pytest.raises(HostKeyError, match="not the one that the inventory pins"):
                log_in(host_at(server, host_key=pinned))


class TestLogin:
    def test_a_wrong_key_is_one_attempt_and_one_sentence(self, site: Site) -> None:
        server = site.server()
        wrong = make_key(site.folder / "wrong")
        with pytest.raises(HostRefused, match=r"took no key; tried: .*/wrong\. Put your"):
            log_in(host_at(server, identity=wrong))
        assert server.log.read_text().count("Failed publickey") == 1

    def test_a_key_with_a_passphrase_says_what_to_do(self, site: Site) -> None:
        server = site.server()
        locked = make_key(site.folder / "locked", passphrase="open sesame")
        with pytest.raises(HostRefused, match="locked has a passphrase: add it to ssh-agent"):
            log_in(host_at(server, identity=locked))

    def test_a_missing_key_file_is_named(self, site: Site) -> None:
        with pytest.raises(HostRefused, match="there is no /nowhere/key"):
            log_in(host_at(site.server(), identity=Path("/nowhere/key")))

    def test_the_agents_key_logs_in(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
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
            agent.wait(10)

    def test_a_port_at_which_nobody_listens_is_a_sentence(self, site: Site) -> None:
        server = site.server()
        server.stop()
        with pytest.raises(HostError, match=r"^far: nobody listens at 127.0.0.1 port \d+"):
            log_in(host_at(server))

    @pytest.mark.parametrize(
        ("option", "word"),
        [
            ("HostKeyAlgorithms ssh-rsa", "far: .* offers no host key .* it has ssh-rsa"),
            (
                "KexAlgorithms diffie-hellman-group14-sha1",
                "far: .* no kex algorithm .* it has diffie-hellman-group14-sha1",
            ),
        ],
    )
    def test_where_no_algorithm_is_in_common_the_hosts_are_named(
        self, site: Site, option: str, word: str
    ) -> None:
        server = site.server(option, kinds=("rsa",))
        with pytest.raises(HostRefused, match=word):
            log_in(host_at(server))

    def test_many_logins_at_once_all_get_in_although_the_server_drops_some(
        self, site: Site
    ) -> None:
        server = site.server("MaxStartups 2:100:2")
        hosts = [host_at(server, name=f"far{number}") for number in range(16)]
        with ThreadPoolExecutor(16) as executor:
            transports = list(executor.map(SshTransport.connect, hosts))
        for transport in transports:
            transport.close()
        assert len(transports) == 16


class TestConfiguration:
    def test_a_name_of_the_configuration_is_followed_into_included_files(self, site: Site) -> None:
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

    def test_jump_hosts_are_passed_through_in_their_order(self, site: Site) -> None:
        first, second, last = site.server(), site.server(), site.server()
        (site.ssh / "config").write_text(
            f"Host *\n  HostName 127.0.0.1\n  User {sshd.USER}\n"
            f"Host first\n  Port {first.port}\n"
            f"Host second\n  Port {second.port}\n  ProxyJump first\n"
            f"Host last\n  Port {last.port}\n  ProxyJump second\n"
            f"Host chained\n  Port {last.port}\n  ProxyJump first,second\n"
        )
        for name in ("last", "chained"):
            agent = Agent.open(alias(name))
            try:
                assert agent.ask("clock")["type"] == "clock"
                assert all(server.sessions() for server in (first, second, last))
            finally:
                agent.close()
            gone = (lambda s=server: not s.sessions() for server in (first, second, last))
            assert all(until(each) for each in gone)

    def test_a_jump_hosts_key_is_checked(self, site: Site) -> None:
        jump, last = site.server(trust=False), site.server()
        (site.ssh / "config").write_text(
            f"Host last\n  HostName 127.0.0.1\n  User {sshd.USER}\n  Port {last.port}\n"
            f"  ProxyJump {sshd.USER}@127.0.0.1:{jump.port}\n"
        )
        with pytest.raises(HostKeyError, match=r"^last \(jump host 127.0.0.1\): unknown host key"):
            log_in(alias("last"))


class TestDeployment:
    def test_the_probe_is_put_there_once_and_found_again(self, site: Site) -> None:
        server = site.server()
        stamps = []
        for _ in range(2):
            agent = Agent.open(host_at(server))
            agent.close()
            seen = cached(server).stat()
            stamps.append((seen.st_ino, seen.st_mtime_ns, seen.st_mode & 0o777))
        assert stamps[0] == stamps[1]
        assert stamps[0][2] == 0o700
        assert re.fullmatch("netprobe-[0-9a-f]{16}", cached(server).name)

    @pytest.mark.parametrize("damage", ["flipped", "cut", "not-executable", "link"])
    def test_a_damaged_probe_is_replaced(self, site: Site, damage: str) -> None:
        server = site.server()
        Agent.open(host_at(server)).close()
        file = cached(server)
        whole = file.read_bytes()
        if damage == "flipped":
            file.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
        elif damage == "cut":
            file.write_bytes(whole[:-1])
        elif damage == "not-executable":
            file.chmod(0o600)
        else:
            target = server.folder / "elsewhere"
            target.write_bytes(b"#!/bin/sh\n")
            file.unlink()
            file.symlink_to(target)
        Agent.open(host_at(server)).close()
        assert file.read_bytes() == whole
        assert not file.is_symlink()
        assert file.stat().st_mode & 0o777 == 0o700
        assert cached(server) == file

    def test_where_the_home_takes_nothing_the_next_directory_is_tried(self, site: Site) -> None:
        server = site.server()
        (server.home / ".cache").write_text("a file where a directory should be")
        (site.folder / "fallback").mkdir()
        Agent.open(host_at(server)).close()
        (private,) = (site.folder / "fallback").iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
        assert len(list(private.iterdir())) == 1

    @pytest.mark.needs("root")
    def test_where_a_place_does_not_start_programs_the_next_is_tried(self, site: Site) -> None:
        server = site.server()
        cache = server.home / ".cache"
        cache.mkdir()
        (site.folder / "fallback").mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "noexec,size=8m", "netlab-test", str(cache)]
        subprocess.run(mount, check=True)
        try:
            Agent.open(host_at(server)).close()
            assert cached(server).exists()
            assert list((site.folder / "fallback").iterdir())
        finally:
            subprocess.run(["umount", str(cache)], check=True)

    @pytest.mark.needs("root")
    def test_where_a_place_is_full_the_next_is_tried_and_nothing_is_left_behind(
        self, site: Site
    ) -> None:
        server = site.server()
        cache = server.home / ".cache"
        cache.mkdir()
        (site.folder / "fallback").mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "netlab-test", str(cache)]
        subprocess.run(mount, check=True)
        try:
            Agent.open(host_at(server)).close()
            assert not list((cache / "netlab").iterdir())
        finally:
            subprocess.run(["umount", str(cache)], check=True)

    @pytest.mark.parametrize("trap", ["link", "open"])
    def test_a_place_that_another_could_have_prepared_is_refused_by_its_path(
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

    def test_a_wrong_letter_is_refused_before_anything_is_put_there(self, site: Site) -> None:
        server = site.server()
        host = Host(name="far", os="M", ssh=host_at(server).ssh, addresses={"test": ("10.0.0.1",)})
        with pytest.raises(HostError, match="far runs Linux, and the inventory says `os: M`"):
            Agent.open(host)
        assert not (server.home / ".cache").exists()


class TestAgent:
    def test_a_noisy_login_is_skipped_and_counted(self, site: Site) -> None:
        server = site.server()
        (server.home / ".noise").write_bytes(
            b'Welcome!\r\n\x1b[32m\xff\xfe\x00 no record\n{"type": 3}\n' + b"y" * 200_000 + b"\n$ "
        )
        agent = Agent.open(host_at(server))
        try:
            assert agent.ask("clock")["type"] == "clock"
            assert agent.skipped_lines >= 3
        finally:
            agent.close()

    def test_a_login_that_answers_nothing_is_a_sentence(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(system, "ANSWER_S", 0.3)
        server = site.server()
        (server.folder / "login").write_text("#!/bin/sh\nexec sleep 20\n")
        with pytest.raises(HostError, match=r"the login works, and no command answers in 0\.3 s"):
            Agent.open(host_at(server))

    def test_asking_over_ssh_takes_about_a_millisecond(self, site: Site) -> None:
        agent = Agent.open(host_at(site.server()))

        def ask_s() -> float:
            before = time.perf_counter()
            agent.ask("clock")
            return time.perf_counter() - before

        try:
            # The best tenth: other programs of this machine are not what is tested. Without
            # TCP_NODELAY each takes 40 ms.
            assert statistics.quantiles([ask_s() for _ in range(200)], n=10)[0] < 0.005
        finally:
            agent.close()

    def test_two_names_of_one_host_are_one_host(self, site: Site) -> None:
        server = site.server()
        one, two = (Agent.open(host_at(server, name=name)) for name in ("one", "two"))
        local = Agent.open(Host(name="here", os="L", local=True))
        try:
            assert same_host(one, two)
            assert same_host(one, local)
        finally:
            for agent in (one, two, local):
                agent.close()

    def test_closing_leaves_no_probe_and_no_session(self, site: Site) -> None:
        server = site.server()
        agent = Agent.open(host_at(server))
        pid = int(agent.hello["pid"])
        assert is_alive(pid)
        agent.close()
        assert until(lambda: not is_alive(pid) and not server.sessions())

    def test_a_cut_connection_is_noticed_at_once_and_ends_the_probe(self, site: Site) -> None:
        server = site.server()
        agent = Agent.open(host_at(server))
        pid = int(agent.hello["pid"])
        listen: dict[str, Any] = {
            "open": "listen",
            "bind": "127.0.0.1",
            "token": "5a" * 16,
            "deadline": 30,
        }
        pending = agent.start("receive", kind="check", **listen)
        assert pending.record(10)["type"] == "ready"
        server.cut()
        before = time.monotonic()
        with pytest.raises(HostGone, match="far: the probe ended"):
            pending.record(30)
        assert time.monotonic() - before < 5
        assert agent.gone
        assert until(lambda: not is_alive(pid))
        agent.close()

    def test_a_half_open_connection_is_noticed_by_heartbeats(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(probe, "HEARTBEAT_S", 0.1)
        server = site.server()
        agent = Agent.open(host_at(server), silence_s=1.0)
        with server.frozen():
            before = time.monotonic()
            with pytest.raises(HostGone, match="far: silent for"):
                agent.ask("clock", timeout_s=20)
            assert 0.5 < time.monotonic() - before < 10
            closing = time.monotonic()
            agent.close()
            assert time.monotonic() - closing < 5

    def test_a_connection_that_breaks_while_the_host_is_silent_is_a_host_gone(
        self, site: Site
    ) -> None:
        server = site.server()
        transport = SshTransport.connect(host_at(server))
        process = transport.start(("sleep", "60"))
        with ExitStack() as stack:
            stack.callback(transport.close)
            with pytest.raises(HostError, match="far: its SFTP fails: "), transport.sftp() as sftp:
                stack.enter_context(server.frozen())
                # From here on nothing can be sent, and nothing tells paramiko so.
                transport._connections[-1].sock.shutdown(socket.SHUT_WR)
                sftp.stat(".")
            with pytest.raises(OSError, match="EOFError"):
                process.write(b"x")
            process.close_input()
            process.kill()
            with pytest.raises(HostGone, match="far: the SSH connection is gone"):
                transport.start(("true",))

    def test_by_default_a_silent_host_is_lost_within_45_seconds(self) -> None:
        assert probe.SILENCE_S + 2 * probe.HEARTBEAT_S < 45
