"""Reads recorded runs and what was planted in them, for a score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from benchmarks.truths.answers import Claim, SaidAnswer
from benchmarks.truths.draw import wanted_from_json
from benchmarks.truths.one_run import MOST_STOLEN, TRUTH
from benchmarks.truths.score import Said, Truth
from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Finding, Kind, leading_kinds
from netlab.report import Report
from netlab.report.answer import AnswerRow, way_of
from netlab.report.language import Wording
from netlab.report.text.findings import RunIndex, sentence
from netlab.trial.column import THROUGHPUTS
from netlab.trial.record import Record, grouped

RATE = "_bit_per_s"
OTHERS: Mapping[str, tuple[str, ...]] = {
    "line rate": ("search-limit/line-rate",),
    "device": tuple(f"search-limit/{value}" for value in ("device", "queue", "bit-rate")),
    "generator-bound": ("search-limit/sender",),
    "receiver-bound": ("search-limit/receiver",),
    "failed": ("search-limit/none",),
    "pauses without data": ("interruption/final",),
    "pauses of a host’s process": ("host-delay/process",),
    "a slow host": ("mesh-limit/host",),
    "a slow pair of hosts": ("mesh-limit/pair",),
    "a slow mesh": ("mesh-limit/mesh",),
}
"""Words of a limit that is the ``limit`` of no kind → the kinds of findings that say the same."""
BY_WORDS = grouped((kind for kind in Kind if kind.limit is not None), lambda kind: str(kind.limit))
LIMITS: Mapping[str, Sequence[str]] = {**OTHERS, **BY_WORDS}
"""Words of a limit in an answer → the kinds of findings that they may stand for."""
WANTED = ("name", "like", "parts", "tests", "seed")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One complete run: what was planted, what was found, and the answer."""

    truth: Truth
    statements: tuple[Said, ...]
    answer: SaidAnswer


def recorded(into: Path) -> list[Recorded]:
    """Every complete run by the current rules, in the order of their names."""
    paths = sorted(into.glob(f"*/{TRUTH}"))
    return [_recorded(path) for path in paths]


def _recorded(path: Path) -> Recorded:
    run = load(path.parent)
    return Recorded(truth_of(path), said_of(run), answer_said(run))


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


def said_of(run: Analysis) -> tuple[Said, ...]:
    """The findings of a run."""
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


# ---- the answer ----------------------------------------------------------------------------------


def answer_said(run: Analysis) -> SaidAnswer:
    """What the answer of a run says of limits, and how a terminal shows it."""
    report = Report(run, Wording())
    answer, claims = report.answer, list[Claim]()
    for shown in answer.tables:
        if shown.test == "throughput_search" or shown.quantity == THROUGHPUTS[""].name:
            claims += [claim for row in shown.rows for claim in claims_of(row)]
    places = [place for shown in answer.tables for row in shown.rows for place in row.places]
    for line in answer.verdicts:
        words = line.sentence.rpartition(": ")[2]
        # The limit in a verdict is that of the lowest cell, the first one.
        lowest = [place for place in places if place.cell == line.cells[0]]
        if lowest and (kinds := kinds_of(words)):
            names = _names_of((place.trials[0], place.flow) for place in lowest)
            claims.append(Claim(words, kinds, names=names, ceiling_share=lowest[0].share))
    # The warnings of an answer are in this order, see ``doubts``.
    leading = leading_kinds(run.findings)
    warned = [kind for kind in leading if kind.severity == "warning" and kind.limit is None]
    kept = frozenset(map(str, warned[: len(answer.warnings)]))
    return SaidAnswer(tuple(claims), kept, report.overview_text())


def kinds_of(words: str) -> frozenset[str]:
    """The kinds of findings that these words name as a limit, such as ``device (router: CPU 1, 99
    %)``; empty if they name none.
    """
    return frozenset(LIMITS.get(words.partition(" (")[0], ()))


def claims_of(row: AnswerRow) -> Iterator[Claim]:
    """What a row says of its limit, or of each of several limits that it names.

    Raises ValueError if it names a limit that is not among ``LIMITS``.
    """
    limit, share = row.limit, row.share
    names = _names_of((place.trials[0], place.flow) for place in row.places)
    why, _colon, remedy = limit.advice.partition(": ")
    several = (limit.words if limit.known else why).split("; ")
    if limit.known or all(map(kinds_of, several)):
        for words in several:
            if not (kinds := kinds_of(words)):
                raise ValueError(f"the limit {words!r} is none of a finding: add it to OTHERS")
            # The mean of a row does not tell which of several limits lowers it.
            alone = len(several) == 1
            yield Claim(words, kinds, names=names, ceiling_share=share if alone else None)
        return
    yield Claim(str(limit.words), why=why, remedy=remedy, names=names, ceiling_share=share)


def _names_of(flows: Iterable[tuple[Record, str]]) -> frozenset[str]:
    """The pairings of some trials with their flow, their hosts, and the receivers of the data."""
    names = set[str]()
    for record, flow in flows:
        receiver = way_of(record, flow).rpartition(" to ")[2]
        names |= {record.pairing, *record.pairing.split("+"), f"to {receiver}"}
    return frozenset(names)
