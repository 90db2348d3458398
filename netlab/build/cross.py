"""Builds the probe for another system, once per state of the sources and the compiler.

The probe is netprobe, the C program that measures on a host.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from netlab.build.make import Sources, run_make, sources_of
from netlab.build.targets import Target
from netlab.errors import NetlabError, UsageError

MINGW = "x86_64-w64-mingw32-gcc"
"""The alternative compiler for Windows on x86_64 if zig is not installed."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that builds the probe for a target."""

    name: str
    """Name and version of the compiler: another version gives other bytes."""
    words: tuple[str, ...]
    """Arguments for make, besides the target."""


@dataclass(frozen=True, slots=True)
class Built:
    """A built program: a probe, or the test of the platform contract (what the probe's files for
    each system must provide: probes/src/platform/plat.h)."""

    target: Target
    path: Path
    compiler: str
    seconds: float | None
    """Duration of the build; None if the program existed already."""
    said: str = ""
    """Messages of make and the compiler; empty if nothing was built."""


def cache_folder() -> Path:
    """netlab's cache folder of this user."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a path that is not absolute must be ignored.
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "netlab"


def compilers_for(target: Target) -> tuple[Compiler, ...]:
    """The compilers on this machine for a target; the one used for releases comes first."""
    compilers = []
    with contextlib.suppress(PackageNotFoundError):
        compilers.append(Compiler(f"zig {version_of('ziglang')}", (f"PYTHON={sys.executable}",)))
    if target.name == "windows-x86_64" and shutil.which(MINGW) is not None:
        argv = [MINGW, "-dumpfullversion"]
        number = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
        # Without the linker's time stamp, so that the same source gives the same bytes.
        words = (f"CROSS_CC={MINGW}", "CROSS_LDFLAGS=-s -Wl,--no-insert-timestamp")
        compilers.append(Compiler(f"mingw-w64 gcc {number}", words))
    return tuple(compilers)


def compiler_for(target: Target) -> Compiler:
    """The preferred compiler. Without one, raises UsageError that names the package to install."""
    compilers = compilers_for(target)
    if compilers:
        return compilers[0]
    raise UsageError(
        f"the probe for {target} is built with zig, which is not installed here: "
        "pip install 'netlab-matrix[cross]'"
    )


def build(
    sources: Sources,
    target: Target,
    on_event: Callable[[str], None] | None = None,
    compiler: Compiler | None = None,
) -> Built:
    """The probe for a target, as in a release, built from its sources.

    The probe is kept in ``sources.into/TARGET`` under a hash of the sources and the compiler. So
    whoever switches back to an earlier branch need not build again. Raises the errors of
    ``make.run_make``.
    """
    compiler = compiler or compiler_for(target)
    place = _cache_path(sources, target, compiler, target.file_name)
    if place.is_file():
        return Built(target, place, compiler.name, None)
    if on_event is not None:
        on_event(
            f"building the probe for {target} with {compiler.name} "
            "(the first build for a system may take some minutes)"
        )
    seconds, messages = _make(sources, target, compiler, "all", place)
    if on_event is not None:
        on_event(f"built the probe for {target} in {seconds:.0f} s")
    return Built(target, place, compiler.name, seconds, messages)


def build_contract(sources: Sources, target: Target, compiler: Compiler | None = None) -> Built:
    """The test of the platform contract for a target, kept next to the probe."""
    compiler = compiler or compiler_for(target)
    name = target.file_name.replace("netprobe", "contract")
    place = _cache_path(
        sources, target, compiler, name, sorted((sources.folder / "tests").rglob("*.[ch]"))
    )
    if place.is_file():
        return Built(target, place, compiler.name, None)
    seconds, messages = _make(sources, target, compiler, "contract", place)
    return Built(target, place, compiler.name, seconds, messages)


def _make(
    sources: Sources, target: Target, compiler: Compiler, goal: str, place: Path
) -> tuple[float, str]:
    """Build the program of a goal of make; return the duration in seconds, and the messages."""
    start_s = time.monotonic()
    # Later builds from the same sources reuse the objects. Each file is written under another name
    # and then moved, so neither a parallel build nor an interruption leaves an incomplete file.
    objects = _cache_path(sources, target, compiler, "made")
    words = [f"cross-{target.name}", *compiler.words, f"PROGRAMS={goal}"]
    messages = run_make(sources.folder, objects, [*words, f"-j{os.cpu_count() or 1}"])
    program = objects / "cross" / target.name / place.name
    if not program.is_file():
        raise NetlabError(f"building the probe for {target} did not make {program}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="making-") as aside:
        Path(shutil.copy2(program, aside)).replace(place)
    return time.monotonic() - start_s, messages


def _cache_path(
    sources: Sources, target: Target, compiler: Compiler, name: str, more: Sequence[Path] = ()
) -> Path:
    """The path of a program, with a hash of everything that the program's bytes depend on."""
    digest = hashlib.sha256(compiler.name.encode())
    for path in (*sources_of(sources.folder), *more):
        data = path.read_bytes()
        digest.update(f"\0{path.name} {len(data)}\0".encode())
        digest.update(data)
    return sources.into / target.name / digest.hexdigest()[:16] / name
