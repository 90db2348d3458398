"""Measures the trials of one session of a run: block after block, round after round.

A trial is one execution of a cell (a combination of settings between two hosts), and its record is
the stored result or failure. A block is the trials with the same number, one of each cell. A round
is the trials of a block that run at the same time.

Each record is written before the next trial begins; only its sync to the disk overlaps the next
trial. If the machine fails before the sync ends, the next session measures the trial again.

A block is chosen when it begins, from the trials that are due by the records in the run folder. A
cell that is measured until it is precise gets another trial only if its records require one.

The pause between two trials (single measurements).

The states of the hosts' own settings during one session of a run.

A variant of a matrix names a state: values of settings such as the offloads of an interface. A cell
is one combination of a pairing (two hosts), a kind of test and its settings; a trial is one
execution of a cell. A round is the trials that run at the same time.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from netlab import clock
from netlab.errors import (
    ClusterLost,
    HostError,
    HostGone,
    Interrupted,
    LockedError,
    NetlabError,
    ProbeError,
    StoreError,
    UsageError,
)
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Inventory
from netlab.experiment.kinds import Stream
from netlab.experiment.matrix import Matrix
from netlab.experiment.records import Record, Status, Value
from netlab.experiment.schedule import Round, Trial, rounds, with_partners
from netlab.experiment.variants import Variants, changes_mtu, chosen
from netlab.measurement.ends import CommonWindow, Ends, Participant, common_window, is_common
from netlab.measurement.variants import NOT_REACHED, HostStates
from netlab.remote.host_lock import LockOwner
from netlab.results.arrow.background import BackgroundSegments, segments_made
from netlab.runner.due_trials import (
    RepeatRule,
    Work,
    disturbed,
    flag,
    outstanding,
    participants_of,
    stopped_for_good,
)
from netlab.runner.ending import DaemonExecutor, shielded, switching_seldom
from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options, resume_command
from netlab.runner.places import AgentGroup, ThisProcess, TrialPlace, trial_place
from netlab.runner.progress import Progress
from netlab.runner.trial_faults import (
    PATH_MTU,
    Unmeasured,
    append,
    interrupted,
    keep_traceback,
    record_of_fault,
)
from netlab.store.reader import IN_VAIN
from netlab.store.run_folder import RunFolder
from netlab.version import VERSION


class Pause:
    """The pause between two trials; it is skipped if the earlier trial did not use its hosts."""

    def __init__(self, pause_s: float, progress: Progress) -> None:
        self._pause_s = pause_s
        self._progress = progress
        self._due = False

    def before(self) -> None:
        """Wait if a trial was measured before. A signal ends the wait at once."""
        if self._due and self._pause_s:
            self._progress.pausing(self._pause_s)
            clock.sleep(self._pause_s)
        self._due = False

    def after(self, record: Record) -> None:
        """Take note of a trial that has ended."""
        self._due = self._due or record.status is not Status.PENDING


@dataclass(frozen=True, slots=True)
class Entered:
    """The outcome of bringing the hosts of a trial into the state that its cell names."""

    values: Mapping[str, Value] = field(default_factory=dict)
    """What the commands that check the settings printed, for the record of the trial."""
    obstacle: Unmeasured | None = None
    """Why the state was not reached, so that the trial is not measured."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a trial shares with the other trials of its round, and the state of its hosts."""

    window: CommonWindow | None
    """The window (the time that is measured) of all trials of the round; ``None``: each trial has
    its own."""
    participant: Participant | None
    """How the trial's hosts take part in a search of several pairs of hosts; ``None``: they do not
    take part in such a search."""
    entered: Future[Entered] | None
    """The outcome of bringing the hosts into their state; ``None``: the matrix has no variants."""

    def state(self) -> Entered:
        """The result of ``entered``. Raises the error that ``enter`` raised, such as HostGone."""
        return Entered() if self.entered is None else self.entered.result()


