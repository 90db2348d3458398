"""The probe's binary for a machine: from the checkout's sources, else as it was installed."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from netlab.build import cross
from netlab.build.make import run_make, sources_of
from netlab.build.targets import TARGETS, Target, local_target, target_of
from netlab.errors import NetlabError, UsageError

PACKAGE = Path(__file__).resolve().parent.parent
"""netlab's own folder."""

SOURCES = PACKAGE.parent / "probes"
"""Of a checkout; an installed netlab has none."""

PACKAGED = PACKAGE / "probes"
"""What a released wheel carries: ``TARGET/netprobe``; a checkout has none."""

_building = threading.Lock()

OnEvent = Callable[[str], None] | None


def probe_for(os: str, architecture: str, on_event: OnEvent = None) -> Path:
    """The path of a netprobe for a system (a letter, as in the inventory) and its processor.

    The local one is ``local_probe``. Another is built from a checkout's sources when it is first
    needed, and found again as long as they stay as they are. UsageError says what to install
    where no compiler is there, and that there is no such probe where none is made.
    """
    target = target_of(os, architecture)
    if target == local_target():
        return local_probe(on_event)
    if target not in TARGETS:
        known = ", ".join(str(each) for each in TARGETS)
        raise UsageError(f"there is no probe for {target}, only for {known}")
    with _building:
        if has_sources():
            return cross.build(SOURCES, target, on_event).path
        return _packaged(target)


def local_probe(on_event: OnEvent = None) -> Path:
    """The path of a netprobe that is as new as its sources; UsageError names what is missing."""
    with _building:
        return _built(on_event) if has_sources() else _startable(_packaged(local_target()))


def has_sources() -> bool:
    """Whether this netlab runs from its checkout; something else may be called ``probes``."""
    return (SOURCES / "Makefile").is_file()


def _packaged(target: Target) -> Path:
    path = PACKAGED / target.name / target.file_name
    if not path.is_file():
        raise UsageError(
            f"no sources of the probe in {SOURCES}, and none for {target} in {PACKAGED}: "
            "install a released wheel, or run netlab from its checkout"
        )
    return path


def _startable(path: Path) -> Path:
    """The same file, or a copy in the cache where the installer lost the right to start it."""
    if os.access(path, os.X_OK):
        return path
    binary = path.read_bytes()
    copy = cross.cache_folder() / "probes" / hashlib.sha256(binary).hexdigest()[:16] / path.name
    is_there = copy.is_file() and copy.read_bytes() == binary and os.access(copy, os.X_OK)
    if not is_there:
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for folder in (copy.parent, copy.parent.parent, cross.cache_folder()):
        _refuse_of_others(folder)
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


def _built(on_event: OnEvent) -> Path:
    binary = SOURCES / "build" / "netprobe"
    if _is_current(binary):
        return binary
    if on_event is not None:
        on_event("building the probe for this machine")
    run_make(SOURCES)
    if not binary.is_file():
        raise NetlabError(f"building the probe in {SOURCES} left no {binary}")
    # Make leaves a binary alone whose sources changed in time only: it is current all the same.
    binary.touch()
    return binary


def _is_current(binary: Path) -> bool:
    try:
        built_at = binary.stat().st_mtime
    except OSError:
        return False
    return all(source.stat().st_mtime <= built_at for source in sources_of(SOURCES))
