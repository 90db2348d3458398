"""The networks that two hosts have in common, and the addresses of both hosts in them. No I/O."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab.errors import UsageError
from netlab.remote.routes import addresses_in

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address of a host that another host may reach."""

    device: str
    address: str
    network: str
    """The network, such as ``10.0.0.0/24``."""


@dataclass(frozen=True, slots=True)
class Common:
    """One network that both hosts have an address in."""

    server_address: str
    client_address: str
    network: str
    """The network, such as ``10.0.0.0/24``, or its name in an inventory; empty if unknown."""
    server_device: str
    client_device: str

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.server_address).version


def common_networks(
    server: Mapping[str, Any], client: Mapping[str, Any], ip_version: int | None = None
) -> tuple[Common, ...]:
    """The networks that both hosts are in, by the ``addresses`` in their facts; IPv4 first.

    ``server`` and ``client``: the facts that their probes report. Loopback, link-local and single
    addresses (``/32``, ``/128``) are left out: they are of no use between two hosts.
    """
    pairs = [
        Common(
            str(server_interface.ip),
            str(client_interface.ip),
            str(server_interface.network),
            device,
            own,
        )
        for device, server_interface in _addresses(server)
        for own, client_interface in _addresses(client)
        if server_interface.version == client_interface.version
        and server_interface.network == client_interface.network
        and server_interface.ip != client_interface.ip
        and ip_version in (None, server_interface.version)
    ]
    # If a host has several addresses in one network, the first one is taken.
    by_network = {pair.network: pair for pair in reversed(pairs)}
    return tuple(sorted(by_network.values(), key=lambda pair: (pair.ip_version, pairs.index(pair))))


def addresses_of(facts: Mapping[str, Any]) -> tuple[HostAddress, ...]:
    """The host's addresses that another host may reach."""
    return tuple(
        HostAddress(device, str(local.ip), str(local.network))
        for device, local in _addresses(facts)
    )


def has_address(facts: Mapping[str, Any], address: str) -> bool:
    """Whether the host has ``address``, or does not report its addresses."""
    own = [str(local.ip) for _, local in _addresses(facts, all_kinds=True)]
    return not own or address in own


def address_words(facts: Mapping[str, Any]) -> str:
    """The host's addresses that another host may reach, for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in _addresses(facts)) or "none"


def routed(server_address: str, facts: Mapping[str, Any]) -> Common | None:
    """``server_address``, and the address from which the client's route to it sends; ``None`` if
    there is no such route.

    ``facts``: the facts of the client, with its route to this address.
    """
    source = facts.get("route_source")
    if not isinstance(source, str):
        return None
    device = str(facts.get("route_interface", ""))
    return Common(server_address, source, "", "", device)


def _addresses(
    facts: Mapping[str, Any], *, all_kinds: bool = False
) -> Iterator[tuple[str, Interface]]:
    """Device and address of each entry of ``addresses`` in the facts.

    Addresses that are of no use between two hosts are left out unless ``all_kinds``.
    """
    for device, local in addresses_in(facts):
        if not device:
            continue
        try:
            interface = ipaddress.ip_interface(local.partition("%")[0])
        except ValueError:
            continue
        is_single = interface.network.num_addresses == 1
        if all_kinds or not (interface.is_loopback or interface.is_link_local or is_single):
            yield device, interface


def several(commons: Sequence[Common]) -> UsageError:
    """The error to raise if nobody can be asked which network to use. Its message lists the
    choices, such as ``--to 10.0.0.1 (10.0.0.0/24, eth1)``.
    """
    choices = "; ".join(
        f"--to {common.server_address} ({common.network}, {common.server_device})"
        for common in commons
    )
    return UsageError(f"the hosts have several networks in common; choose one: {choices}")
