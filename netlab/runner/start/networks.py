"""By which addresses two hosts may measure: the networks that both are in. Pure."""

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
    """Such as ``10.0.0.0/24``."""


@dataclass(frozen=True, slots=True)
class Common:
    """One network that both hosts have an address in."""

    server_address: str
    client_address: str
    network: str
    """Such as ``10.0.0.0/24``."""
    server_device: str
    client_device: str

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.server_address).version


def common_networks(
    server: Mapping[str, Any], client: Mapping[str, Any], ip_version: int | None = None
) -> tuple[Common, ...]:
    """The networks that both hosts are in, by the ``addresses`` of their facts; IPv4 first.

    Loopback, link-local and single addresses (``/32``, ``/128``) are of no use between two hosts.
    """
    found = [
        Common(str(there.ip), str(here.ip), str(there.network), device, own)
        for device, there in _addresses(server)
        for own, here in _addresses(client)
        if there.version == here.version
        and there.network == here.network
        and there.ip != here.ip
        and ip_version in (None, there.version)
    ]
    # Of several addresses in one network the first that the host names is as good as any.
    by_network = {each.network: each for each in reversed(found)}
    return tuple(sorted(by_network.values(), key=lambda each: (each.ip_version, found.index(each))))


def addresses_of(facts: Mapping[str, Any]) -> tuple[HostAddress, ...]:
    """The host's addresses that another host may reach."""
    return tuple(
        HostAddress(device, str(each.ip), str(each.network)) for device, each in _addresses(facts)
    )


def has_address(facts: Mapping[str, Any], address: str) -> bool:
    """Whether the host of these facts has ``address``, or does not tell."""
    own = [str(each.ip) for _, each in _addresses(facts, of_any_use=True)]
    return not own or address in own


def address_words(facts: Mapping[str, Any]) -> str:
    """The host's addresses that another host may reach, for a sentence."""
    return ", ".join(f"{device} {each}" for device, each in _addresses(facts)) or "none"


def routed(server_address: str, facts: Mapping[str, Any]) -> Common | None:
    """The way to ``server_address`` that the client's own routes take, by its facts on it."""
    source = facts.get("route_source")
    if not isinstance(source, str):
        return None
    device = str(facts.get("route_interface", ""))
    return Common(server_address, source, "", "", device)


def _addresses(
    facts: Mapping[str, Any], *, of_any_use: bool = False
) -> Iterator[tuple[str, Interface]]:
    for device, local in addresses_in(facts):
        if not device:
            continue
        try:
            each = ipaddress.ip_interface(local.partition("%")[0])
        except ValueError:
            continue
        alone = each.network.num_addresses == 1
        if of_any_use or not (each.is_loopback or each.is_link_local or alone):
            yield device, each


def several(commons: Sequence[Common]) -> UsageError:
    """What is said where nobody is there to choose: ``--to 10.0.0.1 (10.0.0.0/24, eth1)``."""
    choices = "; ".join(
        f"--to {each.server_address} ({each.network}, {each.server_device})" for each in commons
    )
    return UsageError(f"the hosts have several networks in common: {choices}")
