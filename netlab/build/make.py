"""Runs make on the probe's sources, and explains the errors of make.

The probe is netprobe, the C program that measures on a host.
"""

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
"""Message of gcc and clang about a missing header of the C library."""
BUILD_S = 900.0
"""Time limit of a build. zig first compiles a C library, which takes up to a minute, and several
minutes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The probe's sources, and the folder for what is built from them."""

    folder: Path
    """Folder with the Makefile; nothing is written there."""
    into: Path
    """Folder for what is built; may not exist yet."""

    @classmethod
    def of_checkout(cls, folder: Path) -> Sources:
        """The sources of a checkout, which are built in their ``build`` folder."""
        return cls(folder, folder / "build")


def sources_of(folder: Path) -> Iterator[Path]:
    """Every file that the bytes of a probe depend on, always in the same order."""
    yield from sorted((folder / "src").rglob("*.[ch]"))
    yield folder / "Makefile"
    yield from sorted(folder.glob("*.mk"))
    # The probe reports netlab's version in its first message (``hello``).
    yield Path(version.__file__)


def run_make(folder: Path, into: Path, words: Sequence[str] = ()) -> str:
    """Run ``make WORDS`` in ``folder`` with the output in ``into``; return the messages of make and
    the compiler, such as warnings.

    Raises UsageError, which names a missing program and how to install it, or NetlabError with the
    compiler's errors.
    """
    if shutil.which("make") is None:
        raise UsageError(
            "the probe is built with make, which is missing: "
            "sudo apt-get install make (Fedora: sudo dnf install make)"
        )
    # The Makefile finds version.py only in a checkout.
    variables = [f"VERSION={version.VERSION}"]
    if into != Sources.of_checkout(folder).into:  # make's own default is relative
        variables.append(f"BUILD={into}")
    try:
        process = subprocess.run(
            ["make", "--no-print-directory", "-C", str(folder), *variables, *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetlabError(f"building the probe in {folder} failed: {error}") from None
    if process.returncode == 0:
        return process.stderr
    lines = [line for line in process.stderr.splitlines() if line.strip()]
    compiler_line = next((line for line in lines if "needs a C compiler" in line), None)
    if compiler_line is not None:
        raise UsageError(
            compiler_line.partition("*** ")[2].removesuffix(".  Stop.") or compiler_line
        )
    if any(_NO_LIBC.search(line) for line in lines):
        raise UsageError(
            "the C compiler is there, but the headers of the C library are missing: "
            "sudo apt-get install libc6-dev (Fedora: sudo dnf install glibc-devel glibc-static)"
        )
    output = "\n".join(lines[:20]) or f"make ended with {process.returncode}"
    raise NetlabError(f"building the probe in {folder} failed:\n{output}")
