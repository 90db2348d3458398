"""One session of a run: it measures the due trials, block after block and round after round.

A block has one trial of each cell. It is chosen when it begins, by the records in the run folder.
Each record is written before the next trial begins; only its sync to the disk overlaps the next
trial. If the machine fails before the sync ends, the next session measures the trial again.

A trial is disturbed if a hypervisor took CPU time from a host (`quiet` of the matrix can ask for a
repeat), and interrupted if its data stopped (repeated if a host or a cable is the proven cause).
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from netlab import clock, errors
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix, StealRule
from netlab.experiment.schedule import Trial, rounds, with_partners
from netlab.experiment.variants import Variants, chosen, mtus_of
from netlab.kinds import Stream
from netlab.measurement.ends import CommonWindow, Participant, Rendezvous, common_window, is_common
from netlab.measurement.variants import NOT_REACHED, HostStates
from netlab.remote.programs import LockOwner
from netlab.results.arrow.segment_writer import BackgroundSegments, segments_made
from netlab.runner import trial_faults
from netlab.runner.ending import DaemonExecutor, shielded, switching_seldom
from netlab.runner.host_agents import HostAgents
from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options, redo_of, resume_command
from netlab.runner.places import AgentGroup, TrialPlace
from netlab.runner.progress import Progress
from netlab.store.journal_reading import IN_VAIN
from netlab.store.run_folder import RunFolder
from netlab.trial.interruptions import asks_again, interruptions
from netlab.trial.record import Record, Status, Value, grouped
from netlab.units import format_share, many
from netlab.version import VERSION

LOSSES_MOST = 5
"""A trial that loses its host more often than this is not repeated: it may cause the losses."""

CLOSED_BY_SILENCE = "_closed_by_silence"
LAST_RECORDS_S = 0.5
"""Time for running trials to end after their agents have ended."""
LEAST_WAIT_S = 0.05


@dataclass(eq=False)
class Session:
    """One session of a run: its work, its run folder and its hosts. Only its own thread changes
    what changes while it measures.
    """

    folder: RunFolder
    pool: HostPool
    matrix: Matrix
    progress: Progress
    options: Options
    work: Work
    place: TrialPlace = field(default_factory=TrialPlace)

    def __post_init__(self) -> None:
        self._states = HostStates(self.matrix.variants)
        self._needs_pause = False
        """Whether a trial that ended has used its hosts."""
        self._segments = BackgroundSegments(self.folder.path)
        self._begun: set[Trial] = set()
        """Trials that this session has measured or is about to measure."""
        self._losses: Counter[Trial] = Counter()
        """Trial → how often it lost a host or its path."""
        self._under_way: dict[Trial, int] = {}
        """Trial without a record yet → its attempt."""
        self._futures: dict[Future[Record], Trial] = {}
        self._syncs: list[Future[None]] = []
        self._noted_hosts: set[str] = set()

    def begin(self) -> None:
        """Note the session, its hosts and their facts, before the first trial."""
        self._note_session()
        self.pool.leftovers.note(self.folder)
        self.progress.warn(self.pool.warnings)
        self.pool.note_facts(self.folder, "before")
        self.pool.note_routes(self.folder)
        cells = dict.fromkeys(trial.cell for trial in self.work.trials)
        self.progress.impossible(self.pool.refusals(cells))

    def end(self) -> tuple[str, ...]:
        """Warn about doubtful cells, note the end; returns a sentence for each absent host."""
        flag(self.folder, self.work.cells, self.matrix.quiet, self.progress)
        self.pool.note_facts(self.folder, "after")
        with shielded():
            self.folder.note("session-end")
        return self.pool.unreachable

    def _note_session(self) -> None:
        hosts, matrix = self.pool.host_descriptions(), self.matrix
        self._noted_hosts.update(hosts)
        self.progress.measures_here = self.pool.measures_here
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
            for trial in self._left():
                # A trial that lost its host already has a record.
                away = None if self._losses[trial] else self.pool.reason_left(trial.cell)
                if away is not None:
                    self.keep(away.record(trial, self._begin(trial)))
            sentences = self._states.restore()
            self.progress.warn(
                f"{it}; `netlab hosts` on the inventory tries again" for it in sentences
            )
        except BaseException as error:
            # Closing the pool ends the agents, and so the running trials, within a time limit.
            finished = {future for future in self._futures if future.done()}
            self.pool.close()
            self.progress.warn(
                f"{name}: the run ended while its settings were changed; its probe puts them back, "
                "and `netlab hosts` on the inventory says whether it could"
                for name in self._states.changed
            )
            # If the disk refused a line, nothing more is written. Otherwise results are kept.
            if isinstance(error, Exception) and not isinstance(error, errors.StoreError):
                self._keep_finished(finished)
            raise

    def rounds(self) -> Iterator[list[Trial]]:
        """The trials of each round, block after block; between rounds, absent hosts are asked."""
        while True:
            self._ask_again()
            if block := self._next_block():
                self.progress.expect(block)
                for round_ in rounds(block, self.matrix, self.pool.hosts_of, self.pool.match_of):
                    # These trials get no record yet: they wait for their hosts.
                    waiting = {trial for trial in round_.trials if self.pool.is_away(trial.cell)}
                    self._begun -= waiting
                    yield [trial for trial in round_.trials if trial not in waiting]
                    self._ask_again()
                continue
            cells = {trial.cell for trial in self._left()}
            wait_s = self.pool.next_ask_s(cells, self.options.patience_s)
            if wait_s is None:
                return
            self.progress.waiting(self.pool.why_away(cells), self.options.patience_s)
            clock.sleep(max(wait_s, LEAST_WAIT_S))

    # Records

    def keep(self, record: Record) -> None:
        """Write a record. A signal takes effect after it: no result is lost or written twice."""
        with shielded():
            if self._keeps_earlier_result(record):
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
                        f"{record.cell}: repeated without a result "
                        f"({record.detail or record.reason}); the earlier result stays"
                    )
                return
            record = trial_faults.append(self.folder, record, self.progress.warn)
            self._syncs[:] = [self.folder.sync_soon()]
        self.progress.record(record)
        if not self.progress.measures_here:  # else a process beside the trials would disturb them
            self._segments.on_record()

    def _keeps_earlier_result(self, record: Record) -> bool:
        """Whether the earlier result stays because this repeat has no result: unless the repeat was
        requested (``redo``) or the earlier result is incomplete, because data had stopped at the
        end of its window. A pending repeat replaces nothing.
        """
        earlier = self.folder.latest.get((record.cell, record.trial))
        if earlier is None or earlier.status is not Status.OK or record.status is Status.OK:
            return False
        ends = (value for name, value in earlier.values.items() if name.endswith(CLOSED_BY_SILENCE))
        stays = record.cell not in self.work.redo and 1 not in ends
        return stays or record.status is Status.PENDING

    def _keep_finished(self, finished: set[Future[Record]]) -> None:
        """Keep results, and what finished before the agents were ended; the rest is interrupted."""
        wait(self._futures, LAST_RECORDS_S)
        for future, trial in list(self._futures.items()):
            attempt = self._under_way[trial]
            latest = self.folder.latest.get((trial.cell.key, trial.number))
            if latest is not None and latest.attempt >= attempt:
                continue
            record = future.result() if future.done() and not future.exception() else None
            if record is None or not (future in finished or record.status is Status.OK):
                record = trial_faults.interrupted(trial, attempt)
            self.keep(record)

    # Hosts that are away

    def _ask_again(self) -> None:
        """Try to reach the hosts that are away; note the facts of those that came back."""
        self.place.check()
        with self._defects_kept("hosts"):
            self.pool.ask_again()
            returned = self.pool.returned()
            if returned:
                if not self._noted_hosts.issuperset(self.pool.host_descriptions()):
                    self._note_session()
                self.pool.note_facts(self.folder, "again", only=returned)

    def _left(self) -> list[Trial]:
        due = outstanding(self.folder, self.work.cells, self.work.redo)
        return [trial for trial in due if trial not in self._begun]

    def _next_block(self) -> tuple[Trial, ...]:
        """The first block with trials not begun; after all blocks, the disturbed trials."""
        pool, cells = self.pool, self.work.cells
        if trials := [trial for trial in self._left() if not pool.is_away(trial.cell)]:
            number = min(trial.number for trial in trials)
            block = with_partners([trial for trial in trials if trial.number == number], cells)
            self._begun.update(block)
            return block
        quiet = self.matrix.quiet
        again = tuple(
            trial
            for trial in disturbed(self.folder, cells, quiet)
            if self._losses[trial] <= LOSSES_MOST and not pool.is_away(trial.cell)
        )
        if not again:
            return ()
        records = [self.folder.latest[trial.cell.key, trial.number] for trial in again]
        with shielded():
            reasons = note_repeats(self.folder, records, quiet)
        self.progress.notify(f"measured again: {'; '.join(reasons)}")
        return with_partners(again, cells)

    def records(self, trials: list[Trial]) -> Iterator[Record]:
        """The records of one round as they arrive; a failed trial is tried again in this round."""
        executor, futures = DaemonExecutor(), self._futures
        pending_trials = trials
        for tries_left in range(self.options.retries, -1, -1):
            if not pending_trials:
                return
            if self._needs_pause and self.matrix.pause_s:
                self.progress.pausing(self.matrix.pause_s)
                clock.sleep(self.matrix.pause_s)
            self._needs_pause = False
            attempts = [(trial, self._begin(trial)) for trial in pending_trials]
            entered: dict[Trial, Future[Mapping[str, Value] | trial_faults.Unmeasured]] = {}
            if self.matrix.variants:
                entered = {
                    trial: executor.submit(self._enter, trial.cell)
                    for trial in pending_trials
                    if self.pool.agents_of(trial.cell)
                }
                wait(entered.values())
            window = self._window(pending_trials, executor)
            participants = participants_of(pending_trials)
            for trial, attempt in attempts:
                around = window, participants.get(trial), entered.get(trial)
                futures[executor.submit(self.trial, trial, attempt, *around)] = trial
            pending_trials = []
            under_way: list[Future[Any]] = [*futures, *self._syncs]
            for future in as_completed(under_way):
                if future not in futures:
                    future.result()  # StoreError as soon as the disk refuses an earlier record
                    continue
                trial, record = futures[future], future.result()
                self._needs_pause |= record.status is not Status.PENDING
                if self._is_lost(trial, record, tries_left):
                    self._begun.discard(trial)
                elif record.status is Status.FAILED and tries_left:
                    pending_trials.append(trial)
                yield record
                with shielded():
                    del futures[future]
                    self._under_way.pop(trial, None)

    def _is_lost(self, trial: Trial, record: Record, tries_left: int) -> bool:
        """Count a loss of a host or path. Returns whether the trial is measured again later."""
        is_host_gone = record.reason == "host-gone" and not tries_left
        is_away = record.status is Status.FAILED and self.pool.is_away(trial.cell)
        if not (record.status is Status.PENDING or is_host_gone or is_away):
            return False
        self._losses[trial] += 1
        return self._losses[trial] <= LOSSES_MOST

    def _begin(self, trial: Trial) -> int:
        cell, number = trial.cell.key, trial.number
        with shielded():
            attempt = self.folder.next_attempt(cell, number)
            self.folder.note("attempt", durable=False, cell=cell, trial=number, attempt=attempt)
            self._under_way[trial] = attempt
        return attempt

    def _enter(self, cell: Cell) -> Mapping[str, Value] | trial_faults.Unmeasured:
        """Bring both hosts into the state of the variant: what the checks printed, or a reason."""
        ends = self.pool.ends(cell)
        try:
            return self._states.enter(cell, ends)
        except errors.ProbeError as error:
            sentence = f"{error.host}: {error.detail or error.word}"
            names = ends.server_name, ends.client.host.name
            return trial_faults.Unmeasured(Status.FAILED, NOT_REACHED, sentence, *names)

    def _window(self, trials: Sequence[Trial], executor: Executor) -> CommonWindow | None:
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
        except (errors.StoreError, errors.Interrupted):
            raise
        except errors.NetlabError:
            return
        except Exception as error:
            self.progress.warn([trial_faults.keep_traceback(error, self.folder.path, name)])

    def trial(
        self,
        trial: Trial,
        attempt: int,
        window: CommonWindow | None,
        participant: Participant | None,
        entered: Future[Mapping[str, Value] | trial_faults.Unmeasured] | None,
    ) -> Record:
        """The record of one trial, in a thread of its own: its result, or why it was not measured.
        ``window`` is that of all trials of the round, ``participant`` its part in a search of
        several pairs, ``entered`` the outcome of ``_enter``, if there are any.
        """
        cell, link = trial.cell, self.matrix.link
        try:
            try:
                state = {} if entered is None else entered.result()
                found = self.pool.reason_not_to_measure(cell)
                obstacle = obstacle_left(found, cell, self.matrix.variants)
                if isinstance(state, trial_faults.Unmeasured):
                    return (obstacle or state).record(trial, attempt)
                if obstacle is not None:
                    return obstacle.record(trial, attempt)
                self.progress.trial(trial)
                ends = replace(
                    self.pool.ends(cell),
                    captures=self.folder.path / "captures",
                    window=window,
                    participant=participant,
                    mirrors=self.matrix.mirrors,
                    link_rate_bit_per_s=None if link is None else link.rate_bit_per_s,
                )
                record = self.place.measure(trial, ends, attempt, self.progress.live)
                if self.options.retries or self.options.patience_s:  # else nothing is tried again
                    record = self.pool.check_path_again(record, cell)
            except errors.HostGone as gone:
                return self.pool.lost(trial, attempt, gone)
            return replace(record, values={**record.values, **state}) if state else record
        except errors.StoreError:
            raise
        except Exception as error:
            return trial_faults.record_of_fault(error, trial, attempt, self.folder.path)
        finally:
            if participant is not None:
                participant.leave()


def obstacle_left(
    obstacle: trial_faults.Unmeasured | None, cell: Cell, variants: Variants
) -> trial_faults.Unmeasured | None:
    """``obstacle``, or ``None`` for a path MTU that the state of the hosts may have changed."""
    is_path_mtu = obstacle is not None and obstacle.reason == trial_faults.PATH_MTU
    if is_path_mtu and mtus_of(chosen(variants, cell.setup.variant)):
        return None
    return obstacle


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
    """A session with its hosts until the context ends. HostError, LockedError, UsageError."""
    pairings = tuple(dict.fromkeys(trial.cell.pairing for trial in work.trials))
    # The id of the run is in the first line of its journal.
    ids = (note.data.get("run") for note in folder.notes if note.kind == "journal")
    owner = LockOwner(str(next(ids, "")), secrets.token_hex(4), str(folder.path))
    places: AbstractContextManager[TrialPlace] = nullcontext(TrialPlace(agents))
    if options.cluster is not None:
        from netlab.runner.cluster.open import cluster_address, controllers_at

        places = controllers_at(cluster_address(options.cluster, insecure=options.insecure))
    with switching_seldom(len(inventory.hosts)), places as place:
        place.arrange(pair for pairing in pairings for pair in inventory.candidates(pairing)[:1])
        agents_of_hosts = HostAgents(
            inventory,
            owner,
            wait_s=options.wait_s,
            keep=lambda error, name: trial_faults.keep_traceback(error, folder.path, name),
            notify=progress.notify,
            place=place,
        )
        with HostPool(agents_of_hosts, pairings) as pool:
            if options.strict and pool.missing:
                raise errors.HostError("--strict: " + "; ".join(pool.missing))
            session = Session(folder, pool, matrix, progress, options, work, place)
            session.begin()
            yield session


@contextmanager
def resumable(folder: RunFolder, progress: Progress) -> Iterator[None]:
    """Name the command that resumes the run in an error; an unused new folder is removed."""
    try:
        yield
    except errors.ClusterLost as lost:
        raise errors.ClusterLost(f"{lost}; to resume: {resume_command(folder.path)}") from None
    except (errors.HostError, errors.LockedError, errors.UsageError):
        folder.discard_if_unused()
        raise
    except errors.Interrupted as signal:
        progress.warn(segments_made(folder.path))
        sentence = f"{signal}; to resume: {resume_command(folder.path)}"
        raise errors.Interrupted(signal.signal_number, sentence) from None


DISTURBED = "disturbed"
"""Kind of the note about a trial that is repeated because a host lost CPU time."""

INTERRUPTED = "interrupted"
"""Kind of the note about a trial that is repeated because a host or a cable stopped its data."""

NOT_TIGHT = "not-tight"
"""Kind of the note about a cell whose mean is not precise after the maximum number of trials."""


def note_repeats(
    folder: RunFolder, records: Iterable[Record], quiet: StealRule | None
) -> list[str]:
    """Note why each record's trial is repeated; returns the reasons of all, in words."""
    stolen = stopped = 0
    for record in records:
        trial = {"cell": record.cell, "trial": record.trial, "attempt": record.attempt}
        if quiet is not None and quiet.asks_again(record):
            stolen += 1
            folder.note(DISTURBED, durable=False, **trial, **asdict(quiet))
        if not asks_again(record):
            continue
        stopped += 1
        for it in interruptions(record):
            cause = it.cause and it.cause.value
            seen = {"cause": cause, "end": it.end, "stopped_ns": it.stopped_ns}
            folder.note(INTERRUPTED, durable=False, **trial, **seen)
    reasons = [quiet.disturbed(stolen)] if quiet is not None and stolen else []
    return reasons + ([f"{many(stopped, 'trial')} in which data stopped"] if stopped else [])


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one session."""

    cells: tuple[Cell, ...]
    """The cells of the matrix that the options choose."""
    trials: tuple[Trial, ...]
    """The trials of these cells that are due when the session begins."""
    redo: frozenset[str]
    """Keys of cells that are measured again, whether or not they have results."""


def work_of(folder: RunFolder, cells: tuple[Cell, ...], options: Options, matrix: Matrix) -> Work:
    """The work that is left of ``cells``, according to the records."""
    redo = redo_of(options.redo, cells, folder.latest)
    trials = (*outstanding(folder, cells, redo), *disturbed(folder, cells, matrix.quiet))
    return Work(cells, tuple(dict.fromkeys(trials)), redo)


def outstanding(
    folder: RunFolder, cells: tuple[Cell, ...], redo: frozenset[str]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that must still be measured; of the cells in ``redo`` (keys), all."""
    return _trials_of(cells, folder.outstanding(redo))


