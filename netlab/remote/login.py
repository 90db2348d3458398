"""SSH login through jump hosts: checks the host's key; uses the user's keys, never a password."""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import paramiko
from paramiko.packet import Packetizer
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    ChannelException,
    IncompatiblePeer,
    PartialAuthentication,
)

from netlab.build.binaries import OnEvent
from netlab.errors import HostError, HostKeyError, HostRefused
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import keys
from netlab.remote.keys import AgentSilent, Chain, Endpoint, KeyAgent, in_time, in_words
from netlab.terminal import excerpt

CONNECT_S = 10.0
"""Time limit for each of: the lookup of a name, a TCP connection, a server's SSH greeting."""
USER_TIMEOUT_MS = 30_000
"""If sent data are not acknowledged for this long, the connection ends (RFC 5482)."""
KEEPALIVE_S = 5
_TCP_OPTIONS = {
    "TCP_KEEPIDLE": KEEPALIVE_S,
    "TCP_KEEPINTVL": KEEPALIVE_S,
    "TCP_USER_TIMEOUT": USER_TIMEOUT_MS,
}

FORBIDDEN = 1
"""SSH_OPEN_ADMINISTRATIVELY_PROHIBITED of RFC 4254."""

Address = tuple[int, int, int, str, Any]


def where(place: Endpoint) -> str:
    """The place's host and port for sentences."""
    return f"{place.host} port {place.port}"


def way_to(place: Endpoint, through: tuple[str, paramiko.Transport] | None, chain: Chain) -> Any:
    """Open a socket or channel and register it with the chain.

    ``through``: name (for messages) and connection of the last jump host on the way to the place.
    Raises ConnectionRefusedError, or HostError with a sentence.
    """
    if through is not None:
        return _channel(place, *through, chain)
    addresses = _addresses(place)
    give_up = time.monotonic() + CONNECT_S
    cause: OSError | None = None
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        # The time that is left is divided among the remaining addresses, so that each is tried.
        share_s = (give_up - time.monotonic()) / (len(addresses) - number)
        try:
            connection = socket.socket(family, kind, protocol)
        except OSError as error:
            # This machine may lack an address family, such as IPv6 with ipv6.disable=1.
            cause = cause or error
            continue
        chain.add(connection)
        try:
            # A request is one small segment: Nagle's algorithm would delay it by 40 ms and more.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _TCP_OPTIONS.items():
                if hasattr(socket, name):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
            connection.settimeout(max(0.001, share_s))
            connection.connect(address)
        except OSError as error:
            chain.drop(connection)
            chain.check()
            if not isinstance(cause, ConnectionRefusedError):
                cause = error
        else:
            return connection
    if isinstance(cause, ConnectionRefusedError):
        raise cause
    if isinstance(cause, TimeoutError):
        raise HostError(f"{place.shown}: {where(place)} did not answer in {CONNECT_S:g} s")
    why = in_words(cause or OSError("no address"))
    raise HostError(f"{place.shown}: cannot reach {where(place)}: {why}")


def _addresses(place: Endpoint) -> list[Address]:
    """The addresses of the place's name in the order to try; HostError if there are none."""
    try:
        addresses = in_time(
            lambda: socket.getaddrinfo(place.host, place.port, 0, socket.SOCK_STREAM), CONNECT_S
        )
    except TimeoutError:
        fault = f"{place.shown}: the address of {place.host!r} was not found in {CONNECT_S:g} s"
    except (socket.gaierror, UnicodeError) as error:
        fault = f"{place.shown}: no address for {place.host!r} ({in_words(error)})"
    else:
        return list(addresses)
    raise HostError(fault)


def _channel(place: Endpoint, jump: str, through: paramiko.Transport, chain: Chain) -> Any:
    """A channel of a jump host to the place; HostError with the jump host's reason."""
    address = (place.host, place.port)
    try:
        channel = through.open_channel("direct-tcpip", address, ("", 0), timeout=CONNECT_S)
    except ChannelException as error:
        if error.code == FORBIDDEN:
            raise HostRefused(
                f"{place.shown}: {jump} does not allow forwarding to {where(place)} "
                f"({error.text}): check AllowTcpForwarding, DisableForwarding and PermitOpen of "
                "its sshd, and the options of your key in its authorized_keys"
            ) from None
        fault = f"{place.shown}: {jump} cannot reach {where(place)} ({error.text})"
        raise HostError(fault) from None
    except Exception as error:  # any error of paramiko's thread arrives here
        chain.check()
        cause = in_words(error)
        fault = f"{place.shown}: {jump} does not forward to {where(place)}: {cause}"
        raise HostError(fault) from None
    chain.add(channel)
    return channel


