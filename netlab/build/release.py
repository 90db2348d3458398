"""The probes of a release: built for the systems named, listed, laid where a wheel is made."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from netlab.build import cross, local
from netlab.build.cross import Built
from netlab.build.targets import TARGETS, Target
from netlab.errors import UsageError
from netlab.terminal import table_lines

HEAD = ("target", "compiler", "bytes", "seconds", "sha256")


def targets_named(names: Sequence[str]) -> tuple[Target, ...]:
    """Targets by their names, such as ``windows-x86_64``; UsageError lists them for another."""
    known = {target.name: target for target in TARGETS}
    for name in names:
        if name not in known:
            raise UsageError(f"{name!r} is no target; there are {', '.join(known)}")
    return tuple(known[name] for name in names)


def build_all(
    targets: Sequence[Target], into: Path | None, on_event: Callable[[str], None] | None = None
) -> tuple[Built, ...]:
    """Each target's probe, one after the other, and a copy of it in ``into/TARGET``.

    This machine's is built like all the others, for every machine of its kind: static, and the
    same bytes wherever it is built. UsageError without sources, and where a compiler is missing.
    """
    sources = local.sources()
    for target in targets:
        cross.compiler_for(target)  # what is missing is said before minutes of building
    made = []
    for target in targets:
        probe = cross.build(sources, target, on_event)
        if into is not None:
            copied(probe.path, into / target.name / target.file_name)
        made.append(probe)
    return tuple(made)


def copied(probe: Path, place: Path) -> Path:
    """A copy that everybody may run; its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(probe, place)
    place.chmod(0o755)
    return place


def as_table(made: Sequence[Built], width: int | None = None) -> str:
    """A line a probe, no wider than ``width``. Seconds are blank where it was there already."""
    rows = [HEAD]
    for probe in made:
        binary = probe.path.read_bytes()
        seconds = "" if probe.seconds is None else f"{probe.seconds:.1f}"
        digest = hashlib.sha256(binary).hexdigest()
        rows.append((probe.target.name, probe.compiler, str(len(binary)), seconds, digest))
    return "\n".join(table_lines(rows, width))
