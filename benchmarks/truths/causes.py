"""The form of a row: a cause, how it is planted and measured, and the findings that it should have.

The rows are in the files rows_….py. Each run of a cause has a number, its dial: the cost as a share
of the clean rate, or a number that the plant (what creates the cause) defines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from benchmarks.truths.plants import Plant
from benchmarks.truths.tools import Measure

Strength = Literal["just", "plain", "gross"]
STRENGTHS: tuple[Strength, ...] = ("just", "plain", "gross")
Dial = Mapping[Strength, tuple[float, float]]
"""Strength → the range from which the number of a run is drawn."""

COSTS: Dial = {"just": (0.018, 0.022), "plain": (0.09, 0.11), "gross": (0.36, 0.44)}
"""2, 10 and 40 % of the clean rate."""
SHOWN_COSTS: Dial = {"just": (0.005, 0.05), "plain": (0.06, 0.16), "gross": (0.30, 0.55)}
"""The ranges in which the costs that another tool measures must be."""


def times(threshold: float, *, by: tuple[float, float, float] = (2, 5, 20)) -> Dial:
    """For each strength a multiple of a rule's threshold, from a tenth less to a tenth more."""
    ranges = [(0.9 * threshold * factor, 1.1 * threshold * factor) for factor in by]
    return dict(zip(STRENGTHS, ranges, strict=True))


def only(dial: Dial, *strengths: Strength) -> Dial:
    """The dial with only these strengths."""
    return {name: dial[name] for name in strengths}


def share(of_dial: float = 1) -> Callable[[float], float]:
    """What a cause takes if this is the given part of its dial."""
    return lambda dial: of_dial * dial


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is measured in the runs of a cause, and in clean runs without the cause."""

    lab: str
    """One of ``site.LABS``."""
    tests: tuple[str, ...]
    """Lists of tests in YAML. One of them is drawn for each run."""
    rate_bit_per_s: float = 100e6
    """The rate of the link that the matrix states."""
    mtu: int = 1500
    pairings: str = "[linux-a+linux-b]"
    """The server is first, so linux-b is the client and sends."""
    repeats: int = 3
    seconds: float = 0.6
    warm_up_s: float = 0.2
    anyway: frozenset[str] = frozenset()
    """Kinds of findings that are true in this experiment even if nothing is planted."""
    head: str = ""
    """Further lines of the matrix, such as its target."""

    def matrix(self, title: str, tests: str, dial: float, seed: int) -> str:
        """The whole matrix. In the tests, ``DIAL`` stands for the dial, ``RATE`` for that share of
        100 Mbit/s.
        """
        link = f"{{rate: {self.rate_bit_per_s:.0f}, mtu: {self.mtu}}}"
        body = tests.replace("DIAL", f"{dial:g}").replace("RATE", f"{dial * 1e8:.0f}")
        lasts = f"{{duration: {self.seconds:g}s, warm_up: {self.warm_up_s:g}s}}"
        if "duration:" in body or "count:" in body:
            lasts = "{}"
        return (
            f"title: {json.dumps(title)}\nlink: {link}\npairings: {self.pairings}\n{self.head}"
            f"repeats: {self.repeats}\norder: shuffled\nseed: {seed}\n"
            f"defaults: {lasts}\ntests:\n{body}\n"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What another tool than netlab must measure, once per cause and strength."""

    measure: Measure
    tool: str
    shown: Dial | float = field(default_factory=lambda: SHOWN_COSTS)
    """The range in which the lost share of the clean reading must be. If the plant sets a value to
    a number: how far the reading may be from this number, as a share of the number."""
    of_dial: Callable[[float], float] = lambda dial: dial
    """The reading that a dial should give."""

    def cost(self, clean: float, reading: float) -> float:
        """The lost share of the clean reading; or the reading, if the plant sets a value to a
        number.
        """
        return 1 - reading / clean if isinstance(self.shown, Mapping) else reading

    def holds(self, strength: Strength, dial: float, clean: float, reading: float) -> bool:
        """Whether the planted cause has the intended effect."""
        cost = self.cost(clean, reading)
        if isinstance(self.shown, Mapping):
            low, high = self.shown[strength]
            return low <= cost <= high
        target = self.of_dial(dial)
        return abs(cost - target) <= self.shown * abs(target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One row: a cause, and the truth about a run in which it is planted."""

    name: str
    what: str
    """A description for people."""
    experiment: Experiment
    plant: Plant
    dial: Dial = field(default_factory=lambda: COSTS)
    expected: tuple[str, ...]
    """Kinds of findings, the best first. One of them is required. Empty if the cause has no
    effect."""
    also: frozenset[str] = frozenset()
    """Further kinds of findings that are true of such a run."""
    denied: frozenset[str] = frozenset()
    """Kinds that do not count as claims elsewhere, but are wrong in a run with this cause."""
    about: tuple[str, ...] = ()
    """Hosts or pairings of which the expected finding must name at least one; empty: any."""
    takes: Callable[[float], float] | None = None
    """The share of the throughput that the cause takes, for a dial; the mean over the trials, if
    only some have the cause. ``None``: it takes nothing from a throughput, or how much is not
    known."""
    limits: frozenset[str] = frozenset()
    """Kinds that name the cause too, as the limit of a row or in a warning of the answer."""
    limited: tuple[str, ...] = ()
    """Hosts, pairings or directions (``to linux-c``) whose throughput it takes; empty: ``about``.
    """
    rate_of: Callable[[float], float] | None = None
    """The rate in bit/s for a dial. The evidence of the finding must have this rate, within 2 %."""
    effect: Effect | None = None
    """``None`` if the cause is only a setting of the matrix, which no other tool reads."""
    steady: Plant | None = None
    """The plant for the check of the effect, if ``plant`` changes from trial to trial."""
    search: tuple[float, float] | None = None
    """Not ``None``: the dial is a cost, and the number that has this cost is searched for between
    these two, with the tool of the effect. The first one has the higher cost."""
    stated: Callable[[Experiment, float], Experiment] = lambda experiment, dial: experiment
    """The experiment with what the matrix states falsely, for a dial."""
    plays_steal: bool = False
    """Whether the plant itself makes the hosts read stolen CPU time."""
    alone: bool = False
    """Whether nothing else may be measured at the same time, because the cause concerns CPUs."""
    mixes: str = ""
    """Two causes with the same word may be planted at once; with an empty word, never."""

    @property
    def strengths(self) -> tuple[Strength, ...]:
        """The strengths of this cause, the weakest first."""
        return tuple(strength for strength in STRENGTHS if strength in self.dial)


def restated(experiment: Experiment, share: float) -> Experiment:
    """The experiment whose matrix states this share of the link's rate."""
    return replace(experiment, rate_bit_per_s=experiment.rate_bit_per_s * share)


UNPLANTABLE: Mapping[str, str] = {
    "clock step": "the wall clock is the whole machine's: no namespace has its own",
}
"""Causes that cannot be planted in a lab of namespaces → why."""
