"""SSH connections cut in mid-trial are made again: nothing is lost, and no probe is left."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from sshd import Site, site

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def test_the_trial_is_repeated(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        defaults="{duration: 500ms}",
        repeats="4",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.2)
    far.cut()
    _, output = child.communicate(timeout=60)
    assert child.returncode == 0, output
    faulty = bench.load()
    (failure,) = (record for record in faulty.records if record.status != "ok")
    assert (failure.status, failure.reason) == ("failed", "host-gone")
    assert by_status(faulty) == {"ok": 4}
    assert wrong_ok(bench.load("clean"), faulty) == []
    assert bench.probes_left(5) == []
    record_property("figure", "0 of 4 trials lost")
