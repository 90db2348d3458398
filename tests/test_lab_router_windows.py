"""A router with a Windows host at one end: the limit planted in it is what both directions find."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import inside, needs_a_lab

from netlab import lab
from netlab.lab.options import LabOptions
from netlab.stored import read

pytestmark = [
    *needs_a_lab,
    pytest.mark.needs("windows-hosts"),
]

NAME = f"v{os.getpid()}"
CABLE_BIT_PER_S, DEVICE_BIT_PER_S = 20e6, 8e6
MATRIX = """\
title: through a router
link: {rate: 20Mbit, mtu: 1500, hops: 1}
pairings: [LW, WL]
tests:
  - {test: stream, protocol: TCP, message_size: 8KiB, duration: 1s, warm_up: 500ms}
"""


@pytest.fixture(scope="module")
def routed() -> Iterator[lab.LabState]:
    options = LabOptions(
        name=NAME,
        topology="router",
        windows=1,
        rate=CABLE_BIT_PER_S,
        device_rate=DEVICE_BIT_PER_S,
    )
    try:
        yield lab.up(options)
    finally:
        lab.down(NAME)


def test_a_windows_host_is_reached_through_the_router(routed: lab.LabState) -> None:
    assert [host.name for host in routed.hosts] == ["linux-a", "windows-a"]
    assert "2 to a router" in routed.as_text()
    assert " via " in inside(routed, 0, "ip", "route", "get", routed.hosts[1].addresses[0])


def test_both_directions_carry_what_the_router_forwards(
    routed: lab.LabState, tmp_path: Path
) -> None:
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    words = ["run", "matrix.yaml", "--hosts", str(routed.hosts_file), "--into", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "netlab", *words, "--no-report"],
        capture_output=True,
        text=True,
        timeout=400,  # the probe may have to be built for Windows first
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "run").latest.values()
    assert sorted(record.pairing for record in found) == ["LW", "WL"]
    for record in found:
        rate = float(str(record.values["throughput_bit_per_s"]))
        # A busy receiver under wine takes late what had come before: nearer to 8 than to 20 Mbit/s.
        assert 0.5 * DEVICE_BIT_PER_S < rate < 0.5 * (DEVICE_BIT_PER_S + CABLE_BIT_PER_S), record
