"""Facts that a probe reads of its host, beside what this machine's own files say. Linux alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netlab.build.binaries import local_probe

CPU = Path("/sys/devices/system/cpu")
USABLE = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]


def facts(*words: str) -> dict[str, Any]:
    process = subprocess.run(
        [str(local_probe()), "facts", *words], capture_output=True, text=True, check=True
    )
    record: dict[str, Any] = json.loads(process.stdout)
    return record


def line(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def test_facts_name_each_governor_of_the_usable_cpus_once() -> None:
    governors = [line(CPU / f"cpu{cpu}/cpufreq/scaling_governor") for cpu in USABLE]
    names = list(dict.fromkeys(name for name in governors if name is not None))
    assert facts().get("governor") == (",".join(names) or None)


def test_facts_name_the_enabled_idle_state_with_the_longest_wake_up() -> None:
    states = [
        (int(line(state / "latency") or 0), line(state / "name"))
        for cpu in USABLE
        for state in sorted((CPU / f"cpu{cpu}/cpuidle").glob("state*"))
        if line(state / "disable") == "0"
    ]
    answer = facts()
    if not states:
        assert "idle_state_deepest" not in answer
        return
    deepest = max(latency for latency, _ in states)
    assert answer["idle_state_latency_us"] == deepest
    assert (deepest, answer["idle_state_deepest"]) in states


def test_facts_count_the_memory_nodes_of_the_host() -> None:
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    assert facts().get("numa_nodes") == (len(nodes) or None)


def cpus(text: str) -> set[int]:
    """Of "0-3,8"; "none" is none."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first != "none":
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


@pytest.mark.needs("default-route")
def test_facts_of_a_route_list_the_cpus_that_serve_its_interface() -> None:
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    gateways = [row.split()[:3] for row in routes if row.split()[1] == "00000000"]
    name, _, gateway = gateways[0]
    address = ".".join(str(byte) for byte in reversed(bytes.fromhex(gateway)))
    answer = facts(f"to={address}")
    assert answer["route_interface"] == name
    masks = [
        int((line(queue / "rps_cpus") or "0").replace(",", ""), 16)
        for queue in Path(f"/sys/class/net/{name}/queues").glob("rx-*")
    ]
    if masks:
        spread = {cpu for mask in masks for cpu in range(mask.bit_length()) if mask >> cpu & 1}
        assert cpus(answer["interface_rps_cpus"]) == spread
    if "interface_irq_cpus" in answer:
        assert cpus(answer["interface_irq_cpus"]) <= set(range(os.cpu_count() or 1))
    for queue in ("interface_queues_rx", "interface_queues_tx", "interface_rss_queues"):
        assert answer.get(queue, 1) >= 1


def test_facts_of_the_loopback_route_list_no_cpus_that_serve_its_interface() -> None:
    """Loopback has the same name, number and address everywhere: nothing tells whose it is."""
    answer = facts("to=127.0.0.1")
    assert answer["route_interface"] == "lo"
    assert not {"interface_rps_cpus", "interface_irq_cpus", "interface_numa_node"} & set(answer)


def ticks() -> list[tuple[int, int, int]]:
    """Each CPU's number, ticks that it was busy and ticks in all, by proc_stat(5). What others on
    the hypervisor took is a part of all, and no work of this machine."""
    rows = [row.split() for row in Path("/proc/stat").read_text().splitlines()]
    cpu_ticks = []
    for name, *counts in rows:
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, counts[:8])
            busy = user + nice + system + irq + softirq
            cpu_ticks.append((int(name[3:]), busy, busy + idle + iowait + steal))
    return cpu_ticks


def test_facts_report_busy_and_total_ticks_of_each_cpu_on_request() -> None:
    """Between what the system says before the probe is asked, and what it says afterwards."""
    assert "cpu_busy_ticks" not in facts()
    ticks_before, answer, ticks_after = ticks(), facts("cpu_times=1"), ticks()
    lists = [answer[f"cpu_{name}"] for name in ("numbers", "busy_ticks", "total_ticks")]
    for old, figures, new in zip(ticks_before, zip(*lists, strict=True), ticks_after, strict=True):
        assert old[0] == figures[0] == new[0]
        assert old[1] <= figures[1] <= new[1]
        # Linux may count a time as idle first and as waiting for a disk later, and rounds each.
        assert old[2] - 2 <= figures[2] <= new[2] + 2
