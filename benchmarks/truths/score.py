"""From truths and what was said to precision and recall. Pure.

A run is the unit: the cells of one are not independent. A *claim* is a finding that names a cause:
every warning, every limit that explains, and every note that a row of the causes expects. A claim
that is not true of the run is wrong, also beside the right one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.truths.causes import Cause, Strength
from benchmarks.truths.draw import Part

NO_CLAIMS = frozenset(
    {
        *("virtual-machine", "power-saving", "other-load", "wire-ceiling", "not-determined"),
        *("same-buffer", "buffer-no-effect", "buffer-doubled", "fragmented", "cannot-tell"),
        *("lost-in-socket", "loss-not-placed", "fewer-cells", "missing-cells", "sent-again"),
        *("no-timestamps", "measured-again"),
    }
)
"""Notes that hold whatever is planted, or say that something is not known."""
RATE_WITHIN = 0.02
NEARLY_AS_LARGE = 1.5
"""Of two causes, the larger within this factor: either may be named first."""


@dataclass(frozen=True, slots=True)
class Said:
    """One finding, as a program reads it."""

    kind: str
    severity: str
    explains: bool
    """A limit that says why a cell is below its ceiling."""
    leads: bool
    rank: int
    """Its kind's place among those that a report says first."""
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
    """Causes that another tool could not confirm: the run does not count."""
    alone: Mapping[str, float] | None = None
    """Of a mixture: the cost of each cause by itself."""
    stolen: bool = False
    """CPU time was stolen in every attempt: the run does not count."""
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One run."""

    truth: Truth
    right: frozenset[str]
    """Expected kinds that were found, about the right subject."""
    missed: tuple[str, ...]
    """Causes without an expected finding."""
    wrong: tuple[Said, ...]
    first: bool | None = None
    """Of a mixture: whether the larger cause came first."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with Wilson's interval."""

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
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927), 95 %; of none: 0 to 1."""
    if of == 0:
        return 0.0, 1.0
    share = count / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def claims(statements: Iterable[Said], causes: Mapping[str, Cause]) -> list[Said]:
    """Those that name a cause."""
    of_rows = {kind for cause in causes.values() for kind in (*cause.expected, *cause.also)}
    return [
        statement
        for statement in statements
        if statement.kind not in NO_CLAIMS
        and (statement.severity == "warning" or statement.explains or statement.kind in of_rows)
    ]


def judge(truth: Truth, statements: Sequence[Said], causes: Mapping[str, Cause]) -> Judged:
    """What was right, what was missed, what was wrong."""
    parts = [(part, causes[part.cause]) for part in truth.parts]
    true = set(causes[truth.like].experiment.anyway)
    denied: set[str] = set()
    for part, cause in parts:
        true |= {*cause.expected, *cause.also}
        # What costs 2 % may still be within the limit of what is "at the wire".
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
    return Judged(truth, frozenset(right), tuple(missed), tuple(wrong), first)


def _is_of(statement: Said, cause: Cause, part: Part) -> bool:
    """Whether it names what it should, and the rate that was planted."""
    if cause.about and not set(cause.about) & _places(statement):
        return False
    if cause.rate_of is None or not statement.rates_bit_per_s:
        return True
    rate = cause.rate_of(part.dial)
    return any(
        abs(stated_rate / rate - 1) <= RATE_WITHIN for stated_rate in statement.rates_bit_per_s
    )


def _names_others(statement: Said, cause: Cause) -> bool:
    """Whether it blames a host or pairing that nothing was done to."""
    return bool(cause.about) and not set(cause.about) & _places(statement)


def _places(statement: Said) -> set[str]:
    """Hosts, pairings, and the hosts of the pairings."""
    return {*statement.names, *(host for name in statement.names for host in name.split("+"))}


def _first(truth: Truth, statements: Sequence[Said], causes: Mapping[str, Cause]) -> bool:
    """Whether the first claim is of the larger cause; of nearly equal ones, of either."""
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
    """Those whose plant another tool saw, and that were measured on CPUs of their own."""
    return [
        judgement
        for judgement in judgements
        if not (judgement.truth.not_planted or judgement.truth.stolen)
    ]


def of_causes(judgements: Collection[Judged], *, strength: Strength | None = None) -> list[Judged]:
    """Runs of one cause; at one strength, or at all."""
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
    """Of the runs in which something is to be said, in how many it was."""
    able = [
        judgement
        for judgement in judgements
        if any(causes[p.cause].expected for p in judgement.truth.parts)
    ]
    return Share(sum(not judgement.missed for judgement in able), len(able))


def precision(judgements: Collection[Judged], kind: str | None = None) -> Share:
    """Of the kinds that were claimed, a run and kind the unit, how many were right."""
    right = wrong = 0
    for judgement in judgements:
        kinds = {statement.kind for statement in judgement.wrong}
        right += sum(kind in (None, name) for name in judgement.right - kinds)
        wrong += sum(kind in (None, name) for name in kinds)
    return Share(right, right + wrong)


def figures(
    judgements: Collection[Judged], causes: Mapping[str, Cause]
) -> dict[str, dict[str, int]]:
    """Kind → in how many runs it was claimed and how often rightly; how many had a cause whose best
    answer it is, and in how many of these an answer was right. Without mixtures.
    """
    simple_judgements = [*of_causes(judgements), *clean(judgements)]
    kinds = {
        kind
        for judgement in simple_judgements
        for kind in (*judgement.right, *(s.kind for s in judgement.wrong))
    }
    kinds |= {cause.expected[0] for cause in causes.values() if cause.expected}
    counts_by_kind = {}
    for kind in sorted(kinds):
        precision_share, recall_share = (
            precision(simple_judgements, kind),
            of_kind(of_causes(judgements), causes, kind),
        )
        counts_by_kind[kind] = {
            "said": precision_share.of,
            "right": precision_share.count,
            "planted": recall_share.of,
            "found": recall_share.count,
        }
    return {
        kind: counts
        for kind, counts in counts_by_kind.items()
        if counts["said"] or counts["planted"]
    }


def of_kind(judgements: Collection[Judged], causes: Mapping[str, Cause], kind: str) -> Share:
    """Recall of a kind: over the causes whose best answer it is."""
    its = [
        judgement
        for judgement in judgements
        if any(causes[part.cause].expected[:1] == (kind,) for part in judgement.truth.parts)
    ]
    return recall(its, causes)
