"""Hosts that only look on: read where they are there, done without elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import HostError, UsageError
from netlab.experiment.hosts import Host, Inventory, Mirror
from netlab.measure.host_watch import share_a_machine
from netlab.remote.agent import Agent
from netlab.run.observers import active_observers, look_on

NAMES = ("left", "dut", "right")


class Fake(Agent):
    """An agent without a process."""

    def __init__(self, name: str, *, gone: bool = False) -> None:
        self.host = Host(name=name, os="L", local=True)
        self._gone = "gone" if gone else None


def inventory(*observed: str) -> Inventory:
    hosts = tuple(Host(name=name, os="L", local=True) for name in NAMES)
    return Inventory("hosts.yaml", hosts, {}).observing(observed)


def test_a_host_that_is_an_end_elsewhere_is_not_connected_to_twice() -> None:
    asked: list[str] = []

    def connect(host: Host) -> Agent:
        asked.append(host.name)
        return Fake(host.name)

    left = Fake("left")
    agents, away = look_on(inventory("left", "dut"), {"left": left}, connect)
    assert (agents["left"], asked, away) == (left, ["dut"], ())


def test_one_that_is_away_is_named_and_done_without() -> None:
    def connect(host: Host) -> HostError:
        return HostError(f"{host.name}: no route to host")

    agents, away = look_on(inventory("dut"), {}, connect)
    assert agents == {}
    assert away == ("not observed: dut: no route to host",)


def test_of_a_cell_neither_end_looks_on_nor_does_one_that_was_lost() -> None:
    agents = {name: Fake(name) for name in NAMES}
    ends = agents["left"], agents["right"]
    assert active_observers(ends, agents) == (agents["dut"],)
    assert active_observers(ends, {"dut": Fake("dut", gone=True)}) == ()


def test_a_mirror_runs_no_probe_and_cannot_be_observed() -> None:
    pair_matrix = Host(name="board", os="X", mirror=Mirror("10.0.0.9", 7))
    with pytest.raises(UsageError, match="board is a mirror"):
        Inventory("hosts.yaml", (pair_matrix,), {}).observing(["board"])


def test_hosts_share_a_machine_only_where_their_ids_say_so() -> None:
    def on(**hello: Any) -> Agent:
        return cast(Agent, SimpleNamespace(hello=hello))

    assert share_a_machine([on(machine_id="a"), on(machine_id="b"), on(machine_id="a")])
    assert not share_a_machine([on(machine_id="a"), on(), on()])
