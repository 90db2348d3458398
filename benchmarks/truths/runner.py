"""Measures all runs that are not measured yet: lab by lab, by one worker or several."""

from __future__ import annotations

import ctypes
import fcntl
import multiprocessing
import os
import re
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.truths.causes import Cause
from benchmarks.truths.draw import Wanted
from benchmarks.truths.one_run import Bench
from benchmarks.truths.site import LABS, standing
from netlab import lab as labs
from netlab.lab import state

EXPECTED_S: Mapping[str, float] = {"mesh": 12.0, "delay": 12.0}
"""Lab → expected duration of a run, used until a run in this lab was measured."""
USUAL_S = 9.0
"""Expected duration of a run in any other lab."""


LOCK = Path("/run/lock/netlab-truths")
OURS = re.compile(r"truths\d+-[a-z]+")
"""Names of the benchmark's labs: ``truths``, the worker's number, and the kind of lab."""
PR_SET_PDEATHSIG = 1


@contextmanager
def machine_to_ourselves() -> Iterator[None]:
    """Lock the machine, so that only one benchmark runs on it.

    Removes labs that an earlier benchmark left behind. Raises SystemExit if another one runs.
    """
    with LOCK.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit("another `make benchmark-truths` measures on this machine") from None
        for name in filter(OURS.fullmatch, state.names()):
            labs.down(name, forget=True)
        yield


class Pace:
    """Estimates the remaining time from the durations of earlier runs in the same labs."""

    def __init__(self, run_counts: Mapping[str, int], at_once: int) -> None:
        self._left = dict(run_counts)
        self._took_s: dict[str, list[float]] = defaultdict(list)
        self._at_once = at_once

    def add(self, lab: str, took_s: float) -> None:
        self._left[lab] -= 1
        self._took_s[lab].append(took_s)

    def left_s(self) -> float:
        """Seconds until all runs are measured, if all workers work at the same time."""
        total = sum(count * self._mean_s(lab) for lab, count in self._left.items())
        return total / self._at_once

    def _mean_s(self, lab: str) -> float:
        times_s = self._took_s[lab]
        return sum(times_s) / len(times_s) if times_s else EXPECTED_S.get(lab, USUAL_S)


def measure_all(
    planned_runs: Sequence[Wanted], causes: Mapping[str, Cause], into: Path, at_once: int = 1
) -> list[str]:
    """Measure the runs that are not measured yet. Returns a sentence for each run that failed."""
    bench = Bench(into, causes)
    due_runs = [planned_run for planned_run in planned_runs if not bench.is_done(planned_run)]
    lone_runs = [planned_run for planned_run in due_runs if is_alone(planned_run, causes)]
    shared_runs = [planned_run for planned_run in due_runs if not is_alone(planned_run, causes)]
    if at_once == 1:
        lone_runs, shared_runs = due_runs, []
    estimate_s = Pace(_labs(lone_runs, causes), 1).left_s()
    estimate_s += Pace(_labs(shared_runs, causes), at_once).left_s()
    _say(
        f"{len(planned_runs)} runs, {len(planned_runs) - len(due_runs)} there already, "
        f"about {_time(estimate_s)}"
    )
    failures = _in_workers(shared_runs, causes, into, at_once) if shared_runs else []
    return failures + _measure(lone_runs, causes, into, "0")


def is_alone(planned_run: Wanted, causes: Mapping[str, Cause]) -> bool:
    """Whether nothing else may be measured at the same time as this run."""
    return causes[planned_run.like].alone or any(
        causes[part.cause].alone for part in planned_run.parts
    )


def _in_workers(
    planned_runs: Sequence[Wanted], causes: Mapping[str, Cause], into: Path, at_once: int
) -> list[str]:
    """Measure the runs in several processes, each with its own labs.

    A worker measures every n-th run that is still due. Returns a sentence for each failure.
    """
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def work(number: int) -> None:
        # If the parent process ends, nobody waits for the answer, and the worker must end too.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        answers.put(_measure(planned_runs[number::at_once], causes, into, str(number)))

    workers = [context.Process(target=work, args=(number,)) for number in range(at_once)]
    for worker in workers:
        worker.start()
    failures: list[str] = []
    for worker in workers:
        worker.join()
        if worker.exitcode:
            failures.append(f"a worker ended with {worker.exitcode}")
    while not answers.empty():
        failures += answers.get()
    return failures


def _measure(
    planned_runs: Sequence[Wanted], causes: Mapping[str, Cause], into: Path, worker: str
) -> list[str]:
    """Measure the runs of one worker: make one lab after the other, and measure all of its runs."""
    bench, pace, failures = Bench(into, causes), Pace(_labs(planned_runs, causes), 1), []
    for lab in LABS:
        its = [
            planned_run
            for planned_run in planned_runs
            if causes[planned_run.like].experiment.lab == lab
        ]
        if not its:
            continue
        with standing(lab, f"truths{worker}-{lab}") as site:
            for planned_run in its:
                began = time.monotonic()
                try:
                    truth = bench.measure(planned_run, site)
                except Exception as error:  # the other runs are measured nevertheless
                    failures.append(f"{planned_run.name}: {type(error).__name__}: {error}")
                    (into / f"{planned_run.name}.broken").write_text(traceback.format_exc())
                    truth = {"took_s": 0.0, "failed": failures[-1]}
                pace.add(lab, time.monotonic() - began)
                note = f", {truth['failed']}" if truth["failed"] else ""
                time_left = _time(pace.left_s())
                _say(f"{planned_run.name}: {truth['took_s']:.1f} s{note}; {time_left} left")
    return failures


def _labs(planned_runs: Sequence[Wanted], causes: Mapping[str, Cause]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for planned_run in planned_runs:
        counts[causes[planned_run.like].experiment.lab] += 1
    return counts


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def _say(text: str) -> None:
    print(f"[{os.getpid()}] {text}", file=sys.stderr, flush=True)
