"""Importance: the order in which a report states the findings, by kind. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.findings.finding import Finding, Kind


def leading_kinds(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """The kinds that a report may state first, by their rank.

    All warnings about limits of streams take the place of the one with the lowest rank. Their own
    order is by cost, the highest first: the share of the ceiling that the limit cost, summed over
    all trials that show it.
    """
    costs: dict[Kind, float] = {}
    for finding in findings:
        if finding.kind.leads:
            cost = finding.evidence.get("costs_share", 0.0) * max(1, len(finding.trials))
            costs[finding.kind] = costs.get(finding.kind, 0.0) + cost
    first = min((kind.rank for kind in costs if _is_limit(kind)), default=0)
    return tuple(
        sorted(
            costs,
            key=lambda kind: (first, -costs[kind]) if _is_limit(kind) else (kind.rank, 0.0),
        )
    )


def _is_limit(kind: Kind) -> bool:
    return kind.limit is not None and kind.severity == "warning"
