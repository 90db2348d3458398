"""Round trips between two agents over loopback, and what mirrors must never answer."""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, agents, at, netprobe

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]
TOKEN = "00112233445566778899aabbccddeeff"


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
        ask={"timeout": 0.075, "outstanding": 2},
        mirror={"hold": 0.05},  # the first comes in time, what waits behind it does not
    )
    asked = both.asked
    assert asked["type"] == "result", asked
    assert asked["lost_messages"] > 0
    assert asked["late_messages"] > 0
    assert asked["sent_messages"] == 10 == asked["transactions"] + asked["lost_messages"]
    assert asked["rtt_max_ns"] < 75_000_000


def in_namespace(script: str) -> list[dict[str, Any]]:
    """The records that a script prints in a network namespace of its own, loopback up."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace of its own needs root")
    done = subprocess.run(
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
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


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
    both = done(
        agents,
        kind="connect",
        address=address,
        message=100,
        response=3000,
        count=200,
        nodelay=1,
        ask={"close": close},
    )
    check_accounts(both)
    asked, mirrored = both.asked, both.mirrored
    assert asked["transactions"] == 200 == mirrored["answered_messages"]
    assert mirrored["strangers"] == 0
    assert (asked["closed_by"], asked["close"]) == ("client", close)
    assert 0 < asked["connect_sum_ns"] < asked["rtt_sum_ns"]
    assert asked["connect_mean_ns"] == pytest.approx(asked["connect_sum_ns"] / 200)
    assert asked["nodelay"] == 1
    assert "timestamps" in asked["tcp_open_options"]
    assert mirrored["peer_address"] == address
    assert not [key for key in mirrored if key.startswith("tcp_")]


def test_connections_follow_a_schedule_of_their_own(agents: Agents) -> None:
    asked = done(
        agents, kind="connect", message=10, seconds=0.4, ask={"message_rate": 200}, warm_up=0.1
    ).asked
    assert asked["sent_messages"] == 80
    assert asked["latency_from"] == "intended"


def test_both_sides_of_connections_may_spin(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=10, seconds=0.2, spin=1))


def test_large_messages_have_connections_of_their_own_as_well(agents: Agents) -> None:
    check_accounts(done(agents, kind="connect", message=5_000_000, response=4_000_000, count=3))


def test_a_missing_mirror_of_connections_is_an_error_and_no_number(agents: Agents) -> None:
    refused = agents[1].ask("ask", kind="connect", to="127.0.0.1:9", token=TOKEN)
    assert refused["error"] == "connect-refused"


def test_when_all_local_ports_are_blocked_an_error_says_so(netprobe: Path) -> None:
    """Eight ports for a client that closes first, each in TIME_WAIT for a minute."""
    asked = in_namespace(
        "sysctl -qw net.ipv4.ip_local_port_range='40000 40007' net.ipv4.tcp_tw_reuse=0;"
        f"{netprobe} mirror kind=connect message=10 port=5001 deadline=2 >/dev/null & sleep 0.3;"
        f"{netprobe} ask kind=connect close=orderly message=10 to=127.0.0.1:5001 seconds=1"
    )[-1]
    assert asked["error"] == "address-not-available"
    assert "no local port is free" in asked["detail"]
    assert "transactions" not in asked


# ---- what is lost, late, double, from others ----


class Relay:
    """Between an asker and its mirror; a rule says what becomes of each request and response.

    The rule gets the datagram's number (requests and responses apart) and returns how often it is
    passed on, and after how many seconds.
    """

    def __init__(self, port: int, rule: Callable[[str, int], tuple[int, float]]) -> None:
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.front.getsockname()[1]}"
        self.callers: dict[Any, socket.socket] = {}
        self._port, self._rule = port, rule
        self._counts = {"request": 0, "response": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for one in (self.front, *self.callers.values()):
            one.close()

    def _pass(self, kind: str, data: bytes, send: Callable[[bytes], object]) -> None:
        copies, delay_s = 1, 0.0
        if not data.startswith(b"NLPH"):
            self._counts[kind] += 1
            copies, delay_s = self._rule(kind, self._counts[kind])
        for _ in range(copies):
            if delay_s > 0:
                threading.Timer(delay_s, send, [data]).start()
            else:
                send(data)

    def _run(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self.front, *self.callers.values()], [], [], 0.02)
            for one in ready:
                if one is self.front:
                    data, caller = one.recvfrom(65536)
                    if caller not in self.callers:
                        back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        back.connect(("127.0.0.1", self._port))
                        self.callers[caller] = back
                    self._pass("request", data, quiet(self.callers[caller].send))
                else:
                    with suppress(OSError):
                        data = one.recv(65536)
                        caller = next(key for key, own in self.callers.items() if own is one)
                        self._pass(
                            "response", data, quiet(lambda d, to=caller: self.front.sendto(d, to))
                        )


def quiet(send: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """A send whose refusals don't matter."""

    def wrapped(data: bytes) -> object:
        with suppress(OSError):
            return send(data)
        return None

    return wrapped


