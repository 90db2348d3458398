"""Latency under load: the queue on a full path, and whether the path was full.

A trial measures round trips first on the idle path, then next to a load (streams).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING

from netlab.ethernet import Link
from netlab.findings.evidence import ceiling_of
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.series import group_of, varying
from netlab.findings.tcp_series import OF_BASE, STANDING_US
from netlab.findings.trial_words import in_trials
from netlab.store.plan import PlannedCell
from netlab.trial.record import FLOWS, Record, Status

if TYPE_CHECKING:
    from netlab.results.run import Run

TEST = "latency_under_load"

FULL = 0.9
"""Minimum share of the wire ceiling (the highest payload rate of the link) for a path to count as
full."""

LEAST_LOST, TIMES_IDLE = 5, 10
"""Two minimums for the finding that requests were lost under load: the number of requests lost
under load, and the ratio of two loss shares (under load, to before the load)."""

TrialEvidence = Mapping[str, float | None]
TrialRule = Callable[[Record, Link | None], TrialEvidence | None]
"""Takes the record of a trial and the stated link. Returns the trial's figures if the rule holds,
otherwise ``None``."""


def under_load(run: Run) -> Iterator[Finding]:
    """Findings about latency under load, one per cell and kind."""
    trials: dict[str, list[Record]] = {}
    for cell, _, record in run.stored.trials():
        if cell.test == TEST and record is not None and record.status is Status.OK:
            trials.setdefault(cell.key, []).append(record)
    conditions = varying(run.plan.cells)
    for cell in run.plan.cells:
        if cell.key in trials:
            names = conditions[cell.test, str(cell.settings.get("protocol", ""))]
            yield from _of_cell(cell, names, trials[cell.key], run.plan.link)


def _of_cell(
    cell: PlannedCell, conditions: tuple[str, ...], records: list[Record], link: Link | None
) -> Iterator[Finding]:
    for kind, rule in _RULES.items():
        record_evidence = [
            (record, evidence) for record in records if (evidence := rule(record, link)) is not None
        ]
        if 2 * len(record_evidence) <= len(records):
            continue
        names = dict.fromkeys(name for _, evidence in record_evidence for name in evidence)
        figures: dict[str, float | None] = {name: _middle(name, record_evidence) for name in names}
        figures |= {"trials": len(record_evidence), "of_trials": len(records)}
        yield finding(
            kind,
            group_of(cell, "", conditions),
            (cell.key,),
            figures,
            in_trials(len(record_evidence), len(records)),
            tuple((record.cell, record.trial) for record, _ in record_evidence),
        )


def _middle(name: str, record_evidence: list[tuple[Record, TrialEvidence]]) -> float | None:
    values = [value for _, evidence in record_evidence if (value := evidence.get(name)) is not None]
    return median(values) if values else None


def _below_path(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _share(record, link)
    if share is None or share >= FULL or _stands(record) or "increase_ns" not in record.values:
        return None
    best = max(_throughputs(record).values())
    return {"throughput_bit_per_s": best, "load_share": share}


def _standing(record: Record, _link: Link | None) -> TrialEvidence | None:
    if not _stands(record):
        return None
    increase_ns, rates = record.number("increase_ns"), _throughputs(record)
    queue_bytes = None
    if increase_ns is not None and len(rates) == 1:
        queue_bytes = 1024 * round(increase_ns / 1e9 * sum(rates.values()) / 8 / 1024)
    return _medians(record) | {"queue_bytes": queue_bytes or None}


def _not_standing(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _share(record, link)
    if share is None or share < FULL or _stands(record) or "increase_ns" not in record.values:
        return None
    return _medians(record)


def _lost(record: Record, _link: Link | None) -> TrialEvidence | None:
    lost_requests, requests, lost_idle, requests_idle = (
        record.number(f"{phase}_{name}")
        for phase in ("loaded", "idle")
        for name in ("lost_messages", "rtt_count")
    )
    if not lost_requests or not requests or not requests_idle or lost_requests < LEAST_LOST:
        return None
    if lost_requests / requests < TIMES_IDLE * (lost_idle or 0) / requests_idle:
        return None
    return {
        "lost_requests": lost_requests,
        "requests": requests,
        "lost_requests_share": lost_requests / requests,
        "idle_lost_requests": lost_idle,
        "idle_requests": requests_idle,
    }


_RULES: Mapping[Kind, TrialRule] = {
    Kind.QUEUE_UNDER_LOAD_NOT_FULL: _below_path,
    Kind.QUEUE_UNDER_LOAD_STANDING: _standing,
    Kind.QUEUE_UNDER_LOAD_NONE: _not_standing,
    Kind.REQUESTS_LOST_UNDER_LOAD: _lost,
}


def _medians(record: Record) -> dict[str, float | None]:
    return {
        "idle_rtt_ns": record.number("idle_rtt_p50_ns"),
        "loaded_rtt_ns": record.number("loaded_rtt_p50_ns"),
        "loaded_p99_ns": record.number("loaded_rtt_p99_ns"),
    }


def _stands(record: Record) -> bool:
    increase_ns = record.number("increase_ns")
    idle_ns = record.number("idle_rtt_p50_ns")
    if increase_ns is None or idle_ns is None:
        return False
    return increase_ns >= max(1000 * STANDING_US, OF_BASE * idle_ns)


def _throughputs(record: Record) -> dict[str, float]:
    """Prefix of a direction's values → the throughput of the load in this direction, in bit/s."""
    rates = {prefix: record.number(f"{prefix}throughput_bit_per_s") for prefix in FLOWS}
    return {prefix: rate for prefix, rate in rates.items() if rate is not None}


def _share(record: Record, link: Link | None) -> float | None:
    """The share of the wire ceiling that the load reaches; the larger share if the load has two
    directions. ``None`` if no share is known.
    """
    shares = []
    for prefix, rate in _throughputs(record).items():
        ceiling = ceiling_of(record.settings, record.values, prefix, link)
        if ceiling:
            shares.append(rate / ceiling)
    return max(shares, default=None)
