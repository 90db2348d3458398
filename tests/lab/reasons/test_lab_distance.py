"""What a run over a short cable says of a longer path is what TCP comes to over that path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from folders import ROOT
from labs import first_on_the_cpus, needs_a_lab, run_matrix

from netlab import lab
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.lab import programs
from netlab.lab.plan import LabOptions

pytestmark = [*needs_a_lab, pytest.mark.night]

NAME = f"d{os.getpid()}"
WITHIN = 0.1
BUFFERS = {20: (65536, 131072), 50: (65536, 262144)}
"""Round trip in ms → buffers that fill no link of 100 Mbit/s there."""
MATRIX = """\
title: distance
link: {{rate: 100Mbit, mtu: 1500, hops: 1}}
target: {{rtt: {rtt}ms, rate: 1Gbit}}
pairings: [LL]
tests:
  - test: stream
    protocol: TCP
    message_size: 64KiB
    socket_buffer: [{buffers}]
    congestion: cubic
    duration: 2s
    warm_up: 700ms
"""
HOSTS = ("linux-a", "linux-b")
"""The router's interfaces are called as the hosts at them."""


@pytest.fixture(scope="module")
def routed() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, rate=100e6, topology="router"))
    finally:
        lab.down(NAME)


@contextmanager
def delayed(of: lab.LabState, rtt_ms: float) -> Iterator[None]:
    """The router holds each packet for half of a round trip."""
    assert of.plan is not None and of.plan.router is not None
    argv = ["ip", "netns", "exec", of.plan.router, sys.executable]
    argv += [
        str(ROOT / "benchmarks" / "truths" / "scripts" / "delay.py"),
        str(rtt_ms / 2000),
        *HOSTS,
    ]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
        assert holding.stdout is not None and holding.stdin is not None
        assert holding.stdout.readline() == b"ready\n"
        os.sched_setscheduler(holding.pid, os.SCHED_RR, os.sched_param(2))
        try:
            yield
        finally:
            holding.stdin.close()
            holding.wait(timeout=10)
            for host in HOSTS:
                programs.run("ip", "-n", of.plan.router, "rule", "del", "iif", host)


def run_in(of: lab.LabState, folder: Path, rtt_ms: int) -> Analysis:
    folder.mkdir()
    buffers = ", ".join(map(str, BUFFERS[rtt_ms]))
    with first_on_the_cpus(of, "linux-a", "linux-b"):
        return run_matrix(of, folder, MATRIX.format(rtt=rtt_ms, buffers=buffers))


def by_buffer(run: Analysis) -> dict[int, float]:
    return {
        int(str(record.settings["socket_buffer_bytes"])): float(
            str(record.values["throughput_bit_per_s"])
        )
        for record in run.records
    }


def predicted(run: Analysis) -> dict[int, float]:
    """Buffer asked for → what is said to be possible at the target, by the buffer at fault."""
    rates = {}
    for finding in run.findings:
        if finding.kind is Kind.TARGET_FAILS:
            ((_, size),) = finding.group.conditions
            rates[int(str(size))] = finding.evidence["predicted_bit_per_s"]
            assert finding.words["bounds"].count("buffer of linux-") == 2
            assert "the link carries 94.10 Mbit/s" in finding.words["bounds"]
    return rates


@pytest.mark.parametrize("rtt_ms", [20, 50])
@pytest.mark.produces("target/fails")
def test_the_predicted_rate_over_a_long_path_is_within_10_percent_of_the_measured_rate(
    routed: lab.LabState, tmp_path: Path, rtt_ms: int
) -> None:
    near_rates = predicted(run_in(routed, tmp_path / "near", rtt_ms))
    with delayed(routed, rtt_ms):
        far = run_in(routed, tmp_path / "far", rtt_ms)
    assert {*near_rates} == {*BUFFERS[rtt_ms]}
    measured_rates = by_buffer(far)
    off = {size: rate / measured_rates[size] - 1 for size, rate in near_rates.items()}
    assert max(map(abs, off.values())) <= WITHIN, (near_rates, measured_rates)
    # Over the long path itself it says the same.
    far_rates = predicted(far)
    off = {size: rate / measured_rates[size] - 1 for size, rate in far_rates.items()}
    assert max(map(abs, off.values())) <= WITHIN, (far_rates, measured_rates)