class SessionStates:
    """Brings hosts into the states that trials need, and undoes the changes at the end."""

    def __init__(self, variants: Variants) -> None:
        self._variants = variants
        self._states = HostStates(variants)

    def enter(self, cell: Cell, ends: Ends) -> Entered:
        """Bring both hosts into the state that the cell names. Raises HostGone."""
        try:
            return Entered(self._states.enter(cell, ends))
        except ProbeError as error:
            detail = error.detail or error.word
            names = ends.server_name, ends.client.host.name
            sentence = f"{error.host}: {detail}"
            return Entered(obstacle=Unmeasured(Status.FAILED, NOT_REACHED, sentence, *names))

    def obstacle_left(self, obstacle: Unmeasured | None, cell: Cell) -> Unmeasured | None:
        """``obstacle``, or ``None`` if the state of the cell's hosts may have removed it.

        The state may change the MTU of an interface. The path MTU depends on this MTU, and was
        measured before the hosts were brought into any state.
        """
        is_path_mtu = obstacle is not None and obstacle.reason == PATH_MTU
        if is_path_mtu and changes_mtu(chosen(self._variants, cell.setup.variant)):
            return None
        return obstacle

    def restore(self) -> list[str]:
        """Undo the changes on all hosts; returns a warning for each host on which this failed."""
        return [
            f"{sentence}; `netlab hosts` on the inventory tries again"
            for sentence in self._states.restore()
        ]

    def left_to_agents(self) -> list[str]:
        """A sentence for each host whose settings were changed when its agent was ended."""
        return [
            f"{name}: the run ended while its settings were changed; its probe puts them back, and "
            "`netlab hosts` on the inventory says whether it could"
            for name in self._states.changed
        ]


CAPTURES = "captures"
"""Name of the folder for frames captured on a host, in the run folder."""

LOSSES_MOST = 5
"""A trial that loses its host more often than this is not repeated: it may cause the losses."""

LAST_RECORDS_S = 0.5
"""Time for running trials to end after their agents have ended."""
LEAST_WAIT_S = 0.05


