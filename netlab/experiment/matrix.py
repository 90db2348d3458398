"""The matrix: what is to be measured, as its author wrote it and as plain data. No I/O.

A matrix gives settings a list of values (an axis). A cell is one combination of these values for
one pairing (a server and a client). A trial is one measurement of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from netlab.experiment.cells import Cell, Grid, expansion
from netlab.experiment.comparisons import Comparison
from netlab.experiment.expectations import Expectation
from netlab.experiment.stopping import StealRule, StopRule
from netlab.experiment.variants.variant import Variants


@dataclass(frozen=True, slots=True)
class Link:
    """The link between the hosts. It determines the wire ceilings (its highest payload rates)."""

    rate_bit_per_s: float
    """Bit rate of the line at layer 1, without the overhead of its line code."""
    mtu_bytes: int
    """Length of the largest IP packet."""
    vlan: bool = False
    """Whether frames carry an 802.1Q tag."""
    hops: int = 0
    """Routers between the hosts: a frame crosses ``hops`` + 1 cables, one after the other."""


@dataclass(frozen=True, slots=True)
class LongPath:
    """A longer path that contains the measured one; the findings estimate whether TCP would fill
    it.
    """

    rtt_s: float
    rate_bit_per_s: float
    """Payload rate."""


@dataclass(frozen=True, slots=True)
class NamedMirror:
    """A program or an echo service that answers round trips on the server, in place of netlab's own
    program (its probe).
    """

    name: str
    start: tuple[str, ...] = ()
    """The command that starts it on the server, with the placeholders ``{address}`` and ``{port}``;
    empty if it runs already."""
    address: str | None = None
    """The IP address at which it answers; ``None``: the server's test address."""
    port: int | None = None
    """``None``: a free port of the server."""
    interface: str | None = None
    """The server's interface at which the time in the server's stack is measured; ``None``: the
    interface of the route to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A whole experiment, as its author wrote it, with the changes of the option ``--set``."""

    title: str
    text: str
    """The text of the file, without a byte order mark."""
    file: str
    link: Link | None
    pairings: tuple[str, ...]
    """In the order written; each has the server first, such as ``WL`` or ``nas+laptop``."""
    grids: tuple[Grid, ...]
    """The tests: axes and rules."""
    repeats: int
    """Trials of a cell whose test has no number of its own; with ``until``, the maximum."""
    until: StopRule | None
    """The rule that ends the trials of a cell; ``None``: each cell has ``repeats`` trials."""
    quiet: StealRule | None
    """The rule by which disturbed trials are repeated; ``None``: they are not repeated."""
    pause_s: float
    """Pause between two trials."""
    order: Literal["as-written", "shuffled"]
    seed: int
    parallel: bool
    """Whether pairings that share no host may run at the same time."""
    observe: tuple[str, ...]
    """Names of observed hosts, which are neither server nor client: searches record their load and
    drops."""
    scale: float
    """Factor by which ``--set scale`` multiplied every ``count``; 1 by default."""
    comparisons: tuple[Comparison, ...]
    expectations: tuple[Expectation, ...]
    target: LongPath | None
    """The longer path for which the findings estimate TCP; ``None`` if the matrix names none."""
    content: dict[str, Any]
    """The data that identify a matrix, as plain JSON: link, pairings, tests, repeats, mirrors,
    variants.

    Two matrices with equal data are the same. Not included: title, hosts, observed hosts, order,
    pause, repeated trials, comparisons, expectations, the longer path, the notation of an axis, and
    the order of its values."""
    content_hash: str
    """SHA-256 of ``content``, in hex."""
    has_inventory: bool
    """Whether the file has a ``hosts:`` section."""
    own_repeats: Mapping[Cell, int] = field(repr=False)
    """Trials of the cells whose test has ``repeats`` of its own."""
    mirrors: Mapping[str, NamedMirror] = field(default_factory=dict)
    """Mirrors by the name that the setting ``mirror`` gives."""
    variants: Variants = field(default_factory=dict)
    """Groups of named states, which the setting ``variant`` combines."""
    switching: Literal["seldom", "interleaved"] = "seldom"
    """``seldom``: each block (one trial of every cell) measures one variant after the other.
    ``interleaved``: ``order`` decides when variants change."""
    common_window: bool = True
    """Whether streams that run at the same time start together and are measured over the same
    time."""

    def repeats_of(self, cell: Cell) -> int:
        """Trials of a cell; the maximum if a rule ``until`` ends them."""
        return self.own_repeats.get(cell, self.repeats) if self.own_repeats else self.repeats

    def fewest_of(self, cell: Cell) -> int:
        """The minimum number of trials of a cell."""
        until = self.until_of(cell)
        return self.repeats_of(cell) if until is None else until.at_least

    def until_of(self, cell: Cell) -> StopRule | None:
        """The rule that ends the trials of a cell; ``None`` if their number is fixed."""
        return None if cell in self.own_repeats else self.until


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """Every cell of a matrix in the order written: by pairing, then by test, then by its axes."""
    return expansion(matrix.pairings, matrix.grids).cells
