"""A host whose sshd and connections are killed, and that is back after 3 s, loses no cell."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from sshd import Site, site

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
AWAY_S = 3.0
TRIALS = 12


def test_its_trials_wait_until_it_is_back(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    far.stop()
    back = threading.Timer(AWAY_S, far.start)
    back.start()
    _, output = child.communicate(timeout=60)
    back.join()
    assert child.returncode == 0, output
    assert "the run waits until" in output
    faulty = bench.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert {record.reason for record in faulty.records} <= {None, "host-away", "host-gone"}
    assert [entry["when"] for entry in faulty.facts].count("again") == 1
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", f"0 of {TRIALS} trials lost, away for {AWAY_S:g} s")
