"""netlab's own figures over a shaped cable of the lab are what Ethernet's framing leaves of it.

The ceilings come from the framing alone, by hand: each packet costs 38 bytes on the wire besides
itself (preamble 8, header 14, FCS 4, gap 12), and none is shorter than 84 with these.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from labs import first_on_the_cpus, inside, needs_a_lab, run_matrix

from netlab import lab
from netlab.lab.plan import LabOptions
from netlab.store.reader import read

pytestmark = needs_a_lab

NAME = f"c{os.getpid()}"
# So slow a cable, and so much waiting before it, that it goes on where a busy machine holds the
# sender up.
RATE_BIT_PER_S = 10e6
TRIALS = 5
MATRIX = """\
title: What a shaped cable carries
link: {rate: 10Mbit, mtu: 1500}
pairings: [LL]
repeats: 5
defaults: {duration: 1.2s, warm_up: 150ms, socket_buffer: 256KiB, client_cpu: 1, server_cpu: 0}
tests:
  - {test: stream, protocol: TCP, message_size: 1448, congestion: cubic}
  - {test: stream, protocol: UDP, message_size: [64, 576, 1472, 1500, 64512]}
"""

PAYLOAD_AND_WIRE_BYTES = {
    # MTU 1500; 20 bytes of IPv4 and 32 of TCP with timestamps.
    ("TCP", 1448): (1448, 1500 + 38),
    # 20 bytes of IPv4 and 8 of UDP.
    ("UDP", 64): (64, 92 + 38),
    ("UDP", 576): (576, 604 + 38),
    ("UDP", 1472): (1472, 1500 + 38),
    # 1480 bytes of the datagram in the first fragment, and 28 in the second.
    ("UDP", 1500): (1500, (1500 + 38) + (48 + 38)),
    # 64520 bytes of datagram are 43 fragments of 1480, and 880 in the last.
    ("UDP", 64512): (64512, 43 * (1500 + 38) + (900 + 38)),
}


@pytest.fixture(scope="module")
def cable() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, rate=RATE_BIT_PER_S))
    finally:
        lab.down(NAME)


@pytest.mark.night
def test_no_throughput_is_above_the_wire_ceiling_and_the_best_is_within_0_4_percent_of_it(
    cable: lab.LabState, tmp_path: Path
) -> None:
    """Machines that are held up only take from it: a pause of 10 ms takes 0.8 % of a trial."""
    with first_on_the_cpus(cable):
        run_matrix(cable, tmp_path, MATRIX, timeout_s=180)
    shares: dict[tuple[str, int], list[float]] = {}
    for record in read(tmp_path / "run").latest.values():
        cell = str(record.settings["protocol"]), int(str(record.settings["message_bytes"]))
        payload, wire = PAYLOAD_AND_WIRE_BYTES[cell]
        rate = float(str(record.values["throughput_bit_per_s"]))
        shares.setdefault(cell, []).append(rate / (RATE_BIT_PER_S * payload / wire))
    assert {cell: len(cell_shares) for cell, cell_shares in shares.items()} == dict.fromkeys(
        PAYLOAD_AND_WIRE_BYTES, TRIALS
    )
    off = {
        cell: cell_shares
        for cell, cell_shares in shares.items()
        if not 0.996 <= max(cell_shares) <= 1.001 or statistics.median(cell_shares) < 0.98
    }
    assert off == {}


THROUGH_A_TUNNEL = """\
title: What a shaped cable carries of a tunnel
link: {rate: 10Mbit, mtu: 1450, overhead: 50}
pairings: [LL]
repeats: 2
defaults: {duration: 1s, warm_up: 200ms, socket_buffer: 256KiB, network: tunnel,
  client_cpu: 1, server_cpu: 0}
tests:
  - {test: stream, protocol: TCP, message_size: 1398, congestion: cubic}
  - {test: stream, protocol: UDP, message_size: [64, 1422, 2840]}
