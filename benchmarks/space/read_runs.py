"""Reads measured runs, what was planted in them, and what their findings claim."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.space.draw import Planned, planned_from_json
from benchmarks.space.evidence import (
    CONTROL,
    COUNTED,
    RUN,
    affected,
    costs_of,
    costs_of_trials,
    planter_of,
)
from benchmarks.space.score import Judged, Part, Statement, Truth, judge
from benchmarks.space.words import Words
from benchmarks.truths.one_run import MOST_STOLEN, TRUTH
from netlab.errors import NetlabError
from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import leading_kinds
from netlab.report.text.findings import RunIndex, sentence

WANTED = ("name", "kind", "parts", "stand", "seed")


def judged_runs(into: Path, unknown: str = "") -> list[Judged]:
    """Every complete run by the present rules, in the order of their names.

    ``unknown``: only the runs with a cause of this thing, without the findings that claim it: what
    the other rules say of a cause that they do not know.
    """
    judgements = [_judged(path, unknown) for path in sorted(into.glob(f"*/{TRUTH}"))]
    return [
        each
        for each in judgements
        if not unknown or any(part.what == unknown for part in each.truth.planned.parts)
    ]


def _judged(path: Path, unknown: str) -> Judged:
    run = _loaded(path.parent / RUN)
    control = _loaded(path.parent / CONTROL)
    said, before = (
        [it for it in statements_of(each) if it.claim is None or it.claim.what != (unknown or None)]
        for each in (run, control)
    )
    return judge(truth_of(path, run, control), said, before)


def _loaded(folder: Path) -> Analysis | None:
    """A run; ``None`` if there is none, or it failed before it began."""
    try:
        return load(folder) if folder.exists() else None
    except NetlabError:
        return None


def truth_of(path: Path, run: Analysis | None, control: Analysis | None = None) -> Truth:
    """What was planted in a run, from its ``truth.json``, and what one cause costs each cell."""
    plain = json.loads(path.read_text("utf-8"))
    planned = planned_from_json({name: plain[name] for name in WANTED})
    evidence: Sequence[dict[str, Any]] = plain["evidence"]
    parts = tuple(_part(words, seen) for words, seen in zip(planned.parts, evidence, strict=False))
    if run is not None and control is not None:
        parts = tuple(_with_costs(planned, part, run, control) for part in parts)
    if len(parts) < len(planned.parts):  # it failed before anything was planted
        parts = tuple(Part(words, frozenset(), (), acted=False) for words in planned.parts)
    cells = frozenset() if run is None else frozenset(cell.key for cell in run.plan.cells)
    stolen = plain["stolen_share"] > MOST_STOLEN
    return Truth(planned, cells, parts, stolen=stolen, failed=plain["failed"])


def _part(words: Words, seen: Mapping[str, Any]) -> Part:
    """A cause by its evidence. That of older runs has no counts of its cells."""
    counts = _of_packets(words, seen.get("counts", {}))
    # The share of the whole run is that of no cell.
    shares = [share for name, share in seen["shares"].items() if name != "counted" or not counts]
    return Part(
        words,
        frozenset(seen["cells"]),
        tuple(shares),
        acted=seen["acted"],
        also=frozenset(seen.get("also", ())),
        counts=counts,
    )


def _of_packets(
    words: Words, counts: Mapping[str, Mapping[str, int]]
) -> Mapping[str, Mapping[str, int]]:
    """The counts, if how much is a share of packets."""
    if words.what in COUNTED or planter_of(words) == "queue":
        return counts
    if words.what == "pause":  # the share of the packets that it held, if they come evenly
        of_udp = {cell: its for cell, its in counts.items() if "-stream-udp-" in cell}
        return {cell: {**its, "active": 0} for cell, its in of_udp.items()}
    if (words.what, words.which) == ("rate", "acknowledgements"):  # each says what the last one did
        return {cell: {**its, "acted": its["dropped"]} for cell, its in counts.items()}
    return {}


def _with_costs(planned: Planned, part: Part, run: Analysis, control: Analysis) -> Part:
    """The cause with what it costs each cell; in which it costs nothing, it need not be named."""
    costs = costs_of(planned, part.words, sorted(part.present), run, control)
    cells = frozenset(affected(planned, part.words, sorted(part.present), costs))
    single: dict[tuple[str, int], float] = {}
    if len(planned.parts) > 1:
        costs = {}  # they are those of both causes
    else:
        single = costs_of_trials(sorted(part.present), run, control)
    also = part.present - cells
    return replace(part, cells=cells, also=also, costs=costs, costs_of_trials=single)


def statements_of(run: Analysis | None) -> tuple[Statement, ...]:
    """The findings of a run with what they claim."""
    if run is None:
        return ()
    index = RunIndex(run)
    places = {kind: place for place, kind in enumerate(leading_kinds(run.findings))}
    return tuple(
        Statement(
            kind=str(finding.kind),
            severity=finding.severity,
            claim=finding.claim,
            cells=frozenset(finding.cells),
            trials=frozenset(finding.trials),
            rank=places.get(finding.kind, len(places)),
            sentence=str(sentence(finding, index)),
        )
        for finding in run.findings
    )
