"""What shows that a cause acted: its cells, what it cost each of them, and what was counted.

All of it is read from the run with the cause, from its control run, and from the counters of the
planter, and is the same whatever the findings say.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.space.draw import ADDING, Planned
from benchmarks.space.forwarder import Acted
from benchmarks.space.plants import STOP_EVERY_S, selector_of
from benchmarks.space.rows import ROWS, Planter
from benchmarks.space.rules_of import acting_share
from benchmarks.space.words import Words
from benchmarks.truths.plants.hosts import BUFFERED_MS, PERIOD_MS
from netlab.errors import NetlabError
from netlab.findings.analysis import Analysis, load
from netlab.trial.record import Record, Status, as_number

CONTROL, RUN = "control", "run"
LEAST_COST = 0.3
"""A cause acted if it costs this part of the share that it should take."""
COUNTED = ("drops", "order", "copies", "corruption")
"""Of these, how much is the share of the packets."""
BY_COST: tuple[Planter, ...] = ("flow", "cable", "quota", "stops", "scaling", "memory")
"""Nothing counts what these planters did: it is the cost that shows it."""
INTENDED: tuple[Planter, ...] = ("quota", "stops", "scaling", "memory")
"""Of these, the planted share is what they were meant to cost, and nothing in the lab has it."""
QUANTITIES = (
    *("throughput_bit_per_s", "to_server_throughput_bit_per_s", "to_client_throughput_bit_per_s"),
    *("transactions_per_s", "frames_per_s"),
)
"""What may be lost, the first that a record has."""


def planter_of(words: Words) -> Planter:
    """How the cause is planted."""
    return ROWS[f"{words.where} {words.what}"].planter


def way_of(words: Words) -> int:
    """The way of the packets that the cause is about: 0 there, 1 back."""
    return int(words.where == "path-back")


def evidence_of(
    planned: Planned,
    words: Words,
    folder: Path,
    rule: Acted | None,
    counts: Mapping[str, Mapping[str, int]],
) -> dict[str, Any]:
    """What is known of one cause: the cells, the shares that are true, whether it acted.

    ``rule``: what its rule of the forwarder did in the whole run; ``counts``: in each cell.
    """
    selected, costs = cells_and_costs(planned, words, folder)
    cells = affected(planned, words, selected, costs)
    acted = has_acted(words, rule, counts, own_costs(planned, words, costs))
    if len(planned.parts) > 1:
        costs = {}  # they are those of both causes
    shares = shares_of(words, is_cost_known=bool(costs))
    if rule is not None and rule.share is not None and words.what in COUNTED:
        shares["counted"] = rule.share
    if costs and cells:
        shares["cost"] = statistics.fmean(costs[cell] for cell in cells if cell in costs)
    return {
        "cells": cells,
        "also": [cell for cell in selected if cell not in cells],
        "shares": {name: round(share, 4) for name, share in shares.items()},
        "costs": {cell: round(cost, 4) for cell, cost in costs.items()},
        "acted": acted,
        "rule": None if rule is None else {name: getattr(rule, name) for name in Acted.__slots__},
        "counts": {cell: dict(its) for cell, its in counts.items() if cell in selected},
    }


def has_acted(
    words: Words,
    rule: Acted | None,
    counts: Mapping[str, Mapping[str, int]],
    costs: Mapping[str, float],
) -> bool:
    """Whether the counters of the planter show the cause, or its cost does."""
    is_costly = any(cost >= LEAST_COST * words.share for cost in costs.values())
    if rule is not None and words.what == "rate":  # all that it selects pass through it
        return is_costly or not costs or sum(rule.dropped) > 0
    if rule is not None:
        return sum(rule.acted) > 0
    if planter_of(words) == "queue":
        return any(each["acted"] > 0 for each in counts.values())
    return is_costly or planter_of(words) == "mtu"


def shares_of(words: Words, *, is_cost_known: bool) -> dict[str, float]:
    """The shares that are true because the cause was planted so.

    ``acting``: while it is there; ``planted``: of all the time, if that is certain beforehand.
    """
    planter, acting = planter_of(words), acting_share(words)
    if planter == "quota":  # time that a program does not get: the buffers bridge some of it
        acting = words.share + BUFFERED_MS / PERIOD_MS
    elif planter == "stops":
        acting = words.share + BUFFERED_MS / 1e3 / STOP_EVERY_S
    shares = {"acting": acting}
    is_certain = planter not in INTENDED and abs(acting - words.share) < 1e-9
    if is_certain or not is_cost_known:
        shares["planted"] = words.share
    return shares


def cells_and_costs(
    planned: Planned, words: Words, folder: Path
) -> tuple[list[str], dict[str, float]]:
    """The cells that the cause selects, and what all causes of the run cost in each."""
    try:
        with_it, without = load(folder / RUN), load(folder / CONTROL)
    except NetlabError:
        return [], {}
    stand = planned.stand
    cells = [cell.key for cell in with_it.plan.cells if stand.acts(cell.settings)]
    return cells, costs_of(planned, words, cells, with_it, without)


def affected(
    planned: Planned, words: Words, cells: Sequence[str], costs: Mapping[str, float]
) -> list[str]:
    """The cells in which something is there to be found: without any, all that are selected.

    ``costs``: of all causes of the run. In a mixture a limit may be above what a cell offers.
    """
    is_limit = len(planned.parts) > 1 and f"{words.where} {words.what}" not in ADDING
    if not is_limit and planter_of(words) not in BY_COST:
        return [*cells]
    own, least = own_costs(planned, words, costs), LEAST_COST * words.share
    return [cell for cell in cells if own.get(cell, 0.0) >= least] or [*cells]


def own_costs(planned: Planned, words: Words, costs: Mapping[str, float]) -> Mapping[str, float]:
    """What one cause costs each cell, of what the other causes of a mixture leave if they drop."""
    lost = sum(
        part.share
        for part in planned.parts
        if part != words and f"{part.where} {part.what}" in ADDING
    )
    return {cell: 1 - (1 - cost) / (1 - lost) for cell, cost in costs.items()}


def costs_of(
    planned: Planned, words: Words, cells: Sequence[str], with_it: Analysis, without: Analysis
) -> dict[str, float]:
    """Cell → the share that a cause costs there, in its trials; not those where it is not known."""
    selector = selector_of(planned, words)
    costs: dict[str, float] = {}
    for cell in cells:
        reading = _mean(with_it, cell, lambda record: selector(record.trial))
        clean = _mean(without, cell, lambda _: True)
        if reading is not None and clean:
            costs[cell] = 1 - reading / clean
    return costs


def costs_of_trials(
    cells: Sequence[str], with_it: Analysis, without: Analysis
) -> dict[tuple[str, int], float]:
    """(cell, trial) → the share that is missing there, of what the cell reaches without a cause."""
    costs: dict[tuple[str, int], float] = {}
    for record in with_it.records:
        clean = _mean(without, record.cell, lambda _: True) if record.cell in cells else None
        if clean and (value := quantity(record)) is not None:
            costs[record.key] = 1 - value / clean
    return costs


def _mean(analysis: Analysis, cell: str, wanted: Callable[[Record], bool]) -> float | None:
    values = [
        value
        for record in analysis.records
        if record.cell == cell and wanted(record) and (value := quantity(record)) is not None
    ]
    return statistics.fmean(values) if values else None


def quantity(record: Record) -> float | None:
    """What a trial has reached. One that fails, or that the path does not let begin, has nothing.

    ``None``: not measured, or of a kind that reaches nothing.
    """
    if record.status in (Status.FAILED, Status.IMPOSSIBLE):
        return 0.0
    for name in QUANTITIES:
        if (value := as_number(record.values.get(name))) is not None:
            return value
    return None
