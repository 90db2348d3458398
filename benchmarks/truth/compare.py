"""Checks the verdicts of `netlab compare` for known differences: `make benchmark-compare`.

Two runs are measured alternately, one block (a trial of every cell) at a time, so that they differ
only by chance. In the same lab they must not be judged different. Then the lab of the second run
has one cable that is slower by 3 %. This must be detected in the cells that this cable limits, and
in no other cells.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stage import Verdict, finish, table
from netlab import lab
from netlab.compare.align import Judged, smallest_shown
from netlab.compare.check import limited_figures
from netlab.compare.runs import Compared, compare_runs
from netlab.errors import IncompleteRun, Interrupted
from netlab.experiment.cells import Expectation
from netlab.experiment.matrix import Matrix
from netlab.experiment.schedule import Trial
from netlab.findings.analysis import Analysis, load
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.stats import mean
from netlab.trial.record import by_cell

BLOCKS = 5
MORE_TURNS = 5
"""Further turns, for trials that failed or whose CPU time was stolen. They are measured again."""
RATE_BIT_PER_S = 20e6
SLOWED = "linux-a"
SLOWER = 0.97
MOST_DIFFERENT, MOST_SMALLEST, AT_CEILING = 0.05, 0.01, 0.98

MATRIX = f"""\
title: every host to every other, over and under the ceiling
link: {{rate: {RATE_BIT_PER_S / 1e6:g}Mbit, mtu: 1500}}
pairings: {{between: all, inside: false}}
repeats: {BLOCKS}
quiet: {{steal: 0.5 %, tries: 4}}
order: shuffled
defaults: {{warm_up: 200ms, congestion: cubic}}
tests:
  - {{test: stream, protocol: TCP, message_size: [1448, 65536]}}
  - {{test: stream, protocol: UDP, message_size: [576, 1472]}}
  - {{test: stream, protocol: UDP, message_size: 1472, rate: 8Mbit}}
