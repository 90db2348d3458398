"""A way for bytes to a host: TCP, or a channel that a jump host passes on."""

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
"""For each of: a name's addresses, a connection to one of them, a server's first words."""
USER_TIMEOUT_MS = 30_000
"""Data that nobody acknowledges for this long end the connection (RFC 5482)."""
KEEPALIVE_S = 5
"""A connection that is quiet for this long is asked for a sign of life."""

FORBIDDEN = 1
"""SSH_OPEN_ADMINISTRATIVELY_PROHIBITED of RFC 4254."""

Address = tuple[int, int, int, str, Any]
"""As socket.getaddrinfo has it."""


def where(place: Endpoint) -> str:
    """The place's host and port for sentences."""
    return f"{place.host} port {place.port}"


def way_to(place: Endpoint, through: tuple[str, paramiko.Transport] | None, chain: Chain) -> Any:
    """A socket, held by the chain; ConnectionRefusedError, or HostError with a sentence.

    ``through`` is the jump host before it, by its name in sentences.
    """
    if through is not None:
        return _channel(place, *through, chain)
    found = _addresses(place)
    give_up = time.monotonic() + CONNECT_S
    failed: OSError | None = None
    for left, (family, kind, protocol, _, address) in enumerate(found):
        # Each further address has its turn, whatever became of those before.
        share_s = (give_up - time.monotonic()) / (len(found) - left)
        try:
            made = socket.socket(family, kind, protocol)
        except OSError as error:
            # A family that this machine does without, such as IPv6 with ipv6.disable=1.
            failed = failed or error
            continue
        chain.hold(made)
        try:
            _tune(made)
            made.settimeout(max(0.001, share_s))
            made.connect(address)
        except OSError as error:
            chain.drop(made)
            chain.check()
            failed = failed if isinstance(failed, ConnectionRefusedError) else error
        else:
            return made
    raise _not_reached(place, failed or OSError("no address"))


def _not_reached(place: Endpoint, error: OSError) -> OSError | HostError:
    if isinstance(error, ConnectionRefusedError):
        return error
    if isinstance(error, TimeoutError):
        return HostError(f"{place.shown}: {where(place)} did not answer in {CONNECT_S:g} s")
    return HostError(f"{place.shown}: cannot reach {where(place)}: {in_words(error)}")


def _tune(made: socket.socket) -> None:
    """What is asked of the kernel from the first packet on."""
    # A request is one small segment: waiting to fill it costs 40 ms and more.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), KEEPALIVE_S)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)


def _addresses(place: Endpoint) -> list[Address]:
    """Of the place's name, the first to try first; HostError where it has none."""
    try:
        found = in_time(
            lambda: socket.getaddrinfo(place.host, place.port, 0, socket.SOCK_STREAM), CONNECT_S
        )
    except TimeoutError:
        raise HostError(
            f"{place.shown}: nobody says in {CONNECT_S:g} s which address {place.host!r} has"
        ) from None
    except (socket.gaierror, UnicodeError) as error:
        raise HostError(
            f"{place.shown}: no address for {place.host!r} ({in_words(error)})"
        ) from None
    return list(found)


def _channel(place: Endpoint, jump: str, through: paramiko.Transport, chain: Chain) -> Any:
    """A channel of a jump host to the place; HostError with what the jump host says."""
    there = (place.host, place.port)
    try:
        channel = through.open_channel("direct-tcpip", there, ("", 0), timeout=CONNECT_S)
    except ChannelException as error:
        if error.code == FORBIDDEN:
            raise HostRefused(
                f"{place.shown}: {jump} forbids to pass on connections to {where(place)} "
                f"({error.text}): AllowTcpForwarding, DisableForwarding or PermitOpen of its "
                "sshd, or the key's own options there"
            ) from None
        raise HostError(
            f"{place.shown}: {jump} cannot reach {where(place)} ({error.text})"
        ) from None
    except Exception as error:  # whatever its thread died of, paramiko raises here
        chain.check()
        raise HostError(
            f"{place.shown}: {jump} does not pass on to {where(place)}: {in_words(error)}"
        ) from None
    chain.hold(channel)
    return channel
