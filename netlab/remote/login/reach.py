"""The byte stream to a host: a TCP connection, or a channel that a jump host forwards."""

from __future__ import annotations

import socket
import time
from typing import Any

import paramiko
from paramiko.ssh_exception import ChannelException

from netlab.errors import HostError, HostRefused
from netlab.remote.login.chain import Chain, in_words
from netlab.remote.login.in_time import in_time
from netlab.remote.login.ssh_config import Endpoint

CONNECT_S = 10.0
"""Time limit for each of: the lookup of a name, a TCP connection, a server's SSH greeting."""
USER_TIMEOUT_MS = 30_000
"""If sent data are not acknowledged for this long, the connection ends (RFC 5482)."""
KEEPALIVE_S = 5
"""A keep-alive is sent after the connection was idle for this long."""

FORBIDDEN = 1
"""SSH_OPEN_ADMINISTRATIVELY_PROHIBITED of RFC 4254."""

Address = tuple[int, int, int, str, Any]
"""An address as socket.getaddrinfo returns it."""


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
        chain.hold(connection)
        try:
            _tune(connection)
            connection.settimeout(max(0.001, share_s))
            connection.connect(address)
        except OSError as error:
            chain.drop(connection)
            chain.check()
            if not isinstance(cause, ConnectionRefusedError):
                cause = error
        else:
            return connection
    raise _not_reached(place, cause or OSError("no address"))


def _not_reached(place: Endpoint, error: OSError) -> OSError | HostError:
    if isinstance(error, ConnectionRefusedError):
        return error
    if isinstance(error, TimeoutError):
        return HostError(f"{place.shown}: {where(place)} did not answer in {CONNECT_S:g} s")
    return HostError(f"{place.shown}: cannot reach {where(place)}: {in_words(error)}")


def _tune(connection: socket.socket) -> None:
    """Set the options of a socket before it connects."""
    # A request is one small segment: Nagle's algorithm would delay it by 40 ms and more.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), KEEPALIVE_S)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)


def _addresses(place: Endpoint) -> list[Address]:
    """The addresses of the place's name in the order to try; HostError if there are none."""
    try:
        addresses = in_time(
            lambda: socket.getaddrinfo(place.host, place.port, 0, socket.SOCK_STREAM), CONNECT_S
        )
    except TimeoutError:
        raise HostError(
            f"{place.shown}: the address of {place.host!r} was not found in {CONNECT_S:g} s"
        ) from None
    except (socket.gaierror, UnicodeError) as error:
        raise HostError(
            f"{place.shown}: no address for {place.host!r} ({in_words(error)})"
        ) from None
    return list(addresses)


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
        raise HostError(
            f"{place.shown}: {jump} cannot reach {where(place)} ({error.text})"
        ) from None
    except Exception as error:  # any error of paramiko's thread arrives here
        chain.check()
        raise HostError(
            f"{place.shown}: {jump} does not forward to {where(place)}: {in_words(error)}"
        ) from None
    chain.hold(channel)
    return channel
