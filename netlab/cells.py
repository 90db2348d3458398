"""Cells: Matrix → Cells, the product of the axes with exclusions and content keys. Pure."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from netlab.matrix import Matrix

Scalar = str | int | float | bool
Level = Scalar | None
"""One value of an axis; ``None`` leaves it to the host (``socket_buffer: auto``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Settings of one ``stream`` cell. ``None`` leaves the host's default alone."""

    protocol: Literal["TCP", "UDP"]
    message_bytes: int
    """Bytes handed to one send call, 1 to 2^24."""
    socket_buffer_bytes: int | None = None
    """SO_SNDBUF and SO_RCVBUF of both ends; ``None`` is ``auto``, the kernel's own tuning."""
    duration_s: float | None = 10.0
    """Length of the window; ``None`` where ``count`` bounds the trial."""
    count: int | None = None
    """Messages to send, in place of a duration."""
    warm_up_s: float = 0.0
    direction: Literal["client-sends", "server-sends", "both"] = "client-sends"
    streams: int = 1
    ip_version: Literal[4, 6] = 4
    congestion: str | None = None
    nodelay: bool = False
    dont_fragment: bool = False
    rate_bit_per_s: float | None = None
    """Offered payload rate, open loop; ``None`` sends as fast as the socket takes it."""
    message_rate_per_s: float | None = None
    dscp: int | None = None
    source_port: int | None = None
    interface: str | None = None
    receive: Literal["blocking", "spinning"] = "blocking"
    server_cpu: int | None = None
    client_cpu: int | None = None
    network: str | None = None
    """Name of the test addresses to use; ``None`` is the first of each host."""

    def settings(self) -> dict[str, Scalar]:
        """All that is set, as flat keys with their units; ``None`` is left out."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of pairing, test and every axis value."""

    pairing: str
    """Server first, such as ``WL``."""
    test: str
    stream: Stream

    @property
    def settings(self) -> Mapping[str, Scalar]:
        """All that is set, as flat keys with their units."""
        return self.stream.settings()

    @property
    def key(self) -> str:
        """Content key, readable and unique: ``LL-stream-tcp-64-16384-1a2b3c4d``."""
        content = {"pairing": self.pairing, "test": self.test, **self.settings}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:8]
        buffer = self.stream.socket_buffer_bytes
        words = (
            self.pairing,
            self.test,
            self.stream.protocol.lower(),
            str(self.stream.message_bytes),
            "auto" if buffer is None else str(buffer),
            digest,
        )
        return "-".join(words)


DEFAULTS: Mapping[str, Level] = {
    f.name: f.default for f in fields(Stream) if f.default is not MISSING
}
"""What a setting is where nobody says anything."""

EXCLUSIVE = (("duration_s", "count"), ("rate_bit_per_s", "message_rate_per_s"))
"""Settings of which a cell has one at most: naming one takes the other back."""

ONLY_OF_TCP = frozenset({"congestion", "nodelay"})
ONLY_OF_UDP = frozenset({"dont_fragment"})

UDP_MOST_BYTES = {4: 65507, 6: 65527}
"""What one UDP message can carry, by IP version."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for the cells whose settings (and ``pairing``) are among those of ``when``."""

    when: Mapping[str, frozenset[Level]]
    then: Mapping[str, Level]
    """The settings they get; empty for an exclusion."""

    def matches(self, combination: Mapping[str, Level]) -> bool:
        """Whether a combination of settings (with its ``pairing``) is meant."""
        return all(combination[name] in levels for name, levels in self.when.items())


