"""Observed hosts: those that are active for a cell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import UsageError
from netlab.experiment.hosts import Host, Inventory, Mirror
from netlab.measurement.host_watch import share_a_machine
from netlab.remote.agent import Agent
from netlab.runner.host_pool import active_observers

NAMES = ("left", "dut", "right")


class Fake(Agent):
    """An agent without a process."""

    def __init__(self, name: str, *, is_gone: bool = False) -> None:
        self.host = Host(name=name, os="L", local=True)
        self._gone = "gone" if is_gone else None


def test_neither_end_of_a_cell_nor_a_lost_host_observes_the_cell() -> None:
    agents = {name: Fake(name) for name in NAMES}
    ends = agents["left"], agents["right"]
    assert active_observers(ends, agents) == (agents["dut"],)
    assert active_observers(ends, {"dut": Fake("dut", is_gone=True)}) == ()


def test_a_mirror_cannot_be_an_observed_host() -> None:
    pair_matrix = Host(name="board", os="X", mirror=Mirror("10.0.0.9", 7))
    with pytest.raises(UsageError, match="board is a mirror"):
        Inventory("hosts.yaml", (pair_matrix,), {}).observing(["board"])


def test_hosts_share_a_machine_only_if_two_machine_ids_are_equal() -> None:
    def on(**hello: Any) -> Agent:
        return cast(Agent, SimpleNamespace(hello=hello))

    assert share_a_machine([on(machine_id="a"), on(machine_id="b"), on(machine_id="a")])
    assert not share_a_machine([on(machine_id="a"), on(), on()])
