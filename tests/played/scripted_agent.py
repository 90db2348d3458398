"""A scripted agent that answers as a real one would, and records its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from advanced_clock import call_later, passing

from netlab.experiment.hosts import Host, Mirror
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, SoFar
from netlab.remote.agent import Agent
from netlab.trial.record import Record

RESULT: dict[str, dict[str, Any]] = {
    "receive": {
        "throughput_bit_per_s": 94_100_000.0,
        "elapsed_ns": 1_000_000_000,
        "received_messages": 8000,
        "lost_messages": 3,
        "drain_ns": 5,
    },
    "send": {
        "sent_messages": 8003,
        "sent_bit_per_s": 94_200_000.0,
        "tcp_end_snd_mss": 1448,
        "tcp_end_options": "timestamps,sack,wscale",
        "first_send_ns": 0,
        "last_send_ns": 1 << 62,
    },
    "ask": {
        "transactions": 10,
        "transactions_per_s": 1000.0,
        "elapsed_ns": 10_000_000,
        "lost_messages": 0,
        "rtt_count": 10,
        "rtt_min_ns": 900_000,
        "rtt_max_ns": 1_100_000,
        "rtt_sum_ns": 10_000_000,
        "rtt_mean_ns": 1_000_000.0,
        "rtt_histogram": [1791, 10],
        "rtt_histogram_bits": 7,
        "latency_from": "sent",
        "user_ns": 5,
    },
    "mirror": {"answered_messages": 10, "received_messages": 10, "user_ns": 7},
}

Asked = tuple[str, str, dict[str, Any]]
Answer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


@dataclass
class Fake:
    """One agent."""

    name: str
    asked: list[Asked]
    faults: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """verb → the error record in place of an answer."""
    answer: Answer | None = None
    """verb and keys → the last record in place of the one in ``RESULT``; ``None``: that one."""
    told: Callable[[dict[str, Any]], Sequence[dict[str, Any]]] = lambda _keys: ()
    """Keys of an ``ask`` → the records before its last one."""
    gone_after: str | None = None
    offset_ns: int = 0
    port_range: tuple[int, int] | None = None
    capabilities: str = "stream,tcp,udp,congestion,stamps,no-checksum"
    facts_: Mapping[str, Any] = field(default_factory=dict)
    running: dict[str, tuple[Any, str, dict[str, Any]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    skipped_lines: int = 0

    @property
    def host(self) -> Host:
        addresses = {"test": ("10.0.0.1", "fd00::1")}
        return Host(name=self.name, os="L", port_range=self.port_range, addresses=addresses)

    @property
    def hello(self) -> Mapping[str, Any]:
        return {"capabilities": self.capabilities}

    def clock_offset(self, enough_ns: int = 0) -> Any:
        return SimpleNamespace(offset_ns=self.offset_ns, bound_ns=5)

    def facts(self, to: str | None = None, *, interface: str | None = None) -> Mapping[str, Any]:
        return self.facts_

    def ask(self, verb: str, **_keys: Any) -> Mapping[str, Any]:
        """Readings of counters."""
        assert verb == "facts"
        return self.facts_

    def start(
        self, verb: str, *, inbox: Callable[..., None] | None = None, **keys: Any
    ) -> SimpleNamespace:
        with self.lock:
            self.asked.append((self.name, verb, keys))
            pending = SimpleNamespace(id=f"{self.name}{len(self.asked)}")
            if verb == "stop":
                self._stop(keys)
                return pending
            assert inbox is not None
            self.running[pending.id] = (lambda record: inbox(pending, record), verb, keys)
            call_later(0.01, lambda: self._begin(pending, verb, keys))
            return pending

    def _begin(self, pending: Any, verb: str, keys: dict[str, Any]) -> None:
        say = self.running[pending.id][0]
        if (breaks := self._breaks(verb)) is not None:
            say(breaks)
            return
        if keys["open"] == "listen":
            say({"type": "ready", "port": 40001})
        if verb in ("receive", "ask"):
            say({"type": "progress", "bytes": 1000, "elapsed_ns": 1_000_000})
        if verb == "receive":
            # The sender's own first word comes before the window of its messages is over.
            call_later(0.05, lambda: say({"type": "window"}))
        if verb == "ask":
            for record in (*self.told(keys), self._last_word(verb, keys)):
                say(record)

    def _stop(self, stop: dict[str, Any]) -> None:
        say, verb, keys = self.running[stop["test"]]
        if "abort" in stop:
            say({"type": "error", "error": "stopped"})
        else:
            # On a busy machine it is stopped before its first word.
            say(self._breaks(verb) or self._last_word(verb, keys))

    def _breaks(self, verb: str) -> dict[str, Any] | None:
        """What it says in place of an answer."""
        if verb in self.faults:
            return {"type": "error", **self.faults[verb]}
        if self.gone_after == verb:
            return {"type": "gone", "detail": f"{self.name}: no heartbeat"}
        return None

    def _last_word(self, verb: str, keys: dict[str, Any]) -> dict[str, Any]:
        scripted = self.answer(verb, keys) if self.answer is not None else None
        return {"type": "result", **RESULT[verb]} if scripted is None else scripted


def run_with(
    measure: Callable[..., Record], trial: Trial, **fakes: Any
) -> tuple[Record, list[Asked], list[SoFar]]:
    """A trial between two fakes: its record, all that was asked, and what was told meanwhile. No
    time passes.

    ``server`` and ``client``: what is special about them; ``mirror``: an echo for a server;
    ``asked``: a list to which what was asked is added, also of a trial that has no record.
    """
    requests: list[Asked] = fakes.get("asked", [])
    live: list[SoFar] = []
    mirror: Mirror | None = fakes.get("mirror")
    server = Fake("server", requests, **fakes.get("server", {}))
    client = Fake("client", requests, **fakes.get("client", {}))
    ends = Ends(
        server=None if mirror else cast(Agent, server),
        client=cast(Agent, client),
        same_host=False,
        connected_by=fakes.get("connected_by", {}),
        mirror=mirror,
        mirror_name="echo" if mirror else "",
    )
    with passing():
        record = measure(trial, ends, 1, lambda _cell, so_far: live.append(so_far))
    return record, requests, live
