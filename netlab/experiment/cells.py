"""A matrix's cells: the product of its axes after its rules; what compares and bounds them."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from netlab import kinds
from netlab.experiment.hosts import EndName
from netlab.trial.settings import Level, Scalar
from netlab.units import format_bytes, format_rate, format_seconds, format_share, plain_figures


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of a pairing, a kind of test, and one value of each axis."""

    pairing: str
    """The two ends, server first: letters of two operating systems, such as ``WL`` (Windows and
    Linux), or names of two hosts, such as ``nas+laptop``."""
    test: str
    """The kind of test: a key of ``SETUPS``."""
    setup: kinds.Setup

    @property
    def settings(self) -> Mapping[str, Scalar]:
        """Setting, with the unit in its name → value; settings that are ``None`` are absent."""
        return self.setup.settings()

    @cached_property
    def key(self) -> str:
        """A readable key with a hash of the cell's content: ``LL-stream-tcp-64-16384-1a2b3c4d``."""
        content = {"pairing": self.pairing, "test": self.test, **self.settings}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:8]
        setup, buffer = self.setup, self.setup.socket_buffer_bytes
        size = getattr(setup, setup.sized_by) if setup.sized_by else f"ipv{setup.ip_version}"
        words = setup.protocol.lower(), str(size), str(buffer or "auto")
        return "-".join((self.pairing, self.test, *words, digest))


DEFAULTS: Mapping[str, Level] = {
    name: level
    for test in reversed([*kinds.SETUPS])
    for name, level in kinds.DEFAULTS_OF[test].items()
}
"""Default of each setting. If kinds of test have different defaults for a setting, this is the
default of the kind that comes first in ``SETUPS``: that is the stream, if it has the setting."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for the cells in which each setting in ``when`` (or ``pairing``) has a given value."""

    when: Mapping[str, frozenset[Level]]
    then: Mapping[str, Level]
    """The settings that these cells get; empty for an exclusion."""

    def matches(self, combination: Mapping[str, Level]) -> bool:
        """Whether the rule applies to a combination: name of a setting, or ``pairing`` → value."""
        return all(combination[name] in levels for name, levels in self.when.items())


RuleKind = Literal["replace", "exclude", "override"]


