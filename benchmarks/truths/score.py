"""Computes precision and recall from what was planted and what netlab found. No I/O.

Runs are counted, not cells, because the cells of a run are not independent. A *claim* is a finding
that names a cause: every warning, every limit that explains a throughput, and every note that the
row of a cause names. A claim that is not true of the run is wrong, even if the right claim is there
too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.truths.causes import Cause, Strength
from benchmarks.truths.draw import Part

NO_CLAIMS = frozenset(
    {
        *("virtual-machine", "power-saving", "other-load", "wire-ceiling", "not-determined"),
        *(
            "socket-buffer/same",
            "socket-buffer/no-effect",
            "socket-buffer/doubled",
            "fragmented",
            "cannot-tell",
        ),
        *("loss/socket", "loss/unknown", "fewer-cells", "no-result/cells", "sent-again"),
        *("no-timestamps", "interruption/earlier", "small-mss"),
        *("delivery/reordered", "delivery/copied", "delivery/twice"),
    }
)
"""Findings that are true whatever is planted, or that state that something is unknown."""
CLEAN = "clean"
"""What figures call the runs with nothing planted."""
RATE_WITHIN = 0.02
NEARLY_AS_LARGE = 1.5
"""If the costs of two causes differ by at most this factor, either cause may be named first."""


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of one finding that the score uses."""

    kind: str
    severity: str
    explains: bool
    """Whether it is a limit that explains why a cell is below its ceiling."""
    leads: bool
    rank: int
    """The place of its kind among those with which a report begins."""
    names: frozenset[str] = frozenset()
    """Hosts and pairings that it is about."""
    rates_bit_per_s: tuple[float, ...] = ()
    """Rates among its evidence."""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """The causes planted in one run, and their outcome."""

    name: str
    like: str
    parts: tuple[Part, ...]
    not_planted: tuple[str, ...] = ()
    """Causes whose effect another tool did not confirm. If there is any, the run does not count."""
    alone: Mapping[str, float] | None = None
    """For a mixture: the cost of each cause alone."""
    stolen: bool = False
    """Whether CPU time was stolen in every attempt. Then the run does not count."""
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of one run, compared with what was planted."""

    truth: Truth
    stated: frozenset[str]
    """All kinds that were found, also those that are no claims."""
    right: frozenset[str]
    """Expected kinds that were found and that name the right host or pairing."""
    missed: tuple[str, ...]
    """Causes without an expected finding."""
    wrong: tuple[Said, ...]
    first: bool | None = None
    """For a mixture: whether the larger cause came first."""


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of`` runs, with Wilson's interval."""

    count: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.count, self.of)

    def __str__(self) -> str:
        if not self.of:
            return "-"
        low, high = self.interval
        return f"{self.count}/{self.of} ({100 * low:.1f} to {100 * high:.1f} %)"


def wilson(count: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927), 95 %; 0 to 1 if ``of`` is
    0.
    """
    if of == 0:
        return 0.0, 1.0
    share = count / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def claims(statements: Iterable[Said], causes: Mapping[str, Cause]) -> list[Said]:
    """The findings that are claims: see the module's docstring."""
    of_rows = {kind for cause in causes.values() for kind in (*cause.expected, *cause.also)}
    return [
        statement
        for statement in statements
        if statement.kind not in NO_CLAIMS
        and (statement.severity == "warning" or statement.explains or statement.kind in of_rows)
    ]


def judge(truth: Truth, statements: Sequence[Said], causes: Mapping[str, Cause]) -> Judged:
    """Find what is right, what was missed and what is wrong in the findings of a run."""
    parts = [(part, causes[part.cause]) for part in truth.parts]
    true = set(causes[truth.like].experiment.anyway)
    denied: set[str] = set()
    for part, cause in parts:
        true |= {*cause.expected, *cause.also}
        # With a cost of 2 %, throughput may still be close enough to count as limited by the wire.
        denied |= cause.denied if part.strength != "just" else set()
    wrong = [claim for claim in claims(statements, causes) if claim.kind not in true]
    wrong += [
        statement for statement in statements if statement.kind in denied and statement not in wrong
    ]
    right: set[str] = set()
    missed = []
    for part, cause in parts:
        of_it = [statement for statement in statements if statement.kind in cause.expected]
        good = [statement for statement in of_it if _is_of(statement, cause, part)]
        right |= {statement.kind for statement in good}
        if cause.expected and not good:
            missed.append(cause.name)
        if len(parts) == 1:
            misattributions = [statement for statement in of_it if _names_others(statement, cause)]
            wrong += [statement for statement in misattributions if statement not in wrong]
            if of_it and not good:
                wrong += [statement for statement in of_it if statement not in wrong]
    first = _first(truth, statements, causes) if len(parts) > 1 else None
    stated = frozenset(statement.kind for statement in statements)
    return Judged(truth, stated, frozenset(right), tuple(missed), tuple(wrong), first)


def _is_of(statement: Said, cause: Cause, part: Part) -> bool:
    """Whether a finding names the right host or pairing, and the planted rate."""
    if cause.about and not set(cause.about) & _places(statement):
        return False
    if cause.rate_of is None or not statement.rates_bit_per_s:
        return True
    rate = cause.rate_of(part.dial)
    return any(
        abs(stated_rate / rate - 1) <= RATE_WITHIN for stated_rate in statement.rates_bit_per_s
    )


def _names_others(statement: Said, cause: Cause) -> bool:
    """Whether a finding names only hosts or pairings without a planted cause."""
    return bool(cause.about) and not set(cause.about) & _places(statement)


