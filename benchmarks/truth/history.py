"""Counts the change points that `netlab history` finds and invents: `make benchmark-history`.

First, histories are drawn: stationary ones with six shapes of noise; the same with drift; a step of
2 % at day 200 of 365 with drift; several steps of 1 to 5 % with gaps. The noise has a standard
deviation of 0.4 %. Then 365 run folders are written, and netlab's command must find the one step in
them. `--histories` sets the number of histories for each shape of noise. It needs the extra
`history` of netlab.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.stage import Verdict, finish, netlab, table
from benchmarks.truth.drawn_histories import (
    DRIFTS,
    NEAR_RUNS,
    NOISES,
    Drawn,
    Score,
    draw,
    drawn_steps,
    score,
)
from benchmarks.truth.written_histories import round_trip_cell, stream_cell, write_history

RUNS = 365
STEP_AT = 200
MOST_FALSE, LEAST_FOUND = 0.02, 0.95


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument(
        "--histories", type=int, default=100, help="for each kind and each shape of noise"
    )
    histories = words.parse_args().histories
    rows, totals = [], dict.fromkeys(_KINDS, Score())
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [(kind, noise, histories) for kind in _KINDS for noise in NOISES]
        for (kind, noise, _), own in zip(jobs, pool.map(_scored, jobs), strict=True):
            totals[kind] += own
            rows.append([f"{kind}; {noise}", *_numbers(own)])
    rows += [[f"{kind}; all", *_numbers(total)] for kind, total in totals.items()]
    head = ["histories; noise", "histories", "steps found", "missed", "with a false one"]
    print(table(head, rows), end="\n\n")
    stationary, one_step = totals["stationary"], totals["a step of 2 %, drift"]
    verdicts = [
        Verdict(
            stationary.histories_with_false <= MOST_FALSE * stationary.histories,
            "a change point in at most 2 of 100 stationary histories",
            f"{stationary.histories_with_false} of {stationary.histories}",
        ),
        Verdict(
            one_step.found >= LEAST_FOUND * one_step.histories,
            f"a step of 2 % found within {NEAR_RUNS} runs in 95 of 100 histories",
            f"{one_step.found} of {one_step.histories}",
        ),
        _command(),
    ]
    return finish(verdicts, "history: " + "; ".join(verdict.measured for verdict in verdicts))


def _numbers(own: Score) -> list[str]:
    return [
        f"{own.histories}",
        f"{own.found}",
        f"{own.missed}",
        f"{own.histories_with_false}",
    ]


def _stationary(chance: np.random.Generator, noise: str) -> Drawn:
    return draw(chance, runs=RUNS, noise=noise)


def _drift(chance: np.random.Generator, noise: str) -> Drawn:
    return draw(chance, runs=RUNS, noise=noise, drift=str(chance.choice(DRIFTS[1:])))


def _one_step(chance: np.random.Generator, noise: str) -> Drawn:
    steps = [(STEP_AT, float(chance.choice([-0.02, 0.02])))]
    drift = str(chance.choice(DRIFTS[1:]))
    return draw(chance, runs=RUNS, noise=noise, drift=drift, steps=steps)


def _several_steps(chance: np.random.Generator, noise: str) -> Drawn:
    steps = drawn_steps(chance, RUNS, 3)
    return draw(chance, runs=RUNS, noise=noise, gaps=0.05, steps=steps)


_KINDS: dict[str, Callable[[np.random.Generator, str], Drawn]] = {
    "stationary": _stationary,
    "drift": _drift,
    "a step of 2 %, drift": _one_step,
    "three steps of 1 to 5 %, gaps": _several_steps,
}


def _scored(job: tuple[str, str, int]) -> Score:
    kind, noise, histories = job
    chance = np.random.default_rng([[*_KINDS].index(kind), NOISES.index(noise)])

    def drawn() -> Iterator[Drawn]:
        while True:
            yield _KINDS[kind](chance, noise)

    return score(islice(drawn(), histories))


def _command() -> Verdict:
    """365 run folders with two cells: a step of 2 % in the one, only drift in the other."""
    chance = np.random.default_rng(365)
    steps = [(STEP_AT, -0.02)]
    with tempfile.TemporaryDirectory() as folder:
        write_history(
            Path(folder),
            [
                (stream_cell(1448), draw(chance, runs=RUNS, drift="bend", steps=steps).figures),
                (round_trip_cell(64), draw(chance, runs=RUNS, drift="up and down").figures),
            ],
        )
        before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        document = json.loads(netlab("history", folder, "--format", "json").stdout)
        cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s
    found = [
        (number, int(point["run"].removeprefix("run-")))
        for number, history in enumerate(document["histories"])
        for point in history["change_points"]
    ]
    met = len(found) == 1 and found[0][0] == 0 and abs(found[0][1] - STEP_AT) <= NEAR_RUNS
    places = ", ".join(f"day {day} of cell {number + 1}" for number, day in found) or "none"
    return Verdict(
        met,
        f"of {RUNS} run folders, only the step of 2 % at day {STEP_AT} of cell 1",
        f"{places}; {cpu_s:.1f} s of CPU time",
    )


if __name__ == "__main__":
    sys.exit(main())