class Session:
    """One session of a run: its work, its run folder and its hosts.

    These change while it measures, and only its own thread changes them: the trials that it has
    begun, those under way with their attempts and futures, how often each lost a host, the last
    sync to the disk, the hosts in the journal.
    """

    def __init__(
        self,
        *,
        folder: RunFolder,
        pool: HostPool,
        matrix: Matrix,
        progress: Progress,
        options: Options,
        work: Work,
        place: TrialPlace | None = None,
    ) -> None:
        """``place``: where the trials are measured; by default in this process."""
        self.folder, self.pool, self.matrix, self.progress = folder, pool, matrix, progress
        self.options, self.work = options, work
        self.place = place or ThisProcess()
        self.states = SessionStates(matrix.variants)
        self._paused = Pause(matrix.pause_s, progress)
        self._segments = BackgroundSegments(folder.path)
        self._begun: set[Trial] = set()
        """Trials that this session has measured or is about to measure."""
        self._losses: Counter[Trial] = Counter()
        """Trial → how often it lost a host or its path."""
        self._under_way: dict[Trial, int] = {}
        """Trial without a record yet → its attempt."""
        self._futures: dict[Future[Record], Trial] = {}
        self._syncs: list[Future[None]] = []
        """The sync that makes the last records durable."""
        self._noted_hosts: set[str] = set()
        """Names of the hosts that the journal describes."""

    def begin(self) -> None:
        """Note the session, its hosts and their facts, before the first trial."""
        pool, folder = self.pool, self.folder
        self._note_session()
        pool.leftovers.note(folder)
        self.progress.warn(pool.warnings)
        pool.note_facts(folder, "before")
        pool.note_routes(folder)
        cells = dict.fromkeys(trial.cell for trial in self.work.trials)
        self.progress.impossible(pool.refusals(cells))

    def end(self) -> tuple[str, ...]:
        """Warn about cells, and note the hosts' facts and the end; returns a sentence for each host
        that is away.
        """
        self.flag()
        self.pool.note_facts(self.folder, "after")
        with shielded():
            self.folder.note("session-end")
        return self.pool.unreachable

    def _note_session(self) -> None:
        hosts = self.pool.host_descriptions()
        self._noted_hosts.update(hosts)
        self.progress.measures_here = self.pool.measures_here
        matrix = self.matrix
        with shielded():
            self.folder.note(
                "session",
                netlab=VERSION,
                overrides=dict(self.options.overrides),
                only=list(self.options.only),
                order=matrix.order,
                seed=matrix.seed,
                pause_s=matrix.pause_s,
                quiet=matrix.quiet and asdict(matrix.quiet),
                hosts=hosts,
            )

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """The context of all rounds. At its end, trials that are left get a record with the reason,
        and changed settings of hosts are put back. After an error, results that exist are kept.
        """
        try:
            yield
            self._give_up()
            self.progress.warn(self.states.restore())
        except BaseException as error:
            # Closing the pool ends the agents, and so the running trials, within a time limit.
            finished = {future for future in self._futures if future.done()}
            self.pool.close()
            self.progress.warn(self.states.left_to_agents())
            # If the disk refused a line, nothing more is written. Otherwise results are kept.
            if isinstance(error, Exception) and not isinstance(error, StoreError):
                self._keep_finished(finished)
            raise

    def rounds(self) -> Iterator[list[Trial]]:
        """The trials of each round, block after block, until no trial is due that can be measured.

        Between two rounds, hosts that are away are asked again.
        """
        while True:
            self._ask_again()
            block = self._next_block()
            if block:
                self.progress.expect(block)
                for round_ in self._rounds_of(block):
                    yield [trial for trial in round_.trials if not self._is_left(trial)]
                    self._ask_again()
            elif not self._wait_for_hosts():
                return

    # Records

    def keep(self, record: Record) -> None:
        """Write a record. A signal during the write takes effect after it, so that no result is
        lost or written twice.
        """
        with shielded():
            if self._keeps_earlier_result(record):
                self._note_failed_repeat(record)
                return
            record = append(self.folder, record, self.progress.warn)
            self._syncs[:] = [self.folder.sync_soon()]
        self.progress.record(record)
        if not self.progress.measures_here:  # else a process beside the trials would disturb them
            self._segments.on_record()

    def _keeps_earlier_result(self, record: Record) -> bool:
        """Whether the earlier result stays because this repeat has no result.

        The earlier result is replaced if the repeat was requested (``redo``), or if the data of the
        earlier trial had stopped for good. A repeat with the status pending replaces nothing.
        """
        earlier = self.folder.latest.get((record.cell, record.trial))
        if earlier is None or earlier.status is not Status.OK or record.status is Status.OK:
            return False
        stays = record.cell not in self.work.redo and not stopped_for_good(earlier)
        return stays or record.status is Status.PENDING

    def _note_failed_repeat(self, record: Record) -> None:
        self.folder.note(
            IN_VAIN,
            cell=record.cell,
            trial=record.trial,
            attempt=record.attempt,
            status=str(record.status),
            reason=record.reason,
            detail=record.detail,
        )
        if record.status is not Status.PENDING:
            self.progress.notify(
                f"{record.cell}: repeated without a result ({record.detail or record.reason}); "
                "the earlier result stays"
            )

    def _keep_finished(self, finished: set[Future[Record]]) -> None:
        """Keep the records of trials that have a result or finished before the agents were ended.
        All other trials count as interrupted: the end of their agents stopped them.
        """
        wait(self._futures, LAST_RECORDS_S)
        for future, trial in list(self._futures.items()):
            attempt = self._under_way[trial]
            latest = self.folder.latest.get((trial.cell.key, trial.number))
            if latest is not None and latest.attempt >= attempt:
                continue
            record = future.result() if future.done() and not future.exception() else None
            if record is None or not (future in finished or record.status is Status.OK):
                record = interrupted(trial, attempt)
            self.keep(record)

    # Hosts that are away

    def _is_left(self, trial: Trial) -> bool:
        """Whether a trial waits for a host. Such a trial gets no record yet."""
        if not self.pool.is_away(trial.cell):
            return False
        self._begun.discard(trial)
        return True

    def _ask_again(self) -> None:
        """Try to reach the hosts that are away, and note the facts of those that came back.
        ClusterLost if the scheduler of a cluster is lost.
        """
        self.place.check()
        with self._defects_kept("hosts"):
            self.pool.ask_again()
            returned = self.pool.returned()
            if returned:
                if not self._noted_hosts.issuperset(self.pool.host_descriptions()):
                    self._note_session()
                self.pool.note_facts(self.folder, "again", only=returned)

    def _wait_for_hosts(self) -> bool:
        """Wait until a host with trials left is tried again; false if the run waits no longer."""
        cells = {trial.cell for trial in self._left()}
        wait_s = self.pool.next_ask_s(cells, self.options.patience_s)
        if wait_s is None:
            return False
        self.progress.waiting(self.pool.why_away(cells), self.options.patience_s)
        clock.sleep(max(wait_s, LEAST_WAIT_S))
        return True

    def _give_up(self) -> None:
        """Write a record for each trial that is left, with the reason why it was not measured."""
        for trial in self._left():
            # A trial that lost its host already has a record.
            away = None if self._losses[trial] else self.pool.reason_left(trial.cell)
            if away is not None:
                self.keep(away.record(trial, self._begin(trial)))

    def _left(self) -> list[Trial]:
        """Due trials that this session has not begun, or must repeat because a host was lost."""
        due = outstanding(self.folder, self.work.cells, self.work.redo)
        return [trial for trial in due if trial not in self._begun]

    def flag(self) -> None:
        """Warn about cells that were interrupted or disturbed, or whose mean is not precise."""
        flag(self.folder, self.work.cells, self.matrix.quiet, self.progress)

    def _next_block(self) -> tuple[Trial, ...]:
        """The first block with trials that this session has not begun.

        Disturbed trials are repeated after all blocks, because a disturbance lasts for a while.
        """
        trials = [trial for trial in self._left() if not self.pool.is_away(trial.cell)]
        if not trials:
            return self._disturbed_block()
        number = min(trial.number for trial in trials)
        block = with_partners(
            [trial for trial in trials if trial.number == number], self.work.cells
        )
        self._begun.update(block)
        return block

    def _disturbed_block(self) -> tuple[Trial, ...]:
        """The disturbed trials to repeat. Notes and reports the reasons of the repeats."""
        rule = RepeatRule(self.matrix.quiet)
        again = tuple(
            trial
            for trial in disturbed(self.folder, self.work.cells, rule.quiet)
            if self._losses[trial] <= LOSSES_MOST and not self.pool.is_away(trial.cell)
        )
        if not again:
            return ()
        records = [self.folder.latest[trial.cell.key, trial.number] for trial in again]
        with shielded():
            rule.note(self.folder, records)
        self.progress.notify(f"measured again: {'; '.join(rule.reasons(records))}")
        return with_partners(again, self.work.cells)

    def _rounds_of(self, block: tuple[Trial, ...]) -> tuple[Round, ...]:
        return rounds(
            block,
            order=self.matrix.order,
            seed=self.matrix.seed,
            hosts_of=self.pool.hosts_of,
            parallel=self.matrix.parallel,
            match_of=self.pool.match_of,
            common=self.matrix.common_window,
            switching=self.matrix.switching,
        )

    def records(self, trials: list[Trial]) -> Iterator[Record]:
        """The records of one round as they arrive; a failed trial is tried again in this round."""
        executor, futures = DaemonExecutor(), self._futures
        pending_trials = trials
        for tries_left in range(self.options.retries, -1, -1):
            if not pending_trials:
                return
            self._paused.before()
            attempts = [(trial, self._begin(trial)) for trial in pending_trials]
            entered = self._entered(pending_trials, executor)
            window = self._window(pending_trials, executor)
            participants = participants_of(pending_trials)
            for trial, attempt in attempts:
                around = Around(window, participants.get(trial), entered.get(trial))
                futures[executor.submit(self.trial, trial, attempt, around)] = trial
            pending_trials = []
            for future in self._completed():
                trial, record = futures[future], future.result()
                self._paused.after(record)
                if self._is_lost(trial, record, tries_left):
                    self._begun.discard(trial)
                elif record.status is Status.FAILED and tries_left:
                    pending_trials.append(trial)
                yield record
                with shielded():
                    del futures[future]
                    self._under_way.pop(trial, None)

    def _completed(self) -> Iterator[Future[Record]]:
        """Each future as it finishes; StoreError as soon as the disk refuses an earlier record."""
        under_way: list[Future[Any]] = [*self._futures, *self._syncs]
        for future in as_completed(under_way):
            if future in self._futures:
                yield future
            else:
                future.result()

    def _is_lost(self, trial: Trial, record: Record, tries_left: int) -> bool:
        """Count a loss of a host or path. Returns whether the trial is measured again later."""
        is_host_gone = record.reason == "host-gone" and not tries_left
        is_away = record.status is Status.FAILED and self.pool.is_away(trial.cell)
        if not (record.status is Status.PENDING or is_host_gone or is_away):
            return False
        self._losses[trial] += 1
        return self._losses[trial] <= LOSSES_MOST

    def _begin(self, trial: Trial) -> int:
        """Note that an attempt begins; return its number."""
        cell, number = trial.cell.key, trial.number
        with shielded():
            attempt = self.folder.next_attempt(cell, number)
            self.folder.note("attempt", durable=False, cell=cell, trial=number, attempt=attempt)
            self._under_way[trial] = attempt
        return attempt

    def _entered(self, trials: list[Trial], executor: Executor) -> dict[Trial, Future[Entered]]:
        """Trial → the outcome of bringing its hosts into the state that its variant names."""
        if not self.matrix.variants:
            return {}
        entered = {
            trial: executor.submit(self.states.enter, trial.cell, self.pool.ends(trial.cell))
            for trial in trials
            if self.pool.agents_of(trial.cell)
        }
        wait(entered.values())
        return entered

    def _window(self, trials: Sequence[Trial], executor: Executor) -> CommonWindow | None:
        """One measured time for all trials of a round; ``None`` if each trial has its own."""
        if not self.matrix.common_window:
            return None
        pairs = {trial: self.pool.agents_of(trial.cell) for trial in trials}
        setups = [trial.cell.setup for trial, agents in pairs.items() if agents]
        if len(setups) < 2 or not is_common(setups):
            return None
        # If a host is lost here, its trial reports the loss, and each trial has its own window.
        with self._defects_kept("window"):
            agents = [agent for pair in pairs.values() for agent in pair]
            streams = [setup for setup in setups if isinstance(setup, Stream)]
            return common_window(streams, agents, executor)
        return None

    @contextmanager
    def _defects_kept(self, name: str) -> Iterator[None]:
        """Save the traceback of a defect. Ignore faults of hosts, which the trials report."""
        try:
            yield
        except (StoreError, Interrupted):
            raise
        except NetlabError:
            return
        except Exception as error:
            self.progress.warn([keep_traceback(error, self.folder.path, name)])

    def trial(self, trial: Trial, attempt: int, around: Around) -> Record:
        """The record of one trial: its result, or why it was not measured. It is called in a thread
        of its own.
        """
        try:
            try:
                state = around.state()
                reason = self.pool.reason_not_to_measure(trial.cell)
                obstacle = self.states.obstacle_left(reason, trial.cell) or state.obstacle
                if obstacle is not None:
                    return obstacle.record(trial, attempt)
                self.progress.trial(trial)
                ends = self._ends(trial, around)
                record = self.place.measure(trial, ends, attempt, self.progress.live)
                self.pool.check_path_again(record, trial.cell)
            except HostGone as gone:
                return self.pool.lost(trial, attempt, gone)
            values = {**record.values, **state.values}
            return replace(record, values=values) if state.values else record
        except StoreError:
            raise
        except Exception as error:
            return record_of_fault(error, trial, attempt, self.folder.path)
        finally:
            if around.participant is not None:
                around.participant.leave()

    def _ends(self, trial: Trial, around: Around) -> Ends:
        """The hosts of a trial, with what the matrix and the trial's round say about them."""
        link = self.matrix.link
        return replace(
            self.pool.ends(trial.cell),
            captures=self.folder.path / CAPTURES,
            window=around.window,
            participant=around.participant,
            mirrors=self.matrix.mirrors,
            link_rate_bit_per_s=None if link is None else link.rate_bit_per_s,
        )


