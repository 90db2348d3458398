"""How long a person waits: `make benchmark-speed`.

For `netlab --help`, for the report of a run of 416 cells, and for that of one of 10,000, which is
made up here: records of the real size, with everything that a probe says of a stream.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import netlab
from benchmarks.stage import NETLAB, ROOT, Verdict, finish, table
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, Status, Value
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder

MOST_HELP_S, MOST_REPORT_S, CELLS = 0.3, 5.0, 416
MOST_LARGE_REPORT_S, MOST_LARGE_REPORT_BYTES, LARGE_CELLS = 30.0, 2**30, 10_000
RECORDED = ROOT / "tests" / "fixtures" / "limits-linux"
"""A run of streams: its records are what the made-up ones are made of."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--run", type=Path, default=ROOT / "reports" / "lab-report")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--cells", type=int, default=LARGE_CELLS)
    asked = words.parse_args()
    cells = netlab.load(asked.run).frame["cell"].nunique()
    if cells != CELLS:
        raise SystemExit(f"{asked.run} has {cells} cells; the criterion is of {CELLS}")
    with tempfile.TemporaryDirectory() as scratch:
        copy, large = Path(scratch) / "run", Path(scratch) / "large"
        shutil.copytree(asked.run, copy)
        make_large(large, asked.cells)
        journal_bytes = (large / "journal.jsonl").stat().st_size
        help_s = [cost("--help")[0] for _ in range(asked.rounds + 1)][1:]
        report_s = [cost("report", str(copy))[0] for _ in range(asked.rounds)]
        larges = [cost("report", str(large)) for _ in range(2)]
        page_bytes = (large / "index.html").stat().st_size
    large_s, most_bytes = [each for each, _ in larges], max(each for _, each in larges)
    measured = {
        "netlab --help": help_s,
        f"netlab report, {cells} cells": report_s,
        f"netlab report, {asked.cells:,} cells": large_s,
    }
    rows = [
        [name, f"{min(times):.2f}", f"{statistics.median(times):.2f}", f"{max(times):.2f}"]
        for name, times in measured.items()
    ]
    print(table(["seconds", "least", "median", "most"], rows))
    print(
        f"The journal of {asked.cells:,} cells has {journal_bytes / 1e6:.0f} MB, "
        f"its page {page_bytes / 1e6:.1f} MB."
    )
    slowest_help_s, slowest_report_s = statistics.median(help_s), max(report_s)
    return finish(
        [
            verdict(slowest_help_s, MOST_HELP_S, "--help", "median"),
            verdict(slowest_report_s, MOST_REPORT_S, f"report of {CELLS} cells", "every time"),
            verdict(
                max(large_s), MOST_LARGE_REPORT_S, f"report of {asked.cells:,} cells", "every time"
            ),
            Verdict(
                most_bytes < MOST_LARGE_REPORT_BYTES,
                f"report of {asked.cells:,} cells in under {MOST_LARGE_REPORT_BYTES >> 20} MiB",
                f"{most_bytes / 2**20:.0f} MiB",
            ),
        ],
        f"speed: help {slowest_help_s:.2f} s, report of {cells} cells {slowest_report_s:.2f} s, "
        f"of {asked.cells} cells {max(large_s):.1f} s and {most_bytes / 2**20:.0f} MiB",
    )


def verdict(measured_s: float, most_s: float, what: str, which: str) -> Verdict:
    return Verdict(
        measured_s < most_s, f"{what} in under {most_s:g} s ({which})", f"{measured_s:.2f} s"
    )


def cost(*words: str) -> tuple[float, int]:
    """Seconds that the command took, and the most memory that it had, in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [*NETLAB, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.monotonic() - begin
    if process.returncode:
        raise SystemExit(f"netlab {' '.join(words)}: {said}")
    return elapsed_s, usage.ru_maxrss * 1024


def make_large(folder: Path, cells: int) -> None:
    """A run of so many cells, one trial each; a few failed and a few were not measured."""
    template = next(r for r in netlab.load(RECORDED).records if r.status is Status.OK)
    planned = tuple(cell for _, cell in zip(range(cells), many_cells(), strict=False))
    plan = Plan(
        title=f"{cells} cells, made up",
        content={"made up": True},
        content_hash="0" * 64,
        matrix_text="title: made up\n",
        link=Link(1e9, 1500),
        cells=planned,
        repeats=1,
    )
    rng = random.Random(20)  # noqa: S311 - figures, no secrets
    with RunFolder.open_for_writing(folder, plan) as opened:
        for cell in planned:
            if rng.random() < 0.99:
                opened.append(made_record(cell, template, rng), durable=False)


def many_cells() -> Iterator[PlannedCell]:
    """Four pairings, both protocols, five sizes, 25 buffers, and ten numbers of streams."""
    levels = (
        range(1, 11),
        ("LL", "WL", "LW", "WW"),
        ("TCP", "UDP"),
        (64, 576, 1472, 8192, 64512),
        range(16384, 16384 + 25 * 4096, 4096),
    )
    for streams, pairing, protocol, size, buffer in product(*levels):
        settings: dict[str, Value] = {
            "protocol": protocol,
            "message_bytes": size,
            "socket_buffer_bytes": buffer,
            "duration_s": 10.0,
            "streams": streams,
        }
        key = f"{pairing}-stream-{protocol.lower()}-{size}-{buffer}-{streams}"
        yield PlannedCell(key, pairing, "stream", settings)


def made_record(cell: PlannedCell, template: Record, rng: random.Random) -> Record:
    """What the recorded one says, with a throughput of its own and a hundred intervals."""
    failed = rng.random() < 0.01
    rate = 9e8 * rng.gauss(1, 0.01)
    intervals = [round(rate / 80 * rng.gauss(1, 0.05)) for _ in range(100)]
    measured: dict[str, Value] = {
        "throughput_bit_per_s": rate,
        "receiver_throughput_bit_per_s": rate,
        "receiver_interval_bytes": intervals,
    }
    return replace(
        template,
        cell=cell.key,
        trial=1,
        pairing=cell.pairing,
        settings=cell.settings,
        status=Status.FAILED if failed else Status.OK,
        reason="no-traffic" if failed else None,
        values={} if failed else {**template.values, **measured},
    )


if __name__ == "__main__":
    sys.exit(main())
