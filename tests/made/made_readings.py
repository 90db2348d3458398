"""Cells and records of every kind of test made up for the tests of the report."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from made_histograms import of_values, to_pairs

from netlab.ethernet import Link
from netlab.kinds import FIELDS, SETUPS
from netlab.store.plan import Plan, PlannedCell
from netlab.trial.record import Record, Status, Value

MATRIX = """\
title: made up
link: {rate: 100Mbit, mtu: 1500}
pairings: [LL]
compare:
  - name: A mirror that never sleeps
    baseline: {server_receive: blocking}
    contender: {server_receive: spinning}
tests:
  - {test: round_trip, protocol: UDP, message_size: 18}
"""


def planned(test: str, pairing: str = "LL", **settings: Any) -> PlannedCell:
    """A cell with the settings of a matrix: defaults and all."""
    defaults = {"message_bytes": 18} if "message_bytes" in FIELDS[test] else {}
    cell_settings = SETUPS[test](**{"protocol": "UDP", **defaults, **settings}).settings()
    label = "-".join(str(value) for value in settings.values())
    return PlannedCell(f"{pairing}-{test}-{label}", pairing, test, cell_settings)


def result(cell: PlannedCell, trial: int, values: Mapping[str, Value], **keys: Any) -> Record:
    """A record; the trials of a cell begin a minute after each other."""
    return Record(
        **{
            "cell": cell.key,
            "trial": trial,
            "attempt": 1,
            "status": Status.OK,
            "pairing": cell.pairing,
            "server": "alpha",
            "client": "beta",
            "test": cell.test,
            "started_at": f"2026-01-31T12:{trial:02}:00.000000Z",
            "settings": cell.settings,
            "values": dict(values),
            **keys,
        }
    )


def failure(cell: PlannedCell, trial: int = 1, reason: str = "no-answer", **keys: Any) -> Record:
    return result(cell, trial, {}, status=Status.FAILED, reason=reason, **keys)


def of_round_trips(values_ns: Sequence[int], **more: Value) -> dict[str, Value]:
    """What a record says of these round trips, one after the other."""
    total = sum(values_ns)
    return {
        "transactions": len(values_ns),
        "transactions_per_s": len(values_ns) * 1e9 / total,
        "elapsed_ns": total,
        "lost_messages": 0,
        "rtt_count": len(values_ns),
        "rtt_min_ns": min(values_ns),
        "rtt_max_ns": max(values_ns),
        "rtt_sum_ns": total,
        "rtt_mean_ns": total / len(values_ns),
        "rtt_histogram": to_pairs(of_values(values_ns)),
        "rtt_histogram_bits": 7,
        "same_host": False,
        "client_user_ns": 12_000_000,
        "client_system_ns": 345_000_000,
        **more,
    }


def drawn_ns(n: int, median_us: float, seed: int) -> list[int]:
    """Times as stacks have them: most close together, a few much longer."""
    rng = random.Random(seed)  # noqa: S311  (no secret)
    return [
        round(1e3 * median_us * (math.exp(rng.gauss(0, 0.05)) + 0.02 * rng.paretovariate(1.6)))
        for _ in range(n)
    ]


def round_trip_run(trials: int = 5) -> tuple[Plan, list[Record]]:
    """Short and long messages to a blocking and a spinning mirror, the stack timed."""
    cells = [
        planned("round_trip", message_bytes=size, server_receive=receive, count=n, duration_s=None)
        for size, n in ((18, 12_000), (1472, 1_200))
        for receive in ("blocking", "spinning")
    ]
    cells = [
        PlannedCell(c.key, c.pairing, c.test, {**c.settings, "stack_time": True}) for c in cells
    ]
    ratio = {18: 1 / 1.2, 1472: 1 / 2.0}
    records = []
    for index, cell in enumerate(cells):
        size, receive = cell.settings["message_bytes"], cell.settings["server_receive"]
        for trial in range(1, trials + 1):
            factor = ratio[int(str(size))] if receive == "spinning" else 1.0
            median = (90 if size == 18 else 660) * factor * (1 + 0.004 * trial)
            values = drawn_ns(int(str(cell.settings["count"])), median, 100 * index + trial)
            stack: dict[str, Value] = {
                "stack_timed": True,
                "server_stack_mean_ns": 8000 + 10 * trial,
                "server_stack_histogram": to_pairs(of_values([8000] * len(values))),
                "server_stack_histogram_bits": 7,
                "server_stack_stamps": "software",
            }
            records.append(result(cell, trial, of_round_trips(values, **stack)))
    return plan_of(cells, trials), records


def payload_run() -> tuple[Plan, list[Record]]:
    """A search over UDP with its sweep, on a path of MTU 1500 at 100 Mbit/s."""
    cell = planned("payload_search", sweep=True)
    tcp_cell = planned("payload_search", protocol="TCP")
    sizes = [368, 736, 1104, 1470, 1471, 1472, 1473, 1474, 1840, 2208, 2576, 2943, 2944, 2945]
    frames = [1 if size <= 1472 else 2 if size <= 2952 else 3 for size in sizes]
    rates = [0.998e8 * s / (s + 66 * f - 8 * (f - 1)) for s, f in zip(sizes, frames, strict=True)]
    values: dict[str, Value] = {
        "payload_bytes": 1472,
        "path_mtu_bytes": 1500,
        "path_mtu_evidence": "emsgsize",
        "interface_mtu_bytes": 1500,
        "probed_message_bytes": [1472, 1473],
        "probed_passed": [1, 0],
        "to_client_payload_bytes": 1472,
        "to_client_path_mtu_bytes": 1500,
        "to_client_path_mtu_evidence": "timeout",
        "sweep_message_bytes": sizes,
        "sweep_throughput_bit_per_s": rates,
        "same_host": False,
    }
    records = [result(cell, 1, values), failure(tcp_cell, reason="unreachable")]
    return plan_of([cell, tcp_cell], 1), records


def plan_of(cells: Sequence[PlannedCell], trials: int, **keys: Any) -> Plan:
    fields: dict[str, Any] = {
        "title": "made up",
        "content": {},
        "content_hash": "0" * 64,
        "matrix_text": MATRIX,
        "link": Link(1e8, 1500),
        "repeats": trials,
        **keys,
    }
    return Plan(cells=tuple(cells), **fields)
