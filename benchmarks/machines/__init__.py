"""What machines with a kernel of their own can carry: `make benchmark-machine-rates`."""

import sys

from benchmarks.stage import ROOT

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("support", "suites", "machines")]
