"""The probes of a release: builds them, lists them, and copies them for a wheel.

A probe is netprobe, the C program that measures on a host, as a binary for one system.
"""

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
    sources = local.sources()
    for target in targets:
        cross.compiler_for(target)  # report a missing compiler before minutes of building
    probes = []
    for target in targets:
        probe = cross.build(sources, target, on_event)
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
