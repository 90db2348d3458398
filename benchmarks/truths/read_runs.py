"""Reads recorded runs and what was planted in them, for a score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path

from benchmarks.truths.draw import wanted_from_json
from benchmarks.truths.one_run import MOST_STOLEN, TRUTH
from benchmarks.truths.score import Said, Truth
from netlab.findings.analysis import load
from netlab.findings.finding import Finding, Kind, leading_kinds
from netlab.report.text.findings import RunIndex, sentence

RATE = "_bit_per_s"
WANTED = ("name", "like", "parts", "tests", "seed")


def recorded(into: Path) -> list[tuple[Truth, tuple[Said, ...]]]:
    """What was planted and what was found in every complete run, in the order of their names."""
    paths = sorted(into.glob(f"*/{TRUTH}"))
    return [(truth_of(path), said_of(path.parent)) for path in paths]


def truth_of(path: Path) -> Truth:
    """What was planted in a run, from its ``truth.json``."""
    plain = json.loads(path.read_text())
    planned_run = wanted_from_json({name: plain[name] for name in WANTED})
    return Truth(
        name=planned_run.name,
        like=planned_run.like,
        parts=planned_run.parts,
        not_planted=tuple(plain["not_planted"]),
        stolen=plain["stolen_share"] > MOST_STOLEN,
        alone=plain["alone"],
        failed=plain["failed"],
    )


def said_of(folder: Path) -> tuple[Said, ...]:
    """The findings of a run folder by the current rules."""
    run = load(folder)
    index = RunIndex(run)
    places = {kind: place for place, kind in enumerate(leading_kinds(run.findings))}
    pairings = {cell.key: cell.pairing for cell in run.plan.cells}
    statements = []
    for finding in run.findings:
        of_cells = {pairings[cell] for cell in finding.cells if cell in pairings}
        # A finding about cells of several pairings names no pairing: it is about a host, for
        # instance.
        names = of_cells if len(of_cells) == 1 else set()
        statements.append(_said(finding, names, places, index))
    return tuple(statements)


def _said(
    finding: Finding, pairings: Set[str], places: Mapping[Kind, int], index: RunIndex
) -> Said:
    kind, group = finding.kind, finding.group
    names = {group.host, group.pairing, *pairings, *finding.words.values()} - {""}
    return Said(
        kind=str(kind),
        severity=kind.severity,
        explains=kind.limit is not None and kind.explains,
        leads=kind.leads,
        rank=places.get(kind, len(places)),
        names=frozenset(names),
        rates_bit_per_s=tuple(v for name, v in finding.evidence.items() if name.endswith(RATE)),
        sentence=str(sentence(finding, index)),
    )
