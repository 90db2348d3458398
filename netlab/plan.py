"""What `netlab plan` says: the cells of a matrix, their time, and what runs at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netlab.cells import Cell, expand
from netlab.errors import UsageError
from netlab.estimate import Estimate, estimate
from netlab.hosts import Inventory, load_inventory
from netlab.matrix import Link, Matrix, load_matrix
from netlab.progress import OVERHEAD_S
from netlab.schedule import Round, Trial, rounds
from netlab.units import format_bytes, format_rate, format_seconds, format_share

Ends = Mapping[str, tuple[str, str]]
"""Machines of server and client by pairing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A matrix with its rounds, as it would run."""

    matrix: Matrix
    cells: tuple[Cell, ...]
    rounds: tuple[Round, ...]
    """Of every trial; where they go on until they are tight, of as many as there may be."""
    fewest: tuple[Round, ...]
    """The same of as few as there may be."""
    ends: Ends
    inventory: str | None
    """File that the hosts come from; ``None`` where two of each system are assumed."""

    def as_text(self, *, with_cells: bool) -> str:
        """For people; ``with_cells`` lists each cell with its key."""
        return plan_text(self, with_cells=with_cells)

    def as_json(self) -> str:
        """The same and every cell, as one JSON document."""
        return json.dumps(plan_json(self), indent=2, allow_nan=False)


def plan_of(
    matrix_file: Path,
    hosts_file: Path | None,
    only: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> Planned:
    """Plan a matrix, without asking any host.

    Raises MatrixError and UsageError as `netlab run` would. Without an inventory each system is
    taken to have two hosts: then LL and WW share none.
    """
    matrix = load_matrix(matrix_file, overrides)
    chosen = chosen_of(expand(matrix), only)
    source = hosts_file or (matrix_file if matrix.has_inventory else None)
    pairings = dict.fromkeys(cell.pairing for cell in chosen)
    ends = _ends(pairings, None if source is None else load_inventory(source))
    fewest, most = (
        rounds(
            _trials(chosen, times),
            order=matrix.order,
            seed=matrix.seed,
            hosts_of=lambda cell: frozenset(ends[cell.pairing]),
            parallel=matrix.parallel,
        )
        for times in (matrix.fewest_of, matrix.repeats_of)
    )
    return Planned(
        matrix=matrix,
        cells=chosen,
        rounds=most,
        fewest=fewest,
        ends=ends,
        inventory=None if source is None else str(source),
    )


def _trials(cells: Collection[Cell], times: Callable[[Cell], int]) -> list[Trial]:
    """Every trial, block by block."""
    last = max(map(times, cells), default=0)
    return [Trial(c, number) for number in range(1, last + 1) for c in cells if number <= times(c)]


def chosen_of(cells: tuple[Cell, ...], only: Collection[str]) -> tuple[Cell, ...]:
    """The cells of the pairings in ``only``, all where none is named; UsageError for a stranger."""
    has = dict.fromkeys(cell.pairing for cell in cells)
    for pairing in sorted(set(only) - set(has)):
        known = ", ".join(has)
        raise UsageError(f"--only {pairing}: this matrix has no such pairing; it has {known}")
    return tuple(cell for cell in cells if not only or cell.pairing in only)


def plan_text(plan: Planned, *, with_cells: bool = False) -> str:
    """The plan for people: a line for each pairing and protocol, then the sums."""
    matrix = plan.matrix
    lines = [matrix.title, f"{matrix.file}, content {matrix.content_hash[:8]}", ""]
    lines += _table(plan)
    if with_cells:
        lines += ["", *(f"{cell.key}  {_settings(cell)}" for cell in plan.cells)]
    if matrix.scale != 1:
        lines += ["", f"Scaled: every count is taken times {matrix.scale:g}, at least 1"]
    if matrix.link is not None:
        lines += ["", _link(matrix.link)]
    lines += ["", _sum(plan), *_tightness(plan), _time(plan), *_simultaneity(plan)]
    lines += [f"Compared: {each.name}" for each in matrix.comparisons]
    return "\n".join(lines)


def plan_json(plan: Planned) -> dict[str, Any]:
    """The plan as plain data: ``cells`` and ``rounds`` are numbers, ``cell_list`` has each cell."""
    matrix = plan.matrix
    most, fewest = _estimates(plan)
    counts = {p: sum(cell.pairing == p for cell in plan.cells) for p in plan.ends}
    link = matrix.content["link"]
    return {
        "title": matrix.title,
        "file": matrix.file,
        "content_hash": matrix.content_hash,
        **({} if link is None else {"link": link}),
        "cells": len(plan.cells),
        "repeats": matrix.repeats,
        **({} if matrix.until is None else {"until": asdict(matrix.until)}),
        "trials": _number(plan.rounds),
        "trials_at_least": _number(plan.fewest),
        "rounds": len(plan.rounds),
        "seconds": round(most.time_s, 3),
        "seconds_at_least": round(fewest.time_s, 3),
        "trials_at_link_rate": most.at_link_rate,
        "trials_of_unknown_length": most.counted + most.searching,
        "pause_s": matrix.pause_s,
        "scale": matrix.scale,
        "order": matrix.order,
        "seed": matrix.seed,
        "parallel": matrix.parallel,
        "hosts_assumed": plan.inventory is None,
        "pairings": [
            {"pairing": p, "server": server, "client": client, "cells": counts[p]}
            for p, (server, client) in plan.ends.items()
        ],
        "at_the_same_time": [list(together) for together in _together(plan)],
        "compare": [each.name for each in matrix.comparisons],
        "cell_list": [
            {
                "key": c.key,
                "pairing": c.pairing,
                "test": c.test,
                "trials": matrix.repeats_of(c),
                "settings": dict(c.settings),
            }
            for c in plan.cells
        ],
    }


def _ends(pairings: Collection[str], inventory: Inventory | None) -> dict[str, tuple[str, str]]:
    """The machines that each pairing keeps busy, by its first choice of hosts."""
    ends = {}
    for pairing in pairings:
        if inventory is None:
            server, client = pairing[0], pairing[1]
            ends[pairing] = (f"{server}1", f"{client}2" if client == server else f"{client}1")
        else:
            first, second = inventory.pair(pairing)
            ends[pairing] = (first.machine or first.name, second.machine or second.name)
    return ends


def _table(plan: Planned) -> list[str]:
    """One line for each pairing and protocol, columns aligned."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.pairing, cell.test, cell.setup.protocol), []).append(cell)
    rows = [("pairing", "server, client", "test", "cells", "message sizes", "socket buffers")]
    for (pairing, test, protocol), cells in groups.items():
        sizes = dict.fromkeys(word for cell in cells for word in _message_size(cell))
        buffers = dict.fromkeys(cell.setup.socket_buffer_bytes for cell in cells)
        rows.append(
            (
                pairing,
                ", ".join(plan.ends[pairing]),
                f"{test} {protocol}",
                str(len(cells)),
                _listed(list(sizes)) if sizes else "searched",
                _listed(["auto" if each is None else format_bytes(each) for each in buffers]),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _message_size(cell: Cell) -> tuple[str, ...]:
    """Nothing where the size is what is looked for."""
    size = cell.settings.get("message_bytes")
    return () if size is None else (str(size),)


def _listed(words: list[str]) -> str:
    """All of them where they are few, else the ends and how many."""
    if len(words) <= 5:
        return ", ".join(words)
    return f"{words[0]}, {words[1]}, … {words[-1]} ({len(words)})"


def _settings(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.settings.items())


def _link(link: Link) -> str:
    tag = ", 802.1Q tag" if link.vlan else ""
    hops = f", {_many(link.hops, 'router')} between the hosts" if link.hops else ""
    return f"Link: {format_rate(link.rate_bit_per_s)}, MTU {link.mtu_bytes}{tag}{hops}"


def _sum(plan: Planned) -> str:
    """``416 cells x 1 trial = 416 trials in 416 rounds``."""
    matrix = plan.matrix
    numbers = [(matrix.fewest_of(cell), matrix.repeats_of(cell)) for cell in plan.cells]
    fewest, most = _number(plan.fewest), _number(plan.rounds)
    each = " or ".join(
        f"{low} to {high}" if low < high else str(high) for low, high in dict.fromkeys(numbers)
    )
    trials = f"{fewest} to {most} trials" if fewest < most else _many(most, "trial")
    rounds_ = f"{len(plan.fewest)} to {len(plan.rounds)} rounds"
    if len(plan.fewest) == len(plan.rounds):
        rounds_ = _many(len(plan.rounds), "round")
    blocks = f", shuffled in blocks with seed {matrix.seed}" if matrix.order == "shuffled" else ""
    word = "trial" if each == "1" else "trials"
    return f"{_many(len(plan.cells), 'cell')} x {each} {word} = {trials} in {rounds_}{blocks}"


def _number(planned: Collection[Round]) -> int:
    return sum(len(round_.trials) for round_ in planned)


def _tightness(plan: Planned) -> list[str]:
    until = plan.matrix.until
    if until is None:
        return []
    return [
        f"Until {format_share(until.within)} of the mean with {format_share(until.confidence)} "
        f"confidence, {until.at_least} to {until.at_most} trials: how many, the results decide"
    ]


def _estimates(plan: Planned) -> tuple[Estimate, Estimate]:
    """Of the most and of the fewest trials."""
    matrix = plan.matrix
    most, fewest = (
        estimate(each, matrix.link, overhead_s=OVERHEAD_S, pause_s=matrix.pause_s)
        for each in (plan.rounds, plan.fewest)
    )
    return most, fewest


def _time(plan: Planned) -> str:
    """How long it takes, and what of it nobody can know before."""
    most, fewest = _estimates(plan)
    sentences = []
    if most.longest_s:
        text = f"{'At least' if most.at_link_rate else 'About'} {format_seconds(fewest.time_s)}"
        if most.time_s > fewest.time_s:
            text += f", {format_seconds(most.time_s)} where every trial is needed"
        text += f"; the longest trial {format_seconds(most.longest_s)}"
        if plan.matrix.pause_s:
            text += f"; {format_seconds(plan.matrix.pause_s)} of pause between two rounds"
        sentences.append(text)
    if most.at_link_rate:
        sentences.append(
            f"{_are(most.at_link_rate)} bounded by a count, and reckoned at the link's rate: "
            "hosts may take longer"
        )
    if most.counted:
        sentences.append(
            f"{_are(most.counted)} bounded by a count, and nobody knows their time before"
        )
    if most.searching:
        verb = "searches" if most.searching == 1 else "search"
        sentences.append(
            f"{_many(most.searching, 'trial')} {verb} the path, which takes what the path makes "
            "it take"
        )
    return ". ".join(sentences)


def _are(trials: int) -> str:
    return f"{_many(trials, 'trial')} {'is' if trials == 1 else 'are'}"


def _together(plan: Planned) -> list[tuple[str, ...]]:
    """Pairings that share a round, each combination once."""
    combinations: dict[tuple[str, ...], None] = {}
    for round_ in plan.rounds:
        if len(round_.trials) > 1:
            combinations[tuple(sorted(trial.cell.pairing for trial in round_.trials))] = None
    return list(combinations)


def _simultaneity(plan: Planned) -> list[str]:
    together = [" with ".join(pairings) for pairings in _together(plan)]
    if not plan.matrix.parallel:
        return ["One trial at a time"]
    if not together:
        return ["One trial at a time: no two pairings are free of a common host"]
    note = "" if plan.inventory else " (if each system has two hosts; --hosts FILE tells)"
    return [f"At the same time: {'; '.join(together)}{note}"]


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
