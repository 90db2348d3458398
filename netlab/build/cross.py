"""Builds the probe for another system, once for each state of the sources and the compiler."""

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
"""The second compiler, for Windows on x86_64 where zig is not installed."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """What builds the probe for a target."""

    name: str
    """With its version: another one gives other bytes."""
    words: tuple[str, ...]
    """For make, beside the target."""


@dataclass(frozen=True, slots=True)
class Built:
    """A program that lies ready: a probe, or the platform contract's test."""

    target: Target
    path: Path
    compiler: str
    seconds: float | None
    """What building took; None where it was there already."""
    said: str = ""
    """What make and the compiler said beside; empty where nothing was built."""


def cache_folder() -> Path:
    """Where netlab keeps what can be made again, for this user."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of these folders: one that is not absolute is to be ignored.
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "netlab"


def compilers_for(target: Target) -> tuple[Compiler, ...]:
    """Those on this machine that can, the one that a release is built with first."""
    found = []
    with contextlib.suppress(PackageNotFoundError):
        found.append(Compiler(f"zig {version_of('ziglang')}", (f"PYTHON={sys.executable}",)))
    if target.name == "windows-x86_64" and shutil.which(MINGW) is not None:
        asked = [MINGW, "-dumpfullversion"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        # Without the linker's time stamp, so that the same source gives the same bytes.
        words = (f"CROSS_CC={MINGW}", "CROSS_LDFLAGS=-s -Wl,--no-insert-timestamp")
        found.append(Compiler(f"mingw-w64 gcc {said}", words))
    return tuple(found)


def compiler_for(target: Target) -> Compiler:
    """The first of them; UsageError says what to install where there is none."""
    found = compilers_for(target)
    if found:
        return found[0]
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
    """The probe for a target, as a release carries it, from its sources.

    Kept below ``sources.into/TARGET`` under what the sources and the compiler are: it is found
    again when a branch is changed back. Errors as those of ``compile.run_make``.
    """
    compiler = compiler or compiler_for(target)
    kept = _kept(sources, target, compiler, target.file_name)
    if kept.is_file():
        return Built(target, kept, compiler.name, None)
    if on_event is not None:
        on_event(
            f"building the probe for {target} with {compiler.name} "
            "(the first one for a system may take some minutes)"
        )
    seconds, said = _make(sources, target, compiler, "all", kept)
    if on_event is not None:
        on_event(f"built the probe for {target} in {seconds:.0f} s")
    return Built(target, kept, compiler.name, seconds, said)


def build_contract(sources: Sources, target: Target, compiler: Compiler | None = None) -> Built:
    """The platform contract's test for a target, kept beside the probe that it speaks of."""
    compiler = compiler or compiler_for(target)
    name = target.file_name.replace("netprobe", "contract")
    kept = _kept(
        sources, target, compiler, name, sorted((sources.folder / "tests").rglob("*.[ch]"))
    )
    if kept.is_file():
        return Built(target, kept, compiler.name, None)
    seconds, said = _make(sources, target, compiler, "contract", kept)
    return Built(target, kept, compiler.name, seconds, said)


def _make(
    sources: Sources, target: Target, compiler: Compiler, goal: str, kept: Path
) -> tuple[float, str]:
    """Make a goal's program; the seconds, and what was said."""
    began = time.monotonic()
    # What is built later from the same sources finds the objects. Make writes each file aside and
    # moves it, as is done here: neither another build nor an end in the middle leaves half of one.
    objects = _kept(sources, target, compiler, "made")
    words = [f"cross-{target.name}", *compiler.words, f"PROGRAMS={goal}"]
    said = run_make(sources.folder, objects, [*words, f"-j{os.cpu_count() or 1}"])
    made = objects / "cross" / target.name / kept.name
    if not made.is_file():
        raise NetlabError(f"building the probe for {target} left no {made}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="making-") as aside:
        Path(shutil.copy2(made, aside)).replace(kept)
    return time.monotonic() - began, said


def _kept(
    sources: Sources, target: Target, compiler: Compiler, name: str, more: Sequence[Path] = ()
) -> Path:
    """Where a program lies: under a hash of all that its bytes depend on."""
    seen = hashlib.sha256(compiler.name.encode())
    for path in (*sources_of(sources.folder), *more):
        data = path.read_bytes()
        seen.update(f"\0{path.name} {len(data)}\0".encode())
        seen.update(data)
    return sources.into / target.name / seen.hexdigest()[:16] / name
