"""Kills of the controller, and faults while runs go on: `make benchmark-chaos`.

First 300 kills (SIGKILL) of the controller at random moments of small runs over real sshds, each
resumed until it is done: no cell is lost, none measured twice, what was written stays as it was to
the byte, and no probe outlives its lease. Then 100 runs with a fault drawn at random every few
seconds: probes are killed or stopped, SSH connections cut or frozen, servers restarted, cables
pulled. Every run ends by itself, every cell is measured or has its true reason, and no result is
wrong without a word.

``--kills``, ``--runs``, ``--seed`` and ``--seconds`` (a trial) set the size; ``--first N --runs 1``
repeats the run with number N. Everything is in a temporary folder; ``--keep`` leaves it. Cables
need root. An hour and a half with the numbers above.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.faults.chaos_kills import kill_all
from benchmarks.faults.chaos_runs import hurt_all
from benchmarks.stage import Verdict, finish, table

KILLS, RUNS = 300, 100


def main() -> int:
    """Kill, hurt, judge."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--kills", type=int, default=KILLS)
    words.add_argument("--runs", type=int, default=RUNS)
    words.add_argument("--first", type=int, default=1, help="number of the first run with faults")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--seconds", type=float, default=1.0, help="of a trial in runs with faults")
    words.add_argument("--keep", action="store_true", help="leave the folder, and say where it is")
    arguments = words.parse_args()
    verdicts: list[Verdict] = []
    rows: list[tuple[str, str]] = []
    began = time.monotonic()
    with scratch_folder(arguments.keep) as scratch:
        if arguments.kills:
            chance = random.Random(arguments.seed)  # noqa: S311 - moments that can be repeated
            (scratch / "kills").mkdir()
            toll = kill_all(scratch / "kills", arguments.kills, chance)
            verdicts += toll.verdicts()
            rows.append(("kills", f"{toll.kills}, {toll.in_trial} of them in a trial"))
            rows.append(("runs until all was measured", str(toll.runs)))
        if arguments.runs:
            (scratch / "runs").mkdir()
            harm = hurt_all(
                scratch / "runs", arguments.first, arguments.runs, arguments.seed, arguments.seconds
            )
            verdicts += harm.verdicts()
            rows.append(("runs with faults", f"{harm.runs}, {harm.faults.total()} faults"))
            rows.append(("  not started: a host was missing", str(harm.not_begun)))
            rows += [(f"  {name}", str(count)) for name, count in harm.faults.most_common()]
            rows += [(f"  trials {name}", str(n)) for name, n in harm.statuses.most_common()]
    print(table(("what", "how many"), rows))
    took_s = time.monotonic() - began
    missed = sum(not verdict.met for verdict in verdicts)
    return finish(
        verdicts,
        f"chaos: {arguments.kills} kills, {arguments.runs} runs with faults, "
        f"seed {arguments.seed}, {took_s:.0f} s; "
        f"{missed or 'no'} promise{'s' * (missed != 1)} broken",
    )


@contextmanager
def scratch_folder(is_kept: bool) -> Iterator[Path]:
    """A temporary folder for all that is written."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-"))
    try:
        yield folder
    finally:
        if is_kept:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
