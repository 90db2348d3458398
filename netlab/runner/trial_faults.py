"""Limits an error in a trial to this trial: its record then states the error.

A record is the stored result of a trial, or its failure with a reason. If a host failed, the record
has the reason that belongs to the host's fault. After a defect of netlab, the reason is
``internal``, and the traceback is saved in the run folder.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from netlab.errors import (
    HostError,
    HostRefused,
    LockedError,
    ProbeError,
    StoreError,
    UsageError,
)
from netlab.experiment.records import REASONS, Record, Status, reason_of
from netlab.experiment.schedule import Trial
from netlab.runner.skip_reasons import Unmeasured
from netlab.store.files import write_private
from netlab.store.run_folder import RunFolder

_NO_NAME = re.compile(r'[<>:"/\\|?*]')
"""Characters that a file name cannot have on Windows: a run folder is read there as well."""

KeepTraceback = Callable[[Exception, str], str]
"""Saves the traceback of a defect under a name; returns a sentence about it."""

TRACEBACKS = "tracebacks"
"""Name of the folder for tracebacks of defects, in the run folder."""

SENTENCE_CHARACTERS = 300


def record_of_fault(error: Exception, trial: Trial, attempt: int, folder: Path) -> Record:
    """The record of a trial that ended with ``error``; the run continues with the next trial."""
    if isinstance(error, ProbeError):
        reason = reason_of(error.word)
        status = Status.IMPOSSIBLE if REASONS[reason].impossible else Status.FAILED
        return Unmeasured(status, reason, str(error)).record(trial, attempt)
    if isinstance(error, LockedError):
        return Unmeasured(Status.PENDING, "locked", str(error)).record(trial, attempt)
    if isinstance(error, HostRefused):
        return Unmeasured(Status.PENDING, "host-refused", str(error)).record(trial, attempt)
    if isinstance(error, HostError):
        return Unmeasured(Status.FAILED, "host-gone", str(error)).record(trial, attempt)
    if isinstance(error, UsageError):
        reason = "address-not-available"
        return Unmeasured(Status.FAILED, reason, str(error)).record(trial, attempt)
    detail = keep_traceback(error, folder, f"{trial.cell.key}-{trial.number}-{attempt}")
    return Unmeasured(Status.FAILED, "internal", detail).record(trial, attempt)


def append(folder: RunFolder, record: Record, warn: Callable[[list[str]], None]) -> Record:
    """Write a record and return it as written; the next sync of the folder makes it durable.

    If a host sent values that the journal cannot hold, the record becomes a failure without values.
    If this failure cannot be written either, netlab has a defect: a record with the reason
    ``internal``, or else a warning, reports it.
    """
    try:
        folder.append(record, durable=False)
        return record
    except ValueError as error:
        detail = str(error)[:SENTENCE_CHARACTERS]
    failed = replace(record, status=Status.FAILED, reason="bad-answer", detail=detail, values={})
    try:
        folder.append(failed, durable=False)
        return failed
    except ValueError as error:
        detail = keep_traceback(error, folder.path, f"record-{record.cell}")
    defect = replace(failed, reason="internal", detail=detail, settings={})
    try:
        folder.append(defect, durable=False)
    except ValueError:
        warn([f"{record.cell}: {detail}"])
    return defect


def keep_traceback(error: Exception, folder: Path, name: str) -> str:
    """Save the traceback of a defect in the run folder; return a sentence that names the file."""
    sentence = f"{type(error).__name__}: {error}"[:SENTENCE_CHARACTERS].replace("\n", " ")
    file = f"{_NO_NAME.sub('-', name)}.txt"
    text = "".join(traceback.format_exception(error))
    try:
        write_private(folder, TRACEBACKS, file, text.encode("utf-8", "backslashreplace"))
    except StoreError as refused:
        return f"{sentence}; its traceback could not be saved ({refused})"
    return f"{sentence}; its traceback is in {TRACEBACKS}/{file}"
