"""Measures the lab report with Windows hosts under wine: `make benchmark-windows`.

The lab has two Linux and two Windows hosts at 100 Mbit/s. One run measures all 416 cells of the lab
report. Each cell must be ok or have a reason. TCP must reach the wire's highest payload rate if the
sender's system can fill the wire; otherwise the finding must name the send call as the limit. The
benchmark also checks a run whose lab is taken down, the time that a cell takes in addition to its
measurement, and that no probe is left (windows_life.py). It takes about 20 minutes.

With wine, the figures show what the probe does, but not how fast Windows is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.cost.set_up import netlab_costs, spread
from benchmarks.cost.windows_life import ends, goes_on_after_its_lab_was_taken_down
from benchmarks.stage import LAB_REPORT, Verdict, a_lab, finish, netlab, run_words, table
from netlab import load
from netlab.findings.analysis import Analysis
from netlab.findings.derived import StreamSample, samples
from netlab.findings.finding import Kind
from netlab.findings.stream_limits import limit_of
from netlab.lab import LabState

RATE_BIT_PER_S = 100e6
PAIRINGS = ("LL", "WL", "LW", "WW")
CELLS = 416
BUFFER_BYTES = 65536
NEAR = 0.03
SET_UP_MS = 25.0
AT_64_KIB = """\
title: TCP with socket buffers of 64 KiB
link: {{rate: 100Mbit, mtu: 1500}}
pairings: [{pairing}]
repeats: 5
defaults: {{duration: {seconds:g}s, congestion: cubic, socket_buffer: 64KiB}}
tests:
  - {{test: stream, protocol: TCP, message_size: [64, 576, 1500, 65536]}}
"""
"""Each cell is repeated, because the result of a single trial of half a second under wine depends
on the other work of the machine."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--seconds", type=float, default=0.5, help="a cell")
    words.add_argument("--into", type=Path, help="keep the run folder here")
    words.add_argument("--repeats", type=int, default=3, help="of 24 cells, for the set-up cost")
    words.add_argument("--quick", action="store_true", help="leave out the run whose lab goes")
    arguments = words.parse_args()
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        with a_lab(RATE_BIT_PER_S, windows=2) as lab:
            folder = (arguments.into or scratch / "run").absolute()
            duration = ("--set", f"duration={arguments.seconds:g}s")
            netlab(*run_words(LAB_REPORT, lab.hosts_file, folder), *duration, accept=(0, 3))
            netlab("report", str(folder))
            run = load(folder)
            verdicts += [every_cell_is_explained(run), the_report_is_whole(folder)]
            verdicts += [
                linux_clients_fill_the_wire(lab, scratch, arguments.seconds),
                small_messages_are_named(run),
                one_cpu(lab, scratch, arguments.seconds),
                set_up_cost(lab, scratch, arguments.repeats),
            ]
            verdicts += ends(lab, scratch)
        if not arguments.quick:
            verdicts += goes_on_after_its_lab_was_taken_down(scratch, arguments.seconds)
    met_count = sum(verdict.met for verdict in verdicts)
    return finish(
        verdicts,
        f"windows: {met_count} of {len(verdicts)} criteria met; {verdicts[0].measured}; "
        f"{verdicts[5].measured}",
    )


def every_cell_is_explained(run: Analysis) -> Verdict:
    """Whether each cell is ok, or was refused by a host with a reason and the system's error
    number.
    """
    rows = run.frame.to_dict("records")
    odd = [
        f"{row['cell']} {row['status']} {row['reason']}"
        for row in rows
        if row["status"] != "ok" and not (row["status"] == "impossible" and row["errno"] > 0)
    ]
    for description in odd:
        print(f"  unexplained: {description}")
    fine = sum(row["status"] == "ok" for row in rows)
    return Verdict(
        len(rows) == CELLS and not odd,
        f"{CELLS} cells of four pairings in one run, each ok or blank with its reason",
        f"{fine} ok, {len(rows) - fine - len(odd)} refused by a host, {len(odd)} unexplained",
    )


def the_report_is_whole(folder: Path) -> Verdict:
    """Whether the report has a table of throughput for each pairing, and the overview of all
    pairings.
    """
    text = (folder / "tables.md").read_text()
    tables = [pairing for pairing in PAIRINGS if f"## {pairing}: throughput" in text]
    overview = "| all pairings |" in text
    page = (folder / "index.html").stat().st_size
    return Verdict(
        len(tables) == len(PAIRINGS) and overview and page > 100_000,
        "its report has four tables and the overview",
        f"{len(tables)} tables, {'an' if overview else 'no'} overview",
    )


def linux_clients_fill_the_wire(lab: LabState, scratch: Path, seconds: float) -> Verdict:
    """TCP from Linux to Windows, with buffers of 64 KiB, at all message sizes."""
    shares = ceiling_shares(lab, scratch, "WL", seconds)
    return Verdict(
        len(shares) == 4 and all(abs(share - 1) <= NEAR for share in shares.values()),
        "WL, TCP at 64 KiB: every message size within 3 % of the ceiling of its MSS",
        per_cent(shares),
    )


