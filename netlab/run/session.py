"""One session of a run: block after block, round after round, each record on disk before the next.

What a block holds is asked of the folder when the block begins: of a cell that is measured until it
is tight there is another trial only where the records so far ask for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from netlab.errors import HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.interruptions import interruptions
from netlab.experiment.kinds import Stream, TestSettings, is_together
from netlab.experiment.matrix import Matrix
from netlab.experiment.records import Record, Status
from netlab.experiment.schedule import Round, Trial, rounds, with_partners
from netlab.experiment.stopping import StealRule
from netlab.measure.common_window import CommonWindow, common_window, is_common
from netlab.measure.engine import engine_for
from netlab.measure.netprobe import NETPROBE
from netlab.measure.rendezvous import Participant, Rendezvous
from netlab.run.host_pool import HostPool
from netlab.run.measured_again import Again, in_which_data_stopped
from netlab.run.progress import Progress
from netlab.store.run_folder import RunFolder

ENGINE_OF = dict.fromkeys(NETPROBE.tests, NETPROBE.name)
"""Kind of test → the name of the engine that measures it."""

CAPTURES = "captures"
"""Name of the folder in a run's folder for frames captured on a host."""

NOT_TIGHT = "not-tight"
"""Kind of the note about a cell that had all its trials and never got tight."""


def outstanding(
    folder: RunFolder, cells: tuple[Cell, ...], redo: frozenset[str]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that are to be measured, as far as the records tell."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number) for key, number in folder.outstanding(redo) if key in by_key
    )


