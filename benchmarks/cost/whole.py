"""Measures the lab report's whole matrix to ±1 %: `make benchmark-whole`.

The matrix has four pairings: two pairs of Linux hosts in the lab, in both directions, each host
with its own cable. Trials of both pairs run at the same time. Each cell is measured at least five
times, until the interval of its mean is narrow enough. Measured as in the printed report, once for
10 s, one cell after the other, the matrix takes 69 minutes.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import netlab as library
from benchmarks.stage import LAB_REPORT, Verdict, a_lab, finish, netlab, run_words
from netlab.lab import LabState

MOST_MINUTES = 7.0
CELLS = 416
PRINTED_S = 10.0
"""Duration of a cell in the printed report."""
ENDS = ("first", "last")
UNTIL = "{within: 1 %, confidence: 95 %, at_least: 5, at_most: 30}"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--seconds", type=float, default=0.2, help="a trial")
    words.add_argument("--warm-up", type=float, default=0.05, help="before each, s")
    words.add_argument("--step", default="4KiB", help="between two socket buffers; 16KiB: a part")
    arguments = words.parse_args()
    with a_lab(100e6, linux=4) as lab, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        took_s = measured_s(lab, Path(scratch), folder, arguments)
        run = library.load(folder)
        cells = run.stored.plan.cells
        courses = [run.stored.progress(cell) for cell in cells]
        states = Counter(str(record.status) for record in run.stored.latest.values())
        trials = len(run.stored.records)
        together = at_once(folder)
    loose = sum(course.precise is False for course in courses)
    is_whole = len(cells) == CELLS
    comparison = f"{len(cells) * PRINTED_S / 60:.0f} minutes as printed"
    minutes = took_s / 60
    verdicts = [
        Verdict(
            minutes <= MOST_MINUTES * len(cells) / CELLS,
            f"{len(cells)} cells in {MOST_MINUTES * len(cells) / CELLS:.1f} minutes"
            + ("" if is_whole else f", their part of {MOST_MINUTES:g}"),
            f"{minutes:.1f}, beside {comparison}",
        ),
        Verdict(not loose, "each ends because it is precise, or impossible", f"{loose} did not"),
        Verdict(together > 0.8, "two pairs send at once", f"{100 * together:.0f} % of the time"),
    ]
    counts = ", ".join(f"{count} {word}" for word, count in sorted(states.items()))
    return finish(
        verdicts,
        f"whole: {len(cells)} cells to ±1 % in {minutes:.1f} minutes, {comparison}; "
        f"{trials} trials ({counts}), {took_s / max(1, trials):.2f} s each",
    )


def measured_s(lab: LabState, scratch: Path, folder: Path, arguments: argparse.Namespace) -> float:
    """Seconds that `netlab run` takes, from the command to its end."""
    names = [host.name for host in lab.hosts]
    ways = [*zip(names[::2], names[1::2], strict=True), *zip(names[1::2], names[::2], strict=True)]
    pairings = ", ".join(f"{server}+{client}" for server, client in ways)
    text = LAB_REPORT.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^pairings: .*$", f"pairings: [{pairings}]", text)
    text = text.replace("step: 4KiB", f"step: {arguments.step}")
    matrix = scratch / "whole.yaml"
    matrix.write_text(text, encoding="utf-8")
    overrides = {
        "duration": f"{arguments.seconds:g}s",
        "warm_up": f"{arguments.warm_up:g}s",
        "until": UNTIL,
        "parallel": "true",
        "common_window": "false",
    }
    settings = [word for key, value in overrides.items() for word in ("--set", f"{key}={value}")]
    began = time.monotonic()
    netlab(*run_words(matrix, lab.hosts_file, folder, "--quiet", *settings))
    return time.monotonic() - began


def at_once(folder: Path) -> float:
    """The share of the sending time in which both pairs sent at once, by the hosts' clock."""
    edges: list[tuple[int, int]] = []
    for record in library.load(folder).stored.records:
        if record.status == "ok":
            begin, end = (int(str(record.values[f"sender_{key}_send_ns"])) for key in ENDS)
            edges += [(begin, 1), (end, -1)]
    busy_ns = both_ns = sender_count = before_ns = 0
    for at_ns, change in sorted(edges):
        busy_ns += (at_ns - before_ns) * (sender_count > 0)
        both_ns += (at_ns - before_ns) * (sender_count > 1)
        sender_count, before_ns = sender_count + change, at_ns
    return both_ns / max(1, busy_ns)


if __name__ == "__main__":
    sys.exit(main())
