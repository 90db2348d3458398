"""Two mirrors that a forged datagram sets against each other exchange one answer and no more.

Whoever forges it knows the token, and sends from the one mirror's own address and port.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from netprobe_agents import PATIENCE_S, Agent, build
from round_trip_peers import TOKEN

pytestmark = [pytest.mark.needs("root"), pytest.mark.alone]

SIZE = 1000
REQUESTS = 50
"""So few fit into a socket's default buffer, also where the mirror does not run meanwhile."""


def udp_datagrams() -> int:
    """What all of this machine has sent over UDP and IPv4 so far."""
    rows = [row.split() for row in Path("/proc/net/snmp").read_text().splitlines()]
    names, values = (row for row in rows if row[0] == "Udp:")
    return int(dict(zip(names, values, strict=True))["OutDatagrams"])


def request(number: int) -> bytes:
    first, second, third, fourth = struct.unpack(">4I", bytes.fromhex(TOKEN))
    head = struct.pack(">IBBHQQ", first ^ second ^ third ^ fourth, 18, 0, 0, number, 0)
    return head + bytes(SIZE - len(head))


def forge(source: int, to: int, payload: bytes) -> None:
    """A datagram from a port of 127.0.0.1 that another program has."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
        raw.sendto(
            struct.pack(">HHHH", source, to, 8 + len(payload), 0) + payload, ("127.0.0.1", 0)
        )


def test_a_mirror_answers_each_forged_request_once_and_no_answer_of_another_mirror(
    record_property: Callable[[str, object], None],
) -> None:
    binary = build()
    keys = {"proto": "udp", "message": SIZE, "token": TOKEN, "deadline": 60}
    with ExitStack() as stack:
        first_agent, second_agent = (stack.enter_context(Agent(binary)) for _ in range(2))
        first = first_agent.start("mirror", bind="127.0.0.1", **keys)
        port = first_agent.next(first)["port"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            own = free.getsockname()[1]
        second = second_agent.start("mirror", to=f"127.0.0.1:{port}", port=own, **keys)
        time.sleep(1.5)
        old_count = udp_datagrams()
        for number in range(REQUESTS):
            forge(own, port, request(number))
        until = time.monotonic() + PATIENCE_S
        while udp_datagrams() < old_count + REQUESTS and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        answers = []
        for agent, name in ((first_agent, first), (second_agent, second)):
            agent.ask("stop", test=name)
            answers.append(agent.next(name, "result", "error"))
        datagram_count = udp_datagrams() - old_count
    assert [answer["type"] for answer in answers] == ["result", "result"], answers
    assert (answers[0]["received_messages"], answers[0]["answered_messages"]) == (
        REQUESTS,
        REQUESTS,
    )
    assert (answers[1]["received_messages"], answers[1]["answered_messages"]) == (0, 0)
    assert answers[1]["foreign_messages"] == REQUESTS
    assert answers[0]["response_bytes"] <= answers[0]["message_bytes"]
    assert datagram_count >= REQUESTS
    record_property(
        "figure", "1 answer a forged request, 0 to an answer; 1.0 bytes out per byte in"
    )
    record_property("n", REQUESTS)
