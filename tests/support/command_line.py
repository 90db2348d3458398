"""netlab's command line in this process, as the command `netlab` runs it.

What only a process shows (signals, closed streams, the locale) needs ``python -m netlab``.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest
from terminals import terminal

from netlab.cli import main


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def _as_found() -> Iterator[None]:
    """What a command changes in its process is as before at the end."""
    handler, thresholds = signal.getsignal(signal.SIGINT), gc.get_threshold()
    hook = sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        signal.signal(signal.SIGINT, handler)


def _main(
    folder: Path,
    words: tuple[str, ...],
    out: TextIO,
    err: TextIO,
    env: Mapping[str, str],
    screen: TextIO | None = None,
) -> int:
    """``screen``: where the width of the terminal is found out, if there is one."""
    with pytest.MonkeyPatch.context() as patch, _as_found():
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["netlab", *words])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr("click.core._detect_program_name", lambda: "netlab")
        if screen is not None:
            patch.setattr(sys, "__stdout__", screen)
        for name in ("COLUMNS", "NO_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in env.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


def netlab(folder: Path, *words: str, **env: str) -> Ended:
    """``netlab words…`` in a folder, without a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = _main(folder, words, out, err, {"TERM": "xterm"} | env)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, *texts)


def netlab_on_terminal(folder: Path, columns: int, *words: str, **env: str) -> tuple[int, bytes]:
    """The same on a terminal: exit code and what it wrote there, both streams."""
    with terminal(columns) as screen:
        with (
            os.fdopen(os.dup(screen.end), "w", encoding="utf-8") as stream,
            os.fdopen(os.dup(screen.end), "w", encoding="utf-8") as original,
        ):
            code = _main(folder, words, stream, stream, {"TERM": "xterm"} | env, original)
        return code, screen.written()


def netlab_with_screen(folder: Path, columns: int, *words: str, **env: str) -> tuple[Ended, bytes]:
    """The same with standard error alone on the terminal; ``stderr`` is empty."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with terminal(columns) as screen:
        with (
            os.fdopen(os.dup(screen.end), "w", encoding="utf-8") as stream,
            os.fdopen(os.dup(screen.end), "w", encoding="utf-8") as original,
        ):
            code = _main(folder, words, out, stream, {"TERM": "xterm"} | env, original)
        text = out.buffer.getvalue().decode()
        return Ended(code, text, ""), screen.written()
