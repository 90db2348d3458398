"""The endpoint of a login, and messages about servers that are no SSH. Needs no SSH server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from netlab.errors import HostError, HostKeyError
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import login
from netlab.remote.agent import connect
from netlab.remote.keys import Endpoint, HostKeys, endpoint


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ~/.ssh of a user with another name than any real one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    folder = tmp_path / ".ssh"
    folder.mkdir()
    return folder


def of(name: str, identity: str | None = None, **keys: object) -> Endpoint:
    return endpoint("far", SshTarget(name, **keys), identity)  # type: ignore[arg-type]


# ~/.ssh/config


def test_without_an_ssh_configuration_the_defaults_of_openssh_hold(ssh: Path) -> None:
    place = of("rack")
    assert (place.host, place.port, place.user) == ("rack", 22, "ada")
    assert place.key_names == ("rack",)
    assert [path.name for path in place.identities] == ["id_ed25519", "id_ecdsa", "id_rsa"]
    assert place.known_hosts[0] == ssh / "known_hosts"
    assert not place.named
    assert not place.only_named


def test_the_inventory_overrides_the_ssh_configuration(ssh: Path) -> None:
    (ssh / "config").write_text(
        "Host rack\n  HostName 10.9.9.9\n  User bob\n  Port 2200\n  IdentityFile ~/.ssh/theirs\n"
    )
    place = of("rack")
    assert (place.host, place.port, place.user) == ("10.9.9.9", 2200, "bob")
    assert place.identities == (ssh / "theirs",)
    assert place.key_names == ("[10.9.9.9]:2200", "10.9.9.9")
    place = of("rack", "~/.ssh/ours", user="eve", port=2300)
    assert (place.host, place.port, place.user) == ("10.9.9.9", 2300, "eve")
    assert place.identities == (ssh / "ours",)
    assert place.only_named


def test_host_key_alias_and_port_decide_the_name_of_a_host_in_known_hosts(ssh: Path) -> None:
    (ssh / "config").write_text("Host rack\n  HostKeyAlias the-rack\n  Port 2200\n")
    assert of("rack").key_names == ("the-rack",)
    assert of("fd00::1", port=2200).key_names == ("[fd00::1]:2200", "fd00::1")
    assert of("fd00::1").key_names == ("fd00::1",)


def test_a_host_block_of_the_ssh_configuration_continues_after_an_include(ssh: Path) -> None:
    (ssh / "extra").write_text("Host other\n  User carol\n")
    (ssh / "config").write_text('Host rack\n  include "extra"\n  User bob\nHost *\n  Port 2200\n')
    assert (of("rack").user, of("rack").port) == ("bob", 2200)
    assert (of("other").user, of("third").user) == ("carol", "ada")


def test_an_ssh_configuration_that_includes_itself_is_read(ssh: Path) -> None:
    (ssh / "config").write_text("Include config\nHost rack\n  User bob\n")
    assert of("rack").user == "bob"


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("UserKnownHostsFile ~/.ssh/lab ~/.ssh/more", [".ssh/lab", ".ssh/more"]),
        ('userknownhostsfile="~/.ssh/my hosts" "~/.ssh/more"', [".ssh/my hosts", ".ssh/more"]),
        ("UserKnownHostsFile ~/.ssh/%h-%p %d/100%%", [".ssh/rack-22", "100%"]),
        ("UserKnownHostsFile none", ["/dev/null"]),
    ],
)
def test_several_known_hosts_files_may_be_named_and_quoted(
    ssh: Path, line: str, files: list[str]
) -> None:
    (ssh / "config").write_text(f"Host rack\n  {line}\n  User bob\n")
    place = of("rack")
    assert [*place.known_hosts[:-2]] == [ssh.parent / file for file in files]
    assert place.user == "bob"


def test_proxy_jump_hosts_are_read_in_every_form(ssh: Path) -> None:
    (ssh / "config").write_text(
        "Host a\n  ProxyJump eve@gate:2200,[fd00::1]:22\nHost b\n  ProxyJump none\n"
    )
    assert of("a").jumps == (SshTarget("gate", "eve", 2200), SshTarget("fd00::1", None, 22))
    assert of("b").jumps == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Host rack\n  ProxyCommand nc %h %p\n", "has a ProxyCommand for rack"),
        ("Host rack\n  ProxyJump a b c\n", "host rack: 'a b c' is neither user@host:port"),
        ("Host rack\n  Port many\n", "host rack: invalid literal for int"),
        ("Host rack\n  Match\n", "cannot be understood"),
        ('Host rack\n  UserKnownHostsFile "a b\n', "cannot be understood: No closing quotation"),
    ],
)
def test_an_unusable_ssh_configuration_is_reported_with_host_and_file(
    ssh: Path, text: str, complaint: str
) -> None:
    (ssh / "config").write_text(text)
    with pytest.raises(HostError, match=r"^far: ") as raised:
        of("rack")
    assert complaint in str(raised.value)
    assert str(ssh / "config") in str(raised.value)


def test_jump_hosts_in_a_circle_are_refused(ssh: Path) -> None:
    (ssh / "config").write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    host = Host(name="far", os="L", ssh=SshTarget("a"), addresses={"test": ("10.0.0.1",)})
    with pytest.raises(HostError, match="does ProxyJump go in a circle"):
        connect(host)


# known_hosts


KEY = paramiko.ECDSAKey.generate()
LINE = f"{KEY.get_name()} {KEY.get_base64()}"


@pytest.mark.parametrize(
    ("patterns", "name", "is_known"),
    [
        ("rack", "rack", True),
        ("RACK", "rack", True),
        ("rack,10.0.0.1", "10.0.0.1", True),
        ("10.0.0.*", "10.0.0.1", True),
        ("rack-?", "rack-1", True),
        ("rack-?", "rack-10", False),
        ("*,!rack", "rack", False),
        ("[rack]:2200", "[rack]:2200", True),
        ("[rack]:2200", "rack", False),
        ("[fd00::1]:2200", "[fd00::1]:2200", True),
        ("[*]:2200", "[rack]:2200", True),
        pytest.param(paramiko.HostKeys.hash_host("rack"), "rack", True, id="hashed"),
        pytest.param(paramiko.HostKeys.hash_host("rack"), "shelf", False, id="hashed, another"),
        ("|1|no|hash", "rack", False),
    ],
)
def test_lines_of_known_hosts_match_host_names_as_in_openssh(
    tmp_path: Path, patterns: str, name: str, is_known: bool
) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"# a comment\n\nrack\nrack ssh-rsa !!!\n{patterns} {LINE} a comment\n")
    keys = HostKeys("far", (name,), None, [tmp_path / "missing", file])
    expectation = (
        contextlib.nullcontext() if is_known else pytest.raises(HostKeyError, match="unknown")
    )
    with expectation:
        keys.check(KEY)


def test_known_kinds_of_host_keys_are_requested_first(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"rack ssh-rsa AAAA\nrack {LINE}\nother ssh-ed25519 AAAA\n")
    algorithms = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256")
    keys = HostKeys("far", ("rack",), None, [file])
    assert keys.algorithms(algorithms) == (
        "rsa-sha2-512",
        "rsa-sha2-256",
        "ecdsa-sha2-nistp256",
        "ssh-ed25519",
    )
    pinned = HostKeys("far", ("rack",), "SHA256:x", [file])
    assert pinned.algorithms(algorithms, without={"ssh-rsa"}) == algorithms[:2]


# Servers that are none


@contextlib.contextmanager
def server(answer: bytes | None) -> Iterator[int]:
    """Sends ``answer`` to each connection and closes it; ``None``: sends nothing and waits."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                if answer is None:
                    connections.append(connection)
                    continue
                with connection:
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in connections:
            connection.close()


def at(port: int) -> Host:
    target = SshTarget("127.0.0.1", "ada", port)
    return Host(name="far", os="L", ssh=target, addresses={"test": ("10.0.0.1",)})


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 5000])
@pytest.mark.lab
def test_a_server_that_does_not_speak_ssh_is_named(
    ssh: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(login, "STAGGER_S", 0.001)
    with (
        server(answer) as port,
        pytest.raises(
            HostError, match=f"^far: 127.0.0.1 port {port} answers, but does not speak SSH"
        ),
    ):
        connect(at(port))


@pytest.mark.lab
def test_a_server_that_sends_no_ssh_greeting_is_given_up(
    ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "CONNECT_S", 1.0)
    with server(None) as port, pytest.raises(HostError, match=r"sends no SSH greeting for 1 s"):
        connect(at(port))


def test_a_host_name_without_an_address_is_reported(
    ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    host = Host(name="far", os="L", ssh=SshTarget("no-such"), addresses={"test": ("10.0.0.1",)})
    with pytest.raises(HostError, match=r"^far: no address for 'no-such' \(Name or service"):
        connect(host)
