"""Round trips between two agents over loopback, and what mirrors must never answer."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, agents, at, netprobe

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]


@dataclass(frozen=True)
class Answered:
    """What both sides of round trips said last."""

    asked: Reply
    mirrored: Reply


def round_trips(
    agents: Agents,
    *,
    listener: str = "mirror",
    address: str = "127.0.0.1",
    mirror: dict[str, object] | None = None,
    ask: dict[str, object] | None = None,
    **keys: Any,
) -> Answered:
    """As the controller does it: the asker ends by itself, the mirror is told."""
    keys |= {"token": secrets.token_hex(16)}
    sides = {"mirror": (agents[0], mirror or {}), "ask": (agents[1], ask or {})}
    names: dict[str, str] = {}
    agent, own = sides[listener]
    names[listener] = agent.start(listener, open="listen", bind=address, **(keys | own))
    ready = agent.next(names[listener])
    assert ready["type"] == "ready", ready
    connector = "ask" if listener == "mirror" else "mirror"
    agent, own = sides[connector]
    names[connector] = agent.start(connector, to=at(address, ready), **(keys | own))
    asked = agents[1].next(names["ask"], "result", "error")
    agents[0].ask("stop", test=names["mirror"])
    return Answered(asked, agents[0].next(names["mirror"], "result", "error"))


def done(agents: Agents, **keys: Any) -> Answered:
    """Round trips that must end well on both sides."""
    both = round_trips(agents, **keys)
    assert both.asked["type"] == "result", both.asked
    assert both.mirrored["type"] == "result", both.mirrored
    return both


def lowest_ns(bucket: int, bits: int) -> int:
    """The lowest value of a bucket, as docs/protocol.md defines buckets."""
    if bucket < 2**bits:
        return bucket
    octave = (bucket >> bits) - 1
    return ((1 << bits) + bucket % (1 << bits)) << octave


def check_times(asked: Reply) -> None:
    """The histogram, its sums and the rate say the same."""
    pairs = asked["rtt_histogram"]
    buckets, counts = pairs[::2], pairs[1::2]
    bits = asked["rtt_histogram_bits"]
    assert bits == 7
    assert buckets == sorted(set(buckets))
    assert min(counts) > 0
    assert sum(counts) == asked["rtt_count"] == asked["transactions"]
    lowest = sum(lowest_ns(b, bits) * n for b, n in zip(buckets, counts, strict=True))
    assert lowest <= asked["rtt_sum_ns"] <= lowest * (1 + 2**-bits) + asked["rtt_count"]
    assert asked["rtt_mean_ns"] == pytest.approx(asked["rtt_sum_ns"] / asked["rtt_count"])
    assert lowest_ns(buckets[0], bits) <= asked["rtt_min_ns"]
    assert lowest_ns(buckets[-1], bits) <= asked["rtt_max_ns"]
    assert asked["rtt_min_ns"] <= asked["rtt_mean_ns"] <= asked["rtt_max_ns"]
    rate = 1e9 * asked["transactions"] / asked["elapsed_ns"]
    assert asked["transactions_per_s"] == pytest.approx(rate)
    assert asked["window_close_ns"] - asked["window_open_ns"] == asked["elapsed_ns"]


def check_accounts(both: Answered) -> None:
    asked, mirrored = both.asked, both.mirrored
    check_times(asked)
    assert asked["sent_messages"] == asked["transactions"] + asked["lost_messages"]
    assert mirrored["received_messages"] == mirrored["answered_messages"]
    assert not asked["mismatched_messages"] + asked["duplicate_messages"]
    assert not asked["foreign_messages"] + mirrored["foreign_messages"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("listener", ["mirror", "ask"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_who_asks_and_who_listens_are_independent(
    agents: Agents, protocol: str, listener: str, address: str
) -> None:
    both = done(agents, listener=listener, address=address, proto=protocol, message=100, count=300)
    check_accounts(both)
    assert both.asked["transactions"] == 300 == both.mirrored["answered_messages"]
    assert both.asked["opened"] == ("listen" if listener == "ask" else "connect")
    assert both.asked["role"] == "ask"
    assert both.mirrored["role"] == "mirror"
    assert both.asked["local_port"] == both.mirrored["peer_port"]
    assert both.asked["latency_from"] == "sent"


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 48, 1472, 65507])
def test_every_size_of_datagram_comes_back(agents: Agents, message: int) -> None:
    both = done(agents, proto="udp", message=message, count=100)
    check_accounts(both)
    assert both.asked["transactions"] + both.asked["lost_messages"] == 100
    assert both.asked["response_bytes"] == message


@pytest.mark.parametrize(("message", "response"), [(1, 1), (1, 100000), (100000, 1), (3000000, 5)])
@pytest.mark.parametrize("outstanding", [1, 7])
def test_requests_and_responses_over_tcp_have_sizes_of_their_own(
    agents: Agents, message: int, response: int, outstanding: int
) -> None:
    both = done(
        agents, message=message, response=response, count=30, ask={"outstanding": outstanding}
    )
    check_accounts(both)
    assert (both.asked["message_bytes"], both.asked["response_bytes"]) == (message, response)
    assert both.asked["transactions"] == 30 == both.mirrored["answered_messages"]


def test_neither_side_waits_for_the_other_for_ever_when_much_is_under_way(agents: Agents) -> None:
    both = done(agents, message=2_000_000, count=20, ask={"outstanding": 10}, socket_buffer=65536)
    assert both.asked["transactions"] == 20


@pytest.mark.parametrize("spin", [{}, {"spin": 1}])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_more_requests_are_under_way_at_once(
    agents: Agents, protocol: str, spin: dict[str, object]
) -> None:
    both = done(
        agents,
        proto=protocol,
        message=64,
        seconds=0.3,
        ask={"outstanding": 16} | spin,
        mirror={"hold": 0.0002},
    )
    check_accounts(both)
    assert both.asked["outstanding"] == 16
    # Each waits for the 15 before it, which the mirror holds for 0.2 ms.
    assert both.asked["rtt_mean_ns"] > 10 * 200_000
    assert both.asked["transactions_per_s"] < 5000


def test_the_first_round_trips_are_kept_one_by_one(agents: Agents) -> None:
    asked = done(agents, proto="udp", message=32, count=50, ask={"keep": 50}).asked
    assert len(asked["first_rtt_ns"]) == 50
    assert sum(asked["first_rtt_ns"]) == asked["rtt_sum_ns"]
    assert min(asked["first_rtt_ns"]) == asked["rtt_min_ns"]


def test_what_a_mirror_holds_is_part_of_the_round_trip(agents: Agents) -> None:
    asked = done(agents, proto="udp", message=32, count=20, mirror={"hold": 0.005}).asked
    assert asked["rtt_min_ns"] >= 5_000_000


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_open_loop_skips_nothing_and_counts_from_the_intended_time(
    agents: Agents, protocol: str
) -> None:
    asked = done(
        agents,
        proto=protocol,
        message=32,
        seconds=0.3,
        ask={"message_rate": 1000},
        mirror={"hold": 0.002},
    ).asked
    check_times(asked)
    assert asked["latency_from"] == "intended"
    assert asked["sent_messages"] == 300
    # Served at 500 a second at most, the last of them is 300 ms late.
    assert asked["rtt_max_ns"] > 250_000_000
    assert asked["elapsed_ns"] > 590_000_000


def test_an_open_loop_that_is_answered_in_time_keeps_its_rate(agents: Agents) -> None:
    asked = done(agents, proto="udp", message=32, seconds=0.5, ask={"message_rate": 500}).asked
    assert asked["sent_messages"] == 250
    assert sum(asked["late_histogram_ns"]) == 250
    assert asked["elapsed_ns"] >= 498_000_000


def test_the_window_begins_after_the_warm_up(agents: Agents) -> None:
    both = done(agents, proto="udp", message=32, count=100, warm_up=0.1)
    assert both.asked["transactions"] == 100
    assert both.mirrored["answered_messages"] > 100


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_both_sides_may_spin(agents: Agents, protocol: str) -> None:
    both = done(agents, proto=protocol, message=32, seconds=0.2, spin=1)
    check_accounts(both)
    assert both.asked["spin"] == both.mirrored["spin"] == 1


def test_requests_that_nobody_answers_are_no_number(agents: Agents) -> None:
    both = round_trips(
        agents, proto="udp", message=32, mirror={"message": 33}, count=3, ask={"timeout": 0.02}
    )
    assert both.asked["error"] == "no-answer"
    assert "transactions_per_s" not in both.asked
    assert both.mirrored["foreign_messages"] == 3
    assert both.mirrored["answered_messages"] == 0


def test_a_late_answer_is_counted_and_never_taken_for_another(agents: Agents) -> None:
    both = round_trips(
        agents,
        proto="udp",
        message=32,
        count=10,
        ask={"timeout": 0.01, "outstanding": 2},
        mirror={"hold": 0.008},
    )
    asked = both.asked
    assert asked["type"] == "result", asked
    assert asked["lost_messages"] > 0
    assert asked["late_messages"] > 0
    assert asked["sent_messages"] == 10 == asked["transactions"] + asked["lost_messages"]
    assert asked["rtt_max_ns"] < 10_000_000


def test_fragments_are_counted_in_every_result(agents: Agents) -> None:
    both = done(agents, proto="udp", message=65507, count=3)
    for side in (both.asked, both.mirrored):
        # 65507 bytes and two headers are 65535: one more than fits through loopback in one piece, no.
        assert side["ip_fragments_created"] >= 0
        assert side["ip_reassembly_failures"] >= 0
    assert math.isfinite(both.asked["rtt_mean_ns"])
