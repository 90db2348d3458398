"""Figures of findings at their limits, and those of hosts, frames and means, computed by hand."""

from __future__ import annotations

import pytest
from made_findings import measured
from made_samples import end_of, udp

from netlab.ethernet import Link
from netlab.findings.buffers import _means
from netlab.findings.rates import STEP_ABOVE, Accounting, Framing, framing_of, step_of
from netlab.findings.series import series_of
from netlab.findings.traffic import OtherTraffic
from netlab.findings.validity import _interfaces

# ---- frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vlan", "wire", "frame", "headed"),
    [
        # Around a packet on the wire: 8 bytes of preamble, 14 of header, 4 of FCS, 12 of gap. The
        # packet of 40 bytes is padded to a frame of 64.
        (False, 1538 + 84, 1518 + 64, 1514 + 54),
        # A tag adds 4 bytes to each frame; with it, less is padded.
        (True, 1542 + 84, 1522 + 64, 1518 + 58),
    ],
)
def test_each_accounting_counts_its_part_of_a_frame_with_and_without_a_tag(
    vlan: bool, wire: int, frame: int, headed: int
) -> None:
    framing = Framing(payload_bytes=1480, packets=(1500, 40), vlan=vlan, link_rate_bit_per_s=1e8)
    assert {how: framing.counted_bytes(how) for how in Accounting} == {
        Accounting.WIRE: wire,
        Accounting.FRAME: frame,
        Accounting.HEADED: headed,
        Accounting.PACKET: 1540,
    }


def test_a_device_on_the_cable_counts_the_packets_of_the_tunnel_and_not_those_in_it() -> None:
    """1392 bytes of UDP fill the tunnel's MTU of 1420; WireGuard adds 60 bytes."""
    settings = {"protocol": "UDP", "message_bytes": 1392}
    framing = framing_of(settings, {}, "", Link(1e8, 1420, overhead_bytes=60))
    assert framing is not None
    assert {how: framing.counted_bytes(how) for how in Accounting} == {
        Accounting.WIRE: 1480 + 38,
        Accounting.FRAME: 1480 + 18,
        Accounting.HEADED: 1480 + 14,
        Accounting.PACKET: 1480,
    }


def test_a_measured_rate_matches_a_negotiated_rate_at_the_very_limits_too() -> None:
    assert step_of((1 + STEP_ABOVE) * 1e8, 1e9) == 1e8
    assert step_of(1.0051e8, 1e9) is None
    # 100 Mbit/s are exactly nine tenths of the stated rate.
    assert step_of(1e8, 1e8 / 0.9) == 1e8
    assert step_of(1e8, 1.1e8) is None


# ---- the direction of the data -------------------------------------------------------------------


def test_other_traffic_in_the_direction_of_the_data_leaves_its_sender_or_reaches_its_receiver() -> (
    None
):
    for host, receiving, along in [
        ("from", False, True),
        ("from", True, False),
        ("to", False, False),
        ("to", True, True),
    ]:
        traffic = OtherTraffic(host=host, receiving=receiving, bit_per_s=1e7, filled_share=0.5)
        sample = udp(sender=end_of(host="from"), receiver=end_of(host="to"), others=(traffic,))
        assert sample.reported_others == (traffic if along else None)


# ---- hosts ---------------------------------------------------------------------------------------


def test_the_interfaces_of_a_host_are_its_own_and_those_of_its_other_addresses_once_each() -> None:
    own, other = {"route_interface": "eth0"}, {"route_interface": "eth1"}
    again = {"route_interface": "eth1", "interface_mtu_bytes": 9000}
    assert list(_interfaces([own], [own, other, again])) == [own, again]
    # Without a name, nothing shows that they are two.
    unnamed = {"interface_mtu_bytes": 1500}
    assert list(_interfaces([unnamed], [unnamed])) == [unnamed]
    assert list(_interfaces([unnamed], [other])) == [unnamed, other]


# ---- means ---------------------------------------------------------------------------------------


def test_a_series_without_all_its_cells_has_no_mean() -> None:
    (series,) = series_of(measured({1024: [10.0], 2048: [20.0]}))
    of_both = {"cells": 2, "mean": pytest.approx(15e6), "median": pytest.approx(15e6)}
    without_first = _means(series, series.points[:1])
    assert without_first == {**of_both, "mean_without": pytest.approx(20e6)}
    assert _means(series, series.points) == {**of_both, "mean_without": None}
