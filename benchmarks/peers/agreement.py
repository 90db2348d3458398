"""Measures random cells with netlab's probe and with other tools: `make benchmark-agreement`.

Each cell is measured in the lab by the probe and by every tool that can follow its settings. The
cable is slower than the hosts, so the figures should agree. For each tool, the table has the
differences between its throughput and that of the probe, as shares of the probe's throughput.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netlab as library
from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words, table

ENGINES = ("iperf3", "iperf2", "netperf", "nuttcp")
RATE_BIT_PER_S = 20e6
MOST_MEDIAN = 0.01
"""Largest allowed difference at the median. Tools differ in what they count at the beginning and
the end of 3 s."""


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--cells", type=int, default=100, help="drawn cells")
    words.add_argument(
        "--seconds", type=int, default=3, help="a trial; these tools take whole ones"
    )
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    tests = drawn(random.Random(arguments.seed), arguments.cells)  # noqa: S311  (no secret)
    with a_lab(RATE_BIT_PER_S, queue_frames=100) as lab, tempfile.TemporaryDirectory() as scratch:
        matrix = Path(scratch) / "agreement.yaml"
        matrix.write_text(matrix_of(tests, arguments.seconds), encoding="utf-8")
        folder = Path(scratch) / "run"
        netlab(*run_words(matrix, lab.hosts_file, folder, "--quiet"), accept=(0, 3), timeout_s=7200)
        run = library.load(folder)
        records = [record for record in run.stored.latest.values() if record.status == "ok"]
        failures = [record for record in run.stored.latest.values() if record.status == "failed"]
    differences = by_engine(records)
    print(table(("engine", "cells", "median", "5 %", "95 %", "largest"), rows_of(differences)))
    for record in failures:
        print(f"failed: {record.cell}: {record.detail}")
    verdicts = [
        Verdict(
            abs(statistics.median(shares)) <= MOST_MEDIAN,
            f"{engine} and the probe agree within {100 * MOST_MEDIAN:g} % at the median",
            f"{100 * statistics.median(shares):+.2f} % over {len(shares)} cells",
        )
        for engine, shares in differences.items()
    ]
    verdicts.append(Verdict(not failures, "every cell has a result", f"{len(failures)} failed"))
    medians = ", ".join(
        f"{engine} {100 * statistics.median(shares):+.2f} % ({len(shares)} cells)"
        for engine, shares in differences.items()
    )
    return finish(
        verdicts,
        f"agreement: {arguments.cells} cells, median difference from netlab's probe: {medians}",
    )


def drawn(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """``count`` different random tests."""
    tests: dict[str, dict[str, Any]] = {}
    while len(tests) < count:
        protocol = chance.choice(("TCP", "UDP"))
        sizes = (1448, 8192, 65536, 131072) if protocol == "TCP" else (256, 512, 1024, 1472, 4096)
        test = {
            "protocol": protocol,
            "message_size": chance.choice(sizes) - chance.randrange(0, 64),
            "socket_buffer": chance.choice(("64KiB", "128KiB", "256KiB")),
            "direction": chance.choice(("client-sends", "client-sends", "server-sends")),
            "streams": chance.choice((1, 1, 1, 2, 4)),
        }
        tests[str(test)] = test
    return list(tests.values())


def matrix_of(tests: Sequence[dict[str, Any]], seconds: int) -> str:
    """The matrix with these tests, each with every engine (the probe and the other tools)."""
    engines = ", ".join(("netprobe", *ENGINES))
    lines = [
        "title: agreement of engines",
        "pairings: [LL]",
        "order: shuffled",
        f"defaults: {{duration: {seconds}s}}",
        "tests:",
    ]
    for test in tests:
        settings = ", ".join(f"{key}: {value}" for key, value in test.items())
        lines.append(f"  - {{test: stream, {settings}, engine: [{engines}]}}")
    return "\n".join(lines) + "\n"


def by_engine(records: Sequence[Any]) -> dict[str, list[float]]:
    """Engine → differences between its throughput and that of the probe, as shares of the
    latter.
    """
    cells: dict[str, dict[str, float]] = defaultdict(dict)
    for record in records:
        settings = dict(record.settings)
        engine = str(settings.pop("engine", "netprobe"))
        cells[str(sorted(settings.items()))][engine] = float(record.values["throughput_bit_per_s"])
    differences: dict[str, list[float]] = defaultdict(list)
    for figures in cells.values():
        own = figures.get("netprobe")
        for engine, figure in figures.items():
            if own and engine != "netprobe":
                differences[engine].append(figure / own - 1)
    return {engine: differences[engine] for engine in ENGINES if differences[engine]}


def rows_of(differences: dict[str, list[float]]) -> list[tuple[str, ...]]:
    """A row of the table for each engine, in per cent."""
    rows = []
    for engine, shares in differences.items():
        ordered = sorted(shares)
        low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.05, 0.95))
        largest = max(ordered, key=abs)
        figures = (statistics.median(ordered), low, high, largest)
        rows.append((engine, str(len(ordered)), *(f"{100 * figure:+.2f} %" for figure in figures)))
    return rows


if __name__ == "__main__":
    sys.exit(main())
