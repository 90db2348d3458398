"""Checks a run whose lab is taken down, and that no Windows probe is left: for windows.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.faults.kill import ENDED, changed, record_lines, trial_begun
from benchmarks.stage import LAB_REPORT, NETLAB, ROOT, Verdict, run_words
from netlab import lab as labs
from netlab.lab import LabState, programs
from netlab.trial.record import from_data

LEASE_S = 12.0
GONE_S = LEASE_S + 8
CELLS_OF_A_PAIRING = 104
MOST_DOWNS = 8
"""Maximum number of times that the lab is taken down: twice the usual number, because a pairing may
not be complete if one of its cells fails."""
MATRIX = """\
title: Long trials
link: {rate: 100Mbit, mtu: 1500}
pairings: [WW]
defaults: {duration: 2s}
repeats: 20
tests:
  - {test: stream, protocol: TCP, message_size: 1448, socket_buffer: 64KiB}
"""


def goes_on_after_its_lab_was_taken_down(scratch: Path, seconds: float) -> list[Verdict]:
    """Take the lab down during the run whenever a pairing is complete, make it again, and
    resume.
    """
    into = scratch / "interrupted"
    options = labs.LabOptions(name=f"gone-{os.getpid()}", rate=100e6, windows=2)
    losses = downs = 0
    try:
        complete: set[str] = set()
        while len(complete) < 4 and downs < MOST_DOWNS:
            lab = labs.up(options)
            earlier_lines = record_lines(into)
            words = run_words(LAB_REPORT, lab.hosts_file, into, "--set", f"duration={seconds:g}s")
            with running([*words, "--patience", "3"]) as run:
                while run.poll() is None and pairings_complete(into) <= complete:
                    time.sleep(0.25)
                complete = pairings_complete(into)
                labs.down(options.name)
                code = run.wait(300)
            downs += 1
            losses += changed(earlier_lines, record_lines(into))
            print(f"  lab down after {', '.join(sorted(complete))}: the run ended with {code}")
        lab = labs.up(options)
        earlier_lines = record_lines(into)
        words = run_words(LAB_REPORT, lab.hosts_file, into, "--set", f"duration={seconds:g}s")
        with running(words) as run:
            code = run.wait(1800)
        losses += changed(earlier_lines, record_lines(into))
    finally:
        labs.down(options.name, forget=True)
    records = records_of(into)
    final = {record["cell"] for record in records if record["status"] in ENDED}
    counts = Counter(record["cell"] for record in records if from_data(record).is_final)
    twice = sum(count > 1 for count in counts.values())
    return [
        Verdict(
            len(final) == 4 * CELLS_OF_A_PAIRING and not twice and not losses and code == 0,
            f"interrupted by `netlab lab down` after each pairing: {4 * CELLS_OF_A_PAIRING} cells, "
            "each measured once, no finished record changed",
            f"{len(final)} cells, {twice} twice, {losses} changed, {downs} times down",
        )
    ]


def ends(lab: LabState, scratch: Path) -> list[Verdict]:
    """Check that no netprobe is left on any host after Ctrl-C, a kill, or a cut connection."""
    durations_s = {
        "Ctrl-C": interrupted(lab, scratch / "ctrl-c"),
        "kill -9 of the controller": killed(lab, scratch / "killed"),
        "the SSH connections were cut": cut(lab, scratch / "cut"),
    }
    most_s = {"Ctrl-C": 3.0}
    return [
        Verdict(
            gone_s is not None and gone_s <= most_s.get(ending, GONE_S),
            f"no netprobe {most_s.get(ending, GONE_S):g} s after {ending}",
            "some left" if gone_s is None else f"gone after {gone_s:.1f} s",
        )
        for ending, gone_s in durations_s.items()
    ]


def interrupted(lab: LabState, folder: Path) -> float | None:
    with at_work(lab, folder) as run:
        run.send_signal(signal.SIGINT)
        run.wait(30)
        return gone_after_s(lab)


def killed(lab: LabState, folder: Path) -> float | None:
    with at_work(lab, folder) as run:
        run.kill()
        run.wait(10)
        return gone_after_s(lab)


def cut(lab: LabState, folder: Path) -> float | None:
    """Seconds until no netprobe is left after the connection is cut; ``None`` if some are left.

    No FIN and no RST arrives, so only the end of their lease can end the probes.
    """
    if lab.plan is None:
        raise SystemExit("the lab is not up")
    bridge = lab.plan.bridge
    with at_work(lab, folder) as run:
        programs.run("ip", "link", "set", "dev", bridge, "down")
        try:
            run.kill()
            run.wait(10)
            return gone_after_s(lab)
        finally:
            programs.run("ip", "link", "set", "dev", bridge, "up")


@contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    silent = subprocess.DEVNULL
    with subprocess.Popen([*NETLAB, *words], cwd=ROOT, stdout=silent, stderr=silent) as run:
        try:
            yield run
        finally:
            run.kill()


@contextmanager
def at_work(lab: LabState, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in the middle of a trial between two Windows hosts."""
    folder.mkdir()
    matrix = folder / "matrix.yaml"
    matrix.write_text(MATRIX)
    with running(run_words(matrix, lab.hosts_file, folder / "run")) as run:
        end = time.monotonic() + 60
        while not record_lines(folder / "run") or not trial_begun(folder / "run"):
            if run.poll() is not None or time.monotonic() > end:
                raise SystemExit("no trial between two Windows hosts came to its end")
            time.sleep(0.01)
        time.sleep(0.5)
        if len(probes_of(lab)) < 2:
            raise SystemExit("no netprobe is seen while the run goes on: this check is blind")
        yield run


def gone_after_s(lab: LabState) -> float | None:
    """Seconds until no netprobe is left; ``None`` if some are still left after a long time."""
    begin = time.monotonic()
    while probes_of(lab):
        if time.monotonic() - begin > 2 * GONE_S:
            return None
        time.sleep(0.02)
    return time.monotonic() - begin


def probes_of(lab: LabState) -> list[str]:
    """Process numbers of the netprobes of the lab's users.

    They are found by their command line, because under wine the program file is wine's.
    """
    users = {host.uid for host in lab.hosts}
    probes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid in users and b"netprobe" in (process / "cmdline").read_bytes():
                probes.append(process.name)
        except OSError:
            continue  # it ended meanwhile
    return probes


def pairings_complete(into: Path) -> set[str]:
    """Pairings whose cells are all measured or impossible."""
    cells = {
        (record["pairing"], record["cell"])
        for record in records_of(into)
        if record["status"] in ENDED
    }
    counts = Counter(pairing for pairing, _ in cells)
    return {pairing for pairing, count in counts.items() if count >= CELLS_OF_A_PAIRING}


def records_of(into: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in record_lines(into)]
