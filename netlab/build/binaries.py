"""The probe's binary for a machine, from a released wheel or built; and those of a release."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from netlab.build import compiling
from netlab.build.compiling import (
    TARGETS,
    Built,
    Sources,
    Target,
    local_target,
    run_make,
    sources_of,
    target_of,
)
from netlab.errors import NetlabError, UsageError
from netlab.experiment.hosts import local_os
from netlab.terminal import table_lines

PACKAGE = Path(__file__).resolve().parent.parent
"""netlab's own folder."""

CHECKOUT = PACKAGE.parent / "probes"
"""The probe's sources, next to netlab's folder."""

PACKAGED = PACKAGE / "probes"
"""Files that an installed netlab has and a checkout does not: ``TARGET/netprobe`` in a released
wheel, and the sources in ``source``."""

_building = threading.Lock()

OnEvent = Callable[[str], None] | None


def probe_for(os: str, architecture: str, on_event: OnEvent = None) -> Path:
    """The path of a netprobe for a system (a letter, as in the inventory) and its processor.

    For this machine, it is that of ``local_probe``. For another target, the probe comes from a
    released wheel, or it is built from the sources when it is first needed, and reused while the
    sources do not change. Raises UsageError, which names the package to install if there is no
    compiler, and the known targets if this target is unknown.
    """
    _refuse_windows()
    target = target_of(os, architecture)
    if target == local_target():
        return local_probe(on_event)
    if target not in TARGETS:
        names = ", ".join(str(candidate) for candidate in TARGETS)
        raise UsageError(f"there is no probe for {target}, only for {names}")
    with _building:
        return _packaged(target) or compiling.build(sources(), target, on_event).path


def local_probe(on_event: OnEvent = None) -> Path:
    """The path of a netprobe that is as new as its sources. Raises UsageError, which names what is
    missing.
    """
    _refuse_windows()
    with _building:
        carried = _packaged(local_target())
        return _built(sources(), on_event) if carried is None else _startable(carried)


def _refuse_windows() -> None:
    """Refuse to build a probe on Windows: netlab does not measure from there."""
    if local_os() == "W":
        raise UsageError(
            "netlab measures from Linux; a Windows machine can be one of the hosts, but on Windows "
            "netlab only reads runs: status, report, export, compare, check, plan --offline"
        )


def sources() -> Sources:
    """The probe's sources: the sources of a checkout, which are built there, or else the installed
    sources, which are built in the user's cache. Raises UsageError if there are none.
    """
    if (CHECKOUT / "Makefile").is_file():  # another folder may have the name ``probes``
        return Sources.of_checkout(CHECKOUT)
    installed = PACKAGED / "source"
    if (installed / "Makefile").is_file():
        digest = hashlib.sha256()
        for path in sources_of(installed):
            digest.update(path.read_bytes())
        return Sources(installed, compiling.cache_folder() / "probes" / digest.hexdigest()[:16])
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
    copy = compiling.cache_folder() / "probes" / hashlib.sha256(binary).hexdigest()[:16] / path.name
    is_there = copy.is_file() and copy.read_bytes() == binary and os.access(copy, os.X_OK)
    _make_private(copy.parent)
    if not is_there:
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as aside:
            aside.write(binary)
        Path(aside.name).chmod(0o700)
        Path(aside.name).replace(copy)
    return copy


def _refuse_of_others(folder: Path) -> None:
    """Raise NetlabError for a folder in which somebody else could replace the programs."""
    info = folder.lstat()
    own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
    if not own or info.st_mode & stat.S_IWOTH:
        raise NetlabError(
            f"{folder}: other users may write to it, so no program is started from there; "
            "remove it, or name another cache with XDG_CACHE_HOME"
        )


def _built(sources: Sources, on_event: OnEvent) -> Path:
    binary = sources.into / "netprobe"
    if sources.folder != CHECKOUT:
        _make_private(sources.into)
    if _is_current(binary, sources):
        return binary
    if on_event is not None:
        on_event("building the probe for this machine")
    run_make(sources.folder, sources.into)
    if not binary.is_file():
        raise NetlabError(f"building the probe in {sources.folder} did not make {binary}")
    # If only time stamps of sources changed, make may not rebuild the binary. It is up to date.
    binary.touch()
    return binary


def _make_private(folder: Path) -> None:
    """Make a folder in the cache; refuse one that another user made or can write to."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for level in (folder, folder.parent, compiling.cache_folder()):
        _refuse_of_others(level)


def _is_current(binary: Path, sources: Sources) -> bool:
    try:
        built_at = binary.stat().st_mtime
    except OSError:
        return False
    return all(source.stat().st_mtime <= built_at for source in sources_of(sources.folder))


HEAD = ("target", "compiler", "bytes", "seconds", "sha256")


def targets_named(names: Sequence[str]) -> tuple[Target, ...]:
    """Targets by their names, such as ``windows-x86_64``; UsageError for an unknown name."""
    by_name = {target.name: target for target in TARGETS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"{name!r} is not a target; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in names)


def build_all(
    targets: Sequence[Target], into: Path | None, on_event: Callable[[str], None] | None = None
) -> tuple[Built, ...]:
    """Build each target's probe, one after the other, and copy it to ``into/TARGET``.

    The probe for this machine is built like the others: static, so that it runs on every machine of
    the same kind, and with the same bytes wherever it is built. Raises UsageError if sources
    or a compiler are missing.
    """
    built_from = sources()
    for target in targets:
        compiling.compiler_for(target)  # report a missing compiler before minutes of building
    probes = []
    for target in targets:
        probe = compiling.build(built_from, target, on_event)
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
    rows = [HEAD]
    for probe in probes:
        binary = probe.path.read_bytes()
        seconds = "" if probe.seconds is None else f"{probe.seconds:.1f}"
        digest = hashlib.sha256(binary).hexdigest()
        rows.append((probe.target.name, probe.compiler, str(len(binary)), seconds, digest))
    return "\n".join(table_lines(rows, width))
