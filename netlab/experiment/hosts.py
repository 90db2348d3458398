"""The hosts of an inventory, the pairings of a matrix, and the rounds in which these meet.

A pairing by name has two roles: a host, or a host in one of its networks (``guest@bridge``). The
rounds of meetings are those of the circle method (Kirkman, Cambridge and Dublin Math. J. 2, 1847):
for n machines, n even, i and j meet in round i + j modulo n - 1, or in the earliest round in which
their machines and shared links are free. Without shared links there are at most twice as many
rounds as the busiest machine has meetings. Meetings within one machine load it more than others do,
so they have rounds of their own, after all others.
"""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import product
from operator import attrgetter
from typing import Literal, TypeVar

from netlab.errors import UsageError
from netlab.ethernet import IpVersion
from netlab.messages import _

SEPARATOR = "+"
AT = "@"

EndName = Literal["server", "client"]

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
        fault = "is neither a valid name of a host, such as nas, nor HOST@NETWORK"
        raise ValueError(f"{text[:80]!r} {fault}")
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


MOST_IN_TABLES = 8
"""Maximum number of pairings by name that have tables of their own, as pairings of systems have."""


def of_mesh(pairings: Iterable[str]) -> frozenset[str]:
    """The pairings by name, if a report shows them as a mesh: clients by servers.

    They are a mesh if there are at least as many pairs as hosts, as of three hosts with each other,
    or more than ``MOST_IN_TABLES`` pairings. A pair, or a star of few hosts, is none.
    """
    by_name = frozenset(filter(is_by_name, pairings))
    pairs = {frozenset(labels_of(pairing)) for pairing in by_name}
    cables = [pair for pair in pairs if len(pair) > 1]
    has_ring = bool(cables) and len(cables) >= len(frozenset().union(*cables))
    return by_name if has_ring or len(by_name) > MOST_IN_TABLES else frozenset()


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Match:
    """The needs of a measurement between two hosts."""

    pairing: str
    server_machine: str
    client_machine: str
    shares: frozenset[str] = frozenset()
    """Links and switches that no other meeting may use at the same time."""

    @property
    def inside(self) -> bool:
        """Whether both hosts are on one machine, so that no cable is used."""
        return self.server_machine == self.client_machine

    @property
    def needs(self) -> tuple[str | tuple[str, str], ...]:
        """Everything that the meeting occupies: the machines by name, and links and switches as
        ``("share", name)``, each once. A meeting within a machine uses no link.
        """
        if self.inside:
            return (self.server_machine,)
        shares = (("share", name) for name in self.shares)
        return (self.server_machine, self.client_machine, *shares)


def rounds_of(matches: Sequence[Match]) -> tuple[tuple[Match, ...], ...]:
    """Each meeting in exactly one round; the same meetings give the same rounds.

    The two directions of a pair follow each other, so that a slow change of the network affects
    both directions alike. Several meetings of one pairing count separately. 200 hosts, each with
    every other in both directions, take 398 rounds of 100 meetings.
    """
    outside = [match for match in matches if not match.inside]
    inside = [match for match in matches if match.inside]
    needs = attrgetter("needs")
    return (*earliest_fit(_in_circle(outside), needs), *earliest_fit(inside, needs))


def _in_circle(matches: Sequence[Match]) -> list[Match]:
    """The meetings, sorted by round of the circle, then by direction, then in the given order.

    If two machines meet several times in one direction, their second meetings come after all first
    meetings, and so on.
    """
    seats: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for match in matches:
        server_seat = seats.setdefault(match.server_machine, len(seats))
        pairs.append((server_seat, seats.setdefault(match.client_machine, len(seats))))
    # A seat is a machine's number in the circle. If the number of machines is odd, one seat is
    # empty: the machine that would meet the empty seat pauses.
    last = len(seats) - 1 + len(seats) % 2
    times: dict[tuple[int, int], int] = {}
    ranks: list[int] = []
    for pair in pairs:
        server_seat, client_seat = pair
        forward = server_seat < client_seat
        lower, upper = (server_seat, client_seat) if forward else (client_seat, server_seat)
        circle = (2 * lower if upper == last else lower + upper) % max(1, last)
        again = times.get(pair, 0)
        times[pair] = again + 1
        # The server has the lower seat in half of a round's meetings: no host is always the server.
        backward = forward == ((lower + upper) % 2 == 0)
        ranks.append(2 * (again * len(seats) + circle) + backward)
    return [matches[index] for index in sorted(range(len(ranks)), key=ranks.__getitem__)]


