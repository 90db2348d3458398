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
COUNT = 100
"""So few fit into a default buffer together with all that is sent again, also where the receiver
does not run meanwhile."""


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
            for source in select.select([front, back], [], [], 0.02)[0]:
                with suppress(ConnectionRefusedError):  # whoever has left
                    if source is front:
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
    agents: Agents, *, old_datagrams: list[bytes], replay: list[bytes]
) -> tuple[Reply, Reply, list[bytes], list[bytes]]:
    """What both sides said, what went along, and the answers to a stranger's ``old_datagrams``."""
    receiver, sender = agents
    keys = {"token": secrets.token_hex(16), "proto": "udp", "message": 200, "count": COUNT}
    listening = receiver.start("receive", bind="127.0.0.1", **keys)
    ready = receiver.next(listening)
    answers: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(("127.0.0.1", ready["port"]))
        for data in old_datagrams:
            stranger.send(data)
        with tapped(ready["port"], replay) as tap:
            to = at("127.0.0.1", ready | {"port": tap.port})
            sending = sender.start("send", to=to, message_rate=1000, **keys)
            sender_record = sender.next(sending, "result", "error")
            receiver.ask("stop", test=listening, sent=sender_record.get("sent_messages", 0))
            receiver_record = receiver.next(listening, "result", "error")
        stranger.setblocking(False)
        with suppress(OSError):
            answers.append(stranger.recv(4096))
    return receiver_record, sender_record, tap.kept, answers


def test_datagrams_of_an_earlier_session_are_dropped_counted_and_not_answered(
    agents: Agents, record_property: Callable[[str, object], None]
) -> None:
    receiver_record, _, datagrams, _ = session(agents, old_datagrams=[], replay=[])
    assert receiver_record["total_messages"] == COUNT
    old = [datagram for datagram in datagrams if struct.unpack(">I", datagram[:4])[0] != 0]
    assert len(old) >= COUNT
    receiver_record, sender_record, _, answers = session(
        agents, old_datagrams=old[:60], replay=old[:100]
    )
    assert receiver_record["type"] == "result", receiver_record
    assert sender_record["sent_messages"] == COUNT
    assert receiver_record["total_messages"] + receiver_record["lost_messages"] == COUNT
    assert receiver_record["lost_messages"] == receiver_record["duplicate_messages"] == 0
    assert receiver_record["foreign_messages"] == 100
    assert receiver_record["strangers"] == 60
    assert answers == []
    record_property("figure", "160 dropped and counted, 0 answered")
    record_property("n", 160)