def disturbed(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that were measured, disturbed or interrupted, and may be tried
    again.
    """
    return _recorded(folder, cells, Again(quiet).asks)


def _recorded(
    folder: RunFolder, cells: tuple[Cell, ...], is_meant: Callable[[Record], bool]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` whose record that counts is meant."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number)
        for (key, number), record in folder.latest.items()
        if key in by_key and is_meant(record)
    )


def counts(folder: RunFolder, cells: tuple[Cell, ...]) -> dict[str, int]:
    """The trials of ``cells`` by status; those not measured yet are pending."""
    keys = {cell.key for cell in cells}
    found: dict[str, int] = {}
    for cell in folder.plan.cells:
        if cell.key not in keys:
            continue
        for number in range(1, folder.progress(cell).trials + 1):
            record = folder.latest.get((cell.key, number))
            word = str(Status.PENDING if record is None else record.status)
            found[word] = found.get(word, 0) + 1
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What one session measures, where its records go, and with which hosts."""

    folder: RunFolder
    pool: HostPool
    matrix: Matrix
    progress: Progress
    cells: tuple[Cell, ...]
    """Those chosen of the matrix."""
    redo: frozenset[str]
    retries: int

    def measure(self) -> None:
        """Every trial that is to be measured, once (and its retries), until none is left."""
        pairings = {cell.pairing for cell in self.cells}
        begun: set[Trial] = set()
        paused = _Pause(self.matrix.pause_s, self.progress)
        with ThreadPoolExecutor(max_workers=len(pairings)) as executor:
            try:
                while block := self._next_block(begun):
                    self.progress.expect(block)
                    for round_ in self._rounds(block):
                        for record in self._records(round_, paused, executor):
                            self.folder.append(record)
                            self.progress.record(record)
                        self._note_returned()
            except BaseException:
                # What is under way ends with its agents; the executor waits for it.
                self.pool.close()
                raise

    def flag(self) -> None:
        """Say in which trials data stopped, which stayed disturbed and which cells never got tight;
        these once.
        """
        self._flag_disturbed()
        self._flag_interrupted()
        until = self.folder.plan.until
        noted = {note.data.get("cell") for note in self.folder.notes if note.kind == NOT_TIGHT}
        flagged = {cell.key for cell in self.cells} - noted
        found = [
            (cell.key, progress.trials)
            for cell in self.folder.plan.cells
            if cell.key in flagged and (progress := self.folder.progress(cell)).precise is False
        ]
        if until is None or not found:
            return
        for key, trials in found:
            self.folder.note(
                NOT_TIGHT,
                durable=False,
                cell=key,
                trials=trials,
                within=until.within,
                confidence=until.confidence,
            )
        cells = found[0][0] if len(found) == 1 else f"{found[0][0]} and {len(found) - 1} more"
        self.progress.warn(
            [f"not within ± {100 * until.within:g} % after {until.at_most} trials: {cells}"]
        )

    def _flag_disturbed(self) -> None:
        quiet = self.matrix.quiet
        if quiet is None:
            return
        stayed = _recorded(self.folder, self.cells, quiet.is_disturbed)
        if stayed:
            self.progress.warn([f"in all of their tries {quiet.disturbed(len(stayed))}"])

    def _flag_interrupted(self) -> None:
        stand = _recorded(self.folder, self.cells, lambda each: any(interruptions(each)))
        if stand:
            self.progress.warn([f"{in_which_data_stopped(len(stand))}: see the findings"])

    def _next_block(self, begun: set[Trial]) -> tuple[Trial, ...]:
        """The block with the lowest number that has trials which this session did not begin.

        What was disturbed comes last, all of it together: what disturbs goes on for a while.
        """
        left = [t for t in outstanding(self.folder, self.cells, self.redo) if t not in begun]
        if not left:
            return self._disturbed_block()
        number = min(trial.number for trial in left)
        block = with_partners([t for t in left if t.number == number], self.cells)
        begun.update(block)
        return block

    def _disturbed_block(self) -> tuple[Trial, ...]:
        """What is to be tried again, noted and said."""
        rule = Again(self.matrix.quiet)
        again = disturbed(self.folder, self.cells, rule.quiet)
        if not again:
            return ()
        records = [self.folder.latest[trial.cell.key, trial.number] for trial in again]
        rule.note(self.folder, records)
        self.progress.tell(f"measured again: {'; '.join(rule.reasons(records))}")
        return with_partners(again, self.cells)

    def _note_returned(self) -> None:
        """A host that was lost and came back may have been restarted: its facts show it."""
        returned = self.pool.returned()
        if returned:
            self.pool.note_facts(self.folder, "again", only=returned)

    def _rounds(self, block: tuple[Trial, ...]) -> tuple[Round, ...]:
        return rounds(
            block,
            order=self.matrix.order,
            seed=self.matrix.seed,
            hosts_of=self.pool.hosts_of,
            parallel=self.matrix.parallel,
            meeting_of=self.pool.meeting_of,
        )

    def _records(self, round_: Round, paused: _Pause, executor: Executor) -> Iterator[Record]:
        """The records of one round, as they come; a failed trial is tried again within it."""
        waiting = list(round_.trials)
        for tries_left in range(self.retries, -1, -1):
            if not waiting:
                return
            paused.before()
            attempts = [(trial, self._begin(trial)) for trial in waiting]
            window = self._window(waiting, executor)
            teams = _teams(waiting)
            futures = {
                executor.submit(self._trial, *each, window, teams.get(each[0])): each[0]
                for each in attempts
            }
            waiting = []
            for future in as_completed(futures):
                record = future.result()
                paused.after(record)
                if record.status is Status.FAILED and tries_left:
                    waiting.append(futures[future])
                yield record

    def _begin(self, trial: Trial) -> int:
        """Note that an attempt begins, and say which it is."""
        cell, number = trial.cell.key, trial.number
        attempt = self.folder.next_attempt(cell, number)
        self.folder.note("attempt", durable=False, cell=cell, trial=number, attempt=attempt)
        return attempt

    def _window(self, trials: Sequence[Trial], executor: Executor) -> CommonWindow | None:
        """One window for the trials of a round, where there are several and one can cut them."""
        found = {trial: self.pool.agents_of(trial.cell) for trial in trials}
        setups = [trial.cell.setup for trial, agents in found.items() if agents]
        if len(setups) < 2 or not is_common(setups):
            return None
        try:
            agents = [agent for pair in found.values() for agent in pair]
            return common_window([s for s in setups if isinstance(s, Stream)], agents, executor)
        except HostGone:
            # Its own trial finds out; the others are measured, each in a window of its own.
            return None

    def _trial(
        self,
        trial: Trial,
        attempt: int,
        window: CommonWindow | None,
        participant: Participant | None,
    ) -> Record:
        """One trial on its hosts, or the record that says why it was not measured."""
        try:
            away = self.pool.reason_not_to_measure(trial.cell)
            if away is not None:
                return away.record(trial, attempt)
            self.progress.trial(trial)
            link = self.matrix.link
            ends = replace(
                self.pool.ends(trial.cell),
                captures=self.folder.path / CAPTURES,
                window=window,
                participant=participant,
                link_rate_bit_per_s=None if link is None else link.rate_bit_per_s,
            )
            engine = engine_for(ENGINE_OF[trial.cell.test], trial.cell.test)
            return engine.measure(trial, ends, attempt, self.progress.live)
        except HostGone as gone:
            return self.pool.lost(trial, attempt, gone)
        finally:
            if participant is not None:
                participant.leave()


class _Pause:
    """The time between two trials: only after one that kept its hosts busy."""

    def __init__(self, pause_s: float, progress: Progress) -> None:
        self._pause_s = pause_s
        self._progress = progress
        self._due = False

    def before(self) -> None:
        """Wait where a trial was measured before. A signal ends it at once."""
        if self._due and self._pause_s:
            self._progress.pausing(self._pause_s)
            time.sleep(self._pause_s)
        self._due = False

    def after(self, record: Record) -> None:
        """A trial has ended."""
        self._due = self._due or record.status is not Status.PENDING


def _teams(trials: Sequence[Trial]) -> dict[Trial, Participant]:
    """The places of those trials of a round that search together."""
    teams: dict[TestSettings, list[Trial]] = {}
    for trial in trials:
        if is_together(trial.cell.setup):
            teams.setdefault(trial.cell.setup, []).append(trial)
    places: dict[Trial, Participant] = {}
    for those in teams.values():
        rendezvous = Rendezvous(trial.cell.pairing for trial in those)
        places |= {trial: rendezvous.participant(trial.cell.pairing) for trial in those}
    return places
