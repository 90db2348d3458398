"""``export -o`` to a folder that is not there is one line that names it, and no traceback."""

from __future__ import annotations

import shutil

from fault_runs import Bench, bench
from folders import FIXTURES

__all__ = ["bench"]


def test_it_is_a_line_that_names_the_folder(bench: Bench) -> None:
    shutil.copytree(FIXTURES / "run-v1", bench.folder / "out")
    process = bench.run("export", "out", "-o", "nowhere/out.csv")
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1
    assert "nowhere" in process.stderr
