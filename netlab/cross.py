"""Builds the probe for another system, once for each state of the sources and the compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from netlab.compile import run_make, sources_of
from netlab.errors import NetlabError, UsageError
from netlab.targets import Target

MINGW = "x86_64-w64-mingw32-gcc"
"""The second compiler, for Windows on x86_64 where zig is not installed."""

# Without the linker's time stamp, so that the same source gives the same bytes.
MINGW_WORDS = ("TARGET_OS=windows", "CFLAGS=-O2", "LDFLAGS=-s -Wl,--no-insert-timestamp")


@dataclass(frozen=True, slots=True)
class Compiler:
    """What builds the probe for a target."""

    name: str
    """With its version: another one gives other bytes."""
    words: tuple[str, ...]
    """For make."""
    built: str
    """Where make leaves the binary, below its ``BUILD``."""


@dataclass(frozen=True, slots=True)
class Built:
    """A probe that lies ready."""

    target: Target
    path: Path
    compiler: str
    seconds: float | None
    """What building took; None where it was there already."""


def cache_folder() -> Path:
    """Where netlab keeps what can be made again, for this user."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of these folders: one that is not absolute is to be ignored.
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "netlab"


def compiler_for(target: Target) -> Compiler:
    """What there is on this machine; UsageError says what to install where there is nothing."""
    try:
        zig = version_of("ziglang")
    except PackageNotFoundError:
        zig = None
    if zig is not None:
        by_zig = (f"PYTHON={sys.executable}", f"cross-{target.name}")
        return Compiler(f"zig {zig}", by_zig, f"cross/{target.name}/{target.file_name}")
    if target.name == "windows-x86_64" and shutil.which(MINGW) is not None:
        asked = [MINGW, "-dumpfullversion"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        words = (f"CC={MINGW}", f"OUT=$(BUILD)/{target.file_name}", *MINGW_WORDS)
        return Compiler(f"mingw-w64 gcc {said}", words, target.file_name)
    raise UsageError(
        f"the probe for {target} is built with zig, which is not installed here: "
        "pip install 'netlab-matrix[cross]'"
    )


def build(sources: Path, target: Target, on_event: Callable[[str], None] | None = None) -> Built:
    """The probe for a target, as a release carries it, from the sources in a checkout.

    Kept below ``sources/build/TARGET`` under what the sources and the compiler are: it is found
    again when a branch is changed back. Errors as those of ``compile.run_make``.
    """
    compiler = compiler_for(target)
    kept = sources / "build" / target.name / _identity(sources, compiler) / target.file_name
    if kept.is_file():
        return Built(target, kept, compiler.name, None)
    if on_event is not None:
        on_event(
            f"building the probe for {target} with {compiler.name} "
            "(the first one for a system may take some minutes)"
        )
    began = time.monotonic()
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Built in a folder of its own and moved: neither another build nor an end in the middle
    # leaves half a probe, and no object of another compiler's version gets in.
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="making-") as aside:
        run_make(sources, [*compiler.words, f"BUILD={aside}", f"-j{os.cpu_count() or 1}"])
        made = Path(aside) / compiler.built
        if not made.is_file():
            raise NetlabError(f"building the probe for {target} left no {made}")
        made.replace(kept)
    seconds = time.monotonic() - began
    if on_event is not None:
        on_event(f"built the probe for {target} in {seconds:.0f} s")
    return Built(target, kept, compiler.name, seconds)


def _identity(sources: Path, compiler: Compiler) -> str:
    """What the bytes depend on."""
    seen = hashlib.sha256(compiler.name.encode())
    for path in sources_of(sources):
        data = path.read_bytes()
        seen.update(f"\0{path.name} {len(data)}\0".encode())
        seen.update(data)
    return seen.hexdigest()[:16]
