"""Compares the probe's throughput with that of other tools: `make benchmark-throughput`.

The other tools are iperf3, iperf2, nuttcp, and netperf if it is installed. All use an unshaped
veth. netlab's probe is measured in several ways: with every way in which a receiver waits, with
receive calls that take everything that has arrived instead of one message, and with many messages
per send call. Message sizes, socket buffers, duration and CPUs (sender 0, receiver 1) are the same
for all. Rounds are interleaved, and each begins with another tool, so that no tool always runs in
the same state of the machine. Each message size has a row with the system's default buffers and one
with large buffers. The figure is what the receiver took in. TCP's congestion control is cubic for
all, because bbr paces its sender by timers, whatever the receiver does.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.ends import Cable, Tool, by_tool, interleaved, those_installed
from benchmarks.peers.tools import (
    RIVALS,
    Case,
    Reading,
    netlab_adaptive,
    netlab_all,
    netlab_batched,
    netlab_blocking,
    netlab_polling,
    netlab_spinning,
)
from benchmarks.stage import Verdict, a_lab, finish, table
from netlab.lab.plan import LabHost

BLOCKING, ADAPTIVE = "blocking", "adaptive"
WAYS = (
    Tool(BLOCKING, None, netlab_blocking),
    Tool("all that has come", None, netlab_all),
    Tool("polling", None, netlab_polling),
    Tool("spinning", None, netlab_spinning),
    Tool(ADAPTIVE, None, netlab_adaptive),
    Tool("batched", None, netlab_batched),
)
OURS = tuple(way.name for way in WAYS)
TOOLS = (*WAYS, *RIVALS)

LEAST_RATIO = 0.97
"""Least ratio of the probe with a blocking receiver to the best other tool, in every row."""
AS_FAST, AS_FAST_SHARE = 1.0, 0.8
"""Least value of the same ratio in most rows, and the share of the rows that must reach it."""
LEAST_BEST: Mapping[tuple[str, int], float] = {
    ("UDP", 64): 1.25,
    ("UDP", 1472): 1.15,
    ("TCP", 64): 1.3,
    ("TCP", 1500): 1.4,
    ("TCP", 65536): 1.5,
}
"""(Protocol, message size) → least ratio of the probe's best way to the best other tool."""
MOST_LOSS_SHARE = 0.1
"""Highest loss with the probe's best way, as a share of the loss of the best other tool."""
LEAST_ADAPTIVE = 0.97
"""Least ratio of the probe with an adaptive receiver to one with a blocking receiver, in every
row."""
LARGE_BUFFER_BYTES = 2 * 1024 * 1024
CONGESTION = "cubic"

Rounds = Sequence[Mapping[str, Reading]]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=9)
    words.add_argument("--seconds", type=int, default=1, help="a measurement")
    words.add_argument("--only", help="cases whose name holds this, such as 'UDP 64'")
    arguments = words.parse_args()
    tools = those_installed(TOOLS, OURS)
    cases = [case for case in all_cases(arguments.seconds) if (arguments.only or "") in str(case)]
    with a_lab() as lab:
        for host in lab.hosts:
            choose_congestion(host)
        readings = interleaved(cases, tools, Cable(lab.hosts[0], lab.hosts[1]), arguments.rounds)
    rivals = [tool.name for tool in tools if tool.name not in OURS]
    rows = [row_of(case, rounds, rivals) for case, rounds in readings.items()]
    print_rows(rows, [tool.name for tool in tools])
    return judge(rows)


def choose_congestion(host: LabHost) -> None:
    """Set the congestion control of the programs in a host that do not choose one themselves."""
    setting = f"net.ipv4.tcp_congestion_control={CONGESTION}"
    words = ["ip", "netns", "exec", host.namespace, "sysctl", "-qw", setting]
    subprocess.run(words, check=True)


def all_cases(seconds: int) -> list[Case]:
    """Five combinations of protocol and message size, each with default and with large buffers."""
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    large = min(LARGE_BUFFER_BYTES, most)
    return [
        Case(protocol, size, buffer, seconds)
        for protocol, size in LEAST_BEST
        for buffer in (None, large)
    ]


# ---- one row ----


@dataclass(frozen=True, slots=True)
class Row:
    """The rounds of a case, with the best other tool and the probe's best way.

    The best is the one with the highest median throughput. A ratio is the median of the ratios of
    single rounds, because within a round both tools had the machine in a similar state. A
    difference of loss is computed in the same way.
    """

    case: Case
    rounds: Rounds
    medians: Mapping[str, float]
    rival: str
    """The best other tool; empty if none gave a figure."""
    way: str
    """The probe's best way; empty if none gave a figure."""

    def ratios(self, name: str, rival: str) -> list[float]:
        """Ratios of their throughput, in the rounds in which both gave a figure."""
        pairs = [
            (readings[name], readings[rival])
            for readings in self.rounds
            if {name, rival} <= readings.keys()
        ]
        return [a.mbit_per_s / b.mbit_per_s for a, b in pairs]

    def ratio(self, name: str, rival: str) -> float:
        """The median of these ratios; 0 if there is none."""
        return statistics.median(self.ratios(name, rival) or [0.0])

    def losses(self, name: str) -> list[float]:
        """The share of the datagrams that was lost, for each round."""
        losses = (readings[name].loss for readings in self.rounds if name in readings)
        return [loss for loss in losses if loss is not None]

    def loss(self, name: str) -> float:
        """The median of these shares; 0 if there is none."""
        return statistics.median(self.losses(name) or [0.0])

    def loses_more(self, name: str, rival: str) -> bool:
        """Whether ``name`` lost more than ``rival``, by the median difference of the rounds."""
        pairs = zip(self.losses(name), self.losses(rival), strict=False)
        return statistics.median([a - b for a, b in pairs] or [0.0]) > 0


