"""Importance: which of the kinds that were found a report says first. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.findings.finding import Finding, Kind


def leading_kinds(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """Those that may be said first, by their rank. Warnings of what limits streams have one place,
    that of the first of them, and among them comes first what cost the run most: its share of the
    ceiling, over all trials that show it.
    """
    costs: dict[Kind, float] = {}
    for each in findings:
        if each.kind.leads:
            cost = each.evidence.get("costs_share", 0.0) * max(1, len(each.trials))
            costs[each.kind] = costs.get(each.kind, 0.0) + cost
    first = min((kind.rank for kind in costs if _is_limit(kind)), default=0)
    return tuple(
        sorted(
            costs,
            key=lambda kind: (first, -costs[kind]) if _is_limit(kind) else (kind.rank, 0.0),
        )
    )


def _is_limit(kind: Kind) -> bool:
    return kind.limit is not None and kind.severity == "warning"
