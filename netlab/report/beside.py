"""Draws charts in a second process, on a core that else would be idle.

``python -m netlab.report.beside`` takes pickled charts on standard input and gives pickled pictures
on standard output; nothing else is said there. Where that process cannot be had, the charts are
drawn in this one: the bytes are the same.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.report.nouns import Chart, HeatMap, Strip

if TYPE_CHECKING:
    from netlab.report.plots import Picture

_PACKAGES = Path(__file__).parent.parent.parent


@contextmanager
def drawing(
    charts: Sequence[Chart | Strip | HeatMap],
) -> Iterator[Callable[[], tuple[Picture, ...] | None]]:
    """Have the charts drawn as wide as a column, while this process does something else.

    Gives what waits for the pictures; that returns ``None`` where there are no charts or no such
    process. However the block is left, no process stays behind.
    """
    process = _start(charts) if charts else None
    try:
        yield lambda: None if process is None else _pictures(process)
    finally:
        if process is not None:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _start(charts: Sequence[Chart | Strip | HeatMap]) -> subprocess.Popen[bytes] | None:
    path = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryFile() as asked:
        asked.write(pickle.dumps(charts))
        asked.seek(0)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "netlab.report.beside"],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError:
            return None


def _pictures(process: subprocess.Popen[bytes]) -> tuple[Picture, ...] | None:
    said, _ = process.communicate()
    if process.returncode:
        return None
    pictures: tuple[Picture, ...] = pickle.loads(said)  # noqa: S301 - our own process said it
    return pictures


def main() -> None:
    """What the second process does."""
    charts = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own process said it
    from netlab.report.formats import COLUMN_WIDE
    from netlab.report.plots import drawn

    sys.stdout.buffer.write(pickle.dumps(drawn(charts, COLUMN_WIDE)))


if __name__ == "__main__":
    main()
