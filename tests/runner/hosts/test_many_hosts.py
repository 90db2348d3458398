"""A run with many simulated hosts: what a host and a record cost the controller, counted."""

from __future__ import annotations

import cProfile
import pstats
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cost.many_hosts import inventory
from benchmarks.cost.simulated.transports import simulated_hosts
from benchmarks.cost.simulated_hosts import (
    ROUND_TRIPS,
    STREAM,
    matrix_of,
    neighbours,
    random_pairs,
)
from netlab.runner import run as room
from netlab.runner.host_agents import HostAgents
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.runner.session import Session
from netlab.store.reader import read

pytestmark = pytest.mark.lab

HOSTS = 50
FEW, MANY = 50, 200


@dataclass
class Cost:
    """The cost of one run."""

    records: int
    calls: int
    """Calls of Python functions by the main thread of the session."""
    threads: Counter[str]
    """Threads by the function that they run, when all hosts are connected."""
    requests: int = 0


def cost_of(folder: Path, matrix: str, patch: pytest.MonkeyPatch) -> Cost:
    """Run a matrix with the simulated hosts."""
    profile = cProfile.Profile()
    threads: Counter[str] = Counter()
    measure, lock_all = room.measure, HostAgents.lock_all

    def profiled(session: Session) -> None:
        profile.enable()
        try:
            measure(session)
        finally:
            profile.disable()

    def counted(agents: HostAgents, *args: Any) -> None:
        lock_all(agents, *args)
        threads.update(thread.name.partition("(")[2] for thread in threading.enumerate())

    folder.mkdir()
    (folder / "hosts.yaml").write_text(inventory(HOSTS))
    (folder / "m.yaml").write_text(matrix)
    options = Options(matrix=folder / "m.yaml", hosts=folder / "hosts.yaml", into=folder / "run")
    with patch.context() as here, simulated_hosts(folder, helpers=1) as farm:
        here.setattr(room, "measure", profiled)
        here.setattr(HostAgents, "lock_all", counted)
        outcome = run(options, Progress(quiet=True))
    assert set(outcome.counts) == {"ok"}
    calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return Cost(outcome.counts["ok"], calls, threads, farm.requests.total())


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cost]]:
    """The costs of few and of many pairs of the same hosts."""
    folder = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:
        yield [
            cost_of(folder / str(pairs), matrix_of(random_pairs(HOSTS, pairs), ROUND_TRIPS), patch)
            for pairs in (FEW, MANY)
        ]


def test_every_pairing_of_many_hosts_has_its_record(costs: list[Cost]) -> None:
    assert [cost.records for cost in costs] == [FEW, MANY]


def test_each_host_costs_the_controller_one_thread(costs: list[Cost]) -> None:
    readers = [cost.threads["_read)"] for cost in costs]
    assert FEW // 2 < readers[0] < readers[1] == HOSTS
    for cost, number in zip(costs, readers, strict=True):
        assert cost.threads.total() <= number + 8


def test_the_work_of_the_controller_for_a_record_does_not_grow_with_the_number_of_cells(
    costs: list[Cost],
) -> None:
    few, many = costs
    # With four times as many cells; a slow machine waits in more steps.
    assert many.calls / many.records < 2 * few.calls / few.records
    assert many.requests / many.records < 2 * few.requests / few.records


def test_all_hosts_stream_in_one_round_with_one_common_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = cost_of(tmp_path / "streams", matrix_of(neighbours(HOSTS), STREAM), monkeypatch)
    assert cost.records == HOSTS // 2
    records = read(tmp_path / "streams" / "run").records
    assert {record.values.get("common_window_trials") for record in records} == {HOSTS // 2}
