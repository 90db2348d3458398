"""Latency under load behind a router whose queue is known: what waits in it is arithmetic.

A full frame of MTU 1500 takes 1538 bytes on the wire; 50 of them 30.76 ms at 20 Mbit/s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from labs import first_on_the_cpus, needs_a_lab, run_matrix, wait_until

import netlab
from netlab import lab
from netlab.lab import programs
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab

NAME = f"q{os.getpid()}"
RATE_BIT_PER_S, QUEUE_FRAMES = 20e6, 50
DELAY_NS = QUEUE_FRAMES * 1538 * 8 / RATE_BIT_PER_S * 1e9

# Messages of a third of a frame: the queue is full to a third of a frame. 538 bytes on the wire of
# 472 of payload; 1.1 of the rate.
UDP = """\
title: A queue that is full
link: {rate: 20Mbit, hops: 1}
pairings: [PAIRING]
tests:
  - test: latency_under_load
    load: {protocol: UDP, message_size: 472, rate: 19301115, direction: [DIRECTIONS]}
    duration: 8s
    idle: 2s
    after: 2s
"""
TCP = """\
title: Two ways to find the rate
link: {rate: 20Mbit, hops: 1}
pairings: [LL]
tests:
  - test: latency_under_load
    load: {protocol: TCP, message_size: 64KiB, congestion: [cubic, bbr]}
    duration: 30s
    idle: 2s
    after: 2s
compare:
  - {name: bbr in place of cubic, baseline: {congestion: cubic}, contender: {congestion: bbr}}
"""


@pytest.fixture(scope="module")
def router() -> Iterator[lab.LabState]:
    wish: dict[str, Any] = {"device_rate": RATE_BIT_PER_S, "device_queue_frames": QUEUE_FRAMES}
    try:
        yield lab.up(LabOptions(name=NAME, topology="router", **wish))
    finally:
        lab.down(NAME)


def values_of(
    of: lab.LabState, folder: Path, matrix: str, axis: str
) -> dict[str, Mapping[str, Any]]:
    """Values of the cells, by what each has of an axis."""
    with first_on_the_cpus(of):
        run = run_matrix(of, folder, matrix, timeout_s=180)
    assert {str(record.status) for record in run.latest.values()} == {"ok"}
    return {str(record.settings[axis]): record.values for record in run.latest.values()}


@pytest.mark.night
def test_latency_under_udp_load_shows_the_delay_of_the_full_router_queue(
    router: lab.LabState, tmp_path: Path
) -> None:
    matrix = UDP.replace("PAIRING", "LL").replace("DIRECTIONS", "client-sends, server-sends, both")
    cell_values = values_of(router, tmp_path, matrix, "direction")
    increase_ns = {way: values["increase_ns"] for way, values in cell_values.items()}
    assert increase_ns == pytest.approx(
        {"client-sends": DELAY_NS, "server-sends": DELAY_NS, "both": 2 * DELAY_NS}, rel=0.03
    )
    for way, values in cell_values.items():
        for flow in ("to_server_", "to_client_") if way == "both" else ("",):
            sent_messages = values[f"{flow}sent_messages"]
            due_messages = sent_messages + values[f"{flow}sender_skipped_messages"]
            # What a sender that was held up skipped is not lost, and may leave the link unused.
            least, most = 1 - due_messages / 1.1 / sent_messages, 1 - 1 / 1.1
            loss = values[f"{flow}lost_messages"] / sent_messages
            assert least - 0.015 < loss < most + 0.015
        assert abs(values["after_rtt_p50_ns"] - values["idle_rtt_p50_ns"]) < 500_000
        assert values["idle_rtt_count"] == pytest.approx(200, abs=1)
        assert values["loaded_rtt_count"] >= 400
        # Every request is told of, once.
        request_count = len(values["trip_ns"]) + len(values["lost_trips"])
        assert request_count == values["client_sent_messages"]


@pytest.mark.night
def test_cubic_fills_the_router_queue_and_bbr_does_not(
    router: lab.LabState, tmp_path: Path
) -> None:
    cell_values = values_of(router, tmp_path, TCP, "congestion")
    cubic, bbr = cell_values["cubic"], cell_values["bbr"]
    assert cubic["loaded_rtt_p99_ns"] - cubic["idle_rtt_p50_ns"] == pytest.approx(
        DELAY_NS, rel=0.05
    )
    assert 2 * bbr["increase_ns"] < cubic["increase_ns"]
    for values in cell_values.values():
        assert abs(values["after_rtt_p50_ns"] - values["idle_rtt_p50_ns"]) < 500_000
        assert values["throughput_bit_per_s"] == pytest.approx(20e6 * 1448 / 1538, rel=0.03)
        assert values["responsiveness_per_minute"] > 0


@pytest.mark.night
@pytest.mark.needs("windows-hosts")
def test_latency_under_load_between_windows_hosts_shows_the_delay_of_a_full_queue(
    tmp_path: Path,
) -> None:
    """Full frames, a third as many, for under wine each costs more; and 1.4 of the rate, so that a
    sender that leaves some out fills the queue as well."""
    name = f"{NAME}w"
    wish: dict[str, Any] = {"device_rate": RATE_BIT_PER_S, "device_queue_frames": QUEUE_FRAMES}
    matrix = UDP.replace("PAIRING", "WW").replace("DIRECTIONS", "client-sends")
    matrix = matrix.replace("size: 472, rate: 19301115", "size: 1472, rate: 26800000")
    try:
        lab_state = lab.up(LabOptions(name=name, topology="router", windows=2, linux=0, **wish))
        (record,) = run_matrix(lab_state, tmp_path, matrix, timeout_s=90).records
    finally:
        lab.down(name)
    values: Mapping[str, Any] = record.values
    assert values["loaded_rtt_count"] >= 400
    assert len(values["trip_ns"]) + len(values["lost_trips"]) == values["client_sent_messages"]
    assert values["increase_ns"] == pytest.approx(DELAY_NS, rel=0.1)


SHORT = """\
title: A queue that is full
link: {rate: 20Mbit, hops: 1}
pairings: [LL]
tests:
  - test: latency_under_load
    load: {protocol: UDP, message_size: 472, rate: 19301115}
    duration: 3s
    idle: 1s
    after: 1s
