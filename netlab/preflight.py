"""Before a run: do two hosts reach each other, and over the test cable?"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.errors import HostError, ProbeError, UsageError
from netlab.hostlock import same_host
from netlab.hosts import Host
from netlab.probe import Agent, Pending

CHECK_S = 5.0
"""For three SYNs of TCP (0, 1 and 3 s), and fifty hellos over UDP."""
LAST_WORD_S = 1.0
"""What the listening side may take after the other has ended."""
COUNTERS_S = 3.0
"""Some drivers bring their counters up to date only every second or two."""
PACKETS = {"TCP": 3, "UDP": 1}
"""What a check sends at least, each way."""

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
class Preflight:
    """What one packet of each protocol in each direction showed."""

    blocked: tuple[Blocked, ...]
    warnings: tuple[str, ...]
    turned: tuple[Turned, ...] = ()

    def connected_by(self, server_address: str, client_address: str) -> dict[str, str]:
        """Protocol → ``client`` or ``server``: which side is to connect between two addresses."""
        turned = {
            each.protocol
            for each in self.turned
            if (each.server_address, each.client_address) == (server_address, client_address)
        }
        return {each: "server" if each in turned else "client" for each in PACKETS}


@dataclass(frozen=True, slots=True)
class End:
    """One side of a check."""

    agent: Agent
    address: str

    @property
    def name(self) -> str:
        """Of its host."""
        return self.agent.host.name


def preflight(server: Agent, client: Agent) -> Preflight:
    """One packet of each protocol each way between all test addresses that two hosts have in
    common: of the same network, and of the same IP version.

    Raises HostError where the traffic would not take the test network.
    """
    faults: list[Blocked | Turned] = []
    warnings: list[str] = []
    for there, here in common_addresses(server.host, client.host):
        ends = End(server, there), End(client, here)
        if same_host(server, client):
            faults += _check_both(*ends)
        else:
            counters = [_check_route(end, peer) for end, peer in (ends, ends[::-1])]
            found = _check_both(*ends)
            faults += found
            passed = set(PACKETS) - {each.protocol for each in found if isinstance(each, Blocked)}
            for (end, peer), before in zip((ends, ends[::-1]), counters, strict=True):
                warnings += _check_counters(end, peer, before, passed)
    return Preflight(
        blocked=tuple(each for each in faults if isinstance(each, Blocked)),
        warnings=(*(each.sentence for each in faults), *warnings),
        turned=tuple(each for each in faults if isinstance(each, Turned)),
    )


def common_addresses(server: Host, client: Host) -> tuple[tuple[str, str], ...]:
    """(server's, client's) test addresses, of the networks that both name and of their first."""
    networks = [None, *(name for name in server.addresses if name in client.addresses)]
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


def _check_both(server: End, client: End) -> list[Blocked | Turned]:
    faults = {protocol: _check(protocol, server, client) for protocol in PACKETS}
    found: list[Blocked | Turned] = []
    for protocol, fault in faults.items():
        if fault is None:
            continue
        between = protocol, server.address, client.address
        # A Windows server's firewall lets nothing in unasked, and answers to what went out.
        if server.agent.host.os == "W" and _check(protocol, client, server) is None:
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
        found.append(Blocked(*between, f"{protocol} {fault}{also}"))
    return found


def _check(protocol: str, listener: End, connector: End) -> str | None:
    """A hello from the connecting side, and its answer; ``None``, or what does not pass."""
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": secrets.token_hex(16),
        "deadline": f"{CHECK_S:g}",
        "message": 64,
    }
    ports = listener.agent.host.port_range
    if ports is not None:
        common |= {"port": f"{ports[0]}-{ports[1]}"}
    waiting = listener.agent.start("receive", open="listen", bind=listener.address, **common)
    common.pop("port", None)
    try:
        ready = _first(waiting, {"ready"}, CHECK_S)
    except ProbeError as fault:
        return f"cannot be tried: {fault}"
    host = f"[{listener.address}]" if ":" in listener.address else listener.address
    to = f"{host}:{ready['port']}"
    going = connector.agent.start("send", open="connect", to=to, bind=connector.address, **common)
    try:
        _first(going, {"result"}, CHECK_S + LAST_WORD_S)
        _first(waiting, {"result"}, CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        there = f"{connector.name}→{listener.name}"
        back = f"{listener.name}→{connector.name}"
        if fault.word not in NOT_THROUGH:
            result = f"{there} cannot be tried: {fault}"
        elif fault.host == connector.name and protocol == "UDP" and _heard(waiting):
            # The hello came in, and was answered: it is the answer that was lost.
            result = f"{back} is blocked ({connector.address} hears nothing from {to})"
        else:
            result = (
                f"{there} is blocked ({fault.word}, from {connector.address} to {to}); "
                f"{_remedy(listener.agent)}"
            )
        listener.agent.start("stop", test=waiting.id, abort=1)
        return result
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


def _check_route(end: End, peer: End) -> Mapping[str, Any]:
    """The kernel's own choice for packets to the peer must be the interface of the test address.

    Returns the facts.
    """
    facts = end.agent.facts(to=peer.address)
    here = interface_of(facts, end.address)
    if here is None and "addresses" in facts:
        raise HostError(
            f"{end.name} does not have its test address {end.address}; "
            f"it has {plain_addresses(facts)}"
        )
    interface = facts.get("route_interface")
    if interface is not None and here is not None and interface != here:
        raise HostError(
            f"{end.name} reaches {peer.name} ({peer.address}) over {interface} from "
            f"{facts.get('route_source', 'another address')}, not over the test network "
            f"({here}, {end.address}): mend its routes"
        )
    return facts


def _check_counters(
    end: End, peer: End, before: Mapping[str, Any], passed: set[str]
) -> Iterator[str]:
    """The interface of the route must have counted what passed, in and out."""
    interface = before.get("route_interface")
    wanted = sum(PACKETS[protocol] for protocol in passed)
    keys = ("interface_sent_packets", "interface_received_packets")
    if not wanted:
        return
    if interface is None or any(key not in before for key in keys):
        yield f"{end.name}: which interface the traffic takes cannot be proved (no counters)"
        return
    give_up = time.monotonic() + COUNTERS_S
    while True:
        after = end.agent.facts(to=peer.address)
        counted = [after.get(key, 0) - before[key] for key in keys]
        if min(counted) >= wanted:
            return
        if time.monotonic() > give_up:
            raise HostError(
                f"{end.name}: {' and '.join(sorted(passed))} passed to {peer.name}, and "
                f"{interface} counted {counted[0]} packets out and {counted[1]} in: the traffic "
                "takes another path than the test network"
            )
        time.sleep(0.1)


def interface_of(facts: Mapping[str, Any], address: str) -> str | None:
    """The device that has ``address``, among the facts' ``addresses``."""
    for device, local in _addresses(facts):
        if local.partition("/")[0] == address.partition("%")[0]:
            return device
    return None


def prefix_of(facts: Mapping[str, Any], address: str) -> str | None:
    """``address`` with the length of its network's prefix, as the host has it."""
    for _, local in _addresses(facts):
        if local.partition("/")[0] == address.partition("%")[0]:
            return local
    return None


def plain_addresses(facts: Mapping[str, Any]) -> str:
    """The host's addresses for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in _addresses(facts)) or "none"


def _addresses(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for word in str(facts.get("addresses", "")).split(","):
        device, _, local = word.partition("=")
        if local:
            yield device, local
