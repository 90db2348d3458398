"""Compares the lab report's Linux cells with the wire and with the printed figures.

`make benchmark-lab-report` makes a lab of 100 Mbit/s, measures each cell for 1 s, and compares.
With ``--run`` it uses a run folder that exists already (from `netlab run matrices/lab-report.yaml
--only LL`), and measures only the repeats.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.stage import LAB_REPORT, ROOT, Verdict, a_lab, finish, netlab, run_words
from netlab import load
from netlab.ethernet import Link, ceiling_bit_per_s
from netlab.lab import LabState

Cell = tuple[str, int, int]
"""Protocol, message bytes, socket buffer bytes."""

RATE_BIT_PER_S, MTU_BYTES = 100e6, 1500
LINK = Link(RATE_BIT_PER_S, MTU_BYTES)
CELLS = 104
IMPOSSIBLE: set[Cell] = {("UDP", 64512, kib * 1024) for kib in (16, 20, 24, 28, 32)}
LARGE: dict[Cell, float] = {("TCP", 65536, 65536): 94.148, ("UDP", 64512, 65536): 96.183}
"""Cells with their own criterion → the throughput in Mbit/s that their median must be close to."""
REPEATS = """\
title: The two largest cells, five times
link: {{rate: 100Mbit, mtu: 1500}}
pairings: [LL]
repeats: 5
defaults: {{duration: {seconds:g}s, congestion: cubic}}
tests:
  - {{test: stream, protocol: TCP, message_size: 65536, socket_buffer: 64KiB}}
  - {{test: stream, protocol: UDP, message_size: 64512, socket_buffer: 64KiB}}
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--run", type=Path, help="judge this run folder; measure the repeats only")
    words.add_argument("--into", type=Path, help="keep the run folder here")
    words.add_argument("--seconds", type=float, default=1.0, help="a cell")
    arguments = words.parse_args()
    with a_lab(RATE_BIT_PER_S) as lab, tempfile.TemporaryDirectory() as scratch:
        folder = arguments.run or arguments.into or Path(scratch) / "run"
        if arguments.run is None:
            seconds = ("--set", f"duration={arguments.seconds:g}s")
            words_ = run_words(LAB_REPORT.resolve(), lab.hosts_file, folder.absolute())
            netlab(*words_, "--only", "LL", *seconds, accept=(0, 3))
        rows = rows_of(folder)
        repeats = repeats_mbit_per_s(lab, Path(scratch), arguments.seconds)
    verdicts = [
        every_cell_is_explained(rows),
        *(median_of_repeats(cell, repeats[cell]) for cell in LARGE),
        small_datagrams(rows),
        as_printed(rows),
        never_above_the_wire(rows, repeats),
    ]
    met_count = sum(verdict.met for verdict in verdicts)
    medians = ", ".join(
        f"{cell[0]} {cell[1]} {statistics.median(repeats[cell]):.3f} Mbit/s" for cell in LARGE
    )
    return finish(
        verdicts,
        f"lab-report: {met_count} of {len(verdicts)} criteria met; {len(rows)} cells; {medians}; "
        f"{verdicts[-2].measured}",
    )


def rows_of(folder: Path, pairing: str = "LL") -> dict[Cell, Mapping[str, Any]]:
    """Cell → its row in the run's table, for one pairing."""
    frame = load(folder).frame
    selection = frame[frame["pairing"] == pairing]
    return {
        (row["protocol"], int(row["message_bytes"]), int(row["socket_buffer_bytes"])): {
            str(column): value for column, value in row.items()
        }
        for row in selection.to_dict("records")
    }


def repeats_mbit_per_s(lab: LabState, scratch: Path, seconds: float) -> dict[Cell, list[float]]:
    """Throughput in Mbit/s of five trials of each cell in ``LARGE``."""
    matrix = scratch / "repeats.yaml"
    matrix.write_text(REPEATS.format(seconds=seconds))
    netlab(*run_words(matrix, lab.hosts_file, scratch / "repeats"), accept=(0, 3))
    frame = load(scratch / "repeats").frame
    repeats: dict[Cell, list[float]] = {}
    for cell in LARGE:
        rows = frame[(frame["protocol"] == cell[0]) & (frame["message_bytes"] == cell[1])]
        repeats[cell] = [
            float(throughput) / 1e6 for throughput in rows["throughput_bit_per_s"].dropna()
        ]
        if len(repeats[cell]) != 5:
            raise SystemExit(f"{cell}: {len(repeats[cell])} of 5 repeats: {list(rows['detail'])}")
    return repeats


def mbit_per_s(row: Mapping[str, Any]) -> float | None:
    """Throughput of a cell in Mbit/s; ``None`` if it was not measured."""
    return float(row["throughput_bit_per_s"]) / 1e6 if row["status"] == "ok" else None


