"""Planted limits and what netlab says of them: `make benchmark-truths`.

Each truth is planted in a lab of its own: a quota, a busy neighbour, a small window over a path
with delay, a short queue, a slow cable, and so on (planted_truths.py). A run measures there, and
its findings must name it. A clean run must not be warned of.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from benchmarks.stage import Verdict, finish, table
from benchmarks.truth.planted_truths import TRUTHS, Truth, found_in, is_named, warned_of
from netlab.findings.finding import Finding


def verdict_of(truth: Truth, found: Sequence[Finding]) -> Verdict:
    """Whether it was named; of a clean run, whether nothing was warned of."""
    warned = ", ".join(warned_of(found))
    if truth.expected is None:
        return Verdict(is_named(truth, found), f"{truth.planted}: no warning", warned or "none")
    times = sum(each.kind is truth.expected for each in found)
    said = f"said {times} times" if times else f"warned of: {warned or 'nothing'}"
    return Verdict(is_named(truth, found), f"{truth.planted}: {truth.expected}", said)


def main() -> int:
    """Plant, measure, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", help="words of a truth's name", default="")
    asked = parser.parse_args()
    lines, verdicts, figures = [], [], []
    for truth in TRUTHS:
        if asked.only not in truth.planted:
            continue
        found = found_in(truth, asked.seconds)
        verdict = verdict_of(truth, found)
        kinds = list(dict.fromkeys(str(each.kind) for each in found))
        lines.append([truth.planted, str(truth.expected or "no warning"), ", ".join(kinds)])
        verdicts.append(verdict)
        print(f"{truth.planted}: {', '.join(kinds)}", file=sys.stderr, flush=True)
        figures.append({"planted": truth.planted, "found": kinds, "met": verdict.met})
    print(table(["planted", "expected", "found"], lines))
    return finish(verdicts, json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