def earliest_fit(
    items: Iterable[Item], needs_of: Callable[[Item], Collection[Hashable]]
) -> list[tuple[Item, ...]]:
    """Rounds of items: each item, in order, in the earliest round in which its needs are free."""
    busy: dict[Hashable, int] = {}
    """Need → the rounds in which it is busy: bit n of the number is for round n."""
    rounds: list[list[Item]] = []
    for item in items:
        needs, busy_rounds = needs_of(item), 0
        for need in needs:
            busy_rounds |= busy.get(need, 0)
        free = ~busy_rounds & (busy_rounds + 1)
        for need in needs:
            busy[need] = busy.get(need, 0) | free
        number = free.bit_length() - 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(item)
    return [tuple(round_) for round_ in rounds]


LOOPBACK = ("127.0.0.1", "::1")
OS_NAMES = {"L": "Linux", "W": "Windows", "M": "macOS", "F": "FreeBSD", "X": _("another system")}
"""Letter of a pairing → operating system. No probe runs on X: a host with this letter can only be a
mirror (an echo service), or the server of another tool."""

OS_OF_PROBE = {"linux": "L", "windows": "W", "macos": "M", "freebsd": "F"}
"""Name of a system, as its probe reports it → the system's letter."""

SERVED_PORTS = {"iperf3": 5201, "iperf2": 5001, "netperf": 12865, "nuttcp": 5000}
"""Tools whose servers may run on a host where netlab runs no agent (its probe) → their usual
ports."""


@dataclass(frozen=True, slots=True)
class SshTarget:
    """Where to log in. If a value is ``None``, ~/.ssh/config or SSH's default applies."""

    host: str
    """A host's name or address, or an alias of ~/.ssh/config."""
    user: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """Address and port of a server on a host without an agent, such as iperf3 on a router."""

    address: str
    port: int
    """1 to 65535; the port of the echo service is 7."""


@dataclass(frozen=True, slots=True)
class Mirror(Service):
    """A service that sends back what it receives (RFC 862)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine, or one of its operating systems, that can take part in measurements."""

    name: str
    os: str
    """A letter of ``OS_NAMES``; empty if the system is not known yet."""
    local: bool = False
    ssh: SshTarget | None = None
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a test network → this host's addresses in it, at most one of each IP version."""
    machine: str | None = None
    """Name of the machine that runs this system, if the machine can run another system as well."""
    port_range: tuple[int, int] | None = None
    """First and last of the ports that its firewall admits."""
    host_key: str | None = None
    """Pinned key: ``ssh-ed25519 AAAA…`` or ``SHA256:…``."""
    identity: str | None = None
    """Private key file for the login."""
    mirror: Mirror | None = None
    """Its echo address, for a host without agent and without login."""
    serves: Mapping[str, Service] = field(default_factory=dict)
    """Name of another tool → its server that already runs there, for a host without agent and
    without login."""
    shares: tuple[str, ...] = ()
    """Names of links and switches that its traffic shares with other hosts."""
    site: str | None = None
    """Name of the site whose controllers reach it, for `netlab run --cluster`."""
    only_network: str | None = None
    """The only network in which the host is reached, if its role names one, as in ``nas@lan``."""

    @property
    def machine_name(self) -> str:
        """Name of the machine on which it runs; its own name if the machine has no other system."""
        return self.machine or self.name

    @property
    def ports(self) -> str | None:
        """Its port range in the form that requests and inventories use: ``5001-5100``."""
        return None if self.port_range is None else "{}-{}".format(*self.port_range)

    @property
    def has_agent(self) -> bool:
        """Whether netlab logs in to it and runs an agent there."""
        return self.mirror is None and not self.serves

    @property
    def why_never_client(self) -> str:
        """The end of a sentence about a host without an agent, which cannot be the client."""
        if self.mirror is not None:
            return "is a mirror: it answers, and cannot be the client"
        return "only serves: it runs no agent, and cannot be the client"

    @property
    def service_addresses(self) -> tuple[str, ...]:
        """Addresses of the echo and of the servers of a host without an agent."""
        services = (self.mirror, *self.serves.values())
        return tuple(dict.fromkeys(service.address for service in services if service is not None))

    def address(self, network: str | None, ip_version: int = 4) -> str:
        """The host's test address in ``network``; if ``network`` is ``None``, in its first network.
        UsageError if the host has no such address.

        A host without an agent has only the addresses of its services, whatever the network's name.
        The network that a pairing names (``only_network``) takes precedence over ``network``.
        """
        network = self.only_network or network
        name = network or next(iter(self.addresses), "")
        addresses = self.addresses.get(name, ()) if self.has_agent else self.service_addresses
        for address in addresses:
            if version_of(address) == ip_version:
                return address
        if self.has_agent:
            lacks = f"test address {f'in network {network!r} ' if network else ''}(addresses:)"
            raise UsageError(f"host {self.name} has no IPv{ip_version} {lacks}")
        what, verb = (f"mirror {self.name}", "echoes") if self.mirror else (self.name, "serves")
        raise UsageError(
            f"{what} has no IPv{ip_version} address: it {verb} at {', '.join(addresses)}"
        )


