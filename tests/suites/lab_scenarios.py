"""Scenarios that several files judge: each lab is brought up and measured once a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from labs import four_hosts, run_matrix, standing

__all__ = ["four_hosts"]

CABLE = """\
title: A shaped cable of a small MTU
link: {rate: 20Mbit, mtu: 1400}
pairings: [LL]
defaults: {congestion: cubic}
tests:
  - test: stream
    protocol: TCP
    message_size: 1348
    duration: 1s
    warm_up: 300ms
  - test: payload_search
    protocol: [TCP, UDP]
    ip: [4, 6]
    timeout: 1s
    capture: true
  - test: payload_search
    protocol: UDP
    sweep: true
    duration: 300ms
    timeout: 1s
  - test: round_trip
    protocol: [TCP, UDP]
    ip: [4, 6]
    nodelay: true
    message_size: [18, 1300]
    count: 300
    timeout: 5s
  - test: connect
    message_size: 64
    count: 50
"""


@pytest.fixture(scope="session")
def cable_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a matrix with a stream, searches of the payload, round trips and connections, in a
    lab whose cable carries packets of 1400 bytes at 20 Mbit/s.
    """
    folder = tmp_path_factory.mktemp("cable")
    with standing("c", rate=20e6, mtu=1400) as of:
        run_matrix(of, folder, CABLE)
    return folder / "run"