"""


class OneBlock(Progress):
    """Stops a run after one block; it is resumed later."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = 0

    def begin(
        self, folder: Path, trials: Iterable[Trial], measured_count: int, matrix: Matrix
    ) -> None:
        """Called for the whole run, which does not count as a block."""
        super().begin(folder, trials, measured_count, matrix)
        self._begun = 0

    def expect(self, trials: Iterable[Trial]) -> None:
        """Called when a block begins. Interrupts the run before its second block."""
        self._begun += 1
        if self._begun > 1:
            raise Interrupted(signal.SIGINT, "one block is measured")
        super().expect(trials)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many of the cells were judged different."""

    different: int
    cells: int

    @property
    def share(self) -> float:
        return self.different / self.cells if self.cells else 0.0

    def __str__(self) -> str:
        return f"{self.different} of {self.cells}"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--hosts", type=int, default=3, help="Linux hosts, each with a cable")
    words.add_argument("--seconds", type=float, default=1.0, help="a trial")
    words.add_argument("--keep", type=Path, help="keep the run folders here")
    arguments = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch, labs(arguments.hosts) as (first, second):
        folder = arguments.keep or Path(scratch)
        same = measured(folder, "same", arguments.seconds, first, first)
        slowed = measured(folder, "slowed", arguments.seconds, first, second)
        return judge(same, slowed)


@contextmanager
def labs(hosts: int) -> Iterator[tuple[lab.LabState, lab.LabState]]:
    """Two labs at the same time. They are equal except for one slower cable of the second lab."""
    slower = {SLOWED: SLOWER * RATE_BIT_PER_S}
    options = [
        lab.LabOptions(name="compare-1", rate=RATE_BIT_PER_S, linux=hosts),
        lab.LabOptions(name="compare-2", rate=RATE_BIT_PER_S, linux=hosts, rates=slower),
    ]
    try:
        first, second = (lab.up(lab_options) for lab_options in options)
        yield first, second
    finally:
        for option in options:
            lab.down(option.name, forget=True)


def measured(
    folder: Path, name: str, seconds: float, first: lab.LabState, second: lab.LabState
) -> tuple[Analysis, Compared]:
    """Measure two runs, alternately block by block. In each turn the other run begins.

    Returns the first run, and its comparison with the second.
    """
    matrix = folder / "matrix.yaml"
    matrix.parent.mkdir(parents=True, exist_ok=True)
    matrix.write_text(MATRIX)
    sides = [
        Options(
            matrix=matrix,
            hosts=state.hosts_file,
            into=folder / f"{name}-{number}",
            overrides={"duration": f"{seconds:g}s"},
        )
        for number, state in enumerate((first, second), start=1)
    ]
    side_numbers = {0, 1}
    for turn in range(BLOCKS + MORE_TURNS):
        print(f"{name}: turn {turn + 1}", file=sys.stderr, flush=True)
        for number in sorted(side_numbers, reverse=turn % 2 == 1):
            if one_block(sides[number]):
                side_numbers.remove(number)
        if not side_numbers:
            break
    else:
        raise SystemExit(f"{name}: trials failed again and again; see {folder}")
    baseline, contender = (load(folder / f"{name}-{number}") for number in (1, 2))
    return baseline, compare_runs(baseline, contender)


def one_block(options: Options) -> bool:
    """Measure the next block. Returns whether it was the last one. Failed trials are a further
    block.
    """
    progress = OneBlock()
    try:
        run(options, progress).raise_for_status()
    except (Interrupted, IncompleteRun):
        return False
    finally:
        progress.end()
    return True


def judge(same: tuple[Analysis, Compared], slowed: tuple[Analysis, Compared]) -> int:
    """Print a line for each cell that was judged wrong, and the criteria. Returns the exit
    status.
    """
    nothing = outcome(same[1].rows)
    difference = smallest_shown(same[1].rows)
    touched, controls = parted(*slowed)
    hits, wrong = outcome(touched), outcome(controls)
    rows = [
        *listed("same lab, different", same[1].rows, different=True),
        *listed("slowed cable, not found", touched, different=False),
        *listed("other cells, different", controls, different=True),
    ]
    if rows:
        print(table(["what", "cell", "ratio", "said"], rows))
    smallest = 1.0 if difference is None else difference[1]
    return finish(
        [
            Verdict(
                nothing.share <= MOST_DIFFERENT and nothing.cells > 0,
                "the same lab twice: not shown to be different in 95 % of the cells",
                f"different {nothing}",
            ),
            Verdict(
                smallest <= MOST_SMALLEST,
                "the smallest difference that would have shown: 1 % at the median",
                f"{smallest:.2%}",
            ),
            Verdict(
                hits.different == hits.cells > 0,
                "a cable slower by 3 %: found in all its cells above 98 % of their ceiling",
                f"found {hits}",
            ),
            Verdict(
                wrong.share <= MOST_DIFFERENT and wrong.cells > 0,
                "and in at most 5 % of the others",
                f"different {wrong}",
            ),
        ],
        f"compare: same lab, different {nothing}, smallest difference {smallest:.2%} at the "
        f"median; cable slower by 3 %: found {hits}, others different {wrong}",
    )


def outcome(rows: Sequence[Judged]) -> Outcome:
    return Outcome(sum(is_different(row) for row in rows), len(rows))


def is_different(row: Judged) -> bool:
    return row.verdict.verdict == "different"


def parted(baseline: Analysis, compared: Compared) -> tuple[list[Judged], list[Judged]]:
    """The cells that the slower cable limits, and all other cells."""
    at_ceiling = {
        key
        for key, trials in by_cell(baseline.trials).items()
        if SLOWED in trials[0].pairing.split("+") and ceiling_share(baseline, key) > AT_CEILING
    }
    touched = [row for row in compared.rows if row.aligned.cells[0] in at_ceiling]
    return touched, [row for row in compared.rows if row not in touched]


def ceiling_share(baseline: Analysis, key: str) -> float:
    """Mean throughput of a cell as a share of its wire ceiling (the highest payload rate); 0
    without one.
    """
    share = Expectation(what="throughput", bound="at least", limit=1.0, of="ceiling")
    trials = by_cell(baseline.trials)[key]
    figures = [h for trial in trials for _, h in limited_figures(share, trial, baseline.plan.link)]
    values = [figure for figure in figures if not isinstance(figure, str)]
    return mean(values) if values else 0.0


def listed(label: str, rows: Sequence[Judged], *, different: bool) -> list[list[str]]:
    return [
        [label, row.aligned.label, f"{row.verdict.ratio or 0:.4f}", row.verdict.verdict]
        for row in rows
        if is_different(row) == different
    ]


if __name__ == "__main__":
    sys.exit(main())
