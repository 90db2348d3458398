"""Every host with every other in the virtual lab, over SSH: a star of hosts, two cables each."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from labs import needs_a_lab

from netlab import lab
from netlab.lab.plan import LabOptions
from netlab.store.reader import read
from netlab.trial.record import Record

pytestmark = needs_a_lab

HOSTS = ("linux-a", "linux-b", "linux-c", "linux-d")
MATRIX = """\
title: a star with two kinds of connection
link: {rate: 20Mbit, mtu: 1500}
pairings: {between: all, inside: false}
parallel: true
defaults: {duration: 250ms, socket_buffer: auto}
tests:
  - {test: stream, protocol: UDP, message_size: 1472, rate: 4Mbit, network: test}
  - test: stream
    protocol: TCP
    message_size: 8KiB
    congestion: cubic
    network: [test, second]
"""
WAYS = """\
title: one host over each of its connections, and itself
pairings: {between: [linux-a@test, linux-a@second, linux-b]}
parallel: true
defaults: {duration: 400ms}
tests:
  - {test: stream, protocol: UDP, message_size: 1472, rate: 2Mbit, socket_buffer: auto}
"""
CROSSING = WAYS.replace(
    "{between: [linux-a@test, linux-a@second, linux-b]}",
    "[linux-a@second+linux-b@test, linux-a+linux-b]",
)

SEARCHED = """\
title: two pairs of ports of one device, and the slow cable of one of them
link: {rate: 20Mbit, mtu: 1500}
pairings: [linux-b+linux-a, linux-d+linux-c]
parallel: true
tests:
  - test: throughput_search
    together: TOGETHER
    frame_size: 1518
    duration: 500ms
    resolution: 10 %
    settle: 0s
    residual: 300ms
"""
BESIDE = """\
    frame_loss: true
    latency: true
    back_to_back: 1