"""
TUNNELLED_AND_WIRE_BYTES = {
    # VXLAN over IPv4 (RFC 7348): IPv4 20, UDP 8, VXLAN 8, Ethernet 14 around each packet.
    ("TCP", 1398): (1398, 1450 + 50 + 38),
    ("UDP", 64): (64, 92 + 50 + 38),
    ("UDP", 1422): (1422, 1450 + 50 + 38),
    # 2848 bytes of datagram are two fragments of 1424 in packets of 1444.
    ("UDP", 2840): (2840, 2 * (1444 + 50 + 38)),
}


@pytest.mark.night
def test_through_a_tunnel_streams_reach_the_ceiling_with_its_overhead_and_not_the_one_without(
    cable: lab.LabState, tmp_path: Path
) -> None:
    assert cable.plan is not None
    inventory = yaml.safe_load(cable.plan.hosts_file.read_text())
    outer = [host.addresses[0] for host in cable.hosts[:2]]
    for host in (0, 1):
        for command in (
            f"ip link add tunnel type vxlan id 7 dstport 4789 local {outer[host]} "
            f"remote {outer[1 - host]} dev test",
            # No super-packet: the cable's shaper would not count what its segments have besides.
            "ip link set tunnel mtu 1450 gso_max_segs 1 up",
            "ethtool -K tunnel tso off gso off gro off",
            f"ip address add 10.77.77.{host + 1}/24 dev tunnel",
        ):
            inside(cable, host, *command.split())
        addresses = inventory["hosts"][cable.hosts[host].name]["addresses"]
        addresses["tunnel"] = f"10.77.77.{host + 1}"
    (tmp_path / "hosts.yaml").write_text(yaml.safe_dump(inventory))
    plan = replace(cable.plan, hosts_file=tmp_path / "hosts.yaml")
    with first_on_the_cpus(cable):
        run = run_matrix(replace(cable, plan=plan), tmp_path, THROUGH_A_TUNNEL)
    best: dict[tuple[str, int], float] = {}
    for record in read(tmp_path / "run").latest.values():
        cell = str(record.settings["protocol"]), int(str(record.settings["message_bytes"]))
        rate = float(str(record.values["throughput_bit_per_s"]))
        best[cell] = max(rate, best.get(cell, 0.0))
    assert best.keys() == TUNNELLED_AND_WIRE_BYTES.keys()
    for cell, (payload, wire) in TUNNELLED_AND_WIRE_BYTES.items():
        frames = 2 if cell == ("UDP", 2840) else 1
        assert 0.98 < best[cell] / (RATE_BIT_PER_S * payload / wire) <= 1.001, (cell, best)
        without = RATE_BIT_PER_S * payload / (wire - frames * 50)
        assert best[cell] < 0.97 * without, (cell, best)
    limits = [finding for finding in run.findings if finding.kind == "wire-ceiling"]
    assert {cell for finding in limits for cell in finding.cells} == {*run.frame["cell"]}


SEARCH = """\
title: Frames that wait in the sender's own queue when the trial is over
link: {rate: 10Mbit, mtu: 1500}
pairings: [LL]
tests:
  - test: throughput_search
    frame_size: 1518
    duration: 1s
    settle: 50ms
    residual: 100ms
    resolution: 5 %
    socket_buffer: 4MiB
"""
QUEUE_FRAMES = 1000
"""They take 1.2 s to go out, many times as long as frames are waited for. All frames of a trial
have room: a sender that was held up and catches up loses none."""


def test_a_throughput_search_counts_no_frame_of_the_senders_queue_as_lost(tmp_path: Path) -> None:
    name = f"{NAME}-queue"
    try:
        slow = lab.up(LabOptions(name=name, rate=RATE_BIT_PER_S, queue_frames=QUEUE_FRAMES))
        run_matrix(slow, tmp_path, SEARCH)
    finally:
        lab.down(name)
    (record,) = read(tmp_path / "run").latest.values()
    values: dict[str, Any] = dict(record.values)
    names = ("trial_line_share", "trial_sent_frames", "trial_received_frames")
    trials = zip(*(values[name] for name in names), strict=True)
    # A wrong count shows in each trial at the line rate, a stall of this machine in one of them.
    assert any(share == 1.0 and sent == received for share, sent, received in trials)
