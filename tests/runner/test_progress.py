"""The output of a run on a terminal, and on other streams."""

from __future__ import annotations

import json
import re
import time

import pytest
from fault_runs import Bench, bench
from terminals import terminal

from netlab.runner.host_pool import HostPool
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench"]

ELSEWHERE = """\
import netlab.runner.host_pool as host_pool
host_pool.machine_id = lambda: "another machine"
host_pool.HostPool.measures_here = False
from netlab.__main__ import main
main()
"""
"""netlab, with hosts that are not taken for this machine."""

WORDS = ("run", "matrix.yaml", "--no-report", "--into", "out", "--json")


def test_the_progress_bar_writes_to_the_terminal_and_not_to_standard_output(bench: Bench) -> None:
    bench.matrix("{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}", repeats="2")
    with terminal() as screen:
        child = bench.start(*WORDS, stderr=screen.end, env={"TERM": "xterm"})
        out, _ = child.communicate(timeout=60)
        output = screen.written()
    assert child.returncode == 0, output
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert b"2/2" in output
    assert b'"status"' not in output


@pytest.mark.parametrize("is_local", [True, False])
def test_the_throughput_of_a_running_trial_is_drawn_only_if_no_host_is_this_machine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, is_local: bool
) -> None:
    monkeypatch.setattr(HostPool, "measures_here", is_local)
    progress = Progress()
    lines: list[str] = []
    monkeypatch.setattr(progress, "_draw", lambda words, now="": lines.append(f"{now} {words}"))
    paced = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit, duration: 1500ms}"
    run(Options(matrix=bench.matrix(paced), into=bench.folder / "out"), progress)
    assert any("bit/s" in line for line in lines) is not is_local


@pytest.mark.parametrize("columns", [60, 120])
def test_the_terminal_shows_the_throughput_the_last_figure_and_the_time_left(
    bench: Bench, columns: int
) -> None:
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        defaults="{duration: 3s}",
        repeats="2",
    )
    (bench.folder / "elsewhere.py").write_text(ELSEWHERE)
    bench.program = ("elsewhere.py",)
    began = time.monotonic()
    with terminal(columns) as screen:
        words = (*WORDS, "--wait", "60")
        child = bench.start(*words, stderr=screen.end, env={"TERM": "xterm", "COLUMNS": ""})
        bench.wait_for('"kind":"attempt"')
        first_began = time.monotonic()
        while b"bit/s" not in screen.so_far() and time.monotonic() < first_began + 3:
            time.sleep(0.05)
        seen_after_s = time.monotonic() - first_began
        child.communicate(timeout=60)
        frames = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", screen.written()).decode()
    assert child.returncode == 0, frames
    assert seen_after_s < 2.9, f"no figure while the first of {time.monotonic() - began:.1f} s ran"
    lines = [line for line in re.split(r"[\r\n]+", frames) if "left" in line]
    # During the first trial: no trial done, the current figure, and the cell.
    assert any(re.search(r"0/2, \d+ s left  \d+\.?\d* [kM]bit/s", line) for line in lines), lines
    assert any("LL stream UDP" in line for line in lines)
    if columns == 120:
        assert any(re.search(r"1/2, .*; last: \d+\.?\d* [kM]bit/s", line) for line in lines), lines
    assert all(len(line) <= columns for line in lines)