@dataclass(frozen=True, slots=True)
class Grid:
    """One test of a matrix: the product of its axes, and the rules that are applied to it.

    ``replace`` is applied first, then ``exclude``, then ``override``.
    """

    test: str
    axes: Mapping[str, tuple[Level, ...]]
    """Every setting of the kind of test with its values; the last axis varies fastest."""
    repeats: int | None = None
    """Number of trials (measurements) of each cell of the test; ``None``: the number, or the rule,
    that the matrix has for all tests."""
    replace: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    override: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[tuple[RuleKind, tuple[Rule, ...]], ...]:
        """The rules of the grid by kind, in the order in which they are applied."""
        return ("replace", self.replace), ("exclude", self.exclude), ("override", self.override)

    @property
    def depends_on_pairing(self) -> bool:
        """Whether a rule names a pairing. Otherwise every pairing has the same settings."""
        return any("pairing" in rule.when for _, rules in self.rules for rule in rules)

    @property
    def size(self) -> int:
        """Number of combinations of the axes for one pairing, before any rule."""
        return math.prod(map(len, self.axes.values()))


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a grid."""

    grid: int
    kind: Literal["test", "setting"] | RuleKind
    message: str
    rule: int = 0
    """Index of the rule at fault."""
    field: str = ""
    """The setting at fault; ``level`` is its value."""
    level: Level = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """The cells of some grids, and the problems of these grids."""

    cells: tuple[Cell, ...]
    grids: tuple[int, ...]
    """Index of the grid of each cell; the first one if several grids have the cell."""
    problems: tuple[Problem, ...]


def expansion(pairings: Sequence[str], grids: Sequence[Grid]) -> Expansion:
    """The cells of ``grids`` for ``pairings``, and the problems of the grids.

    A problem that occurs in several cells is listed once.
    """
    by_pairing = any(grid.depends_on_pairing for grid in grids)
    cells: dict[Cell, int] = {}
    problems: dict[object, Problem] = {}
    matching_rules: set[tuple[int, str, int]] = set()
    indices_with_cells: set[int] = set()
    same_for_all: dict[int, list[kinds.Setup]] = {}
    for pairing in pairings if by_pairing else pairings[:1]:
        for index, grid in enumerate(grids):
            setups = same_for_all.get(index)
            if setups is None:
                setups = [*_setups(pairing, index, grid, matching_rules, problems)]
                if not grid.depends_on_pairing:
                    same_for_all[index] = setups
            if setups:
                indices_with_cells.add(index)
            for setup in setups:
                cell = Cell(pairing=pairing, test=grid.test, setup=setup)
                first_index = cells.setdefault(cell, index)
                if first_index != index:
                    message = f"tests[{first_index}] contains the same cell, {cell.key}"
                    problems.setdefault((index, first_index), Problem(index, "test", message))
    faults = list(problems.values())
    for index, grid in enumerate(grids):
        faults += [
            Problem(index, kind, "matches no cell", rule=number)
            for kind, rules in grid.rules
            for number in range(len(rules))
            if (index, kind, number) not in matching_rules
        ]
        if index not in indices_with_cells:
            faults.append(Problem(index, "test", "every cell of the test is excluded"))
    all_cells, of_grids = tuple(cells), tuple(cells.values())
    if not by_pairing:  # then the cells of the other pairings are those of the first one
        others = itertools.product(pairings[1:], cells)
        all_cells += tuple([Cell(pairing=p, test=one.test, setup=one.setup) for p, one in others])
        of_grids *= len(pairings)
    return Expansion(all_cells, of_grids, tuple(faults))


def _setups(
    pairing: str,
    index: int,
    grid: Grid,
    matching_rules: set[tuple[int, str, int]],
    problems: dict[object, Problem],
) -> Iterator[kinds.Setup]:
    """The settings of each cell of a grid, after the grid's rules.

    A setting that does not apply to the cell's protocol gets its default. For example, UDP has no
    congestion control, so two UDP combinations that differ only in this setting are one cell. If
    rules make two combinations equal, or settings are faulty, problems are added to ``problems``.
    """
    defaults = kinds.DEFAULTS_OF[grid.test]
    earlier: set[tuple[Level, ...]] = set()
    for levels in itertools.product(*grid.axes.values()):
        settings: dict[str, Level] = {
            "pairing": pairing,
            **dict(zip(grid.axes, levels, strict=True)),
        }
        # If no rule changes this combination, a rule made an earlier combination equal to it.
        last: tuple[RuleKind, int] = "replace" if grid.replace else "override", 0
        excluded = False
        for kind, rules in grid.rules:
            for number, rule in enumerate(rules):
                if rule.matches(settings):
                    matching_rules.add((index, kind, number))
                    excluded = excluded or kind == "exclude"
                    if rule.then:
                        settings |= rule.then
                        last = (kind, number)
            if excluded:
                break
        if excluded:
            continue
        content = tuple(settings.values())
        if content in earlier:
            axes = [name for name, levels in grid.axes.items() if len(levels) > 1]
            cell = ", ".join(f"{name} {settings[name]}" for name in axes)
            message = f"gives two cells the same settings, such as {pairing}: {cell}"
            problems.setdefault((index, *last), Problem(index, last[0], message, rule=last[1]))
        earlier.add(content)
        del settings["pairing"]
        idle = kinds.ONLY_OF_TCP if settings["protocol"] == "UDP" else kinds.ONLY_OF_UDP
        settings |= {name: defaults[name] for name in idle & settings.keys()}
        setup = kinds.SETUPS[grid.test](**settings)  # type: ignore[arg-type]  # checked before
        for name, message in setup.faults():
            fault = Problem(index, "setting", message, field=name, level=settings[name])
            problems.setdefault(fault, fault)
        yield setup


Side = Literal["baseline", "contender"]

OF_A_CELL = ("pairing", "test")
"""Fields of a cell that a side may name in addition to settings."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of cells that differ only in the fields that the two sides name.

    Both sides name the same fields: settings (``message_bytes``), ``pairing`` or ``test``.
    """

    name: str
    baseline: Mapping[str, Level]
    contender: Mapping[str, Level]

    def side_of(self, cell: Mapping[str, Level]) -> Side | None:
        """The side that a cell is on, or ``None`` if it is on neither side.

        ``cell`` holds the cell's settings, its ``pairing`` and its ``test``.
        """
        sides: tuple[tuple[Side, Mapping[str, Level]], ...]
        sides = ("baseline", self.baseline), ("contender", self.contender)
        for side, levels in sides:
            if all(cell.get(name) == level for name, level in levels.items()):
                return side
        return None

    def rest_of(self, cell: Mapping[str, Level]) -> frozenset[tuple[str, Level]]:
        """The fields of ``cell``, with their values, that the other cell of its pair must have too.

        If protocols are compared, settings that only one protocol has are left out.
        """
        left_out = {*self.baseline}
        if "protocol" in left_out:
            left_out |= kinds.ONLY_OF_TCP | kinds.ONLY_OF_UDP
        fields = [(name, level) for name, level in cell.items() if level is not None]
        return frozenset(field for field in fields if field[0] not in left_out)

    def pairs_in(self, cells: Sequence[Mapping[str, Level]]) -> list[tuple[int, int]]:
        """For each pair, the indices of baseline and contender in ``cells``, sorted by baseline."""
        sides: dict[Side | None, list[int]] = {}
        for index, cell in enumerate(cells):
            sides.setdefault(self.side_of(cell), []).append(index)
        contenders = {self.rest_of(cells[index]): index for index in sides.get("contender", ())}
        baselines = [(index, self.rest_of(cells[index])) for index in sides.get("baseline", ())]
        return [(index, contenders[rest]) for index, rest in baselines if rest in contenders]

    def fault(self, cells: Sequence[Mapping[str, Level]]) -> str | None:
        """Why there is nothing to compare among ``cells``; ``None`` if there is something."""
        if self.baseline.keys() != self.contender.keys():
            return "`baseline` and `contender` must name the same settings, one value each"
        if self.baseline == self.contender:
            return "`baseline` and `contender` are equal"
        for side in ("baseline", "contender"):
            if all(self.side_of(cell) != side for cell in cells):
                return f"the {side} matches no cell"
        if not self.pairs_in(cells):
            return "no two cells differ in these settings alone"
        return None


What = Literal["throughput", "loss", "round_trip", "payload", "frames", "baseline", "no"]
"""Subject of the expectation: a quantity; ``baseline``, the whole cell compared with an earlier
run; or ``no``, the absence of a kind of finding."""

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
    """The expectation applies to the cells that match all of these conditions."""
    unless: When = field(default_factory=dict)
    """Cells that match all of these conditions are left out; empty: none is left out."""
    forbidden: str = ""
    """If ``what`` is ``no``: the kind of finding that must not occur, or a severity."""

    def is_about(self, cell: Mapping[str, Level]) -> bool:
        """Whether the expectation applies to a cell, and the cell has the quantity.

        ``cell`` holds the cell's settings, its ``pairing`` and its ``test``. TCP loses nothing, so
        an expectation of loss does not apply to cells with TCP.
        """
        kind = kinds.KINDS.get(str(cell["test"]))
        if kind is None or self.what not in {"baseline", "no", *kind.expects}:
            return False
        if self.what == "loss" and cell.get("protocol") != "UDP":
            return False
        return _meets(cell, self.when) and not (self.unless and _meets(cell, self.unless))

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure in the unit ``of`` is within the bound."""
        return figure >= self.limit if self.bound == "at least" else figure <= self.limit

    def words(self, figure: float) -> str:
        """A figure as text, in the same unit as the limit, such as ``94.1 % of the ceiling``.

        A figure near the limit has as many digits as are needed to distinguish it from the limit.
        """
        if figure == self.limit or abs(figure - self.limit) > _NEAR * self.limit:
            return self._short(figure)
        scale, unit, _ = _WRITTEN[self.of]
        for digits in range(4, 17):
            text, limit = (f"{value / scale:.{digits}g}" for value in (figure, self.limit))
            if text != limit:
                break
        return f"{plain_figures(float(text), 12)}{unit}"

    def _short(self, figure: float) -> str:
        _, unit, short = _WRITTEN[self.of]
        return short(figure) if short else format_share(figure) + unit.removeprefix(" %")

    def __str__(self) -> str:
        scale, unit, _ = _WRITTEN[self.of]
        limit = self._short(self.limit)
        if "%" in unit:  # a share keeps its digits: 99.95 % must not become 100 %
            limit = f"{plain_figures(self.limit / scale, 9)}{unit}"
        if self.what == "baseline":
            return f"no worse than the baseline by {limit}"
        if self.what == "no":
            return f"no {self.forbidden}"
        return f"{NAMES[self.what]} {self.bound} {limit}"


