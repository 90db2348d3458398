"""Counts how often a sample of a matrix says what the whole matrix says: `make benchmark-sample`.

Matrices of about 5,000 cells are drawn: five axes, and the throughput of a cell is the least of
what the wire, the CPUs, the windows and losses allow, times something of the cell's own. Of each
matrix, a sample of 200 cells is chosen with each method. Two trials of each of these cells, with
noise, are given to netlab, and its effects are compared with those of all cells without noise:

- of every two levels whose intervals are apart, the order is right: over all other axes, and within
  the levels of the other axis of the named pair. In at least 95 of 100 matrices, all must be;
- the shares of the axes and of the named pair.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.stage import Verdict, finish, table
from benchmarks.truths.score import wilson
from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell, Grid, expansion
from netlab.experiment.matrix import expand
from netlab.experiment.sample import Sample, drawn
from netlab.kinds import DEFAULTS_OF
from netlab.results.effects import kind_effects
from netlab.results.run import Run, load
from netlab.stats import mean
from netlab.stats.effects import AxisEffect, effects_of, squares_of
from netlab.trial.record import by_cell

Method = Literal["fractional", "latin-hypercube", "random"]
METHODS: tuple[Method, ...] = ("fractional", "latin-hypercube", "random")
LEAST_RIGHT = 0.95
AXES = ("message_bytes", "socket_buffer_bytes", "streams", "network", "tcp_send_method")
PAIR = ("socket_buffer_bytes", "network")
"""The pair that each sample names: over the delay of a path, the buffers limit the window."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A matrix: the levels of its axes, its cells, and the logarithm of each cell's throughput."""

    axes: dict[str, tuple[Any, ...]]
    cells: tuple[Cell, ...]
    truth: Any
    """An array with a dimension for each axis."""
    shares: dict[tuple[str, ...], float]
    """Axes of a term → its share of the variation."""
    noise: float
    """Standard deviation of the logarithm of a trial's throughput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A sample of a matrix compared with the whole matrix."""

    levels: int
    """Number of pairs of levels."""
    apart: int
    """Those whose intervals are apart."""
    wrong: int
    """Those of them in the wrong order."""
    errors: tuple[float, ...]
    """Of each axis's share, and of the pair's: the difference from that of the whole matrix."""
    held: tuple[bool, ...]
    """Whether the intervals of these shares contain the share of the whole matrix."""
    seconds: float
    """Time that netlab took for the effects."""


def _spread(chance: np.random.Generator, low: float, high: float, number: int) -> Any:
    """Numbers evenly distributed by their logarithms."""
    return np.exp(chance.uniform(math.log(low), math.log(high), number))


def drawn_matrix(chance: np.random.Generator) -> Drawn:
    """A matrix of about 4,500 to 5,500 cells."""
    sizes = [0]
    while not 4500 <= 2 * math.prod(sizes) <= 5500:
        sizes = chance.integers((6, 6, 3, 3), (15, 15, 8, 8)).tolist()
    messages = np.unique(_spread(chance, 64, 65536, sizes[0]).astype(int))
    buffers = np.unique(_spread(chance, 8e3, 8e6, sizes[1]).astype(int))
    delays_s = _spread(chance, 2e-5, 0.1, sizes[3])
    streams, calls = np.arange(1, sizes[2] + 1), np.array([1, chance.uniform(0.5, 1)])
    networks = [f"path{at}" for at in range(len(delays_s))]
    levels = messages.tolist(), buffers.tolist(), streams.tolist(), networks, ["plain", "batch"]
    axes = {name: tuple(own) for name, own in zip(AXES, levels, strict=True)}
    m, b, s, delay_s, call = np.ix_(messages, buffers, streams, delays_s, calls)
    ends = (1e7, 1e10), (2e-7, 2e-5), (5e-11, 1e-9), (1e-7, 1e-3)
    rate, call_s, byte_s, lost = (_spread(chance, low, high, 1)[0] for low, high in ends)
    limits = (
        np.array(rate),  # the wire, bytes a second
        m / (call_s * call + byte_s * m) * s ** chance.uniform(0, 1),  # CPUs: calls, and copying
        s * b / delay_s,  # windows
        s * 1448 / delay_s / math.sqrt(lost),  # congestion control, with losses
    )
    truth = np.log(reduce(np.minimum, limits))
    truth = truth + chance.normal(0, chance.uniform(0, 0.1), truth.shape)
    defaults = {name: (level,) for name, level in DEFAULTS_OF["stream"].items()}
    grid = Grid("stream", {**defaults, "protocol": ("TCP",), **axes})
    squares = {tuple(AXES[at] for at in term): own[0] for term, own, *_ in squares_of(truth)}
    shares = {term: own / math.fsum(squares.values()) for term, own in squares.items()}
    return Drawn(axes, expansion(["LL"], [grid]).cells, truth, shares, chance.uniform(0.005, 0.1))


