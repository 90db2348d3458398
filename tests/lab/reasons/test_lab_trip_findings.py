"""Round trips and connections in the virtual lab: what its records are told to show."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from labs import needs_a_lab, run_matrix

from netlab import lab
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding
from netlab.lab.options import LabOptions
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

pytestmark = needs_a_lab

MATRIX = """\
title: round trips over a shaped cable
link: {rate: 100Mbit, mtu: 1500}
pairings: [LL]
repeats: 3
defaults: {congestion: cubic}
tests:
  - test: round_trip
    protocol: UDP
    message_size: 1472
    duration: 500ms
  - test: connect
    message_size: 64
    duration: 500ms
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysis]:
    """What a run left in a lab whose cable is shaped to 100 Mbit/s, which lets bursts pass."""
    folder = tmp_path_factory.mktemp("run")
    name = f"t{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, rate=100e6))
        yield run_matrix(lab_state, folder, MATRIX)
    finally:
        lab.down(name)


def of_kind(run: Analysis, kind: str, size: int) -> list[Finding]:
    every = (finding for finding in run.findings if finding.kind == kind)
    return [finding for finding in every if finding.group.message_bytes == size]


def test_the_shaper_delays_no_single_frame_and_that_is_said(run: Analysis) -> None:
    (finding,) = of_kind(run, "below-floor", 1472)
    assert (finding.severity, len(finding.trials)) == ("warning", 3)
    # 1526 bytes each way at 100 Mbit/s.
    assert finding.evidence["floor_trip_ns"] == pytest.approx(244_160)
    assert finding.evidence["shortest_trip_ns"] < 200_000
    text = sentence(finding, RunIndex(run))
    assert "but their frames alone take 244 µs on a link of 100 Mbit/s: a shaper passes" in text


def test_connections_that_nothing_held_up_have_lost_no_first_packet(run: Analysis) -> None:
    assert of_kind(run, "first-packet-lost", 64) == []
