"""Expands a matrix into its cells: the product of the axes, after the matrix's rules. No I/O.

An axis is a setting with the list of its values in a matrix; a level is one of these values. The
product of the axes has every combination of one level of each axis. The matrix's rules change some
combinations and exclude others.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from netlab.experiment.feasibility import faults_of
from netlab.experiment.kinds import (
    DEFAULTS_OF,
    ONLY_OF_TCP,
    ONLY_OF_UDP,
    SETUPS,
    PayloadSearch,
    TestSettings,
    ThroughputSearch,
)
from netlab.experiment.settings import Level, Scalar


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of a pairing, a kind of test, and one value of each axis."""

    pairing: str
    """The two ends, server first: letters of two operating systems, such as ``WL`` (Windows and
    Linux), or names of two hosts, such as ``nas+laptop``."""
    test: str
    """The kind of test: a key of ``SETUPS``."""
    setup: TestSettings

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
        return "-".join((self.pairing, self.test, *_key_words(self.setup), digest))


def _key_words(setup: TestSettings) -> tuple[str, ...]:
    """The readable words of a cell's key: ``tcp``, ``64``, ``16384``."""
    buffer = setup.socket_buffer_bytes
    buffer_word = "auto" if buffer is None else str(buffer)
    if isinstance(setup, PayloadSearch):
        return (setup.protocol.lower(), f"ipv{setup.ip_version}", buffer_word)
    size_bytes = setup.frame_bytes if isinstance(setup, ThroughputSearch) else setup.message_bytes
    return (setup.protocol.lower(), str(size_bytes), buffer_word)


DEFAULTS: Mapping[str, Level] = {
    name: level for test in reversed([*SETUPS]) for name, level in DEFAULTS_OF[test].items()
}
"""Default of each setting. If kinds of test have different defaults for a setting, this is the
default of the kind that comes first in ``SETUPS``: that is the stream, if it has the setting."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for the cells in which each setting named in ``when`` (or ``pairing``) has one of the
    values given there.
    """

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
        product = 1
        for levels in self.axes.values():
            product *= len(levels)
        return product


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
    same_for_all: dict[int, list[TestSettings]] = {}
    for pairing in pairings if by_pairing else pairings[:1]:
        for index, grid in enumerate(grids):
            setups = same_for_all.get(index)
            if setups is None:
                combinations = _combinations(pairing, index, grid, matching_rules, problems)
                setups = [_setup(index, grid, levels, problems) for levels in combinations]
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
        faults += _idle_rules(index, grid, matching_rules)
        if index not in indices_with_cells:
            faults.append(Problem(index, "test", "every cell of the test is excluded"))
    all_cells, of_grids = tuple(cells), tuple(cells.values())
    if not by_pairing:  # then the cells of the other pairings are those of the first one
        all_cells += tuple(
            [
                Cell(pairing=pairing, test=cell.test, setup=cell.setup)
                for pairing in pairings[1:]
                for cell in cells
            ]
        )
        of_grids *= len(pairings)
    return Expansion(all_cells, of_grids, tuple(faults))


def _setup(
    index: int, grid: Grid, settings: dict[str, Level], problems: dict[object, Problem]
) -> TestSettings:
    """The settings of a cell as an object; faults of them are added to ``problems``."""
    setup = SETUPS[grid.test](**settings)  # type: ignore[arg-type]  # checked before
    for name, message in faults_of(setup):
        fault = Problem(index, "setting", message, field=name, level=settings[name])
        problems.setdefault(fault, fault)
    return setup


def _combinations(
    pairing: str,
    index: int,
    grid: Grid,
    matching_rules: set[tuple[int, str, int]],
    problems: dict[object, Problem],
) -> Iterator[dict[str, Level]]:
    """The settings of each cell of a grid, after the grid's rules.

    A setting that does not apply to the cell's protocol gets its default. For example, UDP has no
    congestion control, so two UDP combinations that differ only in this setting are one cell. If
    rules make two combinations equal, a problem is added to ``problems``.
    """
    names = tuple(grid.axes)
    earlier: set[tuple[Level, ...]] = set()
    for levels in itertools.product(*grid.axes.values()):
        combination: dict[str, Level] = {
            "pairing": pairing,
            **dict(zip(names, levels, strict=True)),
        }
        last: tuple[RuleKind, int] | None = None
        excluded = False
        for kind, rules in grid.rules:
            for number, rule in enumerate(rules):
                if rule.matches(combination):
                    matching_rules.add((index, kind, number))
                    excluded = excluded or kind == "exclude"
                    if rule.then:
                        combination |= rule.then
                        last = (kind, number)
            if excluded:
                break
        if excluded:
            continue
        content = tuple(combination.values())
        if content in earlier:
            equal = _made_equal(index, grid, last, combination)
            problems.setdefault((index, equal.kind, equal.rule), equal)
        earlier.add(content)
        del combination["pairing"]
        yield applicable(grid.test, combination)


def _made_equal(
    index: int, grid: Grid, last: tuple[RuleKind, int] | None, combination: Mapping[str, Level]
) -> Problem:
    axes = [name for name, levels in grid.axes.items() if len(levels) > 1]
    cell = ", ".join(f"{name} {combination[name]}" for name in axes)
    message = f"gives two cells the same settings, such as {combination['pairing']}: {cell}"
    # If no rule changed this combination, a rule made an earlier combination equal to it.
    kind, rule = last or ("replace" if grid.replace else "override", 0)
    return Problem(index, kind, message, rule=rule)


def _idle_rules(
    index: int, grid: Grid, matching_rules: set[tuple[int, str, int]]
) -> Iterator[Problem]:
    for kind, rules in grid.rules:
        for number in range(len(rules)):
            if (index, kind, number) not in matching_rules:
                yield Problem(index, kind, "matches no cell", rule=number)


def applicable(test: str, settings: Mapping[str, Level]) -> dict[str, Level]:
    """The settings of a cell, in which each setting that does not apply to the protocol of the cell
    has its default.
    """
    idle = ONLY_OF_TCP if settings["protocol"] == "UDP" else ONLY_OF_UDP
    defaults = DEFAULTS_OF[test]
    return {name: defaults[name] if name in idle else level for name, level in settings.items()}
