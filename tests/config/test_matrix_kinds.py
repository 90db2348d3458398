"""A matrix may have tests of several kinds, with rules and comparisons."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from folders import ROOT
from hypothesis import given
from hypothesis import strategies as st
from made_matrices import ROUND_TRIPS, load, stream_of

from netlab.config.matrix_file import comparisons_in, load_matrix
from netlab.config.settings import SETTINGS_OF
from netlab.errors import MatrixError
from netlab.experiment.cells import Comparison
from netlab.experiment.matrix import expand
from netlab.kinds import Connect, PayloadSearch, RoundTrip, Stream

__all__ = ["load"]


STREAMS = """\
title: streams
pairings: [LL]
defaults: {duration: 2s}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [64, 1500]
"""


WRITTEN: dict[str, Any] = {
    "protocol": "UDP",
    "engine": "netperf",
    "open": "client-connects",
    "ip": 4,
    "message_size": "1KiB",
    "response_size": 16,
    "socket_buffer": "64KiB",
    "duration": "3s",
    "warm_up": "250ms",
    "outstanding": 8,
    "message_rate": "5k/s",
    "timeout": "200ms",
    "dont_fragment": True,
    "udp_checksum": False,
    "dscp": 46,
    "source_port": 5000,
    "interface": "eth0",
    "server_receive": "spinning",
    "client_receive": "spinning",
    "server_cpu": 0,
    "client_cpu": 1,
    "network": "test",
    "stack_time": True,
    "mirror_hold": "100us",
    "keep_first": 100,
}


def test_every_setting_of_a_round_trip_is_read_from_a_matrix(load: Any) -> None:
    base = {"pairings": ["LL"], "tests": [{"test": "round_trip", **WRITTEN}]}
    (cell,) = expand(load(yaml.safe_dump(base)))
    assert cell.setup == RoundTrip(
        protocol="UDP",
        engine="netperf",
        opening="client-connects",
        message_bytes=1024,
        response_bytes=16,
        socket_buffer_bytes=65536,
        duration_s=3.0,
        warm_up_s=0.25,
        outstanding=8,
        message_rate_per_s=5000.0,
        timeout_s=0.2,
        dont_fragment=True,
        udp_checksum=False,
        dscp=46,
        source_port=5000,
        interface="eth0",
        server_receive="spinning",
        client_receive="spinning",
        server_cpu=0,
        client_cpu=1,
        network="test",
        stack_time=True,
        mirror_hold_s=0.0001,
        keep_first=100,
    )
    tcp_settings: dict[str, Any] = {"protocol": "TCP", "message_size": 64, "response_size": "same"}
    tcp_settings |= {"count": 500, "nodelay": True, "congestion": "bbr", "mirror": "own"}
    tcp_settings |= {"variant": "ecn=on"}
    base["variants"] = {"ecn": {"on": {"client": {"sysctl": {"net.ipv4.tcp_ecn": 1}}}}}
    base["mirrors"] = {"own": {"port": 7}}
    base["tests"] = [{"test": "round_trip", **tcp_settings}]
    (cell,) = expand(load(yaml.safe_dump(base)))
    assert cell.setup == RoundTrip(
        protocol="TCP",
        message_bytes=64,
        count=500,
        duration_s=None,
        nodelay=True,
        congestion="bbr",
        mirror="own",
        variant="ecn=on",
    )
    assert {s.name for s in SETTINGS_OF["round_trip"]} == WRITTEN.keys() | tcp_settings.keys()


def test_settings_of_connect_and_payload_search_are_read_from_a_matrix(load: Any) -> None:
    text = ROUND_TRIPS.partition("tests:")[0] + (
        "defaults: {congestion: cubic, duration: 2s}\n"
        "tests:\n"
        "  - {test: connect, message_size: 64, response_size: 1KiB, close: orderly}\n"
        "  - {test: payload_search, protocol: UDP, sweep: true, capture: true, timeout: 50ms}\n"
    )
    assert [cell.setup for cell in expand(load(text))] == [
        Connect(
            message_bytes=64,
            response_bytes=1024,
            close="orderly",
            congestion="cubic",
            duration_s=2.0,
        ),
        PayloadSearch(protocol="UDP", sweep=True, capture=True, timeout_s=0.05, duration_s=2.0),
    ]


def test_rules_and_axes_apply_to_round_trips(load: Any) -> None:
    text = ROUND_TRIPS + (
        "    replace: [{when: {pairing: LL, message_size: 18}, with: {message_size: 20}}]\n"
        "    exclude: [{message_size: 20, server_receive: spinning}]\n"
    )
    combinations = {
        (s["message_bytes"], s["server_receive"], s["count"])
        for s in (cell.settings for cell in expand(load(text)))
    }
    assert combinations == {
        (20, "blocking", 10000),
        (1472, "blocking", 1000),
        (1472, "spinning", 1000),
    }


def test_defaults_apply_only_to_the_tests_that_take_the_setting(load: Any) -> None:
    text = STREAMS.replace("{duration: 2s}", "{count: 9, outstanding: 4, streams: 2}") + (
        "  - {test: round_trip, protocol: TCP, message_size: 64}\n"
        "  - {test: payload_search, protocol: TCP}\n"
    )
    setups = [cell.setup for cell in expand(load(text)) if cell.pairing == "LL"]
    assert setups[-2:] == [
        RoundTrip(protocol="TCP", message_bytes=64, count=9, duration_s=None, outstanding=4),
        PayloadSearch(protocol="TCP"),
    ]
    assert setups[0] == Stream(
        protocol="TCP", message_bytes=64, count=9, duration_s=None, streams=2
    )


def test_an_override_applies_only_to_the_tests_that_take_the_setting(load: Any) -> None:
    text = ROUND_TRIPS + "  - {test: stream, protocol: TCP, message_size: 64}\n"
    cells = expand(load(text, outstanding="2", streams="3"))
    assert {cell.settings.get("outstanding") for cell in cells} == {2, None}
    assert {cell.settings.get("streams") for cell in cells} == {3, None}


def test_comparisons_are_read_from_a_matrix_and_from_the_text_that_a_run_stores(load: Any) -> None:
    text = ROUND_TRIPS + (
        "compare:\n  - name: waits\n    baseline: {server_receive: blocking, pairing: LL}\n"
        "    contender: {server_receive: spinning, pairing: LL}\n"
    )
    matrix = load(text)
    (comparison,) = matrix.comparisons
    assert comparison == Comparison(
        "waits",
        {"server_receive": "blocking", "pairing": "LL"},
        {"server_receive": "spinning", "pairing": "LL"},
    )
    assert comparisons_in(matrix.text, "matrix.yaml") == matrix.comparisons
    assert comparisons_in(ROUND_TRIPS, "matrix.yaml") == ()
    with pytest.raises(MatrixError):
        comparisons_in("title: [", "matrix.yaml")


def test_the_matrix_nettest_has_the_documented_round_trips_and_streams() -> None:
    matrix = load_matrix(ROOT / "matrices" / "nettest.yaml")
    ping, tcp, udp = expand(matrix)
    assert ping.setup == RoundTrip(
        protocol="TCP", message_bytes=1448, count=100_000, duration_s=None, congestion="cubic"
    )
    assert [(stream_of(c).protocol, stream_of(c).message_bytes) for c in (tcp, udp)] == [
        ("TCP", 1448),
        ("UDP", 1472),
    ]
    assert {stream_of(cell).count for cell in (tcp, udp)} == {1_000_000}
    assert [matrix.repeats_of(cell) for cell in (ping, tcp, udp)] == [10, 10, 15]
    assert matrix.pause_s == 3
    assert matrix.link is not None
    assert (matrix.link.rate_bit_per_s, matrix.link.hops) == (1e8, 1)


def test_the_matrix_udp_mirror_has_a_count_for_each_message_size_and_two_comparisons() -> None:
    matrix = load_matrix(ROOT / "matrices" / "udp-mirror.yaml")
    cells = expand(matrix)
    assert len(cells) == 8
    assert {(c.settings["message_bytes"], c.settings["count"]) for c in cells} == {
        (18, 10_000),
        (1472, 1000),
    }
    assert all(cell.settings["stack_time"] for cell in cells)
    plain = [{**c.settings, "pairing": c.pairing, "test": c.test} for c in cells]
    assert [len(comparison.pairs_in(plain)) for comparison in matrix.comparisons] == [4, 4]


def test_the_matrix_payload_searches_both_protocols_and_both_ip_versions() -> None:
    cells = expand(load_matrix(ROOT / "matrices" / "payload.yaml"))
    combinations = {(c.setup.protocol, c.setup.ip_version) for c in cells}
    assert combinations == {("TCP", 4), ("TCP", 6), ("UDP", 4), ("UDP", 6)}
    assert all(c.test == "payload_search" and c.settings["sweep"] for c in cells)


AXES: dict[str, list[Any]] = {
    "message_size": [16, "64", "1KiB", 1500],
    "response_size": ["same", 16],
    "socket_buffer": ["auto", "16KiB"],
    "outstanding": [1, 8, 1024],
    "duration": ["1s", "500ms"],
    "server_receive": ["blocking", "spinning"],
    "udp_checksum": [True, False],
    "stack_time": [True, False],
    "mirror_hold": [0, "1ms"],
}


@given(st.data())
def test_keys_of_round_trip_cells_are_unique_and_independent_of_order_and_format(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    more = sorted(AXES.keys() - {"message_size"})
    names = ["message_size", *data.draw(st.lists(st.sampled_from(more), unique=True))]
    axes = {
        name: data.draw(st.lists(st.sampled_from(AXES[name]), min_size=1, unique=True))
        for name in names
    }
    axes["protocol"] = ["UDP"] if axes.keys() & {"udp_checksum", "stack_time"} else ["TCP", "UDP"]
    shuffled = {
        name: data.draw(st.permutations(axes[name])) for name in data.draw(st.permutations([*axes]))
    }
    path = tmp_path_factory.mktemp("keys") / "m.yaml"
    summaries = []
    for test, flow in ((axes, True), (shuffled, False)):
        document = {"pairings": ["LL", "WW"], "tests": [{"test": "round_trip", **test}]}
        path.write_text(yaml.safe_dump(document, default_flow_style=flow, sort_keys=False))
        matrix = load_matrix(path)
        cells = expand(matrix)
        assert len({cell.key for cell in cells}) == len(cells) == len(set(cells))
        summaries.append((sorted(cell.key for cell in cells), matrix.content_hash))
    assert summaries[0] == summaries[1]
