"""What a path loses, repeats, damages and lets be overtaken is counted as it was, in each way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from draws import seeds
from fault_runs import wrong_ok
from labs import first_itself
from made_parts import made_run
from made_runs import made_plan
from outcomes import Outcome, OutcomeOf, Seen, injects, outcome_of, record_text
from paths import Path as Between
from paths import hosts_on, record_of
from relay import relaying

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.kinds import Stream
from netlab.measurement.ends import Ends
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status, from_json

__all__ = ["outcome_of"]

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


def lose_and_repeat() -> Seen:
    (seed,) = seeds(few=1, many=1)
    with first_itself(), hosts_on(Between(relay=True)) as ends:
        clean = _trial(ends, seed, {"client": {}, "server": {}})
        faulty = _trial(ends, seed, SHARES)
        damaged = _trial(ends, seed, {"client": {"damage": 0.1}, "server": {}})
    return {"seed": seed, "clean": clean, "faulty": faulty, "damaged": damaged}


@injects("namespaces")
@pytest.mark.produces("loss/path", "delivery/reordered", "delivery/copied")
def test_loss_duplicates_and_reordering_are_counted_in_each_direction_as_the_relay_made_them(
    outcome_of: OutcomeOf, tmp_path: Path
) -> None:
    outcome = outcome_of(lose_and_repeat)
    clean, relay_counts = _trial_of(outcome, "clean", tmp_path)
    assert relay_counts["missed"] == 0
    (record,) = clean.latest.values()
    assert all(
        record.values[flow + name] == 0 for flow in FLOWS.values() for name in COUNTS.values()
    )
    assert not [finding for finding in clean.findings if finding.kind.name == "loss"]
    faulty, relay_counts = _trial_of(outcome, "faulty", tmp_path)
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
        finding.group.flow: finding.kind
        for finding in faulty.findings
        if finding.kind.name == "loss"
    }
    assert placed == {"to server": Kind.LOSS_PATH, "to client": Kind.LOSS_PATH}
    for kind, fate in ((Kind.DELIVERY_REORDERED, "overtaken"), (Kind.DELIVERY_COPIED, "repeated")):
        found = {it.group.flow: it for it in faulty.findings if it.kind is kind}
        for way, flow in {"client": "to server", "server": "to client"}.items():
            assert found[flow].evidence[kind.figures[0]] == relay_counts[way][fate]
    assert wrong_ok(clean, faulty) == []
    words = ", ".join(f"{way}: {relay_counts[way]}" for way in FLOWS)
    outcome.figure(f"6 of 6 counters the relay's own ({words})", seed=outcome["seed"])


@injects("namespaces")
@pytest.mark.produces("loss/damaged")
def test_messages_that_a_path_damaged_are_told_as_damaged_and_not_as_a_full_socket(
    outcome_of: OutcomeOf, tmp_path: Path
) -> None:
    outcome = outcome_of(lose_and_repeat)
    run, relay_counts = _trial_of(outcome, "damaged", tmp_path)
    count = relay_counts["client"]["damaged"]
    (record,) = run.latest.values()
    assert count > 0
    assert record.values["to_server_lost_messages"] == count
    assert record.values["to_server_receiver_udp_checksum_errors"] == count
    losses = [finding for finding in run.findings if finding.kind.name.startswith("loss")]
    assert {finding.group.flow for finding in losses} == {"to server"}
    (damaged,) = [finding for finding in losses if finding.kind is Kind.LOSS_DAMAGED]
    assert damaged.evidence["dropped_frames"] == count
    assert {finding.kind for finding in losses} <= {Kind.LOSS_DAMAGED, Kind.LOSS_LIMIT_DAMAGED}
    outcome.figure(f"{count} damaged messages, all told so", seed=outcome["seed"])


def _trial(ends: Ends, seed: int, shares: dict[str, dict[str, float]]) -> dict[str, Any]:
    namespace = f"netlab-test-{os.getpid()}-router"
    with relaying(namespace, MESSAGE_BYTES, seed, **shares) as relay_counts:
        record = record_of("stream", SETUP, ends)
    return {"record": record_text(record), "relay": relay_counts}


def _trial_of(outcome: Outcome, name: str, folder: Path) -> tuple[Analysis, dict[str, Any]]:
    record = from_json(outcome[name]["record"])
    assert record.status is Status.OK, record.detail
    (folder / name).mkdir()
    return _analysis(record, folder / name), outcome[name]["relay"]


def _analysis(record: Record, folder: Path) -> Analysis:
    cell = PlannedCell(record.cell, record.pairing, record.test, dict(record.settings))
    return made_run(folder, made_plan(cells=(cell,), repeats=1), [record])
