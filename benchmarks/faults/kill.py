"""Kills the controller twenty times in the middle of a matrix, and resumes: `make benchmark-kill`.

At the end all 104 Linux cells of the lab report must be measured, each once. The records that were
finished before a kill must be unchanged, and 15 s after a kill no netprobe may be alive on any
host. A kill counts as one during an active test under two conditions: the journal has the begin of
a trial but not its record, and the hosts' test interfaces received at least 20 frames within the 30
ms before the kill.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.stage import LAB_REPORT, NETLAB, ROOT, Verdict, a_lab, finish, netlab, run_words
from netlab.lab import LabState
from netlab.store.journal import JournalLine, read_journal
from netlab.trial.record import from_data

KILLS, ACTIVE_KILLS, CELLS = 20, 10, 104
GONE_S = 15.0
ENDED = {"ok", "impossible"}


@dataclass(slots=True)
class Toll:
    """The results of the kills."""

    active: int = 0
    gone_after_s: list[float] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    changed: int = 0


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--kills", type=int, default=KILLS)
    words.add_argument("--seconds", type=float, default=0.5, help="a cell")
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311  (no secret: moments that can be repeated)
    toll = Toll()
    with a_lab(100e6) as lab, tempfile.TemporaryDirectory() as scratch:
        into = Path(scratch) / "run"
        command = run_words(
            LAB_REPORT, lab.hosts_file, into, "--only", "LL", "--wait", "30",
            "--set", f"duration={arguments.seconds:g}s",
        )  # fmt: skip
        for number in range(arguments.kills):
            kill_once(lab, command, into, chance, toll, number)
        earlier_lines = record_lines(into)
        netlab(*command)
        later_lines = record_lines(into)
    toll.changed += changed(earlier_lines, later_lines)
    records = [json.loads(line) for line in later_lines]
    trials = {(record["cell"], record["trial"]) for record in records if record["status"] in ENDED}
    final = Counter(
        (record["cell"], record["trial"]) for record in records if from_data(record).is_final
    )
    twice = [key for key, count in final.items() if count > 1]
    verdicts = [
        Verdict(len(trials) == CELLS, f"{CELLS} cells, none lost", f"{len(trials)}"),
        Verdict(not twice, "none measured twice", f"{len(twice)} twice"),
        Verdict(toll.changed == 0, "finished records unchanged", f"{toll.changed} changed"),
        Verdict(
            not toll.alive,
            f"no netprobe {GONE_S:g} s after a kill",
            f"{len(toll.alive)} alive; gone after {max(toll.gone_after_s):.1f} s at most",
        ),
        Verdict(
            toll.active >= min(ACTIVE_KILLS, arguments.kills),
            f"{ACTIVE_KILLS} kills and more while a test is active",
            f"{toll.active} of {arguments.kills}",
        ),
    ]
    return finish(
        verdicts,
        f"kill: {arguments.kills} kills, {toll.active} during a test; {len(trials)} cells, "
        f"{len(twice)} twice, {toll.changed} records changed, {len(toll.alive)} netprobe left",
    )


def kill_once(
    lab: LabState, command: list[str], into: Path, chance: random.Random, toll: Toll, number: int
) -> None:
    """Begin or resume the run, kill it during a trial, and check what is left."""
    earlier_lines = record_lines(into)
    record_count = len(earlier_lines) + chance.randint(1, 3)
    with subprocess.Popen(
        [*NETLAB, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as run:
        end = time.monotonic() + 60
        while len(record_lines(into)) < record_count or not trial_begun(into):
            if run.poll() is not None or time.monotonic() > end:
                run.kill()
                assert run.stderr is not None
                raise SystemExit(f"the run ended too early: {run.stderr.read().decode()}")
            time.sleep(0.005)
        time.sleep(chance.uniform(0.02, 0.4))
        frames = received_frames(lab)
        time.sleep(0.03)
        busy = received_frames(lab) - frames >= 20
        if len(probes_of(lab)) < len(lab.hosts):
            run.kill()
            raise SystemExit("no netprobe is seen while the run goes on: this check is blind")
        run.kill()
    killed_at = time.monotonic()
    during = busy and trial_begun(into)
    toll.active += during
    alive = probes_of(lab)
    while alive and time.monotonic() - killed_at < GONE_S:
        time.sleep(0.05)
        alive = probes_of(lab)
    gone_after_s = time.monotonic() - killed_at
    toll.gone_after_s.append(gone_after_s)
    toll.alive += alive
    later_lines = record_lines(into)
    toll.changed += changed(earlier_lines, later_lines)
    print(
        f"kill {number + 1}: {len(later_lines)} records, "
        f"{'in a test' if during else 'between tests'}, "
        f"no netprobe after {gone_after_s:.2f} s",
        flush=True,
    )


def journal_lines(into: Path) -> tuple[JournalLine, ...]:
    """The complete lines of the journal, without an incomplete last one."""
    path = into / "journal.jsonl"
    return read_journal(path)[0] if path.exists() else ()


def record_lines(into: Path) -> list[str]:
    """The lines of the records in the journal."""
    return [line.text for line in journal_lines(into) if line.data["kind"] == "record"]


def trial_begun(into: Path) -> bool:
    """Whether the last line of the journal is the begin of a trial."""
    lines = journal_lines(into)
    return bool(lines) and lines[-1].data["kind"] == "attempt"


def changed(earlier_lines: list[str], later_lines: list[str]) -> int:
    """Number of earlier records that are missing or changed."""
    return sum(old != new for old, new in zip(earlier_lines, later_lines, strict=False)) + max(
        0, len(earlier_lines) - len(later_lines)
    )


def received_frames(lab: LabState) -> int:
    """Number of frames that both ends of the test cable received."""
    total = 0
    for host in lab.hosts:
        process = json.loads((lab.folder / f"{host.name}.process").read_text())
        for line in Path(f"/proc/{process['pid']}/net/dev").read_text().splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == "test":
                total += int(counters.split()[1])
    return total


def probes_of(lab: LabState) -> list[str]:
    """Every netprobe that runs as one of the lab's users, by the path of its program."""
    users = {host.uid for host in lab.hosts}
    probes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid in users:
                path = str((process / "exe").readlink())
                if "netprobe" in path:
                    probes.append(f"{process.name} {path}")
        except OSError:
            continue  # it ended meanwhile
    return probes


if __name__ == "__main__":
    sys.exit(main())