@dataclass(frozen=True, slots=True)
class Grid:
    """One test of a matrix: the product of its axes, and the rules applied to it in this order."""

    test: str
    axes: Mapping[str, tuple[Level, ...]]
    """Every field of ``Stream`` with its values; the last axis varies fastest."""
    replace: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    override: tuple[Rule, ...] = ()

    @property
    def size(self) -> int:
        """Combinations of its axes, before any rule, for one pairing."""
        product = 1
        for levels in self.axes.values():
            product *= len(levels)
        return product


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a grid that makes no sense."""

    grid: int
    kind: Literal["test", "replace", "exclude", "override", "setting"]
    message: str
    rule: int = 0
    """Index of the rule at fault."""
    field: str = ""
    """The setting at fault, with its ``level``."""
    level: Level = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """The cells of some grids, and what is wrong with them."""

    cells: tuple[Cell, ...]
    problems: tuple[Problem, ...]


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """Every cell of a matrix, as written: by pairing, then by test, then by its axes."""
    return expansion(matrix.pairings, matrix.grids).cells


def expansion(pairings: Sequence[str], grids: Sequence[Grid]) -> Expansion:
    """The cells of ``grids`` between ``pairings``. Of problems of one kind and place the first."""
    cells: dict[Cell, int] = {}
    problems: dict[object, Problem] = {}
    used: set[tuple[int, str, int]] = set()
    filled: set[int] = set()
    for pairing in pairings:
        for index, grid in enumerate(grids):
            for settings in _combinations(pairing, index, grid, used, problems):
                filled.add(index)
                stream = Stream(**settings)  # type: ignore[arg-type]  # checked by the model
                for problem in _problems_of(index, stream):
                    problems.setdefault(problem, problem)
                cell = Cell(pairing=pairing, test=grid.test, stream=stream)
                other = cells.setdefault(cell, index)
                if other != index:
                    message = f"the cell {cell.key} stands in tests[{other}] as well"
                    problems.setdefault((index, other), Problem(index, "test", message))
    found = list(problems.values())
    for index, grid in enumerate(grids):
        found += _idle_rules(index, grid, used)
        if index not in filled:
            found.append(Problem(index, "test", "every cell of the test is excluded"))
    return Expansion(tuple(cells), tuple(found))


def _combinations(
    pairing: str,
    index: int,
    grid: Grid,
    used: set[tuple[int, str, int]],
    problems: dict[object, Problem],
) -> Iterator[dict[str, Level]]:
    """The settings of a grid's cells, rules applied; those that do not apply are left out.

    Combinations that differ only in what does not apply to them (UDP has no congestion control)
    are one cell. Those that rules make equal are a problem.
    """
    names = tuple(grid.axes)
    made: set[tuple[Level, ...]] = set()
    applied = (("replace", grid.replace), ("exclude", grid.exclude), ("override", grid.override))
    for levels in itertools.product(*grid.axes.values()):
        combination: dict[str, Level] = {
            "pairing": pairing,
            **dict(zip(names, levels, strict=True)),
        }
        last: tuple[str, int] | None = None
        excluded = False
        for kind, rules in applied:
            for number, rule in enumerate(rules):
                if rule.matches(combination):
                    used.add((index, kind, number))
                    excluded = excluded or kind == "exclude"
                    if rule.then:
                        combination |= rule.then
                        last = (kind, number)
            if excluded:
                break
        if excluded:
            continue
        content = tuple(combination.values())
        if content in made:
            equal = _made_equal(index, grid, last, combination)
            problems.setdefault((index, equal.kind, equal.rule), equal)
        made.add(content)
        del combination["pairing"]
        yield _applicable(combination)


def _made_equal(
    index: int, grid: Grid, last: tuple[str, int] | None, combination: Mapping[str, Level]
) -> Problem:
    axes = [name for name, levels in grid.axes.items() if len(levels) > 1]
    cell = ", ".join(f"{name} {combination[name]}" for name in axes)
    message = f"makes two cells equal, such as {combination['pairing']}: {cell}"
    if last is None:
        # The rule stood earlier: it turned another combination into this one.
        rules = [("replace", number) for number in range(len(grid.replace))]
        last = (rules or [("override", 0)])[0]
    kind: Literal["replace", "override"] = "replace" if last[0] == "replace" else "override"
    return Problem(index, kind, message, rule=last[1])


def _applicable(settings: Mapping[str, Level]) -> dict[str, Level]:
    """The settings without those that mean nothing for the cell's protocol."""
    idle = ONLY_OF_TCP if settings["protocol"] == "UDP" else ONLY_OF_UDP
    return {name: DEFAULTS[name] if name in idle else level for name, level in settings.items()}


def _problems_of(index: int, stream: Stream) -> Iterator[Problem]:
    """What no host could measure."""
    most = UDP_MOST_BYTES[stream.ip_version]
    if stream.protocol == "UDP" and stream.message_bytes > most:
        yield Problem(
            index,
            "setting",
            f"a UDP message carries {most} bytes at most over IPv{stream.ip_version}: "
            "`replace` it for UDP, or `exclude` it",
            field="message_bytes",
            level=stream.message_bytes,
        )
    if stream.source_port is not None and (stream.streams > 1 or stream.direction == "both"):
        yield Problem(
            index,
            "setting",
            "one source port serves one stream: not several `streams`, nor `direction: both`",
            field="source_port",
            level=stream.source_port,
        )


def _idle_rules(index: int, grid: Grid, used: set[tuple[int, str, int]]) -> Iterator[Problem]:
    kinds: tuple[tuple[Literal["replace", "exclude", "override"], tuple[Rule, ...]], ...] = (
        ("replace", grid.replace),
        ("exclude", grid.exclude),
        ("override", grid.override),
    )
    for kind, rules in kinds:
        for number in range(len(rules)):
            if (index, kind, number) not in used:
                yield Problem(index, kind, "matches no cell", rule=number)
