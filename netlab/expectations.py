"""Expectations: what a matrix's author expects of its cells, and which cells that is about. Pure.

An expectation is one bound on one quantity. What a limit is of stands in ``of``: a share of the
wire ceiling of each cell is another figure in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from netlab.setups import FIELDS, Level
from netlab.units import format_bytes, format_rate, format_seconds, format_share

What = Literal["throughput", "loss", "round_trip", "payload", "frames", "baseline"]
"""What is expected of: a quantity, or of the whole cell against a baseline run."""

Of = Literal["bit/s", "ceiling", "share", "ns", "bytes", "1/s", "line rate", "baseline"]
"""What a limit is given in: a unit, or a share of something."""

NAMES: Mapping[What, str] = {
    "throughput": "throughput",
    "loss": "loss",
    "round_trip": "mean round trip",
    "payload": "payload",
    "frames": "rate without loss",
    "baseline": "against the baseline",
}

_TESTS: Mapping[What, frozenset[str]] = {
    "throughput": frozenset({"stream"}),
    "loss": frozenset({"stream", "round_trip"}),
    "round_trip": frozenset({"round_trip", "connect"}),
    "payload": frozenset({"payload_search"}),
    "frames": frozenset({"throughput_search"}),
    "baseline": frozenset(FIELDS),
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
        """A figure as the limit is written: ``94.1 % of the ceiling``."""
        if self.of == "bit/s":
            return format_rate(figure)
        if self.of == "ns":
            return format_seconds(figure / 1e9)
        if self.of == "bytes":
            return format_bytes(round(figure))
        if self.of == "1/s":
            return f"{figure:,.0f}/s"
        return format_share(figure) + _SHARES.get(self.of, "")

    def __str__(self) -> str:
        if self.what == "baseline":
            return f"no worse than the baseline by {format_share(self.limit)}"
        return f"{NAMES[self.what]} {self.bound} {self.words(self.limit)}"


_SHARES: Mapping[Of, str] = {"ceiling": " of the ceiling", "line rate": " of the line rate"}


def _agrees(cell: Mapping[str, Level], when: When) -> bool:
    """Whether a cell has one of the values of each setting named. A setting that its kind of test
    does not take agrees with none, not even with what is left to the host.
    """
    taken = FIELDS[str(cell["test"])] | {"pairing", "test"}
    return all(name in taken and cell.get(name) in levels for name, levels in when.items())
