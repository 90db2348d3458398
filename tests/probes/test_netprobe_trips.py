"""Round trips one by one (``trips=1``): when each was due and what it took."""

from __future__ import annotations

import json
import math
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, agents, netprobe
from round_trip_peers import TOKEN, Agents, done, patient, relayed, round_trips

pytestmark = pytest.mark.lab

__all__ = ["agents", "netprobe"]

LINE_BYTES = 65536
OF_A_RECORD = 1900
ROUND_TRIP_KINDS: list[dict[str, Any]] = [
    {"proto": "udp"},
    {"proto": "udp", "ask": {"outstanding": 50}},
    {"proto": "tcp"},
    {"proto": "tcp", "ask": {"outstanding": 50}},
]


def told(agent: Agent) -> list[Reply]:
    """The records of round trips that an agent wrote, each of them a line of its own."""
    lines = [line for line in agent.lines if b'"type":"trips"' in line]
    assert all(len(line) <= LINE_BYTES and line.endswith(b"}\n") for line in lines)
    records = [json.loads(line) for line in lines]
    for record in records:
        assert set(record) == {
            *("type", "id", "window_open_ns", "trip_at_us", "trip_ns", "lost_trip_at_us")
        }
        assert len(record["trip_at_us"]) == len(record["trip_ns"])
        assert 0 < len(record["trip_ns"]) + len(record["lost_trip_at_us"]) <= OF_A_RECORD
    return records


def joined(records: list[Reply], name: str) -> list[int]:
    return [value for record in records for value in record[name]]


def asking(rate: float, **more: object) -> dict[str, object]:
    return {"message_rate": rate, "trips": 1, **more}


@pytest.mark.parametrize(
    ("keys", "address"),
    [*zip(ROUND_TRIP_KINDS, ("127.0.0.1", "::1", "::1", "127.0.0.1"), strict=True)],
    ids=str,
)
def test_an_asker_lists_the_due_time_and_round_trip_of_each_request(
    agents: Agents, keys: dict[str, Any], address: str
) -> None:
    ask = asking(500, **keys.get("ask", {}))
    outcome = done(agents, message=64, seconds=0.4, **(keys | {"ask": ask, "address": address}))
    (record,) = told(agents[1])
    assert record["trip_at_us"] == [2000 * number for number in range(200)]
    assert record["lost_trip_at_us"] == []
    assert sum(record["trip_ns"]) == outcome.asked["rtt_sum_ns"]
    assert min(record["trip_ns"]) == outcome.asked["rtt_min_ns"]
    assert max(record["trip_ns"]) == outcome.asked["rtt_max_ns"]
    # Due then; the result has when it was sent.
    assert record["window_open_ns"] <= outcome.asked["window_open_ns"]
    assert told(agents[0]) == []


def test_listed_due_times_follow_the_rate_and_begin_after_the_warm_up(
    agents: Agents,
) -> None:
    done(agents, proto="udp", message=64, seconds=0.3, warm_up=0.1, ask=asking(300))
    (record,) = told(agents[1])
    at_us = record["trip_at_us"]
    assert len(at_us) == 90
    assert all(abs(at - 1e6 * number / 300) <= 1 for number, at in enumerate(at_us))


def test_round_trips_are_listed_in_the_order_of_their_ends(agents: Agents) -> None:
    """Every third is held up for as long as it takes two others to come back."""
    outcome, _ = relayed(
        agents,
        lambda kind, number: (1, 0.03 if kind == "request" and number % 3 == 0 else 0.0),
        message=64,
        seconds=0.5,
        ask=asking(100, outstanding=50),
    )
    (record,) = told(agents[1])
    ends_ns = [
        1000 * at_us + ns for at_us, ns in zip(record["trip_at_us"], record["trip_ns"], strict=True)
    ]
    assert ends_ns == sorted(ends_ns)
    assert record["trip_at_us"] != sorted(record["trip_at_us"])
    assert sorted(record["trip_at_us"]) == [10_000 * number for number in range(50)]
    assert sum(record["trip_ns"]) == outcome.asked["rtt_sum_ns"]


