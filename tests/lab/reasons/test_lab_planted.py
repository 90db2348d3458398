"""Limits planted in a lab, for tests to find: a CPU quota, one slower cable, another MTU."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from labs import inside, needs_a_lab, traces

from netlab import lab
from netlab.errors import HostError
from netlab.lab import programs, state
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab

NAME = f"q{os.getpid()}"


@pytest.fixture(scope="module")
def planted() -> Iterator[lab.LabState]:
    """A star of three hosts, each with something of its own."""
    name = f"{NAME}-star"
    options = LabOptions(
        name=name,
        linux=3,
        rate=100e6,
        cpu_shares={} if programs.quota_controller() is None else {"linux-a": 0.2},
        rates={"linux-b": 10e6},
        mtus={"linux-c": 1400},
    )
    try:
        yield lab.up(options)
    finally:
        lab.down(name)


BURN = """
import time
begin, spent = time.monotonic(), time.process_time()
while time.monotonic() - begin < 0.8: pass
print(time.process_time() - spent, open("{stat}").read())
"""


@pytest.mark.needs("quota")
def test_processes_of_a_lab_host_get_only_their_cpu_quota(
    planted: lab.LabState,
) -> None:
    controller = programs.quota_controller()
    assert controller is not None
    script = BURN.format(stat=f"{controller.mount['at']}/cpu.stat")
    argv = ["ssh", "-F", str(planted.ssh_config), "-o", "BatchMode=yes", "linux-a"]
    argv.append("python3 -S -")
    process = subprocess.run(
        argv, input=script, capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 0, process.stderr
    spent_s, *words = process.stdout.split()
    # 0.16 s of 0.8 s, and what a period's beginning and end make of it.
    assert float(spent_s) < 0.3
    statistics = dict(zip(words[::2], words[1::2], strict=True))
    assert int(statistics["nr_throttled"]) >= 1
    assert "linux-a" in planted.as_text() and "20 % of a CPU" in planted.as_text()


def test_a_star_applies_a_slower_rate_and_a_smaller_mtu_only_to_the_named_hosts(
    planted: lab.LabState,
) -> None:
    plain = planted.as_json()["hosts"]
    assert [host.get("rate") for host in plain] == [None, 10e6, None]
    queues = [inside(planted, host, "tc", "qdisc", "show", "dev", "test") for host in range(3)]
    rates = [queue.partition(" rate ")[2].split()[0] for queue in queues]
    assert rates == ["100Mbit", "10Mbit", "100Mbit"]
    links = [inside(planted, host, "ip", "-j", "link", "show", "test") for host in range(3)]
    assert [json.loads(link)[0]["mtu"] for link in links] == [1500, 1500, 1400]
    assert "10 Mbit/s" in planted.as_text() and "MTU 1400" in planted.as_text()


@pytest.mark.needs("quota")
def test_lab_down_removes_the_control_group() -> None:
    lab_state = lab.up(LabOptions(name=NAME, cpu_shares={"linux-b": 0.5}))
    controller = programs.quota_controller()
    assert lab_state.plan is not None and controller is not None
    group = controller.folder / lab_state.hosts[1].namespace
    assert group.is_dir()
    assert str(group) in traces(lab_state.plan)
    lab.down(NAME)
    assert traces(lab_state.plan) == []


def test_lab_up_refuses_a_cpu_quota_without_control_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "quota_controller", lambda root=programs.ROOT: None)
    with pytest.raises(HostError, match=r"--cpu-quota linux-a: .* has no CPU controller: a CPU"):
        lab.up(LabOptions(name=NAME, cpu_shares={"linux-a": 0.5}))
    assert not state.folder_of(NAME).exists()
