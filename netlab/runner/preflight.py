"""The check before a run: whether two hosts reach each other over the test network.

An agent is a running probe, the program with which netlab sends and receives on a host.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlab import clock
from netlab.errors import HostError, ProbeError, UsageError
from netlab.ethernet import IpVersion
from netlab.experiment.hosts import Host, Mirror
from netlab.measurement.conversation import destination
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.host_lock import same_host
from netlab.remote.pending import Pending
from netlab.remote.routes import PACKETS, RouteEnd, check_counters, check_route, interface_of
from netlab.runner.path_mtu import NarrowPath, narrow_ways

CHECK_S = 5.0
"""Time limit of a check: enough for three SYNs of TCP (0, 1 and 3 s) and fifty hellos over UDP."""
LAST_WORD_S = 1.0
"""Time for the listening side to end after the connecting side has ended."""

NOT_THROUGH = frozenset(
    {"no-peer", "connect-timeout", "connect-refused", "unreachable", "peer-vanished", "deadline"}
)
"""Errors that a probe reports if nothing arrives from the other probe."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A protocol that does not pass between two test addresses."""

    protocol: str
    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ReversedProtocol:
    """A protocol that passes between two test addresses only if the server connects."""

    protocol: str
    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class MissingAddress:
    """A pair of test addresses that cannot be used, because a host does not have its address."""

    server_address: str
    client_address: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """The result of the check: protocols that do not pass, and paths that drop long packets."""

    blocked: tuple[Blocked, ...]
    warnings: tuple[str, ...]
    turned: tuple[ReversedProtocol, ...] = ()
    narrow: tuple[NarrowPath, ...] = ()
    missing: tuple[MissingAddress, ...] = ()

    def connected_by(self, server_address: str, client_address: str) -> dict[str, str]:
        """Protocol → ``client`` or ``server``: the side that connects between two addresses."""
        protocols = {
            reversal.protocol
            for reversal in self.turned
            if (reversal.server_address, reversal.client_address)
            == (server_address, client_address)
        }
        return {name: "server" if name in protocols else "client" for name in PACKETS}


def preflight(server: Agent, client: Agent, pair: tuple[Host, Host] | None = None) -> Preflight:
    """Check the path between two hosts for each pair of their addresses (``common_addresses``).

    A short message of each protocol goes each way, then the longest packets, over UDP. ``pair``:
    the two hosts, limited to the networks that their pairing names, if it names any.

    Raises HostError if the traffic would not take the test network, or if no pair of addresses
    exists. A missing address does not affect cells that use another address.
    """
    faults: list[Blocked | ReversedProtocol] = []
    narrow: list[NarrowPath] = []
    missing_addresses: list[MissingAddress] = []
    # Interfaces by host and device; ``unproved``: those whose counters do not show the packets.
    unproved: list[tuple[str, str | None, str]] = []
    proved: set[tuple[str, str | None]] = set()
    addresses = common_addresses(*(pair or (server.host, client.host)))
    for server_address, client_address in addresses:
        ends = RouteEnd(server, server_address), RouteEnd(client, client_address)
        if same_host(server, client):
            faults += _check_both(*ends)
            continue
        try:
            counters = [check_route(end, peer) for end, peer in (ends, ends[::-1])]
        except HostError as error:
            if len(missing_addresses) + 1 == len(addresses) or not any(map(_lacks_address, ends)):
                raise
            missing_addresses.append(MissingAddress(server_address, client_address, str(error)))
            continue
        these_faults = _check_both(*ends)
        faults += these_faults
        passed = set(PACKETS) - {
            fault.protocol for fault in these_faults if isinstance(fault, Blocked)
        }
        for (end, peer), facts in zip((ends, ends[::-1]), counters, strict=True):
            device = interface_of(facts, end.address)
            sentence = check_counters(end, peer, facts, passed)
            if sentence is None:
                proved.add((end.name, device))
            else:
                unproved.append((end.name, device, sentence))
        if "UDP" in passed:
            narrow += _narrow_between(*ends, these_faults, counters)
    # Windows may report the route of only one IP version. The counters of this version also prove
    # that the other version uses the test network, if both addresses are on the same device.
    warnings = [sentence for host, device, sentence in unproved if (host, device) not in proved]
    return Preflight(
        blocked=tuple(fault for fault in faults if isinstance(fault, Blocked)),
        warnings=(*(item.sentence for item in (*faults, *missing_addresses, *narrow)), *warnings),
        turned=tuple(fault for fault in faults if isinstance(fault, ReversedProtocol)),
        narrow=tuple(narrow),
        missing=tuple(missing_addresses),
    )


