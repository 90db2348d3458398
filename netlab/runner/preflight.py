"""The check before a run: whether two hosts reach each other, and the path MTU between them."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from netlab import clock
from netlab.errors import HostError, ProbeError, UsageError
from netlab.experiment.hosts import Host, Mirror, address_pairs, version_of
from netlab.measurement.conversation import destination
from netlab.measurement.ends import Ends
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.answers import Pending

if TYPE_CHECKING:
    from netlab.measurement.path_mtu import NarrowPath

CHECK_S = 5.0
"""Time limit of a check: enough for three SYNs of TCP (0, 1 and 3 s) and fifty hellos over UDP."""
LAST_WORD_S = 1.0
"""Time for the listening side to end after the connecting side has ended."""

NOT_THROUGH = frozenset(
    {"no-peer", "connect-timeout", "connect-refused", "unreachable", "peer-vanished", "deadline"}
)
"""Errors that a probe reports if nothing arrives from the other probe."""


@dataclass(frozen=True, slots=True)
class PathFault:
    """A fault between two test addresses."""

    protocol: str
    """Empty if a host does not have its address, so that no protocol passes."""
    server_address: str
    client_address: str
    sentence: str
    is_turned: bool = False
    """Whether the protocol passes if the server connects."""

    @property
    def addresses(self) -> tuple[str, str]:
        """The server's and the client's address."""
        return self.server_address, self.client_address


@dataclass(frozen=True, slots=True)
class Preflight:
    """The result of the check: protocols that do not pass, and paths that drop long packets."""

    blocked: tuple[PathFault, ...]
    warnings: tuple[str, ...]
    turned: tuple[PathFault, ...] = ()
    """Protocols that pass only if the server connects."""
    narrow: tuple[NarrowPath, ...] = ()
    missing: tuple[PathFault, ...] = ()
    """Pairs of addresses of which a host does not have its own."""

    def connected_by(self, server_address: str, client_address: str) -> dict[str, str]:
        """Protocol → ``client`` or ``server``: the side that connects between two addresses."""
        between = (server_address, client_address)
        turned = {it.protocol for it in self.turned if it.addresses == between}
        return {name: "server" if name in turned else "client" for name in programs.PACKETS}


def preflight(server: Agent, client: Agent, pair: tuple[Host, Host] | None = None) -> Preflight:
    """Check the path between two hosts for each pair of their addresses (``common_addresses``).

    A short message of each protocol goes each way, then the longest packets, over UDP. ``pair``:
    the two hosts, limited to the networks that their pairing names. HostError if the traffic would
    not take the test network, or if no pair of addresses exists.
    """
    faults: list[PathFault] = []
    narrow: list[NarrowPath] = []
    missing_addresses: list[PathFault] = []
    # Interfaces by host and device; ``unproved``: those whose counters do not show the packets.
    unproved: list[tuple[str, str | None, str]] = []
    proved: set[tuple[str, str | None]] = set()
    addresses = common_addresses(*(pair or (server.host, client.host)))
    for server_address, client_address in addresses:
        ends = _end(server, server_address), _end(client, client_address)
        if programs.same_host(server, client):
            faults += _check_both(*ends)
            continue
        try:
            counters = [programs.check_route(end, peer) for end, peer in (ends, ends[::-1])]
        except HostError as error:
            if len(missing_addresses) + 1 == len(addresses) or not any(map(_lacks_address, ends)):
                raise
            missing_addresses.append(PathFault("", server_address, client_address, str(error)))
            continue
        these_faults = _check_both(*ends)
        faults += these_faults
        passed = set(programs.PACKETS) - {it.protocol for it in these_faults if not it.is_turned}
        for (end, peer), facts in zip((ends, ends[::-1]), counters, strict=True):
            device = programs.interface_of(facts, end.address)
            sentence = programs.check_counters(end, peer, facts, passed)
            if sentence is None:
                proved.add((end.name, device))
            else:
                unproved.append((end.name, device, sentence))
        if "UDP" in passed:
            narrow += _narrow_between(*ends, these_faults, counters)
    # Windows may report the route of only one IP version. The counters of this version also prove
    # that the other version uses the test network, if both addresses are on the same device.
    return Preflight(
        blocked=tuple(fault for fault in faults if not fault.is_turned),
        warnings=(
            *(fault.sentence for fault in (*faults, *missing_addresses)),
            *(way.sentence for way in narrow),
            *[sentence for host, device, sentence in unproved if (host, device) not in proved],
        ),
        turned=tuple(fault for fault in faults if fault.is_turned),
        narrow=tuple(narrow),
        missing=tuple(missing_addresses),
    )


def _lacks_address(end: programs.RouteEnd) -> bool:
    facts = end.agent.facts()
    return "addresses" in facts and programs.interface_of(facts, end.address) is None


def _narrow_between(
    server: programs.RouteEnd,
    client: programs.RouteEnd,
    faults: list[PathFault],
    facts: list[Mapping[str, Any]],
) -> tuple[NarrowPath, ...]:
    """The directions with a path MTU below the sender's interface MTU. ``facts``: of both ends."""
    from netlab.measurement.path_mtu import narrow_ways

    def network_of(end: programs.RouteEnd) -> str:
        names = end.agent.host.addresses.items()
        return next((name for name, listed in names if end.address in listed), "")

    ends = Ends(
        server=server.agent,
        client=client.agent,
        same_host=False,
        connected_by={fault.protocol: "server" for fault in faults if fault.is_turned},
        networks={"server": network_of(server), "client": network_of(client)},
    )
    return narrow_ways(ends, version_of(server.address), facts)


