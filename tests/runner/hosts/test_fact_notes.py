"""Facts are noted once for each interface that the test addresses of a host use."""

from __future__ import annotations

import threading
from typing import Any, cast

from netlab.errors import HostError
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.runner.host_pool import FactNotes, routes_of
from netlab.store.run_folder import RunFolder


class Kept:
    """A run folder that keeps its notes in a list."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = []

    def note(self, kind: str, *, durable: bool = True, **data: Any) -> None:
        del durable
        self.notes.append((kind, data))


class FakeAgent:
    """An agent whose facts depend on the address; ``None``: it is lost."""

    def __init__(self, interfaces: dict[str, str | None]) -> None:
        self.interfaces = interfaces
        self.hello: dict[str, Any] = {}

    def facts(self, to: str) -> dict[str, Any]:
        name = self.interfaces[to]
        if name is None:
            raise HostError("gone")
        return {
            "id": "7", "kernel": "6.1", "route_interface": name, "interface_mtu_bytes": 1500
        }  # fmt: skip


def host(name: str, **addresses: str) -> Host:
    host_addresses = {network: (address,) for network, address in addresses.items()}
    return Host(name=name, os="L", addresses=host_addresses)


A = host("a", test="10.0.0.1", second="10.0.1.1")
B = host("b", test="10.0.0.2", second="10.0.1.2")
C = host("c", test="10.0.0.3")
PAIRS = [(A, B), (A, C), (B, C)]


def noted(
    agents: dict[str, FakeAgent], *, routes: bool = True
) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    folder, messages = Kept(), list[str]()
    notes = FactNotes(messages.append)
    cast_agents = cast("dict[str, Agent]", agents)
    notes.note(cast("RunFolder", folder), cast_agents, routes_of(PAIRS), "before")
    if routes:
        notes.note_routes(cast("RunFolder", folder), cast_agents, routes_of(PAIRS))
    return folder.notes, messages


def test_each_address_of_a_host_has_one_route_for_any_number_of_peers() -> None:
    routes = routes_of(PAIRS)
    assert routes["a"] == {"10.0.0.1": ("b", "10.0.0.2"), "10.0.1.1": ("b", "10.0.1.2")}
    assert routes["c"] == {"10.0.0.3": ("a", "10.0.0.1")}


def test_facts_of_a_second_interface_are_noted_with_its_route() -> None:
    notes, messages = noted({"a": FakeAgent({"10.0.0.2": "eth0", "10.0.1.2": "eth1"})})
    assert [kind for kind, _ in notes] == ["facts", "route"]
    assert notes[1][1] == {
        "host": "a",
        "address": "10.0.1.1",
        "peer": "b",
        "facts": {"route_interface": "eth1", "interface_mtu_bytes": 1500},
    }
    assert messages == []


def test_two_addresses_of_one_interface_are_noted_once() -> None:
    notes, _ = noted({"a": FakeAgent({"10.0.0.2": "eth0", "10.0.1.2": "eth0"})})
    assert [kind for kind, _ in notes] == ["facts"]


def test_a_route_without_facts_is_reported_and_all_other_facts_are_noted() -> None:
    notes, messages = noted({
        "a": FakeAgent({"10.0.0.2": "eth0", "10.0.1.2": None}),
        "b": FakeAgent({"10.0.0.1": "eth0", "10.0.1.1": "eth1"}),
    })  # fmt: skip
    assert [kind for kind, _ in notes] == ["facts", "facts", "route"]
    assert messages == ["warning: a: the facts of its route to b are not noted: gone"]


def test_facts_of_all_hosts_are_requested_at_the_same_time() -> None:
    meet = threading.Barrier(3, timeout=10)

    class Met(FakeAgent):
        """An agent that answers after all were asked."""

        def facts(self, to: str) -> dict[str, Any]:
            meet.wait()
            return super().facts(to)

    notes, messages = noted({
        "a": Met({"10.0.0.2": "eth0", "10.0.1.2": "eth0"}),
        "b": Met({"10.0.0.1": "eth0", "10.0.1.1": "eth0"}),
        "c": Met({"10.0.0.1": "eth0"}),
    }, routes=False)  # fmt: skip
    assert [data["host"] for _, data in notes] == ["a", "b", "c"]
    assert messages == []
