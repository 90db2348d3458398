"""netlab's probe beside the field's tools on an unshaped veth: `make benchmark-throughput`.

iperf3, iperf2, nuttcp, and netperf where it is installed.
The same message sizes, socket buffers, seconds and CPUs for all (sender 0, receiver 1), in
interleaved rounds whose order turns, so that nobody always has the machine at its best. A row with
the system's own buffers and one with large ones. The figure is what the receiver took in.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks.peers.ends import Cable, Tool, by_tool, interleaved, those_installed
from benchmarks.peers.tools import RIVALS, Case, Reading, netlab_blocking, netlab_spinning
from benchmarks.stage import Verdict, a_lab, finish, table

LEAST_RATIO = 0.97
OURS = ("netlab", "netlab spinning")
TOOLS = (Tool(OURS[0], None, netlab_blocking), Tool(OURS[1], None, netlab_spinning), *RIVALS)
LARGE_BUFFER_BYTES = 2 * 1024 * 1024
Readings = dict[Case, list[dict[str, Reading]]]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=9)
    words.add_argument("--seconds", type=int, default=2, help="a measurement")
    words.add_argument("--only", help="cases whose name holds this, such as 'UDP 64'")
    asked = words.parse_args()
    tools = those_installed(TOOLS, OURS)
    cases = [case for case in all_cases(asked.seconds) if (asked.only or "") in str(case)]
    with a_lab() as lab:
        readings = interleaved(cases, tools, Cable(lab.hosts[0], lab.hosts[1]), asked.rounds)
    return judge(readings, [tool.name for tool in tools])


def all_cases(seconds: int) -> list[Case]:
    """Five message sizes, each with the system's buffers and with large ones."""
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    large = min(LARGE_BUFFER_BYTES, most)
    sizes = [("UDP", 64), ("UDP", 1472), ("TCP", 64), ("TCP", 1500), ("TCP", 65536)]
    return [
        Case(protocol, size, buffer, seconds)
        for protocol, size in sizes
        for buffer in (None, large)
    ]


def judge(readings: Readings, tools: list[str]) -> int:
    """The table of medians, the ratio to the best of the others, and the loss.

    The best one is that of the highest median; the ratio is the median of those of single rounds,
    in which both had the machine as it was at that time. So is the judgement of the loss.
    """
    others = [name for name in tools if name not in OURS]
    rows, ratios, worse_loss = [], {}, []
    for case, rounds in readings.items():
        medians = {
            name: statistics.median(each.mbit_per_s for each in found)
            for name, found in by_tool(rounds).items()
        }
        rivals = {name: medians[name] for name in others if name in medians}
        row = [str(case), *(f"{medians[name]:.1f}" if name in medians else "" for name in tools)]
        best = max(rivals, key=lambda name: rivals[name], default="")
        pairs = [(each[OURS[0]], each[best]) for each in rounds if {OURS[0], best} <= each.keys()]
        if not pairs:
            rows.append([*row, "", "", "", "", ""])
            continue
        ratios[case], spread = ratio(pairs)
        row += [f"{ratios[case]:.3f}", spread, best]
        if case.udp:
            ours, theirs = (median_loss(list(side)) for side in zip(*pairs, strict=True))
            row += [f"{ours * 100:.2f}", f"{theirs * 100:.2f}"]
            if more_loss(pairs) > 0:
                worse_loss.append(f"{case}: {ours * 100:.2f} % against {theirs * 100:.2f} %")
        else:
            row += ["", ""]
        rows.append(row)
    head = ["Mbit/s at the receiver, median", *tools]
    print(table([*head, "ratio", "in rounds", "to", "loss %", "its loss %"], rows))
    met = [case for case, found in ratios.items() if found >= LEAST_RATIO]
    least = min(ratios, key=lambda case: ratios[case], default=None)
    weakest = "no figures" if least is None else f"least ratio {ratios[least]:.3f} ({least})"
    datagrams = [case for case in ratios if case.udp]
    return finish(
        [
            Verdict(
                len(met) == len(readings),
                f"ratio to the best of them at least {LEAST_RATIO}",
                f"{len(met)} of {len(readings)} rows; {weakest}",
            ),
            Verdict(
                not worse_loss,
                "UDP loss no higher than the best one's",
                "; ".join(worse_loss) or f"in {len(datagrams)} of {len(datagrams)} rows",
            ),
        ],
        f"throughput: {weakest}, {len(met)} of {len(readings)} rows at least {LEAST_RATIO}; UDP "
        f"loss no higher in {len(datagrams) - len(worse_loss)} of {len(datagrams)} rows",
    )


def ratio(rounds: list[tuple[Reading, Reading]]) -> tuple[float, str]:
    """Of our throughput to theirs: the median over the rounds, and the least and the most."""
    found = [ours.mbit_per_s / theirs.mbit_per_s for ours, theirs in rounds]
    return statistics.median(found), f"{min(found):.2f} to {max(found):.2f}"


def more_loss(rounds: list[tuple[Reading, Reading]]) -> float:
    """By how much more of what was sent we lost: the median over the rounds that know it."""
    return statistics.median(
        ours.loss - theirs.loss
        for ours, theirs in rounds
        if ours.loss is not None and theirs.loss is not None
    )


def median_loss(found: list[Reading]) -> float:
    return statistics.median(each.loss for each in found if each.loss is not None)


if __name__ == "__main__":
    sys.exit(main())
