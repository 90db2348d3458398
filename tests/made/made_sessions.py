"""Sessions of a run made up: a matrix, hosts that answer at once, and the bench that runs them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from made_runs import ticking

from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.schedule import Trial
from netlab.measurement import engines
from netlab.measurement.ends import Ends, OnGoodput
from netlab.remote.agent import Agent
from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options
from netlab.runner.places import TrialPlace
from netlab.runner.progress import Progress
from netlab.runner.run import measure
from netlab.runner.session import Session, Work, counts, flag, outstanding
from netlab.runner.trial_faults import Unmeasured
from netlab.store.plan import plan_of
from netlab.store.reader import read
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

MATRIX = """\
title: made up
pairings: [LL, WW]
until: {within: 1 %, at_least: 4, at_most: 9}
order: shuffled
tests:
  - {test: stream, protocol: UDP, message_size: [18, 64, 576, 1472], socket_buffer: auto}
  - {test: stream, protocol: TCP, message_size: 64, socket_buffer: auto, repeats: 2}
"""


class Cut(BaseException):
    """Stands for the signal that ends a controller in mid-run."""


def scattered(cell: Cell, number: int) -> float:
    """A value that depends on its trial alone; the larger messages scatter less."""
    digest = hashlib.sha256(f"{cell.key} {number}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32 - 0.5
    return 1e8 * (1 + share / int(cell.settings["message_bytes"]) * 10)


@dataclass
class FakePool:
    """Hosts that answer at once, as a function of the trial, and the engine that asks them."""

    tests: tuple[str, ...] = ("stream", "throughput_search")
    value: Callable[[Cell, int], float] = scattered
    stolen: Callable[[Trial, int], float | None] = lambda *_: None
    """What the server's hypervisor took of it, by trial and attempt."""
    away: Callable[[Trial], Status | None] = lambda _: None
    cut_after: int | None = None
    measured: list[Trial] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Keys of cells of which a trial found its host away."""

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        return frozenset(cell.pairing)

    def match_of(self, pairing: str) -> Match:
        return Match(pairing, pairing[0], pairing[1])

    def agents_of(self, cell: Cell) -> tuple[Agent, ...]:
        del cell
        return ()

    def reason_not_to_measure(self, cell: Cell) -> Unmeasured | None:
        del cell
        return None

    def ends(self, cell: Cell) -> Ends:
        del cell
        return Ends(server=None, client=cast(Agent, None), same_host=False)

    def is_away(self, cell: Cell) -> bool:
        return cell.key in self.gone or self.away(Trial(cell, 1)) is Status.PENDING

    def check_path_again(self, record: Record, cell: Cell) -> Record:
        """It passes."""
        del cell
        return record

    def ask_again(self) -> None:
        """Nobody is away."""

    def next_ask_s(self, cells: object, patience_s: float) -> float | None:
        del cells, patience_s
        return None

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        del cell
        return Unmeasured(Status.PENDING, "host-away", "made up")

    def returned(self) -> frozenset[str]:
        return frozenset()

    def close(self) -> None:
        """Nothing is open."""

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        del ends, live
        if self.cut_after is not None and len(self.measured) >= self.cut_after:
            raise Cut
        self.measured.append(trial)
        status = self.away(trial)
        if status is Status.PENDING:
            self.gone.add(trial.cell.key)
        if status is not None:
            reason = {Status.FAILED: "no-peer", Status.PENDING: "host-away"}.get(status)
            return Unmeasured(status, reason or "capability-missing", "made up").record(
                trial, attempt
            )
        values: dict[str, Value] = {"throughput_bit_per_s": self.value(trial.cell, trial.number)}
        stolen = self.stolen(trial, attempt)
        if stolen is not None:
            values["receiver_host_steal_share"] = stolen
        return Record(
            cell=trial.cell.key,
            trial=trial.number,
            attempt=attempt,
            status=Status.OK,
            pairing=trial.cell.pairing,
            server="a",
            client="b",
            test=trial.cell.test,
            started_at="2026-01-31T12:00:00.000000Z",
            settings=dict(trial.cell.settings),
            values=values,
        )


@dataclass
class Bench:
    """A matrix, its cells and its run folder."""

    path: Path
    monkeypatch: pytest.MonkeyPatch
    text: str = MATRIX

    @property
    def matrix(self) -> Matrix:
        file = self.path / "matrix.yaml"
        file.write_text(self.text)
        return load_matrix(file)

    def run(
        self, pool: FakePool, retries: int = 0, redo: frozenset[str] = frozenset()
    ) -> list[Trial]:
        """One session; what it measured. It may be cut."""
        matrix = self.matrix
        cells = expand(matrix)

        def measured(trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
            is_fake = trial.cell.test in pool.tests
            return (pool if is_fake else engines).measure(trial, ends, attempt, live)

        self.monkeypatch.setattr(TrialPlace, "measure", staticmethod(measured))
        progress = Progress()
        with RunFolder.open_for_writing(
            self.path / "run", plan_of(matrix, cells), clock=ticking()
        ) as folder:
            folder.note("session")
            due = outstanding(folder, cells, redo)
            progress.begin(folder.path, due, measured_count=0, matrix=matrix)
            session = Session(
                folder=folder,
                pool=cast(HostPool, pool),
                matrix=matrix,
                progress=progress,
                options=Options(matrix=self.path / "matrix.yaml", retries=retries),
                work=Work(cells, due, redo),
            )
            try:
                measure(session)
                flag(folder, cells, matrix.quiet, progress)
            except Cut:
                pass
            self.counted = counts(folder, cells)
        return pool.measured

    def recorded(self) -> list[tuple[str, int]]:
        return [(record.cell, record.trial) for record in read(self.path / "run").records]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)
