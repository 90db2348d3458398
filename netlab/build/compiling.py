"""The probe's targets, and how make and a compiler build it for them.

The probe is netprobe, the C program that measures on a host. For another system it is built once
per state of the sources and the compiler.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from netlab import version
from netlab.errors import NetlabError, UsageError
from netlab.experiment.hosts import OS_NAMES, OS_OF_PROBE, local_os

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


@dataclass(frozen=True, slots=True)
class Target:
    """A system and processor that a binary runs on."""

    os: str
    """A letter, as in the inventory."""
    architecture: str
    """As the probe's ``hello`` names it: ``x86_64`` or ``aarch64``."""

    @property
    def system(self) -> str:
        """The probe's word for the system: ``linux``, ``windows``, ``macos`` or ``freebsd``."""
        return next(name for name, letter in OS_OF_PROBE.items() if letter == self.os)

    @property
    def name(self) -> str:
        """System and processor, such as ``windows-x86_64``."""
        return f"{self.system}-{self.architecture}"

    @property
    def file_name(self) -> str:
        """Name of a probe's file on this system."""
        return "netprobe.exe" if self.os == "W" else "netprobe"

    def __str__(self) -> str:
        return f"{OS_NAMES[self.os]} on {self.architecture}"


TARGETS = tuple(
    Target(os, architecture)
    for os, architecture in [
        ("L", "x86_64"),
        ("L", "aarch64"),
        ("W", "x86_64"),
        ("W", "aarch64"),
        ("M", "x86_64"),
        ("M", "aarch64"),
        ("F", "x86_64"),
    ]
)
"""All targets of a release, in the order of probes/targets.mk."""


def target_of(os: str, architecture: str) -> Target:
    """A target from an inventory's letter and the system's name of its processor."""
    return Target(os, machine(architecture))


def local_target() -> Target:
    """The target of this machine."""
    return target_of(local_os(), platform.machine())


MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other names of architectures → netlab's names."""


def machine(name: str) -> str:
    """The name of an architecture as the probe states it in its first message (``hello``)."""
    return MACHINES.get(name.lower(), name.lower())


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
