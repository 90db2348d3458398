"""Measures duration and memory of commands: `make benchmark-speed`.

The commands are `netlab --help`, the report of the 416 cells that were measured in the lab, a
report of 10,000 cells, and `netlab.load` of these cells in a new interpreter. The 10,000 cells are
generated from the measured records: each has all values that two probes report for a stream.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

import netlab
from benchmarks.stage import NETLAB, ROOT, Verdict, finish, table
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

MOST_HELP_S, MOST_REPORT_S, CELLS = 0.3, 2.0, 416
MOST_LARGE_REPORT_S, MOST_LARGE_REPORT_BYTES, LARGE_CELLS = 15.0, 400e6, 10_000
MOST_LOAD_S = 2.0
MEASURED = ROOT / "reports" / "lab-report-lab"
"""The run from which the 10,000 cells are generated."""

LOAD = """\
import json, sys, time
begun_s = time.monotonic()
import netlab.report.notebook, netlab.report.text.findings
imported_s = time.monotonic()
run = netlab.load(sys.argv[1])
loaded_s = time.monotonic()
print(json.dumps({"cells": len(run.plan.cells), "import_s": imported_s - begun_s,
                  "load_s": loaded_s - imported_s}))
"""

_RATES = ("throughput_bit_per_s", "receiver_throughput_bit_per_s")
_SERIES = ("_interval_bytes", "_cwnd_bytes", "_rtt_us", "_pacing_bit_per_s")
"""Ends of the names of the series that get other values in each generated cell."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The time and memory that a command took, and its output."""

    wall_s: float
    most_bytes: int
    """The most resident memory."""
    said: str


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--run", type=Path, default=MEASURED)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--cells", type=int, default=LARGE_CELLS)
    arguments = words.parse_args()
    cells = len(netlab.load(arguments.run).plan.cells)
    if cells != CELLS:
        raise SystemExit(f"{arguments.run} has {cells} cells; the criterion is of {CELLS}")
    with tempfile.TemporaryDirectory() as scratch:
        copy, large = Path(scratch) / "run", Path(scratch) / "large"
        shutil.copytree(arguments.run, copy)
        make_large(large, arguments.cells)
        journal_bytes = (large / "journal.jsonl").stat().st_size
        helps = [cost(*NETLAB, "--help") for _ in range(arguments.rounds + 1)][1:]
        reports = [cost(*NETLAB, "report", str(copy)) for _ in range(arguments.rounds)]
        larges = [cost(*NETLAB, "report", str(large)) for _ in range(2)]
        loads = [cost(sys.executable, "-c", LOAD, str(large)) for _ in range(arguments.rounds)]
        page_bytes = (large / "index.html").stat().st_size
    costs = {
        "netlab --help": helps,
        f"netlab report, {cells} cells": reports,
        f"netlab report, {arguments.cells:,} cells": larges,
        f"netlab.load, {arguments.cells:,} cells, a fresh interpreter": loads,
    }
    print(
        table(
            ["seconds", "least", "median", "most", "MB"],
            [*map(row, *zip(*costs.items(), strict=False))],
        )
    )
    parts = [json.loads(load.said) for load in loads]
    import_s, load_s = (max(part[name] for part in parts) for name in ("import_s", "load_s"))
    print(f"Of netlab.load, at most: {import_s:.2f} s to import, {load_s:.2f} s to read.")
    print(
        f"The journal of {arguments.cells:,} cells has {journal_bytes / 1e6:.0f} MB, "
        f"its page {page_bytes / 1e6:.1f} MB."
    )
    return judge(cells, arguments.cells, helps, reports, larges, loads, import_s, load_s)