def relayed(
    agents: Agents, rule: Callable[[str, int], tuple[int, float]], **keys: Any
) -> tuple[Answered, int]:
    """Round trips through a relay; and how many source ports the asker used."""
    ask, mirror = keys.pop("ask", {}), keys.pop("mirror", {})
    keys |= {"token": TOKEN, "proto": "udp"}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", **(keys | mirror))
    ready = agents[0].next(mirroring)
    with Relay(ready["port"], rule) as relay:
        asked = agents[1].next(
            agents[1].start("ask", to=relay.address, **(keys | ask)), "result", "error"
        )
        agents[0].ask("stop", test=mirroring)
        mirrored = agents[0].next(mirroring, "result", "error")
        assert mirrored["type"] == "result", mirrored
        return Answered(asked, mirrored), len(relay.callers)


@pytest.mark.parametrize("message", [1, 12, 16, 100])
def test_a_lost_request_times_out_is_counted_and_does_not_end_the_test(
    agents: Agents, message: int
) -> None:
    def rule(kind: str, number: int) -> tuple[int, float]:
        return (0 if kind == "request" and number in (3, 7) else 1), 0

    both, ports = relayed(agents, rule, message=message, count=20, ask={"timeout": 0.1})
    asked = both.asked
    assert asked["type"] == "result", asked
    assert (asked["transactions"], asked["lost_messages"]) == (18, 2)
    assert asked["late_messages"] == asked["duplicate_messages"] == 0
    assert both.mirrored["answered_messages"] == 18
    assert ports == (3 if message < 16 else 1)
    assert asked["elapsed_ns"] > 200_000_000


@pytest.mark.parametrize("message", [1, 12, 16, 100])
def test_a_late_answer_is_never_taken_for_the_next_one(agents: Agents, message: int) -> None:
    """The third response comes 90 ms after its time-out, while the mirror holds a later request."""

    def rule(kind: str, number: int) -> tuple[int, float]:
        return 1, 0.16 if kind == "response" and number == 3 else 0

    both, _ = relayed(
        agents, rule, message=message, count=10, ask={"timeout": 0.1}, mirror={"hold": 0.03}
    )
    asked = both.asked
    assert asked["type"] == "result", asked
    assert (asked["transactions"], asked["lost_messages"]) == (9, 1)
    assert asked["late_messages"] == (1 if message >= 16 else 0)
    assert asked["rtt_min_ns"] >= 30_000_000


def test_a_double_answer_counts_once(agents: Agents) -> None:
    def rule(kind: str, number: int) -> tuple[int, float]:
        return (2 if number in (2, 5) else 1), 0

    both, _ = relayed(agents, rule, message=64, count=10)
    asked = both.asked
    assert asked["transactions"] == 10
    # The second and the fifth request came twice, and each of these answers as well.
    assert both.mirrored["answered_messages"] == 12
    assert asked["duplicate_messages"] == 4


# ---- mirrors answer requests of the token's holder, and nothing else ----


def tag_of(token: str) -> int:
    words = struct.unpack(">4I", bytes.fromhex(token))
    return words[0] ^ words[1] ^ words[2] ^ words[3]


def message_of(token: str, kind: int, number: int, size: int) -> bytes:
    """A request (18) or a response (19) as the protocol has it."""
    if size < 16:
        return bytes([kind]) + bytes(size - 1)
    head = struct.pack(">IBBHQQ", tag_of(token), kind, 0, 0, number, 0)
    return (head + bytes(size))[:size]


def hello_of(token: str, kind: int = 1) -> bytes:
    return struct.pack(">4sBBH16s24x", b"NLPH", kind, 0, 0, bytes.fromhex(token))


