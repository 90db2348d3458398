"""The path of traffic between two hosts: checked by routes and by the counters of interfaces.

The facts of a host are what its agent (netlab's program on the host) reports about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from netlab import clock
from netlab.errors import HostError
from netlab.remote.agent import Agent

PACKETS = {"TCP": 3, "UDP": 1}
"""Protocol → minimum number of packets that its check sends in each direction."""
COUNTERS_S = 3.0
"""Time limit for counters: some drivers update them only every second or two."""


class Far(Protocol):
    """The peer in a check of the path: its host and its address."""

    @property
    def name(self) -> str:
        """Name of its host."""

    @property
    def address(self) -> str:
        """Its test address."""


@dataclass(frozen=True, slots=True)
class RouteEnd:
    """One side of a check, with its agent."""

    agent: Agent
    address: str

    @property
    def name(self) -> str:
        """Name of its host."""
        return self.agent.host.name


def check_route(end: RouteEnd, peer: Far) -> Mapping[str, Any]:
    """Check that the kernel's route to the peer uses the interface of the test address.

    Returns the facts of the host. Raises HostError if another interface is used, or if the host
    does not have the address.
    """
    facts = end.agent.facts(to=peer.address)
    test_interface = interface_of(facts, end.address)
    if test_interface is None and "addresses" in facts:
        raise HostError(
            f"{end.name} does not have its test address {end.address}; "
            f"it has {plain_addresses(facts)}"
        )
    interface = facts.get("route_interface")
    if interface is not None and test_interface is not None and interface != test_interface:
        raise HostError(
            f"{end.name} reaches {peer.name} ({peer.address}) over {interface} from "
            f"{facts.get('route_source', 'another address')}, not over the test network "
            f"({test_interface}, {end.address}): correct its routes"
        )
    return facts


def check_counters(
    end: RouteEnd, peer: Far, first_facts: Mapping[str, Any], passed: set[str]
) -> str | None:
    """Check that the counters of the route's interface include the packets of the check, in and
    out.

    ``passed``: the protocols whose packets arrived. Returns a sentence if the host does not report
    counters. Raises HostError if the counters do not include the packets.
    """
    interface = first_facts.get("route_interface")
    least_packets = sum(PACKETS[protocol] for protocol in passed)
    keys = ("interface_sent_packets", "interface_received_packets")
    if not least_packets:
        return None
    if interface is None or any(key not in first_facts for key in keys):
        return (
            f"{end.name} does not report by which interface packets to {peer.address} leave: "
            "make sure that this interface belongs to the test network"
        )
    give_up = clock.monotonic() + COUNTERS_S
    while True:
        last_facts = end.agent.facts(to=peer.address)
        packet_counts = [last_facts.get(key, 0) - first_facts[key] for key in keys]
        if min(packet_counts) >= least_packets:
            return None
        if clock.monotonic() > give_up:
            raise HostError(
                f"{end.name}: {' and '.join(sorted(passed))} passed to {peer.name}, but "
                f"{interface} counted {packet_counts[0]} packets out and {packet_counts[1]} in: "
                "the traffic does not use the test network"
            )
        clock.sleep(0.1)


def interface_of(facts: Mapping[str, Any], address: str) -> str | None:
    """The device that has ``address``, according to ``addresses`` in the facts; ``None`` if none
    has it.
    """
    for device, local in addresses_in(facts):
        if local.partition("/")[0] == address.partition("%")[0]:
            return device
    return None


def prefix_of(facts: Mapping[str, Any], address: str) -> str | None:
    """``address`` with its prefix length, according to ``addresses`` in the facts; ``None`` if the
    host does not have it.
    """
    for _, local in addresses_in(facts):
        if local.partition("/")[0] == address.partition("%")[0]:
            return local
    return None


def plain_addresses(facts: Mapping[str, Any]) -> str:
    """The host's addresses for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in addresses_in(facts)) or "none"


def addresses_in(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Device and ``ADDRESS/PREFIX`` of each entry of the facts' ``addresses``."""
    for word in str(facts.get("addresses", "")).split(","):
        device, _, local = word.partition("=")
        if local:
            yield device, local
