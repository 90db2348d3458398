"""Runs every benchmark whose figures are compared, one by one on one day: `make benchmarks`.

The last line that each benchmark prints becomes a row of the table in docs/benchmarks.md, which is
written after the last benchmark has ended. The whole output is in build/benchmarks. The exit status
is 0 if all criteria are met.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.stage import ROOT

TABLE = ROOT / "docs" / "benchmarks.md"
OUTPUT = ROOT / "build" / "benchmarks"
BEGIN, END = "<!-- made by make benchmarks -->", "<!-- end -->"
MOST_S = 3600.0
"""Longest time that one benchmark may take. All together must not take longer either."""

BENCHMARKS = {
    "throughput": "benchmarks.peers.throughput",
    "frames": "benchmarks.peers.frames",
    "round-trip": "benchmarks.peers.round_trip",
    "set-up": "benchmarks.cost.set_up",
    "start": "benchmarks.cost.start",
    "speed": "benchmarks.cost.speed",
    "page": "benchmarks.cost.page",
}
"""Name after ``make benchmark-`` → the module that it runs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one benchmark ended."""

    name: str
    exit_status: int
    figures: str
    """The last line that it printed."""
    duration_s: float


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("names", nargs="*", metavar="NAME", help="all where none is named")
    arguments = words.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        words.error(f"no benchmark {', '.join(sorted(unknown))}: {', '.join(BENCHMARKS)}")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for name in arguments.names or BENCHMARKS:
        outcomes.append(run(name))
        last = outcomes[-1]
        print(f"{name}, {last.duration_s / 60:.0f} min, exit {last.exit_status}: {last.figures}")
    if not arguments.names:
        write_table(outcomes, datetime.datetime.now(datetime.UTC).date())
    total_s = sum(outcome.duration_s for outcome in outcomes)
    met_count = sum(outcome.exit_status == 0 for outcome in outcomes)
    print(f"benchmarks: {met_count} of {len(outcomes)} met, in {total_s / 60:.0f} min")
    return 0 if met_count == len(outcomes) and total_s <= MOST_S else 1


def run(name: str) -> Outcome:
    """Run one benchmark to its end, with its output in a file in build/benchmarks."""
    begin = time.monotonic()
    file = OUTPUT / f"{name}.txt"
    with file.open("w", encoding="utf-8") as output:
        try:
            words = [sys.executable, "-m", BENCHMARKS[name]]
            process = subprocess.run(words, cwd=ROOT, stdout=output, timeout=MOST_S, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(name, 1, f"not over in {MOST_S / 60:.0f} min", time.monotonic() - begin)
    lines = file.read_text("utf-8").splitlines()
    figures = lines[-1] if lines else "no figures"
    return Outcome(name, process.returncode, figures, time.monotonic() - begin)


def write_table(outcomes: list[Outcome], day: datetime.date) -> None:
    """Write the rows and their date between the two marks of the page."""
    rows = [f"Measured on {day}.", "", "| figures | command |", "|---|---|"]
    for outcome in outcomes:
        rows.append(f"| {outcome.figures.replace('|', '/')} | `make benchmark-{outcome.name}` |")
    page = TABLE.read_text("utf-8")
    between = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)
    block = "\n".join([BEGIN, *rows, END])
    page, places = between.subn(lambda _: block, page, count=1)
    if not places:
        raise SystemExit(f"{TABLE}: no place between {BEGIN} and {END} for the table")
    TABLE.write_text(page, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
