"""Framing arithmetic agrees with the documented figures."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.ethernet import (
    IP_BYTES,
    MAX_DATAGRAM_BYTES,
    IpVersion,
    Link,
    Protocol,
    above_tolerance,
    best_udp_message,
    ceiling_bit_per_s,
    ceiling_share,
    fragments,
    frames_per_s,
    mss_of,
    packet_wire_bytes,
    packets,
    transfer_floor_bytes,
    transfer_wire_bytes,
    udp_message_in_frame,
)

versions = st.sampled_from([4, 6])
mtus = st.integers(1280, 16000)


@pytest.mark.parametrize(
    ("mtu", "ip_version", "added_bytes", "timestamps", "percent"),
    [
        (1500, 4, 0, True, "94.148"),
        (1500, 4, 0, False, "94.928"),
        (1500, 6, 0, True, "92.848"),
        (1500, 6, 0, False, "93.628"),
        (1500, 4, 4, True, "93.904"),
        (1500, 4, 4, False, "94.682"),
        (9000, 4, 0, True, "99.004"),
        (9000, 4, 0, False, "99.137"),
        # WireGuard over IPv4: 1420 - 52 bytes of payload in 1420 + 60 + 38.
        (1420, 4, 60, True, "90.119"),
        # VXLAN over IPv4: 1450 - 52 bytes of payload in 1450 + 50 + 38.
        (1450, 4, 50, True, "90.897"),
        # GRE over IPv4 behind a tag: 1476 - 52 bytes of payload in 1476 + 24 + 4 + 38.
        (1476, 4, 28, True, "92.348"),
    ],
)
def test_the_tcp_wire_ceiling_is_the_documented_share_of_the_link_rate(
    mtu: int, ip_version: IpVersion, added_bytes: int, timestamps: bool, percent: str
) -> None:
    share = ceiling_share(
        "TCP", 65536, mtu, ip_version=ip_version, added_bytes=added_bytes, timestamps=timestamps
    )
    assert f"{float(100 * share):.3f}" == percent


@pytest.mark.parametrize(
    ("mtu", "ip_version", "message", "packets", "percent"),
    [
        (1500, 4, 64, 1, "49.231"),
        (1500, 4, 576, 1, "89.720"),
        (1500, 4, 1472, 1, "95.709"),
        (1500, 4, 1500, 2, "92.365"),
        (1500, 4, 64512, 44, "96.183"),
        (1500, 6, 64, 1, "42.667"),
        (1500, 6, 1452, 1, "94.408"),
        (1500, 6, 1472, 2, "89.104"),
        (1500, 6, 64512, 45, "94.330"),
        (9000, 4, 8972, 1, "99.270"),
        (9000, 4, 8973, 2, "98.410"),
        (9000, 4, 64512, 8, "99.274"),
        (1400, 4, 1372, 1, "95.410"),
        (1400, 4, 1373, 2, "90.448"),
        (1400, 4, 64512, 47, "95.934"),
    ],
)
def test_the_udp_wire_ceiling_and_the_number_of_fragments_are_the_documented_ones(
    mtu: int, ip_version: IpVersion, message: int, packets: int, percent: str
) -> None:
    assert len(fragments(message, mtu_bytes=mtu, ip_version=ip_version)) == packets
    share = ceiling_share("UDP", message, mtu, ip_version=ip_version)
    assert f"{float(100 * share):.3f}" == percent


@given(
    st.sampled_from(["TCP", "UDP"]),
    st.integers(1, 65507),
    mtus,
    versions,
    st.booleans(),
    st.booleans(),
    st.integers(0, 200),
    st.none() | st.integers(1, 1200),
    st.integers(1, 10**11),
)
def test_the_wire_ceiling_equals_the_exact_ceiling_share_times_the_link_rate(
    protocol: Protocol,
    message: int,
    mtu: int,
    ip_version: IpVersion,
    timestamps: bool,
    vlan: bool,
    overhead: int,
    mss: int | None,
    rate: int,
) -> None:
    share = ceiling_share(
        protocol,
        message,
        mtu,
        ip_version=ip_version,
        timestamps=timestamps,
        mss_bytes=mss,
        added_bytes=overhead + (4 if vlan else 0),
    )
    ceiling = ceiling_bit_per_s(
        Link(rate, mtu, vlan, overhead_bytes=overhead),
        protocol,
        message,
        mtu,
        ip_version=ip_version,
        timestamps=timestamps,
        mss_bytes=mss,
    )
    assert ceiling == float(rate * share)


def test_framing_defaults_are_ipv4_tcp_timestamps_and_no_vlan_tag() -> None:
    link = Link(100e6, 1500)
    assert ceiling_bit_per_s(link, "TCP", 64, 1500) == float(100_000_000 * Fraction(1448, 1538))
    assert ceiling_bit_per_s(link, "UDP", 1472, 1500) == float(100_000_000 * Fraction(1472, 1538))
    assert udp_message_in_frame(1518) == 1472
    assert mss_of(1500) == 1448
    assert fragments(1472, mtu_bytes=1500) == (1500,)
    # Seven fragments of 8976 bytes hold 62832, with the header; 44 of 1480 hold 65120.
    assert best_udp_message(9000) == 62824
    assert best_udp_message(1500) == 65112
    # 46 of 1424 bytes come to 65504 of the 65515 that UDP may have with its header.
    assert best_udp_message(1444) == 65496
    # 1452 of 1538 bytes are 94.41 %, 45 fragments of 1448 of 1534 bytes less the header 94.38 %.
    assert best_udp_message(1500, ip_version=6) == 1452


def test_framing_accepts_the_smallest_and_largest_sizes_that_the_standards_allow() -> None:
    """RFC 791: every IPv4 path carries 68 bytes; RFC 8200: every IPv6 path 1280."""
    # 68 - 20 = 48 bytes a fragment: 100 + 8 are two of them and 12.
    assert fragments(100, mtu_bytes=68) == (68, 68, 32)
    assert fragments(0, mtu_bytes=68) == (28,)
    assert fragments(0, mtu_bytes=1280, ip_version=6) == (48,)
    assert sum(fragments(65507, mtu_bytes=1500)) == 65515 + 45 * 20
    # 65535 bytes by 1448 are 46 fragments, each behind 48 bytes of headers.
    assert sum(fragments(65527, mtu_bytes=1500, ip_version=6)) == 65535 + 46 * 48
    assert mss_of(1280, ip_version=6) == 1208
    assert ceiling_share("UDP", 1, 1500) == Fraction(1, 84)
    assert ceiling_share("TCP", 1, 68, mss_bytes=1) == Fraction(1, 20 + 20 + 12 + 1 + 38)
    with pytest.raises(ValueError, match="MSS of 0 bytes"):
        ceiling_share("TCP", 1, 1500, mss_bytes=0)
    with pytest.raises(ValueError, match="carries 0 to 65507"):
        fragments(-1, mtu_bytes=1500)
    assert ceiling_bit_per_s(Link(1, 1500), "UDP", 1, 1500) == 1 / 84


def test_the_tolerance_above_the_wire_ceiling_is_0_1_percent_and_for_imports_0_2_percent() -> None:
    assert above_tolerance(imported=False) == 0.001
    assert above_tolerance(imported=True) == 0.002


def test_the_tcp_wire_ceiling_does_not_depend_on_the_message_size() -> None:
    assert ceiling_share("TCP", 1, 1500) == ceiling_share("TCP", 2**24, 1500)


def test_the_tcp_wire_ceiling_uses_the_effective_mss_and_refuses_an_mss_above_the_mtu() -> None:
    assert ceiling_share("TCP", 64, 1500, mss_bytes=1448) == Fraction(1448, 1538)
    assert ceiling_share("TCP", 64, 1500, mss_bytes=536) == Fraction(536, 536 + 52 + 38)
    assert ceiling_share("TCP", 64, 1500, mss_bytes=1460, timestamps=False) == Fraction(1460, 1538)
    with pytest.raises(ValueError, match="MSS of 1460 bytes: MTU 1500 allows 1 to 1448"):
        ceiling_share("TCP", 64, 1500, mss_bytes=1460)


def test_the_frame_rate_of_a_gigabit_link_is_the_figure_of_the_standard() -> None:
    assert int(frames_per_s(1e9, 64)) == 1_488_095
    assert int(frames_per_s(1e9, 1518)) == 81_274
    with pytest.raises(ValueError, match="shortest on Ethernet has 64"):
        frames_per_s(1e9, 63)


def test_the_largest_udp_message_in_a_frame_leaves_room_for_headers_and_fcs() -> None:
    assert udp_message_in_frame(64) == 18
    assert udp_message_in_frame(1518) == 1472
    assert udp_message_in_frame(66, ip_version=6) == 0


def test_a_64_byte_frame_is_refused_for_udp_over_ipv6() -> None:
    with pytest.raises(ValueError, match="no room for IPv6 and UDP; at least 66 bytes"):
        udp_message_in_frame(64, ip_version=6)


def test_short_packets_are_padded_on_the_wire_and_tag_or_tunnel_replace_padding() -> None:
    assert packet_wire_bytes(1) == packet_wire_bytes(46) == 84
    assert packet_wire_bytes(47) == 85
    assert packet_wire_bytes(1500) == 1538
    # A message of 1 byte is a packet of 29: 17 bytes of padding, 13 beside a tag, none in a tunnel.
    for added_bytes, wire in ((0, 84), (4, 84), (17, 84), (18, 85), (60, 29 + 60 + 38)):
        assert ceiling_share("UDP", 1, 1500, added_bytes=added_bytes) == Fraction(1, wire)


def test_fragments_in_a_tunnel_fit_its_mtu_and_each_costs_the_overhead() -> None:
    """WireGuard over IPv6: IP 40, UDP 8, its own header 16, its tag 16 (whitepaper, 5.4.6)."""
    # 1420 - 20 = 1400 bytes a fragment: 1400 of the message's 1408, and 8.
    share = ceiling_share("UDP", 1400, 1420, added_bytes=80)
    assert share == Fraction(1400, (1420 + 80 + 38) + (28 + 80 + 38))
    assert ceiling_share("UDP", 1392, 1420, added_bytes=80) == Fraction(1392, 1420 + 80 + 38)


def test_a_link_without_hops_or_overhead_is_written_as_before_there_were_any() -> None:
    plain = {"rate_bit_per_s": 1e9, "mtu_bytes": 1500, "vlan": False}
    assert Link(1e9, 1500).content() == plain
    of_tunnel = Link(1e9, 1420, True, 2, 60)
    assert of_tunnel.content() == {
        **plain, "mtu_bytes": 1420, "vlan": True, "hops": 2, "overhead_bytes": 60
    }  # fmt: skip
    assert of_tunnel.added_bytes == 64


@pytest.mark.parametrize(
    ("protocol", "message", "mtu", "ip_version", "why"),
    [
        ("UDP", 65508, 1500, 4, "IPv4 carries 0 to 65507"),
        ("UDP", 65528, 1500, 6, "IPv6 carries 0 to 65527"),
        ("UDP", 0, 1500, 4, "carries no payload"),
        ("TCP", 0, 1500, 4, "carries no payload"),
        ("UDP", 64, 67, 4, "IPv4 requires at least 68"),
        ("TCP", 64, 1279, 6, "IPv6 requires at least 1280"),
        ("SCTP", 64, 1500, 4, "neither TCP nor UDP"),
    ],
)
def test_a_ceiling_is_refused_for_messages_mtus_and_protocols_that_no_link_carries(
    protocol: Protocol, message: int, mtu: int, ip_version: IpVersion, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        ceiling_share(protocol, message, mtu, ip_version=ip_version)


def test_empty_packets_and_links_without_a_rate_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        packet_wire_bytes(0)
    with pytest.raises(ValueError, match="carries nothing"):
        ceiling_bit_per_s(Link(0, 1500), "UDP", 64, 1500)


@given(st.integers(1, 65507), mtus, versions)
def test_fragments_carry_the_whole_message_within_the_mtu(
    message: int, mtu: int, ip_version: IpVersion
) -> None:
    packets = fragments(message, mtu_bytes=mtu, ip_version=ip_version)
    assert max(packets) <= mtu
    if len(packets) == 1:
        assert packets[0] == message + 8 + IP_BYTES[ip_version]
        return
    header = IP_BYTES[ip_version] + (8 if ip_version == 6 else 0)
    payloads = [packet - header for packet in packets]
    assert sum(payloads) == message + 8
    assert all(payload % 8 == 0 for payload in payloads[:-1])
    assert all(payload > 0 for payload in payloads)
    # Nothing is cut that would have fitted.
    assert message + 8 + IP_BYTES[ip_version] > mtu


@given(st.integers(1, 65507), mtus, versions, st.integers(0, 200))
def test_every_wire_ceiling_is_below_the_link_rate(
    message: int, mtu: int, ip_version: IpVersion, added_bytes: int
) -> None:
    protocols: tuple[Protocol, ...] = ("TCP", "UDP")
    for protocol in protocols:
        share = ceiling_share(
            protocol, message, mtu, ip_version=ip_version, added_bytes=added_bytes
        )
        assert 0 < share < 1


@given(mtus, versions, st.integers(0, 200))
def test_tcp_timestamps_ipv6_headers_tags_and_tunnels_never_raise_the_wire_ceiling(
    mtu: int, ip_version: IpVersion, added: int
) -> None:
    with_timestamps, without = (
        ceiling_share(
            "TCP", 1, mtu, ip_version=ip_version, added_bytes=added, timestamps=timestamps
        )
        for timestamps in (True, False)
    )
    assert with_timestamps < without
    more = ceiling_share("TCP", 1, mtu, ip_version=ip_version, added_bytes=added + 1)
    assert more < with_timestamps
    assert ceiling_share("TCP", 1, mtu, ip_version=6) < ceiling_share("TCP", 1, mtu, ip_version=4)
    assert mss_of(mtu, ip_version=4) - mss_of(mtu, ip_version=6) == 20


@given(st.integers(64, 16000), versions)
def test_the_largest_udp_message_of_a_frame_size_fills_a_frame_of_exactly_that_size(
    frame: int, ip_version: IpVersion
) -> None:
    if frame < 66 and ip_version == 6:
        return
    message = udp_message_in_frame(frame, ip_version=ip_version)
    (packet,) = fragments(message, mtu_bytes=max(frame, 1280), ip_version=ip_version)
    assert packet_wire_bytes(packet) == frame + 20
    assert message <= MAX_DATAGRAM_BYTES[ip_version]


@pytest.mark.parametrize(
    ("protocol", "message", "sizes"),
    [
        ("TCP", 1448, (1500,)),
        ("TCP", 1449, (1500, 53)),
        ("TCP", 18, (70,)),
        ("UDP", 1472, (1500,)),
        ("UDP", 1473, (1500, 21)),
        ("UDP", 18, (46,)),
    ],
)
def test_one_message_over_ipv4_becomes_packets_of_the_expected_sizes(
    protocol: Protocol, message: int, sizes: tuple[int, ...]
) -> None:
    assert packets(protocol, message, 1500) == sizes


@pytest.mark.parametrize(
    ("protocol", "message", "sizes"),
    [
        # 1500 - 40 - 20 - 12 = 1428 bytes of payload beside 72 of headers.
        ("TCP", 1428, (1500,)),
        ("TCP", 1429, (1500, 73)),
        ("TCP", 1, (73,)),
        # 1500 - 40 - 8 = 1452; beyond that 181 x 8 = 1448 a fragment beside 48 of headers.
        ("UDP", 1452, (1500,)),
        ("UDP", 1453, (1496, 48 + 1453 + 8 - 1448)),
        ("UDP", 2 * 1448 - 8, (1496, 1496)),
    ],
)
def test_one_message_over_ipv6_becomes_packets_of_the_expected_sizes(
    protocol: Protocol, message: int, sizes: tuple[int, ...]
) -> None:
    assert packets(protocol, message, 1500, ip_version=6) == sizes


def test_tcp_packets_use_the_effective_mss_and_an_impossible_mss_is_refused() -> None:
    assert packets("TCP", 1460, 1500, timestamps=False) == (1500,)
    assert packets("TCP", 1000, 1500, mss_bytes=536) == (588, 516)
    assert packets("TCP", 2, 1500, mss_bytes=1) == (53, 53)
    assert packets("TCP", 1, 1500) == (53,)
    with pytest.raises(ValueError, match="MSS of 0 bytes"):
        packets("TCP", 1000, 1500, mss_bytes=0)
    with pytest.raises(ValueError, match="allows 1 to 1448"):
        packets("TCP", 1000, 1500, mss_bytes=1460)
    with pytest.raises(ValueError, match="carries no payload"):
        packets("TCP", 0, 1500)


def test_transfer_time_excludes_the_last_gap_and_each_further_cable_adds_one_frame() -> None:
    link, routed = Link(1e8, 1500), Link(1e8, 1500, hops=1)
    assert transfer_wire_bytes([1500], link) == 1526
    assert transfer_wire_bytes([46], link) == 72
    assert transfer_wire_bytes([46], Link(1e8, 1500, vlan=True)) == 76
    assert transfer_wire_bytes([46], Link(1e8, 1420, overhead_bytes=60)) == 8 + 14 + 106 + 4
    assert transfer_wire_bytes([1500], routed) == 2 * 1526
    assert transfer_wire_bytes([1500, 21], routed) == 1538 + 72 + 1526
    # At least, the shortest frame is the last.
    assert transfer_floor_bytes([1500, 21], link) == 1538 + 72
    assert transfer_floor_bytes([1500, 21], routed) == 1538 + 72 + 72
    for time_of in (transfer_wire_bytes, transfer_floor_bytes):
        with pytest.raises(ValueError, match="at least one packet"):
            time_of([], link)


@given(st.lists(st.integers(28, 1500), min_size=1, max_size=8), st.integers(1, 4))
def test_transfer_time_over_cables_equals_a_simulation_of_store_and_forward(
    rest: list[int], cables: int
) -> None:
    sizes = [1500, *rest]
    arrived = [0] * len(sizes)
    for _ in range(cables):
        free = 0
        for index, size in enumerate(sizes):
            wire = packet_wire_bytes(size)
            start = max(free, arrived[index])
            arrived[index] = start + wire - 12
            free = start + wire
    assert transfer_wire_bytes(sizes, Link(1e8, 1500, hops=cables - 1)) == arrived[-1]


@given(mtus, versions, st.integers(1, 65000), st.integers(0, 1000))
def test_no_udp_message_size_has_a_higher_wire_ceiling_than_the_best_message_size(
    mtu: int, version: IpVersion, message: int, added: int
) -> None:
    best = best_udp_message(mtu, ip_version=version)
    of_any, of_best = (
        ceiling_share("UDP", size, mtu, ip_version=version, added_bytes=added)
        for size in (message, best)
    )
    assert of_any <= of_best
