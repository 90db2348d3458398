"""What a run shows on a terminal, and what it leaves to others."""

from __future__ import annotations

import json

from fault_runs import Bench, bench
from terminals import terminal

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