def test_lost_requests_are_listed_by_their_due_times(agents: Agents) -> None:
    """One in five on the way there, one in seven on the way back, and the last ten."""

    def rule(kind: str, number: int) -> tuple[int, float]:
        fate = number % 5 == 0 or number > 90 if kind == "request" else number % 7 == 0
        return (0 if fate else 1), 0.0

    outcome, _ = relayed(
        agents, rule, message=64, seconds=1, ask=asking(100, outstanding=60, timeout=2)
    )
    (record,) = told(agents[1])
    arrivals = [number for number in range(1, 101) if number % 5 and number <= 90]
    returns = [number for at, number in enumerate(arrivals, 1) if at % 7]
    assert record["trip_at_us"] == [10_000 * (number - 1) for number in returns]
    everyone = {10_000 * number for number in range(100)}
    assert set(record["lost_trip_at_us"]) == everyone - set(record["trip_at_us"])
    assert len(record["lost_trip_at_us"]) == outcome.asked["lost_messages"] == 100 - len(returns)
    assert sum(record["trip_ns"]) == outcome.asked["rtt_sum_ns"]


def test_requests_that_a_mirror_holds_beyond_the_time_out_are_lost(agents: Agents) -> None:
    """It answers 10 a second of 20, so they wait for 0.1 s, 0.15 s, 0.2 s and so on.

    The time-out is between two of them. From the 23rd on they wait for longer.
    """
    outcome = round_trips(
        agents,
        proto="udp",
        message=64,
        seconds=2,
        ask=asking(20, outstanding=40, timeout=1.175),
        mirror={"hold": 0.1},
    )
    (record,) = told(agents[1])
    assert len(record["trip_ns"]) == outcome.asked["transactions"] > 0
    assert len(record["lost_trip_at_us"]) == outcome.asked["lost_messages"] > 0
    assert outcome.asked["late_messages"] > 0
    # A time-out counts from when a request is sent, a round trip from when it is due.
    late_ns = 2 ** len(outcome.asked["late_histogram_ns"])
    assert max(record["trip_ns"]) < 1_175_000_000 + late_ns
    assert sorted(record["trip_at_us"] + record["lost_trip_at_us"]) == [
        50_000 * number for number in range(40)
    ]


def test_an_asker_without_answers_lists_no_round_trip(agents: Agents) -> None:
    outcome = round_trips(
        agents,
        proto="udp",
        message=64,
        seconds=0.2,
        mirror={"message": 65},
        ask=asking(50, outstanding=9, timeout=0.05),
    )
    assert outcome.asked["error"] == "no-answer"
    assert told(agents[1]) == []


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_many_round_trips_are_listed_in_several_records(agents: Agents, protocol: str) -> None:
    outcome = done(
        agents,
        proto=protocol,
        message=64,
        seconds=0.5,
        ask=asking(20_000, outstanding=64),
    )
    records = told(agents[1])
    assert len(records) == math.ceil(10_000 / OF_A_RECORD)
    assert {len(record["trip_ns"]) for record in records[:-1]} == {OF_A_RECORD}
    assert sorted(joined(records, "trip_at_us")) == [50 * number for number in range(10_000)]
    assert sum(joined(records, "trip_ns")) == outcome.asked["rtt_sum_ns"]
    types = [json.loads(line)["type"] for line in agents[1].lines]
    assert types[-len(records) - 1 :] == ["trips"] * len(records) + ["result"]


@pytest.mark.parametrize("keys", [{"proto": "udp"}, {"proto": "tcp"}, {"kind": "connect"}], ids=str)
def test_a_stopped_asker_lists_the_completed_round_trips(
    agents: Agents, keys: dict[str, Any]
) -> None:
    words = {"token": TOKEN, "message": 64, **keys}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", **words)
    to = f"127.0.0.1:{agents[0].next(mirroring)['port']}"
    name = agents[1].start("ask", to=to, seconds=300, **words, **patient(keys), **asking(50))
    agents[1].next(name, "progress")
    agents[1].ask("stop", test=name)
    asker_record = agents[1].next(name, "result")
    (record,) = told(agents[1])
    assert len(record["trip_ns"]) == asker_record["transactions"] > 0
    assert record["lost_trip_at_us"] == []
    if "kind" not in keys:
        assert sum(record["trip_ns"]) == asker_record["rtt_sum_ns"]