LOGIN_S = 20.0
"""Time limit of a key exchange."""
AUTH_S = 30.0
"""Time for a server to accept or refuse a key."""
FILES_S = 10.0
"""Time to read each of ~/.ssh/config, known_hosts and the key files: a network drive might never
answer."""
SAY_S = 3.0
"""If ssh-agent takes longer than this, a message says what netlab waits for."""
POLL_S = 0.1
TRIES = 8
"""Number of tries: a server with many logins at once drops some (MaxStartups of sshd_config(5))."""
REFUSED_TRIES = 2
"""Number of tries at a port that refuses the connection: its server may be restarting."""
STAGGER_S = 0.25
MAX_JUMPS = 8
OFFER_CHARACTERS = 500
LOGINS_AT_ONCE = threading.BoundedSemaphore(4)
"""Limit of logins at a time: with more, each becomes slower, and sshd's MaxStartups is 10."""

T = TypeVar("T")

# netlab itself reports paramiko's exceptions, so paramiko must not log to standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def log_in(
    host_label: str,
    target: SshTarget,
    host: Host | None,
    chain: Chain,
    on_event: OnEvent = None,
    jump_host: tuple[str, paramiko.Transport] | None = None,
    depth: int = 0,
) -> None:
    """Append a connection to ``target`` to the chain, after the connections to its jump hosts.

    ``jump_host``: name (for messages) and connection of the jump host to pass through. It overrides
    ~/.ssh/config, because each host of a ProxyJump is reached through the host before it.

    Raises HostKeyError, HostRefused or HostError with a sentence; HostGone if the chain is closed
    meanwhile. ``on_event`` gets messages about slow steps.
    """
    if depth > MAX_JUMPS:
        raise HostError(
            f"{host_label}: more than {MAX_JUMPS} jump hosts; does ProxyJump go in a circle?"
        )
    identity, host_key = (host.identity, host.host_key) if host else (None, None)
    place = _read(host_label, "~/.ssh/config", lambda: keys.endpoint(host_label, target, identity))
    hop = jump_host
    for jump in place.jumps if jump_host is None else ():
        name = f"jump host {jump.host}"
        log_in(f"{host_label} ({name})", jump, None, chain, on_event, hop, depth + 1)
        hop = (f"the {name}", chain.connections[-1])
    host_keys = _read(
        host_label,
        "known_hosts",
        lambda: keys.HostKeys(host_label, place.key_names, host_key, place.known_hosts),
    )
    # Read the keys before the login takes one of the few slots, so that reading delays no other
    # host.
    files = _read(
        host_label, "its key files", lambda: [keys.KeyFile.read(path) for path in place.identities]
    )
    chain.connections.append(_Login(place, host_keys, files, hop, chain, on_event).connection())


def _read(host_label: str, source: str, work: Callable[[], T]) -> T:
    try:
        return in_time(work, FILES_S)
    except TimeoutError:
        raise HostError(
            f"{host_label}: {source} could not be read in {FILES_S:g} s; does a network drive "
            "not answer?"
        ) from None


class _Dropped(Exception):
    """The server closed the connection before it sent an SSH greeting."""


class _Handshake(Packetizer):
    """Paramiko's packetizer without the timer thread of a key exchange: the program would have to
    wait for the end of this thread.
    """

    _give_up: float | None = None

    def start_handshake(self, timeout: float) -> None:
        """Start the time limit."""
        self._give_up = self._give_up or time.monotonic() + timeout

    def handshake_timed_out(self) -> bool:
        """Whether the exchange took too long."""
        return self._give_up is not None and time.monotonic() > self._give_up

    def complete_handshake(self) -> None:
        """End the time limit."""
        self._give_up = float("inf")


