"""Judges what the answer of a run says of a planted limit, as a reader of its first screen. No I/O.

The limit of a run is planted if its cause takes at least 10 % of the throughput (``LEAST_TAKEN``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.truths.causes import Cause
from benchmarks.truths.draw import Part
from benchmarks.truths.score import Judged, Share, counted

LEAST_TAKEN = 0.09
"""10 %, less the tenth by which the number of a run may be below it."""
LEAST_FULL = 0.96
"""The wire limits no row whose mean is below this share of its ceiling."""
WIRE, UNKNOWN = "wire-ceiling", "unknown"

Outcome = Literal["right", "warned", "beside", "unknown", "silent", "false"]
OUTCOMES: tuple[Outcome, ...] = ("right", "warned", "beside", "unknown", "silent", "false")
"""What an answer is.

right: a row or a verdict names the planted cause; warned: only a warning does; beside: a row names
something else that is true of the run, as ``Cause.also``; unknown: it says that the limit is
unknown, why, and what would make it known; silent: none of these; false: a row or a verdict names a
limit that its cells do not have.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a row, or a verdict, says of the limit of its cells."""

    words: str
    """The limit in words, as a reader sees it; "unknown", "several" or empty."""
    kinds: frozenset[str] = frozenset()
    """The kinds of findings with this limit; empty if it names none."""
    why: str = ""
    """Of an unknown limit, why it is unknown."""
    remedy: str = ""
    """Of an unknown limit, what would make it known."""
    names: frozenset[str] = frozenset()
    """Pairings, hosts and directions (``to linux-a``) of its cells."""
    ceiling_share: float | None = None
    """The mean as a share of the wire ceiling, if known."""


@dataclass(frozen=True, slots=True)
class SaidAnswer:
    """The parts of an answer that the judgement uses."""

    claims: tuple[Claim, ...]
    warned: frozenset[str] = frozenset()
    """Kinds of the findings that the answer warns of."""
    text: str = ""
    """The answer as a terminal shows it."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The answer of one run with a planted limit."""

    name: str
    """The name of the run."""
    outcome: Outcome
    causes: tuple[str, ...]
    """The planted causes that take 10 % or more."""
    says: tuple[str, ...]
    """What the answer says, as far as it decides the outcome."""
    text: str = ""


def limited_by(judged: Judged, causes: Mapping[str, Cause]) -> tuple[Part, ...]:
    """The planted causes that take at least 10 % of a throughput, if the run counts."""
    if not counted([judged]):
        return ()
    return tuple(
        part
        for part in judged.truth.parts
        if part.strength != "just"
        and (takes := causes[part.cause].takes) is not None
        and takes(part.dial) >= LEAST_TAKEN
    )


def judge_answer(
    judged: Judged, answer: SaidAnswer, causes: Mapping[str, Cause]
) -> JudgedAnswer | None:
    """What the answer says of the planted limit; ``None`` if no limit was planted."""
    parts = limited_by(judged, causes)
    if not parts:
        return None
    limits = [causes[part.cause] for part in parts]
    planted = [causes[part.cause] for part in judged.truth.parts]
    anyway = causes[judged.truth.like].experiment.anyway
    false = [claim for claim in answer.claims if _is_false(claim, planted, anyway)]
    about = [claim for claim in answer.claims if any(_is_about(claim, cause) for cause in limits)]
    named = [claim for claim in about if any(_names(claim, cause) for cause in limits)]
    unknown = [claim for claim in about if claim.words == UNKNOWN]
    beside = [claim for claim in about if claim.kinds]
    naming = {k for cause in limits for k in {*cause.expected} & judged.right | cause.limits}
    warned = sorted(answer.warned & naming)
    outcome: Outcome = "silent"
    claims: Sequence[Claim] = about
    if false:
        outcome, claims = "false", false
    elif named:
        outcome, claims = "right", named
    elif warned:
        outcome = "warned"
    elif unknown:
        is_whole = all(claim.why and claim.remedy for claim in unknown)
        outcome, claims = "unknown" if is_whole else "silent", unknown
    elif beside:
        outcome, claims = "beside", beside
    said = [*map(_sentence, claims), *(f"warning {kind}" for kind in warned)]
    names = tuple(cause.name for cause in limits)
    says = tuple(dict.fromkeys(said)) or ("no row",)
    return JudgedAnswer(judged.truth.name, outcome, names, says, answer.text)


def _is_about(claim: Claim, cause: Cause) -> bool:
    """Whether any of its cells has the cause."""
    places = cause.limited or cause.about
    return not places or not claim.names.isdisjoint(places)


def _names(claim: Claim, cause: Cause) -> bool:
    return _is_about(claim, cause) and not claim.kinds.isdisjoint({*cause.expected, *cause.limits})


def _is_false(claim: Claim, planted: Sequence[Cause], anyway: Collection[str]) -> bool:
    """Whether it names a limit that its cells do not have."""
    if claim.kinds == {WIRE}:
        below = claim.ceiling_share is not None and claim.ceiling_share < LEAST_FULL
        return below or any(WIRE in cause.denied for cause in planted)
    here = [cause for cause in planted if _is_about(claim, cause)]
    true = {kind for cause in here for kind in (*cause.expected, *cause.also, *cause.limits)}
    true |= {*anyway}.difference(*(cause.denied for cause in here))
    return bool(claim.kinds) and claim.kinds.isdisjoint(true)


def _sentence(claim: Claim) -> str:
    words = claim.words or "no limit"
    reasons = ": ".join(filter(None, (claim.why, claim.remedy)))
    return f"{words} ({reasons})" if reasons else words


def share_of(answers: Collection[JudgedAnswer], *outcomes: Outcome) -> Share:
    """The share of answers with one of these outcomes."""
    return Share(sum(answer.outcome in outcomes for answer in answers), len(answers))
