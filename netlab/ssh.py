"""SSH: one connection a host, its key checked, no password ever; SFTP for the probe's file."""

from __future__ import annotations

import getpass
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from paramiko.pkey import UnknownKeyType
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    IncompatiblePeer,
    PasswordRequiredException,
    SSHException,
)

from netlab.errors import HostError, HostGone, HostRefused
from netlab.hostkeys import SYSTEM_FILES, HostKeys, entry_name
from netlab.hosts import Host, SshTarget, parse_ssh
from netlab.transport import Process, Tail

CONNECT_S = 10.0
LOGIN_S = 20.0
USER_TIMEOUT_MS = 30_000
"""Data that nobody acknowledges for this long end the connection (RFC 5482)."""
TRIES = 4
"""A server with many logins at once drops some (MaxStartups of sshd_config(5))."""
MAX_JUMPS = 8
DEFAULT_IDENTITIES = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place to log in, with all that ~/.ssh/config says of it."""

    shown: str
    """In sentences."""
    host: str
    port: int
    user: str
    key_name: str
    """How known_hosts names it."""
    identities: tuple[Path, ...]
    known_hosts: tuple[Path, ...]
    jumps: tuple[SshTarget, ...]


def endpoint(shown: str, target: SshTarget, identity: str | None = None) -> Endpoint:
    """``target`` with what ~/.ssh/config adds: HostName, User, Port, IdentityFile, ProxyJump."""
    home = Path.home() / ".ssh"
    said: dict[str, Any] = {}
    config = home / "config"
    if config.is_file():
        try:
            said = dict(paramiko.SSHConfig.from_path(str(config)).lookup(target.host))
        except (SSHException, OSError, UnicodeDecodeError) as error:
            raise HostError(f"{shown}: {config} cannot be read: {error}") from None
    host = str(said.get("hostname", target.host))
    port = target.port or int(said.get("port", 22))
    named = [identity] if identity else list(said.get("identityfile", ()))
    defaults = [] if named else [str(home / name) for name in DEFAULT_IDENTITIES]
    files = str(said.get("userknownhostsfile", "")).split() or [
        str(home / "known_hosts"),
        str(home / "known_hosts2"),
    ]
    jump = str(said.get("proxyjump", "none"))
    return Endpoint(
        shown=shown,
        host=host,
        port=port,
        user=target.user or str(said.get("user", "")) or getpass.getuser(),
        key_name=entry_name(str(said.get("hostkeyalias", host)), port),
        identities=tuple(Path(name).expanduser() for name in named + defaults),
        known_hosts=(*(Path(name).expanduser() for name in files), *SYSTEM_FILES),
        jumps=() if jump == "none" else tuple(parse_ssh(each) for each in jump.split(",")),
    )


class SshTransport:
    """One connection to one host, with whatever it passes through."""

    def __init__(self, shown: str, connections: list[paramiko.Transport]) -> None:
        self._shown = shown
        self._connections = connections
        """The last is the host's own, those before it are jump hosts."""

    @classmethod
    def connect(cls, host: Host) -> SshTransport:
        """Log in; HostKeyError, HostRefused or HostError with a sentence where it fails."""
        if host.ssh is None:
            raise HostError(f"{host.name} has no `ssh:`")
        connections: list[paramiko.Transport] = []
        try:
            _log_in(host.name, host.ssh, host, connections, 0)
        except BaseException:
            for connection in reversed(connections):
                connection.close()
            raise
        return cls(host.name, connections)

    def start(self, argv: Sequence[str]) -> Process:
        """Run a command; its words are written so that no shell quotes or expands anything."""
        try:
            channel = self._connections[-1].open_session(timeout=LOGIN_S)
            channel.exec_command(" ".join(argv))
        except (SSHException, EOFError, OSError) as error:
            raise HostGone(f"{self._shown}: the SSH connection is gone ({error})") from None
        return SshProcess(channel)

    def sftp(self) -> paramiko.SFTPClient:
        """A client for files; HostError where the host offers none."""
        try:
            client = paramiko.SFTPClient.from_transport(self._connections[-1])
        except (SSHException, EOFError, OSError) as error:
            raise HostError(f"{self._shown}: no SFTP: {error}; is its subsystem on?") from None
        assert client is not None  # noqa: S101  (told to the type checker)
        return client

    def close(self) -> None:
        """End the connection, and those it passes through."""
        for connection in reversed(self._connections):
            connection.close()


class SshProcess:
    """A command on its own channel."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to its standard input."""
        self._channel.sendall(data)

    def read(self) -> bytes:
        """What has come from its standard output; ``b""`` at its end."""
        return self._channel.recv(65536)

    def stderr_tail(self) -> str:
        """The last of what it said on standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """End its input."""
        try:
            self._channel.shutdown_write()
        except (OSError, EOFError):
            return

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` where it still runs, or the connection is gone."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        status = self._channel.recv_exit_status()
        return None if status < 0 else status

    def kill(self) -> None:
        """Close the channel: the program's input ends with it."""
        self._channel.close()
        self._drain.join(1.0)

    def _drain_stderr(self) -> None:
        try:
            while part := self._channel.recv_stderr(4096):
                self._tail.add(part)
        except OSError:
            return


