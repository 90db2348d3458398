"""The probe's binary for this machine or another target: from a released wheel, or built.

For another system, the probe is built once per state of the sources and the compiler.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from netlab import version
from netlab.errors import NetlabError, UsageError
from netlab.experiment.hosts import OS_NAMES, OS_OF_PROBE, local_os
from netlab.terminal import table_lines

_NO_LIBC = re.compile(
    r"(fatal error|error): '?<?(stdio|stdint|stdlib|string|errno|sys/types|features|stddef)\.h>?'?"
    r"( file)?:? (No such file|not found)"
)
BUILD_S = 900.0
"""Time limit of a build. zig first compiles a C library, which takes up to a minute, and several
minutes on a busy machine."""


OnEvent = Callable[[str], None] | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The probe's sources, and the folder for what is built from them."""

    folder: Path  # folder with the Makefile; nothing is written there
    into: Path  # folder for what is built; may not exist yet

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
    """Run ``make WORDS`` in ``folder`` with the output in ``into``; return its messages. Raises
    UsageError for a missing program, or NetlabError with the compiler's errors.
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
    for line in lines:
        if "needs a C compiler" in line:
            raise UsageError(line.partition("*** ")[2].removesuffix(".  Stop.") or line)
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

    os: str  # a letter, as in the inventory
    architecture: str  # as the probe's ``hello`` names it: ``x86_64`` or ``aarch64``

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


TARGETS = (
    *(Target(os, architecture) for os in "LWM" for architecture in ("x86_64", "aarch64")),
    Target("F", "x86_64"),
)
"""All targets of a release, in the order of probes/targets.mk."""


MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other names of architectures → netlab's names."""


def machine(name: str) -> str:
    """The name of an architecture as the probe states it in its first message (``hello``)."""
    return MACHINES.get(name.lower(), name.lower())


def target_of(os: str, architecture: str) -> Target:
    """A target from an inventory's letter and the system's name of its processor."""
    return Target(os, machine(architecture))


def local_target() -> Target:
    """The target of this machine."""
    return target_of(local_os(), platform.machine())


MINGW = "x86_64-w64-mingw32-gcc"
"""The alternative compiler for Windows on x86_64 if zig is not installed."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that builds the probe for a target."""

    name: str  # with the version: another version gives other bytes
    words: tuple[str, ...]  # arguments for make, besides the target


@dataclass(frozen=True, slots=True)
class Built:
    """A built program: a probe, or the test of the platform contract (what the probe's files for
    each system must provide: probes/src/platform/plat.h)."""

    target: Target
    path: Path
    compiler: str
    seconds: float | None  # None if the program existed already
    said: str = ""  # messages of make and the compiler


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
    for compiler in compilers_for(target):
        return compiler
    raise UsageError(
        f"the probe for {target} is built with zig, which is not installed here: "
        "pip install 'netlab-matrix[cross]'"
    )


def build(
    sources: Sources,
    target: Target,
    on_event: OnEvent = None,
    compiler: Compiler | None = None,
) -> Built:
    """The probe for a target, as in a release, kept in ``sources.into/TARGET`` under a hash of the
    sources and the compiler. Errors as in ``run_make``.
    """
    compiler = compiler or compiler_for(target)
    place = _cache_path(sources, target, compiler, target.file_name)
    if on_event is not None and not place.is_file():
        on_event(
            f"building the probe for {target} with {compiler.name} "
            "(the first build for a system may take some minutes)"
        )
    built = _make(sources, target, compiler, "all", place)
    if on_event is not None and built.seconds is not None:
        on_event(f"built the probe for {target} in {built.seconds:.0f} s")
    return built


def build_contract(sources: Sources, target: Target, compiler: Compiler | None = None) -> Built:
    """The test of the platform contract for a target, kept next to the probe."""
    compiler = compiler or compiler_for(target)
    name = target.file_name.replace("netprobe", "contract")
    tests = sorted((sources.folder / "tests").rglob("*.[ch]"))
    place = _cache_path(sources, target, compiler, name, tests)
    return _make(sources, target, compiler, "contract", place)


def _make(sources: Sources, target: Target, compiler: Compiler, goal: str, place: Path) -> Built:
    """Build the program of a goal of make, unless it is there."""
    if place.is_file():
        return Built(target, place, compiler.name, None)
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
    return Built(target, place, compiler.name, time.monotonic() - start_s, messages)


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


PACKAGE = Path(__file__).resolve().parent.parent

CHECKOUT = PACKAGE.parent / "probes"
"""The probe's sources, next to netlab's folder."""

PACKAGED = PACKAGE / "probes"
"""Files that an installed netlab has and a checkout does not: ``TARGET/netprobe`` in a released
wheel, and the sources in ``source``."""

_building = threading.Lock()