def preflight_service(client: Agent, server: Host) -> Preflight:
    """Check the path to a host without an agent, by its echo. HostError if it is wrong."""
    address = server.service_addresses[0]
    try:
        end = _end(client, client.host.address(None, version_of(address)))
    except UsageError as error:
        return Preflight(blocked=(), warnings=(f"{server.name}: {error}",))
    own = is_own_address(client.host, address)
    peer = programs.Far(server.name, address)
    facts = {} if own else programs.check_route(end, peer)
    blocked: list[PathFault] = []
    if (echo := server.mirror) is None:
        return Preflight(blocked=(), warnings=())
    for protocol in programs.PACKETS:
        fault = _check_echo(protocol, end, echo)
        if fault is not None:
            sentence = f"{protocol}: {server.name} does not echo at port {echo.port} ({fault})"
            blocked.append(PathFault(protocol, echo.address, end.address, sentence))
    passed = set(programs.PACKETS) - {fault.protocol for fault in blocked}
    unproved = None if own else programs.check_counters(end, peer, facts, passed)
    warnings = [*(fault.sentence for fault in blocked), *([unproved] if unproved else [])]
    return Preflight(blocked=tuple(blocked), warnings=tuple(warnings))


def is_own_address(host: Host, address: str) -> bool:
    """Whether traffic to ``address`` never leaves ``host``, according to the inventory."""
    bare, *own = (
        ipaddress.ip_address(text.partition("%")[0])
        for text in (address, *chain.from_iterable(host.addresses.values()))
    )
    return bare.is_loopback or bare in own


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


def _end(agent: Agent, address: str) -> programs.RouteEnd:
    return programs.RouteEnd(agent.host.name, address, agent)


def _check_echo(protocol: str, client: programs.RouteEnd, echo: Mirror) -> str | None:
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
        _first(pending, "result", CHECK_S + LAST_WORD_S)
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
    pairs = tuple(dict.fromkeys(address_pairs((server, client), networks)))
    if not pairs:
        raise HostError(
            f"{server.name} and {client.name} have no test addresses in the same network and of "
            "the same IP version"
        )
    return pairs


def _check_both(server: programs.RouteEnd, client: programs.RouteEnd) -> list[PathFault]:
    """The protocols that do not pass, or pass only if the server connects."""
    faults = {protocol: _check(protocol, server, client) for protocol in programs.PACKETS}
    results: list[PathFault] = []
    for protocol, fault in faults.items():
        if fault is None:
            continue
        why, is_blocked = fault
        between = protocol, server.address, client.address
        # A firewall that blocks incoming connections lets in the answers to outgoing connections.
        if is_blocked and _check(protocol, client, server) is None:
            sentence = (
                f"{protocol} {client.name}→{server.name} is blocked, and "
                f"{server.name}→{client.name} passes: the server {server.name} connects to the "
                "client"
            )
            if protocol == "TCP":
                sentence += ", so the server's system decides about TCP timestamps and the MSS"
            results.append(PathFault(*between, sentence, is_turned=True))
            continue
        passing = [other for other, its_fault in faults.items() if its_fault is None]
        also = f", {passing[0]} passes" if passing else ""
        results.append(PathFault(*between, f"{protocol} {why}{also}"))
    return results


def _check(
    protocol: str, listener: programs.RouteEnd, connector: programs.RouteEnd
) -> tuple[str, bool] | None:
    """Send a hello from the connecting side and await the answer; ``None`` if both arrive, else a
    sentence and whether the path loses packets. If not, the check could not run, as with a port in
    use.
    """
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
        ready = _first(receive_test, "ready", CHECK_S)
    except ProbeError as fault:
        return f"cannot be checked: {fault}", False
    to = destination(listener.address, ready["port"])
    send_test = connector.agent.start(
        "send", open="connect", to=to, bind=connector.address, **common
    )
    try:
        _first(send_test, "result", CHECK_S + LAST_WORD_S)
        _first(receive_test, "result", CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        way = f"{connector.name}→{listener.name}"
        blocked = fault.word in NOT_THROUGH
        has_arrived = False
        if blocked and fault.host == connector.name and protocol == "UDP":
            with suppress(ProbeError):
                has_arrived = bool(_first(receive_test, "result", LAST_WORD_S))
        if not blocked:
            result = f"{way} cannot be checked: {fault}"
        elif has_arrived:  # the hello was answered, but the answer was lost
            result = (
                f"{listener.name}→{connector.name} is blocked ({connector.address} receives "
                f"nothing from {address_words})"
            )
        else:
            result = (
                f"{way} is blocked ({fault.word}, from {connector.address} to {address_words}); "
                f"{_remedy(listener.agent)}"
            )
        listener.agent.start("stop", test=receive_test.id, abort=1)
        return result, blocked
    return None


def _remedy(agent: Agent) -> str:
    name = agent.host.name
    if agent.host.os != "W":
        return f"open the ports in the firewall of {name}, and name them with `port_range:`"
    return (
        f"allow the probe on {name}, as its administrator: netsh advfirewall firewall add rule "
        f'name=netlab dir=in action=allow program="{agent.probe_path or "PATH OF netprobe.exe"}"'
    )


def _first(pending: Pending, kind: str, timeout_s: float) -> Mapping[str, Any]:
    """The first record of this kind; ProbeError if an error or no record comes in time."""
    give_up = clock.monotonic() + timeout_s
    while True:
        record = pending.record(max(0.0, give_up - clock.monotonic()))
        if record["type"] == kind:
            return record
