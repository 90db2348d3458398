"""Tries, before a run, whether two hosts reach each other, also over the test cable."""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlab.errors import HostError, ProbeError, UsageError
from netlab.ethernet import IpVersion
from netlab.experiment.hosts import Host, Mirror
from netlab.measurement.conversation import destination
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.host_lock import same_host
from netlab.remote.pending import Pending
from netlab.remote.routes import PACKETS, RouteEnd, check_counters, check_route, interface_of
from netlab.runner.path_mtu import NarrowWay, narrow_ways

CHECK_S = 5.0
"""For three SYNs of TCP (0, 1 and 3 s), and fifty hellos over UDP."""
LAST_WORD_S = 1.0
"""What the listening side may take after the other has ended."""

NOT_THROUGH = frozenset(
    {"no-peer", "connect-timeout", "connect-refused", "unreachable", "peer-vanished", "deadline"}
)
"""Words of a probe that hears nothing from the other; another word is a fault of its own."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A protocol that does not pass between two test addresses."""

    protocol: str
    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Turned:
    """A protocol that passes between two test addresses only where the server connects."""

    protocol: str
    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class MissingAddress:
    """A test address that its host does not have (any more); other pairs of addresses do."""

    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """What one packet of each protocol in each direction showed, and the longest one."""

    blocked: tuple[Blocked, ...]
    warnings: tuple[str, ...]
    turned: tuple[Turned, ...] = ()
    narrow: tuple[NarrowWay, ...] = ()
    missing: tuple[MissingAddress, ...] = ()

    def connected_by(self, server_address: str, client_address: str) -> dict[str, str]:
        """Protocol → ``client`` or ``server``: which side is to connect between two addresses."""
        turned = {
            each.protocol
            for each in self.turned
            if (each.server_address, each.client_address) == (server_address, client_address)
        }
        return {each: "server" if each in turned else "client" for each in PACKETS}


def preflight(server: Agent, client: Agent, pair: tuple[Host, Host] | None = None) -> Preflight:
    """One packet of each protocol each way between all test addresses that two hosts have in
    common: of the same network, and of the same IP version. Then the longest, over UDP. ``pair``
    are the hosts as a pairing sees them, where it names the networks.

    Raises HostError where the traffic would not take the test network, or where no pair of
    addresses is there; an address that is gone stops no cell that takes another.
    """
    faults: list[Blocked | Turned] = []
    narrow: list[NarrowWay] = []
    missing: list[MissingAddress] = []
    unproved: list[tuple[str, str | None, str]] = []
    proved: set[tuple[str, str | None]] = set()
    addresses = common_addresses(*(pair or (server.host, client.host)))
    for there, here in addresses:
        ends = RouteEnd(server, there), RouteEnd(client, here)
        if same_host(server, client):
            faults += _check_both(*ends)
            continue
        try:
            counters = [check_route(end, peer) for end, peer in (ends, ends[::-1])]
        except HostError as error:
            if len(missing) + 1 == len(addresses) or not any(map(_lacks_address, ends)):
                raise
            missing.append(MissingAddress(there, here, str(error)))
            continue
        found = _check_both(*ends)
        faults += found
        passed = set(PACKETS) - {each.protocol for each in found if isinstance(each, Blocked)}
        for (end, peer), before in zip((ends, ends[::-1]), counters, strict=True):
            device = interface_of(before, end.address)
            sentence = check_counters(end, peer, before, passed)
            if sentence is None:
                proved.add((end.name, device))
            else:
                unproved.append((end.name, device, sentence))
        if "UDP" in passed:
            narrow += _narrow_between(*ends, found)
    # Windows may tell the route of one IP version only: the other's address is on the same device.
    warnings = [said for name, device, said in unproved if (name, device) not in proved]
    return Preflight(
        blocked=tuple(each for each in faults if isinstance(each, Blocked)),
        warnings=(*(each.sentence for each in (*faults, *missing, *narrow)), *warnings),
        turned=tuple(each for each in faults if isinstance(each, Turned)),
        narrow=tuple(narrow),
        missing=tuple(missing),
    )