"""


def test_each_round_trip_is_counted_and_the_increase_under_load_is_that_of_the_medians(
    router: lab.LabState, tmp_path: Path
) -> None:
    """How long they take in a full queue is for the night: a busy machine leaves it emptier, and
    may be busier before the load than under it."""
    (record,) = run_matrix(router, tmp_path, SHORT).latest.values()
    assert record.status == "ok"
    values: Mapping[str, Any] = record.values
    assert 0 < values["idle_rtt_count"] <= 101
    assert values["loaded_rtt_count"] > 0
    request_count = len(values["trip_ns"]) + len(values["lost_trips"])
    assert request_count == values["client_sent_messages"]
    assert values["increase_ns"] == values["loaded_rtt_p50_ns"] - values["idle_rtt_p50_ns"]


BROKEN = """\
title: A load that breaks
link: {rate: 20Mbit, hops: 1}
pairings: [LL]
tests:
  - test: latency_under_load
    load: {protocol: TCP}
    duration: 60s
    idle: 1s
    after: 1s
"""
RESET = """
table inet cut {
    chain forward {
        type filter hook forward priority 0;
        meta l4proto tcp reject with tcp reset
    }
}
"""


def load_runs() -> bool:
    """Whether the router holds a queue: what idle round trips never leave."""
    queues = programs.run("tc", "-n", f"netlab-{NAME}-router", "-s", "-j", "qdisc", "show")
    return any(queue.get("backlog", 0) > 20 * 1538 for queue in json.loads(queues))


@pytest.mark.needs("nft")
def test_a_load_that_breaks_fails_the_cell_as_peer_vanished(
    router: lab.LabState, tmp_path: Path
) -> None:
    """The router resets every connection once the load runs; round trips over UDP go on."""
    (tmp_path / "matrix.yaml").write_text(BROKEN)
    words = ["run", "matrix.yaml", "--hosts", str(router.hosts_file), "--into", "run"]
    within = ["ip", "netns", "exec", f"netlab-{NAME}-router", "nft"]
    with subprocess.Popen(
        [sys.executable, "-m", "netlab", *words, "--no-report", "--retries=0", "--patience=0s"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        wait_until(load_runs)
        subprocess.run([*within, "-f", "-"], input=RESET, text=True, check=True)
        try:
            assert run.wait(timeout=50) == 3, "the trial ends before its time"
        finally:
            subprocess.run([*within, "delete", "table", "inet", "cut"], check=True)
    (record,) = netlab.load(tmp_path / "run").records
    assert (str(record.status), record.reason) == ("failed", "peer-vanished")
    assert not [name for name in record.values if name.endswith("throughput_bit_per_s")]
