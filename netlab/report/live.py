"""The report of a running run: rebuilt as the journal grows, until the run ends.

Where the run measures with this very machine (a local host, or a lab), drawing would take CPU time
from what is measured: there the journal is not even read meanwhile, and the page is made when the
run is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from netlab.experiment.records import Status
from netlab.findings.analysis import Analysis
from netlab.messages import _, counted, joined
from netlab.report import PAGE, reloading, write_report
from netlab.report.language import wording_in
from netlab.results.run import read_checked
from netlab.store.files import read_inside, refused, write_inside
from netlab.store.reader import JOURNAL, StoredRun, holder_of
from netlab.store.this_machine import measures_here

LOOKS_S = 0.5
"""Between two looks at the journal."""
LEAST_PAUSE_S = 2.0
"""Between two reports at least."""
SHARE = 0.2
"""Of the time at most goes into making reports: the run is on the same machine, maybe."""
_MAX_PAGE_BYTES = 1 << 30
LEAST_RELOAD_S = 5
"""A reader is not interrupted more often."""
_WAITS = _("this machine is one of the run’s hosts: its page is drawn when the run has ended")


def watch(
    folder: Path,
    language: str,
    say: Callable[[str], None],
    *,
    narrow: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Keep the report of the run in ``folder`` current; ends when the run is over.

    A run is over when nothing of it remains, or when whoever wrote it has gone; the report is then
    made a last time. However it ends (also by an exception out of ``sleep``), the page that is left
    does not reload itself any more. UsageError where there is no run, StoreError as ``read``.
    """
    page = folder / PAGE
    shown_bytes: int | None = None
    seen_writer, due_s, cost_s, rests = False, -math.inf, 0.0, False
    try:
        while True:
            # The writer first: what it wrote before it went is then in the journal that is read.
            writes = holder_of(folder) is not None
            gone = seen_writer and not writes
            seen_writer = seen_writer or writes
            rests = rests and writes
            size_bytes = _size_bytes(folder)
            if gone or (not rests and size_bytes != shown_bytes and clock() >= due_s):
                begin_s = clock()
                run = _read(folder, under_way=writes)
                if writes and (here := measures_here(run.stored)) is not False:
                    # Who measures is not known before the hosts have answered.
                    rests, due_s = bool(here), clock() + LOOKS_S
                    if rests:
                        say(wording_in(language).text(_WAITS))
                    sleep(LOOKS_S)
                    continue
                left = remaining(run.stored)
                over = gone or not left
                wording = wording_in(language)
                reload_s = None if over else _reload_s(cost_s)
                write_report(run, wording, narrow=narrow, reload_s=reload_s)
                shown_bytes, cost_s = size_bytes, clock() - begin_s
                due_s = clock() + _pause_s(cost_s)
                if over:
                    say(wording.text(joined(": ", [str(page), _end(left)])))
                    return
                say(wording.text(_("{page}: trials left: {left}", page=str(page), left=left)))
            sleep(LOOKS_S)
    finally:
        _settle(folder)


def _read(folder: Path, *, under_way: bool) -> Analysis:
    """The run; a line that is being written is no damage."""
    stored = read_checked(folder)
    damage = tuple(each for each in stored.damage if not (each.torn and under_way))
    return Analysis(replace(stored, damage=damage))


def remaining(stored: StoredRun) -> int:
    """Trials that are still to be measured, as far as is known; those that failed are."""
    done = (Status.OK, Status.IMPOSSIBLE)
    return sum(record is None or record.status not in done for _, _, record in stored.trials())


def _end(left: int) -> str:
    if not left:
        return _("the run is complete")
    return counted(
        "the process that wrote the run has ended; {left} trial remains: netlab resume measures it",
        "the process that wrote the run has ended; {left} trials remain: netlab resume "
        "measures them",
        left,
        left=left,
    )


def _pause_s(cost_s: float) -> float:
    return max(LEAST_PAUSE_S, cost_s * (1 / SHARE - 1))


def _reload_s(cost_s: float) -> int:
    return max(LEAST_RELOAD_S, math.ceil(cost_s + _pause_s(cost_s)))


def _size_bytes(folder: Path) -> int:
    journal = folder / JOURNAL
    try:
        return journal.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise refused(error, journal, "read the journal") from None


def _settle(folder: Path) -> None:
    """Take the wish to be loaded again off the page, where one stands there."""
    page = folder / PAGE
    if page.is_file() and not page.is_symlink():
        # Whatever it is, only the wish goes: a page of somebody else may be no UTF-8.
        html = read_inside(page, _MAX_PAGE_BYTES).decode("utf-8", "surrogateescape")
        quiet = reloading(html, None)
        if quiet != html:
            write_inside(folder, PAGE, quiet.encode("utf-8", "surrogateescape"), mode=0o644)
