"""Payloads found, and round trips made, between real agents: cables of every MTU, a router that
tells, a router that does not, and loopback.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path as FilePath
from typing import Any, ClassVar

import pytest
from paths import Path, hosts_on, inside, needs_namespaces, needs_nft

from netlab.errors import HostError, HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror
from netlab.experiment.kinds import Connect, PayloadSearch, RoundTrip, TestSettings
from netlab.experiment.records import Record, Status, to_json
from netlab.experiment.schedule import Trial
from netlab.measure.ends import Ends
from netlab.measure.netprobe import NETPROBE
from netlab.remote.agent import Agent

pytestmark = pytest.mark.alone

Measure = Callable[..., Record]


def record_of(measure: Measure, test: str, setup: TestSettings, ends: Ends) -> Record:
    trial = Trial(Cell(pairing="LL", test=test, setup=setup), number=1)
    record = measure(trial, ends, 1, lambda _cell, _rate: None)
    to_json(record)
    return record


def search(ends: Ends, **settings: Any) -> Record:
    setup = PayloadSearch(**{"timeout_s": 0.1, "duration_s": 0.2} | settings)
    return record_of(NETPROBE.measure, "payload_search", setup, ends)


def found(record: Record, direction: str = "") -> tuple[object, ...]:
    assert record.status is Status.OK, record.detail
    names = ("payload_bytes", "path_mtu_bytes", "path_mtu_evidence")
    return tuple(record.values[direction + name] for name in names)


@pytest.fixture
def loopback() -> Iterator[Ends]:
    with ExitStack() as stack:
        loop = {"loopback": ("127.0.0.1", "::1")}
        agents = [
            Agent.open(Host(name=name, os="L", local=True, addresses=loop))
            for name in ("server", "client")
        ]
        for agent in agents:
            stack.callback(agent.close)
        yield Ends(server=agents[0], client=agents[1], same_host=True)


# ---- payloads ------------------------------------------------------------------------------------

needs_tcpdump = pytest.mark.needs("tcpdump")


def frames_of(record: Record, prefix: str) -> dict[int, int]:
    """Captured frames: length → how many."""
    lengths, counts = (record.values[prefix + name] for name in ("frame_bytes", "frames"))
    assert isinstance(lengths, list)
    assert isinstance(counts, list)
    return {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}


def refuse_to_start(_argv: object) -> None:
    raise HostError("server: cannot start tcpdump: No such file")


CABLES = pytest.mark.parametrize("mtu", [1280, 1400, 1500, 9000])


class TestCables:
    """One cable, the same MTU at both ends."""

    pytestmark: ClassVar = [*needs_namespaces, CABLES]

    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_udp_fills_the_cable_and_one_byte_more_is_refused(
        self, mtu: int, version: int, headers: int
    ) -> None:
        with hosts_on(Path(mtu, mtu)) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (mtu - headers, mtu, "emsgsize")
            assert found(record, "to_client_") == (mtu - headers, mtu, "emsgsize")
            assert record.values["probed_passed"] == [1, 1, 0]

    @pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
    def test_a_tcp_segment_fills_the_cable(self, mtu: int, version: int, headers: int) -> None:
        with hosts_on(Path(mtu, mtu)) as ends:
            record = search(ends, protocol="TCP", ip_version=version)
            assert found(record) == (mtu - headers, mtu, "mss")
            assert found(record, "to_client_") == (mtu - headers, mtu, "mss")


class TestOddPaths:
    """Where the ends do not agree, or something lies between them."""

    pytestmark: ClassVar = needs_namespaces

    def test_a_cable_of_two_mtus_drops_what_its_shorter_end_does_not_take(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="UDP")
            # A veth lets 4 bytes more pass than its MTU: room for a VLAN tag.
            assert found(record) == (1476, 1504, "dropped")
            assert found(record, "to_client_") == (1472, 1500, "emsgsize")

    def test_tcp_agrees_on_the_shorter_of_two_mtus(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == found(record, "to_client_") == (1448, 1500, "mss")

    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_router_that_tells_is_believed_and_named(self, version: int, headers: int) -> None:
        path = Path(client_mtu_bytes=9000, server_mtu_bytes=1400, router=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert found(record, "to_client_") == (1400 - headers, 1400, "emsgsize")

    @needs_nft
    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_router_that_drops_without_a_word_is_searched_through(
        self, version: int, headers: int
    ) -> None:
        path = Path(client_mtu_bytes=1500, server_mtu_bytes=1400, router=True, silent=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "timeout")

    @pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
    def test_tcp_segments_that_a_router_had_cut_are_not_taken_for_the_payload(
        self, version: int, headers: int
    ) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400)) as ends:
            record = search(ends, protocol="TCP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert record.values["mss_bytes"] == 1500 - headers

    @needs_nft
    @pytest.mark.slow
    def test_tcp_segments_that_vanish_are_searched_through(self) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400, silent=True)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == (1348, 1400, "timeout")
            assert record.values["mss_bytes"] == 1448

    @needs_tcpdump
    @pytest.mark.parametrize("version", [4, 6])
    def test_captured_frames_prove_it_one_for_the_payload_and_two_for_a_byte_more(
        self, version: int, tmp_path: FilePath
    ) -> None:
        with hosts_on(Path()) as ends:
            kept = dataclasses.replace(ends, captures=tmp_path / "captures")
            record = search(kept, protocol="UDP", ip_version=version, capture=True)
        values = record.values
        assert values["captured"] is True, values["capture_reason"]
        assert frames_of(record, "captured_")[1514] == 3
        after = frames_of(record, "captured_next_")
        fragments = {length: count for length, count in after.items() if length not in (90, 110)}
        assert sum(fragments.values()) == 6
        assert max(fragments) <= 1514
        assert len(list((tmp_path / "captures").glob("*.pcap"))) == 2

    @needs_tcpdump
    def test_a_captured_tcp_segment_fills_one_frame(self) -> None:
        with hosts_on(Path()) as ends:
            record = search(ends, protocol="TCP", capture=True)
        assert frames_of(record, "captured_")[1514] == 1

    def test_a_host_that_may_not_capture_says_why_and_is_searched_all_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with hosts_on(Path()) as ends:
            monkeypatch.setattr(ends.agent_of_server, "start_beside", refuse_to_start)
            record = search(ends, protocol="UDP", capture=True)
        assert found(record) == (1472, 1500, "emsgsize")
        assert record.values["captured"] is False
        assert record.values["capture_reason"] == "server: cannot start tcpdump: No such file"

    @needs_tcpdump
    @needs_nft
    def test_where_fragments_do_not_pass_the_capture_of_the_payload_is_kept(self) -> None:
        with hosts_on(Path()) as ends:
            namespace = f"netlab-test-{os.getpid()}-server"
            inside(namespace, "nft", "add", "table", "ip", "test")
            chain = "{ type filter hook prerouting priority -450; }"
            inside(namespace, "nft", "add", "chain", "ip", "test", "in", chain)
            fragments = ("ip", "frag-off", "&", "0x1fff", "!=", "0", "drop")
            inside(namespace, "nft", "add", "rule", "ip", "test", "in", *fragments)
            record = search(ends, protocol="UDP", capture=True)
        assert found(record) == (1472, 1500, "emsgsize")
        assert record.values["captured"] is True
        assert frames_of(record, "captured_")[1514] == 3
        assert "captured_next_frames" not in record.values
        assert "no-answer" in str(record.values["capture_reason"])


@pytest.mark.parametrize(
    ("settings", "payload", "mtu", "evidence"),
    [
        ({"protocol": "UDP"}, 65507, 65535, "protocol"),
        ({"protocol": "UDP", "ip_version": 6}, 65488, 65536, "emsgsize"),
        ({"protocol": "TCP"}, 65483, 65535, "mss"),
    ],
)
def test_loopback_carries_the_longest_message_of_all(
    loopback: Ends, settings: dict[str, Any], payload: int, mtu: int, evidence: str
) -> None:
    record = search(loopback, **settings)
    assert found(record) == (payload, mtu, evidence)
    assert found(record, "to_client_") == (payload, mtu, evidence)
    assert record.values["same_host"] is True


# ---- round trips ---------------------------------------------------------------------------------


def round_trips(ends: Ends, **settings: Any) -> Record:
    defaults: dict[str, Any] = {"protocol": "UDP", "message_bytes": 64}
    bounds = {} if "count" in settings else {"duration_s": 0.2}
    setup = RoundTrip(**defaults | bounds | {"duration_s": None} | bounds | settings)
    return record_of(NETPROBE.measure, "round_trip", setup, ends)


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@pytest.mark.parametrize("version", [4, 6])
def test_every_round_trip_of_a_number_is_counted_and_timed(
    loopback: Ends, protocol: str, version: int
) -> None:
    record = round_trips(loopback, protocol=protocol, ip_version=version, count=500, nodelay=True)
    assert record.status is Status.OK, record.detail
    values = record.values
    assert (values["transactions"], values["lost_messages"]) == (500, 0)
    assert values["rtt_count"] == 500
    histogram = values["rtt_histogram"]
    assert isinstance(histogram, list)
    assert sum(histogram[1::2]) == 500
    assert values["server_answered_messages"] == 500
    least, mean, most = (values[f"rtt_{name}_ns"] for name in ("min", "mean", "max"))
    assert isinstance(least, int)
    assert isinstance(mean, int | float)
    assert isinstance(most, int)
    assert 0 < least <= mean <= most


def test_the_first_round_trips_are_kept_one_by_one(loopback: Ends) -> None:
    record = round_trips(loopback, count=50, keep_first=20)
    first = record.values["first_rtt_ns"]
    assert isinstance(first, list)
    assert len(first) == 20


def test_many_round_trips_at_once_are_all_counted(loopback: Ends) -> None:
    record = round_trips(loopback, count=1000, outstanding=16)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 1000
    assert record.values["client_outstanding"] == 16


def test_a_mirror_that_waits_lengthens_every_round_trip(loopback: Ends) -> None:
    record = round_trips(loopback, count=20, mirror_hold_s=0.005)
    least = record.values["rtt_min_ns"]
    assert isinstance(least, int)
    assert least >= 5_000_000


def test_a_response_may_be_shorter_than_its_request(loopback: Ends) -> None:
    record = round_trips(loopback, count=100, message_bytes=1472, response_bytes=16)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 100


@pytest.mark.needs("namespaces")
def test_the_time_in_the_mirrors_stack_is_part_of_the_round_trip() -> None:
    with hosts_on(Path()) as ends:
        record = round_trips(ends, count=200, message_bytes=18, stack_time=True)
    assert record.status is Status.OK, record.detail
    values = record.values
    assert values["stack_timed"] is True
    timed = values["server_stack_count"]
    assert isinstance(timed, int)
    # A stamp that comes too late is left out, and is not in the count.
    assert 100 < timed <= 200
    assert values["server_stack_stamps"] in ("hardware", "software")
    stack, whole = values["server_stack_sum_ns"], values["rtt_sum_ns"]
    assert isinstance(stack, int)
    assert isinstance(whole, int)
    assert 0 < stack < whole


@pytest.mark.parametrize("version", [4, 6])
def test_udp_without_a_checksum_is_for_ipv4_only(loopback: Ends, version: int) -> None:
    record = round_trips(loopback, count=100, ip_version=version, udp_checksum=False)
    if version == 4:
        assert record.status is Status.OK, record.detail
        assert record.values["transactions"] == 100
    else:
        assert (record.status, record.reason) == (Status.FAILED, "bad-value")


@pytest.mark.parametrize("close", ["reset", "orderly"])
def test_a_connection_a_transaction(loopback: Ends, close: str) -> None:
    setup = Connect(message_bytes=64, duration_s=None, count=100, close=close)  # type: ignore[arg-type]
    record = record_of(NETPROBE.measure, "connect", setup, loopback)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 100
    assert "client_connect_mean_ns" in record.values
    assert "client_closed_by" in record.values


def test_a_message_over_the_path_that_may_not_be_fragmented_names_the_path_mtu(
    loopback: Ends,
) -> None:
    record = round_trips(
        loopback, count=3, message_bytes=65500, ip_version=6, dont_fragment=True, response_bytes=16
    )
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "message-too-long")
    assert record.values["path_mtu_bytes"] == 65536
    assert "transactions_per_s" not in record.values


class Echo:
    """A UDP echo (RFC 862) that answers every datagram but each ``losing``-th."""

    def __init__(self, losing: int = 0) -> None:
        self._losing = losing
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Mirror:
        self._thread.start()
        return Mirror("127.0.0.1", self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._socket.getsockname())
        self._thread.join(10)
        self._socket.close()

    def _answer(self) -> None:
        number = 0
        while True:
            data, sender = self._socket.recvfrom(65536)
            if not data:
                return
            number += 1
            if not self._losing or number % self._losing:
                self._socket.sendto(data, sender)


@pytest.mark.parametrize("message", [8, 18, 1472])
def test_an_echo_that_no_agent_of_ours_is_is_measured_as_well(loopback: Ends, message: int) -> None:
    with Echo() as mirror:
        ends = Ends(None, loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, count=200, message_bytes=message)
    assert record.status is Status.OK, record.detail
    assert (record.server, record.values["transactions"]) == ("echo", 200)
    assert record.values["agentless"] is True
    assert not any(name.startswith("server_") for name in record.values)


def test_what_an_echo_does_not_answer_is_lost_and_counted(loopback: Ends) -> None:
    with Echo(losing=10) as mirror:
        ends = Ends(None, loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, count=100, timeout_s=0.02)
    assert record.status is Status.OK, record.detail
    assert record.values["lost_messages"] == 10
    assert record.values["transactions"] == 90


class TcpEcho:
    """A TCP echo of one connection."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Mirror:
        self._thread.start()
        return Mirror("127.0.0.1", self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._socket.close()

    def _answer(self) -> None:
        connection, _ = self._socket.accept()
        with connection, contextlib.suppress(ConnectionError):
            while data := connection.recv(65536):
                connection.sendall(data)


def test_a_tcp_echo_is_measured_as_well(loopback: Ends) -> None:
    with TcpEcho() as mirror:
        ends = Ends(None, loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, protocol="TCP", count=200, message_bytes=5000, nodelay=True)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 200


def test_an_echo_that_is_not_there_is_a_failure_and_no_figure(loopback: Ends) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ends = Ends(None, loopback.client, True, mirror=Mirror("127.0.0.1", port), mirror_name="echo")
    for protocol in ("TCP", "UDP"):
        record = round_trips(ends, protocol=protocol, count=5, timeout_s=0.02)
        assert (record.status, record.reason) == (Status.FAILED, "connect-refused")
        assert "transactions_per_s" not in record.values


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_mirror_killed_in_mid_trial_ends_it_at_once_and_the_client_goes_on(
    loopback: Ends, protocol: str
) -> None:
    server = loopback.agent_of_server
    killer = threading.Timer(0.3, os.kill, (int(server.hello["pid"]), signal.SIGKILL))
    killer.start()
    before = time.monotonic()
    with pytest.raises(HostGone, match="server"):
        round_trips(loopback, protocol=protocol, duration_s=30.0)
    assert time.monotonic() - before < 10
    assert loopback.client.ask("clock")["type"] == "clock"
