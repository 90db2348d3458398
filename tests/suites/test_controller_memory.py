"""The benchmark of the controller's memory measures a small run, and opens it again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

import netlab

MODULE = "benchmarks.faults.controller_memory"


@pytest.mark.night
@pytest.mark.needs("linux")
def test_the_benchmark_of_memory_measures_each_trial_once_and_reads_the_run_again(
    tmp_path: Path,
) -> None:
    argv = [sys.executable, "-m", MODULE, "--into", str(tmp_path / "run")]
    argv += ["--cells", "32", "--trials", "2"]
    trial_counts = []
    for _ in range(2):
        process = subprocess.run(
            argv,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        trial_counts.append(json.loads(process.stdout)["left"])
    frame = netlab.load(tmp_path / "run").frame
    assert trial_counts == [len(frame), 0] and len(frame) >= 64
    assert set(frame["status"]) == {"ok"}, set(frame["reason"])