def _log_in(
    shown: str,
    target: SshTarget,
    host: Host | None,
    connections: list[paramiko.Transport],
    depth: int,
) -> None:
    """Append a connection to ``target``, after those of the jump hosts before it."""
    if depth > MAX_JUMPS:
        raise HostError(
            f"{shown}: more than {MAX_JUMPS} jump hosts; does ProxyJump go in a circle?"
        )
    place = endpoint(shown, target, host.identity if host else None)
    before = len(connections)
    for jump in place.jumps:
        _log_in(f"{shown} (jump host {jump.host})", jump, None, connections, depth + 1)
    through = connections[-1] if len(connections) > before else None
    keys = HostKeys(shown, place.key_name, host.host_key if host else None, place.known_hosts)
    connection = _handshake(place, keys, through)
    connections.append(connection)
    _authenticate(place, connection)


def _handshake(
    place: Endpoint, keys: HostKeys, through: paramiko.Transport | None
) -> paramiko.Transport:
    """An encrypted connection to a host whose key is right."""
    for attempt in range(1, TRIES + 1):
        channel = _socket(place, through)
        connection = paramiko.Transport(channel)
        try:
            options = connection.get_security_options()
            options.key_types = keys.algorithms(options.key_types)
            connection.start_client(timeout=LOGIN_S)
            keys.check(connection.get_remote_server_key())
        except IncompatiblePeer as error:
            connection.close()
            raise HostRefused(f"{place.shown}: no common algorithm: {error}") from None
        except (SSHException, EOFError, OSError) as error:
            connection.close()
            if attempt == TRIES:
                raise HostError(
                    f"{place.shown}: {place.host} port {place.port} answers, but not as SSH does: "
                    f"{error or type(error).__name__}"
                ) from None
            # Staggered by the name, so that many hosts behind one server do not come again at once.
            time.sleep(0.2 * attempt + (hash(place.shown) % 100) / 500)
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("every attempt returns or raises")


def _socket(place: Endpoint, through: paramiko.Transport | None) -> Any:
    where = f"{place.host} port {place.port}"
    try:
        if through is not None:
            there = (place.host, place.port)
            return through.open_channel("direct-tcpip", there, ("", 0), timeout=CONNECT_S)
        channel = socket.create_connection((place.host, place.port), timeout=CONNECT_S)
    except socket.gaierror as error:
        raise HostError(
            f"{place.shown}: no address for {place.host!r} ({error.strerror})"
        ) from None
    except TimeoutError:
        raise HostError(f"{place.shown}: {where} did not answer in {CONNECT_S:g} s") from None
    except (OSError, SSHException, EOFError) as error:
        raise HostError(f"{place.shown}: cannot reach {where}: {_words(error)}") from None
    channel.settimeout(None)
    # A request is one small segment: waiting to fill it costs 40 ms and more.
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
    return channel


def _words(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _authenticate(place: Endpoint, connection: paramiko.Transport) -> None:
    """Log in with the agent's keys and the key files; HostRefused where none is taken."""
    tried: list[str] = []
    locked: list[str] = []
    for name, key in _keys(place, locked):
        tried.append(name)
        try:
            if not connection.auth_publickey(place.user, key):
                return
        except BadAuthenticationType as error:
            wanted = ", ".join(error.allowed_types)
            raise HostRefused(f"{place.shown}: it takes no keys, only {wanted}") from None
        except AuthenticationException:
            continue
        except (SSHException, EOFError, OSError) as error:
            raise HostRefused(
                f"{place.shown}: the login as {place.user} broke off: {error}"
            ) from None
    hint = f"; {', '.join(locked)} has a passphrase: add it to ssh-agent" if locked else ""
    keys = ", ".join(tried) if tried else "there was none"
    raise HostRefused(
        f"{place.shown}: {place.user}@{place.host} took no key ({keys}){hint}. "
        "Put your public key there (ssh-copy-id), or name the right one with identity:"
    )


def _keys(place: Endpoint, locked: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
    """The files first where the inventory or the configuration names them, then the agent's."""
    for path in place.identities:
        if not path.is_file():
            continue
        try:
            yield str(path), paramiko.PKey.from_path(str(path))
        except PasswordRequiredException:
            locked.append(str(path))
        except (SSHException, UnknownKeyType, OSError, ValueError, TypeError):
            continue
    agent = paramiko.Agent()
    try:
        for key in agent.get_keys():
            yield f"agent's {key.get_name()}", key
    finally:
        agent.close()