def probe_for(os: str, architecture: str, on_event: OnEvent = None) -> Path:
    """The netprobe for a system (a letter, as in the inventory) and its processor: for this machine
    that of ``local_probe``, else a released one, or one built from the sources when first needed.
    Raises UsageError for an unknown target, and without a compiler.
    """
    _refuse_windows()
    target = target_of(os, architecture)
    if target == local_target():
        return local_probe(on_event)
    if target not in TARGETS:
        names = ", ".join(str(candidate) for candidate in TARGETS)
        raise UsageError(f"there is no probe for {target}, only for {names}")
    with _building:
        return _packaged(target) or build(sources(), target, on_event).path


def local_probe(on_event: OnEvent = None) -> Path:
    """The path of a netprobe that is as new as its sources; UsageError names what is missing."""
    _refuse_windows()
    with _building:
        carried = _packaged(local_target())
        if carried is not None:
            return _startable(carried)
        built_from = sources()
        binary = built_from.into / "netprobe"
        if built_from.folder != CHECKOUT:
            _make_private(built_from.into)
        if binary.is_file():
            built_at = binary.stat().st_mtime
            files = sources_of(built_from.folder)
            if all(source.stat().st_mtime <= built_at for source in files):
                return binary
        if on_event is not None:
            on_event("building the probe for this machine")
        run_make(built_from.folder, built_from.into)
        if not binary.is_file():
            raise NetlabError(f"building the probe in {built_from.folder} did not make {binary}")
        # If only time stamps of sources changed, make may not rebuild the binary: it is up to date.
        binary.touch()
        return binary


def _refuse_windows() -> None:
    if local_os() == "W":
        raise UsageError(
            "netlab measures from Linux; a Windows machine can be one of the hosts, but on Windows "
            "netlab only reads runs: status, report, export, compare, check, plan --offline"
        )


def sources() -> Sources:
    """The sources of a checkout, which are built there, or else the installed sources, which are
    built in the user's cache. Raises UsageError if there are none.
    """
    if (CHECKOUT / "Makefile").is_file():  # another folder may have the name ``probes``
        return Sources.of_checkout(CHECKOUT)
    installed = PACKAGED / "source"
    if (installed / "Makefile").is_file():
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources_of(installed)))
        return Sources(installed, cache_folder() / "probes" / digest.hexdigest()[:16])
    raise UsageError(
        f"no sources of the probe in {CHECKOUT} or {installed}, and no probe in {PACKAGED}: "
        "install netlab again, or run it from its checkout"
    )


def _packaged(target: Target) -> Path | None:
    path = PACKAGED / target.name / target.file_name
    return path if path.is_file() else None


def _startable(path: Path) -> Path:
    """The same file, or a copy in the cache if the installer dropped the execute permission."""
    if os.access(path, os.X_OK):
        return path
    binary = path.read_bytes()
    copy = cache_folder() / "probes" / hashlib.sha256(binary).hexdigest()[:16] / path.name
    is_there = copy.is_file() and copy.read_bytes() == binary and os.access(copy, os.X_OK)
    _make_private(copy.parent)
    if not is_there:
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as aside:
            aside.write(binary)
        Path(aside.name).chmod(0o700)
        Path(aside.name).replace(copy)
    return copy


def _make_private(folder: Path) -> None:
    """Make a folder in the cache; refuse one that another user made or can write to."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for level in (folder, folder.parent, cache_folder()):
        info = level.lstat()
        own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
        if not own or info.st_mode & stat.S_IWOTH:
            raise NetlabError(
                f"{level}: other users may write to it, so no program is started from there; "
                "remove it, or name another cache with XDG_CACHE_HOME"
            )


def targets_named(names: Sequence[str]) -> tuple[Target, ...]:
    """Targets by their names, such as ``windows-x86_64``; UsageError for an unknown name."""
    by_name = {target.name: target for target in TARGETS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"{name!r} is not a target; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in names)


def build_all(
    targets: Sequence[Target], into: Path | None, on_event: OnEvent = None
) -> tuple[Built, ...]:
    """Build each target's probe, static and with the same bytes wherever it is built, and copy it
    to ``into/TARGET``. Raises UsageError if sources or a compiler are missing.
    """
    built_from = sources()
    for target in targets:
        compiler_for(target)  # report a missing compiler before minutes of building
    probes = []
    for target in targets:
        probe = build(built_from, target, on_event)
        if into is not None:
            copied(probe.path, into / target.name / target.file_name)
        probes.append(probe)
    return tuple(probes)


def copied(probe: Path, place: Path) -> Path:
    """Copy a probe so that everybody may run it; return its path."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(probe, place)
    place.chmod(0o755)
    return place


def as_table(probes: Sequence[Built], width: int | None = None) -> str:
    """A line per probe, no wider than ``width``. Seconds are blank if the probe existed already."""
    rows = [("target", "compiler", "bytes", "seconds", "sha256")]
    for probe in probes:
        binary = probe.path.read_bytes()
        seconds = "" if probe.seconds is None else f"{probe.seconds:.1f}"
        digest = hashlib.sha256(binary).hexdigest()
        rows.append((probe.target.name, probe.compiler, str(len(binary)), seconds, digest))
    return "\n".join(table_lines(rows, width))