def judge(
    cells: int,
    large_cells: int,
    helps: list[Cost],
    reports: list[Cost],
    larges: list[Cost],
    loads: list[Cost],
    import_s: float,
    load_s: float,
) -> int:
    """Compare each figure with its criterion. ``import_s`` and ``load_s`` are parts of
    ``loads``.
    """
    help_s = statistics.median(sample.wall_s for sample in helps)
    report_s, large_s, whole_load_s = (
        max(e.wall_s for e in own) for own in (reports, larges, loads)
    )
    most_bytes = max(large.most_bytes for large in larges)
    large_words = f"{large_cells:,} cells"
    return finish(
        [
            verdict(help_s, MOST_HELP_S, "--help", "median"),
            verdict(report_s, MOST_REPORT_S, f"report of {CELLS} measured cells", "every time"),
            verdict(large_s, MOST_LARGE_REPORT_S, f"report of {large_words}", "every time"),
            Verdict(
                most_bytes < MOST_LARGE_REPORT_BYTES,
                f"report of {large_words} in under {MOST_LARGE_REPORT_BYTES / 1e6:.0f} MB",
                f"{most_bytes / 1e6:.0f} MB",
            ),
            verdict(whole_load_s, MOST_LOAD_S, f"netlab.load of {large_words}", "every time"),
        ],
        f"speed: help {help_s:.2f} s, report of {cells} cells {report_s:.2f} s, "
        f"of {large_cells} cells {large_s:.1f} s and {most_bytes / 1e6:.0f} MB, "
        f"load of {large_cells} cells {whole_load_s:.2f} s "
        f"({import_s:.2f} s to import, {load_s:.2f} s to read)",
    )


def row(name: str, costs: Sequence[Cost]) -> list[str]:
    times = [sample.wall_s for sample in costs]
    figures = (min(times), statistics.median(times), max(times))
    megabytes = max(sample.most_bytes for sample in costs) / 1e6
    return [name, *(f"{figure:.2f}" for figure in figures), f"{megabytes:.0f}"]


def verdict(measured_s: float, most_s: float, subject: str, statistic: str) -> Verdict:
    return Verdict(
        measured_s < most_s, f"{subject} in under {most_s:g} s ({statistic})", f"{measured_s:.2f} s"
    )


def cost(*command: str) -> Cost:
    """Run a command to its end, and return what it took."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as wrong:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=wrong, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        with process.stdout:
            output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        elapsed_s = time.monotonic() - begin
        wrong.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: {wrong.read()}")
    return Cost(elapsed_s, usage.ru_maxrss * 1024, output)


def make_large(folder: Path, cells: int) -> None:
    """Generate a run of this number of cells from measured records, with one trial per cell. A few
    trials failed, and a few were not measured.
    """
    run = netlab.load(MEASURED)
    plan_cells = tuple(islice(many_cells(run.plan.cells), cells))
    plan = Plan(
        title=f"{cells} cells, made up",
        content={"made up": True},
        content_hash="0" * 64,
        matrix_text="title: made up\n",
        link=run.plan.link,
        cells=plan_cells,
        repeats=1,
    )
    recorded = [run.latest.get((cell.key, 1)) for cell in run.plan.cells]
    rng = random.Random(20)  # noqa: S311 - figures, no secrets
    with RunFolder.open_for_writing(folder, plan) as run_folder:
        for note in run.notes:
            if note.kind in ("session", "facts", "route"):
                run_folder.note(note.kind, durable=False, **note.data)
        for number, cell in enumerate(plan_cells):
            record = recorded[number % len(recorded)]
            if record is not None and rng.random() < 0.99:
                run_folder.note("attempt", durable=False, cell=cell.key, trial=1, attempt=1)
                run_folder.append(made_record(cell, record, rng), durable=False)


def many_cells(cells: Sequence[PlannedCell]) -> Iterator[PlannedCell]:
    """The measured cells, repeated without end, each time with another DSCP."""
    for dscp in count():
        for cell in cells:
            settings = {**cell.settings, "dscp": dscp}
            yield replace(cell, key=f"{cell.key}-{dscp}", settings=settings)


def made_record(cell: PlannedCell, record: Record, rng: random.Random) -> Record:
    """A measured record with slightly changed figures and series; or, rarely, a failed one."""
    if record.status is Status.OK and rng.random() < 0.01:
        failed = replace(record, status=Status.FAILED, reason="no-traffic", values={})
        return replace(failed, cell=cell.key, settings=cell.settings)
    values: dict[str, Value] = dict(record.values)
    factor = rng.gauss(1, 0.01)
    for name, value in values.items():
        if name in _RATES and isinstance(value, int | float):
            values[name] = value * min(1.0, factor)
        elif name.endswith(_SERIES) and isinstance(value, list):
            values[name] = [round(figure * rng.uniform(0.98, 1)) for figure in value]
    return replace(record, cell=cell.key, settings=cell.settings, values=values)


if __name__ == "__main__":
    sys.exit(main())