def every_cell_is_explained(rows: Mapping[Cell, Mapping[str, Any]]) -> Verdict:
    """Whether each cell is ok, or is one of the five impossible cells and has the system's error
    number.
    """
    odd = [
        f"{cell} {row['status']} {row['reason']}"
        for cell, row in rows.items()
        if row["status"] != "ok"
        and not (cell in IMPOSSIBLE and row["status"] == "impossible" and row["errno"] > 0)
    ]
    blank = sum(row["status"] == "impossible" for row in rows.values())
    return Verdict(
        len(rows) == CELLS and not odd,
        f"{CELLS} cells ok, but UDP 64512 impossible up to 32 KiB",
        f"{len(rows) - blank - len(odd)} ok, {blank} impossible, "
        f"{'; '.join(odd) if odd else 'none unexplained'}",
    )


def median_of_repeats(cell: Cell, values: list[float]) -> Verdict:
    reference, median = LARGE[cell], statistics.median(values)
    return Verdict(
        abs(median / reference - 1) <= 0.004,
        f"{cell[0]} {cell[1]} at 64 KiB, median of five within 0.4 % of {reference}",
        f"{median:.3f} Mbit/s ({(median / reference - 1) * 100:+.2f} %)",
    )


def small_datagrams(rows: Mapping[Cell, Mapping[str, Any]]) -> Verdict:
    """UDP with 64 bytes at every buffer size, as a share of what the wire can carry."""
    ceiling = ceiling_bit_per_s(LINK, "UDP", 64, MTU_BYTES) / 1e6
    shares = [
        value / ceiling
        for cell, row in rows.items()
        if cell[:2] == ("UDP", 64) and (value := mbit_per_s(row)) is not None
    ]
    return Verdict(
        len(shares) == 13 and min(shares) >= 0.97,
        f"UDP 64, each of 13 cells at least 97 % of {ceiling:.2f} Mbit/s",
        f"{min(shares, default=0) * 100:.2f} to {max(shares, default=0) * 100:.2f} %",
    )


def as_printed(rows: Mapping[Cell, Mapping[str, Any]]) -> Verdict:
    """The other cells, compared with the figures that the lab report printed."""
    printed_rows = rows_of(ROOT / "reports" / "lab-report")
    other_cells = [cell for cell in rows if cell[:2] != ("UDP", 64) and cell not in IMPOSSIBLE]
    off: dict[Cell, float] = {}
    for cell in other_cells:
        value, reference = mbit_per_s(rows[cell]), mbit_per_s(printed_rows[cell])
        if value is None or reference is None:
            off[cell] = float("nan")
        elif abs(value / reference - 1) > 0.015:
            off[cell] = (value / reference - 1) * 100
    for (protocol, size, buffer), percent in sorted(off.items()):
        print(f"  {protocol} {size:5} at {buffer // 1024} KiB is {percent:+.1f} % off the print")
    near = len(other_cells) - len(off)
    return Verdict(
        len(other_cells) == 86 and near >= 75,
        "of the other 86 cells at least 75 within 1.5 % of the printed report",
        f"{near} of {len(other_cells)} near the print",
    )


def never_above_the_wire(
    rows: Mapping[Cell, Mapping[str, Any]], repeats: Mapping[Cell, list[float]]
) -> Verdict:
    """Whether no cell and no repeat is more than 0.1 % above the wire's highest payload rate."""
    over: list[tuple[float, Cell]] = []
    for cell, row in rows.items():
        value = mbit_per_s(row)
        if value is not None:
            over.append((value * 1e6 / ceiling_of(cell, row) - 1, cell))
    for cell, values in repeats.items():
        over.append((max(values) * 1e6 / ceiling_of(cell, rows[cell]) - 1, cell))
    highest, cell = max(over)
    return Verdict(
        highest <= 0.001,
        "never above the ceiling by more than 0.1 %",
        f"at most {highest * 100:+.3f} % ({cell[0]} {cell[1]} at {cell[2] // 1024} KiB)",
    )


def ceiling_of(cell: Cell, row: Mapping[str, Any]) -> float:
    """The highest payload rate of the wire in bit/s; for TCP with the connection's segment size."""
    if cell[0] == "UDP":
        return ceiling_bit_per_s(LINK, "UDP", cell[1], MTU_BYTES)
    return ceiling_bit_per_s(
        LINK,
        "TCP",
        cell[1],
        MTU_BYTES,
        timestamps=bool(row["tcp_timestamps"]),
        mss_bytes=int(row["mss_bytes"]),
    )


if __name__ == "__main__":
    sys.exit(main())
