"""Importance: the order in which a report states the findings, by kind."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.findings.finding import Finding, Kind


def leading_kinds(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """The kinds of findings that a report may state first, the smallest ``Kind.rank`` first.

    The kinds of warnings about limits of streams stand together, at the smallest rank of any of
    them. Among themselves they are ordered by cost, the highest first. The cost of a finding is the
    median share of the wire ceiling (the highest payload rate of the link) that the limit cost,
    times the number of trials that show the limit. The cost of a kind is the sum over its findings.
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