def ceiling_shares(lab: LabState, scratch: Path, pairing: str, seconds: float) -> dict[int, float]:
    """Message size → throughput as a share of its ceiling, the median of five trials."""
    matrix, into = scratch / f"{pairing}.yaml", scratch / f"at-64-kib-{pairing}"
    matrix.write_text(AT_64_KIB.format(pairing=pairing, seconds=max(seconds, 1.0)))
    netlab(*run_words(matrix, lab.hosts_file, into))
    shares: dict[int, list[float]] = {}
    for sample in samples(load(into)):
        shares.setdefault(sample.message_bytes, []).append(sample.ceiling_share or 0.0)
    return {size: statistics.median(values) for size, values in shares.items()}


def small_messages_are_named(run: Analysis) -> Verdict:
    """Whether the send call is named as the limit of Windows clients that are below the ceiling."""
    small = [
        sample
        for sample in samples(run)
        if sample.pairing in ("LW", "WW")
        and sample.protocol == "TCP"
        and sample.message_bytes <= 576
    ]
    below = [sample for sample in small if limit_of(sample) is not Kind.WIRE_CEILING]
    slow_senders = [sample for sample in below if limit_of(sample) is Kind.SENDER_CALL_RATE]
    for pairing in ("LW", "WW"):
        for size in (64, 576):
            print(f"  {rates(pairing, size, below)}")
    return Verdict(
        len(small) == 52 and len(slow_senders) >= 0.9 * len(below),
        "LW and WW, TCP up to 576 bytes, below the ceiling: the sender's call rate is named",
        f"{len(slow_senders)} of {len(below)} cells",
    )


def rates(pairing: str, size: int, below: Sequence[StreamSample]) -> str:
    """A text: calls per second and the duration of a call, medians of the cells below the
    ceiling.
    """
    cells = [
        sample for sample in below if (sample.pairing, sample.message_bytes) == (pairing, size)
    ]
    name = f"{pairing} TCP {size}"
    if not cells:
        return f"{name}: at the ceiling"
    calls = statistics.median(sample.calls_per_s or 0.0 for sample in cells)
    half_ns = statistics.median(sample.send_call_median_ns or 0 for sample in cells)
    return f"{name}: {len(cells)} cells, {calls:,.0f} calls a second, {half_ns / 1e3:.1f} µs each"


def one_cpu(lab: LabState, scratch: Path, seconds: float) -> Verdict:
    """TCP from a Windows client whose processes share a CPU must reach the ceiling from 1500 bytes
    on.

    The wineserver is one of these processes. Each send call goes to the wineserver, which costs
    several times as much if it runs on another CPU.
    """
    with pinned(lab, "windows-a", os.cpu_count() or 1):
        shares = ceiling_shares(lab, scratch, "LW", seconds)
    return Verdict(
        len(shares) == 4 and all(abs(shares[size] - 1) <= NEAR for size in (1500, 65536)),
        "LW, TCP at 64 KiB, the client on one CPU: 1500 and 65536 bytes within 3 % of the ceiling",
        per_cent(shares),
    )


@contextmanager
def pinned(lab: LabState, name: str, cpus: int) -> Iterator[None]:
    """Pin every process of a host, and the processes that they start, to the last CPU; undone at
    the end.
    """
    host = next(host for host in lab.hosts if host.name == name)
    network = (Path("/run/netns") / host.namespace).stat().st_ino

    def tie(cpu_set: set[int]) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "ns/net").stat().st_ino != network:
                    continue
                for thread in (process / "task").iterdir():
                    os.sched_setaffinity(int(thread.name), cpu_set)
            except OSError:
                continue  # it ended meanwhile

    tie({cpus - 1})
    try:
        yield
    finally:
        tie(set(range(cpus)))


def set_up_cost(lab: LabState, scratch: Path, repeats: int) -> Verdict:
    """The time of a cell in addition to warm-up, window and drain, as defined in set_up.py."""
    costs = netlab_costs(lab, scratch, repeats, "[WL, LW, WW]")
    costs_ms = [cost.cost_ms for cost in costs]
    drains_ms = [sum(cost.drains_ms) for cost in costs if cost.drains_ms]
    rows = [
        spread("netlab, a cell with a Windows host", costs_ms),
        spread("netlab, drain of UDP (not in it)", drains_ms),
    ]
    print(table(["ms", "cells", "least", "median", "90 %", "most"], rows))
    median = statistics.median(costs_ms)
    return Verdict(
        median <= SET_UP_MS,
        f"set-up cost a cell with a Windows host, median at most {SET_UP_MS:g} ms",
        f"{median:.1f} ms",
    )


def at_64_kib(run: Analysis, of: Sequence[StreamSample]) -> list[StreamSample]:
    """The samples whose cell has socket buffers of 64 KiB."""
    settings: Mapping[str, Any] = {cell.key: cell.settings for cell in run.plan.cells}
    return [sample for sample in of if settings[sample.cell]["socket_buffer_bytes"] == BUFFER_BYTES]


def per_cent(shares: Mapping[int, float]) -> str:
    """A text of shares of the ceiling, by message size."""
    return ", ".join(f"{size}: {share * 100:.2f} %" for size, share in sorted(shares.items()))


if __name__ == "__main__":
    sys.exit(main())
