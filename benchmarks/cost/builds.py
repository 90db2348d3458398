"""Builds the probe for every system from scratch, twice, and compares: `make benchmark-builds`.

Each target is built with an empty compiler cache, as on a fresh machine, then again from a copy of
the sources in another folder, with the cache of the first build. The two binaries must be the same
bytes, whatever the name of the folder, and no compiler may warn; the test of the platform contract
is built only to check for warnings. Builds run one at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stage import Verdict, finish, table
from netlab import version as version_room
from netlab.build import binaries
from netlab.build.binaries import CHECKOUT, TARGETS, Compiler, Sources, Target, targets_named

HEAD = ["target", "compiler", "bytes", "fresh s", "again s", "warnings", "same bytes", "sha256"]


@dataclass(frozen=True, slots=True)
class Row:
    """One target with one compiler."""

    target: Target
    compiler: str
    size_bytes: int
    fresh_s: float
    again_s: float
    warnings: int
    same: bool
    digest: str

    def cells(self) -> list[str]:
        return [
            self.target.name,
            self.compiler,
            str(self.size_bytes),
            f"{self.fresh_s:.1f}",
            f"{self.again_s:.1f}",
            str(self.warnings),
            "yes" if self.same else "NO",
            self.digest[:16],
        ]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("targets", nargs="*", metavar="TARGET", help="all where none is named")
    arguments = words.parse_args()
    targets = targets_named(arguments.targets) or TARGETS
    for target in targets:
        binaries.compiler_for(target)  # a missing compiler is reported before minutes of building
    rows = [
        built(target, compiler) for target in targets for compiler in binaries.compilers_for(target)
    ]
    print(table(HEAD, [row.cells() for row in rows]))
    warnings = sum(row.warnings for row in rows)
    same = sum(row.same for row in rows)
    target_names = {target.name for target in targets}
    verdicts = [
        Verdict({row.target.name for row in rows} == target_names, "every target is built",
                f"{len({row.target.name for row in rows})} of {len(target_names)}"),
        Verdict(warnings == 0, "no warning of a compiler or linker", str(warnings)),
        Verdict(same == len(rows), "built twice, the same bytes", f"{same} of {len(rows)}"),
    ]  # fmt: skip
    slowest, largest = max(row.fresh_s for row in rows), max(row.size_bytes for row in rows)
    return finish(
        verdicts,
        f"builds: {len(rows)} with {', '.join(sorted({row.compiler for row in rows}))} on "
        f"{os.cpu_count()} CPUs; from an empty cache {sum(row.fresh_s for row in rows):.0f} s in "
        f"all and {slowest:.0f} s at most, again {sum(row.again_s for row in rows):.0f} s; "
        f"{min(row.size_bytes for row in rows) // 1024} to {largest // 1024} KiB",
    )


def built(target: Target, compiler: Compiler) -> Row:
    """Build the probe twice and the test of the platform contract once, from an empty cache."""
    with tempfile.TemporaryDirectory(prefix="netlab-builds-") as scratch:
        folder = Path(scratch)
        for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
            os.environ[name] = str(folder / "cache" / name.lower())
        first = binaries.build(
            Sources.of_checkout(copied(folder / "first")), target, compiler=compiler
        )
        second_sources = Sources.of_checkout(copied(folder / "a-folder-with-a-longer-name"))
        again = binaries.build(second_sources, target, compiler=compiler)
        tests = binaries.build_contract(second_sources, target, compiler)
        assert first.seconds is not None and again.seconds is not None
        binary = first.path.read_bytes()
        messages = [line for build in (first, again, tests) for line in build.said.splitlines()]
        return Row(
            target,
            compiler.name,
            len(binary),
            first.seconds,
            again.seconds,
            sum("warning" in line.lower() for line in messages),
            binary == again.path.read_bytes() and scratch.encode() not in binary,
            hashlib.sha256(binary).hexdigest(),
        )


def copied(folder: Path) -> Path:
    """Copy the sources of the checkout into ``folder``, without built files."""
    probes = folder / "probes"
    shutil.copytree(CHECKOUT, probes, ignore=shutil.ignore_patterns("build"))
    (folder / "netlab").mkdir()
    shutil.copy(version_room.__file__, folder / "netlab")
    return probes


if __name__ == "__main__":
    sys.exit(main())
