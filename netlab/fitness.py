"""Is a host fit to measure, and does a pair reach each other over the test cable?"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlab.errors import HostError, ProbeError, UsageError
from netlab.hosts import OS_OF_PROBE, Host, load_inventory
from netlab.probe import Agent, same_host
from netlab.units import format_rate

CHECK_S = 8


@dataclass(frozen=True, slots=True)
class Blocked:
    """A protocol that does not pass between two hosts."""

    protocol: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """What one packet of each protocol in each direction showed."""

    blocked: tuple[Blocked, ...]
    warnings: tuple[str, ...]


def preflight(
    server: Agent, client: Agent, network: str | None = None, ip_version: int = 4
) -> Preflight:
    """One packet of each protocol each way between the test addresses of two hosts.

    Raises HostError where the traffic would not take the test network.
    """
    addresses = {agent: agent.host.address(network, ip_version) for agent in (server, client)}
    if not same_host(server, client):
        for agent, peer in ((server, client), (client, server)):
            _check_route(agent, addresses[agent], addresses[peer], peer.host.name)
    blocked = []
    for protocol in ("TCP", "UDP"):
        fault = _check(protocol, server, client, addresses)
        if fault is not None:
            blocked.append((protocol, fault))
    passing = {"TCP", "UDP"} - {protocol for protocol, _ in blocked}
    names = f"{client.host.name} → {server.host.name}"
    also = f", {passing.pop()} passes" if len(passing) == 1 else ""
    found = tuple(
        Blocked(protocol, f"{protocol} {names} is blocked{also} ({fault}); open the port range")
        for protocol, fault in blocked
    )
    return Preflight(found, tuple(each.sentence for each in found))


def _check(
    protocol: str, server: Agent, client: Agent, addresses: Mapping[Agent, str]
) -> ProbeError | None:
    """A hello from the client and its answer: a packet each way."""
    token = secrets.token_hex(16)
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": token,
        "deadline": CHECK_S,
        "message": 64,
    }
    ports = server.host.port_range
    listening: dict[str, Any] = {"port": f"{ports[0]}-{ports[1]}"} if ports else {}
    there = addresses[server]
    host = f"[{there}]" if ":" in there else there
    waiting = server.start("receive", open="listen", bind=there, **common, **listening)
    try:
        ready = waiting.record(CHECK_S)
        to = f"{host}:{ready.get('ports') or ready['port']}"
        going = client.start("send", open="connect", to=to, bind=addresses[client], **common)
        _result_of(going)
        _result_of(waiting)
    except ProbeError as fault:
        server.start("stop", test=waiting.id, abort=1)
        return fault
    return None


def _result_of(pending: Any) -> Mapping[str, Any]:
    while True:
        record: Mapping[str, Any] = pending.record(CHECK_S + 2)
        if record["type"] == "result":
            return record


def _check_route(agent: Agent, source: str, peer: str, peer_name: str) -> None:
    """The kernel's own choice for packets to the peer must be the interface of the test address."""
    facts = agent.facts(to=peer)
    chosen = facts.get("route_source")
    here = _interface_of(facts, source)
    if here is None and "addresses" in facts:
        raise HostError(
            f"{agent.host.name} does not have its test address {source}; "
            f"it has {_plain(facts['addresses'])}"
        )
    interface = facts.get("route_interface")
    if interface is not None and here is not None and interface != here:
        raise HostError(
            f"{agent.host.name} reaches {peer_name} ({peer}) over {interface} from {chosen}, "
            f"not over the test network ({here}, {source}): mend its routes"
        )


def _interface_of(facts: Mapping[str, Any], address: str) -> str | None:
    for word in str(facts.get("addresses", "")).split(","):
        device, _, rest = word.partition("=")
        if rest.partition("/")[0].partition("%")[0] == address.partition("%")[0]:
            return device
    return None


def _plain(addresses: object) -> str:
    return ", ".join(word.replace("=", " ") for word in str(addresses).split(","))


