"""Round trips between two agents over loopback: what is asked, what is measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import agents, netprobe
from round_trip_peers import TOKEN, Agents, check_accounts, check_times, done, round_trips

pytestmark = pytest.mark.lab

__all__ = ["agents", "netprobe"]


@pytest.mark.parametrize(
    ("protocol", "listener", "address"),
    [
        ("tcp", "mirror", "127.0.0.1"),
        ("tcp", "ask", "::1"),
        ("udp", "mirror", "::1"),
        ("udp", "ask", "127.0.0.1"),
    ],
)
def test_either_end_of_round_trips_can_listen_over_each_protocol(
    agents: Agents, protocol: str, listener: str, address: str
) -> None:
    outcome = done(
        agents, listener=listener, address=address, proto=protocol, message=100, count=300
    )
    check_accounts(outcome)
    assert outcome.asked["transactions"] == 300 == outcome.mirrored["answered_messages"]
    assert outcome.asked["opened"] == ("listen" if listener == "ask" else "connect")
    assert ("tcp_window_scaling" in outcome.mirrored) is (protocol == "tcp")
    assert outcome.asked["role"] == "ask"
    assert outcome.mirrored["role"] == "mirror"
    assert outcome.asked["local_port"] == outcome.mirrored["peer_port"]
    assert outcome.asked["latency_from"] == "sent"


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 65507])
def test_datagrams_of_every_size_are_answered(agents: Agents, message: int) -> None:
    outcome = done(agents, proto="udp", message=message, count=100, ask={"timeout": 10})
    check_accounts(outcome)
    assert (outcome.asked["transactions"], outcome.asked["lost_messages"]) == (100, 0)
    assert outcome.asked["response_bytes"] == message


@pytest.mark.parametrize(
    ("message", "response", "outstanding"),
    [(1, 100000, 1), (100000, 1, 7), (3000000, 5, 1), (1, 1, 7)],
)
def test_requests_and_responses_over_tcp_have_separate_sizes(
    agents: Agents, message: int, response: int, outstanding: int
) -> None:
    outcome = done(
        agents, message=message, response=response, count=30, ask={"outstanding": outstanding}
    )
    check_accounts(outcome)
    assert (outcome.asked["message_bytes"], outcome.asked["response_bytes"]) == (message, response)
    assert outcome.asked["transactions"] == 30 == outcome.mirrored["answered_messages"]


def test_parallel_large_requests_over_tcp_are_all_answered(agents: Agents) -> None:
    outcome = done(
        agents, message=2_000_000, count=20, ask={"outstanding": 10}, socket_buffer=65536
    )
    assert outcome.asked["transactions"] == 20


@pytest.mark.parametrize(
    ("protocol", "spin"), [("tcp", {}), ("udp", {}), ("udp", {"spin": 1})], ids=str
)
def test_sixteen_requests_are_under_way_at_the_same_time(
    agents: Agents, protocol: str, spin: dict[str, object]
) -> None:
    outcome = done(
        agents,
        proto=protocol,
        message=64,
        seconds=0.3,
        ask={"outstanding": 16} | spin,
        mirror={"hold": 0.0002},
    )
    check_accounts(outcome)
    assert outcome.asked["outstanding"] == 16
    # Each waits for the 15 before it, which the mirror holds for 0.2 ms.
    assert outcome.asked["rtt_mean_ns"] > 10 * 200_000
    assert outcome.asked["transactions_per_s"] < 5000


def test_an_asker_lists_its_first_round_trips_on_request(agents: Agents) -> None:
    asker_record = done(agents, proto="udp", message=32, count=50, ask={"keep": 50}).asked
    assert len(asker_record["first_rtt_ns"]) == 50
    assert sum(asker_record["first_rtt_ns"]) == asker_record["rtt_sum_ns"]
    assert min(asker_record["first_rtt_ns"]) == asker_record["rtt_min_ns"]


def test_a_round_trip_includes_the_hold_of_the_mirror(agents: Agents) -> None:
    asker_record = done(agents, proto="udp", message=32, count=20, mirror={"hold": 0.005}).asked
    assert asker_record["rtt_min_ns"] >= 5_000_000


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_paced_asker_sends_all_requests_and_times_round_trips_from_the_due_times(
    agents: Agents, protocol: str
) -> None:
    asker_record = done(
        agents,
        proto=protocol,
        message=32,
        seconds=0.3,
        ask={"message_rate": 1000},
        mirror={"hold": 0.002},
    ).asked
    check_times(asker_record)
    assert asker_record["latency_from"] == "intended"
    assert asker_record["sent_messages"] == 300
    # Served at 500 a second at most, the last of them is 300 ms late.
    assert asker_record["rtt_max_ns"] > 250_000_000
    assert asker_record["elapsed_ns"] > 590_000_000


def test_a_paced_asker_spreads_its_requests_over_the_whole_window(agents: Agents) -> None:
    asker_record = done(
        agents, proto="udp", message=32, seconds=0.5, ask={"message_rate": 500}
    ).asked
    assert asker_record["sent_messages"] == 250
    assert sum(asker_record["late_histogram_ns"]) == 250
    assert asker_record["elapsed_ns"] >= 490_000_000


def test_the_window_of_round_trips_begins_after_the_warm_up(agents: Agents) -> None:
    outcome = done(agents, proto="udp", message=32, count=100, warm_up=0.1)
    assert outcome.asked["transactions"] == 100
    assert outcome.mirrored["answered_messages"] > 100


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_asker_and_mirror_spin_on_request(agents: Agents, protocol: str) -> None:
    outcome = done(agents, proto=protocol, message=32, seconds=0.2, spin=1)
    check_accounts(outcome)
    assert outcome.asked["spin"] == outcome.mirrored["spin"] == 1


def test_an_asker_without_answers_reports_an_error_and_no_rate(agents: Agents) -> None:
    outcome = round_trips(
        agents, proto="udp", message=32, mirror={"message": 33}, count=3, ask={"timeout": 0.5}
    )
    assert outcome.asked["error"] == "no-answer"
    assert "transactions_per_s" not in outcome.asked
    assert outcome.mirrored["foreign_messages"] == 3
    assert outcome.mirrored["answered_messages"] == 0


def test_an_asker_counts_late_answers_apart_from_round_trips(agents: Agents) -> None:
    outcome = round_trips(
        agents,
        proto="udp",
        message=32,
        count=40,
        ask={"timeout": 1.6, "outstanding": 32},
        mirror={"hold": 0.1},  # the first comes in time, what waits behind fifteen others does not
    )
    asker_record = outcome.asked
    assert asker_record["type"] == "result", asker_record
    assert asker_record["lost_messages"] > 0
    assert asker_record["late_messages"] > 0
    assert (
        asker_record["sent_messages"]
        == 40
        == asker_record["transactions"] + asker_record["lost_messages"]
    )
    assert asker_record["rtt_max_ns"] < 1_600_000_000


def in_namespace(script: str) -> list[dict[str, Any]]:
    """The records that a script prints in a network namespace of its own, loopback up."""
    process = subprocess.run(
        [
            "unshare",
            "--net",
            "bash",
            "-c",
            f"ip link set lo up; export NETPROBE_TOKEN={TOKEN}; {script}",
        ],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert process.stdout, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


@pytest.mark.needs("root", "unshare")
def test_records_of_round_trips_count_ip_fragments(netprobe: Path) -> None:
    records = in_namespace(
        "ip link set lo mtu 1500;"
        f"{netprobe} mirror proto=udp message=3000 port=5001 deadline=20 &"
        "until grep -q :1389 /proc/net/udp; do sleep 0.01; done;"  # port 5001 is open
        f"{netprobe} ask proto=udp message=3000 to=127.0.0.1:5001 count=50 timeout=10; wait"
    )
    sides = {record["role"]: record for record in records if record["type"] == "result"}
    for role in ("ask", "mirror"):
        side = sides[role]
        assert side["interface_mtu_bytes"] == 1500
        assert side["ip_fragments_created"] == 50 * 2 * 3  # 1480, 1480 and 48 bytes, each way
        assert side["ip_reassembled"] == 50 * 2
        assert side["ip_fragments_failed"] == side["ip_reassembly_failures"] == 0


# ---- a connection for each ----


@pytest.mark.parametrize(("address", "close"), [("127.0.0.1", "reset"), ("::1", "orderly")])
def test_each_transaction_opens_its_own_connection(
    agents: Agents, address: str, close: str
) -> None:
    outcome = done(
        agents,
        kind="connect",
        address=address,
        message=100,
        response=3000,
        count=200,
        nodelay=1,
        ask={"close": close},
    )
    check_accounts(outcome)
    asker_record, mirror_record = outcome.asked, outcome.mirrored
    assert asker_record["transactions"] == 200 == mirror_record["answered_messages"]
    assert mirror_record["strangers"] == 0
    assert (asker_record["closed_by"], asker_record["close"]) == ("client", close)
    assert 0 < asker_record["connect_sum_ns"] < asker_record["rtt_sum_ns"]
    assert asker_record["connect_mean_ns"] == pytest.approx(asker_record["connect_sum_ns"] / 200)
    assert asker_record["nodelay"] == 1
    assert "timestamps" in asker_record["tcp_open_options"]
    assert mirror_record["peer_address"] == address
    # These are of the system, not of a connection.
    of_system = {key for key in mirror_record if key.startswith("tcp_")}
    assert of_system == {"tcp_checksum_errors", "tcp_old_segments", "tcp_window_scaling"}
    assert "later_mean_ns" not in mirror_record


def test_a_paced_asker_opens_each_connection_that_is_due(agents: Agents) -> None:
    asker_record = done(
        agents, kind="connect", message=10, seconds=0.4, ask={"message_rate": 200}, warm_up=0.1
    ).asked
    assert asker_record["sent_messages"] == 80
    assert asker_record["latency_from"] == "intended"


def test_asker_and_mirror_of_connections_spin_on_request(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=10, seconds=0.2, spin=1))


def test_connections_carry_large_messages(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=5_000_000, response=4_000_000, count=3))


@pytest.mark.needs("root", "unshare")
def test_an_asker_reports_that_no_local_port_is_free(netprobe: Path) -> None:
    """Eight ports for a client that closes first, each in TIME_WAIT for a minute."""
    asker_record = in_namespace(
        "sysctl -qw net.ipv4.ip_local_port_range='40000 40007' net.ipv4.tcp_tw_reuse=0;"
        f"{netprobe} mirror kind=connect message=10 port=5001 deadline=20 >/dev/null &"
        "until grep -q :1389 /proc/net/tcp; do sleep 0.01; done;"
        f"{netprobe} ask kind=connect close=orderly message=10 to=127.0.0.1:5001 seconds=1;"
        "kill $!"
    )[-1]
    assert asker_record["error"] == "address-not-available"
    assert "no local port is free" in asker_record["detail"]
    assert "transactions" not in asker_record
