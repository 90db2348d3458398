"""A router with a Windows host at one end: the limit planted in it is what both directions find."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import inside, needs_a_lab

from netlab import lab
from netlab.lab.plan import LabOptions
from netlab.store.reader import read

pytestmark = [
    *needs_a_lab,
    pytest.mark.needs("windows-hosts"),
    pytest.mark.night,
]

NAME = f"v{os.getpid()}"
CABLE_BIT_PER_S, DEVICE_BIT_PER_S = 20e6, 8e6
CEILING_BIT_PER_S = DEVICE_BIT_PER_S * 1448 / 1538
"""Of TCP with timestamps: of each 1538 bytes on the wire 1448 are payload."""
BUFFER_BYTES, QUEUE_FRAMES = 64 * 1024, 200
"""What is under way at most fits the router's queue several times. Where the queue overflows, what
came behind a lost frame waits for it and is then taken in at once, in whichever window that is."""
MATRIX = f"""\
title: through a router
link: {{rate: 8Mbit, mtu: 1500}}
pairings: [LW, WL]
repeats: 5
defaults: {{duration: 1500ms, warm_up: 500ms, congestion: cubic, socket_buffer: {BUFFER_BYTES}}}
tests:
  - {{test: stream, protocol: TCP, message_size: 8KiB}}
"""


@pytest.fixture(scope="module")
def routed() -> Iterator[lab.LabState]:
    options = LabOptions(
        name=NAME,
        topology="router",
        windows=1,
        rate=CABLE_BIT_PER_S,
        device_rate=DEVICE_BIT_PER_S,
        device_queue_frames=QUEUE_FRAMES,
    )
    try:
        yield lab.up(options)
    finally:
        lab.down(NAME)


def test_a_linux_host_reaches_a_windows_host_through_the_router(routed: lab.LabState) -> None:
    assert [host.name for host in routed.hosts] == ["linux-a", "windows-a"]
    assert "2 to a router" in routed.as_text()
    assert " via " in inside(routed, 0, "ip", "route", "get", routed.hosts[1].addresses[0])


def test_tcp_from_and_to_a_windows_host_carries_the_rate_of_the_router(
    routed: lab.LabState, tmp_path: Path
) -> None:
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    words = ["run", "matrix.yaml", "--hosts", str(routed.hosts_file), "--into", "run"]
    process = subprocess.run(
        [sys.executable, "-m", "netlab", *words, "--no-report"],
        capture_output=True,
        text=True,
        timeout=400,  # the probe may have to be built for Windows first
        check=False,
        cwd=tmp_path,
    )
    assert process.returncode == 0, process.stderr
    shares: dict[str, list[float]] = {}
    for record in read(tmp_path / "run").latest.values():
        rate = float(str(record.values["throughput_bit_per_s"]))
        shares.setdefault(record.pairing, []).append(rate / CEILING_BIT_PER_S)
    assert {pairing: len(pair_shares) for pairing, pair_shares in shares.items()} == {
        "LW": 5,
        "WL": 5,
    }
    for pairing, pair_shares in shares.items():
        assert statistics.median(pair_shares) == pytest.approx(1, abs=0.01), (pairing, pair_shares)
