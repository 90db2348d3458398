"""What a person asks of a run: its options, the chosen cells, and the hosts that they need."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from netlab.config.document import did_you_mean
from netlab.errors import HostError, IncompleteRun, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import HostPair, Inventory, is_by_name
from netlab.experiment.sample import sample_in
from netlab.report import WrittenReport
from netlab.trial.record import Record, Status, grouped
from netlab.units import many

PATIENCE_S = 600.0
"""Time from the loss of a host for which a run waits for it, with nothing else to do."""

NOTE = "asked"
"""Kind of the note that holds the options."""


def free_name(name: str, names: Container[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3`` … that is not taken."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


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
    """Cells to repeat, in words that ``redo_of`` takes."""
    nothing_else: bool = False
    """Measure the cells of ``redo`` only, not the other missing trials."""
    wait_s: float = 0.0
    patience_s: float = PATIENCE_S
    strict: bool = False
    """Measure nothing if a host of any cell is missing."""
    cluster: str | None = None
    """The words of `--cluster`; ``None``: this process measures."""
    insecure: bool = False
    """Whether the scheduler may be on another machine without TLS."""
    with_report: bool = False
    """Whether the report is made at the end."""

    def run_folder(self) -> Path:
        """The folder of the run: ``into``, or a new one, even if another run began this second."""
        if self.into is not None:
            return self.into
        name = f"{self.matrix.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        runs = Path("runs")
        return runs / free_name(name, {folder.name for folder in runs.glob("*")})


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
    """The data of the note ``NOTE``. The path of the inventory is relative to the run folder."""
    inventory = None
    if options.hosts is not None:
        inventory = str(options.hosts.resolve())
        with suppress(ValueError):  # Windows: the inventory is on another drive
            inventory = os.path.relpath(inventory, folder.resolve())
    values = {name: getattr(options, name) for name in _NOTED}
    return {
        "inventory": inventory,
        **{name: list(it) if isinstance(it, tuple) else it for name, it in values.items()},
        "overrides": dict(options.overrides),
    }


def _texts(words: Iterable[Any]) -> tuple[str, ...]:
    return tuple(map(str, words))


_NOTED: Mapping[str, Callable[[Any], Any]] = {
    "only": _texts,
    "overrides": lambda pairs: {str(name): str(value) for name, value in pairs.items()},
    "redo": _texts,
    "retries": int,
    "wait_s": float,
    "patience_s": float,
    "strict": bool,
    "cluster": lambda words: None if words is None else str(words),
    "insecure": bool,
}
"""Option in the note → how it is read; the inventory is a matter of its own."""
_ADDED_LATER = {"cluster": None, "insecure": False}
"""Options that older notes lack."""


def options_to_resume(
    folder: Path,
    hosts: Path | None = None,
    redo: tuple[str, ...] = (),
    overrides: Mapping[str, str] | None = None,
) -> Options:
    """The options of the last session in ``folder``; ``hosts`` replaces its inventory, and
    ``overrides`` are added to its own. A sample has the cells of the run's plan, or more.

    With ``redo``, only these cells are measured again, else those that the last session had to redo
    and did not reach. UsageError if the folder has no options, StoreError if it cannot be read.
    """
    # Imported late: a plan of a new run reads no folder.
    from netlab.results.value_types import RUN_CHECK
    from netlab.store.reader import MATRIX, read

    stored_run = read(folder, RUN_CHECK)
    notes = [n for n in stored_run.notes if n.kind in (NOTE, "session-end")]
    latest = next((note for note in reversed(notes) if note.kind == NOTE), None)
    if latest is None:
        raise UsageError(
            f"{folder} does not hold the options of its run: an older netlab or an import made it; "
            f"resume it with netlab run {MATRIX} --into {folder}"
        )
    try:
        stored = latest.data["inventory"]
        if hosts is None and stored is not None:
            hosts = Path(os.path.normpath(folder / str(stored)))
        data = {**_ADDED_LATER, **latest.data}
        asked = {name: read_one(data[name]) for name, read_one in _NOTED.items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(
            f"{folder}: line {latest.line} of its journal is damaged: it should hold the run's "
            "options"
        ) from None
    if hosts is not None and not hosts.exists():
        raise UsageError(
            f"the inventory {hosts} of {folder} does not exist; name it with --hosts FILE"
        )
    if (sample := sample_in(stored_run.plan.content)) is not None:
        asked["overrides"]["sample.cells"] = str(sample.cells)
    asked["overrides"] |= overrides or {}
    if notes[-1].kind != NOTE:  # the last session was complete
        asked["redo"] = ()
    options = Options(matrix=folder / MATRIX, hosts=hosts, into=folder, **asked)
    return replace(options, redo=redo, nothing_else=True) if redo else options


FAILED = "failed"
"""Word of `--redo` for every cell with a failed trial."""


def session_cells(
    cells: tuple[Cell, ...], only: Collection[str], redo: Collection[str], *, nothing_else: bool
) -> tuple[Cell, ...]:
    """The cells of a session: of ``only`` or, with ``nothing_else``, of ``redo``; UsageError."""
    if not nothing_else:
        chosen = chosen_of(cells, only)
        redo_of(redo, chosen, {})  # for its error
        return chosen
    keys = redo_of(redo, cells, {})
    if not keys:
        raise UsageError(
            "--redo selects no cell: `netlab resume` without --redo repeats failed trials"
        )
    return tuple(cell for cell in cells if cell.key in keys)


def chosen_of(cells: tuple[Cell, ...], only: Iterable[str]) -> tuple[Cell, ...]:
    """The cells that the words of ``--only`` select; all cells without a word.

    A word names pairings or kinds of test, in any case, with the wildcards ``*`` and ``?``; commas
    separate words. Words for pairings and words for tests each narrow the choice. UsageError for a
    word that matches nothing.
    """
    pairings = tuple(dict.fromkeys(cell.pairing for cell in cells))
    tests = tuple(dict.fromkeys(cell.test for cell in cells))
    only_pairings: set[str] = set()
    only_tests: set[str] = set()
    for word in _words(only):
        of_pairings, of_tests = _matches(word, pairings), _matches(word, tests)
        if not of_pairings and not of_tests:
            names = f"pairings: {', '.join(pairings)}; tests: {', '.join(tests)}"
            hint = did_you_mean(word, (*pairings, *tests))
            raise UsageError(
                f"--only {word}: this matrix has no such pairing or test{hint}; {names}"
            )
        only_pairings |= of_pairings
        only_tests |= of_tests
    return tuple(
        cell
        for cell in cells
        if (not only_pairings or cell.pairing in only_pairings)
        and (not only_tests or cell.test in only_tests)
    )


def redo_of(
    words: Collection[str], cells: tuple[Cell, ...], latest: Mapping[tuple[str, int], Record]
) -> frozenset[str]:
    """Keys of the cells of ``--redo``: keys, pairings, tests, ``failed``; UsageError if none."""
    redo: set[str] = set()
    for word in _words(words):
        if word == FAILED:
            failed = {key for (key, _), record in latest.items() if record.status is Status.FAILED}
            redo |= failed & {cell.key for cell in cells}
            continue
        names = ((cell, (cell.key, cell.pairing, cell.test)) for cell in cells)
        matches = {cell.key for cell, its in names if _matches(word, its)}
        if not matches:
            raise UsageError(
                f"--redo {word}: no such cell, pairing or test; "
                "`netlab plan --cells` lists the cells' keys"
            )
        redo |= matches
    return frozenset(redo)


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (word.strip() for word in text.split(",") if word.strip())


def _matches(word: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if fnmatchcase(name.casefold(), word.casefold())}


@dataclass(frozen=True, slots=True)
class Possible:
    """The cells that an inventory has hosts for, and the hosts that the other cells lack."""

    cells: tuple[Cell, ...]
    """Cells that the inventory has hosts for."""
    pairs: Mapping[str, HostPair]
    """Pairing with hosts → its first choice of server and client."""
    lacking: Mapping[str, str]
    """Pairing without hosts → the hosts that the inventory lacks for this pairing, in words."""
    sentence: str
    """The pairings with hosts, and the hosts that are missing; empty if no host is missing."""


def possible_of(cells: Sequence[Cell], inventory: Inventory) -> Possible:
    """The cells that the inventory has hosts for: the matrix may be for a larger one. UsageError if
    a pairing that names its two hosts is impossible, or if no cell can be measured.
    """
    pairs: dict[str, HostPair] = {}
    lacking: dict[str, str] = {}
    for pairing in dict.fromkeys(cell.pairing for cell in cells):
        candidates = inventory.candidates(pairing)
        if candidates:
            pairs[pairing] = candidates[0]
        elif is_by_name(pairing):
            raise UsageError(f"{inventory.file}: {inventory.why_not(pairing)}")
        else:
            lacking[pairing] = inventory.wanting(pairing)
    if cells and not pairs:
        raise UsageError(f"{inventory.file}: no cell can be measured: {_wants(lacking)}")
    if not lacking:
        return Possible(tuple(cells), pairs, {}, "")
    possible = tuple(cell for cell in cells if cell.pairing not in lacking)
    share = f"{_listed(pairs)}: {len(possible)} of {many(len(cells), 'cell')}"
    sentence = f"{inventory.file} has hosts for {share}; {_wants(lacking)}"
    return Possible(possible, pairs, lacking, sentence)


def _wants(lacking: Mapping[str, str]) -> str:
    """The needs of pairings as text, such as ``WL and WW need a Windows host``."""
    return "; ".join(
        f"{_listed(pairings)} {'needs' if len(pairings) == 1 else 'need'} {want}"
        for want, pairings in grouped(lacking, lacking.__getitem__).items()
    )


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
