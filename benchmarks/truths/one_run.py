"""Plants the causes of one run, measures it, and writes down what was planted.

The folder of a run is complete if it has ``truth.json``, which is written last. A complete run is
not measured again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.truths.causes import Cause
from benchmarks.truths.draw import Wanted, experiment_of
from benchmarks.truths.effects import Effects, Seen, measured
from benchmarks.truths.plants import OnTrial, Plant
from benchmarks.truths.site import Site
from benchmarks.truths.tools import iperf3
from netlab.errors import NetlabError
from netlab.experiment.schedule import Trial
from netlab.findings.analysis import load
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.trial.record import as_number

TRUTH = "truth.json"
LEFT_OUT = "left-out"
"""Folder of the runs during which a hypervisor took CPU time. Such runs are measured again."""
MOST_STOLEN = 0.02
TRIES = 5


class Quiet(Progress):
    """Prints nothing, and calls functions when a trial begins."""

    def __init__(self, callbacks: list[OnTrial]) -> None:
        super().__init__()
        self._to_tell = callbacks

    def trial(self, trial: Trial) -> None:
        """Called before a trial is measured."""
        for on_trial in self._to_tell:
            on_trial(trial)

    def _say(self, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last attempt to measure a run."""

    failed: str | None
    """What went wrong."""
    stolen_share: float
    left_out: int
    """The attempts before it, during which a hypervisor took CPU time."""
    took_s: float


def undisturbed(
    measure: Callable[[Path], str | None],
    folder: Path,
    *,
    runs: Sequence[str] = ("",),
    plays_steal: bool = False,
) -> Attempt:
    """Measure into ``folder``, again while a hypervisor takes CPU time: ``TRIES`` times in all.

    ``runs``: the run folders below it. What is left out goes to ``left-out/`` beside it.
    """
    left_out = 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        began, ticks = time.monotonic(), _cpu_ticks()
        failed = measure(folder)
        stolen, took_s = _stolen_share(ticks, _cpu_ticks()), time.monotonic() - began
        if not plays_steal:
            for name in runs:
                stolen = max(stolen, *_stolen_in_trials(folder / name))
        if stolen <= MOST_STOLEN or left_out == TRIES - 1:
            return Attempt(failed, stolen, left_out, took_s)
        left_out += 1
        archive = folder.parent / LEFT_OUT / f"{folder.name}-{left_out}"
        shutil.rmtree(archive, ignore_errors=True)
        archive.parent.mkdir(exist_ok=True)
        folder.rename(archive)


