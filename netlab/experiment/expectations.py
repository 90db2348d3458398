"""Expectations: bounds that a matrix's author sets, and the cells that they apply to. No I/O.

A cell is one combination of two hosts, a kind of test, and settings. An expectation is one bound on
one quantity. ``of`` names the unit of the limit. A limit may be a share of the wire ceiling, the
highest payload rate that the framing on the link allows. The same share is then a different figure
in each cell. A finding is a remark of netlab on the results of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from netlab.experiment.kinds import FIELDS
from netlab.experiment.settings import Level
from netlab.units import format_bytes, format_rate, format_seconds, format_share, plain_figures

What = Literal["throughput", "loss", "round_trip", "payload", "frames", "baseline", "no"]
"""Subject of the expectation: a quantity; ``baseline``, the whole cell compared with an earlier
run; or ``no``, the absence of a kind of finding.
"""

Of = Literal["bit/s", "ceiling", "share", "ns", "bytes", "1/s", "line rate", "baseline", "findings"]
"""Unit of a limit: a physical unit, a share of something, or a number of findings."""

SEVERITIES = ("warning", "note")
"""Severities of findings. In place of a kind of finding, such a word means every kind that has this
severity."""

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
"""Subject → the kinds of test that have it."""

When = Mapping[str, frozenset[Level]]
"""Field of a setting (or ``pairing``, ``test``) → the values that match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One bound on one quantity of some cells."""

    what: What
    bound: Literal["at least", "at most"]
    limit: float
    """In the unit ``of``; 0 to 1 for a share."""
    of: Of
    when: When = field(default_factory=dict)
    """The expectation applies to the cells that match all of these conditions. Without conditions,
    it applies to every cell."""
    unless: When = field(default_factory=dict)
    """Cells that match all of these conditions are left out. It is empty if no cell is left out."""
    forbidden: str = ""
    """If ``what`` is ``no``: the kind of finding that must not occur, or a severity."""

    def is_about(self, cell: Mapping[str, Level]) -> bool:
        """Whether the expectation applies to a cell, and the cell has the quantity.

        ``cell`` holds the cell's settings, its ``pairing`` and its ``test``. TCP loses nothing, so
        an expectation of loss does not apply to cells with TCP.
        """
        if cell["test"] not in _TESTS[self.what]:
            return False
        if self.what == "loss" and cell.get("protocol") != "UDP":
            return False
        return _agrees(cell, self.when) and not (self.unless and _agrees(cell, self.unless))

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure in the unit ``of`` is within the bound."""
        return figure >= self.limit if self.bound == "at least" else figure <= self.limit

    def words(self, figure: float) -> str:
        """A figure as text, in the same unit as the limit, such as ``94.1 % of the ceiling``.

        A figure near the limit has as many digits as are needed to distinguish it from the limit.
        """
        if figure == self.limit or abs(figure - self.limit) > _NEAR * self.limit:
            return self._short(figure)
        scale, unit = _WRITTEN[self.of]
        for digits in range(4, 17):
            text, limit = (f"{value / scale:.{digits}g}" for value in (figure, self.limit))
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
        # A share keeps its digits: 99.95 % must not become 100 %.
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
"""A figure is near the limit if it differs from the limit by less than this share of the limit."""

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
"""Unit of a limit → scale and text of the unit in which it is written."""


def _agrees(cell: Mapping[str, Level], conditions: When) -> bool:
    """Whether each setting in ``conditions`` has one of the given values in a cell. A setting that
    the cell's kind of test does not have matches no value, not even ``None`` (the host's default).
    """
    fields = FIELDS[str(cell["test"])] | {"pairing", "test"}
    return all(name in fields and cell.get(name) in levels for name, levels in conditions.items())
