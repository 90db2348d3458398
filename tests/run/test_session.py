"""One session of a run: what it measures, in which order, and what an interruption changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from made_runs import ticking

from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.records import Record, Status, Value
from netlab.experiment.round_robin import Match
from netlab.experiment.schedule import Trial
from netlab.measure.ends import Ends
from netlab.measure.engine import engine_for, register
from netlab.measure.netprobe import NETPROBE, Netprobe
from netlab.remote.agent import Agent
from netlab.run import session as room
from netlab.run.host_pool import HostPool
from netlab.run.progress import Progress
from netlab.run.run import plan_of
from netlab.run.session import Session, counts, outstanding
from netlab.run.skip_reasons import Unmeasured
from netlab.store.run_folder import RunFolder, read

MATRIX = """\
title: made up
pairings: [LL, WW]
until: {within: 1 %, at_least: 4, at_most: 9}
order: shuffled
tests:
  - {test: stream, protocol: UDP, message_size: [18, 64, 576, 1472], socket_buffer: auto}
  - {test: stream, protocol: TCP, message_size: 64, socket_buffer: auto, repeats: 2}
"""


class Cut(Exception):
    """Stands for the signal that ends a controller in mid-run."""


def scattered(cell: Cell, number: int) -> float:
    """A value that depends on its trial alone; the larger messages scatter less."""
    digest = hashlib.sha256(f"{cell.key} {number}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32 - 0.5
    return 1e8 * (1 + share / cell.setup.message_bytes * 10)  # type: ignore[union-attr]


@dataclass
class FakePool:
    """Hosts that answer at once, as a function of the trial, and the engine that asks them."""

    name = "made-up"
    tests = ("stream", "throughput_search")
    value: Callable[[Cell, int], float] = scattered
    stolen: Callable[[Trial, int], float | None] = lambda *_: None
    """What the server's hypervisor took of it, by trial and attempt."""
    away: Callable[[Trial], Status | None] = lambda _: None
    cut_after: int | None = None
    measured: list[Trial] = field(default_factory=list)

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        return frozenset(cell.pairing)

    def meeting_of(self, pairing: str) -> Match:
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
        if status is not None:
            reason = {Status.FAILED: "no-peer", Status.PENDING: "host-away"}.get(status)
            return Unmeasured(status, reason or "no-buffers", "made up").record(trial, attempt)
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
            test="stream",
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
        register(pool)
        self.monkeypatch.setitem(room.ENGINE_OF, "stream", pool.name)
        progress = Progress()
        with RunFolder.open_for_writing(
            self.path / "run", plan_of(matrix, cells), clock=ticking()
        ) as folder:
            folder.note("session")
            progress.begin(folder.path, outstanding(folder, cells, redo), done=0, matrix=matrix)
            session = Session(
                folder=folder,
                pool=cast(HostPool, pool),
                matrix=matrix,
                progress=progress,
                cells=cells,
                redo=redo,
                retries=retries,
            )
            try:
                session.measure()
                session.flag()
            except Cut:
                pass
            self.counted = counts(folder, cells)
        return pool.measured

    def recorded(self) -> list[tuple[str, int]]:
        return [(each.cell, each.trial) for each in read(self.path / "run").records]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_each_cell_has_as_many_trials_as_it_needs(bench: Bench) -> None:
    bench.run(FakePool())
    stored = read(bench.path / "run")
    ends = {}
    for cell in stored.plan.cells:
        progress = stored.progress(cell)
        words = re.search(r"(\w\w)-stream-(\w+-\d+)", cell.key)
        assert words is not None
        ends[words[1], words[2]] = (progress.trials, progress.ended, progress.precise)
        assert sum(each.cell == cell.key for each in stored.records) == progress.trials
    assert ends["LL", "udp-18"] == ends["WW", "udp-18"] == (9, True, False)
    assert ends["LL", "udp-1472"] == ends["WW", "udp-1472"] == (4, True, True)
    assert ends["LL", "tcp-64"] == (2, True, None)
    assert {trials for trials, _, _ in ends.values()} > {2, 4, 9}
    assert bench.counted == {"ok": len(stored.records)}


def test_a_block_holds_every_cell_that_is_not_done_and_blocks_follow_each_other(
    bench: Bench,
) -> None:
    measured = bench.run(FakePool())
    numbers = [trial.number for trial in measured]
    assert numbers == sorted(numbers)
    stored = read(bench.path / "run")
    for number in range(1, 10):
        block = [trial.cell.key for trial in measured if trial.number == number]
        assert sorted(block) == sorted(
            cell.key for cell in stored.plan.cells if stored.progress(cell).trials >= number
        )
    first, second = ([t.cell.key for t in measured if t.number == n] for n in (1, 2))
    assert sorted(first) == sorted(second)
    assert first != second


