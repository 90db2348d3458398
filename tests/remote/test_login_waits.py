"""A slow login of one host, or a bad address of it, delays no other host."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest
from paramiko.ssh_exception import IncompatiblePeer, SSHException
from sshd import make_key

from netlab.errors import HostError
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import login, ssh
from netlab.remote.keys import Chain, Endpoint, KeyAgent, endpoint, in_words
from netlab.remote.ssh import SshTransport

pytestmark = pytest.mark.lab

UNKNOWN_FAMILY = 9999


@pytest.fixture(autouse=True)
def free_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """All four slots are free, also if an aborted login of another test is still ending."""
    monkeypatch.setattr(login, "LOGINS_AT_ONCE", threading.BoundedSemaphore(4))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an empty ~/.ssh."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir()
    return tmp_path


@pytest.fixture
def mute() -> Iterator[int]:
    """The port of a silent server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def at(port: int) -> Host:
    target = SshTarget("127.0.0.1", "ada", port)
    return Host(name="far", os="L", ssh=target, addresses={"test": ("10.0.0.1",)})


def place_at(port: int) -> Endpoint:
    return endpoint("far", SshTarget("127.0.0.1", "ada", port))


def raised_by(call: Callable[[], object], within_s: float = 60.0) -> BaseException | None:
    """The error of a call, which must come within the time."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(within_s)
    assert not thread.is_alive(), "it does not end"
    return raised[0] if raised else None


@contextlib.contextmanager
def without_end(path: Path) -> Iterator[None]:
    """A file whose reader waits for ever, as on a network drive that does not answer."""
    os.mkfifo(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.parametrize(
    ("name", "description"), [("known_hosts", "known_hosts"), ("id_ed25519.pub", "its key files")]
)
def test_an_unreadable_ssh_file_is_named_and_takes_no_slot_from_other_logins(
    home: Path, mute: int, monkeypatch: pytest.MonkeyPatch, name: str, description: str
) -> None:
    monkeypatch.setattr(login, "FILES_S", 2.0)
    make_key(home / ".ssh" / "id_ed25519")
    (home / ".ssh" / name).unlink(missing_ok=True)
    places = 0
    with without_end(home / ".ssh" / name), contextlib.ExitStack() as stack:
        error = raised_by(SshTransport(at(mute)).log_in)
        assert isinstance(error, HostError)
        assert (
            str(error)
            == f"far: {description} could not be read in 2 s; does a network drive not answer?"
        )
        while login.LOGINS_AT_ONCE.acquire(blocking=False):
            stack.callback(login.LOGINS_AT_ONCE.release)
            places += 1
        assert places == 4


def test_a_login_has_one_time_limit(home: Path, mute: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "LOGIN_MOST_S", 0.3)
    error = raised_by(SshTransport(at(mute)).log_in)
    assert str(error) == "far: its login did not end in 0.3 s"


def ways(*addresses: tuple[int, tuple[str, int]]) -> Callable[..., list[object]]:
    return lambda *_: [(family, socket.SOCK_STREAM, 0, "", way) for family, way in addresses]


def test_an_address_of_an_unsupported_family_is_skipped(
    home: Path, mute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_at(mute)
    address, chain = ("127.0.0.1", mute), Chain("far")
    for order in (1, -1):
        addresses = [(UNKNOWN_FAMILY, address), (socket.AF_INET, address)][::order]
        monkeypatch.setattr(socket, "getaddrinfo", ways(*addresses))
        assert login.way_to(place, None, chain).getpeername() == address
    monkeypatch.setattr(socket, "getaddrinfo", ways((UNKNOWN_FAMILY, address)))
    with pytest.raises(HostError, match=r"cannot reach 127\.0\.0\.1 port \d+: Address family not"):
        login.way_to(place, None, chain)
    chain.close()


def test_addresses_of_a_host_are_tried_in_the_order_of_the_system(
    home: Path, mute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, chain = place_at(mute), Chain("far")
    with socket.create_server(("127.0.0.1", 0)) as second:
        best, second_address = ("127.0.0.1", mute), ("127.0.0.1", int(second.getsockname()[1]))
        monkeypatch.setattr(
            socket, "getaddrinfo", ways((socket.AF_INET, best), (socket.AF_INET, second_address))
        )
        assert login.way_to(place, None, chain).getpeername() == best
    chain.close()


def test_an_ssh_agent_that_closes_its_socket_is_named_in_the_error() -> None:
    ours, its = socket.socketpair()
    agent = KeyAgent(Chain("far"))
    agent._conn = ours
    its.close()
    with pytest.raises(SSHException, match="ssh-agent: "):
        agent._send_message(b"\x0b")
    ours.close()


def test_error_texts_of_an_ssh_server_are_shortened_and_printed_on_one_line(home: Path) -> None:
    assert in_words(SSHException("no\nlinux-b: fit")) == "no linux-b: fit"
    assert len(in_words(SSHException("x" * 5000))) == 200
    ours, its = socket.socketpair()
    connection = login._Connection(ours)
    connection.offered = {"kex_algo_list": ["old\nlinux-b: fit", *["more"] * 5000]}
    sentence = login._nothing_in_common(place_at(22), connection, IncompatiblePeer("kex algorithm"))
    assert "\n" not in sentence
    assert "it has old linux-b: fit, more" in sentence
    assert len(sentence) < 1500
    for end in (ours, its):
        end.close()


class NoKeys(paramiko.ServerInterface):
    """A server that accepts no keys and lists its methods with a line end."""

    def get_allowed_auths(self, username: str) -> str:
        return "password\nlinux-b: fit"


def test_login_methods_offered_by_an_ssh_server_are_printed_on_one_line(home: Path) -> None:
    make_key(home / ".ssh" / "id_ed25519")
    key = paramiko.ECDSAKey.generate()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        transports: list[paramiko.Transport] = []

        def serve() -> None:
            transports.append(paramiko.Transport(listener.accept()[0]))
            transports[0].add_server_key(key)
            transports[0].start_server(event=threading.Event(), server=NoKeys())

        threading.Thread(target=serve, daemon=True).start()
        line = f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n"
        (home / ".ssh" / "known_hosts").write_text(line)
        error = raised_by(SshTransport(at(port)).log_in)
        assert str(error) == "far: it accepts no keys, only password linux-b: fit"
        transports[0].close()
