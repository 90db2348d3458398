"""What is to be measured: a matrix, as its author wrote it and as plain data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from netlab.experiment.cells import Cell, Grid, expansion
from netlab.experiment.comparisons import Comparison
from netlab.experiment.expectations import Expectation
from netlab.experiment.stopping import StealRule, StopRule


@dataclass(frozen=True, slots=True)
class Link:
    """The link between the hosts, for the wire ceilings."""

    rate_bit_per_s: float
    """Of the line, layer 1 without the line code."""
    mtu_bytes: int
    """Of the largest IP packet."""
    vlan: bool = False
    """Whether frames carry an 802.1Q tag."""
    hops: int = 0
    """Routers between the hosts: a frame goes over ``hops`` + 1 cables, one after the other."""


@dataclass(frozen=True, slots=True)
class LongPath:
    """A path that TCP is to fill, once what was measured is a part of it."""

    rtt_s: float
    rate_bit_per_s: float
    """Of payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A whole experiment, as its author wrote it, with ``--set`` applied."""

    title: str
    text: str
    """The file as it is, without a byte order mark."""
    file: str
    link: Link | None
    pairings: tuple[str, ...]
    """Server first, in the order written."""
    grids: tuple[Grid, ...]
    """The tests: axes and rules."""
    repeats: int
    """Trials of a cell, where its test says nothing of its own; with ``until`` the most."""
    until: StopRule | None
    """Where trials go on until they are tight; ``None``: ``repeats`` of them."""
    quiet: StealRule | None
    """Which trials are measured again because they were disturbed; ``None``: none."""
    pause_s: float
    """Between two trials."""
    order: Literal["as-written", "shuffled"]
    seed: int
    parallel: bool
    """Whether pairings that share no host may run at the same time."""
    observe: tuple[str, ...]
    """Hosts that are neither end, by name: searches record their load and their drops."""
    scale: float
    """Times which every ``count`` was taken by ``--set scale``; 1 where nobody set it."""
    comparisons: tuple[Comparison, ...]
    expectations: tuple[Expectation, ...]
    target: LongPath | None
    """What the findings are to say of a longer path; ``None``: nothing."""
    content: dict[str, Any]
    """What makes two matrices the same, as plain JSON data: link, pairings, tests and repeats.

    Not the title, the hosts, who is observed, the order, the pause, what is measured again, what
    is compared, expected or asked of a longer path; nor how an axis is written or its values are
    sorted.
    """
    content_hash: str
    """SHA-256 of ``content``, in hex."""
    has_inventory: bool
    """Whether the file has a ``hosts:`` section."""
    own_repeats: Mapping[Cell, int] = field(repr=False)
    """Trials of the cells whose test has ``repeats`` of its own."""
    common_window: bool = True
    """Whether streams that run at the same time start together and are cut by one window."""

    def repeats_of(self, cell: Cell) -> int:
        """Trials of a cell; the most of them where it has an ``until``."""
        return self.own_repeats.get(cell, self.repeats)

    def fewest_of(self, cell: Cell) -> int:
        """Trials of a cell, the fewest that it may come to."""
        until = self.until_of(cell)
        return self.repeats_of(cell) if until is None else until.at_least

    def until_of(self, cell: Cell) -> StopRule | None:
        """When the trials of a cell are tight; ``None`` where their number is fixed."""
        return None if cell in self.own_repeats else self.until


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """Every cell of a matrix, as written: by pairing, then by test, then by its axes."""
    return expansion(matrix.pairings, matrix.grids).cells
