"""What a run shows on a terminal, and what it leaves to others."""

from __future__ import annotations

import json

import pytest
from fault_runs import Bench, bench
from terminals import terminal

from netlab.run.asked import Options
from netlab.run.host_pool import HostPool
from netlab.run.progress import Progress
from netlab.run.run import run

__all__ = ["bench"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into", "out", "--json")


def test_a_bar_on_the_terminal_takes_nothing_of_standard_output(bench: Bench) -> None:
    bench.matrix("{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}", repeats="2")
    with terminal() as shown:
        going = bench.start(*WORDS, stderr=shown.end, env={"TERM": "xterm"})
        out, _ = going.communicate(timeout=60)
        seen = shown.written()
    assert going.returncode == 0, seen
    records = [json.loads(line) for line in out.splitlines()]
    assert [each["status"] for each in records] == ["ok", "ok"]
    assert b"2/2" in seen
    assert b'"status"' not in seen


@pytest.mark.parametrize("here", [True, False])
def test_what_a_trial_carries_is_drawn_only_where_no_host_is_this_machine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    monkeypatch.setattr(HostPool, "measures_here", here)
    progress = Progress()
    drawn: list[str] = []
    monkeypatch.setattr(progress, "_draw", drawn.append)
    paced = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit, duration: 1500ms}"
    run(Options(matrix=bench.matrix(paced), into=bench.folder / "out"), progress)
    assert any("bit/s" in each for each in drawn) is not here