def provoke(port: int, size: int, stop: threading.Event, heard: list[bytes]) -> None:
    """A stranger: wrong tokens, requests without a hello, responses, nonsense."""
    wrong = secrets.token_hex(16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.setblocking(False)
        caller.connect(("127.0.0.1", port))
        while not stop.is_set():
            for attack in (
                hello_of(wrong),
                hello_of(TOKEN, kind=4),
                hello_of(TOKEN, kind=2),
                message_of(TOKEN, 18, 1, size),
                message_of(wrong, 18, 1, size),
                message_of(TOKEN, 19, 1, size),
                b"",
                os.urandom(size),
            ):
                with suppress(OSError):
                    caller.send(attack)
            with suppress(OSError):
                heard.append(caller.recv(65536))
            stop.wait(0.001)


@pytest.mark.parametrize("size", [1, 15, 16, 64])
def test_mirrors_cannot_be_made_to_answer_anything_but_their_asker(
    netprobe: Path, size: int
) -> None:
    """Strangers before and during a test, two mirrors that face each other, an honest asker."""
    keys: dict[str, Any] = {"proto": "udp", "message": size, "token": TOKEN}
    heard: list[bytes] = []
    stop = threading.Event()
    with ExitStack() as stack:
        host, other = (stack.enter_context(Agent(netprobe)) for _ in range(2))
        # Two mirrors that share a token: neither asks, and neither takes the other's words for it.
        facing = [host.start("mirror", bind="127.0.0.1", deadline=20, **keys | {"message": 64})]
        ready = host.next(facing[0])
        facing.append(
            other.start("mirror", to=at("127.0.0.1", ready), deadline=20, **keys | {"message": 64})
        )
        honest = host.start("mirror", bind="127.0.0.1", deadline=20, **keys)
        port = host.next(honest)["port"]
        stranger = threading.Thread(target=provoke, args=(port, size, stop, heard))
        stranger.start()
        try:
            time.sleep(0.1)
            asked = other.next(
                other.start("ask", to=f"127.0.0.1:{port}", seconds=0.5, **keys), "result", "error"
            )
        finally:
            stop.set()
            stranger.join()
        results = {}
        for agent, name in ((host, honest), (host, facing[0]), (other, facing[1])):
            agent.ask("stop", test=name)
            results[name, id(agent)] = agent.next(name, "result", "error")
    mirrored, *faced = results.values()
    assert heard == []
    assert asked["type"] == "result", asked
    assert asked["lost_messages"] == 0 == asked["foreign_messages"] + asked["duplicate_messages"]
    assert asked["transactions"] == mirrored["answered_messages"] > 100
    assert mirrored["strangers"] > 5
    for one in faced:
        assert one["type"] == "result", one
        assert one["answered_messages"] == 0 == one["received_messages"]


@pytest.mark.parametrize("size", [1, 15, 16, 64])
def test_the_tokens_holder_itself_is_answered_for_requests_alone(agents: Agents, size: int) -> None:
    mirror, _ = agents
    mirroring = mirror.start("mirror", bind="127.0.0.1", proto="udp", message=size, token=TOKEN)
    port = mirror.next(mirroring)["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(5)
        caller.connect(("127.0.0.1", port))
        caller.send(hello_of(TOKEN))
        assert caller.recv(4096) == hello_of(TOKEN, kind=2)
        for number in range(50):  # what another mirror would send it
            caller.send(message_of(TOKEN, 19, number, size))
        caller.send(message_of(TOKEN, 18, 0, size + 1))
        caller.send(message_of(TOKEN, 16, 0, size))
        caller.send(message_of(TOKEN, 18, 7, size))
        answer = caller.recv(4096)
        assert len(answer) == size
        told = 16 if size >= 16 else 1
        assert answer[:told] == message_of(TOKEN, 19, 7, size)[:told]
        caller.settimeout(0.1)
        with pytest.raises(TimeoutError):
            caller.recv(4096)
    mirror.ask("stop", test=mirroring)
    result = mirror.next(mirroring, "result", "error")
    assert (result["received_messages"], result["answered_messages"]) == (1, 1)
    assert result["foreign_messages"] == 52


@pytest.mark.parametrize("kind", ["round_trip", "connect"])
def test_strangers_on_a_tcp_mirror_are_turned_away_and_hold_nobody_up(
    agents: Agents, kind: str
) -> None:
    keys: dict[str, Any] = {"kind": kind, "message": 64, "token": TOKEN}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", **keys)
    port = agents[0].next(mirroring)["port"]
    with ExitStack() as callers:
        for attack in (bytes(32), secrets.token_bytes(96), b"slow", b"", os.urandom(5000)) * 3:
            caller = callers.enter_context(socket.socket())
            caller.connect(("127.0.0.1", port))
            if attack:
                with suppress(OSError):
                    caller.sendall(attack)
        asked = agents[1].next(
            agents[1].start("ask", to=f"127.0.0.1:{port}", count=100, **keys), "result", "error"
        )
        assert asked["type"] == "result", asked
        assert asked["transactions"] == 100
    agents[0].ask("stop", test=mirroring)
    result = agents[0].next(mirroring, "result", "error")
    assert result["answered_messages"] == 100
    assert result["strangers"] >= 9


# ---- any echo ----


class Echo:
    """RFC 862 over both protocols; ``spoil`` changes what is sent back."""

    def __init__(self, spoil: Callable[[bytes, int], bytes] = lambda data, _: data) -> None:
        self._spoil = spoil
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._datagrams, self._streams)]

    def to(self, protocol: str) -> str:
        one = self.udp if protocol == "udp" else self.tcp
        return f"127.0.0.1:{one.getsockname()[1]}"

    def __enter__(self) -> Echo:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self.udp.close()
        self.tcp.close()

    def _datagrams(self) -> None:
        self.udp.settimeout(0.02)
        number = 0
        while not self._stop.is_set():
            with suppress(OSError):
                data, caller = self.udp.recvfrom(65536)
                number += 1
                self.udp.sendto(self._spoil(data, number), caller)

    def _streams(self) -> None:
        self.tcp.settimeout(0.02)
        number = 0
        while not self._stop.is_set():
            with suppress(OSError):
                caller, _ = self.tcp.accept()
                with caller:
                    caller.settimeout(0.02)
                    while not self._stop.is_set():
                        try:
                            data = caller.recv(65536)
                        except TimeoutError:
                            continue
                        if not data:
                            break
                        number += 1
                        caller.sendall(self._spoil(data, number))


