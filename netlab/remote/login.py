"""Logging in: through jump hosts, the host's key checked, with keys and never a password."""

from __future__ import annotations

import base64
import logging
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    IncompatiblePeer,
    PasswordRequiredException,
    SSHException,
)

from netlab.errors import HostError, HostKeyError, HostRefused
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote.host_keys import HostKeys
from netlab.remote.ssh_config import Endpoint, endpoint

CONNECT_S = 10.0
LOGIN_S = 20.0
USER_TIMEOUT_MS = 30_000
"""Data that nobody acknowledges for this long end the connection (RFC 5482)."""
TRIES = 8
"""A server with many logins at once drops some (MaxStartups of sshd_config(5))."""
REFUSED_TRIES = 2
"""A port at which nobody listens is asked once more: its server may be restarting."""
STAGGER_S = 0.25
MAX_JUMPS = 8
LOGINS_AT_ONCE = threading.BoundedSemaphore(4)
"""More key exchanges at a time only make each slower, and sshd's MaxStartups is 10."""

# Its errors come back as exceptions, and are said in our words: nothing goes to standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def log_in(
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
        log_in(f"{shown} (jump host {jump.host})", jump, None, connections, depth + 1)
    through = connections[-1] if len(connections) > before else None
    keys = HostKeys(shown, place.key_names, host.host_key if host else None, place.known_hosts)
    connections.append(_try_to_log_in(place, keys, through))


class _Dropped(Exception):
    """The server closed the connection before it spoke SSH with us."""


def _try_to_log_in(
    place: Endpoint, keys: HostKeys, through: paramiko.Transport | None
) -> paramiko.Transport:
    """A connection to a host whose key is right, logged in; what was dropped is tried again."""
    wrong: set[str] = set()
    attempt = 0
    while True:
        attempt += 1
        try:
            with LOGINS_AT_ONCE:
                connection = _handshake(place, keys, through, wrong)
                try:
                    _authenticate(place, connection)
                except BaseException:
                    connection.close()
                    raise
                return connection
        except ConnectionRefusedError:
            if attempt >= REFUSED_TRIES:
                raise HostError(
                    f"{place.shown}: nobody listens at {_where(place)} (connection refused)"
                ) from None
        except _Dropped as error:
            if attempt >= TRIES:
                raise HostError(
                    f"{place.shown}: {_where(place)} answers, but not as SSH does: {error}"
                ) from None
        # At random, so that many hosts behind one server do not come again at once.
        time.sleep(random.uniform(0.2, 1.0) * STAGGER_S * 1.5**attempt)  # noqa: S311


class _Connection(paramiko.Transport):
    """Remembers what the server offered, for a sentence about what we do not have in common."""

    offered: dict[str, list[str]]

    def _really_parse_kex_init(self, m: Any, ignore_first_byte: bool = False) -> Any:
        parsed = super()._really_parse_kex_init(m, ignore_first_byte)  # type: ignore[misc]
        self.offered = parsed
        return parsed


def _handshake(
    place: Endpoint, keys: HostKeys, through: paramiko.Transport | None, wrong: set[str]
) -> paramiko.Transport:
    """An encrypted connection to a host whose key is right.

    ``wrong`` collects the kinds of keys that are not the one whose fingerprint is pinned: the host
    may have another.
    """
    first_refusal: HostKeyError | None = None
    while True:
        began = time.monotonic()
        connection = _Connection(_socket(place, through))
        connection.banner_timeout = CONNECT_S
        key: paramiko.PKey | None = None
        try:
            options = connection.get_security_options()
            options.key_types = keys.algorithms(options.key_types, without=wrong)
            connection.start_client(timeout=LOGIN_S)
            key = connection.get_remote_server_key()
            keys.check(key)
        except HostKeyError as error:
            connection.close()
            first_refusal = first_refusal or error
            if key is None or not keys.pinned_by_fingerprint:
                raise
            wrong.add(key.get_name())
        except IncompatiblePeer as error:
            connection.close()
            if first_refusal is not None:
                raise first_refusal from None
            raise HostRefused(_nothing_in_common(place, connection, error)) from None
        except (SSHException, EOFError, OSError) as error:
            connection.close()
            if time.monotonic() - began >= CONNECT_S:
                raise HostError(
                    f"{place.shown}: {_where(place)} accepts the connection, and then says nothing "
                    f"of SSH for {CONNECT_S:g} s"
                ) from None
            raise _Dropped(str(error) or type(error).__name__) from None
        except BaseException:
            connection.close()
            raise
        else:
            return connection


_LISTS = (
    ("kex algorithm", "kex_algo_list", "kex"),
    ("host key", "server_key_algo_list", "key_types"),
    ("ciphers", "client_encrypt_algo_list", "ciphers"),
    ("macs", "client_mac_algo_list", "digests"),
)
"""A word of paramiko's complaint, the server's list, and ours."""


