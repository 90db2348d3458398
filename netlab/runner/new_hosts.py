"""Looks at hosts that are in no inventory yet (`netlab init`); writes an inventory and a matrix.

A person confirms the keys of the hosts.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlab.errors import HostKeyError, UnknownHostKey, UsageError
from netlab.ethernet import Link
from netlab.experiment.hosts import OS_NAMES, Host, Inventory
from netlab.runner import two_hosts
from netlab.runner.places import AgentGroup
from netlab.units import many

TEST = "test"
"""The network that tests use by default."""
LETTERS = "LWMF"
"""Letters of the systems that a probe runs on. Pairings are listed in this order."""


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host with the facts that its probe reported."""

    host: Host
    """The host with its operating system, without test addresses."""
    words: str
    """A description such as ``Debian GNU/Linux 12, x86_64, 2 CPUs``."""
    addresses: tuple[two_hosts.HostAddress, ...]


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """A network that two or more hosts are in."""

    network: str
    members: Mapping[str, two_hosts.HostAddress]
    """Name of a host → its address in this network."""

    @property
    def words(self) -> str:
        """The network and its members as a choice for a person."""
        return f"{self.network}: " + ", ".join(
            f"{host} {member.address} ({member.device})" for host, member in self.members.items()
        )


def shared_networks(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """The networks of at least two hosts: those with the most hosts first, IPv4 before IPv6."""
    members: dict[str, dict[str, two_hosts.HostAddress]] = {}
    for found_host in hosts:
        for address in found_host.addresses:
            members.setdefault(address.network, {}).setdefault(found_host.host.name, address)
    networks = [SharedNetwork(name, its) for name, its in members.items() if len(its) > 1]
    networks.sort(key=lambda it: (-len(it.members), ipaddress.ip_network(it.network).version))
    return tuple(networks)


def with_addresses(
    hosts: Sequence[FoundHost], networks: Sequence[SharedNetwork]
) -> tuple[Host, ...]:
    """The hosts with their addresses in these networks; a host in none of them is left out. The
    first network becomes ``test``, the others are named after the device of their first host.
    """
    names = [TEST]
    for network in networks[1:]:
        names.append(free_name(next(iter(network.members.values())).device, names))
    addressed = []
    for found_host in hosts:
        addresses = {
            name: (network.members[found_host.host.name].address,)
            for name, network in zip(names, networks, strict=False)
            if found_host.host.name in network.members
        }
        if addresses:
            addressed.append(replace(found_host.host, addresses=addresses))
    return tuple(addressed)


def free_name(name: str, names: Container[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3`` … that is not taken."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


def inventory_text(hosts: Sequence[Host], words: Mapping[str, str]) -> str:
    """The text of ``lab.yaml``: one line per host, below a comment with its description."""
    lines = ["# The hosts of this lab, as netlab found them. Every key: docs/hosts.md", "hosts:"]
    for host in hosts:
        description = words.get(host.name)
        lines += [f"  # {description}"] if description else []
        lines += two_hosts.host_lines([host])
    return "".join(f"{line}\n" for line in lines)


def matrix_text(hosts: Sequence[Host], link: Link | None) -> str:
    """The text of a first matrix: throughput and round trips in every pairing of the hosts."""
    pairings = pairings_of(hosts)
    first = pairings[0] if pairings else "LL"
    systems = f"{first} is a {OS_NAMES[first[0]]} server and a {OS_NAMES[first[1]]} client"
    rate, mtu = ("100Mbit", 1500) if link is None else (round(link.rate_bit_per_s), link.mtu_bytes)
    setting = f"link: {{rate: {rate}, mtu: {mtu}}}"
    return f"""\
title: A first look at this lab

# The link between the hosts; the wire ceilings are computed from it.
{setting if link is not None else f"# {setting}   # the interfaces do not report it: set it"}

# Systems, the server first: {systems}.
pairings: [{", ".join(pairings)}]

repeats: 3
defaults: {{duration: 2s, warm_up: 500ms}}

tests:
  # Throughput with small and large messages.
  - {{test: stream, protocol: TCP, message_size: [64, 1448, 64KiB]}}
  - {{test: stream, protocol: UDP, message_size: [64, 1472]}}
  # Time from a request to its answer.
  - {{test: round_trip, protocol: [TCP, UDP], message_size: 64}}
"""


def pairings_of(hosts: Sequence[Host]) -> list[str]:
    """The pairings of operating systems, such as ``LW``, for which there are hosts."""
    inventory = Inventory("", tuple(hosts), {})
    present = [letter for letter in LETTERS if any(host.os == letter for host in hosts)]
    every = (server + client for server in present for client in present)
    return [pairing for pairing in every if inventory.candidates(pairing)]


Confirm = Callable[[UnknownHostKey], bool]
"""Asks a person whether the key in the error belongs to the host."""


def hosts_to_ask(words: Sequence[str], keys: Mapping[str, str]) -> tuple[Host, ...]:
    """The hosts of the command line, and this machine if they are fewer than two.

    ``keys``: word → the key of this host or its fingerprint. UsageError for a word that is no host,
    or for a key whose word is not among ``words``.
    """
    unknown = sorted(set(keys) - set(words))
    if unknown:
        raise UsageError(f"--host-key {unknown[0]}: no such HOST on the command line")
    hosts: dict[str, Host] = {}
    for word in words:
        host = two_hosts.host_by_ssh(word)
        host = replace(host, host_key=keys.get(word), name=free_name(host.name, hosts))
        hosts[host.name] = host
    if len(hosts) < 2:
        own_host = two_hosts.this_machine(free_name(two_hosts.HERE, hosts))
        hosts[own_host.name] = own_host
    return tuple(hosts.values())


def with_keys(agents: AgentGroup, hosts: Sequence[Host], confirm: Confirm) -> tuple[Host, ...]:
    """Log in to all hosts; returns them with the keys that a person confirmed. Raises
    UnknownHostKey for a key that nobody confirmed, HostError if a host cannot be reached.
    """
    by_name = {host.name: host for host in hosts}
    remote_hosts = [host for host in hosts if not host.local]
    while remote_hosts:
        errors = agents.log_in(remote_hosts)
        unknown = {name: it for name, it in errors.items() if isinstance(it, UnknownHostKey)}
        # A key that differs from the known one is reported before a person confirms any other key.
        if other_errors := [error for name, error in errors.items() if name not in unknown]:
            raise min(other_errors, key=lambda error: not isinstance(error, HostKeyError))
        for name, error in unknown.items():
            host = by_name[name]
            if error.shown != name or host.host_key is not None or not confirm(error):
                raise error
            by_name[name] = replace(host, host_key=error.key)
        remote_hosts = [by_name[name] for name in unknown]
    return tuple(by_name.values())


def look(agents: AgentGroup, hosts: Sequence[Host]) -> tuple[FoundHost, ...]:
    """The hosts with the facts that their probes report; HostError if a host cannot be asked."""
    agents.log_in_to_all(hosts)
    return tuple(
        FoundHost(
            agents.seen(host), _words(agents.hello(host), facts), two_hosts.addresses_of(facts)
        )
        for host in hosts
        for facts in [agents.facts(host)]
    )


def _words(hello: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    system = facts.get("distribution") or facts.get("kernel") or hello.get("os_release")
    capabilities = str(hello.get("capabilities", "")).split(",")
    words = [str(system or "unnamed system"), str(hello.get("architecture", ""))]
    words += [many(hello["cpu_count"], "CPU")] if "cpu_count" in hello else []
    words += [] if "packet" in capabilities else ["no right to packet sockets"]
    return ", ".join(word for word in words if word)


def link_within(agents: AgentGroup, network: SharedNetwork, hosts: Sequence[Host]) -> Link | None:
    """The slowest rate and the smallest MTU in a network; ``None`` if a rate is not known."""
    inside = [host for host in hosts if host.name in network.members]
    addresses = [network.members[host.name].address for host in inside]
    ways = [agents.facts(host, addresses[number - 1]) for number, host in enumerate(inside)]
    return two_hosts.link_of(ways)
