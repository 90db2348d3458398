"""A lab whose account may send frames of its own: the right it gets, and what a run makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix, ssh

from netlab import lab
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab

NAME = f"f{os.getpid()}"
CAP_NET_RAW = 1 << 13
MATRIX = """\
title: frames
pairings: [LL]
# A receiver that the machine holds up has room for all datagrams of a trial.
defaults: {duration: 300ms, warm_up: 50ms, socket_buffer: 200000B}
tests:
  - test: stream
    protocol: UDP
    message_size: 18
    message_rate: 1000/s
    send_method: [plain, packet, xdp]
    receive: polling
    receive_from: [socket, packet]
  - test: stream
    protocol: TCP
    message_size: 64
    tcp_send_method: [plain, batch]
"""


@pytest.fixture(scope="module")
def allowed() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, frames=True))
    finally:
        lab.down(NAME)


def test_accounts_of_a_lab_that_allows_raw_frames_have_no_other_capability(
    allowed: lab.LabState,
) -> None:
    for host in ("linux-a", "linux-b"):
        assert ssh(allowed, host, "id -un") == "netlab"
        lines = ssh(allowed, host, "grep ^Cap /proc/self/status").splitlines()
        rights = {line.split()[0]: int(line.split()[1], 16) for line in lines}
        assert {rights[name] for name in ("CapEff:", "CapPrm:", "CapAmb:")} == {CAP_NET_RAW}
    assert "may send raw frames" in allowed.as_text()


def test_a_run_sends_and_receives_datagrams_by_every_method_without_loss(
    allowed: lab.LabState, tmp_path: Path
) -> None:
    """Each loses none at a rate that all of them keep, and the record says which way it was."""
    frame = run_matrix(allowed, tmp_path, MATRIX).frame
    assert list(frame["status"].unique()) == ["ok"]
    udp = frame[frame["protocol"] == "UDP"]
    assert len(udp) == 6
    assert set(udp["lost_messages"]) == {0}
    assert list(udp["sender_send_method"]) == list(udp["send_method"].fillna("plain"))
    assert list(udp["receiver_receive_from"].isna()) == list(udp["receive_from"].isna())
    assert set(udp["receiver_receive_from"].dropna()) == {"packet"}
    batch = frame[frame["tcp_send_method"].notna()]
    assert list(batch["protocol"]) == ["TCP"]
    assert list(batch["sender_send_method"]) == ["batch"]


def test_cells_with_raw_frames_are_impossible_without_the_capability(tmp_path: Path) -> None:
    name = f"{NAME}-2"
    try:
        run = run_matrix(lab.up(LabOptions(name=name)), tmp_path, MATRIX)
    finally:
        lab.down(name)
    frame = run.frame
    impossible_rows = frame[frame["status"] == "impossible"]
    assert set(impossible_rows["reason"]) == {"capability-missing"}
    raw_frame_mask = frame["send_method"].isin(["packet", "xdp"]) | (
        frame["receive_from"] == "packet"
    )
    assert set(impossible_rows["cell"]) == set(frame[raw_frame_mask]["cell"])
