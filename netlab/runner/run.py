"""The whole line of a run, from a matrix file to the report of its run folder."""

from __future__ import annotations

from dataclasses import replace

from netlab.config.matrix_file import inventory_for, load_matrix
from netlab.errors import HostError
from netlab.experiment.matrix import expand
from netlab.findings.catalogue import expect_words
from netlab.results.arrow.segment_writer import segments_made
from netlab.results.value_types import RUN_CHECK
from netlab.runner.options import NOTE, Options, Outcome, data_of, possible_of, session_cells
from netlab.runner.places import AgentGroup
from netlab.runner.progress import Progress
from netlab.runner.session import Session, counts, opened_session, resumable, work_of
from netlab.store.plan import plan_of
from netlab.store.run_folder import RunFolder


def run(options: Options, progress: Progress, agents: AgentGroup | None = None) -> Outcome:
    """Measure the missing trials of a matrix, and make the report if the options ask for it.

    ``agents``: open already, so that their hosts need no new login. Raises HostError, LockedError,
    UsageError, and Interrupted after a signal.
    """
    if options.cluster is not None:
        from netlab.runner.cluster.open import cluster_address

        cluster_address(options.cluster, insecure=options.insecure)  # for its error
    matrix = load_matrix(options.matrix, options.overrides, options.hosts, expect_words())
    cells = expand(matrix)
    chosen = session_cells(cells, options.only, options.redo, nothing_else=options.nothing_else)
    inventory = inventory_for(matrix, options.hosts or options.matrix)
    possible = possible_of(chosen, inventory)
    if options.strict and possible.sentence:
        raise HostError(f"--strict: {possible.sentence}")
    plan, unreachable = plan_of(matrix, cells), tuple[str, ...]()
    with RunFolder.open_for_writing(options.run_folder(), plan, check=RUN_CHECK) as folder:
        work = work_of(folder, chosen, options, matrix)
        progress.warn([possible.sentence] if possible.sentence else [])
        if due := [trial for trial in work.trials if trial.cell.pairing not in possible.lacking]:
            measured_count = sum(counts(folder, possible.cells).values()) - len(due)
            folder.note(NOTE, **data_of(options, folder.path))
            progress.begin(folder.path, due, measured_count=measured_count, matrix=matrix)
            hosts = opened_session(options, matrix, inventory, work, folder, progress, agents)
            with resumable(folder, progress), hosts as session:
                measure(session)
                unreachable = session.end()
        outcome = Outcome(folder.path, counts(folder, chosen), unreachable)
    progress.warn(segments_made(folder.path))
    if options.with_report:
        from netlab.report import make_report  # measuring needs none of what it imports

        progress.end()
        outcome = replace(outcome, report=make_report(folder.path))
    return outcome


def measure(session: Session) -> None:
    """Measure each due trial once, with its retries, until none is left. Each record is written
    before the next trial begins.
    """
    with session.measuring():
        for trials in session.rounds():
            for record in session.records(trials):
                session.keep(record)
