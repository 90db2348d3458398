"""What was asked of a run, as its folder keeps it: `netlab resume` asks the same again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from netlab.errors import UsageError
from netlab.results.value_types import RUN_CHECK
from netlab.runner.absence import PATIENCE_S
from netlab.store.reader import MATRIX, Note, read

NOTE = "asked"
"""Kind of the note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person asks of one run."""

    matrix: Path
    hosts: Path | None = None
    into: Path | None = None
    only: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    retries: int = 1
    redo: tuple[str, ...] = ()
    """Words as ``choice.redo_of`` takes them."""
    nothing_else: bool = False
    """Measure the cells of ``redo`` alone, not what else is missing."""
    wait_s: float = 0.0
    patience_s: float = PATIENCE_S
    """What is away is waited for from its loss on, once nothing else is left."""
    strict: bool = False
    """Measure nothing where a cell cannot be measured for want of a host."""


def to_go_on(folder: Path) -> str:
    """The command that goes on with the run in ``folder``."""
    return shlex.join(["netlab", "resume", str(folder)])


def data_of(options: Options, folder: Path) -> dict[str, Any]:
    """The note's data. The inventory's place is relative to the folder: both may be moved."""
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
    }


def options_to_resume(
    folder: Path, hosts: Path | None = None, redo: tuple[str, ...] = ()
) -> Options:
    """What the last session of the run in ``folder`` was asked; ``hosts`` in its inventory's place.

    With ``redo`` those cells are measured again, and nothing else. Without it cells are measured
    again only where that session did not come to its end. UsageError where the folder does not
    say, StoreError where it cannot be read.
    """
    stored = read(folder, RUN_CHECK)
    notes = [note for note in stored.notes if note.kind in (NOTE, "session-end")]
    asked = next((note for note in reversed(notes) if note.kind == NOTE), None)
    if asked is None:
        raise UsageError(
            f"{folder} does not say what it was asked: an older netlab, or an import, made it; go "
            f"on with netlab run {MATRIX} --into {folder}"
        )
    ended = notes[-1].kind != NOTE
    try:
        options = _options(asked, folder, hosts, ended=ended)
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"{folder}: line {asked.line} of its journal is damaged: it does not say what was asked"
        ) from None
    return replace(options, redo=redo, nothing_else=True) if redo else options


def _options(asked: Note, folder: Path, hosts: Path | None, *, ended: bool) -> Options:
    data = asked.data
    kept = data["inventory"]
    inventory = hosts or (None if kept is None else Path(os.path.normpath(folder / str(kept))))
    if inventory is not None and not inventory.exists():
        raise UsageError(
            f"the inventory {inventory} of {folder} is not there; name it with --hosts FILE"
        )
    return Options(
        matrix=folder / MATRIX,
        hosts=inventory,
        into=folder,
        only=_words(data["only"]),
        overrides={str(name): str(value) for name, value in data["overrides"].items()},
        redo=() if ended else _words(data["redo"]),
        retries=int(data["retries"]),
        wait_s=float(data["wait_s"]),
        patience_s=float(data["patience_s"]),
        strict=bool(data["strict"]),
    )


def _words(given: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(each) for each in given)


def _from(folder: Path, file: Path) -> str:
    try:
        return os.path.relpath(file.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(file.resolve())