def compared(matrix: Drawn, method: Method, number: int, chance: np.random.Generator) -> Compared:
    """The effects in a sample of ``number`` cells, which are drawn with a seed of their own."""
    seed = int(chance.integers(2**32))
    sample = Sample(cells=number, of=len(matrix.cells), method=method, seed=seed, pairs=(PAIR,))
    trials = {}
    for cell in drawn(matrix.cells, sample):
        levels = tuple(cell.settings[name] for name in AXES)
        place = tuple(
            own.index(level) for own, level in zip(matrix.axes.values(), levels, strict=True)
        )
        trials[levels] = np.exp(chance.normal(matrix.truth[place], matrix.noise, 2)).tolist()
    began = time.perf_counter()
    effects = effects_of(matrix.axes, trials, logarithmic=True, pairs=[PAIR])
    seconds = time.perf_counter() - began
    terms = [term for term in effects.terms if len(term.axes) < len(AXES)]
    shares = [matrix.shares[term.axes] for term in terms]
    orders = [_orders(matrix, size) for size in effects.sizes]
    return Compared(
        levels=sum(math.comb(len(size.means), 2) for size in effects.sizes),
        apart=sum(map(len, orders)),
        wrong=sum(own.count(False) for own in orders),
        errors=tuple(term.share - share for term, share in zip(terms, shares, strict=True)),
        held=tuple(
            term.low is not None and term.high is not None and term.low <= share <= term.high
            for term, share in zip(terms, shares, strict=True)
        ),
        seconds=seconds,
    )


def _orders(matrix: Drawn, size: AxisEffect) -> list[bool]:
    """Of each two levels whose intervals are apart: whether their order is that of the truth."""
    places: list[Any] = [slice(None)] * len(AXES)
    for name, level in size.within.items():
        places[AXES.index(name)] = [matrix.axes[name].index(level)]
    whole = np.moveaxis(matrix.truth[tuple(places)], AXES.index(size.axis), 0)
    true = dict(
        zip(matrix.axes[size.axis], whole.reshape(len(whole), -1).mean(axis=1), strict=True)
    )
    return _right(size, true)


def _right(size: AxisEffect, true: Mapping[Any, float]) -> list[bool]:
    """Of each two levels whose intervals are apart: whether their order is that of ``true``."""
    found = []
    for one, other in combinations(size.means, 2):
        (_, low, high), (_, other_low, other_high) = size.means[one], size.means[other]
        if low > other_high or other_low > high:
            found.append(bool((low > other_high) == (true[one] > true[other])))
    return found


def of_run(run: Run, method: Method, number: int) -> tuple[int, int]:
    """(pairs of levels whose intervals are apart in a sample of a measured whole matrix, those of
    them in another order than the means of all its cells); the matrix has streams one way.
    """
    cells = expand(load_matrix(run.path / "matrix.yaml", {}, None))
    sample = Sample(cells=number, of=len(cells), method=method)
    chosen = {cell.key for cell in drawn(cells, sample)}
    of_sample = kind_effects([t for t in run.trials if t.cell in chosen], sample=sample)
    logs = {
        cell: mean([math.log(trial.number("throughput_bit_per_s") or 0) for trial in trials])
        for cell, trials in by_cell(run.trials).items()
    }
    orders: list[bool] = []
    for size in of_sample[0].effects.sizes if of_sample[0].effects else ():
        if not size.within:
            true = {
                level: mean([logs[c.key] for c in cells if c.settings.get(size.axis) == level])
                for level in size.means
            }
            orders += _right(size, true)
    return len(orders), orders.count(False)


def _row(method: str, found: Sequence[Compared]) -> list[str]:
    right = sum(not one.wrong for one in found)
    low, high = wilson(right, len(found))
    errors = np.abs([error for one in found for error in one.errors])
    held = [it for one in found for it in one.held]
    return [
        method,
        f"{right} [{low:.1%} to {high:.1%}]",
        f"{sum(one.wrong for one in found)} of {sum(one.apart for one in found)}",
        f"{sum(one.apart for one in found) / sum(one.levels for one in found):.0%}",
        f"{np.median(errors):.2%}, {np.quantile(errors, 0.95):.2%}",
        f"{np.mean(held):.1%}",
        f"{max(one.seconds for one in found):.2f} s",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each method, and the verdict. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=100, help="matrices")
    parser.add_argument("--cells", type=int, default=200, help="of each sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=Path, help="a run of a whole matrix, measured with repeats")
    asked = parser.parse_args(arguments)
    if asked.run:
        rows = [[name, *map(str, of_run(load(asked.run), name, asked.cells))] for name in METHODS]
        print(table(["method", "levels apart", "wrong order"], rows))
        return int(any(row[2] != "0" for row in rows))
    found: dict[Method, list[Compared]] = {method: [] for method in METHODS}
    for at in range(asked.number):
        matrix = drawn_matrix(np.random.default_rng([asked.seed, at]))
        for number, method in enumerate(METHODS):
            chance = np.random.default_rng([asked.seed, at, number])
            found[method].append(compared(matrix, method, asked.cells, chance))
    head = ["method", f"of {asked.number} matrices right", "orders wrong", "levels apart"]
    head += ["error of a share: median, 95 %", "intervals of shares held", "longest"]
    print(table(head, [_row(method, own) for method, own in found.items()]) + "\n")
    right = {method: sum(not one.wrong for one in own) for method, own in found.items()}
    verdict = Verdict(
        min(right.values()) >= LEAST_RIGHT * asked.number,
        f"of every two levels whose intervals are apart, the order is right in at least "
        f"{LEAST_RIGHT:.0%} of the matrices, with each method",
        ", ".join(f"{method} {count}" for method, count in right.items()),
    )
    return finish([verdict], json.dumps(right))


if __name__ == "__main__":
    sys.exit(main())