def _nothing_in_common(place: Endpoint, connection: _Connection, error: IncompatiblePeer) -> str:
    for word, theirs, ours in _LISTS:
        if word in str(error):
            offers = ", ".join(getattr(connection, "offered", {}).get(theirs, ())) or "none"
            wanted = ", ".join(getattr(connection.get_security_options(), ours))
            return (
                f"{place.shown}: {_where(place)} offers no {word} that netlab takes: it has "
                f"{offers}; wanted is one of {wanted}"
            )
    return f"{place.shown}: {_where(place)}: {error}"


def _where(place: Endpoint) -> str:
    return f"{place.host} port {place.port}"


def _socket(place: Endpoint, through: paramiko.Transport | None) -> Any:
    """A way for bytes; ConnectionRefusedError, or HostError with a sentence."""
    where = _where(place)
    try:
        if through is not None:
            there = (place.host, place.port)
            return through.open_channel("direct-tcpip", there, ("", 0), timeout=CONNECT_S)
        channel = socket.create_connection((place.host, place.port), timeout=CONNECT_S)
    except ConnectionRefusedError:
        raise
    except socket.gaierror as error:
        raise HostError(
            f"{place.shown}: no address for {place.host!r} ({error.strerror})"
        ) from None
    except TimeoutError:
        raise HostError(f"{place.shown}: {where} did not answer in {CONNECT_S:g} s") from None
    except (OSError, SSHException, EOFError) as error:
        raise HostError(f"{place.shown}: cannot reach {where}: {_words(error)}") from None
    # A request is one small segment: waiting to fill it costs 40 ms and more.
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
    return channel


def _words(error: BaseException) -> str:
    """The system's words, or those of the exception."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _authenticate(place: Endpoint, connection: paramiko.Transport) -> None:
    """Log in with the agent's keys and the key files; HostRefused where none is taken."""
    tried: list[str] = []
    hints: list[str] = []
    for name, key in _keys(place, hints):
        tried.append(name)
        try:
            if not connection.auth_publickey(place.user, key):
                return
            hints.append("it wants more than a key")
            break
        except BadAuthenticationType as error:
            wanted = ", ".join(error.allowed_types)
            raise HostRefused(f"{place.shown}: it takes no keys, only {wanted}") from None
        except AuthenticationException:
            continue
        except (SSHException, EOFError, OSError) as error:
            hints.append(f"it broke off ({error or type(error).__name__}), after too many keys?")
            break
    raise HostRefused(
        f"{place.shown}: {place.user}@{place.host} took no key; "
        f"tried: {', '.join(tried) or 'none, there is none'}{''.join('; ' + h for h in hints)}. "
        "Put your public key there (ssh-copy-id), or name the right one with `identity:`"
    )


def _keys(place: Endpoint, hints: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
    """Keys to try, each once, as OpenSSH does: named files, the agent's, then default files.

    The agent's key is taken in place of a file that it holds, since a file may have a passphrase.
    """
    agent = paramiko.Agent()
    try:
        held = {key.asbytes(): key for key in agent.get_keys()}
        done: set[bytes] = set()
        files = [(path, _public(path)) for path in place.identities if path.is_file()]
        if place.named:
            hints += [f"there is no {path}" for path in place.identities if not path.is_file()]
            yield from _of_files(files, held, done, hints)
        if not place.only_named:
            for blob, key in held.items():
                if blob not in done:
                    done.add(blob)
                    yield f"{key.get_name()} of the agent", key
        if not place.named:
            yield from _of_files(files, held, done, hints)
    finally:
        agent.close()


def _of_files(
    files: list[tuple[Path, bytes | None]],
    held: dict[bytes, paramiko.AgentKey],
    done: set[bytes],
    hints: list[str],
) -> Iterator[tuple[str, paramiko.PKey]]:
    for path, public in files:
        key: paramiko.PKey
        try:
            if public is not None and public in held:
                key = held[public]
            else:
                key = paramiko.PKey.from_path(str(path))
        except (PasswordRequiredException, TypeError):
            # TypeError is what the cryptography package says to a missing passphrase.
            hints.append(f"{path} has a passphrase: add it to ssh-agent")
            continue
        except (SSHException, paramiko.pkey.UnknownKeyType, OSError, ValueError) as error:
            hints.append(f"{path} cannot be read: {error}")
            continue
        if key.asbytes() not in done:
            done.add(key.asbytes())
            yield str(path), key


def _public(path: Path) -> bytes | None:
    """The public half that lies beside a key file."""
    try:
        words = path.with_name(path.name + ".pub").read_text(encoding="utf-8").split()
        return base64.b64decode(words[1], validate=True)
    except (OSError, ValueError, IndexError):
        return None
