"""A run under `nohup` outlives the logout: a signal that was ignored at its start stays ignored."""

from __future__ import annotations

import signal
from functools import partial

import pytest
from fault_runs import Bench, bench, by_status
from outcomes import OutcomeOf, Seen, injects, outcome_of

__all__ = ["bench", "outcome_of"]


def signal_one_that_ignores_it(bench: Bench, name: str) -> Seen:
    number = signal.Signals[name]
    bench.matrix("{test: stream, protocol: UDP, message_size: 1448}", repeats="4")
    words = ("run", "matrix.yaml", "--no-report", "--into", "out")
    child = bench.start(*words, preexec_fn=partial(signal.signal, number, signal.SIG_IGN))
    bench.wait_for('"kind":"record"')
    child.send_signal(number)
    _, output = child.communicate(timeout=60)
    return {"code": child.returncode, "stderr": output}


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM"])
@injects()
def test_a_run_goes_on_after_a_signal_that_was_ignored_at_the_start_of_the_run(
    outcome_of: OutcomeOf, name: str
) -> None:
    outcome = outcome_of(signal_one_that_ignores_it, name=name)
    assert outcome["code"] == 0, outcome["stderr"]
    assert by_status(outcome.load()) == {"ok": 4}
