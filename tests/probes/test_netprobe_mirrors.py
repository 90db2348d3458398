"""What mirrors never answer; what is lost, late, double or changed; any echo as a mirror."""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, agents, at, netprobe
from round_trip_peers import TOKEN, Agents, Echo, check_times, patient, relayed

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

# ---- what is lost, late, double ----


@pytest.mark.parametrize("message", [1, 12, 16])
def test_an_asker_counts_a_lost_request_and_continues(agents: Agents, message: int) -> None:
    def rule(kind: str, number: int) -> tuple[int, float]:
        return (0 if kind == "request" and number in (3, 7) else 1), 0

    outcome, ports = relayed(agents, rule, message=message, count=20, ask={"timeout": 1.5})
    asker_record = outcome.asked
    assert asker_record["type"] == "result", asker_record
    assert (asker_record["transactions"], asker_record["lost_messages"]) == (18, 2)
    assert asker_record["late_messages"] == asker_record["duplicate_messages"] == 0
    assert outcome.mirrored["answered_messages"] == 18
    assert ports == (3 if message < 16 else 1)
    assert asker_record["elapsed_ns"] > 3_000_000_000


@pytest.mark.parametrize("message", [1, 12, 16])
def test_an_asker_never_takes_a_late_answer_for_the_next_answer(
    agents: Agents, message: int
) -> None:
    """The third response comes half a second after its time-out, while the mirror holds a later
    request."""

    def rule(kind: str, number: int) -> tuple[int, float]:
        return 1, 2.0 if kind == "response" and number == 3 else 0

    outcome, _ = relayed(
        agents, rule, message=message, count=20, ask={"timeout": 1.5}, mirror={"hold": 0.1}
    )
    asker_record = outcome.asked
    assert asker_record["type"] == "result", asker_record
    assert (asker_record["transactions"], asker_record["lost_messages"]) == (19, 1)
    assert asker_record["late_messages"] == (1 if message >= 16 else 0)
    assert asker_record["rtt_min_ns"] >= 100_000_000


def test_an_asker_counts_a_duplicate_answer_once(agents: Agents) -> None:
    def rule(kind: str, number: int) -> tuple[int, float]:
        return (2 if number in (2, 5) else 1), 0

    outcome, _ = relayed(agents, rule, message=64, count=10)
    asker_record = outcome.asked
    assert asker_record["transactions"] == 10
    # The second and the fifth request came twice, and each of these answers as well.
    assert outcome.mirrored["answered_messages"] == 12
    assert asker_record["duplicate_messages"] == 4


# ---- mirrors answer requests of the token's holder, and nothing else ----


def tag_of(token: str) -> int:
    first, second, third, fourth = struct.unpack(">4I", bytes.fromhex(token))
    return int(first ^ second ^ third ^ fourth)


def message_of(token: str, kind: int, number: int, size: int) -> bytes:
    """A request (18) or a response (19) as the protocol has it."""
    if size < 16:
        return bytes([kind]) + bytes(size - 1)
    head = struct.pack(">IBBHQQ", tag_of(token), kind, 0, 0, number, 0)
    return (head + bytes(size))[:size]


def hello_of(token: str, kind: int = 1) -> bytes:
    return struct.pack(">4sBBH16s24x", b"NLPH", kind, 0, 0, bytes.fromhex(token))


def provoke(
    port: int, size: int, begun: threading.Event, stop: threading.Event, answers: list[bytes]
) -> None:
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
            begun.set()
            with suppress(OSError):
                answers.append(caller.recv(65536))
            stop.wait(0.02)  # so few that they leave room for the asker


@pytest.mark.parametrize("size", [1, 15, 16])
def test_a_mirror_answers_neither_strangers_nor_another_mirror(netprobe: Path, size: int) -> None:
    """Strangers before and during a test, two mirrors that face each other, an honest asker."""
    keys: dict[str, Any] = {"proto": "udp", "message": size, "token": TOKEN}
    answers: list[bytes] = []
    begun, stop = threading.Event(), threading.Event()
    with ExitStack() as stack:
        host, peer = (stack.enter_context(Agent(netprobe)) for _ in range(2))
        # Two mirrors that share a token: neither asks, and neither takes the other's words for it.
        facing = [host.start("mirror", bind="127.0.0.1", deadline=20, **keys | {"message": 64})]
        ready = host.next(facing[0])
        facing.append(
            peer.start("mirror", to=at("127.0.0.1", ready), deadline=20, **keys | {"message": 64})
        )
        honest = host.start("mirror", bind="127.0.0.1", deadline=20, **keys)
        port = host.next(honest)["port"]
        stranger = threading.Thread(target=provoke, args=(port, size, begun, stop, answers))
        stranger.start()
        try:
            assert begun.wait(60)
            asker_record = peer.next(
                peer.start("ask", to=f"127.0.0.1:{port}", seconds=0.5, **keys, **patient(keys)),
                "result",
                "error",
            )
        finally:
            stop.set()
            stranger.join()
        results = {}
        for agent, name in ((host, honest), (host, facing[0]), (peer, facing[1])):
            agent.ask("stop", test=name)
            results[name, id(agent)] = agent.next(name, "result", "error")
    mirror_record, *facing_records = results.values()
    assert answers == []
    assert asker_record["type"] == "result", asker_record
    assert (
        asker_record["lost_messages"]
        == 0
        == asker_record["foreign_messages"] + asker_record["duplicate_messages"]
    )
    assert asker_record["transactions"] == mirror_record["answered_messages"] > 0
    assert mirror_record["strangers"] > 0
    for record in facing_records:
        assert record["type"] == "result", record
        assert record["answered_messages"] == 0 == record["received_messages"]


