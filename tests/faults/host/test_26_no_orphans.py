"""Where the controller and its connections vanish silently, probes end by their lease."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
import sshd
from fault_runs import IDLE_LEFT_S, Bench, at, bench
from sshd import Site, site

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]


def test_none_is_left_after_lease_and_5_s(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    # A second trial: in the pause before it both agents are there, and the run has not ended.
    tests = "{test: stream, protocol: UDP, message_size: [1448, 1000]}"
    bench.matrix(tests, server=at(far), pause="1min")
    child = bench.start("run", "matrix.yaml", "--no-report", "--into", "out")
    bench.wait_for('"kind":"record"')
    assert len(bench.probes()) == 2
    with far.frozen():
        # Nobody tells the host that the controller is dead.
        os.kill(child.pid, signal.SIGKILL)
        killed = time.monotonic()
        assert bench.probes_left(IDLE_LEFT_S) == []
        record_property("figure", f"none after {time.monotonic() - killed:.0f} s")
