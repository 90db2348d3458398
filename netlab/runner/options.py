"""The options of a run, as its folder keeps them so that `netlab resume` can use them again.

A session is one call of `netlab run` or `netlab resume`. A cell is one combination of a pairing
(two hosts), a kind of test and its settings; a trial is one execution of a cell.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.errors import HostError, IncompleteRun, UsageError
from netlab.results.value_types import RUN_CHECK
from netlab.runner.trial_faults import PATIENCE_S
from netlab.store.reader import MATRIX, Note, read
from netlab.units import many

if TYPE_CHECKING:
    from netlab.report import WrittenReport

NOTE = "asked"
"""Kind of the note that holds the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one run, as a person requests them."""

    matrix: Path
    hosts: Path | None = None
    into: Path | None = None
    only: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    retries: int = 1
    redo: tuple[str, ...] = ()
    """Cells to repeat, in words that ``choice.redo_of`` takes."""
    nothing_else: bool = False
    """Measure the cells of ``redo`` only, not the other missing trials."""
    wait_s: float = 0.0
    patience_s: float = PATIENCE_S
    """Time to wait for a lost host, counted from its loss, if nothing else is left to measure."""
    strict: bool = False
    """Measure nothing if a host of any cell is missing."""
    cluster: str | None = None
    """The words of `--cluster`; ``None``: this process measures."""
    insecure: bool = False
    """Whether the scheduler may be on another machine without TLS."""
    with_report: bool = False
    """Whether the report is made at the end."""

    def run_folder(self) -> Path:
        """The folder of the run: ``into``, or one that does not exist yet, even if another run
        began this second.
        """
        if self.into is not None:
            return self.into
        name = f"{self.matrix.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        folder, number = Path("runs") / name, 1
        while folder.exists():
            number += 1
            folder = Path("runs") / f"{name}-{number}"
        return folder


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a run when it ends."""

    folder: Path
    counts: Mapping[str, int]
    """Trials of the selected cells by status; those not measured yet are pending."""
    unreachable: tuple[str, ...]
    """A sentence for each host that is away, unless another system of the same machine runs in its
    place."""
    report: WrittenReport | None = None
    """The report that was written; ``None`` without ``Options.with_report``."""

    def raise_for_status(self) -> None:
        """Raise the error whose exit code says how the run ended; none if all is measured."""
        to_resume = f"to resume: {resume_command(self.folder)}"
        if self.unreachable and self.counts.get("pending"):
            raise HostError("; ".join((*self.unreachable, to_resume)))
        open_counts = {word: self.counts.get(word, 0) for word in ("failed", "pending")}
        if any(open_counts.values()):
            words = ", ".join(many(n, f"{word} trial") for word, n in open_counts.items() if n)
            raise IncompleteRun(f"{words}; {to_resume}")


def resume_command(folder: Path) -> str:
    """The command that resumes the run in ``folder``."""
    return shlex.join(["netlab", "resume", str(folder)])


def data_of(options: Options, folder: Path) -> dict[str, Any]:
    """The data of the note ``NOTE``. The path of the inventory is relative to the run folder, so
    that the inventory and the folder can be moved together.
    """
    inventory = None if options.hosts is None else _from(folder, options.hosts)
    return {
        "inventory": inventory,
        "only": list(options.only),
        "overrides": dict(options.overrides),
        "redo": list(options.redo),
        "retries": options.retries,
        "wait_s": options.wait_s,
        "patience_s": options.patience_s,
        "strict": options.strict,
        "cluster": options.cluster,
        "insecure": options.insecure,
    }


def options_to_resume(
    folder: Path, hosts: Path | None = None, redo: tuple[str, ...] = ()
) -> Options:
    """The options of the last session in ``folder``; ``hosts`` replaces its inventory.

    With ``redo``, only these cells are measured again. Without ``redo``, the cells that the last
    session had to redo are repeated if that session did not reach its end. Raises UsageError if the
    folder does not hold the options, StoreError if it cannot be read.
    """
    stored = read(folder, RUN_CHECK)
    notes = [note for note in stored.notes if note.kind in (NOTE, "session-end")]
    latest = next((note for note in reversed(notes) if note.kind == NOTE), None)
    if latest is None:
        raise UsageError(
            f"{folder} does not hold the options of its run: an older netlab or an import made it; "
            f"resume it with netlab run {MATRIX} --into {folder}"
        )
    is_complete = notes[-1].kind != NOTE
    try:
        options = _options(latest, folder, hosts, is_complete=is_complete)
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"{folder}: line {latest.line} of its journal is damaged: it should hold the run's "
            "options"
        ) from None
    return replace(options, redo=redo, nothing_else=True) if redo else options


def _options(note: Note, folder: Path, hosts: Path | None, *, is_complete: bool) -> Options:
    data = note.data
    stored_path = data["inventory"]
    inventory = hosts or (
        None if stored_path is None else Path(os.path.normpath(folder / str(stored_path)))
    )
    if inventory is not None and not inventory.exists():
        raise UsageError(
            f"the inventory {inventory} of {folder} does not exist; name it with --hosts FILE"
        )
    return Options(
        matrix=folder / MATRIX,
        hosts=inventory,
        into=folder,
        only=_words(data["only"]),
        overrides={str(name): str(value) for name, value in data["overrides"].items()},
        redo=() if is_complete else _words(data["redo"]),
        retries=int(data["retries"]),
        wait_s=float(data["wait_s"]),
        patience_s=float(data["patience_s"]),
        strict=bool(data["strict"]),
        cluster=_word(data.get("cluster")),
        insecure=bool(data.get("insecure", False)),
    )


def _word(word: object) -> str | None:
    return None if word is None else str(word)


def _words(words: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(word) for word in words)


def _from(folder: Path, file: Path) -> str:
    try:
        return os.path.relpath(file.resolve(), folder.resolve())
    except ValueError:  # Windows: the inventory is on another drive
        return str(file.resolve())