class _Connection(paramiko.Transport):
    """Paramiko's transport, which keeps the server's algorithms and never prints a traceback."""

    offered: dict[str, list[str]]
    _channels: Any

    def _really_parse_kex_init(self, m: Any, ignore_first_byte: bool = False) -> Any:
        fields = super()._really_parse_kex_init(m, ignore_first_byte)  # type: ignore[misc]
        self.offered = fields
        return fields

    def run(self) -> None:
        """Run paramiko's thread; catch errors that paramiko does not catch."""
        try:
            super().run()
        except Exception as error:  # such as a system error without a number
            self.saved_exception = self.saved_exception or error
            self.active = False
            self.packetizer.close()
            for channel in list(self._channels.values()):
                channel._unlink()


@dataclass(slots=True)
class _Login:
    """The login at one host; each wait has a time limit and ends when the chain is closed."""

    place: Endpoint
    host_keys: keys.HostKeys
    files: Sequence[keys.KeyFile]
    through: tuple[str, paramiko.Transport] | None
    chain: Chain
    on_event: OnEvent
    wrong: set[str] = field(default_factory=set)
    """Kinds of host keys that do not match the pinned fingerprint: another kind may match."""

    def connection(self) -> paramiko.Transport:
        """A connection that is logged in; a dropped login is tried again."""
        host_label, address = self.place.shown, where(self.place)
        attempt = 0
        while True:
            attempt += 1
            try:
                with LOGINS_AT_ONCE:
                    self.chain.check()
                    return self._logged_in(self._handshake())
            except ConnectionRefusedError:
                if attempt >= REFUSED_TRIES:
                    raise HostError(
                        f"{host_label}: nobody listens at {address} (connection refused)"
                    ) from None
            except _Dropped as error:
                self.chain.check()
                if attempt >= TRIES:
                    raise HostError(
                        f"{host_label}: {address} answers, but does not speak SSH: {error}"
                    ) from None
            # A random pause, so that many logins at one server do not retry at the same time.
            self.chain.pause(random.uniform(0.2, 1.0) * STAGGER_S * 1.5**attempt)  # noqa: S311

    def _handshake(self) -> _Connection:
        """An encrypted connection to a host whose key is checked."""
        first_refusal: HostKeyError | None = None
        while True:
            connection, key = self._exchange(first_refusal)
            try:
                self.host_keys.check(key)
            except HostKeyError as error:
                self.chain.drop(connection)
                if not self.host_keys.pinned_by_fingerprint:
                    raise
                first_refusal = first_refusal or error
                self.wrong.add(key.get_name())
            else:
                return connection

    def _exchange(self, first_refusal: HostKeyError | None) -> tuple[_Connection, paramiko.PKey]:
        """A connection after the key exchange, and the host's key, which is not checked yet."""
        way = way_to(self.place, self.through, self.chain)
        began = time.monotonic()
        connection = _Connection(way, packetizer_class=_Handshake)
        self.chain.add(connection)
        connection.banner_timeout = CONNECT_S
        connection.handshake_timeout = LOGIN_S
        # Every server ignores this message (SSH_MSG_IGNORE) after the first key exchange.
        connection.packetizer.set_keepalive(KEEPALIVE_S, connection.send_ignore)
        try:
            options = connection.get_security_options()
            options.key_types = self.host_keys.algorithms(options.key_types, without=self.wrong)
            connection.start_client(timeout=LOGIN_S)
            return connection, connection.get_remote_server_key()
        except Exception as error:  # a server can make paramiko raise nearly anything
            self.chain.drop(connection)
            self.chain.drop(way)
            if not isinstance(error, IncompatiblePeer):
                raise self._no_ssh(connection, error, time.monotonic() - began) from None
            if first_refusal is not None:
                raise first_refusal from None
            raise HostRefused(_nothing_in_common(self.place, connection, error)) from None

    def _no_ssh(self, connection: _Connection, error: Exception, took_s: float) -> Exception:
        self.chain.check()
        subject = f"{self.place.shown}: {where(self.place)}"
        greeting = connection.remote_version
        if took_s >= CONNECT_S and not greeting:
            return HostError(
                f"{subject} accepts the connection, but sends no SSH greeting for {CONNECT_S:g} s"
            )
        if took_s >= LOGIN_S:
            return HostError(
                f"{subject} sends an SSH greeting ({greeting!r}), but exchanges no keys in "
                f"{LOGIN_S:g} s"
            )
        return _Dropped(in_words(error))

    def _logged_in(self, connection: _Connection) -> paramiko.Transport:
        """Log in with the agent's keys and the key files; HostRefused if none is accepted."""
        place = self.place
        key_names: list[str] = []
        user_keys = keys.UserKeys(place, self.files, self.chain)
        hints = user_keys.hints
        try:
            for name, key in user_keys:
                key_names.append(name)
                try:
                    self._offer(connection, key, user_keys.agent)
                    return connection
                except PartialAuthentication:
                    hints.append("it requires more than a key")
                    break
                except BadAuthenticationType as error:
                    methods = excerpt(", ".join(error.allowed_types))
                    fault = f"{place.shown}: it accepts no keys, only {methods}"
                    raise HostRefused(fault) from None
                except AuthenticationException:
                    continue
                except HostError:
                    raise
                except Exception as error:  # as in `_exchange`
                    self.chain.check()
                    cause = connection.get_exception() or error
                    many = ", after too many keys?" if len(key_names) > 1 else ""
                    # The server may restart or the network may fail: the key was not refused.
                    if isinstance(cause, EOFError | OSError):
                        why = f" ({in_words(cause)})" if str(cause) else ""
                        raise HostError(
                            f"{place.shown}: {where(place)} ended the connection during the login "
                            f"as {place.user}{why}{many}"
                        ) from None
                    hints.append(f"it ended the login ({in_words(cause)}){many}")
                    break
        except BaseException:
            self.chain.drop(connection)
            raise
        finally:
            user_keys.agent.close()
        self.chain.drop(connection)
        self.chain.check()
        raise HostRefused(
            f"{place.shown}: {place.user}@{place.host} accepted no key; "
            f"tried: {', '.join(key_names) or 'none, since no key was found'}"
            f"{''.join('; ' + h for h in hints)}."
            " Put your public key there (ssh-copy-id), or name the right key with `identity:`"
        )

    def _offer(self, connection: _Connection, key: paramiko.PKey, agent: KeyAgent) -> None:
        """Log in with one key; raises paramiko's error for a refusal, or HostError with a sentence.

        ssh-agent and the server may be slow one after the other; each has its own time limit.
        """
        place = self.place
        answered = threading.Event()
        connection.auth_publickey(place.user, key, answered)
        began = time.monotonic()
        has_notified = False
        while not answered.wait(POLL_S) and connection.is_active():
            now, asked_at = time.monotonic(), agent.asked_at
            if asked_at is None:
                if now - began > AUTH_S:
                    raise HostError(
                        f"{place.shown}: {where(place)} did not answer the login as {place.user} "
                        f"in {AUTH_S:g} s; its PAM, directory service or DNS may be slow"
                    )
                continue
            began = now
            if now - asked_at > SAY_S and not has_notified and self.on_event is not None:
                has_notified = True
                self.on_event(
                    f"{place.shown}: ssh-agent has not signed yet; its key may wait for a touch, "
                    f"or for an answer to a dialog ({keys.TOUCH_S:g} s at most)"
                )
            if now - asked_at > keys.TOUCH_S:
                raise _not_signed(place)
        if not connection.is_authenticated():
            error = connection.get_exception()
            self.chain.check()
            if isinstance(error, AgentSilent):
                raise _not_signed(place)
            raise error or AuthenticationException("refused")


def _not_signed(place: Endpoint) -> HostError:
    return HostError(
        f"{place.shown}: ssh-agent did not sign the login in {keys.TOUCH_S:g} s; "
        "does its key wait for a touch, or for a dialog? Answer it, or name another key "
        "with `identity:`"
    )


_LISTS = (
    ("kex algorithm", "kex_algo_list", "kex"),
    ("host key", "server_key_algo_list", "key_types"),
    ("ciphers", "client_encrypt_algo_list", "ciphers"),
    ("macs", "client_mac_algo_list", "digests"),
)
"""Word in paramiko's error message, name of the server's list, name of netlab's list."""


def _nothing_in_common(place: Endpoint, connection: _Connection, error: IncompatiblePeer) -> str:
    for word, theirs, ours in _LISTS:
        if word in str(error):
            names = getattr(connection, "offered", {}).get(theirs, ())
            offers = excerpt(", ".join(names) or "none", OFFER_CHARACTERS)
            own_algorithms = ", ".join(getattr(connection.get_security_options(), ours))
            return (
                f"{place.shown}: {where(place)} offers no {word} that netlab supports: it has "
                f"{offers}; netlab supports {own_algorithms}"
            )
    return f"{place.shown}: {where(place)}: {in_words(error)}"
