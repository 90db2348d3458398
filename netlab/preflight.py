"""Before a run: do two hosts reach each other, and over the test cable?"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.errors import HostError, ProbeError, UsageError
from netlab.hosts import Host
from netlab.probe import Agent, Pending, same_host

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
class Preflight:
    """What one packet of each protocol in each direction showed."""

    blocked: tuple[Blocked, ...]
    warnings: tuple[str, ...]


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
    blocked: list[Blocked] = []
    warnings: list[str] = []
    for there, here in common_addresses(server.host, client.host):
        ends = End(server, there), End(client, here)
        if same_host(server, client):
            blocked += _check_both(*ends)
        else:
            counters = [_check_route(end, peer) for end, peer in (ends, ends[::-1])]
            found = _check_both(*ends)
            blocked += found
            passed = {"TCP", "UDP"} - {each.protocol for each in found}
            for (end, peer), before in zip((ends, ends[::-1]), counters, strict=True):
                warnings += _check_counters(end, peer, before, passed)
    return Preflight(tuple(blocked), (*(each.sentence for each in blocked), *warnings))


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


def _check_both(server: End, client: End) -> list[Blocked]:
    faults = {protocol: _check(protocol, server, client) for protocol in PACKETS}
    found = []
    for protocol, fault in faults.items():
        if fault is not None:
            passing = [other for other, its in faults.items() if its is None]
            also = f", {passing[0]} passes" if passing else ""
            sentence = f"{protocol} {fault}{also}"
            found.append(Blocked(protocol, server.address, client.address, sentence))
    return found


def _check(protocol: str, server: End, client: End) -> str | None:
    """A hello from the client, and its answer; ``None``, or what does not pass."""
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": secrets.token_hex(16),
        "deadline": f"{CHECK_S:g}",
        "message": 64,
    }
    ports = server.agent.host.port_range
    if ports is not None:
        common |= {"port": f"{ports[0]}-{ports[1]}"}
    waiting = server.agent.start("receive", open="listen", bind=server.address, **common)
    common.pop("port", None)
    try:
        ready = _first(waiting, {"ready"}, CHECK_S)
    except ProbeError as fault:
        return f"cannot be tried: {fault}"
    host = f"[{server.address}]" if ":" in server.address else server.address
    to = f"{host}:{ready['port']}"
    going = client.agent.start("send", open="connect", to=to, bind=client.address, **common)
    try:
        _first(going, {"result"}, CHECK_S + LAST_WORD_S)
        _first(waiting, {"result"}, CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        there = f"{client.name}→{server.name}"
        back = f"{server.name}→{client.name}"
        if fault.word not in NOT_THROUGH:
            result = f"{there} cannot be tried: {fault}"
        elif fault.host == client.name and protocol == "UDP" and _heard(waiting):
            # The hello came in, and was answered: it is the answer that was lost.
            result = f"{back} is blocked ({client.address} hears nothing from {to})"
        else:
            result = (
                f"{there} is blocked ({fault.word}, from {client.address} to {to}); open the "
                f"ports in the firewall of {server.name}, and name them with `port_range:`"
            )
        server.agent.start("stop", test=waiting.id, abort=1)
        return result
    return None


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