_NEAR = 0.01
"""A figure is near the limit if it differs from the limit by less than this share of the limit."""

_WRITTEN: Mapping[Of, tuple[float, str, Callable[[float], str] | None]] = {
    "bit/s": (1e6, " Mbit/s", format_rate),
    "ns": (1e3, " us", lambda figure: format_seconds(figure / 1e9)),
    "bytes": (1, " B", lambda figure: format_bytes(round(figure))),
    "1/s": (1, "/s", "{:,.0f}/s".format),
    "findings": (1, "", None),
    "share": (0.01, " %", None),
    "baseline": (0.01, " %", None),
    "ceiling": (0.01, " % of the ceiling", None),
    "line rate": (0.01, " % of the line rate", None),
}
"""Unit of a limit → scale and text of the unit in which it is written, and what writes its figures
unless they are shares."""


def _meets(cell: Mapping[str, Level], conditions: When) -> bool:
    """Whether each setting in ``conditions`` has one of the given values in a cell. A setting that
    the cell's kind of test does not have matches no value, not even ``None`` (the host's default).
    """
    fields = kinds.FIELDS[str(cell["test"])] | {"pairing", "test"}
    return all(name in fields and cell.get(name) in levels for name, levels in conditions.items())


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that the probe of one end must be able to do."""

    role: EndName
    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md."""
    what: str
    """The cell's setting that requires it."""
    needed: bool = True
    """False: without the capability the cell is measured anyway, and its record shows the lack."""


