"""A stream sample has its offered rate, resolution, path MTU and wire ceiling from its record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from made_findings import LINK, plan_of, run_of

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample, samples
from netlab.findings.rates import Accounting, Framing, ceiling_of
from netlab.imports.common.csv_table import record_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value


def only(
    settings: Mapping[str, Value], values: Mapping[str, Value], link: Link | None = LINK
) -> StreamSample:
    cell = PlannedCell("a cell", "WL", "stream", settings)
    trial_values = {"throughput_bit_per_s": 9e7, **values}
    record = record_of(cell, trial_values, printed="x", server="a", client="b")
    (sample,) = samples(run_of(plan_of([cell], link), [record]))
    return sample


def bare(size: int = 1472, protocol: str = "UDP", **more: Value) -> dict[str, Value]:
    return {"protocol": protocol, "message_bytes": size, **more}


# ---- what was offered, and how -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "offered_rate"),
    [
        ({}, None),
        ({"rate_bit_per_s": 5_000_000}, 5e6),
        ({"rate_bit_per_s": 5e6}, 5e6),
        ({"message_rate_per_s": 100}, 8 * 1472 * 100.0),
        ({"message_rate_per_s": 2.5}, 8 * 1472 * 2.5),
        ({"rate_bit_per_s": "full"}, None),
        ({"message_rate_per_s": "full"}, None),
    ],
)
def test_the_offered_rate_is_read_in_payload_bits_per_second(
    settings: dict[str, Any], offered_rate: float | None
) -> None:
    sample = only(bare(**settings), {})
    assert sample.offered_bit_per_s == offered_rate
    assert sample.sender.spins is sample.paced is (offered_rate is not None)


@pytest.mark.parametrize(("answer", "spins"), [(1, True), (0, False), (2, False), (None, False)])
def test_a_receiver_counts_as_spinning_only_if_spin_is_1_in_its_record(
    answer: Any, spins: bool
) -> None:
    assert only(bare(), {"receiver_spin": answer}).receiver.spins is spins


@pytest.mark.parametrize(
    ("answer", "streams"), [(4, 4), (1, 1), (None, 1), (True, 1), (0, 1), ("4", 1)]
)
def test_a_missing_or_invalid_number_of_streams_counts_as_one_stream(
    answer: Any, streams: int
) -> None:
    assert only(bare(streams=answer), {}).streams == streams


# ---- resolution ----------------------------------------------------------------------------------

COARSE: Mapping[str, Value] = {
    "receiver_coarse": 1,
    "receiver_received_bytes": 1_000_000,
    "receiver_largest_receive_bytes": 5_000,
    "receiver_queue_open_bytes": 1_000,
    "receiver_queue_close_bytes": 3_000,
}


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, 0.007),
        ({"receiver_queue_open_bytes": 3_000, "receiver_queue_close_bytes": 1_000}, 0.007),
        ({"receiver_queue_open_bytes": 3_000}, 0.005),
        ({"receiver_queue_open_bytes": None}, 0.008),
        ({"receiver_queue_close_bytes": None}, 0.006),
        ({"receiver_queue_open_bytes": None, "receiver_queue_close_bytes": None}, 0.005),
        ({"receiver_largest_receive_bytes": 0}, 0.002),
        ({"receiver_largest_receive_bytes": None}, math.inf),
        ({"receiver_received_bytes": None}, math.inf),
        ({"receiver_received_bytes": 0}, math.inf),
        ({"receiver_coarse": 0}, 0.0),
        ({"receiver_coarse": None}, 0.0),
    ],
)
def test_the_error_of_a_coarse_throughput_includes_the_largest_receive_and_the_queue_change(
    changes: dict[str, Any], share: float
) -> None:
    assert only(bare(), {**COARSE, **changes}).resolution_share == pytest.approx(share)


# ---- packets and path ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "values", "packets"),
    [
        (bare(1472), {}, 1),
        (bare(1473), {}, 2),
        (bare(1452, ip_version=6), {}, 1),
        (bare(1453, ip_version=6), {}, 2),
        (bare(1453, ip_version=4), {}, 1),
        (bare(1372), {"sender_path_mtu_bytes": 1400}, 1),
        (bare(1373), {"sender_path_mtu_bytes": 1400}, 2),
        (bare(1473), {"sender_path_mtu_bytes": 9000}, 2),
        (bare(1472, "TCP"), {}, None),
        (bare(65508), {}, None),
        (bare(1472), {"sender_path_mtu_bytes": 60}, None),
    ],
)
def test_the_packets_of_a_udp_message_are_counted_by_the_path_mtu(
    settings: dict[str, Value], values: dict[str, Value], packets: int | None
) -> None:
    assert only(settings, values).packets_a_message == packets
    assert only(settings, values, None).packets_a_message is None


PATH: Mapping[str, Value] = {
    "sender_tcp_end_pmtu": 1500,
    "sender_tcp_end_snd_mss": 1348,
    "sender_tcp_end_snd_wnd": 4 * 1348,
    "mss_bytes": 1348,
    "tcp_timestamps": True,
}


@pytest.mark.parametrize(
    ("settings", "changes", "mtu", "small_mss"),
    [
        # 1348 bytes of payload, 12 of timestamps, 20 of TCP, 20 of IPv4: packets of 1400 bytes.
        ({}, {}, 1500, 1348),
        ({}, {"mss_bytes": 1448, "sender_tcp_end_snd_wnd": 65_536}, 1500, None),
        ({}, {"mss_bytes": 1447, "sender_tcp_end_snd_wnd": 65_536}, 1500, 1447),
        ({}, {"tcp_timestamps": False}, 1500, 1348),
        ({}, {"tcp_timestamps": None}, 1500, 1348),
        ({"ip_version": 6}, {}, 1500, 1348),
        ({"ip_version": 6}, {"mss_bytes": 1428, "sender_tcp_end_snd_wnd": 65_536}, 1500, None),
        ({}, {"sender_tcp_end_pmtu": 1400}, 1400, None),
        ({}, {"sender_tcp_end_pmtu": 9000}, 9000, 1348),
        ({}, {"sender_tcp_end_snd_wnd": 4 * 1348 - 1}, 1500, None),
        ({}, {"sender_tcp_end_snd_wnd": None}, 1500, None),
        ({}, {"mss_bytes": None}, 1500, None),
        ({}, {"mss_bytes": 1460, "sender_tcp_end_snd_wnd": 65_536}, 1500, None),
        ({}, {"sender_tcp_end_pmtu": None}, None, None),
        ({}, {"sender_path_mtu_bytes": 1300}, 1500, 1348),
        ({}, {"same_host": True}, 1500, None),
    ],
)
def test_the_path_mtu_of_tcp_is_what_the_system_knows_and_a_small_mss_shows_no_other(
    settings: dict[str, Value], changes: dict[str, Any], mtu: int | None, small_mss: int | None
) -> None:
    sample = only(bare(64, "TCP", **settings), {**PATH, **changes})
    assert (sample.path_mtu_bytes, sample.small_mss_bytes) == (mtu, small_mss)
    assert only(bare(64, "TCP", **settings), {**PATH, **changes}, None).small_mss_bytes is None


def test_the_path_mtu_of_udp_is_the_path_mtu_of_the_senders_system() -> None:
    assert only(bare(), {**PATH, "sender_path_mtu_bytes": 1300}).path_mtu_bytes == 1300
    assert only(bare(), PATH).path_mtu_bytes is None


# ---- the ceiling ---------------------------------------------------------------------------------

IP6_UDP = 40 + 8
AROUND = 38
"""Preamble 8, header 14, FCS 4 and gap 12."""


@pytest.mark.parametrize(
    ("settings", "values", "link", "share"),
    [
        (bare(1472), {}, LINK, 1472 / (1500 + AROUND)),
        (bare(64), {}, LINK, 64 / (64 + 28 + AROUND)),
        (bare(1452, ip_version=6), {}, LINK, 1452 / (1452 + IP6_UDP + AROUND)),
        (bare(1472), {}, Link(1e8, 1500, vlan=True), 1472 / (1500 + AROUND + 4)),
        (bare(1372), {"sender_path_mtu_bytes": 1400}, LINK, 1372 / (1400 + AROUND)),
        (bare(1472), {"sender_path_mtu_bytes": 9000}, LINK, 1472 / (1500 + AROUND)),
        (bare(64, "TCP"), {}, LINK, 1448 / 1538),
        (bare(64, "TCP"), {"tcp_timestamps": True}, LINK, 1448 / 1538),
        (bare(64, "TCP"), {"tcp_timestamps": False}, LINK, 1460 / 1538),
        (bare(64, "TCP", ip_version=6), {}, LINK, 1428 / 1538),
        (bare(64, "TCP"), {}, Link(1e8, 1500, vlan=True), 1448 / 1542),
        # Through WireGuard: 20 bytes of IPv4, 8 of UDP, 16 of its header, 16 of its tag.
        (bare(64, "TCP"), {}, Link(1e8, 1420, overhead_bytes=60), 1368 / (1420 + 60 + AROUND)),
        (bare(1392), {}, Link(1e8, 1420, overhead_bytes=60), 1392 / (1420 + 60 + AROUND)),
        (bare(18), {}, Link(1e8, 1420, True, 0, 60), 18 / (46 + 60 + 4 + AROUND)),
        # The effective MSS is below what the MTU allows; a larger one is not of this link.
        (bare(64, "TCP"), {"mss_bytes": 1000}, LINK, 1000 / (1000 + 52 + AROUND)),
        (bare(64, "TCP"), {"mss_bytes": 1448}, LINK, 1448 / 1538),
        (bare(64, "TCP"), {"mss_bytes": 1449}, LINK, 1448 / 1538),
        (bare(64, "TCP", ip_version=6), {"mss_bytes": 1440}, LINK, 1428 / 1538),
        (
            bare(64, "TCP"),
            {"mss_bytes": 1455, "tcp_timestamps": False},
            LINK,
            1455 / (1455 + 40 + AROUND),
        ),
        # The path of the UDP sender shows nothing about TCP's segments.
        (bare(64, "TCP"), {"sender_path_mtu_bytes": 1400}, LINK, 1448 / 1538),
    ],
)
def test_the_wire_ceiling_of_a_record_is_its_payload_share_of_bytes_on_the_wire(
    settings: dict[str, Value], values: dict[str, Value], link: Link, share: float
) -> None:
    assert ceiling_of(settings, values, "", link) == pytest.approx(1e8 * share, rel=1e-12)
    assert ceiling_of(settings, values, "", None) is None
    assert ceiling_of(settings, {**values, "same_host": True}, "", link) is None
    assert ceiling_of(settings, {**values, "same_host": False}, "", link) is not None


@pytest.mark.parametrize(
    ("values", "mss"),
    [
        ({}, 1460),
        ({"tcp_timestamps": True}, 1448),
        ({"tcp_timestamps": False}, 1460),
        # 1448 bytes leave room for timestamps in a full frame. 1460 do not.
        ({"mss_bytes": 1448}, 1448),
        ({"mss_bytes": 1460}, 1460),
    ],
)
def test_the_highest_wire_ceiling_assumes_no_timestamps_unless_recorded(
    values: dict[str, Value], mss: int
) -> None:
    ceiling = ceiling_of(bare(64, "TCP"), values, "", LINK, highest=True)
    assert ceiling == pytest.approx(1e8 * mss / 1538, rel=1e-12)


def test_each_direction_of_a_record_has_the_wire_ceiling_of_its_own_options() -> None:
    values: dict[str, Value] = {
        "to_server_tcp_timestamps": False,
        "to_client_tcp_timestamps": True,
        "to_client_mss_bytes": 1000,
    }
    server_ceiling, client_ceiling = (
        ceiling_of(bare(64, "TCP"), values, prefix, LINK) for prefix in ("to_server_", "to_client_")
    )
    assert server_ceiling == pytest.approx(1e8 * 1460 / 1538, rel=1e-12)
    assert client_ceiling == pytest.approx(1e8 * 1000 / 1090, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "link"),
    [
        (bare(65508), LINK),
        (bare(0), LINK),
        (bare(64), Link(1e8, 60)),
        (bare(64, ip_version=6), Link(1e8, 1279)),
        (bare(64, "TCP"), Link(0, 1500)),
    ],
)
def test_a_message_that_no_wire_can_carry_has_no_ceiling(
    settings: dict[str, Value], link: Link
) -> None:
    assert ceiling_of(settings, {}, "", link) is None


# ---- what bottlenecks count ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packets", "vlan", "counted"),
    [
        ((1500,), False, (1538, 1518, 1514, 1500)),
        ((1500,), True, (1542, 1522, 1518, 1500)),
        ((38,), False, (84, 64, 52, 38)),  # padded to 64 bytes with FCS
        ((38,), True, (84, 64, 56, 38)),  # the tag takes the place of padding
        ((1500, 548), True, (1542 + 590, 1522 + 570, 1518 + 566, 2048)),
    ],
)
def test_a_bottleneck_counts_packets_with_the_headers_tag_and_padding_of_its_accounting(
    packets: tuple[int, ...], *, vlan: bool, counted: tuple[int, ...]
) -> None:
    framing = Framing(payload_bytes=10, packets=packets, vlan=vlan, link_rate_bit_per_s=1e8)
    ways = (Accounting.WIRE, Accounting.FRAME, Accounting.HEADED, Accounting.PACKET)
    assert tuple(framing.counted_bytes(way) for way in ways) == counted