HostPair = tuple[Host, Host]
"""Server and client."""


def address_pairs(
    pair: HostPair, networks: Iterable[str | None], versions: Iterable[int] = (4, 6)
) -> Iterator[tuple[str, str]]:
    """The test addresses of server and client in each network, by IP versions that both have."""
    server, client = pair
    for network, version in product(networks, versions):
        with suppress(UsageError):
            yield server.address(network, version), client.address(network, version)


@cache
def version_of(address: str) -> IpVersion:
    """The IP version of an address: 4 or 6."""
    return 6 if ipaddress.ip_address(address.partition("%")[0]).version == 6 else 4


@dataclass(frozen=True, slots=True)
class Inventory:
    """All hosts, and the named pairs."""

    file: str
    hosts: tuple[Host, ...]
    pairs: Mapping[str, tuple[str, str]]
    """Pairing → names of its server and client."""
    observed: tuple[str, ...] = ()
    """Names of observed hosts, which no pairing of letters uses."""
    _hosts_by_name: Mapping[str, Host] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {host.name: host for host in reversed(self.hosts)}
        object.__setattr__(self, "_hosts_by_name", by_name)

    def observing(self, names: Iterable[str]) -> Inventory:
        """The inventory with observed hosts; UsageError if a host is unknown or has no agent."""
        for name in names:
            if not self.role(name).has_agent:
                what = "is a mirror" if self.role(name).mirror is not None else "only serves"
                raise UsageError(f"{self.file}: observe: {name} {what}, and runs no probe")
        return replace(self, observed=tuple(names))

    def host(self, name: str) -> Host:
        """The host of that name; KeyError if there is none."""
        return self._hosts_by_name[name]

    def candidates(self, pairing: str) -> tuple[HostPair, ...]:
        """Every (server, client) for ``pairing``, the first choice first.

        A named pair has only one choice. For letters, the choices are the servers and clients with
        these systems, in the inventory's order; servers without an agent come after all others.
        Two systems of one machine never measure with each other, a host without an agent is never
        the client, and an observed host is never server or client. A pairing by name means its two
        hosts, which may be on one machine or be the same host.
        """
        server_role, by_name, client_role = pairing.partition(SEPARATOR)
        if by_name:
            server, client = self.role(server_role), self.role(client_role)
            if not client.has_agent:
                return ()
            # A network that the pairing names for one host only is that of both, if both are in it.
            return ((_within(server, client.only_network), _within(client, server.only_network)),)
        if pairing in self.pairs:
            named_server, named_client = self.pairs[pairing]
            return ((self.host(named_server), self.host(named_client)),)
        hosts = [host for host in self.hosts if host.name not in self.observed]
        return tuple(
            (server, client)
            for server in sorted(hosts, key=lambda host: not host.has_agent)
            for client in hosts
            if (server.os + client.os) == pairing
            and server is not client
            and client.has_agent
            and (server.machine is None or server.machine != client.machine)
        )

    def pair(self, pairing: str) -> HostPair:
        """The first choice for ``pairing``: server, client; UsageError if there is none."""
        candidates = self.candidates(pairing)
        if not candidates:
            raise UsageError(f"{self.file}: {self.why_not(pairing)}")
        return candidates[0]

    def role(self, text: str) -> Host:
        """The host that a role (``nas@lan``) names, in that network; UsageError if unknown."""
        if (known := self._hosts_by_name.get(text)) is not None:
            return known
        try:
            role = role_of(text)
            host = self.host(role.host)
        except ValueError as error:
            raise UsageError(f"{self.file}: {error}") from None
        except KeyError:
            names = ", ".join(sorted(host.name for host in self.hosts))
            message = f"no host is called {role.host!r}; there are {names}"
            raise UsageError(f"{self.file}: {message}") from None
        if role.network is None:
            return host
        if not host.has_agent or role.network not in host.addresses:
            names = ", ".join(host.addresses) or "none"
            message = f"host {role.host} has no address in {role.network!r}; its networks: {names}"
            raise UsageError(f"{self.file}: {message}")
        return replace(host, only_network=role.network)

    def every_pairing(self, roles: Iterable[str] | None, *, inside: bool) -> tuple[str, ...]:
        """Each ordered pair of ``roles`` (``None``: all hosts except observed ones), by server,
        then by client, in their order; a host without an agent is never the client.

        UsageError for an unknown host. ``inside``: also the pairs within one machine, including
        each host with itself.
        """
        everyone = [host.name for host in self.hosts if host.name not in self.observed]
        names = everyone if roles is None else list(roles)
        places = [(role, self.role(role)) for role in names]
        clients = [(role, host.machine_name) for role, host in places if host.has_agent]
        return tuple(
            [
                named(server, client)
                for server, host in places
                for client, machine in clients
                if inside or host.machine_name != machine
            ]
        )

    def why_not(self, pairing: str) -> str:
        """Why there are no two hosts for ``pairing``."""
        if is_by_name(pairing):
            client = self.role(str(roles_of(pairing)[1]))
            return f"{client.name} {client.why_never_client}"
        return f"{pairing} needs {self.wanting(pairing)}"

    def wanting(self, pairing: str) -> str:
        """The hosts, such as ``a Windows host``, that a pairing of letters lacks here."""
        server, client = pairing[0], pairing[1]
        usable = [host for host in self.hosts if host.name not in self.observed]
        systems = {host.os for host in usable}
        clients = {host.os for host in usable if host.has_agent}
        lacking = {server} - systems | {client} - clients
        if lacking:
            hosts = " and ".join(_a_host(letter) for letter in OS_NAMES if letter in lacking)
            return f"{hosts} that can be the client" if lacking <= systems else hosts
        if server == client:
            return f"{_a_host(server)} on a second machine"
        return f"{_a_host(server)} and {_a_host(client)} on two machines"

    def needed(self, pairings: Iterable[str]) -> tuple[Host, ...]:
        """The hosts to connect to: the first choice of each pairing, and its possible replacements.

        Replacements are included only if a machine can run several systems: the machine may be
        running another system than the one needed.
        """
        names: set[str] = set()
        for pairing in pairings:
            candidates = self.candidates(pairing)
            several = any(host.machine for pair in candidates for host in pair)
            names |= {it.name for pair in candidates[: None if several else 1] for it in pair}
        return tuple(host for host in self.hosts if host.name in names)


