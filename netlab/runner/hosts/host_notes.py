"""The hosts of a run as they were found, and the peers of each host.

A pairing is two hosts between which a run measures. An agent is the program of netlab on a host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from netlab.errors import HostError
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.runner.preflight import common_addresses

Pairs = Collection[tuple[Host, Host]]
"""Server and client of each pairing."""


def host_descriptions(pairs: Pairs, agents: Mapping[str, Agent]) -> dict[str, Any]:
    """Host name → its data from the inventory and from the greeting (``hello``) of its agent. For a
    host without an agent there is only the data from the inventory."""
    without_agent = {server.name: _services(server) for server, _ in pairs if not server.has_agent}
    return without_agent | {
        name: {
            "os": agent.host.os,
            "machine": agent.host.machine,
            "addresses": {key: list(value) for key, value in agent.host.addresses.items()},
            "local": agent.host.local,
            **{k: v for k, v in agent.hello.items() if k not in ("type", "id", "pid")},
        }
        for name, agent in agents.items()
    }


def _services(server: Host) -> dict[str, Any]:
    """The data of a host without an agent, with the address and the port of its echo service and
    of each of its servers.
    """
    services = dict(server.serves)
    if server.mirror is not None:
        services["mirror"] = server.mirror
    places = {name: f"{at.address} port {at.port}" for name, at in services.items()}
    return {"os": server.os, "machine": server.machine, **places}


def peers_of(pairs: Pairs) -> dict[str, str]:
    """Host name → test address of one peer, preferably of a peer on another machine."""
    peers: dict[str, str] = {}
    for server, client in sorted(pairs, key=_within_a_machine):
        if not server.has_agent:
            peers.setdefault(client.name, server.service_addresses[0])
            continue
        try:
            server_address, client_address = common_addresses(server, client)[0]
        except HostError:
            # These two hosts have no common network. The trials of their pairing report this.
            continue
        peers.setdefault(server.name, client_address)
        peers.setdefault(client.name, server_address)
    return peers


def routes_of(pairs: Pairs) -> dict[str, dict[str, tuple[str, str]]]:
    """Host name → test address → name and address of one peer that is reached from this address.

    One peer per address is enough to find each interface, however many hosts are behind it.
    """
    routes: dict[str, dict[str, tuple[str, str]]] = {}
    for server, client in sorted(pairs, key=_within_a_machine):
        if not server.has_agent:
            continue
        try:
            addresses = common_addresses(server, client)
        except HostError:
            continue
        for server_address, client_address in addresses:
            routes.setdefault(server.name, {}).setdefault(
                server_address, (client.name, client_address)
            )
            routes.setdefault(client.name, {}).setdefault(
                client_address, (server.name, server_address)
            )
    return routes


def _within_a_machine(pair: tuple[Host, Host]) -> bool:
    server, client = pair
    return server.machine_name == client.machine_name
