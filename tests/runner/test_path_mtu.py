"""The path MTU: its measurement on real cables, and the cells that it makes impossible."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from made_paths import SILENT
from paths import Path, hosts_on, ip

from netlab.errors import ProbeError
from netlab.kinds import Connect, PayloadSearch, RoundTrip, Setup, Stream, ThroughputSearch
from netlab.kinds.payload_search.settings import LEAST_MESSAGE_BYTES
from netlab.measurement import path_mtu
from netlab.measurement.path_mtu import NarrowPath, narrow_ways
from netlab.measurement.payload_search import Direction

pytestmark = pytest.mark.beside

TOLD = replace(SILENT, is_reported=True, whole_passes=True, pieces_pass=True, segments_pass=True)
SWITCH = replace(SILENT, segments_pass=True)
ROUTER = replace(SILENT, pieces_pass=True)


def udp(message_bytes: int, **settings: Any) -> Stream:
    return Stream(protocol="UDP", message_bytes=message_bytes, **settings)


TCP = Stream(protocol="TCP", message_bytes=64)
ASKED = RoundTrip(protocol="TCP", message_bytes=64, response_bytes=4000)


@pytest.mark.parametrize(
    ("setup", "sender", "stopped_by"),
    [
        (udp(1472), "client", []),
        (udp(1473), "client", [SILENT, SWITCH, ROUTER]),
        (udp(8972), "client", [SILENT, SWITCH, ROUTER]),
        (udp(8973), "client", [SILENT, SWITCH]),
        (udp(1473, dont_fragment=True), "client", [SILENT, SWITCH, ROUTER, TOLD]),
        (udp(9500, dont_fragment=True), "client", [SILENT, SWITCH, ROUTER, TOLD]),
        (udp(1453, ip_version=6), "client", [SILENT, SWITCH, ROUTER]),
        (udp(1452, ip_version=6), "client", []),
        (udp(4000), "server", []),
        (udp(4000, direction="server-sends"), "client", []),
        (udp(4000, direction="server-sends"), "server", [SILENT, SWITCH, ROUTER]),
        (udp(4000, direction="both"), "server", [SILENT, SWITCH, ROUTER]),
        (TCP, "client", [SILENT, ROUTER]),
        (TCP, "server", []),
        (ASKED, "client", []),
        (ASKED, "server", [SILENT, ROUTER]),
        (replace(ASKED, outstanding=30), "client", [SILENT, ROUTER]),
        (replace(ASKED, protocol="UDP", response_bytes=16), "server", []),
        (Connect(message_bytes=1448), "client", []),
        (Connect(message_bytes=1449), "client", [SILENT, ROUTER]),
        (ThroughputSearch(frame_bytes=1518), "client", []),
        (ThroughputSearch(frame_bytes=1519), "client", [SILENT, SWITCH, ROUTER, TOLD]),
        (PayloadSearch(protocol="UDP"), "client", []),
        (PayloadSearch(protocol="TCP"), "server", []),
    ],
)
def test_a_narrow_path_stops_a_cell_exactly_if_packets_of_the_cell_are_too_long_for_it(
    setup: Setup, sender: str, stopped_by: list[NarrowPath]
) -> None:
    messages = setup.sent_by(sender)
    ways = [SILENT, SWITCH, ROUTER, TOLD]
    assert [way for way in ways if messages and way.stops(messages, setup.ip_version)] == stopped_by


# On real cables


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that waits 0.1 s for its turn has lost no packet."""
    monkeypatch.setattr(path_mtu, "LEAST_TIMEOUT_S", 0.5)


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize(
    ("path", "client_way", "server_way"),
    [
        (Path(), None, None),
        # A virtual cable passes four bytes more than the MTU of its other end, for a tag.
        (Path(client_mtu_bytes=9000), SWITCH, None),
        (Path(client_mtu_bytes=1500, server_mtu_bytes=1279, router=True), None, None),
    ],
)
def test_each_direction_is_tried_with_the_longest_packet_of_the_sending_interface(
    path: Path, client_way: NarrowPath | None, server_way: NarrowPath | None
) -> None:
    with hosts_on(path) as ends:
        ways = {way.sender: way for way in narrow_ways(ends, 4)}
    for sender, expected_way in (("client", client_way), ("server", server_way)):
        if expected_way is not None:
            way = ways[sender]
            assert way.mtu_bytes in (expected_way.mtu_bytes, expected_way.mtu_bytes + 4)
            names = ("is_reported", "whole_passes", "pieces_pass", "segments_pass")
            assert [getattr(way, name) for name in names] == [
                getattr(expected_way, name) for name in names
            ]
    if path.router:
        way = ways["client"]
        assert (way.mtu_bytes, way.is_reported, way.segments_pass) == (1279, True, True)
        assert (way.whole_passes, way.pieces_pass) == (True, True)
        assert "the sender's system knows this limit" in way.sentence
    assert ways.keys() == {"client"} if client_way or path.router else ways == {}


@pytest.mark.needs("namespaces")
def test_a_silent_router_stops_tcp_and_unfragmented_messages_but_no_fragments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(path_mtu, "TCP_S", 0.5)
    with hosts_on(Path(router=True, narrow_mtu_bytes=1400)) as ends:
        router = f"netlab-test-{os.getpid()}-router"
        ip(
            "-n",
            router,
            *["rule", "add", "preference", "10", "iif", "lo", "ipproto", "icmp", "blackhole"],
        )
        (way,) = [way for way in narrow_ways(ends, 4) if way.sender == "client"]
    assert (way.mtu_bytes, way.is_reported) == (1400, False)
    assert (way.whole_passes, way.pieces_pass, way.segments_pass) == (False, True, False)


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("exchanges", [4, 8, 12])
def test_a_moment_in_which_no_packet_passes_is_not_taken_for_a_path_mtu(
    monkeypatch: pytest.MonkeyPatch, exchanges: int
) -> None:
    sizes: list[int] = []
    passing = Direction.exchange

    def stalled(self: Direction, message_bytes: int, *, whole: bool = True) -> None:
        if message_bytes > LEAST_MESSAGE_BYTES["UDP"]:
            sizes.append(message_bytes)
            if len(sizes) <= exchanges:
                raise ProbeError("right", "no-answer")
        passing(self, message_bytes, whole=whole)

    monkeypatch.setattr(Direction, "exchange", stalled)
    with hosts_on(Path()) as ends:
        assert narrow_ways(ends, 4) == ()
    assert len(sizes) > exchanges
