"""Runs make on the probe's sources, and says in words what went wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from netlab import version
from netlab.errors import NetlabError, UsageError

BUILD_S = 900.0
"""A cold zig first compiles a C library: up to a minute, and several on a starved machine."""


def sources_of(folder: Path) -> Iterator[Path]:
    """Every file that the bytes of a probe depend on, always in the same order."""
    yield from sorted((folder / "src").rglob("*.[ch]"))
    yield folder / "Makefile"
    yield from sorted(folder.glob("*.mk"))
    # The probe says the version in its hello.
    yield Path(version.__file__)


def run_make(folder: Path, words: Sequence[str] = ()) -> str:
    """Run ``make WORDS`` in ``folder``; what it and the compiler said beside, such as warnings.

    UsageError names a program that is missing and what installs it; NetlabError shows what the
    compiler said.
    """
    if shutil.which("make") is None:
        raise UsageError(
            "the probe is built with make, and there is none: sudo apt-get install make"
        )
    try:
        done = subprocess.run(
            ["make", "--no-print-directory", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetlabError(f"building the probe in {folder} failed: {error}") from None
    if done.returncode == 0:
        return done.stderr
    said = [line for line in done.stderr.splitlines() if line.strip()]
    missing = next((line for line in said if "needs a C compiler" in line), None)
    if missing is not None:
        raise UsageError(missing.partition("*** ")[2].removesuffix(".  Stop.") or missing)
    what = "\n".join(said[:20]) or f"make ended with {done.returncode}"
    raise NetlabError(f"building the probe in {folder} failed:\n{what}")