_BOTH: tuple[EndName, EndName] = ("server", "client")


def demands(cell: Cell) -> tuple[Demand, ...]:
    """All demands of a cell on its two ends."""
    return _demands_of(cell.test, cell.setup)


def lacking(cell: Cell, can: Mapping[EndName, Collection[str] | None]) -> tuple[Demand, ...]:
    """The demands that the cell's ends do not meet.

    ``can`` has the capabilities of each end. An end whose capabilities are unknown (``None``) is
    assumed to meet all demands.
    """
    return tuple(
        demand
        for demand in demands(cell)
        if (capabilities := can.get(demand.role)) is not None
        and demand.capability not in capabilities
    )


@lru_cache(maxsize=1024)
def _demands_of(test: str, setup: kinds.Setup) -> tuple[Demand, ...]:
    """The demands do not depend on the pairing, of which a matrix may have many thousands."""
    settings: Mapping[str, Level] = {**setup.needed_too, **setup.settings()}
    rows = [
        kinds.ROWS[name]
        for name in dict.fromkeys([*_FIRST.split(), *kinds.ROWS])
        if name in settings
    ]
    direction = settings.get("direction")
    sender = {"client-sends": "client", "server-sends": "server"}.get(str(direction))
    found: list[Demand] = []
    for role in _BOTH:
        sends = sender in (None, role)
        receives = direction == "both" or not sends
        is_of = {"both": True, role: True, "sender": sends, "receiver": receives}
        for capability, setting in setup.demands():
            of_kind = test if setting == "test" else settings.get(setting, "")
            found.append(Demand(role, capability, f"{setting}: {of_kind}" if of_kind else setting))
        for row in rows:
            need, level = row.need, settings[row.field]
            if need is None or row.only_of not in (None, setup.protocol):
                continue
            if need.at in (None, level) and is_of.get(need.of):
                word = str(level).lower() if isinstance(level, bool) else str(level)
                setting_words = need.what or f"{row.key}: {word}"
                found.append(Demand(role, need.capability or word, setting_words, need.vital))
    return tuple(found)


_FIRST = (
    "ip_version dscp dont_fragment udp_checksum server_cpu client_cpu server_cpus client_cpus "
    "latency send_method receive"
)
"""Demands that are reported first if a host lacks several, in this order."""
