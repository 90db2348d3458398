"""Whole runs in the virtual lab over SSH: round trips over a shaped cable, the payload it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from labs import needs_a_lab

from netlab import lab
from netlab.experiment.records import Record, Status
from netlab.lab.options import LabOptions
from netlab.store.reader import read

pytestmark = [*needs_a_lab, pytest.mark.slow]

MATRIX = """\
link: {rate: 20Mbit, mtu: 1400}
pairings: [LL]
defaults: {congestion: cubic}
tests:
  - test: payload_search
    protocol: [TCP, UDP]
    ip: [4, 6]
    timeout: 200ms
    capture: true
  - test: payload_search
    protocol: UDP
    sweep: true
    repeats: 2
    duration: 300ms
    timeout: 200ms
  - test: round_trip
    protocol: [TCP, UDP]
    ip: [4, 6]
    nodelay: true
    message_size: [18, 1300]
    count: 300
  - test: connect
    message_size: 64
    count: 50
"""
FRAME_BYTES = 1400 + 38
"""A full frame on the wire, preamble and gap included."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Record]]:
    """What a run of the matrix left, in a lab whose cable carries 1400 bytes at 20 Mbit/s."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "matrix.yaml").write_text(MATRIX)
    name = f"r{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, rate=20e6, mtu=1400))
        assert lab_state.hosts_file is not None
        argv = [sys.executable, "-m", "netlab", "run", "matrix.yaml", "--into", "out"]
        argv += ["--hosts", str(lab_state.hosts_file)]
        process = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, timeout=180, check=False
        )
        assert process.returncode == 0, process.stderr
        yield list(read(folder / "out").records)
    finally:
        lab.down(name)


def of(records: list[Record], test: str, **settings: object) -> Record:
    """The one record of those settings."""
    (trial_record,) = (
        record
        for record in records
        if record.test == test
        and all(record.settings.get(key) == value for key, value in settings.items())
    )
    assert trial_record.status is Status.OK, trial_record.detail
    return trial_record


@pytest.mark.parametrize(
    ("protocol", "version", "payload"),
    [("UDP", 4, 1372), ("UDP", 6, 1352), ("TCP", 4, 1348), ("TCP", 6, 1328)],
)
def test_the_payload_of_the_labs_cable_is_found_both_ways(
    records: list[Record], protocol: str, version: int, payload: int
) -> None:
    record = of(records, "payload_search", protocol=protocol, ip_version=version, sweep=False)
    for direction in ("", "to_client_"):
        assert record.values[direction + "payload_bytes"] == payload
        assert record.values[direction + "path_mtu_bytes"] == 1400


def test_an_account_without_the_right_to_capture_is_told_why(records: list[Record]) -> None:
    record = of(records, "payload_search", protocol="UDP", ip_version=4, sweep=False)
    assert record.values["captured"] is False
    assert "tcpdump" in str(record.values["capture_reason"])


def test_one_byte_over_the_payload_costs_a_second_frame(records: list[Record]) -> None:
    # What holds this machine up costs rate, and gives none: of two sweeps the better one counts.
    rate: dict[Any, Any] = {}
    swept = [record.values for record in records if record.settings.get("sweep")]
    assert len(swept) == 2
    for sweep in swept:
        sizes: Any = sweep["sweep_message_bytes"]
        rates: Any = sweep["sweep_throughput_bit_per_s"]
        for size, value in zip(sizes, rates, strict=True):
            rate[size] = max(value, rate.get(size, 0))
    # 1372 bytes, 8 of UDP and 20 of IPv4 fill the MTU. Of 1373 and 8 the first fragment takes 1376,
    # a multiple of 8; the second one is padded to the shortest frame, 84 bytes on the wire.
    shares = {1372: 1372 / FRAME_BYTES, 1373: 1373 / (1396 + 38 + 84)}
    for size, share in shares.items():
        assert rate[size] == pytest.approx(20e6 * share, rel=0.02), size


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("size", [18, 1300])
def test_every_round_trip_over_the_cable_is_timed(
    records: list[Record], protocol: str, version: int, size: int
) -> None:
    values = of(
        records, "round_trip", protocol=protocol, ip_version=version, message_bytes=size
    ).values
    assert (values["transactions"], values["lost_messages"]) == (300, 0)
    histogram = values["rtt_histogram"]
    assert isinstance(histogram, list)
    assert sum(histogram[1::2]) == values["rtt_count"] == 300
    assert values["same_host"] is False


def test_connections_are_made_and_ended_as_often_as_asked(records: list[Record]) -> None:
    record = of(records, "connect")
    assert record.values["transactions"] == 50
    assert record.values["rtt_count"] == 50
