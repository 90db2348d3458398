"""A ``latency_under_load`` test consists of a load, round trips and connections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.ethernet import Link
from netlab.experiment.cells import Cell, demands, lacking
from netlab.experiment.schedule import Round, Trial, estimate, same_setups
from netlab.kinds import FIELDS, Connect, LatencyUnderLoad, RoundTrip, Stream
from netlab.kinds.groups import SentMessages
from netlab.kinds.latency_under_load.settings import OUTSTANDING_MOST

LINK = Link(1e8, 1500)
EVERYTHING = ["stream", "tcp", "udp", "ipv4", "ipv6", "round_trip", "connect", "poll"]


def cell_of(**settings: Any) -> Cell:
    return Cell(pairing="LL", test="latency_under_load", setup=LatencyUnderLoad(**settings))


# ---- what it is made of ----


def test_the_load_equals_a_stream_of_the_same_settings() -> None:
    shared: dict[str, Any] = {
        **{"protocol": "TCP", "message_bytes": 9000, "direction": "both", "streams": 4},
        **{"congestion": "cubic", "nodelay": True, "socket_buffer_bytes": 65536},
        **{"rate_bit_per_s": 5e6, "receive": "polling", "server_cpu": 1, "client_cpu": 0},
        **{"network": "test", "ip_version": 6, "interface": "eth0", "dscp": 10, "duration_s": 7.0},
    }
    setup = LatencyUnderLoad(**shared, idle_s=3.0, request_bytes=100)
    assert setup.load() == Stream(**shared)


def test_round_trips_under_load_last_for_all_phases_and_use_the_path_of_the_load() -> None:
    way: dict[str, Any] = {"network": "test", "ip_version": 6, "interface": "eth0", "dscp": 10}
    load: dict[str, Any] = {"protocol": "UDP", "duration_s": 20.0, "streams": 2}
    requests: dict[str, Any] = {"request_rate_per_s": 50.0, "request_timeout_s": 2.0}
    requests |= {"request_bytes": 100, "connect_rate_per_s": 0.5}
    setup = LatencyUnderLoad(**way, **load, **requests, idle_s=3.0, after_s=4.0)
    assert setup.round_trips_s() == 3.0 + 20.0 + 2.0 + 4.0 + 0.5
    assert setup.round_trips() == RoundTrip(
        **way,
        protocol="UDP",
        message_bytes=100,
        message_rate_per_s=50.0,
        outstanding=101,
        timeout_s=2.0,
        duration_s=29.5,
    )
    assert setup.connections() == Connect(
        **way, message_bytes=100, message_rate_per_s=0.5, duration_s=29.5
    )
    assert replace(setup, connect_rate_per_s=None).connections() is None


def test_round_trips_under_load_over_tcp_use_nodelay() -> None:
    asking = LatencyUnderLoad(request_protocol="TCP").round_trips()
    assert (asking.protocol, asking.nodelay) == ("TCP", True)


RATES = st.floats(1, 2000)
TIMEOUTS = st.floats(0.01, 10)


@given(RATES, TIMEOUTS, st.sampled_from(["UDP", "TCP"]))
def test_a_valid_latency_under_load_test_has_valid_settings_for_its_round_trips(
    rate: float, timeout_s: float, protocol: Any
) -> None:
    """And no request waits for another: all of a time-out may be under way."""
    setup = LatencyUnderLoad(
        request_protocol=protocol, request_rate_per_s=rate, request_timeout_s=timeout_s
    )
    fields = [field for field, _ in setup.faults()]
    assert fields == (["request_timeout_s"] if rate * timeout_s > OUTSTANDING_MOST else [])
    asking = setup.round_trips()
    assert 1 < asking.outstanding <= OUTSTANDING_MOST
    if not fields:
        assert [*asking.faults()] == []
        assert asking.outstanding >= rate * timeout_s


# ---- what no host could measure ----


@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({"request_bytes": 15}, "request_bytes", "16 bytes for its sequence number"),
        ({"request_bytes": 65508}, "request_bytes", "65507 bytes at most over IPv4"),
        ({"request_bytes": 65528, "ip_version": 6}, "request_bytes", "65527 bytes at most"),
        ({"request_rate_per_s": 400.0}, "request_timeout_s", "1200 requests would be under way"),
        ({"protocol": "UDP", "message_bytes": 65508}, "message_bytes", "65507 bytes at most"),
        ({"receive": "adaptive"}, "receive", "`adaptive` needs a warm-up, and the load has none"),
        (
            {"protocol": "UDP", "send_method": "xdp", "streams": 2},
            "send_method",
            "sends only one stream",
        ),
        ({"protocol": "UDP", "receive_from": "packet"}, "receive_from", "needs `receive: polling"),
        ({"streams": 65, "receive": "polling"}, "receive", "a thread waits for several"),
    ],
)
def test_the_fault_of_an_impossible_latency_under_load_test_names_the_setting_at_fault(
    settings: dict[str, Any], field: str, words: str
) -> None:
    ((fault, message),) = LatencyUnderLoad(**settings).faults()
    assert fault == field
    assert words in message
    assert fault in FIELDS["latency_under_load"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"request_bytes": 16},
        {"request_bytes": 65507},
        {"request_bytes": 1, "request_protocol": "TCP"},
        {"request_bytes": 1_000_000, "request_protocol": "TCP"},
        {"request_rate_per_s": 2000.0, "request_timeout_s": 0.512},
        {"protocol": "UDP", "message_bytes": 65507, "direction": "both", "streams": 64},
        {"streams": 1000, "receive": "spinning"},
    ],
)
def test_a_possible_latency_under_load_has_no_fault(settings: dict[str, Any]) -> None:
    assert [*LatencyUnderLoad(**settings).faults()] == []


@pytest.mark.parametrize(
    ("direction", "client", "server"),
    [("client-sends", True, False), ("server-sends", False, True), ("both", True, True)],
)
def test_client_and_server_send_load_messages_only_in_the_direction_of_the_load(
    direction: Any, client: bool, server: bool
) -> None:
    for protocol, messages in (
        ("TCP", SentMessages("TCP", None)),
        ("UDP", SentMessages("UDP", 1448)),
    ):
        setup = LatencyUnderLoad(protocol=protocol, direction=direction)  # type: ignore[arg-type]
        assert setup.sent_by("client") == (messages if client else None)
        assert setup.sent_by("server") == (messages if server else None)


# ---- what it demands of the hosts ----


def test_latency_under_load_requires_stream_trip_and_connect_capabilities_of_both_hosts() -> None:
    for role in ("server", "client"):
        demanded = {demand.capability for demand in demands(cell_of()) if demand.role == role}
        assert demanded >= {"stream", "round_trip", "connect", "tcp", "udp"}
        only_udp = cell_of(protocol="UDP", connect_rate_per_s=None)
        demanded = {demand.capability for demand in demands(only_udp) if demand.role == role}
        assert demanded.isdisjoint({"connect", "tcp"})
        assert demanded >= {"stream", "round_trip", "udp"}


@pytest.mark.parametrize(
    ("without", "settings", "phrase"),
    [
        ("stream", {}, "test: latency_under_load"),
        ("round_trip", {}, "test: latency_under_load"),
        ("connect", {}, "connect_rate"),
        ("udp", {}, "request_protocol: UDP"),
        ("udp", {"protocol": "UDP"}, "protocol: UDP"),
        ("tcp", {"protocol": "UDP"}, "connect_rate"),
        ("tcp", {"protocol": "UDP", "request_protocol": "TCP"}, "request_protocol: TCP"),
        ("ipv6", {"ip_version": 6}, "ip: 6"),
        ("poll", {"receive": "polling"}, "receive: polling"),
    ],
)
def test_a_missing_capability_is_reported_with_the_setting_that_needs_the_capability(
    without: str, settings: dict[str, Any], phrase: str
) -> None:
    cell = cell_of(**settings)
    able = [word for word in EVERYTHING if word != without]
    assert lacking(cell, {"server": EVERYTHING, "client": EVERYTHING}) == ()
    failures = lacking(cell, {"server": able, "client": EVERYTHING})
    assert failures[0].what == phrase
    assert {demand.role for demand in failures} == {"server"}


# ---- how long it takes, and what it is called ----


def test_the_duration_of_latency_under_load_is_that_of_its_round_trips() -> None:
    cell = cell_of(idle_s=2.0, duration_s=10.0, after_s=3.0, request_timeout_s=1.0)
    assert cell.setup.window_s() == 16.5
    assert cell.setup.least_s(LINK) is None
    rounds = [Round((Trial(cell, number),)) for number in (1, 2)]
    time = estimate(same_setups(rounds), LINK, overhead_s=1.0, pause_s=0.5)
    assert (time.time_s, time.longest_s) == (2 * 17.5 + 0.5, 16.5)
    assert (time.counted, time.searching) == (0, 0)


def test_each_setting_of_latency_under_load_makes_another_cell() -> None:
    cells = [
        cell_of(),
        cell_of(idle_s=6.0),
        cell_of(after_s=6.0),
        cell_of(duration_s=31.0),
        cell_of(request_protocol="TCP"),
        cell_of(request_bytes=65),
        cell_of(request_rate_per_s=99.0),
        cell_of(request_timeout_s=2.0),
        cell_of(connect_rate_per_s=2.0),
        cell_of(connect_rate_per_s=None),
        cell_of(streams=2),
        cell_of(direction="both"),
        cell_of(congestion="cubic"),
        cell_of(rate_bit_per_s=1e6),
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    assert cells[0].key.startswith("LL-latency_under_load-tcp-1448-auto-")
    assert cells[0].key == cell_of(duration_s=30.0, request_bytes=64, streams=1).key


def test_the_key_of_a_latency_under_load_cell_is_the_key_in_stored_runs() -> None:
    assert cell_of().key == "LL-latency_under_load-tcp-1448-auto-50cf2fcf"
