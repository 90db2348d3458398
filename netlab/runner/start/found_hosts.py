"""The texts of the files of `netlab init`: an inventory of the found hosts and a first matrix."""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netlab.experiment.hosts import OS_NAMES, Host, Inventory
from netlab.experiment.matrix import Link
from netlab.runner.start.networks import HostAddress
from netlab.runner.start.yaml_text import host_lines

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
    addresses: tuple[HostAddress, ...]


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """A network that two or more hosts are in."""

    network: str
    """The network, such as ``10.0.0.0/24``."""
    members: Mapping[str, HostAddress]
    """Name of a host → its address in this network."""

    @property
    def words(self) -> str:
        """The network and its members as a choice for a person."""
        return f"{self.network}: " + ", ".join(
            f"{host} {member.address} ({member.device})" for host, member in self.members.items()
        )


def shared_networks(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """The networks of at least two hosts: those with the most hosts first, IPv4 before IPv6."""
    members: dict[str, dict[str, HostAddress]] = {}
    for found_host in hosts:
        for address in found_host.addresses:
            members.setdefault(address.network, {}).setdefault(found_host.host.name, address)
    networks = [SharedNetwork(name, its) for name, its in members.items() if len(its) > 1]

    def rank(shared: SharedNetwork) -> tuple[int, int]:
        return -len(shared.members), ipaddress.ip_network(shared.network).version

    return tuple(sorted(networks, key=rank))


def with_addresses(
    hosts: Sequence[FoundHost], networks: Sequence[SharedNetwork]
) -> tuple[Host, ...]:
    """The hosts with their addresses in these networks; a host in none of them is left out.

    The first network becomes ``test``. The others are named after the device of their first host.
    """
    names = [TEST, *_names_of(networks[1:])]
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


def _names_of(networks: Iterable[SharedNetwork]) -> Iterator[str]:
    names = {TEST}
    for network in networks:
        name = free_name(next(iter(network.members.values())).device, names)
        names.add(name)
        yield name


def free_name(name: str, names: Container[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3`` … that is not taken."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


def inventory_text(hosts: Sequence[Host], words: Mapping[str, str]) -> str:
    """The text of ``lab.yaml``: one line per host, below a comment with its description."""
    lines = [
        "# The hosts of this lab, as netlab found them. Every key: docs/hosts.md",
        "hosts:",
    ]
    for host in hosts:
        description = words.get(host.name)
        lines += [f"  # {description}"] if description else []
        lines += host_lines([host])
    return "".join(f"{line}\n" for line in lines)


def matrix_text(hosts: Sequence[Host], link: Link | None) -> str:
    """The text of a first matrix: throughput and round trips in every pairing of the hosts."""
    pairings = pairings_of(hosts)
    rate, mtu = ("100Mbit", 1500) if link is None else (round(link.rate_bit_per_s), link.mtu_bytes)
    setting = f"link: {{rate: {rate}, mtu: {mtu}}}"
    return f"""\
title: A first look at this lab

# The link between the hosts; the wire ceilings are computed from it.
{setting if link is not None else f"# {setting}   # the interfaces do not report it: set it"}

# Systems, the server first: {_pairings_words(pairings)}.
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


def _pairings_words(pairings: Sequence[str]) -> str:
    first = pairings[0] if pairings else "LL"
    return f"{first} is a {OS_NAMES[first[0]]} server and a {OS_NAMES[first[1]]} client"
