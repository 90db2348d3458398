"""What `netlab init` writes: the inventory of the hosts that it found, and a first matrix. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netlab.experiment.hosts import OS_NAMES, Host, Inventory
from netlab.experiment.matrix import Link
from netlab.runner.start.networks import HostAddress
from netlab.runner.start.yaml_text import host_lines

TEST = "test"
"""The network that tests use where nobody says another."""
LETTERS = "LWMF"
"""Systems that a probe runs on, in the order of their pairings."""


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host that was asked what it is."""

    host: Host
    """With its system; its test addresses are not known yet."""
    words: str
    """Such as ``Debian GNU/Linux 12, x86_64, 2 CPUs``."""
    addresses: tuple[HostAddress, ...]


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """A network that two or more hosts are in."""

    network: str
    """Such as ``10.0.0.0/24``."""
    members: Mapping[str, HostAddress]
    """Host → its address there."""

    @property
    def words(self) -> str:
        """For a person to choose."""
        return f"{self.network}: " + ", ".join(
            f"{host} {each.address} ({each.device})" for host, each in self.members.items()
        )


def shared_networks(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """The networks of two hosts and more: those of most hosts first, IPv4 before IPv6."""
    members: dict[str, dict[str, HostAddress]] = {}
    for each in hosts:
        for address in each.addresses:
            members.setdefault(address.network, {}).setdefault(each.host.name, address)
    found = [SharedNetwork(name, its) for name, its in members.items() if len(its) > 1]
    return tuple(
        sorted(
            found, key=lambda one: (-len(one.members), ipaddress.ip_network(one.network).version)
        )
    )


def with_addresses(
    hosts: Sequence[FoundHost], networks: Sequence[SharedNetwork]
) -> tuple[Host, ...]:
    """The hosts with their addresses in these networks; the first network is the tests' own.

    Others are called by the device of their first host. A host in none of them is left out.
    """
    names = [TEST, *_names_of(networks[1:])]
    made = []
    for each in hosts:
        its = {
            name: (network.members[each.host.name].address,)
            for name, network in zip(names, networks, strict=False)
            if each.host.name in network.members
        }
        if its:
            made.append(replace(each.host, addresses=its))
    return tuple(made)


def _names_of(networks: Iterable[SharedNetwork]) -> Iterator[str]:
    taken = {TEST}
    for network in networks:
        name = free_name(next(iter(network.members.values())).device, taken)
        taken.add(name)
        yield name


def free_name(name: str, taken: Container[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3`` … that nobody has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def inventory_text(hosts: Sequence[Host], words: Mapping[str, str]) -> str:
    """``lab.yaml``: a line a host, with what it said of itself above it."""
    lines = [
        "# The hosts of this lab, as they were asked. Every key: docs/hosts.md",
        "hosts:",
    ]
    for host in hosts:
        said = words.get(host.name)
        lines += [f"  # {said}"] if said else []
        lines += host_lines([host])
    return "".join(f"{line}\n" for line in lines)


def matrix_text(hosts: Sequence[Host], link: Link | None) -> str:
    """A first matrix: throughput and round trips, in every pairing that the hosts can do."""
    pairings = pairings_of(hosts)
    rate, mtu = ("100Mbit", 1500) if link is None else (round(link.rate_bit_per_s), link.mtu_bytes)
    stated = f"link: {{rate: {rate}, mtu: {mtu}}}"
    return f"""\
title: A first look at this lab

# The cable between the hosts: what its wire ceilings are reckoned with.
{stated if link is not None else f"# {stated}   # not said by the interfaces: state it"}

# Systems, the server first: {_pairings_words(pairings)}.
pairings: [{", ".join(pairings)}]

repeats: 3
defaults: {{duration: 2s, warm_up: 500ms}}

tests:
  # How much goes through, with small and with large messages.
  - {{test: stream, protocol: TCP, message_size: [64, 1448, 64KiB]}}
  - {{test: stream, protocol: UDP, message_size: [64, 1472]}}
  # How long a question and its answer take.
  - {{test: round_trip, protocol: [TCP, UDP], message_size: 64}}
"""


def pairings_of(hosts: Sequence[Host]) -> list[str]:
    """The pairings of systems that these hosts can do."""
    inventory = Inventory("", tuple(hosts), {})
    present = [letter for letter in LETTERS if any(host.os == letter for host in hosts)]
    every = (server + client for server in present for client in present)
    return [pairing for pairing in every if inventory.candidates(pairing)]


def _pairings_words(pairings: Sequence[str]) -> str:
    first = pairings[0] if pairings else "LL"
    return f"{first} is a {OS_NAMES[first[0]]} server and a {OS_NAMES[first[1]]} client"
