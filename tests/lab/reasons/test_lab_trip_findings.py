"""Findings about round trips and connections over a shaped cable of the lab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from labs import needs_a_lab

from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Finding
from netlab.report.text.findings import RunIndex, sentence

pytestmark = needs_a_lab


@pytest.fixture(scope="module")
def run(cable_run: Path) -> Analysis:
    """The cable is shaped to 20 Mbit/s, by a shaper that lets bursts pass."""
    return load(cable_run)


def of_kind(run: Analysis, kind: str, size: int) -> list[Finding]:
    every = (finding for finding in run.findings if finding.kind == kind)
    return [finding for finding in every if finding.group.message_bytes == size]


@pytest.mark.produces("below-floor")
def test_round_trips_faster_than_the_link_allows_give_a_warning_about_a_shaper(
    run: Analysis,
) -> None:
    udp, tcp = sorted(
        of_kind(run, "below-floor", 1300), key=lambda finding: finding.evidence["floor_trip_ns"]
    )
    # 1300 bytes, 28 of UDP and IPv4 or 48 with IPv6, and 26 of framing, each way at 20 Mbit/s.
    assert udp.evidence["floor_trip_ns"] in (1_083_200, 1_099_200)
    for finding in (udp, tcp):
        assert (finding.severity, len(finding.trials)) == ("warning", 2)
        assert finding.evidence["shortest_trip_ns"] < finding.evidence["floor_trip_ns"]
        text = sentence(finding, RunIndex(run))
        assert re.search(r"their frames alone take 1\.\d+ ms on a link of 20 Mbit/s: a shap", text)


def test_connections_without_loss_get_no_finding_of_a_lost_first_packet(run: Analysis) -> None:
    assert of_kind(run, "first-packet-lost", 64) == []