class Bench:
    """Measures the runs of one worker, and holds what these runs have in common."""

    def __init__(self, into: Path, causes: Mapping[str, Cause]) -> None:
        self.into = into
        self.causes = causes
        self.effects = Effects(into)
        self._alone_clean: dict[str, float] = {}

    def is_done(self, planned_run: Wanted) -> bool:
        """Whether the run was measured to its end before."""
        return (self.into / planned_run.name / TRUTH).exists()

    def measure(self, planned_run: Wanted, site: Site) -> dict[str, Any]:
        """Measure a run, and return what was written to its ``truth.json``.

        If a hypervisor took CPU time meanwhile, the run is measured again: ``TRIES`` times in all.
        """
        began = time.monotonic()
        observations = {
            part.cause: self.effects.of(site, self.causes[part.cause], part.strength)
            for part in planned_run.parts
        }
        single_costs = (
            self._costs_alone(planned_run, site, observations) if len(planned_run.parts) > 1 else {}
        )
        attempt = undisturbed(
            lambda folder: self._run(planned_run, site, observations, folder),
            self.into / planned_run.name,
            plays_steal=any(self.causes[part.cause].plays_steal for part in planned_run.parts),
        )
        truth = {
            **planned_run.as_json(),
            "not_planted": [
                name
                for name, observation in observations.items()
                if observation and not observation.holds
            ],
            "alone": single_costs,
            "stolen_share": attempt.stolen_share,
            "left_out": attempt.left_out,
            "failed": attempt.failed,
            "took_s": round(attempt.took_s, 2),
            "with_checks_s": round(time.monotonic() - began, 2),
        }
        write(self.into / planned_run.name / TRUTH, truth)
        return truth

    def _costs_alone(
        self, planned_run: Wanted, site: Site, observations: Mapping[str, Seen | None]
    ) -> dict[str, float]:
        """What each cause of a mixture costs alone, measured by iperf3: a share of the clean
        rate.
        """

        def look(site: Site) -> float:
            return iperf3(site, "--window", "64K", rounds=1)

        if site.kind not in self._alone_clean:
            self._alone_clean[site.kind] = look(site)
        clean, costs = self._alone_clean[site.kind], {}
        for part in planned_run.parts:
            dial = self._dial(part.cause, part.dial, observations[part.cause])
            costs[part.cause] = (
                1 - measured(site, self.causes[part.cause].plant, dial, look) / clean
            )
        return costs

    def _dial(self, cause: str, dial: float, observation: Seen | None) -> float:
        """The number with which the cause is planted: the drawn one, or the one that a search
        found.
        """
        searched = self.causes[cause].search is not None
        return observation.dial if searched and observation is not None else dial

    def _run(
        self, planned_run: Wanted, site: Site, observations: Mapping[str, Seen | None], folder: Path
    ) -> str | None:
        """Plant the causes and measure the run. Returns ``None``, or a sentence about what went
        wrong.
        """
        dial = planned_run.parts[0].dial if planned_run.parts else 0.0
        experiment = experiment_of(self.causes, planned_run)
        matrix = self.into / f"{planned_run.name}.yaml"
        matrix.write_text(
            experiment.matrix(planned_run.name, planned_run.tests, dial, planned_run.seed)
        )
        plants = [
            (
                self.causes[part.cause].plant,
                self._dial(part.cause, part.dial, observations[part.cause]),
            )
            for part in planned_run.parts
        ]
        try:
            return run_planted(matrix, site, folder, plants)
        finally:
            matrix.unlink()


def run_planted(
    matrix: Path, site: Site, folder: Path, plants: Sequence[tuple[Plant, float]]
) -> str | None:
    """Run a matrix with plants and their numbers. Returns ``None``, or what went wrong."""
    progress = Quiet(callbacks := [])
    options = Options(
        matrix=matrix, hosts=site.state.hosts_file, into=folder, retries=0, patience_s=20
    )
    with ExitStack() as stack:
        for plant, number in plants:
            on_trial = stack.enter_context(plant(site, number))
            callbacks += [] if on_trial is None else [on_trial]
        try:
            run(options, progress).raise_for_status()
        except NetlabError as error:
            return str(error)
        finally:
            progress.end()
    return None


def write(path: Path, plain: Mapping[str, Any]) -> None:
    """Write a JSON file under a temporary name and rename it, so that no reader sees a part of
    it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".new")
    half.write_text(json.dumps(plain, indent=1) + "\n")
    half.rename(path)


def _cpu_ticks() -> list[int]:
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    return [int(word) for word in first.split()[1:9]]


def _stolen_in_trials(folder: Path) -> list[float]:
    """Share of the CPUs' time that was stolen in the window of each trial, by the records, and a 0.

    The share over a whole run of several seconds may be low although that of one window was high.
    """
    try:
        run = load(folder)
    except NetlabError:  # the run failed before it had a folder; truth.json has the reason
        return [0.0]
    shares = (
        as_number(value)
        for record in run.records
        for name, value in record.values.items()
        if name.endswith("_host_steal_share")
    )
    return [0.0, *(share for share in shares if share is not None)]


def _stolen_share(old_ticks: list[int], new_ticks: list[int]) -> float:
    more = [b - a for a, b in zip(old_ticks, new_ticks, strict=True)]
    return more[7] / max(1, sum(more))