def test_an_asker_lists_no_round_trip_without_the_key_trips(agents: Agents) -> None:
    done(agents, proto="udp", message=64, seconds=0.1, ask={"message_rate": 500})
    assert told(agents[1]) == []


# ---- a connection for each ----


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_connections_are_listed_by_the_time_of_their_connect_call(
    agents: Agents, address: str
) -> None:
    outcome = done(
        agents, kind="connect", message=64, seconds=0.5, address=address, ask=asking(100)
    )
    (record,) = told(agents[1])
    due = [10_000 * number for number in range(50)]
    assert len(record["trip_ns"]) == 50
    assert all(at >= due_us for at, due_us in zip(record["trip_at_us"], due, strict=True))
    assert record["trip_at_us"] == sorted(record["trip_at_us"])
    # The histogram counts from when each was due.
    assert outcome.asked["connect_sum_ns"] < sum(record["trip_ns"]) <= outcome.asked["rtt_sum_ns"]
    ends_ns = [
        1000 * at + ns for at, ns in zip(record["trip_at_us"], record["trip_ns"], strict=True)
    ]
    # One after the other; a time in us is up to 1 us before the truth.
    assert all(
        1000 * at + 1000 > end for at, end in zip(record["trip_at_us"][1:], ends_ns, strict=False)
    )


class Deaf:
    """An echo over TCP that stops accepting for a while, its queue full: what connects meanwhile
    has its SYN dropped.
    """

    def __init__(self, answered_before: int, deaf_s: float) -> None:
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.answered_before, self.deaf_s = answered_before, deaf_s
        self.accepted = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Deaf:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.listener.close()

    def _run(self) -> None:
        self.listener.settimeout(0.02)
        while not self._stop.is_set():
            with suppress(OSError):
                caller, _ = self.listener.accept()
                self._answer(caller)
                self.accepted += 1
                if self.accepted == self.answered_before:
                    self._be_deaf()

    def _answer(self, caller: socket.socket) -> None:
        with caller, suppress(OSError):
            caller.settimeout(60)
            while data := caller.recv(65536):
                caller.sendall(data)

    def _be_deaf(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)):
            self._stop.wait(self.deaf_s)


def test_an_unanswered_connection_counts_as_lost_if_connections_are_listed(agents: Agents) -> None:
    """The fourth finds the queue of the listener full for longer than it waits, 5 s. An asker that
    lists none ends by it."""
    keys: dict[str, Any] = {"kind": "connect", "peer": "echo", "message": 64, "seconds": 8}
    with Deaf(answered_before=1 + 3, deaf_s=5.6) as deaf, Deaf(1 + 3, 5.6) as other:
        listing = agents[1].start("ask", to=f"127.0.0.1:{deaf.port}", **keys, **asking(1))
        silent = agents[0].start("ask", to=f"127.0.0.1:{other.port}", message_rate=1, **keys)
        asker_record = agents[1].next(listing, "result", "error")
        assert agents[0].next(silent, "result", "error")["error"] == "connect-timeout"
    assert told(agents[0]) == []
    (record,) = told(agents[1])
    assert asker_record["type"] == "result", asker_record
    (lost_us,) = record["lost_trip_at_us"]
    assert 3_000_000 <= lost_us < 6_000_000
    # Those that were due while it waited follow at once: none is skipped.
    assert len(record["trip_ns"]) == 7 == asker_record["transactions"]
    assert (asker_record["lost_messages"], asker_record["sent_messages"]) == (1, 8)
    assert min(at for at in record["trip_at_us"] if at > lost_us) >= lost_us + 5_000_000
