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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import IO

from netlab.report.draw.plot import Job, Picture, drawn_each, make_ready
from netlab.report.draw.sizes import COLUMN_WIDE, PAGE_WIDE
from netlab.report.tables.elements import Chart, HeatMap, Strip

_MANY = 6
"""From so many charts on a second process is worth its start."""

_PACKAGES = Path(__file__).parents[3]

Pictures = Callable[[], tuple[Picture, ...]]
"""Asks for the pictures of charts that were handed over."""


def draw(charts: Iterable[Chart | Strip | HeatMap]) -> tuple[Picture, ...]:
    """Draw each chart; no clock, user setting or system font has a part in the bytes."""
    with drawing(charts) as pictures:
        return pictures()


@contextmanager
def drawing(charts: Iterable[Chart | Strip | HeatMap]) -> Iterator[Pictures]:
    """Have charts drawn while the block does something else; it gets what it then asks for them."""
    with drawing_of_several() as hand_over:
        yield hand_over(charts)


@contextmanager
def drawing_of_several(
    *, many: bool = False
) -> Iterator[Callable[[Iterable[Chart | Strip | HeatMap]], Pictures]]:
    """The same of charts that are handed over one lot after the other.

    ``many``: there will be many, so that the second process gets ready before the first of them.
    Of several lots the last one is best asked for first: it is drawn from the end.
    """
    with second_process(start=many) as other:

        def hand_over(charts: Iterable[Chart | Strip | HeatMap]) -> Pictures:
            kept = tuple(charts)
            jobs = [(chart, form) for form in (PAGE_WIDE, COLUMN_WIDE) for chart in kept]
            if len(kept) >= _MANY:
                other.start()
            first = other.hand_over(jobs)
            return lambda: _pictures(jobs, other, first)

        yield hand_over


def _pictures(jobs: Sequence[Job], other: Other, number: int) -> tuple[Picture, ...]:
    """What the other process has not begun is drawn here, from the last job on; the first of the
    jobs has that number there.
    """

    def not_begun() -> Iterator[Job]:
        for at in reversed(range(len(jobs))):
            if other.begun(number + at):
                return
            yield jobs[at]

    last = list(drawn_each(not_begun()))
    first = other.pictures(number, len(jobs) - len(last))
    # Fewer where that process has ended.
    between = list(drawn_each(iter(jobs[len(first) : len(jobs) - len(last)])))
    pictures = [*first, *between, *reversed(last)]
    half = len(pictures) // 2
    pairs = zip(pictures[:half], pictures[half:], strict=True)
    return tuple(replace(wide, column=narrow) for wide, narrow in pairs)


class Other:
    """The second process: what was handed over to it, and what it has drawn by now, in order."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: Thread | None = None
        self._unsaid: SimpleQueue[bytes | None] = SimpleQueue()
        self._pictures: list[Picture] = []
        self._handed = 0
        self._more = Condition()
        self._ended = True

    def start(self) -> None:
        """Have the process, unless it is there already. What was handed over before is not drawn
        by it.
        """
        if self._process is not None or self._handed:
            return
        path = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "netlab.report.draw.parallel"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        said = self._process and self._process.stdout
        asked = self._process and self._process.stdin
        if said is None or asked is None:
            return
        self._ended = False
        Thread(target=self._read, args=(said,), daemon=True).start()
        # It may be busy drawing, and take no more for a while.
        self._writer = Thread(target=self._write, args=(asked,), daemon=True)
        self._writer.start()

    def hand_over(self, jobs: Sequence[Job]) -> int:
        """Have jobs drawn behind those of before; the number of the first, from 0."""
        first = self._handed
        self._handed += len(jobs)
        for job in jobs if self._writer is not None else ():
            self._unsaid.put(pickle.dumps(job))
        return first

    def begun(self, number: int) -> bool:
        """Whether a job is drawn there, or is being drawn."""
        with self._more:
            return number < len(self._pictures) + (not self._ended)

    def pictures(self, number: int, count: int) -> list[Picture]:
        """Those of so many jobs from that one on, once they are there; fewer where the process
        ended.
        """
        with self._more:
            self._more.wait_for(lambda: self._ended or len(self._pictures) >= number + count)
            return self._pictures[number : number + count]

    def end(self) -> None:
        """No process stays behind."""
        if self._process is None or self._writer is None:
            return
        self._process.kill()
        self._process.wait()
        self._unsaid.put(None)
        self._writer.join()
        with self._more:
            self._more.wait_for(lambda: self._ended)

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

    def _write(self, asked: IO[bytes]) -> None:
        with suppress(OSError), asked:
            while (job := self._unsaid.get()) is not None:
                asked.write(job)
                asked.flush()


@contextmanager
def second_process(jobs: Sequence[Job] = (), *, start: bool = False) -> Iterator[Other]:
    """Have the jobs drawn, from the first one on, while the block does something else.

    However the block is left, no process stays behind.
    """
    other = Other()
    try:
        if start or jobs:
            other.start()
        if jobs:
            other.hand_over(jobs)
        yield other
    finally:
        other.end()


def main() -> None:
    """What the second process does."""
    make_ready()
    for picture in drawn_each(_asked()):
        pickle.dump(picture, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _asked() -> Iterator[Job]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process said it


if __name__ == "__main__":
    main()
