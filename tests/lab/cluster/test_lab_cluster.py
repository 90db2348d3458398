"""A scheduler and workers of two sites beside a lab: real dask, real TLS, real probes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_site import ClusterSite, cluster_site
from labs import needs_a_lab

from netlab import lab
from netlab.findings.analysis import load
from netlab.lab.plan import LabOptions
from netlab.trial.record import Record, Status

pytestmark = [*needs_a_lab, pytest.mark.needs("distributed", "openssl"), pytest.mark.night]

MATRIX = """
title: two sites
link: {rate: 100Mbit, mtu: 1500}
pairings: [linux-a+linux-b, linux-c+linux-d]
parallel: true
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [512, 1472]
    direction: [client-sends, server-sends]
    duration: 0.5s
  - test: round_trip
    protocol: UDP
    message_size: 64
    count: 50
"""
TRIALS = 18
ACROSS = {"north": ("linux-a", "linux-c"), "south": ("linux-b", "linux-d")}
"""Each pair of hosts is in two sites."""


@pytest.fixture(scope="module")
def four_linux() -> Iterator[lab.LabState]:
    name = f"t{os.getpid()}-c"
    try:
        yield lab.up(LabOptions(name=name, linux=4, rate=100e6))
    finally:
        lab.down(name, forget=True)


@pytest.fixture
def site(four_linux: lab.LabState, tmp_path: Path) -> Iterator[ClusterSite]:
    with cluster_site(four_linux, tmp_path, ACROSS) as site:
        (tmp_path / "matrix.yaml").write_text(MATRIX)
        yield site


def start(site: ClusterSite, *more: str) -> subprocess.Popen[str]:
    words = ["--hosts", str(site.inventory), "--cluster", site.address, "--no-report", *more]
    return site.typed("run", "matrix.yaml", "--into", "run", *words)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    output, _ = process.communicate(timeout=180)
    assert process.returncode == code, output
    return output


def records(site: ClusterSite) -> list[Record]:
    return list(load(site.folder / "run").records)


def await_records(site: ClusterSite, number: int) -> None:
    journal = site.folder / "run" / "journal.jsonl"
    until_s = time.monotonic() + 90
    while not journal.exists() or journal.read_text().count('"kind":"record"') < number:
        assert time.monotonic() < until_s
        time.sleep(0.05)


def none_is_left(site: ClusterSite, within_s: float = 20) -> bool:
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        if not any(site.probes().values()):
            return True
        time.sleep(0.2)
    return False


def is_whole(site: ClusterSite) -> bool:
    """Whether each trial has one result."""
    results = Counter((r.cell, r.trial) for r in records(site) if r.status is Status.OK)
    return len(results) == TRIALS and set(results.values()) == {1}


def test_pairs_across_two_sites_are_measured_although_workers_are_killed(site: ClusterSite) -> None:
    process = start(site)
    await_records(site, 2)
    for name in ("north-1", "south-2"):
        site.kill(name)
        time.sleep(1)
        site.start(name)
    finish(process)
    assert is_whole(site)
    assert none_is_left(site)
    rates = [
        record.values["throughput_bit_per_s"]
        for record in records(site)
        if record.status is Status.OK and "throughput_bit_per_s" in record.values
    ]
    assert len(rates) == 16
    assert all(isinstance(rate, float) and rate < 200e6 for rate in rates), "over its cable"


def test_a_run_whose_scheduler_is_lost_exits_with_4_and_can_be_resumed(site: ClusterSite) -> None:
    process = start(site)
    await_records(site, 4)
    site.kill("scheduler")
    output = finish(process, code=4)
    line = next(line for line in output.splitlines() if line.startswith("netlab: "))
    assert line == (f"netlab: the scheduler {site.address} is lost; to resume: netlab resume run")
    assert none_is_left(site)
    for name in site.workers:
        site.kill(name)
        (site.folder / f"{name}.log").unlink()
    for name in ("scheduler", *site.workers):
        site.start(name)
    site.wait()
    finish(site.typed("resume", "run", "--no-report"))
    assert is_whole(site)


def test_a_killed_cluster_run_leaves_no_probe_at_the_sites(site: ClusterSite) -> None:
    process = start(site)
    await_records(site, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert none_is_left(site)
    finish(start(site))
    assert is_whole(site)


def test_a_cluster_run_names_a_site_without_a_worker(site: ClusterSite) -> None:
    for name in ("south-1", "south-2"):
        site.kill(name)
    output = finish(start(site), code=4)
    assert "no worker of tls://" in output
    assert 'has the site south (dask worker --resources "south=1")' in output
