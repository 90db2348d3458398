"""Times the plan of 200 hosts, each measured with every other: `make benchmark-many-hosts`.

No host is contacted and nothing is sent. A round is the set of pairs that are measured at the same
time. The benchmark times the computation of the rounds alone, and the whole command `netlab plan`.
``--hosts N`` sets the number of hosts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.stage import NETLAB, ROOT, Verdict, finish
from netlab.experiment.hosts import Match, labels_of, named, rounds_of

MATRIX = """\
title: every host with every other
pairings: {between: all, inside: false}
parallel: true
tests: [{test: stream, protocol: TCP, message_size: 8KiB, duration: 10s}]
"""
MOST_S = 2.0


def inventory(hosts: int) -> str:
    """An inventory of hosts that do not exist: addresses of 198.18.0.0/15, reserved for
    benchmarks.
    """
    return "hosts:\n" + "".join(
        f"  h{n}: {{os: L, ssh: lab@198.19.{n // 250}.{n % 250 + 1}, "
        f"addresses: {{test: 198.18.{n // 250}.{n % 250 + 1}}}}}\n"
        for n in range(hosts)
    )


def scheduled(hosts: int) -> tuple[float, int]:
    """CPU seconds that the computation of the rounds takes (median of five), and the number of
    rounds.
    """
    names = [f"h{n}" for n in range(hosts)]
    pairings = [named(one, other) for one in names for other in names if one != other]
    meetings = [Match(pairing, *labels_of(pairing)) for pairing in pairings]
    times = []
    for _ in range(5):
        began = time.process_time()
        rounds = rounds_of(meetings)
        times.append(time.process_time() - began)
    return sorted(times)[2], len(rounds)


def planned(hosts: int) -> tuple[float, dict[str, object], str]:
    """Seconds that a whole `netlab plan` takes, its output as JSON, and its line about the time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "matrix.yaml").write_text(MATRIX)
        (folder / "hosts.yaml").write_text(inventory(hosts))
        words = [*NETLAB, "plan", str(folder / "matrix.yaml"), "--offline"]
        words += ["--hosts", str(folder / "hosts.yaml")]
        began = time.perf_counter()
        text = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        elapsed_s = time.perf_counter() - began
        plain = subprocess.run([*words, "--json"], cwd=ROOT, capture_output=True, check=True).stdout
    return elapsed_s, json.loads(plain), text.strip().splitlines()[-1]


def main() -> int:
    """Plan, print the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    hosts = parser.parse_args().hosts
    each_way = hosts - 1 if hosts % 2 == 0 else hosts
    schedule_s, rounds = scheduled(hosts)
    plan_s, plain, line = planned(hosts)
    verdicts = [
        Verdict(schedule_s < MOST_S, f"rounds drawn in {MOST_S:g} s", f"{schedule_s:.2f} s"),
        Verdict(rounds == 2 * each_way, f"{each_way} rounds each way", f"{rounds} both ways"),
        Verdict(plan_s < MOST_S, f"`netlab plan` takes less than {MOST_S:g} s", f"{plan_s:.2f} s"),
        Verdict(plain["rounds"] == rounds, "and reports the same rounds", f"{plain['rounds']}"),
        Verdict("one by one" in line, "and states the time against one pair at a time", line),
    ]
    return finish(
        verdicts,
        f"{hosts} hosts, {rounds} rounds: drawn in {schedule_s:.3f} s, planned in {plan_s:.2f} s; "
        f"the run takes {plain['seconds']:.0f} s, one by one {plain['seconds_one_by_one']:.0f} s",
    )


if __name__ == "__main__":
    sys.exit(main())
