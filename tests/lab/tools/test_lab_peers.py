"""The field's tools as the throughput benchmark asks them and reads what they say, over a cable of
the lab: each counts what the framing leaves, as netlab does."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from labs import needs_a_lab

from benchmarks.peers.ends import Cable, Tool
from benchmarks.peers.throughput import WAYS
from benchmarks.peers.tools import RIVALS, Case, Reading
from netlab import lab
from netlab.lab.plan import LabOptions

pytestmark = [
    *needs_a_lab,
    pytest.mark.needs("two-cpus", "iperf3", "iperf2", "nuttcp", "netperf"),
    pytest.mark.week,
]

RATE_BIT_PER_S = 20e6
# netperf counts what still waits in the sender's socket when its time is over: 128 KiB of it are
# 3.5 % of these two seconds, 32 KiB 0.7 %.
UDP = Case("UDP", 1472, 32 * 1024, 2)
TCP = Case("TCP", 1448, 128 * 1024, 2)
# MTU 1500 and 38 bytes of frame besides: 1472 bytes of payload over UDP, 1448 over TCP.
CEILING_MBIT_PER_S = {UDP: 20 * 1472 / 1538, TCP: 20 * 1448 / 1538}


@pytest.fixture(scope="module")
def cable() -> Iterator[Cable]:
    name = f"p{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, rate=RATE_BIT_PER_S))
        yield Cable(lab_state.hosts[0], lab_state.hosts[1])
    finally:
        lab.down(name)


@pytest.mark.parametrize("case", [UDP, TCP], ids=str)
@pytest.mark.parametrize("tool", [*WAYS, *RIVALS], ids=lambda tool: tool.name)
def test_the_benchmark_reads_the_throughput_of_the_wire_from_each_tool(
    tool: Tool[Case, Reading], case: Case, cable: Cable
) -> None:
    reading = tool.measure(case, cable)
    assert reading.mbit_per_s == pytest.approx(CEILING_MBIT_PER_S[case], rel=0.02)
    assert (reading.loss is None) == (case is TCP)
    assert reading.loss is None or 0 <= reading.loss < 1
