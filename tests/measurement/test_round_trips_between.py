"""Real agents and echoes measure round trips over loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from typing import Any

import pytest
from paths import (
    Path,
    hosts_on,
    loopback,
    record_of,
    shared_loopback,
)

from netlab.errors import HostGone
from netlab.experiment.hosts import Mirror
from netlab.kinds import Connect, RoundTrip
from netlab.measurement.ends import Ends
from netlab.trial.record import Record, Status

__all__ = ["loopback", "shared_loopback"]

pytestmark = pytest.mark.lab


def round_trips(ends: Ends, **settings: Any) -> Record:
    defaults: dict[str, Any] = {"protocol": "UDP", "message_bytes": 64, "timeout_s": 10.0}
    bounds = {} if "count" in settings else {"duration_s": 0.2}
    setup = RoundTrip(**defaults | bounds | {"duration_s": None} | bounds | settings)
    return record_of("round_trip", setup, ends)


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@pytest.mark.parametrize("version", [4, 6])
def test_all_round_trips_of_a_set_number_are_counted_and_timed(
    shared_loopback: Ends, protocol: str, version: int
) -> None:
    record = round_trips(
        shared_loopback, protocol=protocol, ip_version=version, count=500, nodelay=True
    )
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


def test_the_first_round_trips_are_stored_one_by_one(shared_loopback: Ends) -> None:
    record = round_trips(shared_loopback, count=50, keep_first=20)
    first = record.values["first_rtt_ns"]
    assert isinstance(first, list)
    assert len(first) == 20


def test_round_trips_with_16_outstanding_requests_are_all_counted(shared_loopback: Ends) -> None:
    record = round_trips(shared_loopback, count=1000, outstanding=16)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 1000
    assert record.values["client_outstanding"] == 16


def test_a_hold_of_the_mirror_lengthens_every_round_trip(shared_loopback: Ends) -> None:
    record = round_trips(shared_loopback, count=20, mirror_hold_s=0.005)
    least = record.values["rtt_min_ns"]
    assert isinstance(least, int)
    assert least >= 5_000_000


def test_a_response_may_be_shorter_than_its_request(shared_loopback: Ends) -> None:
    record = round_trips(shared_loopback, count=100, message_bytes=1472, response_bytes=16)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 100


@pytest.mark.needs("namespaces")
def test_the_time_in_the_stack_of_the_mirror_is_part_of_the_round_trip() -> None:
    with hosts_on(Path()) as ends:
        record = round_trips(ends, count=5000, message_bytes=18, stack_time=True)
    assert record.status is Status.OK, record.detail
    values = record.values
    assert values["stack_timed"] is True
    timed = values["server_stack_count"]
    assert isinstance(timed, int)
    # A late stamp is left out and not counted, and the first ones may come before there are stamps.
    assert 100 < timed <= 5000
    assert values["server_stack_stamps"] in ("hardware", "software")
    stack, total = values["server_stack_sum_ns"], values["rtt_sum_ns"]
    assert isinstance(stack, int)
    assert isinstance(total, int)
    assert 0 < stack < total


@pytest.mark.parametrize("version", [4, 6])
def test_round_trips_over_udp_without_a_checksum_work_over_ipv4_only(
    shared_loopback: Ends, version: int
) -> None:
    record = round_trips(shared_loopback, count=100, ip_version=version, udp_checksum=False)
    if version == 4:
        assert record.status is Status.OK, record.detail
        assert record.values["transactions"] == 100
    else:
        assert (record.status, record.reason) == (Status.FAILED, "bad-value")


@pytest.mark.parametrize("close", ["reset", "orderly"])
def test_a_connect_trial_opens_a_connection_for_each_transaction(
    shared_loopback: Ends, close: str
) -> None:
    setup = Connect(message_bytes=64, duration_s=None, count=100, close=close)  # type: ignore[arg-type]
    record = record_of("connect", setup, shared_loopback)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 100
    assert "client_connect_mean_ns" in record.values
    assert "client_closed_by" in record.values


def test_an_unfragmentable_message_longer_than_the_path_mtu_is_reported_with_the_path_mtu(
    shared_loopback: Ends,
) -> None:
    record = round_trips(
        shared_loopback,
        count=3,
        message_bytes=65500,
        ip_version=6,
        dont_fragment=True,
        response_bytes=16,
    )
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "message-too-long")
    assert record.values["path_mtu_bytes"] == 65536
    assert "transactions_per_s" not in record.values


class Echo:
    """A UDP echo (RFC 862) that answers every datagram except each ``losing``-th."""

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
        self._thread.join(60)
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
def test_round_trips_with_a_udp_echo_without_a_probe_are_measured(
    shared_loopback: Ends, message: int
) -> None:
    with Echo() as mirror:
        ends = Ends(None, shared_loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, count=200, message_bytes=message)
    assert record.status is Status.OK, record.detail
    assert (record.server, record.values["transactions"]) == ("echo", 200)
    assert record.values["agentless"] is True
    assert not any(name.startswith("server_") for name in record.values)


def test_requests_that_a_udp_echo_does_not_answer_are_counted_as_lost(
    shared_loopback: Ends,
) -> None:
    with Echo(losing=10) as mirror:
        ends = Ends(None, shared_loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, count=20, timeout_s=2.0)
    assert record.status is Status.OK, record.detail
    assert record.values["lost_messages"] == 2
    assert record.values["transactions"] == 18


class TcpEcho:
    """A TCP echo of one connection."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Mirror:
        self._thread.start()
        return Mirror("127.0.0.1", self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        self._socket.close()

    def _answer(self) -> None:
        connection, _ = self._socket.accept()
        with connection, contextlib.suppress(ConnectionError):
            while data := connection.recv(65536):
                connection.sendall(data)


def test_round_trips_with_a_tcp_echo_without_a_probe_are_measured(shared_loopback: Ends) -> None:
    with TcpEcho() as mirror:
        ends = Ends(None, shared_loopback.client, True, mirror=mirror, mirror_name="echo")
        record = round_trips(ends, protocol="TCP", count=200, message_bytes=5000, nodelay=True)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 200


def test_round_trips_with_a_missing_echo_fail_without_a_figure(shared_loopback: Ends) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ends = Ends(
        None, shared_loopback.client, True, mirror=Mirror("127.0.0.1", port), mirror_name="echo"
    )
    for protocol in ("TCP", "UDP"):
        record = round_trips(ends, protocol=protocol, count=5, timeout_s=0.02)
        assert (record.status, record.reason) == (Status.FAILED, "connect-refused")
        assert "transactions_per_s" not in record.values


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_mirror_killed_in_mid_trial_ends_the_trial_and_the_client_still_answers(
    loopback: Ends, protocol: str
) -> None:
    server = loopback.agent_of_server
    killer = threading.Timer(0.3, os.kill, (int(server.hello["pid"]), signal.SIGKILL))
    killer.start()
    with pytest.raises(HostGone, match="server"):
        round_trips(loopback, protocol=protocol, duration_s=30.0)
    assert loopback.client.ask("clock")["type"] == "clock"
