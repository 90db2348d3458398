"""What a path loses, repeats and lets be overtaken is counted as it was, each way by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
from fault_runs import wrong_ok
from labs import first_itself
from made_parts import made_run
from made_runs import made_plan
from paths import Path as Between
from paths import hosts_on, record_of
from relay import relaying

from netlab.experiment.kinds import Stream
from netlab.experiment.records import Record, Status
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.measurement.ends import Ends
from netlab.store.plan import PlannedCell

pytestmark = [pytest.mark.alone, pytest.mark.needs("namespaces")]

MESSAGE_BYTES, RATE_PER_S = 500, 400.0
SETUP = Stream(
    protocol="UDP",
    message_bytes=MESSAGE_BYTES,
    duration_s=1.0,
    message_rate_per_s=RATE_PER_S,
    direction="both",
)
SHARES = {
    "client": {"loss": 0.1, "repeat": 0.05, "delay": 0.05},
    "server": {"loss": 0.01, "repeat": 0.1, "delay": 0.02},
}
FLOWS = {"client": "to_server_", "server": "to_client_"}
"""Interface of the relay → the flow that comes in by it."""
COUNTS = {
    "lost": "lost_messages",
    "repeated": "duplicate_messages",
    "overtaken": "reordered_messages",
}


def test_the_counters_are_the_relays_own_and_the_loss_is_the_paths(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = SystemRandom().randrange(1 << 32)
    record_property("seed", seed)
    with first_itself(), hosts_on(Between(relay=True)) as ends:
        clean, relay_counts = _run(ends, tmp_path, seed, {"client": {}, "server": {}})
        assert relay_counts["missed"] == 0
        (record,) = clean.latest.values()
        assert all(
            record.values[flow + name] == 0 for flow in FLOWS.values() for name in COUNTS.values()
        )
        assert not [finding for finding in clean.findings if finding.kind.startswith("lost")]
        faulty, relay_counts = _run(ends, tmp_path, seed, SHARES)
    assert relay_counts["missed"] == 0
    (record,) = faulty.latest.values()
    counts = {
        way: {fate: record.values[flow + name] for fate, name in COUNTS.items()}
        for way, flow in FLOWS.items()
    }
    assert counts == {way: {fate: relay_counts[way][fate] for fate in COUNTS} for way in FLOWS}
    assert all(relay_counts[way]["lost"] and relay_counts[way]["repeated"] for way in FLOWS)
    for way, flow in FLOWS.items():
        assert record.values[f"{flow}sent_messages"] == relay_counts[way]["data"]
        received = record.values[f"{flow}receiver_total_messages"]
        assert received == relay_counts[way]["data"] - relay_counts[way]["lost"]
    placed = {
        finding.group.flow: finding.kind for finding in faulty.findings if "lost" in finding.kind
    }
    assert placed == {"to server": Kind.LOST_ON_PATH, "to client": Kind.LOST_ON_PATH}
    assert wrong_ok(clean, faulty) == []
    words = ", ".join(f"{way}: {relay_counts[way]}" for way in FLOWS)
    record_property("figure", f"6 of 6 counters the relay's own ({words})")


def _run(
    ends: Ends, folder: Path, seed: int, shares: dict[str, dict[str, float]]
) -> tuple[Analysis, dict[str, Any]]:
    namespace = f"netlab-test-{os.getpid()}-router"
    with relaying(namespace, MESSAGE_BYTES, seed, **shares) as relay_counts:
        record = record_of("stream", SETUP, ends)
    assert record.status is Status.OK, record.detail
    return _analysis(record, folder), relay_counts


def _analysis(record: Record, folder: Path) -> Analysis:
    cell = PlannedCell(record.cell, record.pairing, record.test, dict(record.settings))
    return made_run(folder, made_plan(cells=(cell,), repeats=1), [record])
