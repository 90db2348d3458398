"""Draws charts in other processes, one per core, while this process makes the rest of a report.

``python -m netlab.report.draw.parallel`` loads the libraries for drawing once, then forks. One of
the processes uses standard input and output; the others use the pipes that the arguments name. Each
process reads pickled jobs and answers each job with a pickled picture. A process that has finished
a job gets the next one. If the processes cannot be started, or end early, this process draws the
missing pictures, byte for byte the same.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Condition, Thread
from typing import IO

from netlab.interpreter import with_this_netlab
from netlab.report.draw.plot import Job, Picture, drawn_each, make_ready
from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE, Format
from netlab.report.tables.elements import Chart, HeatMap, Strip

_MANY = 6
"""Minimum number of charts for which starting further processes saves time."""
_MOST = 4
"""Maximum number of processes: more of them would take too much memory for the time they save."""

_CAN_BECOME_SEVERAL = sys.platform == "linux" and hasattr(os, "fork") and hasattr(os, "killpg")
"""On other systems a process that has loaded libraries must not be forked. There, only one process
is started, and this process draws as well."""

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
    the second of ``forms`` is the ``column`` of that in the first. ``many``: start at once.
    """
    with drawers(start=many) as helpers:

        def hand_over(charts: Iterable[Chart | Strip | HeatMap]) -> Pictures:
            batch = tuple(charts)
            if len(batch) >= _MANY:
                helpers.start()
            jobs = [(chart, form) for form in forms for chart in batch]
            first = helpers.hand_over(jobs)

            def in_widths() -> tuple[Picture, ...]:
                pictures = helpers.pictures(first, len(jobs))
                wide, narrow = pictures[: len(batch)], pictures[len(batch) :]
                if not narrow:
                    return tuple(wide)
                return tuple(replace(w, column=n) for w, n in zip(wide, narrow, strict=True))

            return in_widths

        yield hand_over


