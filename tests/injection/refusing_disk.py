"""A disk that refuses from the n-th call on, and a run that does all that a run does with one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from made_runs import made_record, open_folder

from netlab.errors import StoreError
from netlab.store.files import write_inside
from netlab.store.reader import read


@contextlib.contextmanager
def refusing(
    monkeypatch: pytest.MonkeyPatch, name: str, nth: int, number: int
) -> Iterator[Callable[[], int]]:
    """The n-th call of os.NAME raises, and all that follow: a disk does not get well by itself."""
    calls = 0
    true = getattr(os, name)

    def hooked(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= nth:
            if name == "write" and len(arguments[1]) > 8:
                true(arguments[0], bytes(arguments[1])[:7])  # a part may be there all the same
            raise OSError(number, os.strerror(number))
        return true(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, hooked)
        yield lambda: calls


def write_a_run(path: Path, acknowledged: list[str], *, overlap: bool = False) -> None:
    """Everything that a run does with its folder; adds each record that was acknowledged.

    ``overlap``: records are synced while the next ones are written, as a session has it.
    """
    with open_folder(path) as folder:
        folder.note("session")
        for key, trial in folder.outstanding():
            cell = next(cell for cell in folder.plan.cells if cell.key == key)
            folder.note("attempt", durable=False, cell=key, trial=trial)
            folder.append(made_record(cell, trial), durable=not overlap)
            if overlap:
                folder.sync_soon().add_done_callback(
                    partial(_acknowledge, acknowledged, key, trial)
                )
            else:
                acknowledged.append(f"{key}/{trial}")
        folder.note("session-end")
        write_inside(folder.path, "averages.csv", b"a,b\n1,2\n")


def _acknowledge(acknowledged: list[str], key: str, trial: int, synced: Future[None]) -> None:
    if synced.exception() is None:
        acknowledged.append(f"{key}/{trial}")


def refusals(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    number: int,
    *,
    overlap: bool = False,
) -> Iterator[Path]:
    """A run for every call that os.NAME may refuse in it, resumed on the disk that is well again.

    Each stops with one sentence, and nothing acknowledged is lost.
    """
    for nth in range(1, 200):
        path = tmp_path / f"{name}-{nth}" / "run"
        acknowledged: list[str] = []
        refusal = None
        with refusing(monkeypatch, name, nth, number) as calls:
            try:
                write_a_run(path, acknowledged, overlap=overlap)
            except StoreError as error:
                refusal = error
        if refusal is None:
            assert calls() < nth > 1
            return
        assert str(tmp_path) in str(refusal)
        assert "\n" not in str(refusal)
        write_a_run(path, [])
        stored = read(path)
        assert {*acknowledged} <= {f"{record.cell}/{record.trial}" for record in stored.records}
        assert len(stored.latest) == 8
        yield path
    raise AssertionError("the run never got through")
