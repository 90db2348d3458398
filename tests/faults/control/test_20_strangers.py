"""Strangers on the data ports change no result: they are never answered, and are counted.

A thousand and more TCP connections with wrong tokens, random bytes, half a token and silence; UDP
datagrams with wrong tokens, of the test's own shape, empty and long, before and during each trial.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pandas as pd
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from stops import meanwhile

from netlab.findings.analysis import Analysis

__all__ = ["bench", "outcome_of"]

PORTS = range(21630, 21632)
"""All that the server may listen on: two, so that strangers know where."""
ELSEWHERE = range(21640, 21642)
"""Where nobody listens: strangers there take as much CPU time, and reach no test."""
TESTS = (
    "{test: stream, protocol: [TCP, UDP], message_size: 1000, rate: 20Mbit}, "
    "{test: round_trip, protocol: UDP, message_size: 64, message_rate: 500}"
)


@dataclass
class Strangers:
    """Who they were, and what they heard."""

    connections: int = 0
    datagrams: int = 0
    heard: list[bytes] = field(default_factory=list)


def call(port: int, tally: Strangers, open_still: list[socket.socket]) -> None:
    for attack in (bytes(32), secrets.token_bytes(64), b"slow", b""):
        caller = socket.socket()
        caller.settimeout(0.2)
        open_still.append(caller)
        with suppress(OSError):
            caller.connect(("127.0.0.1", port))
            tally.connections += 1
            caller.sendall(attack)
        if attack not in (b"slow", b""):
            caller.close()
    for old in open_still[:-12]:
        old.close()
    del open_still[:-12]


def spray(caller: socket.socket, port: int, tally: Strangers) -> None:
    hello = struct.pack(">4sBBH16s24x", b"NLPH", 1, 0, 0, secrets.token_bytes(16))
    data = struct.pack(">IBBHQQ976x", secrets.randbits(32), 16, 0, 0, 7, 7)
    request = struct.pack(">IBBHQQ40x", secrets.randbits(32), 18, 0, 0, 7, 7)
    for attack in (hello, data, request, b"", os.urandom(48), os.urandom(1400)):
        with suppress(OSError):
            caller.sendto(attack, ("127.0.0.1", port))
            tally.datagrams += 1
    with suppress(OSError):
        tally.heard.append(caller.recv(4096))


@contextmanager
def strangers(ports: range) -> Iterator[Strangers]:
    """They come for as long as this lasts: some hundred connections a second, and more datagrams.

    A UDP test takes messages of anybody only until its own client has said hello, which may be over
    in half a millisecond: datagrams come more often than that, by a thread of their own.
    """
    tally, stop = Strangers(), threading.Event()

    def connect() -> None:
        open_still: list[socket.socket] = []
        while not stop.wait(0.005):
            for port in ports:
                call(port, tally, open_still)
        for caller in open_still:
            caller.close()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
            caller.setblocking(False)
            while not stop.wait(0.0001):
                for port in ports:
                    spray(caller, port, tally)

    with meanwhile(connect), meanwhile(send):
        try:
            yield tally
        finally:
            stop.set()


def trips(run: Analysis) -> pd.DataFrame:
    return run.frame[run.frame["test"] == "round_trip"]


def call_on_the_ports(bench: Bench) -> Seen:
    server = f"{{local: true, port_range: {PORTS[0]}-{PORTS[-1]}}}"
    bench.matrix(TESTS, server=server, repeats="3", defaults="{duration: 500ms}")
    words = ("run", "matrix.yaml", "--no-report", "--into")
    with strangers(ELSEWHERE):
        codes = [bench.run(*words, "clean").returncode]
    with strangers(PORTS) as tally:
        codes.append(bench.run(*words, "out").returncode)
    calls = tally.connections + tally.datagrams
    return {"codes": codes, "calls": calls, "answers": len(tally.heard)}


@injects()
def test_messages_from_strangers_to_the_data_ports_are_counted_and_never_answered(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(call_on_the_ports)
    assert outcome["codes"] == [0, 0]
    clean, faulty = outcome.load("clean"), outcome.load()
    assert by_status(faulty) == {"ok": 9}
    # A stranger's message wakes the mirror as well, and where the system then puts its thread
    # decides about a round trip of some microseconds: of those all count, and none was made up.
    assert [sentence for sentence in wrong_ok(clean, faulty) if "rtt_mean_ns" not in sentence] == []
    for column in ("rtt_count", "sent_messages", "lost_messages"):
        assert trips(faulty)[column].equals(trips(clean)[column])
    assert trips(faulty)["rtt_min_ns"].min() > trips(clean)["rtt_min_ns"].min() / 2
    assert outcome["calls"] > 1000
    assert outcome["answers"] == 0
    stranger_count = sum(
        value
        for record in faulty.latest.values()
        for key, value in record.values.items()
        if key.endswith("strangers") and isinstance(value, int)
    )
    assert stranger_count > 2
    outcome.figure(
        f"{stranger_count} counted, 0 answered, {len(faulty.latest)} trials ok",
        n=outcome["calls"],
    )
