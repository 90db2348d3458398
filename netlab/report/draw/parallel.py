"""Draws charts in a second process, on a core that else would be idle.

``python -m netlab.report.draw.parallel`` takes pickled jobs on standard input and gives a pickled
picture for each on standard output, in their order; nothing else is said there. Meanwhile this
process does something else, and then draws from the other end: both stop where they meet. Where the
second process cannot be had, or ends early, everything is drawn in this one: the bytes are the
same.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Condition, Thread
from typing import IO

from netlab.report.draw.plot import Picture, drawn
from netlab.report.draw.sizes import COLUMN_WIDE, PAGE_WIDE, Format
from netlab.report.tables.elements import Chart, HeatMap, Strip

Job = tuple[Chart | Strip | HeatMap, Format]
"""A chart, and the width to draw it in."""

_MANY = 6
"""From so many charts on a second process is worth its start."""

_PACKAGES = Path(__file__).parents[3]


def draw(charts: Iterable[Chart | Strip | HeatMap]) -> tuple[Picture, ...]:
    """Draw each chart; no clock, user setting or system font has a part in the bytes."""
    with drawing(charts) as pictures:
        return pictures()


@contextmanager
def drawing(
    charts: Iterable[Chart | Strip | HeatMap],
) -> Iterator[Callable[[], tuple[Picture, ...]]]:
    """Have charts drawn while the block does something else; it gets what it then asks for them."""
    kept = tuple(charts)
    jobs = [(chart, form) for form in (PAGE_WIDE, COLUMN_WIDE) for chart in kept]
    with second_process(jobs if len(kept) >= _MANY else ()) as other:
        yield lambda: _pictures(jobs, other)


def _pictures(jobs: Sequence[Job], other: Other) -> tuple[Picture, ...]:
    """What the other process has not begun is drawn here, from the last job on."""
    last: list[Picture] = []
    while len(last) < len(jobs) and not other.begun(at := len(jobs) - len(last) - 1):
        last.append(drawn(*jobs[at]))
    first = other.first(len(jobs) - len(last))
    # Fewer where that process has ended.
    between = [drawn(*job) for job in jobs[len(first) : len(jobs) - len(last)]]
    pictures = [*first, *between, *reversed(last)]
    half = len(pictures) // 2
    pairs = zip(pictures[:half], pictures[half:], strict=True)
    return tuple(replace(wide, column=narrow) for wide, narrow in pairs)


class Other:
    """What the second process has drawn by now: the first of the jobs, in their order."""

    def __init__(self, said: IO[bytes] | None) -> None:
        self._pictures: list[Picture] = []
        self._more = Condition()
        self._ended = said is None
        if said is not None:
            Thread(target=self._read, args=(said,), daemon=True).start()

    def begun(self, index: int) -> bool:
        """Whether a job is drawn there, or is being drawn."""
        with self._more:
            return index < len(self._pictures) + (not self._ended)

    def first(self, count: int) -> list[Picture]:
        """The pictures of the first jobs, once they are there; fewer where the process ended."""
        with self._more:
            self._more.wait_for(lambda: self._ended or len(self._pictures) >= count)
            return self._pictures[:count]

    def _read(self, said: IO[bytes]) -> None:
        try:
            with said, suppress(EOFError, OSError, pickle.UnpicklingError):
                while True:
                    picture = pickle.load(said)  # noqa: S301 - our own process said it
                    with self._more:
                        self._pictures.append(picture)
                        self._more.notify_all()
        finally:
            with self._more:
                self._ended = True
                self._more.notify_all()

    def await_end(self) -> None:
        """Wait until nothing more comes."""
        with self._more:
            self._more.wait_for(lambda: self._ended)


@contextmanager
def second_process(jobs: Sequence[Job]) -> Iterator[Other]:
    """Have the jobs drawn, from the first one on, while the block does something else.

    However the block is left, no process stays behind.
    """
    process = _start(jobs) if jobs else None
    if process is None:
        yield Other(None)
        return
    other = Other(process.stdout)
    try:
        yield other
    finally:
        process.kill()
        process.wait()
        other.await_end()


def _start(jobs: Sequence[Job]) -> subprocess.Popen[bytes] | None:
    path = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryFile() as asked:
        asked.write(pickle.dumps(jobs))
        asked.seek(0)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "netlab.report.draw.parallel"],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError:
            return None


def main() -> None:
    """What the second process does."""
    jobs = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process said it
    for chart, form in jobs:
        pickle.dump(drawn(chart, form), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