def _places(statement: Said) -> set[str]:
    """The hosts and pairings that a finding names, and the hosts of these pairings."""
    return {*statement.names, *(host for name in statement.names for host in name.split("+"))}


def _first(truth: Truth, statements: Sequence[Said], causes: Mapping[str, Cause]) -> bool:
    """Whether the first claim is about the larger cause, or about either of two nearly equal
    causes.
    """
    ranking = sorted(
        claims(statements, causes), key=lambda claim: (claim.severity != "warning", claim.rank)
    )
    leading = [claim for claim in ranking if claim.leads]
    if not leading:
        return False
    costs = sorted((truth.alone or {}).items(), key=lambda pair: -pair[1])
    largest = costs[0][1]
    able = [name for name, cost in costs if cost > 0 and largest / cost <= NEARLY_AS_LARGE]
    able = able or [costs[0][0]]
    return any(leading[0].kind in causes[name].expected for name in able)


# ---- tables --------------------------------------------------------------------------------------


def counted(judgements: Iterable[Judged]) -> list[Judged]:
    """The runs that count: another tool confirmed the cause, and no hypervisor took CPU time."""
    return [
        judgement
        for judgement in judgements
        if not (judgement.truth.not_planted or judgement.truth.stolen)
    ]


def of_causes(judgements: Collection[Judged], *, strength: Strength | None = None) -> list[Judged]:
    """Runs with one planted cause: at one strength, or at all strengths."""
    return [
        judgement
        for judgement in counted(judgements)
        if len(judgement.truth.parts) == 1 and strength in (None, judgement.truth.parts[0].strength)
    ]


def mixtures(judgements: Collection[Judged]) -> list[Judged]:
    return [judgement for judgement in counted(judgements) if len(judgement.truth.parts) > 1]


def clean(judgements: Collection[Judged]) -> list[Judged]:
    return [judgement for judgement in counted(judgements) if not judgement.truth.parts]


def recall(judgements: Collection[Judged], causes: Mapping[str, Cause]) -> Share:
    """The share of the runs without a missed cause, among the runs whose causes have expected
    findings.
    """
    able = [
        judgement
        for judgement in judgements
        if any(causes[p.cause].expected for p in judgement.truth.parts)
    ]
    return Share(sum(not judgement.missed for judgement in able), len(able))


def precision(judgements: Collection[Judged], kind: str | None = None) -> Share:
    """The share of right claims. The claims of one kind in one run count once; wrong ones win."""
    right = wrong = 0
    for judgement in judgements:
        kinds = {statement.kind for statement in judgement.wrong}
        right += sum(kind in (None, name) for name in judgement.right - kinds)
        wrong += sum(kind in (None, name) for name in kinds)
    return Share(right, right + wrong)


def figures(
    judgements: Collection[Judged], causes: Mapping[str, Cause], *, shared: bool = False
) -> dict[str, dict[str, Any]]:
    """Cause → what its runs had, without mixtures; clean runs are under ``clean``.

    ``best``: the first kind that the row expects, or an empty text; ``runs``: their number;
    ``kinds``: each kind that was found → three numbers of runs: in which it was stated at all
    (``stated``), in which it was right as an expected one (``right``), and in which it was wrong
    (``wrong``; then not right).

    ``shared``: the machine had other work, which is a cause too and was not planted. Then there
    are no clean runs, no ``best``, and only what was stated of the kinds that the row names.
    """
    runs_by_cause: dict[str, list[Judged]] = {}
    for judgement in of_causes(judgements):
        runs_by_cause.setdefault(judgement.truth.parts[0].cause, []).append(judgement)
    rows = {
        name: _row(runs_by_cause[name], (*causes[name].expected, "")[0])
        for name in sorted(runs_by_cause)
    }
    if shared:
        return {name: _stated(row, causes[name]) for name, row in rows.items()}
    clean_runs = clean(judgements)
    return rows | ({CLEAN: _row(clean_runs, "")} if clean_runs else {})


def _row(judgements: Sequence[Judged], best: str) -> dict[str, Any]:
    kinds = sorted({kind for judgement in judgements for kind in judgement.stated})
    wrong_kinds = [{statement.kind for statement in e.wrong} for e in judgements]
    runs = [*zip(judgements, wrong_kinds, strict=True)]
    return {
        "best": best,
        "runs": len(judgements),
        "kinds": {
            kind: {
                "stated": sum(kind in judgement.stated for judgement in judgements),
                "right": sum(kind in judgement.right - wrong for judgement, wrong in runs),
                "wrong": sum(kind in wrong for wrong in wrong_kinds),
            }
            for kind in kinds
        },
    }


def _stated(row: Mapping[str, Any], cause: Cause) -> dict[str, Any]:
    true_kinds = {*cause.expected, *cause.also, *cause.experiment.anyway}
    counts = {
        kind: {"stated": count["stated"] - count["wrong"], "right": 0, "wrong": 0}
        for kind, count in row["kinds"].items()
        if kind in true_kinds
    }
    return {"best": "", "runs": row["runs"], "kinds": counts}


def of_kind(judgements: Collection[Judged], causes: Mapping[str, Cause], kind: str) -> Share:
    """Recall of a kind: of the runs with a cause whose best finding is this kind, the share in
    which this kind itself is right. Another expected kind is not enough.
    """
    its = [
        judgement
        for judgement in judgements
        if any(causes[part.cause].expected[:1] == (kind,) for part in judgement.truth.parts)
    ]
    return Share(sum(kind in judgement.right for judgement in its), len(its))
