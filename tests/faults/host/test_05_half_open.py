"""A connection that is half open is noticed by heartbeats: nothing is lost, and no probe stays."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from sshd import Site, site

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def test_a_frozen_connection_is_made_anew(
    bench: Bench,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(agent, "SILENCE_S", 1.0)
    monkeypatch.setattr(agent, "HEARTBEAT_S", 0.2)
    far = site.server()
    matrix = bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        repeats="8",
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    run_end = threading.Event()

    def freeze() -> None:
        bench.wait_for('"kind":"record"')
        with far.frozen():
            run_end.wait(60)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    try:
        outcome = run(Options(matrix=matrix, into=bench.folder / "out"), Progress())
        # Its sshd is still stopped: what ended the old probe was not the end of its input.
        probes = bench.probes_left(3)
    finally:
        run_end.set()
        freezer.join()
    assert outcome.counts == {"ok": 8}
    assert probes == []
    faulty = bench.load()
    assert by_status(faulty) == {"ok": 8}
    assert wrong_ok(bench.load("clean"), faulty) == []
    assert agent.SILENCE_S == 1.0
    record_property("figure", "0 of 8 trials lost")


def test_by_default_a_silent_host_is_lost_within_45_s() -> None:
    assert agent.SILENCE_S + 2 * agent.HEARTBEAT_S < 45
