"""Runs make on the probe's sources, and says in words what went wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlab import version
from netlab.errors import NetlabError, UsageError

_NO_LIBC = re.compile(
    r"(fatal error|error): '?<?(stdio|stdint|stdlib|string|errno|sys/types|features|stddef)\.h>?'?"
    r"( file)?:? (No such file|not found)"
)
"""As gcc and clang say it of headers that every C library has."""
BUILD_S = 900.0
"""A cold zig first compiles a C library: up to a minute, and several on a starved machine."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The probe's sources, and where what is built of them is kept."""

    folder: Path
    """With the Makefile in it; nothing is written there."""
    into: Path
    """May not exist yet."""

    @classmethod
    def of_checkout(cls, folder: Path) -> Sources:
        """What is built of a checkout's sources is kept among them."""
        return cls(folder, folder / "build")


def sources_of(folder: Path) -> Iterator[Path]:
    """Every file that the bytes of a probe depend on, always in the same order."""
    yield from sorted((folder / "src").rglob("*.[ch]"))
    yield folder / "Makefile"
    yield from sorted(folder.glob("*.mk"))
    # The probe says the version in its hello.
    yield Path(version.__file__)


def run_make(folder: Path, into: Path, words: Sequence[str] = ()) -> str:
    """Run ``make WORDS`` in ``folder``, which leaves what it makes in ``into``; what it and the
    compiler said beside, such as warnings.

    UsageError names a program that is missing and what installs it; NetlabError shows what the
    compiler said.
    """
    if shutil.which("make") is None:
        raise UsageError(
            "the probe is built with make, and there is none: "
            "sudo apt-get install make (Fedora: sudo dnf install make)"
        )
    # The checkout's version.py is where the Makefile looks for it; an installed one is not.
    given = [f"VERSION={version.VERSION}"]
    if into != Sources.of_checkout(folder).into:  # by hand it is make's own, and not absolute
        given.append(f"BUILD={into}")
    try:
        done = subprocess.run(
            ["make", "--no-print-directory", "-C", str(folder), *given, *words],
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
    if any(_NO_LIBC.search(line) for line in said):
        raise UsageError(
            "the C compiler is there, and the headers of the C library are not: "
            "sudo apt-get install libc6-dev (Fedora: sudo dnf install glibc-devel glibc-static)"
        )
    what = "\n".join(said[:20]) or f"make ended with {done.returncode}"
    raise NetlabError(f"building the probe in {folder} failed:\n{what}")