def _lacks_address(end: RouteEnd) -> bool:
    """Whether the host reports its addresses, but the address of this end is not among them."""
    facts = end.agent.facts()
    return "addresses" in facts and interface_of(facts, end.address) is None


def _narrow_between(
    server: RouteEnd,
    client: RouteEnd,
    faults: list[Blocked | ReversedProtocol],
    facts: list[Mapping[str, Any]],
) -> tuple[NarrowPath, ...]:
    """The directions with a path MTU below the sender's interface MTU. ``facts``: of both ends."""
    connectors = {
        fault.protocol: "server" for fault in faults if isinstance(fault, ReversedProtocol)
    }
    ends = Ends(
        server=server.agent,
        client=client.agent,
        same_host=False,
        connected_by=connectors,
        networks={"server": _network_of(server), "client": _network_of(client)},
    )
    return narrow_ways(ends, _version_of(server.address), facts)


def _network_of(end: RouteEnd) -> str:
    """Name of the network of an address in the inventory."""
    networks = end.agent.host.addresses
    return next((name for name, listed in networks.items() if end.address in listed), "")


def preflight_service(client: Agent, server: Host) -> Preflight:
    """Check the path to a host without an agent. If the host runs an echo service, send a few
    requests of each protocol to it and await answers.

    Raises HostError if the traffic would not take the client's test network.
    """
    address = server.service_addresses[0]
    try:
        end = RouteEnd(client, client.host.address(None, _version_of(address)))
    except UsageError as error:
        return Preflight(blocked=(), warnings=(f"{server.name}: {error}",))
    own = is_own_address(client.host, address)
    peer = _Service(server.name, address)
    facts = {} if own else check_route(end, peer)
    echo = server.mirror
    if echo is None:
        return Preflight(blocked=(), warnings=())
    blocked = []
    for protocol in PACKETS:
        fault = _check_echo(protocol, end, echo)
        if fault is not None:
            sentence = f"{protocol}: {server.name} does not echo at port {echo.port} ({fault})"
            blocked.append(Blocked(protocol, echo.address, end.address, sentence))
    passed = set(PACKETS) - {fault.protocol for fault in blocked}
    unproved = None if own else check_counters(end, peer, facts, passed)
    return Preflight(
        blocked=tuple(blocked),
        warnings=(
            *(fault.sentence for fault in blocked),
            *([] if unproved is None else [unproved]),
        ),
    )


def _version_of(address: str) -> IpVersion:
    return 6 if ipaddress.ip_address(address.partition("%")[0]).version == 6 else 4


def is_own_address(host: Host, address: str) -> bool:
    """Whether traffic to ``address`` never leaves ``host``, according to the inventory."""
    bare = ipaddress.ip_address(address.partition("%")[0])
    addresses = [own for listed in host.addresses.values() for own in listed]
    return bare.is_loopback or any(
        ipaddress.ip_address(own.partition("%")[0]) == bare for own in addresses
    )


def ends_without_agent(server: Host, client: Agent) -> Ends:
    """The two ends of a test whose server runs no agent."""
    return Ends(
        server=None,
        client=client,
        same_host=all(is_own_address(client.host, own) for own in server.service_addresses),
        mirror=server.mirror,
        served=server.serves,
        mirror_name=server.name,
    )


@dataclass(frozen=True, slots=True)
class _Service:
    """The answering side of a check, if it has no agent."""

    name: str
    address: str


