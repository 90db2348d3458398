"""The report of a run that is under way: made again whenever the journal has grown.

If this machine is one of the run's hosts (a local host, or a host of a lab on this machine), record
and drawing would take CPU time from the measurement. Then the page is made only at the end of the
run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from netlab.findings.analysis import Analysis
from netlab.messages import _, counted, joined
from netlab.report import PAGE, reloading, write_report
from netlab.report.language import wording_in
from netlab.results.arrow.run_parts import is_large, large_run
from netlab.results.run import read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.files import disk_error, read_inside, write_inside
from netlab.store.reader import JOURNAL, StoredRun, holder_of, measures_here, status_of
from netlab.trial.record import Status

LOOKS_S = 0.5
"""Time between two checks of the journal."""
LEAST_PAUSE_S = 2.0
"""Minimum time between two reports."""
SHARE = 0.2
"""Maximum share of time spent on reports, because this machine may also control the run."""
_MAX_PAGE_BYTES = 1 << 30
LEAST_RELOAD_S = 5
"""Minimum time between two reloads of the page, so that a reader is rarely interrupted."""
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
    """Keep the report in ``folder`` current until no trials remain or the run's writer has ended.

    Then it is made one last time. However this function ends, the page no longer reloads itself.
    UsageError without a run; StoreError if it cannot be read or the report cannot be written.
    """
    page = folder / PAGE
    shown_bytes: int | None = None
    seen_writer, due_s, cost_s, waits = False, -math.inf, 0.0, False
    try:
        while True:
            # The writer is checked before the journal is read, so that no last line is missed.
            writes = holder_of(folder) is not None
            has_ended = seen_writer and not writes
            seen_writer = seen_writer or writes
            waits = waits and writes
            size_bytes = _size_bytes(folder)
            if has_ended or (not waits and size_bytes != shown_bytes and clock() >= due_s):
                begin_s = clock()
                run = _read(folder, under_way=writes)
                if writes and (is_here := measures_here(run.stored)) is not False:
                    # ``is_here`` is ``None`` while the hosts are unknown, until they have answered.
                    waits, due_s = bool(is_here), clock() + LOOKS_S
                    if waits:
                        say(wording_in(language).text(_WAITS))
                    sleep(LOOKS_S)
                    continue
                large = is_large(folder)
                count = status_of(folder, RUN_CHECK).remaining if large else remaining(run.stored)
                over = has_ended or not count
                wording = wording_in(language)
                next_s = math.ceil(cost_s + _pause_s(cost_s))
                reload_s = None if over else max(LEAST_RELOAD_S, next_s)
                if large:
                    from netlab.report.large import LargeReport

                    LargeReport(large_run(folder), wording, narrow).write(reload_s=reload_s)
                else:
                    write_report(run, wording, narrow=narrow, reload_s=reload_s)
                shown_bytes, cost_s = size_bytes, clock() - begin_s
                due_s = clock() + _pause_s(cost_s)
                if over:
                    say(wording.text(joined(": ", [str(page), _end(count)])))
                    return
                say(wording.text(_("{page}: trials left: {left}", page=str(page), left=count)))
            sleep(LOOKS_S)
    finally:
        _settle(folder)


def _read(folder: Path, *, under_way: bool) -> Analysis:
    """Read the run; while it is under way, an incomplete last line does not count as damage."""
    stored = read_checked(folder)
    damage = tuple(place for place in stored.damage if not (place.torn and under_way))
    return Analysis(replace(stored, damage=damage))


def remaining(stored: StoredRun) -> int:
    """The number of trials that are still to be measured. Failed trials are included."""
    final_statuses = (Status.OK, Status.IMPOSSIBLE)
    return sum(
        record is None or record.status not in final_statuses for _, _, record in stored.trials()
    )


def _end(count: int) -> str:
    if not count:
        return _("the run is complete")
    return counted(
        "the process that wrote the run has ended; {left} trial remains: netlab resume measures it",
        "the process that wrote the run has ended; {left} trials remain: netlab resume "
        "measures them",
        count,
        left=count,
    )


def _pause_s(cost_s: float) -> float:
    return max(LEAST_PAUSE_S, cost_s * (1 / SHARE - 1))


def _size_bytes(folder: Path) -> int:
    journal = folder / JOURNAL
    try:
        return journal.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise disk_error(error, journal, "read the journal") from None


def _settle(folder: Path) -> None:
    """Remove the request to reload from the page, if the page has one."""
    page = folder / PAGE
    if page.is_file() and not page.is_symlink():
        # All other bytes stay unchanged: a page of another program may not be UTF-8.
        html = read_inside(page, _MAX_PAGE_BYTES).decode("utf-8", "surrogateescape")
        quiet = reloading(html, None)
        if quiet != html:
            write_inside(folder, PAGE, quiet.encode("utf-8", "surrogateescape"), mode=0o644)