def _lacks_address(end: RouteEnd) -> bool:
    """Whether a host tells its addresses, and the one of a check is not among them."""
    facts = end.agent.facts()
    return "addresses" in facts and interface_of(facts, end.address) is None


def _narrow_between(
    server: RouteEnd, client: RouteEnd, found: list[Blocked | Turned]
) -> tuple[NarrowWay, ...]:
    """The ways between two addresses on which less passes than an interface takes."""
    turned = {each.protocol: "server" for each in found if isinstance(each, Turned)}
    ends = Ends(
        server=server.agent,
        client=client.agent,
        same_host=False,
        connected_by=turned,
        networks={"server": _network_of(server), "client": _network_of(client)},
    )
    return narrow_ways(ends, _version_of(server.address))


def _network_of(end: RouteEnd) -> str:
    """The network by whose name the inventory has an address."""
    named = end.agent.host.addresses
    return next((name for name, listed in named.items() if end.address in listed), "")


def preflight_mirror(client: Agent, mirror: Host) -> Preflight:
    """A few requests of each protocol to a host without an agent: does what comes back arrive?

    Raises HostError where the traffic would not take the client's test network.
    """
    echo = mirror.mirror
    if echo is None:
        raise ValueError(f"{mirror.name} is no mirror")
    version = _version_of(echo.address)
    try:
        end = RouteEnd(client, client.host.address(None, version))
    except UsageError as error:
        return Preflight(blocked=(), warnings=(f"{mirror.name}: {error}",))
    own = is_own_address(client.host, echo.address)
    peer = _Echo(mirror.name, echo.address)
    before = {} if own else check_route(end, peer)
    blocked = []
    for protocol in PACKETS:
        fault = _check_echo(protocol, end, echo)
        if fault is not None:
            sentence = f"{protocol}: {mirror.name} does not echo at port {echo.port} ({fault})"
            blocked.append(Blocked(protocol, echo.address, end.address, sentence))
    passed = set(PACKETS) - {each.protocol for each in blocked}
    unproved = None if own else check_counters(end, peer, before, passed)
    return Preflight(
        blocked=tuple(blocked),
        warnings=(
            *(each.sentence for each in blocked),
            *([] if unproved is None else [unproved]),
        ),
    )


def _version_of(address: str) -> IpVersion:
    return 6 if ipaddress.ip_address(address.partition("%")[0]).version == 6 else 4


def is_own_address(host: Host, address: str) -> bool:
    """Whether traffic to ``address`` never leaves ``host``, as far as its inventory tells."""
    bare = ipaddress.ip_address(address.partition("%")[0])
    own = [each for listed in host.addresses.values() for each in listed]
    return bare.is_loopback or any(
        ipaddress.ip_address(each.partition("%")[0]) == bare for each in own
    )


@dataclass(frozen=True, slots=True)
class _Echo:
    """The far side of a check, where nobody can be asked."""

    name: str
    address: str


