"""A search recorded through the lab's router, with a limit of frames a second planted in it: the
page says what the seed document concludes, the device at small frames, the link at large ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix

from netlab import lab
from netlab.ethernet import frames_per_s
from netlab.findings.finding import Kind
from netlab.lab import programs
from netlab.lab.plan import LabOptions
from netlab.report.text.findings import RunIndex, sentence

pytestmark = [*needs_a_lab, pytest.mark.needs("nft"), pytest.mark.night]

NAME = f"q{os.getpid()}"
CABLE_BIT_PER_S = 2e6
LIMIT_PER_S = 400
BURST_FRAMES = 60
"""What it lets pass beyond that at once: a busy machine catches up by bursts."""
RULES = f"""
table inet planted {{
  chain forward {{
    type filter hook forward priority 0;
    meta l4proto udp limit rate over {LIMIT_PER_S}/second burst {BURST_FRAMES} packets drop
  }}
}}
"""
SIZES = [128, 256, 512, 1024]
MATRIX = f"""\
title: a router that forwards so many frames
link: {{rate: 2Mbit, mtu: 1500, hops: 1}}
pairings: [LL]
observe: [router]
tests:
  - {{test: throughput_search, frame_size: {SIZES}, duration: 2s, burst: 50, resolution: 2 %,
     settle: 0s, residual: 300ms, socket_buffer: 1MiB}}
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.LabState]:
    hosts_file = tmp_path_factory.mktemp("searched") / "hosts.yaml"
    options = LabOptions(
        name=NAME, topology="router", rate=CABLE_BIT_PER_S, queue_frames=1000, hosts_file=hosts_file
    )
    try:
        lab_state = lab.up(options)
        assert lab_state.plan is not None
        assert lab_state.plan.router is not None
        rules = hosts_file.parent / "rules.nft"
        rules.write_text(RULES)
        programs.run("ip", "netns", "exec", lab_state.plan.router, "nft", "-f", str(rules))
        yield lab_state
    finally:
        lab.down(NAME)


@pytest.mark.produces("search-limit/frame-rate", "search-limit/line-rate")
def test_a_search_finds_one_frame_rate_at_small_frames_and_the_line_rate_at_large_frames(
    limited: lab.LabState, tmp_path: Path
) -> None:
    run = run_matrix(limited, tmp_path, MATRIX, timeout_s=300)
    sentences = {finding.kind: str(sentence(finding, RunIndex(run))) for finding in run.findings}
    findings = {finding.kind: finding for finding in run.findings}
    frames = findings[Kind.SEARCH_LIMIT_FRAME_RATE]
    # What it lets pass at once comes on top, over two seconds.
    most = LIMIT_PER_S + BURST_FRAMES / 2
    assert 0.93 * LIMIT_PER_S < frames.evidence["found_frames_per_s"] < 1.02 * most
    assert (
        "LL: the same frame rate from 128 to 512 bytes" in sentences[Kind.SEARCH_LIMIT_FRAME_RATE]
    )
    assert "LL: line rate at 1024 bytes" in sentences[Kind.SEARCH_LIMIT_LINE_RATE]
    assert frames_per_s(CABLE_BIT_PER_S, 1024) < LIMIT_PER_S
    # All hosts are one machine: whose core was busy nobody can tell.
    assert "busiest core" not in sentences[Kind.SEARCH_LIMIT_FRAME_RATE]
