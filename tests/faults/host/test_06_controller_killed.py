"""After `kill -9` of the controller the run is resumed: finished records stay byte for byte."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from sshd import Site, site

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
KILLS = 3
SEED = 6


def records(folder: Path) -> list[str]:
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"kind":"record"' in line]


def test_none_is_lost_and_none_is_there_twice(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(site.server()),
        repeats="8",
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    chance = random.Random(SEED)  # noqa: S311  (moments, no secrets)
    earlier_lines: list[str] = []
    for _ in range(KILLS):
        child = bench.start(*WORDS, "out", start_new_session=True)
        bench.wait_for('"kind":"session"')
        time.sleep(chance.uniform(0.0, 1.2))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        later_lines = records(bench.folder / "out")
        assert later_lines[: len(earlier_lines)] == earlier_lines
        earlier_lines = later_lines
    process = bench.run(*WORDS, "out")
    assert process.returncode == 0, process.stderr
    assert records(bench.folder / "out")[: len(earlier_lines)] == earlier_lines
    faulty = bench.load()
    assert by_status(faulty) == {"ok": 8}
    assert len(faulty.records) == 8
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", "0 lost, 0 twice")
    record_property("n", str(KILLS))
    record_property("seed", str(SEED))
