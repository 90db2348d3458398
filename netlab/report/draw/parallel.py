"""Draws charts in other processes, one per core, while this process makes the rest of a report.

``python -m netlab.report.draw.parallel`` loads the libraries for drawing, reads pickled jobs and
answers each job with a pickled picture. A process that has finished a job gets the next one. If the
processes cannot be started, or end early, this process draws the missing pictures, byte for byte
the same.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import SimpleQueue

from netlab.interpreter import with_this_netlab
from netlab.report.draw.plot import Job, Picture, drawn_each, make_ready
from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE, Format
from netlab.report.tables.elements import Chart, HeatMap, Strip

_MANY = 6
"""Minimum number of charts for which starting further processes saves time."""
_MOST = 4
"""Maximum number of processes: more of them would take too much memory for the time they save."""

Pictures = Callable[[], tuple[Picture, ...]]
"""Returns the pictures of charts that were handed over, once all of them are drawn."""


def draw(
    charts: Iterable[Chart | Strip | HeatMap], forms: Sequence[Format] = (PAGE_WIDE, COLUMN_WIDE)
) -> tuple[Picture, ...]:
    """Draw each chart. The bytes do not depend on the clock, user settings or system fonts."""
    with drawing_of_several(forms) as hand_over:
        return hand_over(charts)()


@contextmanager
def drawing_of_several(
    forms: Sequence[Format] = (PAGE_WIDE,), *, many: bool = False
) -> Iterator[Callable[[Iterable[Chart | Strip | HeatMap]], Pictures]]:
    """Draw charts in other processes while the block does something else.

    The block gets a function of charts that returns a function for their pictures. The picture in
    the second of ``forms`` is the ``column`` of that in the first. ``many``: start at once. No
    process remains after the block.
    """
    helpers = Drawers()

    def hand_over(charts: Iterable[Chart | Strip | HeatMap]) -> Pictures:
        batch = tuple(charts)
        if len(batch) >= _MANY:
            helpers.start()
        pictures = helpers.hand_over([(chart, form) for form in forms for chart in batch])

        def in_widths() -> tuple[Picture, ...]:
            drawn = pictures()
            wide, narrow = drawn[: len(batch)], drawn[len(batch) :]
            if not narrow:
                return wide
            return tuple(replace(w, column=n) for w, n in zip(wide, narrow, strict=True))

        return in_widths

    try:
        if many:
            helpers.start()
        yield hand_over
    finally:
        helpers.end()


class Drawers:
    """The processes that draw; for each of them, a thread hands jobs over."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads = ThreadPoolExecutor(_MOST)
        self._batches: list[tuple[Sequence[Job], list[Future[Picture | None]]]] = []
        """Batches of jobs, each with its pictures to come; none before the start."""

    def start(self) -> None:
        """Start the processes unless they have been started already."""
        if self._processes:
            return
        with suppress(OSError):
            for _core in range(_cores()):
                process = subprocess.Popen(
                    [sys.executable, "-m", "netlab.report.draw.parallel"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    # Drawing needs no threads for linear algebra.
                    env={**with_this_netlab(), "OPENBLAS_NUM_THREADS": "1"},
                )
                self._processes.append(process)
                self._idle.put(process)
        for batch in self._batches:
            self._submit(*batch)

    def hand_over(self, jobs: Sequence[Job]) -> Pictures:
        """Have jobs drawn after the earlier ones; returns a function for their pictures."""
        drawn: list[Future[Picture | None]] = []
        self._batches.append((jobs, drawn))
        self._submit(jobs, drawn)

        def pictures() -> tuple[Picture, ...]:
            found = [one.result() for one in drawn] or [None] * len(jobs)
            missing = [job for job, one in zip(jobs, found, strict=True) if one is None]
            here = iter([*drawn_each(missing)])
            return tuple(one or next(here) for one in found)

        return pictures

    def _submit(self, jobs: Sequence[Job], drawn: list[Future[Picture | None]]) -> None:
        if self._processes:
            drawn += [self._threads.submit(self._drawn, job) for job in jobs]

    def end(self) -> None:
        """End all processes, also those that are still drawing."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(OSError), process:  # a job that it did not take in cannot be sent
                pass

    def _drawn(self, job: Job) -> Picture | None:
        """The picture that a process draws; ``None`` if it has ended."""
        process = self._idle.get()
        try:
            pickle.dump(job, process.stdin)  # type: ignore[arg-type]  # it is a pipe
            process.stdin.flush()  # type: ignore[union-attr]
            picture: Picture = pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301 - our own process wrote it
            return picture
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        finally:
            self._idle.put(process)


def _cores() -> int:
    """Maximum number of processes that draw at the same time."""
    if sys.platform == "linux" and hasattr(os, "sched_getaffinity"):
        return min(_MOST, len(os.sched_getaffinity(0)))
    return min(_MOST, os.cpu_count() or 1)


def main() -> None:
    """Main function of a drawing process: draw jobs until there are no more."""
    make_ready()

    def asked() -> Iterator[Job]:
        with suppress(EOFError):
            while True:
                yield pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process wrote it

    for picture in drawn_each(asked()):
        pickle.dump(picture, sys.stdout.buffer)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
