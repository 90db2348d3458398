"""Datagrams of an earlier session that are sent again are dropped, counted, and never answered.

From another port, and from the peer's own: a host that is as near as that sees no token, for each
session has one of its own.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from netprobe_agents import Agent, Reply, agents, at, netprobe

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.alone

Agents = tuple[Agent, Agent]


@dataclass
class Tap:
    """A way to a port that keeps what goes along it, and can send it again as the peer."""

    port: int
    kept: list[bytes] = field(default_factory=list)
    replay: list[bytes] = field(default_factory=list)


@contextmanager
def tapped(port: int, replay: list[bytes]) -> Iterator[Tap]:
    """``replay`` goes to the port as soon as the peer's own hello has, from its address."""
    front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    front.bind(("127.0.0.1", 0))
    back.connect(("127.0.0.1", port))
    tap, stop = Tap(front.getsockname()[1], replay=list(replay)), threading.Event()

    def carry() -> None:
        caller = None
        while not stop.is_set():
            for one in select.select([front, back], [], [], 0.02)[0]:
                with suppress(ConnectionRefusedError):  # whoever has left
                    if one is front:
                        data, caller = front.recvfrom(65536)
                        tap.kept.append(data)
                        back.send(data)
                    elif caller is not None:
                        front.sendto(back.recv(65536), caller)
                        while tap.replay:
                            back.send(tap.replay.pop())

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield tap
    finally:
        stop.set()
        thread.join()
        front.close()
        back.close()


def session(
    agents: Agents, *, before: list[bytes], replay: list[bytes]
) -> tuple[Reply, Reply, list[bytes], list[bytes]]:
    """What both sides said, what went along, and what a stranger heard who sent ``before``."""
    receiver, sender = agents
    keys = {"token": secrets.token_hex(16), "proto": "udp", "message": 200, "count": 300}
    listening = receiver.start("receive", bind="127.0.0.1", **keys)
    ready = receiver.next(listening)
    heard: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(("127.0.0.1", ready["port"]))
        for data in before:
            stranger.send(data)
        with tapped(ready["port"], replay) as tap:
            to = at("127.0.0.1", ready | {"port": tap.port})
            sending = sender.start("send", to=to, message_rate=1000, **keys)
            sent = sender.next(sending, "result", "error")
            receiver.ask("stop", test=listening, sent=sent.get("sent_messages", 0))
            received = receiver.next(listening, "result", "error")
        stranger.setblocking(False)
        with suppress(OSError):
            heard.append(stranger.recv(4096))
    return received, sent, tap.kept, heard


def test_a_session_is_not_moved_by_the_one_before(
    agents: Agents, record_property: Callable[[str, object], None]
) -> None:
    received, _, kept, _ = session(agents, before=[], replay=[])
    assert received["total_messages"] == 300
    old = [each for each in kept if struct.unpack(">I", each[:4])[0] != 0]
    assert len(old) >= 300
    received, sent, _, heard = session(agents, before=old[:60], replay=old[:100])
    assert received["type"] == "result", received
    assert sent["sent_messages"] == 300
    assert received["total_messages"] + received["lost_messages"] == 300
    assert received["lost_messages"] == received["duplicate_messages"] == 0
    assert received["foreign_messages"] == 100
    assert received["strangers"] == 60
    assert heard == []
    record_property("figure", "160 dropped and counted, 0 answered")
    record_property("n", 160)
