"""The matrix as its author wrote it, as plain data; and how many trials its cells have.

All decisions on a cell's trials follow from the records alone, in the order of the trials. So an
interrupted run, and any later reader of its folder, make the same decisions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from netlab import stats
from netlab.ethernet import Link
from netlab.experiment.cells import Cell, Comparison, Expectation, Grid, expansion
from netlab.experiment.sample import Sample, drawn
from netlab.experiment.variants import Variants
from netlab.trial.interruptions import interruptions
from netlab.trial.record import Record, Status
from netlab.units import format_share, many, plain_figures

JUDGED = (
    "throughput_bit_per_s",
    "to_server_throughput_bit_per_s",
    "to_client_throughput_bit_per_s",
    "transactions_per_s",
    "rtt_mean_ns",
    "payload_bytes",
    "frames_per_s",
)
"""Values of a record whose means must be precise, each separately, if the record has them."""

STEAL = "_host_steal_share"
"""Ending of the names of values with the share of a host's CPU time that a hypervisor stole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """A cell is measured until its mean is precise at two successive checks."""

    within: float
    """Maximum of half the confidence interval's width, as a share of the mean."""
    confidence: float
    """Confidence of Student’s interval; the true coverage is slightly less (``stats.precise``)."""
    at_least: int
    """Minimum number of trials of a cell, at least 3."""
    at_most: int
    """Maximum number of trials of a cell; a mean that is still not precise is reported as such."""

    def __str__(self) -> str:
        share, confidence = (plain_figures(100 * x, 6) for x in (self.within, self.confidence))
        return f"± {share} % at {confidence} %, {self.at_least} to {self.at_most} trials"


@dataclass(frozen=True, slots=True, kw_only=True)
class StealRule:
    """A trial is repeated if the hypervisor stole more of a host's CPU time than this.

    The measured results do not influence this decision. Results would look better than they are if
    they decided which trials count.
    """

    steal: float
    """Maximum share of a host's CPU time (of all CPUs) that may be stolen during a measurement."""
    tries: int
    """Maximum number of attempts at a trial, at least 2; the last attempt counts in any case."""

    def is_disturbed(self, record: Record) -> bool:
        """Whether a trial has a result, but more CPU time of a host was stolen than allowed."""
        return record.status is Status.OK and any(
            name.endswith(STEAL) and (record.number(name) or 0) > self.steal
            for name in record.values
        )

    def asks_again(self, record: Record) -> bool:
        """Whether this attempt must be followed by another one."""
        return record.attempt < self.tries and self.is_disturbed(record)

    def disturbed(self, trials: int) -> str:
        """A clause: ``3 trials lost more than 0.5 % of a host's CPU time to others …``."""
        lost = f"{many(trials, 'trial')} lost more than {format_share(self.steal)}"
        return f"{lost} of a host's CPU time to others on its hypervisor"


@dataclass(frozen=True, slots=True)
class CellProgress:
    """The progress of a cell's trials."""

    trials: int
    """Number of trials: recorded ones, and those that the records so far require; at least 1."""
    ended: bool
    precise: bool | None = None
    """``False``: all trials are recorded, but the cell is not precise. ``None``: not judged
    (yet)."""


def outline(record: Record) -> Record:
    """The record with only the values that rules use. This saves memory in runs with many trials.

    If data stopped in a trial, its record keeps all values, because they determine whether the
    trial is repeated.
    """
    if any(interruptions(record)):
        return record
    used = [name for name in record.values if name in JUDGED or name.endswith(STEAL)]
    return replace(record, settings={}, values={name: record.values[name] for name in used})


def progress_of(rule: int | StopRule, latest: Mapping[int, Record]) -> CellProgress:
    """The progress of a cell by its rule: a number of trials, or a ``StopRule``. ``latest``: the
    valid record of each trial.

    Failed trials have no value, and no other trial replaces them: a resumed run repeats them. No
    further trials are requested while more trials have failed than have a result, or if the host or
    the protocol refuses the cell.
    """
    if isinstance(rule, int):
        return CellProgress(rule, ended=True)
    recorded = max(latest, default=1)
    ok_records: list[Record] = []
    failed = 0
    for number in range(1, rule.at_most + 1):
        record = latest.get(number)
        if record is None or record.status is Status.PENDING:
            return CellProgress(max(number, rule.at_least, recorded), ended=False)
        if record.status is Status.IMPOSSIBLE:
            return CellProgress(max(number, recorded), ended=True)
        failed += record.status is Status.FAILED
        ok_records += [record] if record.status is Status.OK else []
        if number < rule.at_least:
            continue
        if failed > len(ok_records):
            return CellProgress(max(number, recorded), ended=False)
        series = []
        for name in JUDGED:
            values = tuple([v for record in ok_records if (v := record.number(name)) is not None])
            series += [values] if values else []
        if series and all(_tight(values, rule.within, rule.confidence) for values in series):
            return CellProgress(max(number, recorded), ended=True, precise=True)
    return CellProgress(rule.at_most, ended=True, precise=False)


_tight = lru_cache(maxsize=1 << 16)(stats.precise)
"""Cached, because the same trials are checked again after each new trial."""


@dataclass(frozen=True, slots=True)
class LongPath:
    """A longer path that contains the measured one: would TCP fill it?"""

    rtt_s: float
    rate_bit_per_s: float
    """Payload rate."""


@dataclass(frozen=True, slots=True)
class NamedMirror:
    """A program or an echo service that answers round trips on the server in place of the probe."""

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
    """Without a byte order mark."""
    file: str
    link: Link | None
    pairings: tuple[str, ...]
    """In the order written; each has the server first, such as ``WL`` or ``nas+laptop``."""
    grids: tuple[Grid, ...]
    repeats: int
    """Trials of a cell whose test has no number of its own; with ``until``, the maximum."""
    until: StopRule | None
    """The rule that ends the trials of a cell; ``None``: each cell has ``repeats`` trials."""
    quiet: StealRule | None
    """The rule by which disturbed trials are repeated; ``None``: they are not repeated."""
    pause_s: float
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
    content: dict[str, Any]
    """The data that identify a matrix, as plain JSON: link, pairings, tests, repeats, mirrors,
    variants.

    Two matrices with equal data are the same. Not included: title, hosts, observed hosts, order,
    pause, repeated trials, comparisons, expectations, the longer path, the notation of an axis, and
    the order of its values."""
    content_hash: str
    has_inventory: bool
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
    sample: Sample | None = None
    """``None``: every cell is measured."""

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


def sorted_json(content: object) -> str:
    """JSON that is the same for equal content, for a checksum of it."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """The cells of a matrix, or of its sample, in the order written: by pairing, test, and axes."""
    cells = expansion(matrix.pairings, matrix.grids).cells
    return cells if matrix.sample is None else drawn(cells, matrix.sample)
