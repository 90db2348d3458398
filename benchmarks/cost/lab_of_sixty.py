"""Measures all pairs of 40 hosts in a lab of 60: `make benchmark-lab-of-sixty`.

The hosts are network namespaces of this machine, each with its own SSH server. Every cell must have
a result.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from itertools import permutations
from pathlib import Path

from benchmarks.stage import Verdict, a_lab, finish, netlab, run_words
from netlab.experiment.hosts import named
from netlab.findings.analysis import load

HOSTS, MEASURED = 60, 40
MATRIX = """\
title: all pairs of {measured} hosts
pairings: [{pairings}]
parallel: true
tests: [{{test: round_trip, protocol: UDP, message_size: 64, count: 100}}]
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--hosts", type=int, default=HOSTS)
    words.add_argument("--measured", type=int, default=MEASURED, help="hosts of the pairs")
    arguments = words.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, a_lab(linux=arguments.hosts) as lab:
        lab_s = time.monotonic() - began_s
        names = [host.name for host in lab.hosts][: arguments.measured]
        pairs = ", ".join(named(*pair) for pair in permutations(names, 2))
        matrix, into = Path(scratch) / "matrix.yaml", Path(scratch) / "run"
        matrix.write_text(MATRIX.format(measured=len(names), pairings=pairs))
        began_s = time.monotonic()
        netlab(*run_words(matrix, lab.hosts_file, into))
        run_s = time.monotonic() - began_s
        records = load(into).records
    states = Counter(str(record.status) for record in records)
    cells = len(names) * (len(names) - 1)
    verdict = Verdict(
        states == {"ok": cells},
        f"all pairs of {len(names)} hosts are measured",
        f"{dict(states)} of {cells} cells",
    )
    return finish([verdict], f"lab up: {lab_s:.0f} s; run: {run_s:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