@contextmanager
def opened_session(
    options: Options,
    matrix: Matrix,
    inventory: Inventory,
    work: Work,
    folder: RunFolder,
    progress: Progress,
    agents: AgentGroup | None = None,
) -> Iterator[Session]:
    """A session with its hosts, which are connected until the context ends.

    ``agents``: agents that are open already. Raises HostError, LockedError, UsageError.
    """
    pairings = tuple(dict.fromkeys(trial.cell.pairing for trial in work.trials))
    with (
        switching_seldom(len(inventory.hosts)),
        trial_place(options.cluster, insecure=options.insecure, group=agents) as place,
    ):
        place.arrange(pair for pairing in pairings for pair in inventory.candidates(pairing)[:1])
        with HostPool(
            inventory,
            pairings,
            owner=_owner(folder),
            wait_s=options.wait_s,
            keep=lambda error, name: keep_traceback(error, folder.path, name),
            notify=progress.notify,
            place=place,
        ) as pool:
            if options.strict and pool.missing:
                raise HostError("--strict: " + "; ".join(pool.missing))
            session = Session(
                folder=folder,
                pool=pool,
                matrix=matrix,
                progress=progress,
                options=options,
                work=work,
                place=place,
            )
            session.begin()
            yield session


def _owner(folder: RunFolder) -> LockOwner:
    """The owner of the host locks: this run, named by the id in the first line of its journal."""
    ids = (note.data.get("run") for note in folder.notes if note.kind == "journal")
    return LockOwner(str(next(ids, "")), secrets.token_hex(4), str(folder.path))


@contextmanager
def resumable(folder: RunFolder, progress: Progress) -> Iterator[None]:
    """Name the command that resumes the run in an error that ends it early. A new folder without a
    record is removed if the hosts or the options are the reason.
    """
    try:
        yield
    except ClusterLost as lost:
        raise ClusterLost(f"{lost}; to resume: {resume_command(folder.path)}") from None
    except (HostError, LockedError, UsageError):
        folder.discard_if_unused()
        raise
    except Interrupted as signal:
        progress.warn(segments_made(folder.path))
        sentence = f"{signal}; to resume: {resume_command(folder.path)}"
        raise Interrupted(signal.signal_number, sentence) from None
