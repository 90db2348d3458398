"""A run over a shaped cable of the lab: its payload, round trips and connections."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from labs import needs_a_lab

from netlab.store.reader import read
from netlab.trial.record import Record, Status

pytestmark = needs_a_lab

FRAME_BYTES = 1400 + 38
"""A full frame on the wire, preamble and gap included."""


@pytest.fixture(scope="module")
def records(cable_run: Path) -> list[Record]:
    """The last word of each trial: one that a busy machine failed is repeated."""
    return list(read(cable_run).latest.values())


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
def test_a_payload_search_finds_the_payload_of_the_cable_in_both_directions(
    records: list[Record], protocol: str, version: int, payload: int
) -> None:
    record = of(records, "payload_search", protocol=protocol, ip_version=version, sweep=False)
    for direction in ("", "to_client_"):
        assert record.values[direction + "payload_bytes"] == payload
        assert record.values[direction + "path_mtu_bytes"] == 1400


def test_a_payload_search_without_the_right_to_capture_states_the_reason(
    records: list[Record],
) -> None:
    record = of(records, "payload_search", protocol="UDP", ip_version=4, sweep=False)
    assert record.values["captured"] is False
    assert "tcpdump" in str(record.values["capture_reason"])


@pytest.mark.night
def test_one_byte_over_the_full_payload_costs_a_second_frame(records: list[Record]) -> None:
    (sweep,) = [record.values for record in records if record.settings.get("sweep")]
    sizes: Any = sweep["sweep_message_bytes"]
    rates: Any = sweep["sweep_throughput_bit_per_s"]
    rate = dict(zip(sizes, rates, strict=True))
    # 1372 bytes, 8 of UDP and 20 of IPv4 fill the MTU. Of 1373 and 8 the first fragment takes 1376,
    # a multiple of 8; the second one is padded to the shortest frame, 84 bytes on the wire.
    shares = {1372: 1372 / FRAME_BYTES, 1373: 1373 / (1396 + 38 + 84)}
    for size, share in shares.items():
        # What a busy machine takes of a rate is no part of this: 1373 bytes never reach what 1372
        # do. Of a receiver that is held up, what waited for it comes on top.
        assert 0.5 < rate[size] / (20e6 * share) < 1.02, size


def test_every_round_trip_over_a_lab_cable_is_timed(records: list[Record]) -> None:
    for protocol, version, size in product(("TCP", "UDP"), (4, 6), (18, 1300)):
        values = of(
            records, "round_trip", protocol=protocol, ip_version=version, message_bytes=size
        ).values
        assert (values["transactions"], values["lost_messages"]) == (300, 0)
        histogram = values["rtt_histogram"]
        assert isinstance(histogram, list)
        assert sum(histogram[1::2]) == values["rtt_count"] == 300
        assert values["same_host"] is False


def test_a_connect_test_opens_the_requested_number_of_connections(records: list[Record]) -> None:
    record = of(records, "connect")
    assert record.values["transactions"] == 50
    assert record.values["rtt_count"] == 50
