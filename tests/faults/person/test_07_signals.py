"""The first signal ends a run in order within 5 s, whatever a host does; the second at once."""

from __future__ import annotations

import re
import signal
import subprocess
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
TESTS = "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
END_S = 5.0


def ended(child: subprocess.Popen[str]) -> tuple[float, str]:
    """How long it took from now, and what was said."""
    start_s = time.monotonic()
    _, output = child.communicate(timeout=30)
    assert "Traceback" not in output
    return time.monotonic() - start_s, output


def good(folder: Path) -> list[str]:
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"status":"ok"' in line]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_the_first_closes_the_journal_and_says_how_to_go_on(
    bench: Bench,
    site: Site,
    number: signal.Signals,
    code: int,
    record_property: Callable[[str, object], None],
) -> None:
    bench.matrix(TESTS, server=at(site.server()), repeats="4", defaults="{duration: 600ms}")
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    time.sleep(0.2)
    child.send_signal(number)
    took_s, output = ended(child)
    assert child.returncode == code
    assert took_s < END_S
    assert f"ended by {number.name}" in output
    assert "to resume: netlab resume out" in output
    assert bench.probes_left(1) == []
    first_run = bench.load()
    (pending_record,) = (record for record in first_run.records if record.status != "ok")
    assert (pending_record.status, pending_record.reason) == ("pending", "interrupted")
    good_lines = good(bench.folder / "out")
    process = bench.run(*WORDS, "out")
    assert process.returncode == 0, process.stderr
    assert good(bench.folder / "out")[: len(good_lines)] == good_lines
    faulty = bench.load()
    assert by_status(faulty) == {"ok": 4}
    assert len(good(bench.folder / "out")) == 4
    assert wrong_ok(bench.load("clean"), faulty) == []
    record_property("figure", f"{number.name}: {took_s:.1f} s")


def test_a_host_that_is_stopped_does_not_hold_it_up_and_is_named(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    bench.matrix(TESTS, server=at(far), repeats="3", defaults="{duration: 2s}")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.5)
    with far.frozen():
        child.send_signal(signal.SIGINT)
        took_s, output = ended(child)
    assert child.returncode == 130
    assert took_s < END_S
    assert re.search(r"waiting for .*server to end the probe", output)
    record_property("figure", f"a stopped host: {took_s:.1f} s")


def test_the_second_ends_it_at_once(
    bench: Bench, site: Site, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    bench.matrix(TESTS, server=at(far), repeats="3", defaults="{duration: 2s}")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"attempt"')
    time.sleep(0.5)
    with far.frozen():
        child.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        took_s, _ = ended(child)
    assert child.returncode == 130
    assert took_s < 2
    assert bench.run(*WORDS, "out").returncode == 0
    record_property("figure", f"twice: {took_s:.1f} s after the second")


def test_a_pause_ends_at_once(bench: Bench) -> None:
    bench.matrix(TESTS, repeats="2", pause="10min")
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    child.send_signal(signal.SIGINT)
    took_s, output = ended(child)
    assert (child.returncode, len(good(bench.folder / "out"))) == (130, 1)
    assert took_s < END_S
    assert "10 min between trials" in output
