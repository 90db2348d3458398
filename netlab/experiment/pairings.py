"""Pairings: two systems by their letters (``WL``), or two hosts by name (``nas+laptop``). No I/O.

The server comes first. Each side of a pairing by name is called a role. A role is a host, or a
host in one of its networks: in ``nas+guest@bridge``, the host guest is reached at its test address
in its network ``bridge``. The letters of a pairing mean any hosts with these systems; a name means
only the host of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

SEPARATOR = "+"
AT = "@"

EndName = Literal["server", "client"]
"""The two ends of a pairing."""

_WORD = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"
ROLE = re.compile(rf"(?P<host>{_WORD})(?:{AT}(?P<network>{_WORD}))?", re.ASCII)
LETTERS = re.compile(r"[A-Z]{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Role:
    """One side of a pairing by name."""

    host: str
    network: str | None = None
    """The network in which the host is reached; ``None``: the one that the test's settings name."""

    def __str__(self) -> str:
        return self.host if self.network is None else f"{self.host}{AT}{self.network}"


def is_by_name(pairing: str) -> bool:
    """Whether a pairing names its two hosts."""
    return SEPARATOR in pairing


def named(server: str, client: str) -> str:
    """The pairing of two roles."""
    return f"{server}{SEPARATOR}{client}"


@lru_cache(maxsize=4096)
def role_of(text: str) -> Role:
    """Parse a role; raises ValueError with a message for the user."""
    match = ROLE.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text[:80]!r} is neither a valid name of a host, such as nas, nor HOST@NETWORK"
        )
    return Role(match["host"], match["network"])


def roles_of(pairing: str) -> tuple[Role, Role]:
    """Server and client of a pairing by name; raises ValueError with a message for the user."""
    server, separator, client = pairing.partition(SEPARATOR)
    if not separator:
        raise ValueError(f"{pairing[:80]!r} does not name two hosts, such as nas+laptop")
    return role_of(server), role_of(client)


def labels_of(pairing: str) -> tuple[str, str]:
    """Labels of server and client: their roles, or the letters of their systems."""
    if is_by_name(pairing):
        server, _, client = pairing.partition(SEPARATOR)
        return server, client
    return pairing[:1], pairing[1:]


def every_pairing(
    roles: Sequence[str],
    *,
    machines: Mapping[str, str],
    never_clients: Iterable[str] = (),
    inside: bool = True,
) -> tuple[str, ...]:
    """Each ordered pair of ``roles`` once, by server, then by client, in the order given.

    ``machines`` maps each host to its machine. With ``inside`` the pairs within one machine are
    included, also each role with itself. ``never_clients`` are roles that can only be servers.
    """
    idle = frozenset(never_clients)
    places = [(role, machines[role_of(role).host]) for role in roles]
    clients = [(role, machine) for role, machine in places if role not in idle]
    return tuple(
        [
            named(server, client)
            for server, server_machine in places
            for client, client_machine in clients
            if inside or server_machine != client_machine
        ]
    )
