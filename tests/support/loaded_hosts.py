"""Two scripted hosts for tests of latency under load: the records of their agents."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scripted_agent import RESULT, Asked, run_with

from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import LatencyUnderLoad
from netlab.measurement.engines import measure
from netlab.trial.record import Record

MS, S = 1_000_000, 1_000_000_000

Trips = Callable[[float], int | None]
"""When one was due, in seconds from the load's beginning on → its time in ms; ``None``: lost."""


def ordinary(at_s: float) -> int:
    """10 ms idle and 50 ms under load; the last of the queue leaves 0.2 s after the load's end."""
    if at_s < 0:
        return 10
    return 50 if at_s < 20 else max(10, round(210 - 1000 * (at_s - 20)))


@dataclass
class World:
    """Two hosts and what they tell of a trial with 2 s before, 20 s of load, and 2 s after it."""

    trips: Trips = ordinary
    connections: Trips = lambda at_s: 20 if at_s < 0 else 80
    of_half_seconds: list[int] = field(default_factory=lambda: [1_000_000] * 40)
    """Bytes that the load's receiver took in."""
    client_ns: int = 0
    server_ns: int = 0
    """How far their clocks are off."""
    opened_s: float = 0.25
    """How long before the first phase the first request was due."""
    a_record: int = 100
    """Round trips that a record has."""
    asked: list[Asked] = field(default_factory=list)

    def load_ns(self) -> int:
        """When the load begins by the client's clock; what is asked first has it by its own."""
        end, start_ns = next((end, k["start_ns"]) for end, _, k in self.asked if "start_ns" in k)
        return int(start_ns) - (self.server_ns - self.client_ns if end == "server" else 0)

    def told(self, keys: dict[str, Any]) -> list[dict[str, Any]]:
        """As a probe does: those that come back first are told first."""
        if "trips" not in keys:
            return []
        connects = keys["kind"] == "connect"
        times = self.connections if connects else self.trips
        rate, opened_ns = (
            float(keys["message_rate"]),
            self.load_ns() - round((2 + self.opened_s) * S),
        )
        count = math.ceil(float(keys["seconds"]) * rate)
        arrivals = []
        for number in range(count):
            at_us = round(1e6 * number / rate)
            ms = times(at_us / 1e6 - 2 - self.opened_s)
            arrivals.append((at_us + (3000 if ms is None else ms) * 1000, at_us, ms))
        arrivals.sort()
        return [
            {
                "type": "trips",
                "window_open_ns": opened_ns,
                "trip_at_us": [at for _, at, ms in batch if ms is not None],
                "trip_ns": [ms * MS for _, _, ms in batch if ms is not None],
                "lost_trip_at_us": [at for _, at, ms in batch if ms is None],
            }
            for batch in (arrivals[i : i + self.a_record] for i in range(0, count, self.a_record))
        ]

    def answer(self, verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        more: dict[str, Any] = {}
        if verb == "receive":
            more = {
                "interval_ns": 100 * MS,
                "interval_bytes": [half // 5 for half in self.of_half_seconds for _ in range(5)],
                "elapsed_ns": len(self.of_half_seconds) * 500 * MS,
            }
        if verb == "send":
            more = {
                "first_send_ns": keys["window_open_ns"],
                "last_send_ns": keys["window_close_ns"] + 1 * MS,
                "tcp_series_time_us": [100_000 * number for number in range(200)],
                "tcp_series_rtt_us": [100_000] * 200,
            }
        return {"type": "result", **RESULT[verb], **more}

    def run(
        self,
        server: dict[str, Any] | None = None,
        client: dict[str, Any] | None = None,
        *,
        within: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Record:
        setup = LatencyUnderLoad(**{"duration_s": 20.0, "idle_s": 2.0, "after_s": 2.0} | settings)
        trial = Trial(Cell(pairing="LL", test="latency_under_load", setup=setup), 1)
        fake_keys: dict[str, Any] = {"answer": self.answer, "told": self.told}
        record, _, _ = run_with(
            measure,
            trial,
            asked=self.asked,
            server={**fake_keys, "offset_ns": self.server_ns, **(server or {})},
            client={**fake_keys, "offset_ns": self.client_ns, **(client or {})},
            **(within or {}),
        )
        return record

    def of(self, verb: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (end, k)
            for end, request_verb, k in self.asked
            if request_verb == verb and k["kind"] == kind
        ]
