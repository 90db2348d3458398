"""What is done to runs, at random and many times over, and what becomes of them."""

import sys

from benchmarks.stage import ROOT

# What injects faults is shared with the tests.
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("injection", "support", "suites")]
