"""Measures up to which rate an emulated router repeats: `make benchmark-machine-rates`.

A machine with a kernel of its own forwards between two network namespaces and shapes to a rate; UDP
(offered 20 % more) and TCP are measured through it, five times each. An effect of 10 % is to be
seen at the *lab rate*, the highest at which, and below which, the repeats of both protocols differ
by at most 3 % of their median, and the median is within 3 % of what the shaper lets pass.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from machine import Machine, accelerator
from machine_lab import MachineLab, machine_lab

from benchmarks.stage import Verdict, finish, table

RATES_MBIT = (1, 5, 10, 20, 50, 100)
MESSAGE_BYTES = {"UDP": 1472, "TCP": 1448}
FRAME_BYTES = 1514
"""As the shaper counts it: without FCS, preamble and gap."""
MOST_SHARE = 0.03
MATRIX = """\
title: through a machine at {rate} Mbit/s
pairings: [far+near]
repeats: {repeats}
defaults: {{duration: 3s, warm_up: 1s}}
tests:
  - {{test: stream, protocol: UDP, message_size: 1472, rate: {offered}}}
  - {{test: stream, protocol: TCP, message_size: 65536, congestion: cubic}}
"""


@dataclass(frozen=True, slots=True)
class Repeated:
    """One protocol at one rate."""

    protocol: str
    rate_mbit: int
    shares: tuple[float, ...]
    """Throughput of each trial, as a share of what the shaper lets pass."""

    @property
    def median(self) -> float:
        return statistics.median(self.shares)

    @property
    def spread(self) -> float:
        """From the lowest to the highest, as a share of the median."""
        return (max(self.shares) - min(self.shares)) / self.median

    @property
    def repeats(self) -> bool:
        return self.spread <= MOST_SHARE and abs(self.median - 1) <= MOST_SHARE

    def row(self) -> list[str]:
        figures = (self.median, min(self.shares), max(self.shares), self.spread)
        return [f"{self.rate_mbit} Mbit/s {self.protocol}", *(f"{100 * f:.1f} %" for f in figures)]


def at(lab: MachineLab, router: Machine, rate_mbit: int, repeats: int) -> list[Repeated]:
    burst_bytes = max(6400, rate_mbit * 1_000_000 // 8 // 200)  # 5 ms
    limit_bytes = max(50_000, burst_bytes * 10)
    words = f"root tbf rate {rate_mbit}mbit burst {burst_bytes} limit {limit_bytes}"
    router.run(f"tc qdisc replace dev eth2 {words}")
    matrix = MATRIX.format(rate=rate_mbit, repeats=repeats, offered=int(rate_mbit * 1.2e6))
    run = lab.run(matrix, f"rate{rate_mbit}")
    measured = []
    for protocol, message_bytes in MESSAGE_BYTES.items():
        most = rate_mbit * 1e6 * message_bytes / FRAME_BYTES
        throughputs = [
            record.number("throughput_bit_per_s") or 0.0
            for record in run.latest.values()
            if record.settings["protocol"] == protocol
        ]
        shares = tuple(throughput / most for throughput in throughputs)
        measured.append(Repeated(protocol, rate_mbit, shares))
    return measured


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--repeats", type=int, default=5)
    arguments = words.parse_args()
    measured: list[Repeated] = []
    with tempfile.TemporaryDirectory() as scratch, machine_lab(Path(scratch)) as lab:
        router = lab.router()
        for rate_mbit in RATES_MBIT:
            measured += at(lab, router, rate_mbit, arguments.repeats)
    print(table(["", "median", "lowest", "highest", "spread"], [one.row() for one in measured]))
    lab_rate_mbit = 0
    for rate_mbit in RATES_MBIT:
        if not all(one.repeats for one in measured if one.rate_mbit == rate_mbit):
            break
        lab_rate_mbit = rate_mbit
    verdict = Verdict(
        lab_rate_mbit >= 10,
        "an emulated router repeats up to 10 Mbit/s or more",
        f"up to {lab_rate_mbit} Mbit/s",
    )
    return finish([verdict], f"lab rate: {lab_rate_mbit} Mbit/s, by {accelerator()}")


if __name__ == "__main__":
    sys.exit(main())
