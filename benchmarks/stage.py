"""Common code of the benchmarks: a temporary lab, netlab's command, and tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab import lab

ROOT = Path(__file__).resolve().parent.parent
LAB_REPORT = ROOT / "matrices" / "lab-report.yaml"
NETLAB = [sys.executable, "-m", "netlab"]


@contextmanager
def a_lab(rate_bit_per_s: float | None = None, **wish: Any) -> Iterator[lab.LabState]:
    """Make a lab for this benchmark and always remove it at the end. ``wish``: see
    ``LabOptions``.
    """
    options = lab.LabOptions(**{"name": f"bench-{os.getpid()}", "rate": rate_bit_per_s} | wish)
    try:
        yield lab.up(options)
    finally:
        lab.down(options.name, forget=True)


def netlab(
    *words: str, accept: Sequence[int] = (0,), timeout_s: float = 1800
) -> subprocess.CompletedProcess[str]:
    """Run netlab's command to its end. SystemExit with its error text if its exit status is not one
    of ``accept``.
    """
    process = subprocess.run(
        [*NETLAB, *words], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if process.returncode not in accept:
        raise SystemExit(
            f"netlab {' '.join(words)}: exit status {process.returncode}\n{process.stderr.strip()}"
        )
    return process


def run_words(matrix: Path, hosts: Path | None, into: Path, *more: str) -> list[str]:
    """The arguments of a `netlab run` without a report."""
    return ["run", str(matrix), "--hosts", str(hosts), "--into", str(into), "--no-report", *more]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A text table: the first column is aligned left, the others right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """One criterion, what was measured for it, and whether it is met."""

    met: bool
    criterion: str
    measured: str

    def __str__(self) -> str:
        return f"{'met' if self.met else 'NOT MET':8} {self.criterion}: {self.measured}"


def finish(verdicts: Sequence[Verdict], figures: str) -> int:
    """Print the verdicts and, as the last line, the figures. Returns the exit status: 0 if all are
    met.
    """
    for verdict in verdicts:
        print(verdict)
    print(figures)
    return 0 if all(verdict.met for verdict in verdicts) else 1
