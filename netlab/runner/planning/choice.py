"""Which cells of a matrix are meant by `--only` and `--redo`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from netlab.config.document import did_you_mean
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.records import Record, Status

FAILED = "failed"
"""As a word of `--redo`: every cell with a trial that failed."""


def chosen_of(cells: tuple[Cell, ...], only: Iterable[str]) -> tuple[Cell, ...]:
    """The cells that the words of ``--only`` mean, all where there is none.

    A word is the name of a pairing or of a kind of test, in capitals or small letters, with ``*``
    and ``?`` for any letters; several stand between commas. Of pairings and of tests any that is
    named is meant; where both are, a cell is to be of both. UsageError for a word that means none.
    """
    pairings = tuple(dict.fromkeys(cell.pairing for cell in cells))
    tests = tuple(dict.fromkeys(cell.test for cell in cells))
    meant: dict[str, set[str]] = {"pairing": set(), "test": set()}
    for word in _words(only):
        found = {"pairing": _matches(word, pairings), "test": _matches(word, tests)}
        if not any(found.values()):
            known = f"pairings: {', '.join(pairings)}; tests: {', '.join(tests)}"
            near = did_you_mean(word, (*pairings, *tests))
            raise UsageError(
                f"--only {word}: this matrix has no such pairing or test{near}; {known}"
            )
        for what, names in found.items():
            meant[what] |= names
    return tuple(
        cell
        for cell in cells
        if cell.pairing in (meant["pairing"] or pairings) and cell.test in (meant["test"] or tests)
    )


def check_redo(words: Collection[str], chosen: tuple[Cell, ...]) -> None:
    """UsageError for a word of ``--redo`` that means none of the cells."""
    redo_of(words, chosen, {})


def redo_of(
    words: Collection[str], chosen: tuple[Cell, ...], latest: Mapping[tuple[str, int], Record]
) -> frozenset[str]:
    """The keys of the cells that ``--redo`` means: by key, pairing or test, as ``chosen_of`` takes
    words; or ``failed``, those with a trial that failed. UsageError for a word that means none.
    """
    found: set[str] = set()
    names: tuple[Callable[[Cell], str], ...] = (
        lambda cell: cell.key,
        lambda cell: cell.pairing,
        lambda cell: cell.test,
    )
    for word in _words(words):
        if word == FAILED:
            keys = {cell.key for cell in chosen}
            failed = {key for (key, _), each in latest.items() if each.status is Status.FAILED}
            found |= failed & keys
            continue
        meant = {cell.key for cell in chosen if any(_is_like(word, name(cell)) for name in names)}
        if not meant:
            raise UsageError(
                f"--redo {word}: no such cell, pairing or test; "
                "`netlab plan --cells` lists the cells' keys"
            )
        found |= meant
    return frozenset(found)


def _words(given: Iterable[str]) -> Iterator[str]:
    for each in given:
        yield from (word.strip() for word in each.split(",") if word.strip())


def _matches(word: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if _is_like(word, name)}


def _is_like(word: str, name: str) -> bool:
    return fnmatchcase(name.casefold(), word.casefold())