def _within(host: Host, network: str | None) -> Host:
    if host.only_network is None and network in host.addresses:
        return replace(host, only_network=network)
    return host


def _a_host(letter: str) -> str:
    name = "host of another system" if letter == "X" else f"{OS_NAMES[letter]} host"
    return f"a {name}"


def match_of(pairing: str, pair: HostPair) -> Match:
    """A pairing with what its hosts occupy: machines, shared links."""
    server, client = pair
    shares = frozenset(server.shares + client.shares)
    return Match(pairing, server.machine_name, client.machine_name, shares)


def local_os() -> str:
    """The letter of this machine's operating system."""
    return {"win32": "W", "darwin": "M"}.get(sys.platform, "F" if "bsd" in sys.platform else "L")


_TARGET = re.compile(
    r"(?:(?P<user>[^\s:/\[\]]+)@)?"
    r"(?:\[(?P<v6>[0-9a-fA-F:.%a-z]+)\]|(?P<host>[^@\s:/\[\]]+))"
    r"(?::(?P<port>[0-9]{1,5}))?"
)


def parse_ssh(text: str) -> SshTarget:
    """Parse ``user@host:port``, ``user@[2001:db8::1]:22`` or an alias of ~/.ssh/config.

    Raises ValueError with a message for the user.
    """
    match = _TARGET.fullmatch(text)
    host = match and (match["v6"] or match["host"])
    if not match or not host or host.startswith("-"):
        raise ValueError(
            f"{text!r} is neither user@host:port (an IPv6 address in brackets) nor an alias of ssh"
        )
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 1 <= port <= 65535:
        raise ValueError(f"{port} is not a port from 1 to 65535")
    return SshTarget(host=host, user=match["user"], port=port)
