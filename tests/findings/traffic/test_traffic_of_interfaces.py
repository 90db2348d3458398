"""The traffic of an interface, its part that is ours, and what is left: computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import pytest

from netlab.ethernet import Link
from netlab.findings.traffic import CountedWays, OwnBytes, likely_others, others_of, ways_of
from netlab.trial.record import Record, Status

LINK = Link(1e8, 1500)


def counters(end: str, way: str, *, flow: str = "", **own: Any) -> dict[str, Any]:
    """An end whose interface counted 30 MB in 30,000 packets of one way, over 10 s."""
    counts = {
        "interface": "eth0",
        "interface_window_ns": 10_000_000_000,
        "interface_counter_step_ns": 20_000_000,
        "elapsed_ns": 10_000_000_000,
        f"interface_window_{way}_bytes": 30_000_000,
        f"interface_window_{way}_packets": 30_000,
        **own,
    }
    named = {f"{flow}{end}_{name}": value for name, value in counts.items()}
    return {f"{flow}throughput_bit_per_s": 1e6, **named}


def record_with(values: dict[str, Any], **settings: Any) -> Record:
    """A stream from linux-a, the client, to linux-b, with messages of 1400 bytes."""
    return Record(
        cell="c", trial=1, attempt=1, status=Status.OK, pairing="LL", server="linux-b",
        client="linux-a", test="stream", started_at="",
        settings={"message_bytes": 1400, **settings},
        values={"same_host": False, **values},
    )  # fmt: skip


def udp(changes: dict[str, Any], **settings: Any) -> Record:
    sent = counters("sender", "sent", sent_messages_window=100, send_buffer_bytes=0)
    return record_with({**sent, **changes}, protocol="UDP", **settings)


# ---- what an interface counted, and what of it is ours -------------------------------------------

ONE_FRAME = OwnBytes(payload=144_200, frames=100, most=145_000)
"""100 packets of 1428 bytes with a header of 14 bytes; FCS and tag are 8 bytes."""


@pytest.mark.parametrize(
    ("path_mtu", "own"),
    [
        (None, ONE_FRAME),
        (9000, ONE_FRAME),
        (0, ONE_FRAME),
        (1000, OwnBytes(payload=147_600, frames=200, most=149_200)),  # 996 and 452 bytes
    ],
)
def test_the_datagrams_of_a_stream_are_cut_to_the_mtu_of_path_and_link(
    path_mtu: int | None, own: OwnBytes
) -> None:
    ((host, receiving, counts),) = ways_of(udp({"sender_path_mtu_bytes": path_mtu}), LINK)
    assert (host, receiving) == ("linux-a", False)
    assert astuple(counts) == (30_000_000, 30_000, 10.0, 0.02, astuple(own), astuple(OwnBytes()))


def test_the_traffic_of_impossible_datagrams_is_not_known() -> None:
    assert ways_of(udp({"sender_path_mtu_bytes": 1}), LINK) == ()
    for size in (0, None):
        assert ways_of(udp({}, message_bytes=size), LINK) == ()
    ((_, _, counts),) = ways_of(udp({}, message_bytes=1), LINK)
    assert astuple(counts.own) == (4_300, 100, 0, 6_800)


def test_windows_that_differ_widen_the_bound_of_our_traffic() -> None:
    """The end's 10.05 s are 0.05 s from its counters' window, which is 0.1 s from the interface's:
    as much may be counted in addition."""
    back = counters(
        "receiver", "received", flow="to_client_",
        interface_window_ns=10_100_000_000, elapsed_ns=10_050_000_000,
        received_messages=90, lost_messages=10, queue_close_bytes=0,
    )  # fmt: skip
    there = counters("sender", "received", flow="to_server_")
    record = record_with({**there, **back}, protocol="UDP", direction="both")
    ((host, receiving, counts),) = ways_of(record, LINK)
    assert (host, receiving) == ("linux-a", True)
    assert counts.own.most == pytest.approx(101 * 1450 * (1 + 0.15 / 10.05))
    assert counts.lost == OwnBytes(payload=10 * 1442, frames=10, most=10 * 1450)


def test_a_receiver_of_tcp_gets_segments_of_the_sender_s_mss_and_acknowledges_each() -> None:
    values = {
        **counters("receiver", "received", tcp_window_data_segs_in=100, tcp_window_segs_in=100),
        **counters("receiver", "sent"),
        "sender_tcp_begin_snd_mss": 1000,
        "sender_tcp_end_snd_mss": 1000,
    }
    for timestamps, header in ((None, 66), (True, 66), (False, 54)):
        record = record_with({**values, "tcp_timestamps": timestamps}, protocol="TCP")
        ways = {(host, way): astuple(counts.own)[:3] for host, way, counts in ways_of(record, LINK)}
        assert ways == {
            ("linux-b", True): (100_000, 100, 100 * header),
            ("linux-b", False): (0, 100, 100 * header),
        }


def test_uncounted_segments_are_known_only_of_a_single_stream() -> None:
    values = {
        **counters("sender", "sent", sent_bytes=100_000, send_buffer_bytes=1000),
        "sender_tcp_begin_total_retrans": 0,
        "sender_tcp_end_total_retrans": 0,
    }
    payloads = {
        streams: [
            counts.own.payload
            for _, _, counts in ways_of(record_with(values, protocol="TCP", streams=streams), LINK)
        ]
        for streams in (None, 1, 2)
    }
    assert payloads == {None: [100_000], 1: [100_000], 2: []}


# ---- other traffic -------------------------------------------------------------------------------

OWN = OwnBytes(payload=9_600_000, frames=10_000, header=400_000, most=10_800_000)
"""Packets of 986 bytes: 1024 bytes each on the wire."""


def ways(own: OwnBytes, **counts: Any) -> CountedWays:
    ((_, _, counted),) = ways_of(udp({}), LINK)
    return (("linux-b", True, replace(counted, own=own, **counts)),)


def others(own: OwnBytes, link: Link = LINK, **counts: Any) -> Sequence[tuple[float, float]]:
    """Rate and filled share of the other traffic of an interface with these counts."""
    found = others_of(udp({}), link, ways(own, **counts))
    assert all((traffic.host, traffic.receiving) == ("linux-b", True) for traffic in found)
    return [(traffic.bit_per_s, traffic.filled_share) for traffic in found]


def exactly(bit_per_s: float, filled_share: float) -> Any:
    return pytest.approx((bit_per_s, filled_share), rel=1e-12)


def test_other_traffic_has_the_bytes_left_by_ours_and_fills_the_link_with_its_frames() -> None:
    """A frame takes 24 bytes of the wire that an interface does not count."""
    many, few = others(OWN, packets=30_000), others(OWN, packets=9_000)
    assert many == [exactly(16e6, 8 * (20e6 + 20_000 * 24 + 10.24e6) / 10 / 1e8)]
    bytes_left = 30e6 - 9.6e6 - 0.9 * 0.4e6  # nine tenths of the headers were counted
    wire = bytes_left * (1 + 24 / 1514) + 10.24e6
    assert few == [exactly(8 * bytes_left / 10, 8 * wire / 10 / 1e8)]
    tagged = others(OWN, replace(LINK, vlan=True), packets=30_000)
    assert tagged == [exactly(16e6, 8 * (20e6 + 20_000 * 24 + 10.28e6) / 10 / 1e8)]
    tunnel = others(OWN, replace(LINK, overhead_bytes=60), packets=30_000)
    assert tunnel == [exactly(16e6, 8 * (20e6 + 20_000 * 24 + 10.84e6) / 10 / 1e8)]
    alone = others(OwnBytes(), packets=20_000)
    assert alone == [exactly(24e6, 8 * (30e6 + 20_000 * 24) / 10 / 1e8)]


@pytest.mark.parametrize(
    ("most", "step_s", "least"),
    [
        (1_000, 0.02, 1_250_000),  # a hundredth of what the link carries in 10 s
        (40_000_000, 0.02, 2_000_000),  # a twentieth of ours
        (40_000_000, 1.0, 8_000_000),  # ours of two updates of the counters
    ],
)
def test_other_traffic_exceeds_a_share_of_the_link_of_ours_and_of_two_updates(
    most: float, step_s: float, least: float
) -> None:
    """The control connections have at most 10,000 bytes and 10,000 a second: 110,000."""
    own = OwnBytes(payload=most, most=most)
    for more, count in ((0, 0), (1, 1)):
        assert len(others(own, bytes=most + 110_000 + least + more, step_s=step_s)) == count


# ---- or ours, lost behind the interface ----------------------------------------------------------

SENT = OwnBytes(payload=10_000_000, frames=10_000, most=10_100_000)
LOST = OwnBytes(payload=2_000_000, frames=2_000, most=2_020_000)
"""Frames of 1000 bytes."""


@pytest.mark.parametrize(
    ("frames", "excess_bytes", "is_reported"),
    [
        (2_000, 2_000 * 1000, False),
        (2_000, 2_000 * 995, False),  # half a percent shorter
        (2_000, 2_000 * 994, True),
        (2_000, 2_000 * 1012 + 110_000, False),  # half a percent longer, with FCS and tag
        (2_000, 2_000 * 1014 + 110_000, True),
        (4_000, 4_000 * 1000, True),  # more than were lost
        (0, 2_000 * 1000, True),
    ],
)
def test_an_excess_of_as_many_frames_of_our_length_as_were_lost_may_be_ours(
    frames: int, excess_bytes: float, is_reported: bool
) -> None:
    excess: dict[str, Any] = {
        "bytes": 10_000_000 + excess_bytes,
        "packets": 10_000 + frames,
        "lost": LOST,
    }
    assert len(others(SENT, **excess)) == is_reported
    assert len(others(SENT, **{**excess, "lost": OwnBytes()})) == 1


def test_a_single_frame_in_excess_may_be_ours_too() -> None:
    """In a window of 10 ms the control connections have at most 10,100 bytes."""
    one = OwnBytes(payload=1000, frames=1, most=1010)
    counts: dict[str, Any] = {"bytes": 2000 + 10_100, "packets": 2, "window_s": 0.01, "step_s": 0.0}
    link = Link(5e7, 1500)
    assert others(one, link, **counts, lost=one) == []
    assert len(others(one, link, **counts, lost=OwnBytes())) == 1


def test_on_a_full_link_the_excess_is_other_traffic_that_displaced_as_many_frames_of_ours() -> None:
    """Ours take 10.24 MB of the wire in 10 s, the others 2.01 MB: 9.8 Mbit/s together."""
    lost = OwnBytes(payload=1_962_000, frames=2_000, most=2_020_000)
    counts = ways(SENT, bytes=11_962_000, packets=12_000, lost=lost)
    stop: dict[str, Any] = {"receiver_suspended_ns": 2_000_000_000}
    shares = [
        [each.filled_share for each in others_of(udp(values), Link(rate, 1500), counts)]
        for rate, values in ((10_000_000, {}), (10_001_000, {}), (10_000_000, stop))
    ]
    assert shares == [[0.98], [], []]  # a stop loses messages too, and fills no link


# ---- likely other traffic ------------------------------------------------------------------------


def test_the_likely_other_traffic_of_a_stream_is_the_largest_excess_along_its_data() -> None:
    """Of 30 MB ours are 9.96 MB, and 10.8 MB at most: 0.02 s of 10 s of them are uncertain."""
    ((_, _, counted),) = ways(OWN, packets=9_000)
    less, more = replace(counted, bytes=20_000_000), replace(counted, bytes=90_000_000)
    counts: CountedWays = (
        ("linux-a", False, less),
        ("linux-a", True, more),
        ("linux-b", False, more),
        ("linux-b", True, counted),
    )
    share, doubt, sent = likely_others(counts, LINK, "linux-a", "linux-b")
    assert share == pytest.approx(8 * (30e6 - 9.96e6) / 10 / 1e8)
    assert doubt == pytest.approx(8 * 10.8e6 * 0.02 / 10 / 10 / 1e8)
    assert sent == pytest.approx(8 * (20e6 - 9.96e6) / 10 / 1e8)
    none = (("linux-b", True, replace(counted, bytes=9_000_000)),)
    assert likely_others(none, LINK, "linux-a", "linux-b")[0] == 0


def test_without_a_link_or_counts_along_the_data_no_other_traffic_is_likely() -> None:
    counts = ways(OWN)
    assert likely_others(counts, None, "linux-a", "linux-b") == (0, 0, 0)
    assert likely_others(counts, LINK, "linux-b", "linux-a") == (0, 0, 0)
    assert ways_of(udp({}), None) == ()


def test_what_the_interface_of_a_tunnel_counts_of_the_tunnel_itself_is_no_other_traffic() -> None:
    """WireGuard counts its own header and tag of each packet: 32 bytes, and up to 15 of padding."""
    own = OwnBytes(payload=64 * 1e6, frames=1e6, header=42 * 1e6, most=114 * 1e6)
    counted = {"bytes": 1e6 * (64 + 28 + 4 + 32), "packets": 1e6}
    assert others(own, Link(1e9, 1420), **counted)
    assert others(own, Link(1e9, 1420, overhead_bytes=60), **counted) == []
