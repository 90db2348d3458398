"""Ctrl-C while a login is slow (`sleep` in its rc file) brings the prompt back within 5 s."""

from __future__ import annotations

import signal
import time

import pytest
import sshd
from fault_runs import Bench, at, bench
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]


def interrupt_a_slow_login(bench: Bench, site: Site, command: str) -> Seen:
    far = site.server()
    login = far.folder / "login"
    marker = bench.folder / "login-begun"
    slow = f"touch '{marker}'; sleep 30; exec $SSH"
    login.write_text(login.read_text().replace("exec $SSH", slow))
    bench.matrix(server=at(far))
    words = {
        "run": ("run", "matrix.yaml", "--no-report", "--into", "out"),
        "plan": ("plan", "matrix.yaml", "--hosts", "matrix.yaml"),
        "hosts": ("hosts", "matrix.yaml"),
    }
    child = bench.start(*words[command])
    assert sshd.until(marker.exists, 30)
    start_s = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, output = child.communicate(timeout=60)
    took_s = time.monotonic() - start_s
    return {"code": child.returncode, "stderr": output, "took_s": took_s}


@pytest.mark.parametrize("command", ["run", "plan", "hosts"])
@injects("sshd")
def test_an_interrupted_command_does_not_wait_for_a_slow_login(
    outcome_of: OutcomeOf, command: str
) -> None:
    outcome = outcome_of(interrupt_a_slow_login, command=command)
    assert outcome["code"] == 130
    assert outcome["took_s"] < 5
    assert "Traceback" not in outcome["stderr"]
    outcome.figure(f"netlab {command}: {outcome['took_s']:.1f} s")
