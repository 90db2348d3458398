"""Messages under 16 bytes, without a header: whose they are, and what proves a sender."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from netprobe_agents import Agent, agents, netprobe
from round_trip_peers import TOKEN

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]
MASK = 2**64 - 1


def bare(token: str, size: int, stream: int = 0) -> bytes:
    """What every message of a stream is that has no header (docs/protocol.md: the filling)."""
    first, second, third, fourth = struct.unpack(">4I", bytes.fromhex(token))
    seed = (first ^ second ^ third ^ fourth) << 32 | stream
    filling = b""
    for _ in range(2):  # splitmix64
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        mixed = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & MASK
        filling += struct.pack(">Q", mixed ^ mixed >> 31)
    return filling[:size]


def control(kind: int, messages: int = 0) -> bytes:
    return struct.pack(">4sBBH16sQ16x", b"NLPH", kind, 0, 0, bytes.fromhex(TOKEN), messages)


@pytest.mark.parametrize("size", [4, 15])
def test_late_messages_of_an_earlier_stream_count_as_foreign(agents: Agents, size: int) -> None:
    """Both have the same ports: nothing but what is in them tells."""
    receiver, _ = agents
    old_token = "0123456789abcdef0f1e2d3c4b5a6978"
    listening = receiver.start(
        "receive", bind="127.0.0.1", token=TOKEN, proto="udp", count=20, message=size
    )
    ready = receiver.next(listening)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(60)
        caller.connect(("127.0.0.1", ready["port"]))
        caller.send(control(1))
        assert caller.recv(100) == control(2)
        for _ in range(20):
            caller.send(bare(old_token, size))
            caller.send(bare(TOKEN, size))
        caller.send(control(3, 20))
        result = receiver.next(listening, "result", "error")
    assert result["total_messages"] == 20, result
    assert result["lost_messages"] == 0
    assert result["foreign_messages"] == 20


@contextmanager
def without_the_answer(port: int) -> Iterator[int]:
    """A way to that port on which every answer to a hello gets lost; its own port."""
    stop = threading.Event()
    front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    front.bind(("127.0.0.1", 0))
    back.connect(("127.0.0.1", port))

    def carry() -> None:
        caller = None
        while not stop.is_set():
            for end in select.select([front, back], [], [], 0.02)[0]:
                if end is front:
                    data, caller = front.recvfrom(65536)
                    back.send(data)
                elif (data := back.recv(65536))[:5] != b"NLPH\2" and caller is not None:
                    front.sendto(data, caller)

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield front.getsockname()[1]
    finally:
        stop.set()
        thread.join()
        front.close()
        back.close()


@pytest.mark.parametrize("size", [2, 15, 16])
def test_a_receiver_whose_hello_is_never_answered_recognises_its_sender_by_the_messages(
    agents: Agents, size: int
) -> None:
    receiver, sender = agents
    keys = {"token": TOKEN, "proto": "udp", "message": size, "seconds": 0.5}
    sending = sender.start(
        "send", open="listen", bind="127.0.0.1", message_rate=500, warm_up=0.2, **keys
    )
    ready = sender.next(sending)
    with without_the_answer(ready["port"]) as port:
        receiving = receiver.start("receive", to=f"127.0.0.1:{port}", **keys)
        window = receiver.next(receiving, "window", "error")
        assert window["type"] == "window", window
        sender.ask("stop", test=sending)
        sender_record = sender.next(sending, "result", "error")
        receiver.ask("stop", test=receiving, sent=sender_record["sent_messages"])
        receiver_record = receiver.next(receiving, "result", "error")
    assert receiver_record["type"] == "result", receiver_record
    assert receiver_record["total_messages"] > 0
    assert receiver_record["foreign_messages"] == 0
