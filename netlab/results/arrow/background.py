"""Segments are made in a process of its own, which may outlast the command that started it.

The process has the lowest priority, and nothing waits for it. It has a lock of its own, so that the
run can go on, be resumed and be read meanwhile: segments cover only whole lines of the journal,
which nobody changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from netlab.interpreter import with_this_netlab
from netlab.results.arrow.segment_writer import (
    LEAST_BYTES,
    LEAST_LINES,
    SEGMENT_BYTES,
    SEGMENT_LINES,
    compact,
    is_due,
)
from netlab.store.reader import JOURNAL

LOOK_AFTER = 500
"""Records after which the size of the journal is looked at again."""
PATIENCE_S = 3600.0
"""Time that the process waits for another one that makes segments of the same run."""


def segments_made(folder: Path) -> list[str]:
    """Start the process if the journal of a run has enough lines without a segment.

    Returns a sentence if that fails. The run has ended by then, and its journal is complete.
    """
    try:
        if is_due(folder):
            _started(folder, LEAST_BYTES, LEAST_LINES)
    except Exception as error:
        return [f"{folder}: no segments were made of the journal, which is complete: {error}"]
    return []


class BackgroundSegments:
    """Starts the process for the run of a session whenever it has written enough for a whole
    segment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._records = 0
        self._journal_bytes = self._size_bytes()

    def on_record(self) -> None:
        """Count a record that was written; start the process if a segment can be closed."""
        self._records += 1
        if self._records % LOOK_AFTER:
            return
        size_bytes = self._size_bytes()
        if size_bytes - self._journal_bytes >= SEGMENT_BYTES or self._records >= SEGMENT_LINES:
            self._records, self._journal_bytes = 0, size_bytes
            if self._process is None or self._process.poll() is not None:
                self._process = _started(self._folder, SEGMENT_BYTES, SEGMENT_LINES)

    def _size_bytes(self) -> int:
        try:
            return (self._folder / JOURNAL).stat().st_size
        except OSError:
            return 0


def _started(folder: Path, least_bytes: int, least_lines: int) -> subprocess.Popen[bytes]:
    run = folder.resolve()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(run), str(least_bytes), str(least_lines)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=with_this_netlab(),
        cwd=run.anchor,  # no other folder is kept in use
        # It lives on when the terminal closes.
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0)
        | getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
    )
    # Whoever started a process has to take in its end; this command may end before it.
    threading.Thread(target=process.wait, daemon=True).start()
    return process


def main() -> None:
    """Make the segments of the run that the arguments name."""
    folder, least_bytes, least_lines = sys.argv[1:]
    with suppress(AttributeError, OSError):  # Windows: the priority is given at the start
        os.nice(19)
    compact(
        Path(folder),
        least_bytes=int(least_bytes),
        least_lines=int(least_lines),
        patience_s=PATIENCE_S,
    )


if __name__ == "__main__":
    main()