def _check_echo(protocol: str, client: RouteEnd, echo: Mirror) -> str | None:
    """Three requests, of which one has to come back; ``None``, or why none does."""
    limit: dict[str, Any] = {"timeout": "0.5"} if protocol == "UDP" else {}
    pending = client.agent.start(
        "ask",
        kind="round_trip",
        proto=protocol.lower(),
        open="connect",
        peer="echo",
        to=destination(echo.address, echo.port),
        bind=client.address,
        message=64,
        count=3,
        deadline=f"{CHECK_S:g}",
        **limit,
    )
    try:
        _first(pending, {"result"}, CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        return fault.word
    return None


def common_addresses(server: Host, client: Host) -> tuple[tuple[str, str], ...]:
    """(server's, client's) test addresses, of the networks that both name and of their first; where
    a pairing says in which network a host is reached, those alone.
    """
    networks: list[str | None] = [None]
    if server.only_network is None and client.only_network is None:
        networks += [name for name in server.addresses if name in client.addresses]
    pairs: dict[tuple[str, str], None] = {}
    for network in networks:
        for version in (4, 6):
            try:
                pair = server.address(network, version), client.address(network, version)
            except UsageError:
                continue
            pairs[pair] = None
    if not pairs:
        raise HostError(
            f"{server.name} and {client.name} have no test addresses of one network and IP version"
        )
    return tuple(pairs)


def _check_both(server: RouteEnd, client: RouteEnd) -> list[Blocked | Turned]:
    faults = {protocol: _check(protocol, server, client) for protocol in PACKETS}
    found: list[Blocked | Turned] = []
    for protocol, fault in faults.items():
        if fault is None:
            continue
        between = protocol, server.address, client.address
        # A firewall that lets nothing in unasked lets answers in to what went out.
        if fault.is_blocked and _check(protocol, client, server) is None:
            sentence = (
                f"{protocol} {client.name}→{server.name} is blocked, and "
                f"{server.name}→{client.name} passes: the server {server.name} connects"
            )
            if protocol == "TCP":
                sentence += "; it now decides about TCP timestamps, and with them about the MSS"
            found.append(Turned(*between, sentence))
            continue
        passing = [other for other, its in faults.items() if its is None]
        also = f", {passing[0]} passes" if passing else ""
        found.append(Blocked(*between, f"{protocol} {fault.sentence}{also}"))
    return found


@dataclass(frozen=True, slots=True)
class _NotThrough:
    """Why a check came to nothing."""

    sentence: str
    is_blocked: bool
    """Packets are lost on the way; else it could not be tried (a port that is taken)."""


def _check(protocol: str, listener: RouteEnd, connector: RouteEnd) -> _NotThrough | None:
    """A hello from the connecting side, and its answer; ``None``, or what does not pass."""
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": secrets.token_hex(16),
        "deadline": f"{CHECK_S:g}",
        "message": 64,
    }
    listening: dict[str, Any] = {"bind": listener.address}
    shown = listener.address
    ports = listener.agent.host.port_range
    if ports is not None:
        listening["port"] = f"{ports[0]}-{ports[1]}"
        # A port that the system chose is another one each time, and says nothing.
        shown += f", ports {listening['port']}"
    waiting = listener.agent.start("receive", open="listen", **listening, **common)
    try:
        ready = _first(waiting, {"ready"}, CHECK_S)
    except ProbeError as fault:
        return _NotThrough(f"cannot be tried: {fault}", is_blocked=False)
    to = destination(listener.address, ready["port"])
    going = connector.agent.start("send", open="connect", to=to, bind=connector.address, **common)
    try:
        _first(going, {"result"}, CHECK_S + LAST_WORD_S)
        _first(waiting, {"result"}, CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        there = f"{connector.name}→{listener.name}"
        back = f"{listener.name}→{connector.name}"
        blocked = fault.word in NOT_THROUGH
        if not blocked:
            result = f"{there} cannot be tried: {fault}"
        elif fault.host == connector.name and protocol == "UDP" and _heard(waiting):
            # The hello came in, and was answered: it is the answer that was lost.
            result = f"{back} is blocked ({connector.address} hears nothing from {shown})"
        else:
            result = (
                f"{there} is blocked ({fault.word}, from {connector.address} to {shown}); "
                f"{_remedy(listener.agent)}"
            )
        listener.agent.start("stop", test=waiting.id, abort=1)
        return _NotThrough(result, blocked)
    return None


def _remedy(agent: Agent) -> str:
    """What lets a test through the firewall of its listening side."""
    if agent.host.os != "W":
        return (
            f"open the ports in the firewall of {agent.host.name}, and name them with `port_range:`"
        )
    return (
        f"allow the probe on {agent.host.name}, as its administrator: "
        "netsh advfirewall firewall add rule name=netlab dir=in action=allow "
        f'program="{agent.probe_path or "PATH OF netprobe.exe"}"'
    )


def _heard(waiting: Pending) -> bool:
    try:
        _first(waiting, {"result"}, LAST_WORD_S)
    except ProbeError:
        return False
    return True


def _first(pending: Pending, kinds: set[str], timeout_s: float) -> Mapping[str, Any]:
    """The first record of these kinds; ProbeError where another word or none comes."""
    give_up = time.monotonic() + timeout_s
    while True:
        record = pending.record(max(0.0, give_up - time.monotonic()))
        if record["type"] in kinds:
            return record
