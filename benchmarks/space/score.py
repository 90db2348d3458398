"""Judges what a run says of the causes that were planted in it. No I/O.

The run is the unit: a single sentence that must not be said makes it false, whatever else is right.
What the control run (the same matrix in the same lab, without the cause) says too is not scored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.space.draw import Planned
from benchmarks.space.matrices import Stand
from benchmarks.space.rows import ROWS, Row
from benchmarks.space.words import (
    BETWEEN,
    DEFAULTS,
    RECEIVERS,
    SENDERS,
    UNCOUNTED,
    Words,
    same_place,
    same_time,
)
from netlab.findings.claims import Claim

SENDER, RECEIVER = "linux-b", "linux-a"
WITHIN, LEAST_WITHIN = 0.1, 0.005
"""How far a stated amount may be from the true one, as a share of it; and at least, as a share of
the rate: two trials of a second differ by as much."""
AMONG = ("active", "matched", "data")
"""Packets of which a share may be said, by the names of their counts."""
OF_THE_LAB = ("below-floor",)
"""Warnings that are true of every lab: its cables delay no single frame."""
Outcome = Literal["right", "symptom", "beside", "silent", "false"]
OUTCOMES: tuple[Outcome, ...] = ("right", "symptom", "beside", "silent", "false")
"""right: what and where, with hosts, cells and amount; symptom: what, and one more word; beside:
only what truly follows; silent: nothing; false: a sentence that must not be said."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One finding, as far as the score uses it."""

    kind: str
    severity: str
    claim: Claim | None
    cells: frozenset[str] = frozenset()
    trials: frozenset[tuple[str, int]] = frozenset()
    """(cell, trial) of those that it is about; empty: all of its cells."""
    rank: int = 0
    """Its place among the findings with which a report begins."""
    sentence: str = ""

    def repeats(self, other: Statement) -> bool:
        """Whether both say the same of a cell that both are about."""
        one, two = self.claim, other.claim
        return (
            one is not None
            and two is not None
            and (one.where, one.what, one.which, one.when)
            == (two.where, two.what, two.which, two.when)
            and (one.sender, one.receiver) == (two.sender, two.receiver)
            and (self.cells == other.cells or bool(self.cells & other.cells))
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A cause as it acted in a run."""

    words: Words
    cells: frozenset[str]
    """The cells on which it acted: they must be named."""
    shares: tuple[float, ...]
    """True answers to how much: of what it acted on, and what it cost."""
    acted: bool = True
    """Whether the planter's own counters, or the cost, show it."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """Cell → the share that it cost there."""
    costs_of_trials: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """(cell, trial) → the share that it cost then."""
    also: frozenset[str] = frozenset()
    """Cells in which it was there and cost nothing: they may be named."""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Cell → packets on which it acted, among those that it selects while it acts (``active``), at
    any time (``matched``), and all that carry data (``data``)."""

    def shares_of(
        self, cells: frozenset[str], trials: frozenset[tuple[str, int]] = frozenset()
    ) -> tuple[float, ...]:
        """True answers to how much, of these cells, and of these trials of them."""
        costs = [
            [self.costs[cell] for cell in sorted(cells & self.costs.keys())],
            [self.costs_of_trials[it] for it in sorted(trials & self.costs_of_trials.keys())],
        ]
        counts = [self.counts[cell] for cell in sorted(cells & self.counts.keys())]
        means = (sum(each) / len(each) for each in costs if each)
        return (*self.shares, *means, *_counted(counts))

    @property
    def present(self) -> frozenset[str]:
        """The cells in which it was there."""
        return self.cells | self.also

    @property
    def row(self) -> Row:
        return ROWS[f"{self.words.where} {self.words.what}"]


def _counted(cells: Sequence[Mapping[str, int]]) -> Iterator[float]:
    """The shares of the packets of these cells: of all together, and the mean of the cells."""
    for among in AMONG:
        pairs = [(its["acted"], its[among]) for its in cells if its[among]]
        if pairs:
            yield min(1.0, sum(acted for acted, _ in pairs) / sum(of for _, of in pairs))
            yield sum(min(1.0, acted / of) for acted, of in pairs) / len(pairs)


@dataclass(frozen=True, slots=True)
class Truth:
    """What was planted in a run, and what counts for it."""

    planned: Planned
    cells: frozenset[str]
    parts: tuple[Part, ...] = ()
    stolen: bool = False
    """Whether a hypervisor took CPU time in every attempt."""
    failed: str | None = None

    @property
    def counts(self) -> bool:
        return not self.stolen and all(part.acted for part in self.parts)


@dataclass(frozen=True, slots=True)
class Judged:
    """One run, judged."""

    truth: Truth
    outcome: Outcome
    named: tuple[bool, ...] = ()
    """Of each planted cause, whether it is right or a symptom of it is said."""
    first: bool | None = None
    """Of a mixture, whether the larger cause is said first."""
    wrong: tuple[Statement, ...] = ()
    said: tuple[Statement, ...] = ()


def judge(
    truth: Truth, statements: Sequence[Statement], control: Sequence[Statement] = ()
) -> Judged:
    """The outcome of a run with its planted causes, or of a healthy one."""
    said = tuple(
        statement
        for statement in statements
        if statement.claim is not None
        and (statement.claim.where or statement.claim.what)
        and not any(statement.repeats(other) for other in control)
    )
    if truth.planned.kind == "healthy":
        return _healthy(truth, statements)
    wrong = tuple(each for each in said if is_false(each, truth))
    levels = [level_of(part, said, truth) for part in truth.parts]
    outcome: Outcome = "beside" if said else "silent"
    if all(level == "right" for level in levels):
        outcome = "right"
    elif all(level != "" for level in levels):
        outcome = "symptom"
    named = tuple(level != "" for level in levels)
    first = _first(truth, said) if len(truth.parts) > 1 else None
    return Judged(truth, "false" if wrong else outcome, named, first, wrong, said)


def _healthy(truth: Truth, statements: Sequence[Statement]) -> Judged:
    """A healthy run is false if it warns of anything that its setup does not have."""
    wrong = tuple(
        each
        for each in statements
        if each.severity == "warning"
        and each.kind not in OF_THE_LAB
        and not _has(truth.planned.stand, each)
    )
    return Judged(truth, "false" if wrong else "silent", wrong=wrong)


def _has(stand: Stand, statement: Statement) -> bool:
    """Whether a setup, though nothing was planted, has what the statement says."""
    if is_of_cpu(statement):
        return stand.foreign_cpu or not stand.forwarder  # faster than CPUs may be
    if statement.kind.startswith("off-rate"):
        return stand.foreign_cpu
    set_buffers = any(test.get("socket_buffer", "auto") != "auto" for test in stand.tests)
    return statement.kind.startswith("buffer-limit") and set_buffers and stand.far_ms > 0


def is_of_cpu(statement: Statement) -> bool:
    """Whether it says that a host's CPUs have other work, or are the limit."""
    claim = statement.claim
    return statement.kind.startswith(("other-load", "cpu-", "host-delay")) or (
        claim is not None and claim.what == "cpu"
    )


# ---- one cause -----------------------------------------------------------------------------------


def level_of(
    part: Part, said: Sequence[Statement], truth: Truth
) -> Literal["right", "symptom", ""]:
    """How well the statements name one cause."""
    its = [each for each in said if _names(each, part) and not _contradicts(each, part)]
    full = [each for each in its if _is_full(each, part, truth)]
    covered = frozenset[str]().union(*(each.cells or truth.cells for each in full))
    if full and covered >= part.cells:
        return "right"
    return "symptom" if any(_more_than_what(each, part) for each in its) else ""


def _names(statement: Statement, part: Part) -> bool:
    return statement.claim is not None and statement.claim.what == part.words.what


def _is_full(statement: Statement, part: Part, truth: Truth) -> bool:
    """Whether it says where, with the hosts, only cells that are affected, and how much."""
    claim = statement.claim
    assert claim is not None
    cells = statement.cells or truth.cells  # none named: it is about all
    return (
        same_place(part.words, claim.where)
        and _says_hosts(claim, part.words)
        and cells <= part.present
        and (
            is_near(claim.share, part.shares_of(cells, statement.trials))
            or _is_uncounted(claim, part, truth)
        )
    )


def _is_uncounted(claim: Claim, part: Part, truth: Truth) -> bool:
    """Whether the claim says no amount, and nothing counts one."""
    protocols = {str(test.get("protocol")) for test in truth.planned.stand.tests}
    return claim.share is None and part.words.what in UNCOUNTED and protocols == {"TCP"}


def _says_hosts(claim: Claim, words: Words) -> bool:
    """Whether the hosts that the place needs are said: of a direction both, of a host this one."""
    if words.where in SENDERS:
        return claim.sender == SENDER
    if words.where in RECEIVERS:
        return claim.receiver == RECEIVER
    both_ways = words.where in BETWEEN and words.where != "path"
    return both_ways or (claim.sender, claim.receiver) == (SENDER, RECEIVER)


def is_near(stated: float | None, true: Collection[float]) -> bool:
    """Whether a stated amount is one of the true ones, within a tenth."""
    return stated is not None and any(
        abs(stated - share) <= max(WITHIN * share, LEAST_WITHIN) for share in true
    )


def _more_than_what(statement: Statement, part: Part) -> bool:
    """Whether a word beside `what` is right. Defaults earn nothing."""
    claim, words = statement.claim, part.words
    assert claim is not None
    return (
        same_place(words, claim.where)
        or (claim.which not in DEFAULTS and claim.which == words.which)
        or (claim.when not in DEFAULTS and _is_its_time(claim.when, part))
    )


def _is_its_time(said: str, part: Part) -> bool:
    return same_time(part.words, said) or said in part.row.also_when


# ---- what must not be said -----------------------------------------------------------------------


def is_false(statement: Statement, truth: Truth) -> bool:
    """Whether it says what must not be said of any of the planted causes."""
    return all(_is_false_of(statement, part) for part in truth.parts)


def _is_false_of(statement: Statement, part: Part) -> bool:
    claim = statement.claim
    assert claim is not None
    if statement.cells and not statement.cells & part.present:
        return True
    if claim.what in ("", part.words.what) and (
        claim.where == "" or same_place(part.words, claim.where)
    ):
        return _contradicts(statement, part)
    if any(pattern.names(claim) for pattern in part.row.never):
        return True
    return not any(pattern.covers(claim) for pattern in part.row.follows)


def _contradicts(statement: Statement, part: Part) -> bool:
    """Whether a word that it says of the cause is another than the planted one."""
    claim, words = statement.claim, part.words
    assert claim is not None
    has_direction = words.where in ("path", "path-back", *SENDERS, *RECEIVERS)
    swapped = claim.sender == RECEIVER or claim.receiver == SENDER
    return (
        (has_direction and swapped)
        or claim.which not in {*DEFAULTS, words.which}
        or (claim.when not in DEFAULTS and not _is_its_time(claim.when, part))
        or bool(statement.cells and not statement.cells & part.present)
    )


def _first(truth: Truth, said: Sequence[Statement]) -> bool:
    """Whether the first statement that names one of the two causes names the larger one."""
    for statement in sorted(said, key=lambda each: (each.severity != "warning", each.rank)):
        whose = [
            number
            for number, part in enumerate(truth.parts)
            if _names(statement, part) and not _contradicts(statement, part)
        ]
        if whose:
            return 0 in whose
    return False