def row_of(case: Case, rounds: Rounds, rivals: Sequence[str]) -> Row:
    """The row of a case, from its rounds."""
    medians = {
        name: statistics.median(reading.mbit_per_s for reading in readings)
        for name, readings in by_tool([dict(of_round) for of_round in rounds]).items()
    }
    return Row(
        case,
        rounds,
        medians,
        rival=max(medians.keys() & set(rivals), key=lambda name: medians[name], default=""),
        way=max(medians.keys() & set(OURS), key=lambda name: medians[name], default=""),
    )


# ---- all of them ----


def print_rows(rows: Sequence[Row], tools: Sequence[str]) -> None:
    """Print medians and loss of each tool, then the ratios to the best other tool."""
    cells = [
        [
            str(row.case),
            *(_figure(row, name) for name in tools),
        ]
        for row in rows
    ]
    print(table(["Mbit/s at the receiver (loss %), medians", *tools], cells), end="\n\n")
    lines = []
    for row in rows:
        round_ratios = row.ratios(BLOCKING, row.rival)
        scatter = f"{min(round_ratios):.2f} to {max(round_ratios):.2f}" if round_ratios else ""
        ratios = [f"{row.ratio(name, row.rival):.3f}" for name in OURS]
        lines.append([str(row.case), row.rival, *ratios, scatter, row.way])
    print(table(["ratio", "to", *OURS, "blocking, rounds", "best way"], lines), end="\n\n")


def _figure(row: Row, name: str) -> str:
    if name not in row.medians:
        return ""
    loss = f" ({100 * row.loss(name):.2f})" if row.case.udp else ""
    return f"{row.medians[name]:.0f}{loss}"


def judge(rows: Sequence[Row]) -> int:
    """Print each criterion with what was measured for it. Returns the exit status."""
    blocking = {str(row.case): row.ratio(BLOCKING, row.rival) for row in rows}
    adaptive = {str(row.case): row.ratio(ADAPTIVE, BLOCKING) for row in rows}
    as_fast = sum(ratio >= AS_FAST for ratio in blocking.values())
    udp = [row for row in rows if row.case.udp]
    more_loss = [row for row in udp if row.loses_more(BLOCKING, row.rival)]
    verdicts = [
        Verdict(
            all(ratio >= LEAST_RATIO for ratio in blocking.values()),
            f"blocking: at least {LEAST_RATIO} of the best of the others in every row",
            _least(blocking, LEAST_RATIO),
        ),
        Verdict(
            as_fast >= AS_FAST_SHARE * len(rows),
            f"blocking: at least {AS_FAST:.2f} in {AS_FAST_SHARE * 100:.0f} % of the rows",
            f"in {as_fast} of {len(rows)}",
        ),
        Verdict(
            not more_loss,
            "blocking: UDP loss no higher than the best one's",
            _losses(more_loss, BLOCKING) or f"in {len(udp)} of {len(udp)} rows",
        ),
        *_of_best_ways(rows),
        Verdict(
            all(ratio >= LEAST_ADAPTIVE for ratio in adaptive.values()),
            f"adaptive: at least {LEAST_ADAPTIVE} of blocking in every row",
            _least(adaptive, LEAST_ADAPTIVE),
        ),
    ]
    met_count = sum(verdict.met for verdict in verdicts)
    return finish(
        verdicts,
        f"throughput: {met_count} of {len(verdicts)} criteria met; "
        f"blocking {_least(blocking, 1.0)}",
    )


def _of_best_ways(rows: Sequence[Row]) -> list[Verdict]:
    """Verdicts about the probe's best way and the best other tool: one per message size, one about
    loss.
    """
    verdicts = []
    for (protocol, size), least in LEAST_BEST.items():
        own = [
            row for row in rows if (row.case.protocol, row.case.message_bytes) == (protocol, size)
        ]
        way_ratios = [(row.ratio(row.way, row.rival), row.way) for row in own]
        if way_ratios:
            words = " and ".join(f"{ratio:.3f} ({way})" for ratio, way in way_ratios)
            is_met = all(ratio >= least for ratio, _way in way_ratios)
            verdicts.append(
                Verdict(is_met, f"best way, {protocol} {size}: at least {least}", words)
            )
    udp = [row for row in rows if row.case.udp]
    if udp:
        more = [row for row in udp if row.loss(row.way) > MOST_LOSS_SHARE * row.loss(row.rival)]
        verdicts.append(
            Verdict(
                not more,
                f"best way: UDP loss at most {MOST_LOSS_SHARE} of the best one's",
                "; ".join(_losses([row], row.way) for row in more)
                or f"in {len(udp)} of {len(udp)} rows",
            )
        )
    return verdicts


def _losses(rows: Sequence[Row], name: str) -> str:
    return "; ".join(
        f"{row.case}: {name} {100 * row.loss(name):.3f} %, "
        f"{row.rival} {100 * row.loss(row.rival):.3f} %"
        for row in rows
    )


def _least(ratios: Mapping[str, float], threshold: float) -> str:
    """A text: how many ratios reach the threshold, and the smallest ratio."""
    if not ratios:
        return "no figures"
    least = min(ratios, key=lambda name: ratios[name])
    reach = sum(ratio >= threshold for ratio in ratios.values())
    return (
        f"{reach} of {len(ratios)} rows at least {threshold}, least {ratios[least]:.3f} ({least})"
    )


if __name__ == "__main__":
    sys.exit(main())
