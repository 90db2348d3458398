"""Round trips for the tests: whole ones between two agents, through a relay, with an echo."""

from __future__ import annotations

import secrets
import select
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, at

Agents = tuple[Agent, Agent]
"""The mirror's and the asker's."""

TOKEN = "00112233445566778899aabbccddeeff"


@dataclass(frozen=True)
class Answered:
    """What both sides of round trips said last."""

    asked: Reply
    mirrored: Reply


def patient(keys: Mapping[str, object]) -> dict[str, object]:
    """Of an asker that no time-out is the subject of: the longest, for a machine that stands still.
    Over TCP nothing is lost, and there is none."""
    return {"timeout": 10} if keys.get("proto") == "udp" else {}


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
    sides = {"mirror": (agents[0], mirror or {}), "ask": (agents[1], patient(keys) | (ask or {}))}
    names: dict[str, str] = {}
    agent, own = sides[listener]
    names[listener] = agent.start(listener, open="listen", bind=address, **(keys | own))
    ready = agent.next(names[listener])
    assert ready["type"] == "ready", ready
    connector = "ask" if listener == "mirror" else "mirror"
    agent, own = sides[connector]
    names[connector] = agent.start(connector, to=at(address, ready), **(keys | own))
    asker_record = agents[1].next(names["ask"], "result", "error")
    agents[0].ask("stop", test=names["mirror"])
    return Answered(asker_record, agents[0].next(names["mirror"], "result", "error"))


def done(agents: Agents, **keys: Any) -> Answered:
    """Round trips that must end well on both sides."""
    outcome = round_trips(agents, **keys)
    assert outcome.asked["type"] == "result", outcome.asked
    assert outcome.mirrored["type"] == "result", outcome.mirrored
    return outcome


def lowest_ns(bucket: int, bits: int) -> int:
    """The lowest value of a bucket, as docs/protocol.md defines buckets."""
    if bucket < 2**bits:
        return bucket
    octave = (bucket >> bits) - 1
    return ((1 << bits) + bucket % (1 << bits)) << octave


def check_times(record: Reply) -> None:
    """The histogram, its sums and the rate say the same."""
    pairs = record["rtt_histogram"]
    buckets, counts = pairs[::2], pairs[1::2]
    bits = record["rtt_histogram_bits"]
    assert bits == 7
    assert buckets == sorted(set(buckets))
    assert min(counts) > 0
    assert sum(counts) == record["rtt_count"] == record["transactions"]
    lowest = sum(lowest_ns(b, bits) * n for b, n in zip(buckets, counts, strict=True))
    assert lowest <= record["rtt_sum_ns"] <= lowest * (1 + 2**-bits) + record["rtt_count"]
    assert record["rtt_mean_ns"] == pytest.approx(record["rtt_sum_ns"] / record["rtt_count"])
    assert lowest_ns(buckets[0], bits) <= record["rtt_min_ns"]
    assert lowest_ns(buckets[-1], bits) <= record["rtt_max_ns"]
    assert record["rtt_min_ns"] <= record["rtt_mean_ns"] <= record["rtt_max_ns"]
    rate = 1e9 * record["transactions"] / record["elapsed_ns"]
    assert record["transactions_per_s"] == pytest.approx(rate)
    assert record["window_close_ns"] - record["window_open_ns"] == record["elapsed_ns"]


def check_accounts(outcome: Answered) -> None:
    asker_record, mirror_record = outcome.asked, outcome.mirrored
    check_times(asker_record)
    assert (
        asker_record["sent_messages"]
        == asker_record["transactions"] + asker_record["lost_messages"]
    )
    assert mirror_record["received_messages"] == mirror_record["answered_messages"]
    assert not asker_record["mismatched_messages"] + asker_record["duplicate_messages"]
    assert not asker_record["foreign_messages"] + mirror_record["foreign_messages"]


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
        for endpoint in (self.front, *self.callers.values()):
            endpoint.close()

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

    def _answer(self, caller: Any, data: bytes) -> object:
        return self.front.sendto(data, caller)

    def _run(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self.front, *self.callers.values()], [], [], 0.02)
            for endpoint in ready:
                if endpoint is self.front:
                    data, caller = endpoint.recvfrom(65536)
                    if caller not in self.callers:
                        back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        back.connect(("127.0.0.1", self._port))
                        self.callers[caller] = back
                    self._pass("request", data, quiet(self.callers[caller].send))
                else:
                    with suppress(OSError):
                        data = endpoint.recv(65536)
                        caller = next(key for key, own in self.callers.items() if own is endpoint)
                        self._pass("response", data, quiet(partial(self._answer, caller)))


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
        asker_record = agents[1].next(
            agents[1].start("ask", to=relay.address, **(keys | patient(keys) | ask)),
            "result",
            "error",
        )
        agents[0].ask("stop", test=mirroring)
        mirror_record = agents[0].next(mirroring, "result", "error")
        assert mirror_record["type"] == "result", mirror_record
        return Answered(asker_record, mirror_record), len(relay.callers)


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
        listener = self.udp if protocol == "udp" else self.tcp
        return f"127.0.0.1:{listener.getsockname()[1]}"

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