def _trials_of(cells: tuple[Cell, ...], pairs: Iterable[tuple[str, int]]) -> tuple[Trial, ...]:
    """``pairs``: key of a cell, which may be another one, and the number of a trial."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(Trial(by_key[key], number) for key, number in pairs if key in by_key)


def disturbed(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None
) -> tuple[Trial, ...]:
    """Disturbed or interrupted trials that may be tried again; each begun attempt counts."""

    def asks(record: Record) -> bool:
        latest = replace(record, attempt=folder.next_attempt(record.cell, record.trial) - 1)
        return asks_again(latest) or (quiet is not None and quiet.asks_again(latest))

    return recorded_trials(folder, cells, asks, None if quiet is None else quiet.steal)


def recorded_trials(
    folder: RunFolder,
    cells: tuple[Cell, ...],
    is_meant: Callable[[Record], bool],
    most_steal: float | None,
) -> tuple[Trial, ...]:
    """The trials of ``cells`` for whose latest record ``is_meant`` is true: those in which data
    stopped, or a hypervisor took a larger share of a host's CPU time than ``most_steal``.
    """
    doubtful = _trials_of(cells, folder.doubtful(most_steal))
    return tuple(
        trial for trial in doubtful if is_meant(folder.latest[trial.cell.key, trial.number])
    )


def counts(folder: RunFolder, cells: tuple[Cell, ...]) -> dict[str, int]:
    """Number of trials of ``cells`` by status; those not measured yet are pending."""
    counted = folder.counts({cell.key for cell in cells})
    return {str(status): count for status, count in counted.items()}


def participants_of(trials: Sequence[Trial]) -> dict[Trial, Participant]:
    """Trial → its participant in a search of several pairs: trials with equal such settings."""
    together = (trial for trial in trials if trial.cell.setup.is_together)
    participants: dict[Trial, Participant] = {}
    for group in grouped(together, lambda trial: trial.cell.setup).values():
        rendezvous = Rendezvous(trial.cell.pairing for trial in group)
        participants |= {trial: Participant(rendezvous, trial.cell.pairing) for trial in group}
    return participants


def flag(
    folder: RunFolder, cells: tuple[Cell, ...], steal_rule: StealRule | None, progress: Progress
) -> None:
    """Warn about trials with stopped data or lost CPU time, and once about imprecise cells."""
    if steal_rule is not None:
        stayed = recorded_trials(folder, cells, steal_rule.is_disturbed, steal_rule.steal)
        if stayed:
            progress.warn([f"{steal_rule.disturbed(len(stayed))}, in every attempt"])
    stopped_trials = recorded_trials(folder, cells, lambda record: any(interruptions(record)), None)
    if stopped_trials:
        stopped = many(len(stopped_trials), "trial")
        progress.warn([f"{stopped} in which data stopped: see the findings"])
    rule = folder.plan.until
    noted = {note.data.get("cell") for note in folder.notes if note.kind == NOT_TIGHT}
    to_note = {cell.key for cell in cells} - noted
    imprecise = [
        (cell.key, reached.trials)
        for cell in folder.plan.cells
        if cell.key in to_note and (reached := folder.progress(cell)).precise is False
    ]
    if rule is None or not imprecise:
        return
    limits = {"within": rule.within, "confidence": rule.confidence}
    for key, trials in imprecise:
        with shielded():
            folder.note(NOT_TIGHT, durable=False, cell=key, trials=trials, **limits)
    width, more = format_share(rule.within), len(imprecise) - 1
    cell_words = f"{imprecise[0][0]} and {more} more" if more else imprecise[0][0]
    progress.warn([f"the mean is not within ± {width} after {rule.at_most} trials: {cell_words}"])
