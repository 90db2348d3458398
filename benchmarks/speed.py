"""How long a person waits: `make benchmark-speed`.

For `netlab --help`, and for the report of a run of 416 cells.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stage import NETLAB, ROOT, Verdict, finish, table

import netlab

MOST_HELP_S, MOST_REPORT_S, CELLS = 0.3, 5.0, 416


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--run", type=Path, default=ROOT / "reports" / "lab-report")
    words.add_argument("--rounds", type=int, default=5)
    asked = words.parse_args()
    cells = netlab.load(asked.run).frame["cell"].nunique()
    if cells != CELLS:
        raise SystemExit(f"{asked.run} has {cells} cells; the criterion is of {CELLS}")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "run"
        shutil.copytree(asked.run, copy)
        help_s = [timed_s("--help") for _ in range(asked.rounds + 1)][1:]
        report_s = [timed_s("report", str(copy)) for _ in range(asked.rounds)]
    rows = [
        [name, f"{min(times):.2f}", f"{statistics.median(times):.2f}", f"{max(times):.2f}"]
        for name, times in (("netlab --help", help_s), (f"netlab report, {cells} cells", report_s))
    ]
    print(table(["seconds", "least", "median", "most"], rows))
    slowest_help_s, slowest_report_s = statistics.median(help_s), max(report_s)
    return finish(
        [
            Verdict(
                slowest_help_s < MOST_HELP_S,
                f"--help in under {MOST_HELP_S:g} s (median)",
                f"{slowest_help_s:.2f} s",
            ),
            Verdict(
                slowest_report_s < MOST_REPORT_S,
                f"report of {CELLS} cells in under {MOST_REPORT_S:g} s (every time)",
                f"{slowest_report_s:.2f} s",
            ),
        ],
        f"speed: help {slowest_help_s:.2f} s, report of {cells} cells {slowest_report_s:.2f} s",
    )


def timed_s(*words: str) -> float:
    begin = time.monotonic()
    done = subprocess.run([*NETLAB, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    elapsed_s = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"netlab {' '.join(words)}: {done.stderr}")
    return elapsed_s


if __name__ == "__main__":
    sys.exit(main())
