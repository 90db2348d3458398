"""The sample of a matrix that is too large to measure whole: which of its cells are measured.

The cells of each kind of test and protocol, whose effects are computed apart, have an order that
depends on them, the method, the seed and the named pairs alone. A sample is the beginning of these
orders, in proportion, so a larger sample contains each smaller one.

An order begins with cells of which each makes something more estimable, until all main effects and
all named pairs are. Among those, and then among all that are left, the next cell is:

- ``random``: the first by a hash of its key and the seed;
- ``latin-hypercube``: the nearest one (fewest other levels) to the next point of Latin hypercubes,
  which follow each other, each with as many points as the longest axis has levels;
- ``fractional``: the one that adds least to J2, the sum of the squared similarities of two cells,
  which is least in an orthogonal array (Xu, Technometrics 44, 2002,
  doi:10.1198/004017002188618554). It is a whole number, so every machine chooses the same cells.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, islice, product, takewhile
from typing import Any, Literal

from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.trial.record import grouped

SampleMethod = Literal["fractional", "latin-hypercube", "random"]
PAIRING = "pairing"
MOST_LEVELS = 2000
"""Most levels of all axes of a test, and combinations of levels of its named pairs, together."""
_SPANNED = 1e-6
"""Up to this squared distance, the levels of a cell are combinations of those chosen before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How many cells of a matrix are measured, and how they are chosen."""

    cells: int
    of: int
    """Number of all cells of the matrix, after its rules."""
    method: SampleMethod = "fractional"
    seed: int = 1
    pairs: tuple[tuple[str, str], ...] = ()
    """Two axes each (fields of settings, or ``pairing``), whose interaction can be estimated."""

    def __str__(self) -> str:
        return f"{self.cells:,} of {self.of:,} cells ({self.method}, seed {self.seed})"


def sample_in(content: Mapping[str, Any]) -> Sample | None:
    """The sample in the content of a matrix, ``None`` for a whole one; ValueError if malformed."""
    if (data := content.get("sample")) is None:
        return None
    try:
        pairs = tuple([(str(one), str(other)) for one, other in data["pairs"]])
        numbers = {name: int(data[name]) for name in ("cells", "of", "seed")}
        return Sample(**{**data, **numbers, "pairs": pairs})
    except (TypeError, ValueError, KeyError):
        raise ValueError("its sample is malformed") from None


@lru_cache(maxsize=4)
def drawn(cells: tuple[Cell, ...], sample: Sample) -> tuple[Cell, ...]:
    """The cells of the sample, in the order of ``cells``: all cells after the matrix's rules.

    Raises ValueError if they are too few for the main effects and the named pairs, or a pair names
    no axis; UsageError if the method needs a library that is not installed.
    """
    for name in dict.fromkeys(name for pair in sample.pairs for name in pair):
        if len({one.pairing if name == PAIRING else one.settings.get(name) for one in cells}) < 2:
            raise ValueError(f"`pairs`: {name} does not vary in this matrix")
    tests: Mapping[tuple[str, str], list[int]]
    tests = grouped(range(len(cells)), lambda at: (cells[at].test, cells[at].setup.protocol))

    def order(test: tuple[str, str]) -> Iterator[tuple[bool, float, tuple[str, str], int]]:
        own = tests[test]
        for step, (is_late, at) in enumerate(_order([cells[at] for at in own], sample)):
            yield is_late, (step + 0.5) / len(own), test, own[at]

    merged = heapq.merge(*map(order, tests))
    taken = [*islice(merged, sample.cells)]
    needed = sum(not part[0] for part in chain(taken, takewhile(lambda part: not part[0], merged)))
    if needed > sample.cells:
        what = "all axes and of the named pairs" if sample.pairs else "all axes"
        raise ValueError(f"`cells`: the effects of {what} need at least {needed}")
    return tuple(cells[at] for at in sorted(at for *_, at in taken))


def _order(cells: Sequence[Cell], sample: Sample) -> Iterator[tuple[bool, int]]:
    """The places of the cells of one test in order; for each, whether all effects can be estimated
    without it.
    """
    import numpy as np  # a matrix without a sample needs none

    hashes = [hashlib.sha256(f"{sample.seed} {cell.key}".encode()).digest() for cell in cells]
    ranks = sorted(range(len(cells)), key=hashes.__getitem__)
    codes, columns = _coded([cells[at] for at in ranks], sample.pairs)
    widths = np.ptp(columns, axis=0) + 1
    points = _points(np.ptp(codes, axis=0) + 1, sample.seed)  # none is made before it is needed
    basis = np.empty((0, columns.max() + 1))
    new = np.full(len(cells), float(len(widths)))  # squared distance from what is spanned
    cost, free = np.zeros(len(cells), dtype=np.int64), np.ones(len(cells), dtype=bool)
    for _ in cells:
        choice = np.flatnonzero(free & (new > _SPANNED))
        if is_late := not len(choice):
            choice = np.flatnonzero(free)
        if sample.method == "latin-hypercube":
            cost = (codes != next(points)).sum(axis=1)
        place = choice[cost[choice].argmin()]
        yield is_late, ranks[place]
        free[place] = False
        if not is_late:
            row = np.zeros(basis.shape[1])
            row[columns[place]] = 1
            for _ in range(2):  # a second time for what rounding left
                row -= basis.T @ (basis @ row)
            row /= np.linalg.norm(row)
            basis = np.vstack([basis, row])
            new -= row[columns].sum(axis=1) ** 2
        if sample.method == "fractional":
            cost += ((columns == columns[place]) @ widths) ** 2


def _coded(cells: Sequence[Cell], pairs: Sequence[tuple[str, str]]) -> tuple[Any, Any]:
    """For each cell (row) the level of each axis, from 0, after a column of zeros for the mean; and
    the numbers of these and of the named pairs' combinations of levels among all of them.
    """
    import numpy as np

    settings = [cell.settings for cell in cells]
    names = dict.fromkeys(name for own in settings for name in own)
    axes: dict[str, list[Any]] = {name: [own.get(name) for own in settings] for name in names}
    ends = {PAIRING: [cell.pairing for cell in cells]}
    if any(map(is_by_name, {*ends[PAIRING]})):
        # A mesh has too many pairings: each host is a level as the server, and as the client.
        labels = [labels_of(pairing) for pairing in ends[PAIRING]]
        ends = {end: [own[at] for own in labels] for at, end in enumerate(("server", "client"))}
    axes = {name: own for name, own in (axes | ends).items() if len({*own}) > 1}
    numbers = [{level: at for at, level in enumerate(dict.fromkeys(own))} for own in axes.values()]
    coded = [[*map(code.get, own)] for code, own in zip(numbers, axes.values(), strict=True)]
    codes = np.array([[0] * len(cells), *coded]).T
    features = [*codes.T]
    for pair in pairs:
        for own in product(*([*ends] if name == PAIRING else [name] for name in pair)):
            if {*own} <= axes.keys():
                one, other = (codes[:, [*axes].index(name) + 1] for name in own)
                features.append(np.unique(one * len(cells) + other, return_inverse=True)[1])
    widths = [int(own.max()) + 1 for own in features]
    if sum(widths) > MOST_LEVELS:
        raise ValueError(f"the axes and named pairs of a test have more than {MOST_LEVELS} levels")
    return codes, np.stack(features, axis=1) + np.cumsum([0, *widths[:-1]])


def _points(sizes: Any, seed: int) -> Iterator[Any]:
    """A level of each axis by Latin hypercubes, one after another, without an end."""
    try:
        from scipy.stats import qmc
    except ModuleNotFoundError:
        raise UsageError(
            "`method: latin-hypercube` needs scipy; install it with: "
            "pip install 'netlab-matrix[sample]'"
        ) from None
    import numpy as np

    for block in count():
        cube = qmc.LatinHypercube(len(sizes), rng=np.random.default_rng([seed, block]))
        yield from (cube.random(max(sizes)) * sizes).astype(int)
