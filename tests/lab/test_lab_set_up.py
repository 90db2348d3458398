"""What a cell costs beyond its measured time, beside a command over a kept SSH connection."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import first_itself, first_on_the_cpus, needs_a_lab

from benchmarks.cost.set_up import kept_connection, netlab_costs, timed_ms
from netlab import lab
from netlab.lab.plan import LabOptions

pytestmark = [*needs_a_lab, pytest.mark.week]

NAME = f"s{os.getpid()}"
ROUNDS = 4


@pytest.fixture(scope="module")
def cable() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, rate=100e6))
    finally:
        lab.down(NAME)


def test_a_cell_costs_less_extra_time_than_an_empty_command_over_an_open_ssh_connection(
    cable: lab.LabState, tmp_path: Path
) -> None:
    """In rounds of seven cells and then seven times `true`: what delays one delays the other."""
    ratios = []
    client = cable.hosts[1].name
    with kept_connection(cable, client) as ssh, first_on_the_cpus(cable), first_itself():
        for number in range(ROUNDS):
            (folder := tmp_path / str(number)).mkdir()
            costs_ms = [cost.cost_ms for cost in netlab_costs(cable, folder, 1, duration_s=0.2)]
            commands_ms = [timed_ms([*ssh, "true"]) for _ in costs_ms]
            ratios.append(statistics.median(costs_ms) / statistics.median(commands_ms))
    assert 0 < statistics.median(ratios) < 1, ratios
