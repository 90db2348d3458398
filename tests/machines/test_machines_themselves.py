"""What happens within a machine is named: its clock is set or corrected, its CPUs' backlog is full,
it starts another kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from machine import Machine, cable
from machine_lab import MachineLab, machine_lab, names_of, said_by, the
from sshd import make_key

pytestmark = [pytest.mark.needs("machines", "tun"), pytest.mark.night]

STREAM = """\
title: A machine to which something happens
pairings: [machine+near]
repeats: {repeats}
pause: {pause}
tests:
  - {{test: stream, protocol: UDP, message_size: 1000, rate: {rate}, duration: 6s, warm_up: 1s}}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineLab]:
    with machine_lab(tmp_path_factory.mktemp("machines")) as of:
        of.host()
        yield of


@pytest.fixture
def machine(lab: MachineLab) -> Machine:
    return lab.machines["machine"]


def stream(repeats: int = 1, pause: str = "0s", rate: str = "2Mbit") -> str:
    return STREAM.format(repeats=repeats, pause=pause, rate=rate)


def wait_for(true: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 120
    while not true():
        assert time.monotonic() < give_up_s, "waited two minutes in vain"
        time.sleep(0.05)


def packets(machine: Machine) -> int:
    return int(machine.run("cat /sys/class/net/eth1/statistics/rx_packets"))


def test_nothing_is_said_about_the_clock_of_a_machine_that_is_left_alone(lab: MachineLab) -> None:
    run = lab.run(stream(repeats=2), "alone")
    assert {str(record.status) for record in run.latest.values()} == {"ok"}, said_by(run)
    assert not names_of(run) & {"clock/step", "clock/rate", "loss/backlog", "facts-changed"}


def test_a_clock_that_is_set_during_a_trial_is_named_with_its_step(
    lab: MachineLab, machine: Machine
) -> None:
    before = packets(machine)
    process = lab.begin(stream(), "step")
    # A second of the stream, and what comes before it.
    wait_for(lambda: packets(machine) > before + 400)
    machine.set_clock(3)
    run = lab.end(process, "step")
    step = the(run, "clock/step")
    assert step.group.host == "machine"
    assert step.evidence["clock_step_ns"] == pytest.approx(3e9, abs=0.1e9)


@pytest.mark.parametrize("ppm", [-300, 450])
def test_a_clock_whose_rate_is_corrected_is_named_with_its_rate(
    lab: MachineLab, machine: Machine, ppm: int
) -> None:
    machine.drift(ppm)
    try:
        run = lab.run(stream(), f"rate{ppm}")
    finally:
        machine.drift(0)
    rate = the(run, "clock/rate")
    assert rate.group.host == "machine"
    assert rate.evidence["clock_ppm"] == pytest.approx(ppm, abs=30)


def test_drops_in_the_backlog_of_a_machines_cpu_are_named(
    lab: MachineLab, machine: Machine
) -> None:
    queue = "/sys/class/net/eth1/queues/rx-0/rps_cpus"
    usual = machine.run("sysctl -n net.core.netdev_max_backlog")
    before = softnet_drops(machine)
    # Packets that are steered to a CPU go through its backlog.
    machine.run(f"echo 1 > {queue}; sysctl -qw net.core.netdev_max_backlog=1")
    try:
        run = lab.run(stream(rate="20Mbit"), "backlog")
    finally:
        machine.run(f"echo 0 > {queue}; sysctl -qw net.core.netdev_max_backlog={usual}")
    assert softnet_drops(machine) > before
    loss = the(run, "loss/backlog")
    assert loss.words["at_host"] == "machine"


def softnet_drops(machine: Machine) -> int:
    """Second column of the kernel's own table."""
    return int(machine.run("cat /proc/net/softnet_stat").split()[1], 16)


def test_a_machine_that_starts_an_older_kernel_between_two_trials_is_named(
    lab: MachineLab, machine: Machine
) -> None:
    kernels = [machine.run("uname -r")]
    journal = lab.folder / "reboot" / "journal.jsonl"
    process = lab.begin(stream(repeats=2, pause="5s"), "reboot")
    wait_for(lambda: journal.exists() and '"kind":"record"' in journal.read_text())
    machine.reboot("older")
    try:
        kernels.append(machine.run("uname -r"))
        run = lab.end(process, "reboot")
    finally:
        machine.reboot("today")
    assert [int(text.split(".")[0]) for text in kernels] == [6, 5]
    assert [str(record.status) for record in run.latest.values()] == ["ok"] * 2, said_by(run)
    changed = the(run, "facts-changed")
    assert changed.group.host == "machine"
    old, new = changed.words["kernel"].split(" → ")
    assert (kernels[0] in old, kernels[1] in new) == (True, True)


def test_two_machines_with_emulated_cards_reach_each_other_over_a_cable(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    cards = cable(tmp_path, "e1000")
    ends = [
        [f"ip address add 10.81.5.{number}/24 dev eth1", "ip link set eth1 up"] for number in (1, 2)
    ]
    with Machine("one", key, cards[:1], ends[0]) as one, Machine("two", key, cards[1:], ends[1]):
        assert "e1000" in one.run("readlink /sys/class/net/eth1/device/driver")
        assert "3 packets received" in one.run("ping -c 3 -W 5 10.81.5.2")
