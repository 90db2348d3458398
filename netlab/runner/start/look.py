"""Asks hosts that are in no inventory yet for their facts; a person confirms their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netlab.errors import HostKeyError, UnknownHostKey, UsageError
from netlab.experiment.hosts import Host
from netlab.experiment.matrix import Link
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.runner.start.ask import HERE, host_by_ssh, link_of, this_machine
from netlab.runner.start.found_hosts import FoundHost, SharedNetwork, free_name
from netlab.runner.start.networks import addresses_of
from netlab.units import many

Confirm = Callable[[UnknownHostKey], bool]
"""Asks a person whether the key in the error belongs to the host."""


def hosts_to_ask(words: Sequence[str], keys: Mapping[str, str]) -> tuple[Host, ...]:
    """The hosts of the command line; if there are fewer than two, this machine is added.

    ``keys``: word → the key of this host or its fingerprint. UsageError for a word that is no host,
    or for a key whose word is not among ``words``.
    """
    unknown = sorted(set(keys) - set(words))
    if unknown:
        raise UsageError(f"--host-key {unknown[0]}: no such HOST on the command line")
    hosts: dict[str, Host] = {}
    for word in words:
        host = host_by_ssh(word)
        host = replace(host, host_key=keys.get(word), name=free_name(host.name, hosts))
        hosts[host.name] = host
    if len(hosts) < 2:
        own_host = this_machine(free_name(HERE, hosts))
        hosts[own_host.name] = own_host
    return tuple(hosts.values())


def with_keys(agents: AgentGroup, hosts: Sequence[Host], confirm: Confirm) -> tuple[Host, ...]:
    """Log in to all hosts; returns them with the keys that a person confirmed.

    Raises UnknownHostKey for a key that nobody confirmed, HostError if a host cannot be reached.
    """
    by_name = {host.name: host for host in hosts}
    remote_hosts = [host for host in hosts if not host.local]
    while remote_hosts:
        unknown = _unknown_keys(agents, remote_hosts)
        for name, error in unknown.items():
            host = by_name[name]
            if error.shown != name or host.host_key is not None or not confirm(error):
                raise error
            by_name[name] = replace(host, host_key=error.key)
        remote_hosts = [by_name[name] for name in unknown]
    return tuple(by_name.values())


def _unknown_keys(agents: AgentGroup, hosts: Sequence[Host]) -> dict[str, UnknownHostKey]:
    """Host name → error of a host whose key is unknown; raises any other error of a host."""
    errors = agents.log_in(hosts)
    unknown = {name: error for name, error in errors.items() if isinstance(error, UnknownHostKey)}
    other_errors = [error for name, error in errors.items() if name not in unknown]
    # A key that differs from the known one is reported before a person confirms any other key.
    if other_errors:
        raise min(other_errors, key=lambda error: not isinstance(error, HostKeyError))
    return unknown


def look(agents: AgentGroup, hosts: Sequence[Host]) -> tuple[FoundHost, ...]:
    """The hosts with the facts that their probes report; HostError if a host cannot be asked."""
    agents.log_in_to_all(hosts)
    return tuple(
        FoundHost(agents.seen(host), _words(agents.hello(host), facts), addresses_of(facts))
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
    """The rate of the slowest interface in a network, and the smallest MTU; ``None`` if an
    interface does not report its rate.
    """
    inside = [host for host in hosts if host.name in network.members]
    addresses = [network.members[host.name].address for host in inside]
    ways = [agents.facts(host, addresses[number - 1]) for number, host in enumerate(inside)]
    return link_of(ways)
