"""A probe that is stopped (SIGSTOP) and found silent is ours: ended there, and nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from sshd import Site, is_alive, site, until

from netlab.remote import agent
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")


def test_its_lock_is_no_other_runs(
    bench: Bench,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(agent, "SILENCE_S", 1.0)
    monkeypatch.setattr(agent, "HEARTBEAT_S", 0.2)
    matrix = bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(site.server()),
        client=at(site.server()),
        repeats="8",
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    pids: list[int] = []

    def stop_one() -> None:
        bench.wait_for('"kind":"record"')
        pids.extend(pid for pid in bench.probes()[:1])
        os.kill(pids[0], signal.SIGSTOP)

    stopper = threading.Thread(target=stop_one)
    stopper.start()
    outcome = run(Options(matrix=matrix, into=bench.folder / "out"), Progress())
    stopper.join()
    assert outcome.counts == {"ok": 8}
    assert until(lambda: not is_alive(pids[0]) or not Path(f"/proc/{pids[0]}/exe").exists())
    faulty = bench.load()
    assert by_status(faulty) == {"ok": 8}
    assert all("measured by" not in (record.detail or "") for record in faulty.records)
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", "0 of 8 trials lost")
