"""A run under `nohup` outlives the logout: a signal that was ignored at its start stays ignored."""

from __future__ import annotations

import signal
from functools import partial

import pytest
from fault_runs import Bench, bench, by_status

__all__ = ["bench"]

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_it_measures_to_its_end(bench: Bench, number: signal.Signals) -> None:
    bench.matrix("{test: stream, protocol: UDP, message_size: 1448}", repeats="4")
    words = ("run", "matrix.yaml", "--no-report", "--into", "out")
    child = bench.start(*words, preexec_fn=partial(signal.signal, number, signal.SIG_IGN))
    bench.wait_for('"kind":"record"')
    child.send_signal(number)
    _, output = child.communicate(timeout=60)
    assert child.returncode == 0, output
    assert by_status(bench.load()) == {"ok": 4}
