"""Ends runs that change settings of their hosts at random moments: `make benchmark-put-back`.

Each run measures in a lab (`netlab lab up --sudo`) over SSH, and switches between four states of
its hosts: a sysctl of both hosts and offloads of one, changed by `sudo -n`. At a random moment,
from the start of the run to a second after its normal end, one of seven things happens: Ctrl-C,
SIGTERM or SIGKILL of the controller, SIGKILL of the controller and of agents, SIGKILL of an agent,
SSH connections cut, or the controller's cables pulled before the controller is killed. If the
controller still lives, the run continues to its end. Within 30 s each setting must be as it was
found, no probe may be left, and the undo log must be empty.

Needs root. ``--ends`` is the number of runs, spread over ``--labs`` labs at the same time;
``--seed`` is the seed of the random numbers. With the default numbers it takes about 20 minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fault_runs import bench_in
from variant_ends import ENDS, PUT_BACK_S, Outcome, SettingsLab, end_at

from benchmarks.faults.chaos_kills import shown
from benchmarks.stage import Verdict, a_lab, finish, table

COUNT, LABS = 300, 3


def ends_in(number: int, counts: range, seed: int) -> list[tuple[str, str, Outcome]]:
    """End runs in one lab. Returns the label, the kind of end and the outcome of each run."""
    outcomes: list[tuple[str, str, Outcome]] = []
    with (
        a_lab(name=f"back-{os.getpid()}-{number}", sudo=True) as lab_state,
        tempfile.TemporaryDirectory(prefix="netlab-") as scratch,
        bench_in(Path(scratch)) as bench,
    ):
        lab = SettingsLab(lab_state, bench)
        whole_s = _whole_s(lab)
        for count in counts:
            chance = random.Random(f"{seed}-{count}")  # noqa: S311 - what can be repeated
            kind = chance.choice(list(ENDS))
            moment_s = chance.uniform(0.0, whole_s + 1.0)
            outcome = end_at(lab, f"run{count}", ENDS[kind], moment_s, chance)
            label = f"{count}: {kind} after {moment_s:.2f} s"
            state = "changed" if outcome.was_changed else "as found"
            how = outcome.complaint or f"put back after {outcome.after_s:.1f} s"
            print(f"{label}, {state}: {how}", flush=True)
            outcomes.append((label, kind, outcome))
            if outcome.complaint:
                break  # otherwise the next run in this lab would get the blame for what is left
    return outcomes


def _whole_s(lab: SettingsLab) -> float:
    """Duration of a run that nothing ends. An earlier run copies the probe to the hosts."""
    for into in ("first", "whole"):
        began = time.monotonic()
        run = lab.start(into)
        output = run.communicate(timeout=120)[1]
        if run.returncode != 0:
            raise SystemExit(f"the run without a fault: {run.returncode}\n{output}")
    return time.monotonic() - began


def main() -> int:
    """End runs, print the verdicts. Returns the exit status."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--ends", type=int, default=COUNT)
    words.add_argument("--labs", type=int, default=LABS, help="labs at once")
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    began = time.monotonic()
    with ThreadPoolExecutor(arguments.labs) as pool:
        shares = [
            pool.submit(
                ends_in, n, range(n + 1, arguments.ends + 1, arguments.labs), arguments.seed
            )
            for n in range(arguments.labs)
        ]
        outcomes = [outcome for share in shares for outcome in share.result()]
    return _judge(
        outcomes,
        arguments.ends,
        f"seed {arguments.seed}, {arguments.labs} labs, {time.monotonic() - began:.0f} s",
    )


def _judge(outcomes: list[tuple[str, str, Outcome]], wanted: int, details: str) -> int:
    times: defaultdict[str, list[Outcome]] = defaultdict(list)
    for _, kind, outcome in outcomes:
        times[kind].append(outcome)
    rows = [
        (
            kind,
            str(len(of_kind)),
            str(sum(outcome.was_changed for outcome in of_kind)),
            f"{statistics.median(outcome.after_s for outcome in of_kind):.1f}",
            f"{max(outcome.after_s for outcome in of_kind):.1f}",
        )
        for kind, of_kind in sorted(times.items())
    ]
    print(table(("end", "runs", "changed then", "median s", "longest s"), rows))
    wrong = [f"{label}: {outcome.complaint}" for label, _, outcome in outcomes if outcome.complaint]
    changed = sum(outcome.was_changed for _, _, outcome in outcomes)
    back = len(outcomes) - len(wrong)
    verdicts = [
        Verdict(
            not wrong and len(outcomes) == wanted,
            f"all is put back within {PUT_BACK_S:g} s",
            f"{back} of {wanted}; wrong {shown(wrong)}",
        ),
        Verdict(
            changed >= wanted // 4,
            "a quarter of the ends come while settings are changed",
            f"{changed} of {len(outcomes)}",
        ),
    ]
    return finish(verdicts, f"put back: {back} of {wanted}, {changed} while changed; {details}")


if __name__ == "__main__":
    sys.exit(main())
