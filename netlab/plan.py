"""What `netlab plan` says: the cells of a matrix, their time, and what runs at the same time."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab import setups
from netlab.cells import Cell, expand
from netlab.errors import UsageError
from netlab.hosts import Inventory, load_inventory
from netlab.matrix import Matrix, load_matrix
from netlab.progress import OVERHEAD_S
from netlab.schedule import Round, rounds, seconds, trials_of, window_s
from netlab.units import format_bytes, format_rate, format_seconds

Ends = Mapping[str, tuple[str, str]]
"""Machines of server and client by pairing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A matrix with its rounds, as it would run."""

    matrix: Matrix
    cells: tuple[Cell, ...]
    rounds: tuple[Round, ...]
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
    return Planned(
        matrix=matrix,
        cells=chosen,
        rounds=rounds(
            trials_of(chosen, matrix.repeats),
            order=matrix.order,
            seed=matrix.seed,
            hosts_of=lambda cell: frozenset(ends[cell.pairing]),
            parallel=matrix.parallel,
        ),
        ends=ends,
        inventory=None if source is None else str(source),
    )


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
    if matrix.link is not None:
        tag = ", 802.1Q tag" if matrix.link.vlan else ""
        rate = format_rate(matrix.link.rate_bit_per_s)
        lines += ["", f"Link: {rate}, MTU {matrix.link.mtu_bytes}{tag}"]
    trials = len(plan.cells) * matrix.repeats
    blocks = f", shuffled in blocks with seed {matrix.seed}" if matrix.order == "shuffled" else ""
    lines += [
        "",
        f"{_many(len(plan.cells), 'cell')} x {_many(matrix.repeats, 'trial')} = "
        f"{_many(trials, 'trial')} in {_many(len(plan.rounds), 'round')}{blocks}",
        _time(plan),
        *_simultaneity(plan),
    ]
    return "\n".join(lines)


def plan_json(plan: Planned) -> dict[str, Any]:
    """The plan as plain data: ``cells`` and ``rounds`` are numbers, ``cell_list`` has each cell."""
    matrix = plan.matrix
    counts = {p: sum(cell.pairing == p for cell in plan.cells) for p in plan.ends}
    link = matrix.content["link"]
    return {
        "title": matrix.title,
        "file": matrix.file,
        "content_hash": matrix.content_hash,
        **({} if link is None else {"link": link}),
        "cells": len(plan.cells),
        "repeats": matrix.repeats,
        "trials": len(plan.cells) * matrix.repeats,
        "rounds": len(plan.rounds),
        "seconds": round(seconds(plan.rounds, OVERHEAD_S), 3),
        "trials_of_unknown_length": _open_ended(plan),
        "order": matrix.order,
        "seed": matrix.seed,
        "parallel": matrix.parallel,
        "hosts_assumed": plan.inventory is None,
        "pairings": [
            {"pairing": p, "server": server, "client": client, "cells": counts[p]}
            for p, (server, client) in plan.ends.items()
        ],
        "at_the_same_time": [list(together) for together in _together(plan)],
        "cell_list": [
            {"key": c.key, "pairing": c.pairing, "test": c.test, "settings": dict(c.settings)}
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


def _time(plan: Planned) -> str:
    longest = max((window_s(cell) for cell in plan.cells), default=0.0)
    time = format_seconds(seconds(plan.rounds, OVERHEAD_S))
    text = f"About {time}; the longest trial {format_seconds(longest)}"
    open_ended = _open_ended(plan)
    if open_ended:
        verb = "is" if open_ended == 1 else "are"
        text += f". {_many(open_ended, 'trial')} {verb} bounded by a count, and not in this time"
    return text


def _open_ended(plan: Planned) -> int:
    """Trials that a count bounds without a rate: how long they take, nobody knows before."""
    cells = sum(setups.window_s(cell.setup) is None for cell in plan.cells)
    return cells * plan.matrix.repeats


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
