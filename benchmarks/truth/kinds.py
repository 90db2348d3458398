"""Measures matrices/connection-kinds.yaml in the lab: `make benchmark-kinds`.

There are four Linux hosts, two of them with two kinds of connection, and a Windows host (its
programs run under wine). Every host is measured with every other host, in each direction, over TCP
and over UDP offered at 100 Mbit/s, on cables of 100 and 40 Mbit/s. ``--into DIR`` keeps the run and
its report.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.stage import ROOT, Verdict, finish, netlab
from netlab import lab
from netlab.ethernet import Link, ceiling_bit_per_s
from netlab.experiment.hosts import named, roles_of
from netlab.findings.analysis import Analysis, load
from netlab.report.sections import parts_of
from netlab.report.tables.elements import HeatMap, Part
from netlab.report.write.text import plain
from netlab.trial.record import Record

MATRIX = ROOT / "matrices" / "connection-kinds.yaml"
RATES_BIT_PER_S = {"test": 100e6, "second": 40e6}
TWICE = ("linux-a", "linux-b")
ROLES = (
    *(f"{host}@{network}" for host in TWICE for network in RATES_BIT_PER_S),
    *("linux-c", "linux-d", "windows-a"),
)


def pairings() -> list[str]:
    """Every ordered pair of roles, except those that no cable connects."""
    every = [named(server, client) for server in ROLES for client in ROLES]
    return [pairing for pairing in every if not _crosses(pairing)]


def _crosses(pairing: str) -> bool:
    """Whether a pairing has two different hosts on two different networks."""
    server, client = roles_of(pairing)
    networks = {server.network, client.network}
    return server.host != client.host and None not in networks and len(networks) == 2


def measured(seconds: float, into: Path) -> Analysis:
    """Measure the shipped matrix in a new lab, and return the run."""
    options = lab.LabOptions(
        name=f"kinds-{os.getpid()}",
        rate=RATES_BIT_PER_S["test"],
        second_rate=RATES_BIT_PER_S["second"],
        linux=4,
        windows=1,
    )
    try:
        hosts = lab.up(options).hosts_file
        words = ["run", str(MATRIX), "--hosts", str(hosts), "--into", str(into)]
        listed = f"pairings=[{', '.join(pairings())}]"
        netlab(*words, "--set", listed, "--set", f"duration={seconds}s", accept=(0, 3))
    finally:
        lab.down(options.name, forget=True)
    return load(into)


def verdicts_of(cell_readings: Sequence[Record], part: Part) -> list[Verdict]:
    """Verdicts about what the report must show, and about figures above what a cable can carry."""
    ok = [reading for reading in cell_readings if reading.status == "ok"]
    tables = [sheet for sheet in part.sheets if sheet.corner.startswith("client")]
    squares = [sheet.title for sheet in tables if len(sheet.columns) == len(ROLES) + 1]
    maps = [chart.title for chart in part.charts if isinstance(chart, HeatMap)]
    notes = {text for sheet in part.sheets for _, text in sheet.footnotes}
    titles = " ".join(sheet.title for sheet in part.sheets)
    above = [
        f"{reading.pairing} {reading.protocol}"
        for reading in ok
        if not reading.same_host
        for flow in reading.flows.values()
        if (flow.throughput_bit_per_s or 0) > _most(reading)
    ]
    return [
        Verdict(
            len(ok) == len(cell_readings),
            "every cell measured",
            f"{len(ok)} of {len(cell_readings)}",
        ),
        Verdict(len(squares) == 2, "a table a protocol", "; ".join(squares)),
        Verdict(len(maps) == 2, "a heat map a protocol", "; ".join(maps)),
        Verdict(
            any("Within one machine" in note for note in notes)
            and any("Not asked for" in note for note in notes),
            "footnotes on what is marked and what is blank",
            f"{len(notes)} of them",
        ),
        Verdict(
            "One direction against the other" in titles and "offered, sent, received" in titles,
            "both directions side by side; offered, sent, received",
            titles,
        ),
        Verdict(not above, "no figure above what its cable carries", ", ".join(above) or "none"),
    ]


def _most(reading: Record) -> float:
    """The highest payload in bit/s that the cable can carry, plus 0.2 % for errors of the clock."""
    networks = {role.network for role in roles_of(reading.pairing)}
    rate = RATES_BIT_PER_S["second" if "second" in networks else "test"]
    # A UDP message that fills its frame has the largest share of payload.
    return 1.002 * ceiling_bit_per_s(Link(rate, 1500), "UDP", 1472, 1500)


def main() -> int:
    """Measure, print the tables and the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--into", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run = measured(arguments.seconds, arguments.into or Path(name) / "run")
        cell_readings = run.trials
        part = next(
            p for p in parts_of(run, cell_readings) if p.name == "every-host-with-every-other"
        )
    for sheet in part.sheets:
        print(plain(sheet) + "\n")
    figures = {
        f"{reading.protocol} {reading.pairing}": flow.throughput_bit_per_s
        for reading in cell_readings
        for flow in reading.flows.values()
        if flow.throughput_bit_per_s is not None
    }
    return finish(verdicts_of(cell_readings, part), json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