@pytest.mark.parametrize("message", [1, 12, 18, 1472])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_any_echo_is_a_mirror(agents: Agents, protocol: str, message: int) -> None:
    with Echo() as echo:
        asked = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to(protocol), proto=protocol,
                            message=message, count=50),
            "result", "error",
        )  # fmt: skip
    assert asked["type"] == "result", asked
    check_times(asked)
    assert asked["transactions"] == 50
    assert asked["mismatched_messages"] == 0


def test_an_echo_with_a_connection_for_each(agents: Agents) -> None:
    with Echo() as echo:
        asked = agents[1].next(
            agents[1].start("ask", peer="echo", kind="connect", to=echo.to("tcp"), count=20),
            "result", "error",
        )  # fmt: skip
    assert asked["type"] == "result", asked
    assert asked["transactions"] == 20


@pytest.mark.parametrize("message", [12, 1472])
@pytest.mark.parametrize("at_byte", [0, 3, 11, -1])
def test_what_an_echo_changed_is_no_answer(agents: Agents, message: int, at_byte: int) -> None:
    """The third datagram comes back with one other byte: it is told, and its request is lost."""

    def spoil(data: bytes, number: int) -> bytes:
        changed = bytearray(data)
        changed[at_byte] ^= 1 if number == 3 else 0
        return bytes(changed)

    with Echo(spoil) as echo:
        asked = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to("udp"), proto="udp",
                            message=message, count=10, timeout=0.1),
            "result", "error",
        )  # fmt: skip
    assert asked["type"] == "result", asked
    assert (asked["transactions"], asked["lost_messages"]) == (9, 1)
    others = ("mismatched_messages", "foreign_messages", "late_messages", "duplicate_messages")
    assert sum(asked[key] for key in others) == 1


def test_a_tcp_echo_that_changes_bytes_is_an_error(agents: Agents) -> None:
    def spoil(data: bytes, number: int) -> bytes:
        return data if number < 5 else data[:-1] + bytes([data[-1] ^ 1])

    with Echo(spoil) as echo:
        asked = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to("tcp"), message=100, count=10),
            "result", "error",
        )  # fmt: skip
    assert asked["error"] == "no-answer"


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_where_no_echo_listens_the_word_says_so(agents: Agents, protocol: str) -> None:
    refused = agents[1].start("ask", peer="echo", to="127.0.0.1:9", proto=protocol, message=64)
    assert agents[1].next(refused, "error")["error"] == "connect-refused"