class Drawers:
    """The processes that draw, with all jobs handed over and the pictures drawn so far."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[Thread] = []
        self._jobs: list[Job] = []
        self._waiting: deque[int] = deque()
        """Numbers of the jobs that no process has begun."""
        self._pictures: dict[int, Picture] = {}
        self._at_work = 0
        """Number of processes that draw or wait for a job."""
        self._over = False
        self._changed = Condition()

    def start(self) -> None:
        """Start the processes unless they have been started already."""
        if self._process is not None:
            return
        pipes = [(os.pipe(), os.pipe()) for _ in range(_cores() - 1 if _CAN_BECOME_SEVERAL else 0)]
        theirs = [(jobs[0], pictures[1]) for jobs, pictures in pipes]
        ends: list[tuple[IO[bytes], IO[bytes]]]
        ends = [(os.fdopen(j[1], "wb"), os.fdopen(p[0], "rb")) for j, p in pipes]
        words = [f"{jobs},{pictures}" for jobs, pictures in theirs]
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "netlab.report.draw.parallel", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Drawing needs no threads for linear algebra.
                env={**with_this_netlab(), "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[fd for pair in theirs for fd in pair],
                # The process and its forks are one process group, so that all are killed together.
                process_group=0 if pipes else None,
            )
        for fd in (fd for pair in theirs for fd in pair):
            os.close(fd)
        if self._process is not None and self._process.stdin and self._process.stdout:
            ends.append((self._process.stdin, self._process.stdout))
            self._at_work = len(ends)
        for jobs, pictures in ends:
            # If no process uses a pipe, the thread of the pipe sees the end of the pipe at once.
            self._threads.append(Thread(target=self._lead, args=(jobs, pictures), daemon=True))
            self._threads[-1].start()

    def hand_over(self, jobs: Sequence[Job]) -> int:
        """Add jobs after the earlier ones; return the number of the first added job, from 0."""
        with self._changed:
            first = len(self._jobs)
            self._jobs += jobs
            self._waiting += range(first, len(self._jobs))
            self._changed.notify_all()
        return first

    def pictures(self, first: int, count: int) -> list[Picture]:
        """The pictures of ``count`` jobs from number ``first`` on, once all of them are drawn."""
        numbers, own_numbers = range(first, first + count), [first]

        def here() -> Iterator[Job]:
            while (number := self._for_this_process(numbers)) is not None:
                own_numbers.append(number)
                yield self._jobs[number]

        for picture in drawn_each(here()):
            self._pictures[own_numbers[-1]] = picture
        return [self._pictures[number] for number in numbers]

    def end(self) -> None:
        """End all processes, also those that are still drawing."""
        with self._changed:
            self._over = True
            unfinished = len(self._pictures) < len(self._jobs)
            self._changed.notify_all()
        if self._process is not None and unfinished:
            if _CAN_BECOME_SEVERAL:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        for thread in self._threads:
            thread.join()
        if self._process is not None:
            self._process.wait()

    def _for_this_process(self, numbers: range) -> int | None:
        """Number of a job for this process, once a core is free; ``None`` once all are drawn."""
        with self._changed:
            while any(number not in self._pictures for number in numbers):
                candidates = [number for number in self._waiting if number in numbers]
                if candidates and self._at_work < _cores():
                    self._waiting.remove(candidates[-1])
                    return candidates[-1]
                self._changed.wait()
        return None

    def _lead(self, jobs: IO[bytes], pictures: IO[bytes]) -> None:
        """Give a process jobs and take its pictures, until no job is left or the process ends."""
        number = None
        try:
            with suppress(EOFError, OSError, pickle.UnpicklingError), jobs, pictures:
                while True:
                    with self._changed:
                        self._changed.wait_for(lambda: self._waiting or self._over)
                        if self._over:
                            break
                        number = self._waiting.popleft()
                    pickle.dump(self._jobs[number], jobs)
                    jobs.flush()
                    picture = pickle.load(pictures)  # noqa: S301 - our own process wrote it
                    with self._changed:
                        self._pictures[number], number = picture, None
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._at_work -= 1
                if number is not None:
                    self._waiting.appendleft(number)
                self._changed.notify_all()


def _cores() -> int:
    """Maximum number of processes that draw at the same time, including this process."""
    if sys.platform == "linux" and hasattr(os, "sched_getaffinity"):
        return min(_MOST, len(os.sched_getaffinity(0)))
    return min(_MOST, os.cpu_count() or 1)


@contextmanager
def drawers(jobs: Sequence[Job] = (), *, start: bool = False) -> Iterator[Drawers]:
    """Draw the jobs while the block does something else; no process remains after the block."""
    helpers = Drawers()
    try:
        if start or jobs:
            helpers.start()
        helpers.hand_over(jobs)
        yield helpers
    finally:
        helpers.end()


def main(words: Sequence[str]) -> None:
    """Main function of the drawing processes: fork once for each pair of pipes, then draw jobs."""
    make_ready()
    # After this call, the garbage collector no longer visits the loaded libraries.
    gc.freeze()
    own = (sys.stdin.fileno(), sys.stdout.fileno())
    ends = [own, *((int(r), int(w)) for r, w in (word.split(",") for word in words))]
    children: list[int] = []
    for pipes in ends[1:]:
        child = os.fork()
        if not child:
            own, children = pipes, []
            break
        children.append(child)
    for fd in (fd for pipes in ends if pipes != own for fd in pipes):
        os.close(fd)
    with suppress(OSError), os.fdopen(own[0], "rb") as jobs, os.fdopen(own[1], "wb") as pictures:

        def asked() -> Iterator[Job]:
            with suppress(EOFError):
                while True:
                    yield pickle.load(jobs)  # noqa: S301 - our own process wrote it

        for picture in drawn_each(asked()):
            pickle.dump(picture, pictures)
            pictures.flush()
    for child in children:
        os.waitpid(child, 0)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