"""


@pytest.fixture(scope="module")
def star() -> Iterator[lab.LabState]:
    name = f"p{os.getpid()}"
    try:
        yield lab.up(LabOptions(name=name, rate=20e6, linux=4, second_rate=8e6))
    finally:
        lab.down(name)


def records(star: lab.LabState, folder: Path, matrix: str, code: int = 0) -> list[Record]:
    """The last word of each trial of a run of ``matrix``."""
    (folder / "matrix.yaml").write_text(matrix)
    argv = [sys.executable, "-m", "netlab", "run", "matrix.yaml", "--into", "out"]
    argv += ["--no-report", "--patience", "0", "--hosts", str(star.hosts_file)]
    process = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )
    assert process.returncode == code, process.stderr
    return list(read(folder / "out").latest.values())


@pytest.fixture(scope="module")
def found(star: lab.LabState, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    return records(star, tmp_path_factory.mktemp("run"), MATRIX)


def test_every_ordered_pair_of_a_star_is_measured_over_each_network(found: list[Record]) -> None:
    cells = [(r.server, r.client, r.settings["network"], r.settings["protocol"]) for r in found]
    assert sorted(map(str, cells)) == sorted(
        str((*pair, network, protocol))
        for pair in permutations(HOSTS, 2)
        for network, protocol in (("test", "TCP"), ("second", "TCP"), ("test", "UDP"))
    )
    assert {str(record.status) for record in found} == {"ok"}


def test_parallel_trials_without_a_common_window_overlap_in_time(
    star: lab.LabState, tmp_path: Path
) -> None:
    two_pairs = WAYS.replace(
        "{between: [linux-a@test, linux-a@second, linux-b]}", "[linux-b+linux-a, linux-d+linux-c]"
    ).replace("400ms", "3s")
    first_record, second_record = records(star, tmp_path, two_pairs + "common_window: false\n")
    assert "common_window" not in first_record.values.keys() | second_record.values.keys()
    begins, ends = (
        [
            int(str(record.values[f"sender_{edge}_send_ns"]))
            for record in (first_record, second_record)
        ]
        for edge in ("first", "last")
    )
    assert max(begins) < min(ends)


def test_trials_of_one_round_share_a_window_and_no_host(
    found: list[Record],
) -> None:
    rounds: dict[object, list[Record]] = {}
    for record in found:
        assert record.values["common_window_trials"] == 2
        rounds.setdefault(record.values["common_window_open_ns"], []).append(record)
    assert len(rounds) == len(found) / 2
    for round_records in rounds.values():
        assert len({host for r in round_records for host in (r.server, r.client)}) == 4
        assert len({str(sorted(r.settings.items())) for r in round_records}) == 1


def test_no_pair_of_a_star_exceeds_the_ceiling_of_the_cable_of_its_network(
    found: list[Record],
) -> None:
    shares = shares_of_cables(found)
    assert {network: len(network_shares) for network, network_shares in shares.items()} == {
        "test": 12,
        "second": 12,
    }
    for network_shares in shares.values():
        # What waited for a receiver that was held up comes on top. Over the other network's cable
        # it would be 0.4 or 2.5.
        assert 0.5 < max(network_shares) < 2, shares


def shares_of_cables(found: list[Record]) -> dict[str, list[float]]:
    """Network → throughput of its TCP cells as shares of what its cables carry."""
    shares: dict[str, list[float]] = {}
    for record in found:
        if record.settings["protocol"] == "TCP":
            network = str(record.settings["network"])
            # TCP with timestamps: of each 1538 bytes on the wire 1448 are payload.
            ceiling = {"test": 20e6, "second": 8e6}[network] * 1448 / 1538
            value = float(str(record.values["throughput_bit_per_s"]))
            shares.setdefault(network, []).append(value / ceiling)
    return shares


@pytest.mark.night
def test_every_pair_of_a_star_reaches_the_ceiling_of_the_cable_of_its_network(
    star: lab.LabState, tmp_path: Path
) -> None:
    matrix = MATRIX.replace("duration: 250ms", "duration: 400ms")
    for network, network_shares in shares_of_cables(records(star, tmp_path, matrix)).items():
        # A machine that computes other things only takes from a figure: the best trial stands for
        # the cable.
        quartile = statistics.quantiles(network_shares, n=4)[2]
        assert 0.995 < max(network_shares) < 1.02, (network, network_shares)
        assert 0.985 < quartile < 1.005, (network, network_shares)
        assert min(network_shares) > 0.65, (network, network_shares)


def test_datagrams_due_at_the_offered_rate_are_sent_or_counted_as_skipped(
    found: list[Record],
) -> None:
    """A busy machine skips some, and sends the first or the last one late."""
    paced = [record.values for record in found if record.settings["protocol"] == "UDP"]
    assert len(paced) == 12
    for record_values in paced:
        values: Any = record_values
        span_s = (values["sender_last_send_ns"] - values["sender_first_send_ns"]) / 1e9
        due = span_s * 4e6 / (8 * 1472) + 1
        counted = values["sent_messages"] + values["sender_skipped_messages"]
        assert abs(due - counted) < 0.5 * due
        received = values["receiver_total_messages"]
        assert received == values["sent_messages"] - values["lost_messages"]


def test_a_host_is_measured_over_each_of_its_networks_and_with_itself(
    star: lab.LabState, tmp_path: Path
) -> None:
    pair_records = {r.pairing: r for r in records(star, tmp_path, WAYS)}
    assert len(pair_records) == 9
    assert {str(r.status) for r in pair_records.values()} == {"ok"}
    # The other end is met in the same network, where it has an address there.
    addresses = {host.name: host.networks for host in star.hosts}
    for way in ("test", "second"):
        record = pair_records[f"linux-a@{way}+linux-b"]
        assert record.values["receiver_local_address"] == addresses["linux-a"][way][0]
        assert record.values["sender_local_address"] == addresses["linux-b"][way][0]
    inside = {pairing for pairing, r in pair_records.items() if r.values["same_host"]}
    assert inside == {pairing for pairing in pair_records if pairing.count("linux-a") != 1}


def test_a_pair_across_two_networks_fails_as_wrong_path_and_others_are_measured(
    star: lab.LabState, tmp_path: Path
) -> None:
    pair_records = {r.pairing: r for r in records(star, tmp_path, CROSSING, code=3)}
    ways = {pairing: (str(r.status), r.reason) for pairing, r in pair_records.items()}
    assert ways == {
        "linux-a@second+linux-b@test": ("failed", "wrong-path"),
        "linux-a+linux-b": ("ok", None),
    }


def searched(star: lab.LabState, folder: Path, *, together: bool) -> dict[str, Record]:
    text = SEARCHED.replace("TOGETHER", str(together).lower()) + BESIDE * together
    pair_records = {r.pairing: r for r in records(star, folder, text)}
    assert {str(r.status) for r in pair_records.values()} == {"ok"}
    return pair_records


@pytest.fixture
def unequal() -> Iterator[lab.LabState]:
    """A switch that forwards 8 of 20 Mbit/s to one of the two that receive."""
    name = f"t{os.getpid()}"
    try:
        # With room for a tenth of a second of frames: what it has no room for is lost, not late.
        wish = LabOptions(name=name, rate=20e6, linux=4, rates={"linux-d": 8e6}, queue_frames=100)
        yield lab.up(wish)
    finally:
        lab.down(name)


@pytest.mark.night
@pytest.mark.parametrize("together", [True, False])
def test_pairs_find_a_common_rate_if_they_search_together_and_their_own_rates_otherwise(
    unequal: lab.LabState, tmp_path: Path, together: bool
) -> None:
    pair_records = searched(unequal, tmp_path, together=together)
    fast: Any = pair_records["linux-b+linux-a"].values
    slow: Any = pair_records["linux-d+linux-c"].values
    assert slow["limit"] == "device"
    assert slow["line_share"] == pytest.approx(0.4, abs=0.11)
    if not together:
        assert fast["line_share"] == pytest.approx(1, abs=0.11)
        assert "pairs" not in {*fast, *slow}
        return
    assert (fast["pairs"], slow["pairs"]) == (2, 2)
    for same in ("limit", "line_share", "upper_line_share", "trial_line_share"):
        assert fast[same] == slow[same], same
    for same in ("trial_verdict", "loss_line_share", "loss_verdict"):
        assert fast[same] == slow[same], same
    # A burst is of one pair at a time: the fast one's cables take any.
    assert fast["back_to_back_limit"] != "failed"
    assert slow["back_to_back_limit"] == "device"
    # Of each pair its own frames: what the other one lost is the other one's.
    assert fast["loss_received_frames"][0] == fast["loss_sent_frames"][0]
    assert slow["loss_received_frames"][0] < slow["loss_sent_frames"][0]