@pytest.mark.parametrize("size", [1, 15, 16])
def test_a_mirror_answers_only_requests_of_its_asker(agents: Agents, size: int) -> None:
    mirror, _ = agents
    mirroring = mirror.start("mirror", bind="127.0.0.1", proto="udp", message=size, token=TOKEN)
    port = mirror.next(mirroring)["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(60)
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
        length = 16 if size >= 16 else 1
        assert answer[:length] == message_of(TOKEN, 19, 7, size)[:length]
        caller.settimeout(0.1)
        with pytest.raises(TimeoutError):
            caller.recv(4096)
    mirror.ask("stop", test=mirroring)
    result = mirror.next(mirroring, "result", "error")
    assert (result["received_messages"], result["answered_messages"]) == (1, 1)
    assert result["foreign_messages"] == 52


@pytest.mark.parametrize("kind", ["round_trip", "connect"])
def test_strangers_on_a_tcp_mirror_do_not_disturb_its_asker(agents: Agents, kind: str) -> None:
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
        asker_record = agents[1].next(
            agents[1].start("ask", to=f"127.0.0.1:{port}", count=100, **keys), "result", "error"
        )
        assert asker_record["type"] == "result", asker_record
        assert asker_record["transactions"] == 100
    agents[0].ask("stop", test=mirroring)
    result = agents[0].next(mirroring, "result", "error")
    assert result["answered_messages"] == 100
    assert result["strangers"] >= 9


# ---- any echo ----


@pytest.mark.parametrize(
    ("protocol", "message"), [("tcp", 1), ("tcp", 1472), ("udp", 1), ("udp", 12), ("udp", 18)]
)
def test_an_asker_measures_round_trips_with_an_echo(
    agents: Agents, protocol: str, message: int
) -> None:
    with Echo() as echo:
        asker_record = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to(protocol), proto=protocol,
                            message=message, count=50, **patient({"proto": protocol})),
            "result", "error",
        )  # fmt: skip
    assert asker_record["type"] == "result", asker_record
    check_times(asker_record)
    assert asker_record["transactions"] == 50
    assert asker_record["mismatched_messages"] == 0


def test_an_asker_opens_a_connection_to_an_echo_for_each_request(agents: Agents) -> None:
    with Echo() as echo:
        asker_record = agents[1].next(
            agents[1].start("ask", peer="echo", kind="connect", to=echo.to("tcp"), count=20),
            "result", "error",
        )  # fmt: skip
    assert asker_record["type"] == "result", asker_record
    assert asker_record["transactions"] == 20


@pytest.mark.parametrize(
    ("message", "at_byte"), [(12, 0), (12, 11), (1472, 0), (1472, 3), (1472, 11), (1472, -1)]
)
def test_an_asker_rejects_an_answer_that_the_echo_changed(
    agents: Agents, message: int, at_byte: int
) -> None:
    """The third datagram comes back with one other byte: it is told, and its request is lost."""

    def spoil(data: bytes, number: int) -> bytes:
        copy = bytearray(data)
        copy[at_byte] ^= 1 if number == 3 else 0
        return bytes(copy)

    with Echo(spoil) as echo:
        asker_record = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to("udp"), proto="udp",
                            message=message, count=10, timeout=1.5),
            "result", "error",
        )  # fmt: skip
    assert asker_record["type"] == "result", asker_record
    assert (asker_record["transactions"], asker_record["lost_messages"]) == (9, 1)
    counters = ("mismatched_messages", "foreign_messages", "late_messages", "duplicate_messages")
    assert sum(asker_record[key] for key in counters) == 1


def test_an_asker_reports_an_error_where_a_tcp_echo_changes_bytes(agents: Agents) -> None:
    def spoil(data: bytes, number: int) -> bytes:
        return data if number < 5 else data[:-1] + bytes([data[-1] ^ 1])

    with Echo(spoil) as echo:
        asker_record = agents[1].next(
            agents[1].start("ask", peer="echo", to=echo.to("tcp"), message=100, count=10),
            "result", "error",
        )  # fmt: skip
    assert asker_record["error"] == "no-answer"
