"""The cells of a matrix that `--only` and `--redo` select.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. A trial is one
execution of a cell.

The pairings that an inventory has hosts for, and the hosts that the other pairings lack.

A pairing is a server and a client, given by their systems or by name. A cell is one combination of
a pairing, a kind of test and its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from netlab.config.document import did_you_mean
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import HostPair, Inventory, is_by_name
from netlab.trial.record import Record, Status
from netlab.units import many

FAILED = "failed"
"""Word of `--redo` for every cell with a failed trial."""


def session_cells(
    cells: tuple[Cell, ...], only: Collection[str], redo: Collection[str], *, nothing_else: bool
) -> tuple[Cell, ...]:
    """The cells of a session; UsageError for a word that matches no cell.

    With ``nothing_else`` these are the cells of ``redo``, and ``only``, which an earlier session
    was given, has no effect.
    """
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

    A word is the name of a pairing or of a kind of test, in upper or lower case, with the wildcards
    ``*`` and ``?``; commas separate several words. A cell is selected if its pairing is among the
    named pairings and its test among the named tests. If no word names a pairing, all pairings are
    selected; if no word names a test, all tests. UsageError for a word that matches nothing.
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
    """The keys of the cells that ``--redo`` selects.

    A word is the key of a cell, a pairing or a test, with wildcards as in ``chosen_of``, or
    ``failed`` for the cells with a failed trial. UsageError for a word that matches nothing.
    """
    redo: set[str] = set()
    names: tuple[Callable[[Cell], str], ...] = (
        lambda cell: cell.key,
        lambda cell: cell.pairing,
        lambda cell: cell.test,
    )
    for word in _words(words):
        if word == FAILED:
            keys = {cell.key for cell in cells}
            failed = {key for (key, _), record in latest.items() if record.status is Status.FAILED}
            redo |= failed & keys
            continue
        matches = {cell.key for cell in cells if any(_is_like(word, name(cell)) for name in names)}
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
    return {name for name in names if _is_like(word, name)}


def _is_like(word: str, name: str) -> bool:
    return fnmatchcase(name.casefold(), word.casefold())


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
    """The cells that the inventory has hosts for.

    Raises UsageError if a pairing that names its two hosts is impossible, or if no cell can be
    measured: then the command or a file is wrong. If only some cells can be measured, nothing is
    raised, because the matrix may be for a larger inventory.
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
    by_want: dict[str, list[str]] = {}
    for pairing, want in lacking.items():
        by_want.setdefault(want, []).append(pairing)
    return "; ".join(
        f"{_listed(pairings)} {'needs' if len(pairings) == 1 else 'need'} {want}"
        for want, pairings in by_want.items()
    )


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
