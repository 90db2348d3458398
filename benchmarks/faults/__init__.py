"""Benchmarks that inject faults into runs at random, many times, and check how the runs end."""

import sys

from benchmarks.stage import ROOT

# The code that injects faults belongs to the tests.
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("injection", "support", "suites")]
