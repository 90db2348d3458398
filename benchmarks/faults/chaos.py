"""Kills the controller, and injects faults into runs: `make benchmark-chaos`.

First the controller is killed (SIGKILL) 300 times at random moments of small runs over real sshds.
Each run is resumed until it is done. It is checked that no cell is lost, none is measured twice,
what was written does not change, and no probe is left after its lease (the time that it waits for
its controller). Then there are 100 runs with a random fault every few seconds: probes are killed or
stopped, SSH connections cut or frozen, SSH servers restarted, cables pulled. It is checked that
every run ends by itself, every cell is measured or has a true reason, and no wrong result is
without a warning.

``--kills``, ``--runs``, ``--seed`` and ``--seconds`` (of a trial) set the size; ``--first N --runs
1`` repeats the run with number N. Everything is in a temporary folder; ``--keep`` keeps it. Cables
need root. With the numbers above it takes an hour and a half.
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
    """Kill controllers, inject faults, print the verdicts. Returns the exit status."""
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
    """A temporary folder. It is removed at the end, unless it is to be kept."""
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
