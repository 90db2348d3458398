"""Round trips between two agents over loopback: what is asked, what is measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import agents, netprobe
from round_trip_peers import TOKEN, Agents, check_accounts, check_times, done, round_trips

pytestmark = pytest.mark.alone

__all__ = ["agents", "netprobe"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("listener", ["mirror", "ask"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_who_asks_and_who_listens_are_independent(
    agents: Agents, protocol: str, listener: str, address: str
) -> None:
    outcome = done(
        agents, listener=listener, address=address, proto=protocol, message=100, count=300
    )
    check_accounts(outcome)
    assert outcome.asked["transactions"] == 300 == outcome.mirrored["answered_messages"]
    assert outcome.asked["opened"] == ("listen" if listener == "ask" else "connect")
    assert outcome.asked["role"] == "ask"
    assert outcome.mirrored["role"] == "mirror"
    assert outcome.asked["local_port"] == outcome.mirrored["peer_port"]
    assert outcome.asked["latency_from"] == "sent"


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 48, 1472, 65507])
def test_every_size_of_datagram_comes_back(agents: Agents, message: int) -> None:
    outcome = done(agents, proto="udp", message=message, count=100, ask={"timeout": 10})
    check_accounts(outcome)
    assert (outcome.asked["transactions"], outcome.asked["lost_messages"]) == (100, 0)
    assert outcome.asked["response_bytes"] == message


@pytest.mark.parametrize(("message", "response"), [(1, 1), (1, 100000), (100000, 1), (3000000, 5)])
@pytest.mark.parametrize("outstanding", [1, 7])
def test_requests_and_responses_over_tcp_have_sizes_of_their_own(
    agents: Agents, message: int, response: int, outstanding: int
) -> None:
    outcome = done(
        agents, message=message, response=response, count=30, ask={"outstanding": outstanding}
    )
    check_accounts(outcome)
    assert (outcome.asked["message_bytes"], outcome.asked["response_bytes"]) == (message, response)
    assert outcome.asked["transactions"] == 30 == outcome.mirrored["answered_messages"]


def test_neither_side_waits_for_the_other_for_ever_when_much_is_under_way(agents: Agents) -> None:
    outcome = done(
        agents, message=2_000_000, count=20, ask={"outstanding": 10}, socket_buffer=65536
    )
    assert outcome.asked["transactions"] == 20


@pytest.mark.parametrize("spin", [{}, {"spin": 1}])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_more_requests_are_under_way_at_once(
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


def test_the_first_round_trips_are_kept_one_by_one(agents: Agents) -> None:
    asker_record = done(agents, proto="udp", message=32, count=50, ask={"keep": 50}).asked
    assert len(asker_record["first_rtt_ns"]) == 50
    assert sum(asker_record["first_rtt_ns"]) == asker_record["rtt_sum_ns"]
    assert min(asker_record["first_rtt_ns"]) == asker_record["rtt_min_ns"]


def test_what_a_mirror_holds_is_part_of_the_round_trip(agents: Agents) -> None:
    asker_record = done(agents, proto="udp", message=32, count=20, mirror={"hold": 0.005}).asked
    assert asker_record["rtt_min_ns"] >= 5_000_000


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_open_loop_skips_nothing_and_counts_from_the_intended_time(
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


def test_an_open_loop_that_is_answered_in_time_keeps_its_rate(agents: Agents) -> None:
    asker_record = done(
        agents, proto="udp", message=32, seconds=0.5, ask={"message_rate": 500}
    ).asked
    assert asker_record["sent_messages"] == 250
    assert sum(asker_record["late_histogram_ns"]) == 250
    assert asker_record["elapsed_ns"] >= 498_000_000


def test_the_window_begins_after_the_warm_up(agents: Agents) -> None:
    outcome = done(agents, proto="udp", message=32, count=100, warm_up=0.1)
    assert outcome.asked["transactions"] == 100
    assert outcome.mirrored["answered_messages"] > 100


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_both_sides_may_spin(agents: Agents, protocol: str) -> None:
    outcome = done(agents, proto=protocol, message=32, seconds=0.2, spin=1)
    check_accounts(outcome)
    assert outcome.asked["spin"] == outcome.mirrored["spin"] == 1


def test_requests_that_nobody_answers_are_no_number(agents: Agents) -> None:
    outcome = round_trips(
        agents, proto="udp", message=32, mirror={"message": 33}, count=3, ask={"timeout": 0.02}
    )
    assert outcome.asked["error"] == "no-answer"
    assert "transactions_per_s" not in outcome.asked
    assert outcome.mirrored["foreign_messages"] == 3
    assert outcome.mirrored["answered_messages"] == 0


def test_a_late_answer_is_counted_and_never_taken_for_another(agents: Agents) -> None:
    outcome = round_trips(
        agents,
        proto="udp",
        message=32,
        count=10,
        ask={"timeout": 0.075, "outstanding": 2},
        mirror={"hold": 0.05},  # the first comes in time, what waits behind it does not
    )
    asker_record = outcome.asked
    assert asker_record["type"] == "result", asker_record
    assert asker_record["lost_messages"] > 0
    assert asker_record["late_messages"] > 0
    assert (
        asker_record["sent_messages"]
        == 10
        == asker_record["transactions"] + asker_record["lost_messages"]
    )
    assert asker_record["rtt_max_ns"] < 75_000_000


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
        timeout=30,
    )
    assert process.stdout, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


@pytest.mark.needs("namespaces")
def test_fragments_are_counted_over_the_test(netprobe: Path) -> None:
    records = in_namespace(
        "ip link set lo mtu 1500;"
        f"{netprobe} mirror proto=udp message=3000 port=5001 deadline=10 & sleep 0.3;"
        f"{netprobe} ask proto=udp message=3000 to=127.0.0.1:5001 count=50; wait"
    )
    sides = {record["role"]: record for record in records if record["type"] == "result"}
    for role in ("ask", "mirror"):
        side = sides[role]
        assert side["ip_fragments_created"] == 50 * 2 * 3  # 1480, 1480 and 48 bytes, each way
        assert side["ip_reassembled"] == 50 * 2
        assert side["ip_fragments_failed"] == side["ip_reassembly_failures"] == 0


# ---- a connection for each ----


@pytest.mark.parametrize("close", ["reset", "orderly"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_every_transaction_has_a_connection_of_its_own(
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
    assert not [key for key in mirror_record if key.startswith("tcp_")]


def test_connections_follow_a_schedule_of_their_own(agents: Agents) -> None:
    asker_record = done(
        agents, kind="connect", message=10, seconds=0.4, ask={"message_rate": 200}, warm_up=0.1
    ).asked
    assert asker_record["sent_messages"] == 80
    assert asker_record["latency_from"] == "intended"


def test_both_sides_of_connections_may_spin(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=10, seconds=0.2, spin=1))


def test_large_messages_have_connections_of_their_own_as_well(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=5_000_000, response=4_000_000, count=3))


def test_a_missing_mirror_of_connections_is_an_error_and_no_number(agents: Agents) -> None:
    refusal = agents[1].ask("ask", kind="connect", to="127.0.0.1:9", token=TOKEN)
    assert refusal["error"] == "connect-refused"


@pytest.mark.needs("namespaces")
def test_when_all_local_ports_are_blocked_an_error_says_so(netprobe: Path) -> None:
    """Eight ports for a client that closes first, each in TIME_WAIT for a minute."""
    asker_record = in_namespace(
        "sysctl -qw net.ipv4.ip_local_port_range='40000 40007' net.ipv4.tcp_tw_reuse=0;"
        f"{netprobe} mirror kind=connect message=10 port=5001 deadline=2 >/dev/null & sleep 0.3;"
        f"{netprobe} ask kind=connect close=orderly message=10 to=127.0.0.1:5001 seconds=1"
    )[-1]
    assert asker_record["error"] == "address-not-available"
    assert "no local port is free" in asker_record["detail"]
    assert "transactions" not in asker_record