@dataclass(frozen=True, slots=True)
class Inspected:
    """One host as `netlab hosts` shows it."""

    host: Host
    lines: tuple[tuple[str, str], ...] = ()
    unfit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """All hosts of an inventory."""

    hosts: tuple[Inspected, ...] = field(default_factory=tuple)

    def as_text(self) -> str:
        """A block a host."""
        blocks = []
        for each in self.hosts:
            state = "not fit" if each.unfit else "fit"
            rows = [f"{each.host.name}: {state}"]
            rows += [f"  {name:<20} {value}" for name, value in each.lines]
            rows += [f"  ! {sentence}" for sentence in each.unfit]
            blocks.append("\n".join(rows))
        return "\n\n".join(blocks)

    def as_json(self) -> str:
        """The same for machines."""
        import json

        hosts = [
            {
                "name": each.host.name,
                "fit": not each.unfit,
                "unfit": list(each.unfit),
                **{name.replace(" ", "_"): value for name, value in each.lines},
            }
            for each in self.hosts
        ]
        return json.dumps(hosts, indent=2)

    def raise_for_unfit(self) -> None:
        """HostError where a host is not fit."""
        names = [each.host.name for each in self.hosts if each.unfit]
        if names:
            raise HostError(f"not fit: {', '.join(names)}")


def survey(path: Path) -> Survey:
    """Look at every host of an inventory, at the same time; takes no lock."""
    hosts = load_inventory(path).hosts
    with ThreadPoolExecutor(max_workers=min(16, len(hosts))) as executor:
        return Survey(tuple(executor.map(inspect, hosts)))


def inspect(host: Host) -> Inspected:
    """Reach a host and ask it; what is wrong with it is a sentence, never an exception."""
    try:
        agent = Agent.open(host)
    except HostError as error:
        return Inspected(host, unfit=(str(error),))
    try:
        unfit: list[str] = []
        lines = list(_described(agent))
        for network, addresses in host.addresses.items():
            for address in addresses:
                lines += _test_address(agent, network, address, unfit)
        if OS_OF_PROBE.get(str(agent.hello.get("os"))) != host.os:
            unfit.append(f"it runs {agent.hello.get('os')}, the inventory says `os: {host.os}`")
        return Inspected(host, tuple(lines), tuple(unfit))
    except (HostError, ProbeError, UsageError) as error:
        return Inspected(host, unfit=(str(error),))
    finally:
        agent.close()


def _described(agent: Agent) -> Iterator[tuple[str, str]]:
    facts = agent.facts()
    hello = agent.hello
    yield "reachable", "on this machine" if agent.host.local else "over SSH"
    yield "system", f"{facts.get('distribution', hello.get('os'))}, {hello.get('os_release', '?')}"
    yield "architecture", f"{hello.get('architecture')}, {hello.get('cpu_count')} CPUs"
    yield "probe", f"{hello.get('version')}, build {hello.get('build')}"
    yield "congestion control", str(facts.get("congestion", "not known"))
    if agent.skipped_lines:
        yield "note", f"its login prints {agent.skipped_lines} lines that are not the probe's"


def _test_address(
    agent: Agent, network: str, address: str, unfit: list[str]
) -> Iterator[tuple[str, str]]:
    facts = agent.facts(to=address)
    device = _interface_of(facts, address)
    if device is None and "addresses" in facts:
        unfit.append(f"it does not have {address} ({network}); it has {_plain(facts['addresses'])}")
        return
    words = [address, device or "interface not known"]
    if "interface_speed_bit_per_s" in facts:
        words.append(format_rate(facts["interface_speed_bit_per_s"]))
    if "interface_mtu_bytes" in facts:
        words.append(f"MTU {facts['interface_mtu_bytes']}")
    if facts.get("interface_carrier") == 0:
        unfit.append(f"{device} ({network}) has no carrier: is the cable in?")
    yield f"address {network}", ", ".join(words)
