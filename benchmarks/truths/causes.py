"""What a cause is: how it is planted, how strongly, how it is measured, what is to be said.

The rows are in the files rows_….py. A row's number is its dial: what it costs, as a share of the
clean rate, or whatever its plant says.
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
"""Strength → the range that a run's number is drawn from."""

COSTS: Dial = {"just": (0.018, 0.022), "plain": (0.09, 0.11), "gross": (0.36, 0.44)}
"""2, 10 and 40 % of the clean rate."""
SHOWN_COSTS: Dial = {"just": (0.005, 0.05), "plain": (0.06, 0.16), "gross": (0.30, 0.55)}
"""What another tool must see of these."""


def times(threshold: float, *, by: tuple[float, float, float] = (2, 5, 20)) -> Dial:
    """So many times a rule's threshold, a tenth less to a tenth more."""
    ranges = [(0.9 * threshold * factor, 1.1 * threshold * factor) for factor in by]
    return dict(zip(STRENGTHS, ranges, strict=True))


def only(dial: Dial, *strengths: Strength) -> Dial:
    """The dial at some strengths."""
    return {name: dial[name] for name in strengths}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is measured where a cause is planted, and in a clean run beside it."""

    lab: str
    """One of ``site.LABS``."""
    tests: tuple[str, ...]
    """Lists of tests, YAML; a run draws one of them."""
    rate_bit_per_s: float = 100e6
    """As the link is stated."""
    mtu: int = 1500
    pairings: str = "[linux-a+linux-b]"
    """Server first: linux-b sends."""
    repeats: int = 3
    seconds: float = 0.6
    warm_up_s: float = 0.2
    anyway: frozenset[str] = frozenset()
    """Kinds that are true there without any cause."""

    def matrix(self, title: str, tests: str, dial: float, seed: int) -> str:
        """The whole matrix; ``DIAL`` in the tests is the number, ``RATE`` that of bits."""
        link = f"{{rate: {self.rate_bit_per_s:.0f}, mtu: {self.mtu}}}"
        body = tests.replace("DIAL", f"{dial:g}").replace("RATE", f"{dial * 1e8:.0f}")
        lasts = f"{{duration: {self.seconds:g}s, warm_up: {self.warm_up_s:g}s}}"
        if "duration:" in body or "count:" in body:
            lasts = "{}"
        return (
            f"title: {json.dumps(title)}\nlink: {link}\npairings: {self.pairings}\n"
            f"repeats: {self.repeats}\norder: shuffled\nseed: {seed}\n"
            f"defaults: {lasts}\ntests:\n{body}\n"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What another tool than netlab must see of the plant, once a cause and strength."""

    measure: Measure
    tool: str
    shown: Dial | float = field(default_factory=lambda: SHOWN_COSTS)
    """The range of the share lost against the clean lab; or, of what the plant sets to a number,
    how far off that number the reading may be, as a share of it."""
    of_dial: Callable[[float], float] = lambda dial: dial
    """What the reading is to be at a dial."""

    def cost(self, clean: float, reading: float) -> float:
        """The share lost, or the reading."""
        return 1 - reading / clean if isinstance(self.shown, Mapping) else reading

    def holds(self, strength: Strength, dial: float, clean: float, reading: float) -> bool:
        """Whether the plant does what it is to do."""
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
    """In plain words, for people."""
    experiment: Experiment
    plant: Plant
    dial: Dial = field(default_factory=lambda: COSTS)
    expected: tuple[str, ...]
    """Kinds of findings of which one is required, the best first; empty: it has no effect."""
    also: frozenset[str] = frozenset()
    """Further kinds that are true."""
    denied: frozenset[str] = frozenset()
    """Kinds that are no claim by themselves and would be wrong here."""
    about: tuple[str, ...] = ()
    """Hosts or pairings that the expected finding must name, all of them, and no other."""
    rate_of: Callable[[float], float] | None = None
    """The rate in bit/s, by the dial, that is to be among its evidence to 2 %."""
    effect: Effect | None = None
    """``None``: the plant is a word in the matrix, which netlab alone reads."""
    steady: Plant | None = None
    """What the effect is measured of, where the plant changes from trial to trial."""
    search: tuple[float, float] | None = None
    """The dial is a cost; the plant's number that costs it is searched for between these, with the
    tool of the effect. The first costs most."""
    stated: Callable[[Experiment, float], Experiment] = lambda experiment, dial: experiment
    """What the matrix says falsely, by the dial."""
    plays_steal: bool = False
    """Whether what a host reads of its own stolen CPUs is the plant's."""
    alone: bool = False
    """Whether nothing may be measured beside it: it is about CPUs."""
    mixes: str = ""
    """Causes of one word may be planted at once."""

    @property
    def strengths(self) -> tuple[Strength, ...]:
        """Those that it has, the weakest first."""
        return tuple(strength for strength in STRENGTHS if strength in self.dial)


def restated(experiment: Experiment, share: float) -> Experiment:
    """The link stated with that share of its rate."""
    return replace(experiment, rate_bit_per_s=experiment.rate_bit_per_s * share)


UNPLANTABLE: Mapping[str, str] = {
    "drops in softnet": "a veth is received by the CPU that sends, right after: its backlog never "
    "fills, and net.core.netdev_max_backlog is the whole machine's",
    "clock step": "the wall clock is the whole machine's: no namespace has its own",
    "one host farther away, in a mesh": "no netem in this kernel, and a star has no router",
}
"""Requested causes that a lab of namespaces cannot have, and why."""
