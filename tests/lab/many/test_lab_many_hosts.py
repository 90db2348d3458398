"""A lab of many hosts: their names and addresses, and a run between the first and the last one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab import lab
from netlab.experiment.hosts import named
from netlab.lab.plan import (
    FIRST_UID,
    MOST_LINUX_HOSTS,
    MOST_WINDOWS_HOSTS,
    SLOTS,
    LabOptions,
    LabPlan,
    make_plan,
)
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

BEYOND_THE_ALPHABET = 28

MATRIX = """\
title: the first host and the last one
pairings: [{pairing}]
tests: [{{test: round_trip, protocol: UDP, message_size: 64, count: 10}}]
"""


def a_plan(slot: int, **wish: object) -> LabPlan:
    options = LabOptions(**{"name": "many", **wish})  # type: ignore[arg-type]
    options.check()
    taken = tuple(number for number in range(SLOTS) if number != slot)
    return make_plan(options, Path("/run/netlab/x"), routes=[], taken_slots=taken)


def test_every_host_of_the_largest_lab_has_a_unique_name_id_and_address() -> None:
    most = {"linux": MOST_LINUX_HOSTS, "windows": MOST_WINDOWS_HOSTS, "second_rate": 1e8}
    plans = [a_plan(slot, **most) for slot in (0, SLOTS - 1)]
    hosts = [host for plan in plans for host in plan.hosts]
    number = len(hosts)
    assert number == 2 * (MOST_LINUX_HOSTS + MOST_WINDOWS_HOSTS)
    assert len({host.uid for host in hosts}) == number
    assert all(FIRST_UID < host.uid < 100_000 for host in hosts)
    assert len({host.management_address for host in hosts}) == number
    for version in (0, 1):
        own = [a for host in hosts for a in (host.addresses[version], host.second[version])]
        assert len(set(own)) == 2 * number
    for plan in plans:
        ports = [cable.ends[1].interface for cable in plan.cables]
        assert len(set(ports)) == len(plan.cables) == number
        names = [plan.bridge, *ports, *(host.port for host in plan.hosts)]
        assert max(map(len, names)) <= 15
    names = [host.name for host in plans[0].hosts]
    assert [names[0], names[25], names[26], names[59]] == [
        "linux-a",
        "linux-z",
        "linux-aa",
        "linux-bh",
    ]


@pytest.fixture
def many() -> Iterator[lab.LabState]:
    name = f"many{os.getpid()}"
    try:
        yield lab.up(LabOptions(name=name, linux=BEYOND_THE_ALPHABET))
    finally:
        lab.down(name, forget=True)


@pytest.mark.needs("lab")
@pytest.mark.night
def test_a_lab_with_28_hosts_measures_between_its_first_and_last_host(
    many: lab.LabState, tmp_path: Path
) -> None:
    assert many.hosts[-1].name == "linux-ab"
    pairing = named(many.hosts[0].name, many.hosts[-1].name)
    (tmp_path / "m.yaml").write_text(MATRIX.format(pairing=pairing))
    outcome = run(
        Options(matrix=tmp_path / "m.yaml", hosts=many.hosts_file, into=tmp_path / "run"),
        Progress(quiet=True),
    )
    assert outcome.counts == {"ok": 1}
