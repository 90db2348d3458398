"""The hosts of a run as they were found, and whom each of them measures with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from netlab.errors import HostError
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.runner.preflight import common_addresses

Pairs = Collection[tuple[Host, Host]]
"""Server and client of each pairing."""


def described(pairs: Pairs, agents: Mapping[str, Agent]) -> dict[str, Any]:
    """Each host as the inventory has it and as its agent greeted; mirrors as the inventory."""
    mirrors = {
        server.name: {
            "os": server.os,
            "machine": server.machine,
            "mirror": f"{server.mirror.address} port {server.mirror.port}",
        }
        for server, _ in pairs
        if server.mirror is not None
    }
    return mirrors | {
        name: {
            "os": agent.host.os,
            "machine": agent.host.machine,
            "addresses": {key: list(value) for key, value in agent.host.addresses.items()},
            "local": agent.host.local,
            **{k: v for k, v in agent.hello.items() if k not in ("type", "id", "pid")},
        }
        for name, agent in agents.items()
    }


def peers_of(pairs: Pairs) -> dict[str, str]:
    """For each host the test address of one that it measures with, over a cable if over any."""
    peers: dict[str, str] = {}
    for server, client in sorted(pairs, key=_within_a_machine):
        if server.mirror is not None:
            peers.setdefault(client.name, server.mirror.address)
            continue
        try:
            there, here = common_addresses(server, client)[0]
        except HostError:
            # One of many pairs by name that have no way to each other: its own trials say so.
            continue
        peers.setdefault(server.name, here)
        peers.setdefault(client.name, there)
    return peers


def routes_of(pairs: Pairs) -> dict[str, dict[str, tuple[str, str]]]:
    """For each host its test addresses, each with the name and address of one that is reached
    from it: so that each interface is looked at once, however many hosts are behind it.
    """
    routes: dict[str, dict[str, tuple[str, str]]] = {}
    for server, client in sorted(pairs, key=_within_a_machine):
        if server.mirror is not None:
            continue
        try:
            both = common_addresses(server, client)
        except HostError:
            continue
        for there, here in both:
            routes.setdefault(server.name, {}).setdefault(there, (client.name, here))
            routes.setdefault(client.name, {}).setdefault(here, (server.name, there))
    return routes


def _within_a_machine(pair: tuple[Host, Host]) -> bool:
    server, client = pair
    return server.machine_name == client.machine_name
