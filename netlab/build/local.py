"""The probe's binary for a machine: as a released wheel carries it, else built from its sources."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from netlab.build import cross
from netlab.build.make import Sources, run_make, sources_of
from netlab.build.targets import TARGETS, Target, local_target, target_of
from netlab.errors import NetlabError, UsageError
from netlab.experiment.hosts import local_os

PACKAGE = Path(__file__).resolve().parent.parent
"""netlab's own folder."""

CHECKOUT = PACKAGE.parent / "probes"
"""The probe's sources beside netlab's own folder."""

PACKAGED = PACKAGE / "probes"
"""What an installed netlab carries, and a checkout does not: ``TARGET/netprobe`` where it is a
released wheel, and the sources in ``source``."""

_building = threading.Lock()

OnEvent = Callable[[str], None] | None


def probe_for(os: str, architecture: str, on_event: OnEvent = None) -> Path:
    """The path of a netprobe for a system (a letter, as in the inventory) and its processor.

    The local one is ``local_probe``. Another is the one that a released wheel carries, or it is
    built from the sources when it is first needed, and found again as long as they stay as they
    are. UsageError says what to install where no compiler is there, and that there is no such
    probe where none is made.
    """
    _refuse_windows()
    target = target_of(os, architecture)
    if target == local_target():
        return local_probe(on_event)
    if target not in TARGETS:
        known = ", ".join(str(each) for each in TARGETS)
        raise UsageError(f"there is no probe for {target}, only for {known}")
    with _building:
        return _packaged(target) or cross.build(sources(), target, on_event).path


def local_probe(on_event: OnEvent = None) -> Path:
    """The path of a netprobe that is as new as its sources; UsageError names what is missing."""
    _refuse_windows()
    with _building:
        carried = _packaged(local_target())
        return _built(sources(), on_event) if carried is None else _startable(carried)


def _refuse_windows() -> None:
    """Whoever measures needs a probe; nothing of that is tried from Windows."""
    if local_os() == "W":
        raise UsageError(
            "netlab measures from Linux, Windows hosts as well; on Windows itself it reads runs: "
            "status, report, export, compare, check, plan --offline"
        )


def sources() -> Sources:
    """The probe's sources: those of a checkout, which are built there; else those that were
    installed, which are built in the user's cache. UsageError where there are none.
    """
    if (CHECKOUT / "Makefile").is_file():  # something else may be called ``probes``
        return Sources.of_checkout(CHECKOUT)
    installed = PACKAGED / "source"
    if (installed / "Makefile").is_file():
        digest = hashlib.sha256()
        for path in sources_of(installed):
            digest.update(path.read_bytes())
        return Sources(installed, cross.cache_folder() / "probes" / digest.hexdigest()[:16])
    raise UsageError(
        f"no sources of the probe in {CHECKOUT} or {installed}, and no probe in {PACKAGED}: "
        "install netlab again, or run it from its checkout"
    )


def _packaged(target: Target) -> Path | None:
    path = PACKAGED / target.name / target.file_name
    return path if path.is_file() else None


def _startable(path: Path) -> Path:
    """The same file, or a copy in the cache where the installer lost the right to start it."""
    if os.access(path, os.X_OK):
        return path
    binary = path.read_bytes()
    copy = cross.cache_folder() / "probes" / hashlib.sha256(binary).hexdigest()[:16] / path.name
    is_there = copy.is_file() and copy.read_bytes() == binary and os.access(copy, os.X_OK)
    _make_private(copy.parent)
    if not is_there:
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as aside:
            aside.write(binary)
        Path(aside.name).chmod(0o700)
        Path(aside.name).replace(copy)
    return copy


def _refuse_of_others(folder: Path) -> None:
    """NetlabError for a folder in which somebody else could exchange what is started from it."""
    seen = folder.lstat()
    own = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid()
    if not own or seen.st_mode & stat.S_IWOTH:
        raise NetlabError(
            f"{folder}: not a folder of this user alone, and no program is started from there; "
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
        raise NetlabError(f"building the probe in {sources.folder} left no {binary}")
    # Make leaves a binary alone whose sources changed in time only: it is current all the same.
    binary.touch()
    return binary


def _make_private(folder: Path) -> None:
    """A folder in the cache, which no other user could have made or can write to."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in (folder, folder.parent, cross.cache_folder()):
        _refuse_of_others(each)


def _is_current(binary: Path, sources: Sources) -> bool:
    try:
        built_at = binary.stat().st_mtime
    except OSError:
        return False
    return all(source.stat().st_mtime <= built_at for source in sources_of(sources.folder))