@pytest.mark.parametrize("cut_after", [0, 1, 7, 23, 40])
def test_cut_anywhere_a_run_goes_on_with_the_same_decisions_in_the_same_order(
    bench: Bench, tmp_path: Path, cut_after: int
) -> None:
    bench.run(FakePool(cut_after=cut_after))
    assert len(bench.recorded()) == cut_after
    bench.run(FakePool())
    other = Bench(tmp_path / "whole", bench.monkeypatch)
    other.path.mkdir()
    other.run(FakePool())
    assert bench.recorded() == other.recorded()


def test_cells_that_never_got_tight_are_noted_once_and_told(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(FakePool())
    bench.run(FakePool())
    notes = [note for note in read(bench.path / "run").notes if note.kind == "not-tight"]
    wild = [note.data["cell"] for note in notes]
    assert len(wild) == len(set(wild)) > 1
    assert all(note.data["trials"] == 9 and note.data["within"] == 0.01 for note in notes)
    said = capsys.readouterr().err
    assert said.count("not within ± 1 % after 9 trials") == 1


def test_what_is_refused_is_asked_once_and_what_fails_not_for_ever(bench: Bench) -> None:
    def refused(trial: Trial) -> Status | None:
        return Status.IMPOSSIBLE if trial.cell.pairing == "WW" else Status.FAILED

    bench.text = MATRIX.replace(", repeats: 2", "")
    measured = bench.run(FakePool(away=refused), retries=1)
    tries: dict[str, list[int]] = {}
    for trial in measured:
        tries.setdefault(trial.cell.key, []).append(trial.number)
    for key, numbers in tries.items():
        assert numbers == ([1] if key.startswith("WW") else [1, 1, 2, 2, 3, 3, 4, 4])
    assert bench.counted == {"impossible": 5, "failed": 20}
    # Mended, each failed trial is measured, and further ones where they are needed.
    bench.run(FakePool())
    assert set(bench.counted) == {"impossible", "ok"}


def test_while_a_host_is_away_its_cells_wait_and_are_gone_on_with(bench: Bench) -> None:
    bench.run(FakePool(away=lambda t: Status.PENDING if t.cell.pairing == "WW" else None))
    assert bench.counted["pending"] == 4 * 4 + 2
    again = bench.run(FakePool())
    assert {trial.cell.pairing for trial in again} == {"WW"}
    assert set(bench.counted) == {"ok"}


def test_a_cell_to_redo_is_measured_again_in_all_its_trials(bench: Bench) -> None:
    bench.run(FakePool())
    stored = read(bench.path / "run")
    cell = stored.plan.cells[3]
    again = bench.run(FakePool(), redo=frozenset({cell.key}))
    assert [(trial.cell.key, trial.number) for trial in again] == [
        (cell.key, number) for number in range(1, stored.progress(cell).trials + 1)
    ]


def test_between_trials_is_a_pause_but_neither_before_the_first_nor_after_the_last(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.text = MATRIX.replace("until: {within: 1 %, at_least: 4, at_most: 9}", "pause: 3s")
    log: list[object] = []
    monkeypatch.setattr("netlab.run.session.time.sleep", log.append)

    def noted(cell: Cell, number: int) -> float:
        log.append("trial")
        return scattered(cell, number)

    bench.run(FakePool(value=noted))
    assert log == ["trial", *([3.0, "trial"] * 11)]


def test_hosts_that_are_away_cost_no_pause(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.text = MATRIX + "pause: 3s\n"
    monkeypatch.setattr(
        "netlab.run.session.time.sleep", lambda _: pytest.fail("waited for nothing")
    )
    bench.run(FakePool(away=lambda _: Status.PENDING))


def test_the_start_says_how_many_trials_how_long_and_with_which_pauses(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = MATRIX + "pause: 1ms\n"
    bench.run(FakePool())
    first = capsys.readouterr().err.splitlines()[0]
    assert ": 36 trials to measure, up to 9 a cell until it is tight, about " in first
    assert first.endswith("1 ms between trials")


QUIET = MATRIX.replace(
    "until: {within: 1 %, at_least: 4, at_most: 9}", "quiet: {steal: 0.5 %, tries: 3}\nrepeats: 2"
)


def test_a_trial_that_lost_its_cpu_is_measured_again_when_all_the_others_are_done(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = QUIET

    def stolen(trial: Trial, attempt: int) -> float:
        return 0.01 if attempt == 1 and trial.number == 1 and trial.cell.pairing == "LL" else 0.005

    measured = bench.run(FakePool(stolen=stolen))
    once, again = measured[:20], measured[20:]
    assert len(set(once)) == 20
    assert {(t.cell.pairing, t.number) for t in again} == {("LL", 1)}
    assert len(again) == len(set(again)) == 5
    stored = read(bench.path / "run")
    assert all(stored.latest[t.cell.key, t.number].attempt == 2 for t in again)
    notes = [note.data for note in stored.notes if note.kind == "disturbed"]
    assert sorted(note["cell"] for note in notes) == sorted(t.cell.key for t in again)
    assert all(
        (n["trial"], n["attempt"], n["steal"], n["tries"]) == (1, 1, 0.005, 3) for n in notes
    )
    said = capsys.readouterr().err
    assert "measured again: 5 trials lost more than 0.5 % of a host's CPU time" in said
    assert "in all of their tries" not in said
    assert bench.counted == {"ok": 20}


def test_a_trial_that_stays_disturbed_is_left_after_its_tries_and_told(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.text = QUIET
    measured = bench.run(FakePool(stolen=lambda t, _: 0.2 if t.number == 2 else None))
    assert len(measured) == 20 + 2 * 10
    assert bench.counted == {"ok": 20}
    assert "in all of their tries 10 trials lost more than 0.5 %" in capsys.readouterr().err
    assert len(bench.run(FakePool())) == len(measured) - 40
    # With no rule, nothing is tried again.
    bench.text = QUIET.replace("quiet: {steal: 0.5 %, tries: 3}\n", "")
    assert bench.run(FakePool()) == []


def test_cut_while_it_tries_again_a_run_goes_on_with_what_is_still_disturbed(bench: Bench) -> None:
    bench.text = QUIET

    def stolen(trial: Trial, attempt: int) -> float:
        return 0.3 if attempt == 1 and trial.number == 2 else 0.0

    bench.run(FakePool(stolen=stolen, cut_after=24))
    rest = bench.run(FakePool(stolen=stolen))
    # The attempt that was cut counts as one; the third is the last.
    assert len(rest) == 6
    assert {trial.number for trial in rest} == {2}
    stored = read(bench.path / "run")
    assert len(stored.records) == 30
    assert all(r.values["receiver_host_steal_share"] == 0.0 for r in stored.latest.values())


TOGETHER = """\
title: pairs of ports
pairings: [b+a, d+c]
parallel: true
repeats: 2
link: {rate: 1Gbit}
tests:
  - {test: throughput_search, frame_size: [64, 128], duration: 1s, together: true}
"""


def constant(_cell: Cell, _number: int) -> float:
    return 1e8


@dataclass
class PairsPool(FakePool):
    """Hosts that say with whom they searched."""

    met: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Cell, trial, attempt → how many pairs there were."""

    def meeting_of(self, pairing: str) -> Match:
        server, client = pairing.split("+")
        return Match(pairing, server, client)

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        assert isinstance(ends, Ends) and ends.participant is not None
        if self.away(trial) is None:
            said = ends.participant.meet(trial.cell.key).said
            self.met[trial.cell.key, trial.number, attempt] = len(said)
            assert {key.partition("-")[2].rpartition("-")[0] for key in said} == {
                trial.cell.key.partition("-")[2].rpartition("-")[0]
            }
        return FakePool.measure(self, trial, ends, attempt, live)


def test_what_searches_together_is_begun_again_together(bench: Bench) -> None:
    bench.text = TOGETHER

    def run(pool: PairsPool) -> list[Trial]:
        bench.monkeypatch.setitem(room.ENGINE_OF, "throughput_search", pool.name)
        return bench.run(pool)

    def away(trial: Trial) -> Status | None:
        gone = trial.cell.pairing == "d+c" and trial.number == 2
        return Status.PENDING if gone and "-64-" in trial.cell.key else None

    first = PairsPool(value=constant, away=away)
    assert len(run(first)) == 8
    # Where a host is away the other pair searches without it.
    assert sorted(first.met.values()) == [1, *[2] * 6]
    second = PairsPool(value=constant)
    again = run(second)
    assert sorted((t.cell.pairing, t.number) for t in again) == [("b+a", 2), ("d+c", 2)]
    assert list(second.met.values()) == [2, 2]
    assert bench.counted == {"ok": 8}
    assert run(PairsPool(value=constant)) == []


def test_each_kind_of_test_is_measured_by_the_engine_that_is_named_for_it(bench: Bench) -> None:
    bench.text = """\
title: two engines
pairings: [LL]
tests:
  - {test: stream, protocol: UDP, message_size: 64}
  - {test: round_trip, protocol: UDP, message_size: 64}
"""
    pool, by_netprobe = FakePool(), FakePool()
    bench.monkeypatch.setattr(
        Netprobe, "measure", lambda _self, *trial: by_netprobe.measure(*trial)
    )
    assert [trial.cell.test for trial in bench.run(pool)] == ["stream"]
    assert [trial.cell.test for trial in by_netprobe.measured] == ["round_trip"]
    assert engine_for("netprobe", "stream") is NETPROBE
    with pytest.raises(KeyError):
        engine_for("made-up", "round_trip")
