"""Expectations: what a matrix's author expects of its cells, and which cells that is about. Pure.

An expectation is one bound on one quantity. ``of`` names what a limit is relative to: a share of
the wire ceiling of each cell is another figure in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from netlab.experiment.kinds import FIELDS
from netlab.experiment.settings import Level
from netlab.units import format_bytes, format_rate, format_seconds, format_share, plain_figures

What = Literal["throughput", "loss", "round_trip", "payload", "frames", "baseline", "no"]
"""What is expected of: a quantity, of the whole cell against a baseline run, or that findings say
nothing of a kind.
"""

Of = Literal["bit/s", "ceiling", "share", "ns", "bytes", "1/s", "line rate", "baseline", "findings"]
"""What a limit is given in: a unit, a share of something, or how many."""

SEVERITIES = ("warning", "note")
"""Instead of the name of a kind: every kind of that severity."""

NAMES: Mapping[What, str] = {
    "throughput": "throughput",
    "loss": "loss",
    "round_trip": "mean round trip",
    "payload": "payload",
    "frames": "rate without loss",
    "baseline": "against the baseline",
    "no": "findings",
}

_TESTS: Mapping[What, frozenset[str]] = {
    "throughput": frozenset({"stream"}),
    "loss": frozenset({"stream", "round_trip"}),
    "round_trip": frozenset({"round_trip", "connect"}),
    "payload": frozenset({"payload_search"}),
    "frames": frozenset({"throughput_search"}),
    "baseline": frozenset(FIELDS),
    "no": frozenset(FIELDS),
}
"""The kinds of test that have the quantity."""

When = Mapping[str, frozenset[Level]]
"""Setting by its field (or ``pairing``, ``test``) → the values meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One bound on one quantity of some cells."""

    what: What
    bound: Literal["at least", "at most"]
    limit: float
    """In what ``of`` says; of a share 0 to 1."""
    of: Of
    when: When = field(default_factory=dict)
    """Cells that agree in all of it; empty is every one."""
    unless: When = field(default_factory=dict)
    """Cells left out: those that agree in all of it. Empty is none."""
    forbidden: str = ""
    """Of ``no``: a kind of finding, or a severity."""

    def is_about(self, cell: Mapping[str, Level]) -> bool:
        """Whether a cell (its settings with ``pairing`` and ``test``) is meant and has what is
        expected. TCP loses nothing, so no loss is expected of it.
        """
        if cell["test"] not in _TESTS[self.what]:
            return False
        if self.what == "loss" and cell.get("protocol") != "UDP":
            return False
        return _agrees(cell, self.when) and not (self.unless and _agrees(cell, self.unless))

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure in what ``of`` says keeps to the bound."""
        return figure >= self.limit if self.bound == "at least" else figure <= self.limit

    def words(self, figure: float) -> str:
        """A figure as the limit is written: ``94.1 % of the ceiling``; near the limit with as many
        digits as it takes to tell it from that.
        """
        if figure == self.limit or abs(figure - self.limit) > _NEAR * self.limit:
            return self._short(figure)
        scale, unit = _WRITTEN[self.of]
        for digits in range(4, 17):
            text, limit = (f"{each / scale:.{digits}g}" for each in (figure, self.limit))
            if text != limit:
                break
        return f"{plain_figures(float(text), 12)}{unit}"

    def _short(self, figure: float) -> str:
        if self.of == "bit/s":
            return format_rate(figure)
        if self.of == "ns":
            return format_seconds(figure / 1e9)
        if self.of == "bytes":
            return format_bytes(round(figure))
        if self.of == "1/s":
            return f"{figure:,.0f}/s"
        return format_share(figure) + _WRITTEN[self.of][1].removeprefix(" %")

    def __str__(self) -> str:
        scale, unit = _WRITTEN[self.of]
        # A share is written out: 99.95 % is not 100 %.
        limit = (
            f"{plain_figures(self.limit / scale, 9)}{unit}"
            if "%" in unit
            else self._short(self.limit)
        )
        if self.what == "baseline":
            return f"no worse than the baseline by {limit}"
        if self.what == "no":
            return f"no {self.forbidden}"
        return f"{NAMES[self.what]} {self.bound} {limit}"


_NEAR = 0.01
"""A figure that is less than this share of the limit away from it is near."""

_WRITTEN: Mapping[Of, tuple[float, str]] = {
    "bit/s": (1e6, " Mbit/s"),
    "ns": (1e3, " us"),
    "bytes": (1, " B"),
    "1/s": (1, "/s"),
    "findings": (1, ""),
    "share": (0.01, " %"),
    "baseline": (0.01, " %"),
    "ceiling": (0.01, " % of the ceiling"),
    "line rate": (0.01, " % of the line rate"),
}
"""What a limit is of → one of the unit that it is written in, and that unit."""


def _agrees(cell: Mapping[str, Level], when: When) -> bool:
    """Whether a cell has one of the values of each setting named. A setting that its kind of test
    does not take agrees with none, not even with what is left to the host.
    """
    taken = FIELDS[str(cell["test"])] | {"pairing", "test"}
    return all(name in taken and cell.get(name) in levels for name, levels in when.items())