def _check_echo(protocol: str, client: RouteEnd, echo: Mirror) -> str | None:
    """Send three requests; returns ``None`` if an answer arrives, else the reason."""
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
    """Pairs of (server's, client's) test addresses in the first network of each host, and in each
    network that both hosts name. If the pairing names the network of a host, there are only the
    addresses in this network.
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
            f"{server.name} and {client.name} have no test addresses in the same network and of "
            "the same IP version"
        )
    return tuple(pairs)


def _check_both(server: RouteEnd, client: RouteEnd) -> list[Blocked | ReversedProtocol]:
    """The protocols that do not pass, or pass only if the server connects."""
    faults = {protocol: _check(protocol, server, client) for protocol in PACKETS}
    results: list[Blocked | ReversedProtocol] = []
    for protocol, fault in faults.items():
        if fault is None:
            continue
        between = protocol, server.address, client.address
        # A firewall that blocks incoming connections lets in the answers to outgoing connections.
        if fault.is_blocked and _check(protocol, client, server) is None:
            sentence = (
                f"{protocol} {client.name}→{server.name} is blocked, and "
                f"{server.name}→{client.name} passes: the server {server.name} connects to the "
                "client"
            )
            if protocol == "TCP":
                sentence += ", so the server's system decides about TCP timestamps and the MSS"
            results.append(ReversedProtocol(*between, sentence))
            continue
        passing = [
            other_protocol for other_protocol, its_fault in faults.items() if its_fault is None
        ]
        also = f", {passing[0]} passes" if passing else ""
        results.append(Blocked(*between, f"{protocol} {fault.sentence}{also}"))
    return results


@dataclass(frozen=True, slots=True)
class _CheckFault:
    """Why a check failed."""

    sentence: str
    is_blocked: bool
    """Whether the path loses packets. If false, the check could not run, as with a port in use."""


def _check(protocol: str, listener: RouteEnd, connector: RouteEnd) -> _CheckFault | None:
    """Send a hello from the connecting side and await the answer; ``None`` if both arrive."""
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": secrets.token_hex(16),
        "deadline": f"{CHECK_S:g}",
        "message": 64,
    }
    listen_keys: dict[str, Any] = {"bind": listener.address}
    address_words = listener.address
    ports = listener.agent.host.ports
    if ports is not None:
        listen_keys["port"] = ports
        # A port that the system chose is not named, because it differs each time.
        address_words += f", ports {ports}"
    receive_test = listener.agent.start("receive", open="listen", **listen_keys, **common)
    try:
        ready = _first(receive_test, {"ready"}, CHECK_S)
    except ProbeError as fault:
        return _CheckFault(f"cannot be checked: {fault}", is_blocked=False)
    to = destination(listener.address, ready["port"])
    send_test = connector.agent.start(
        "send", open="connect", to=to, bind=connector.address, **common
    )
    try:
        _first(send_test, {"result"}, CHECK_S + LAST_WORD_S)
        _first(receive_test, {"result"}, CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        way = f"{connector.name}→{listener.name}"
        way_back = f"{listener.name}→{connector.name}"
        blocked = fault.word in NOT_THROUGH
        if not blocked:
            result = f"{way} cannot be checked: {fault}"
        elif fault.host == connector.name and protocol == "UDP" and _has_result(receive_test):
            # The hello arrived and was answered, but the answer was lost.
            result = (
                f"{way_back} is blocked ({connector.address} receives nothing from {address_words})"
            )
        else:
            result = (
                f"{way} is blocked ({fault.word}, from {connector.address} to {address_words}); "
                f"{_remedy(listener.agent)}"
            )
        listener.agent.start("stop", test=receive_test.id, abort=1)
        return _CheckFault(result, blocked)
    return None


def _remedy(agent: Agent) -> str:
    """How a person can let a test through the firewall of its listening side."""
    if agent.host.os != "W":
        return (
            f"open the ports in the firewall of {agent.host.name}, and name them with `port_range:`"
        )
    return (
        f"allow the probe on {agent.host.name}, as its administrator: "
        "netsh advfirewall firewall add rule name=netlab dir=in action=allow "
        f'program="{agent.probe_path or "PATH OF netprobe.exe"}"'
    )


def _has_result(receive_test: Pending) -> bool:
    """Whether the listening side reports that its check passed."""
    try:
        _first(receive_test, {"result"}, LAST_WORD_S)
    except ProbeError:
        return False
    return True


def _first(pending: Pending, kinds: set[str], timeout_s: float) -> Mapping[str, Any]:
    """The first record of these kinds; ProbeError if an error or no record comes in time."""
    give_up = clock.monotonic() + timeout_s
    while True:
        record = pending.record(max(0.0, give_up - clock.monotonic()))
        if record["type"] in kinds:
            return record
