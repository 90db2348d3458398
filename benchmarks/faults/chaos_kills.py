"""Kills the controller at random moments of small runs, and resumes each run until it is done.

For chaos.py. Two of the three hosts are real sshds on loopback.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fault_runs import IDLE_LEFT_S, LOCAL, Bench, at, bench_in
from sshd import servers_in

from benchmarks.stage import Verdict
from netlab.store.journal import read_journal
from netlab.trial.record import from_data

MATRIX = """\
title: small cells
hosts:
  near: {near}
  far: {far}
  further: {further}
pairings: [near+far, far+near, far+further]
order: shuffled
seed: 1
repeats: 2
defaults: {{duration: 150ms}}
tests:
  - {{test: stream, protocol: TCP, message_size: 1448}}
  - {{test: stream, protocol: UDP, message_size: 1448, rate: 20Mbit}}
  - {{test: round_trip, protocol: UDP, message_size: 64, count: 100}}
"""
TRIALS = 18
RUN_S = 120.0
"""Longest time of one session (one call of `netlab run`) until it ends by itself."""
MOST_SESSIONS = 5
"""Maximum number of sessions without a kill until a run is complete."""


@dataclass(slots=True)
class Toll:
    """The results of the kills, over all runs."""

    runs: int = 0
    kills: int = 0
    in_trial: int = 0
    """Kills at a moment when the journal had the begin of a trial but not its record."""
    trials: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)
    gone_after_s: list[float] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One verdict for each statement that must hold."""
        measured_count = self.trials - len(self.lost)
        slowest = max(self.gone_after_s, default=0.0)
        return [
            Verdict(
                not self.lost,
                "no cell is lost",
                f"{measured_count} of {self.trials} trials measured",
            ),
            Verdict(not self.twice, "a finished trial is not measured again", shown(self.twice)),
            Verdict(not self.changed, "what is written stays, byte by byte", shown(self.changed)),
            Verdict(
                not self.alive,
                "no probe outlives its controller's lease",
                f"{shown(self.alive)}; gone after {slowest:.1f} s at most",
            ),
            Verdict(not self.unended, "every session ends by itself", shown(self.unended)),
        ]


def shown(complaints: list[str]) -> str:
    """The number of complaints, and the first one as an example."""
    return f"{len(complaints)}{f', such as {complaints[0]}' if complaints else ''}"


@dataclass(slots=True)
class Orphans:
    """Probes of controllers that were killed, and whether they end in time."""

    toll: Toll
    living: dict[int, float] = field(default_factory=dict)
    """Process number → when its controller was killed, by the monotonic clock."""

    def note(self, bench: Bench, killed_at: float) -> None:
        """Watch all probes that live now."""
        self.living |= {pid: killed_at for pid in bench.probes() if pid not in self.living}

    def look(self) -> None:
        """Record which of the probes have ended, and which should have ended by now."""
        now = time.monotonic()
        for pid, killed_at in list(self.living.items()):
            if not _is_probe(pid):
                self.toll.gone_after_s.append(now - killed_at)
                del self.living[pid]
            elif now - killed_at > IDLE_LEFT_S:
                self.toll.alive.append(f"process {pid}, {IDLE_LEFT_S:g} s after a kill")
                del self.living[pid]

    def wait(self) -> None:
        """Wait until there is no probe left to watch."""
        while self.living:
            self.look()
            time.sleep(0.02)


def _is_probe(pid: int) -> bool:
    try:
        return "netprobe" in Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return False


def kill_all(scratch: Path, kills: int, chance: random.Random) -> Toll:
    """Kill the controller ``kills`` times, in as many runs as needed. Prints a line per kill."""
    toll = Toll()
    with bench_in(scratch) as bench, servers_in(scratch) as site:
        far, further = site.server(), site.server()
        text = MATRIX.format(near=LOCAL, far=at(far), further=at(further))
        (scratch / "matrix.yaml").write_text(text)
        clean_s = _clean_s(bench)
        print(f"a run without a kill: {TRIALS} trials in {clean_s:.1f} s", flush=True)
        orphans = Orphans(toll)
        while toll.kills < kills:
            into = scratch / f"killed{toll.runs}"
            _kill_sessions(bench, into, toll, orphans, chance, clean_s, kills)
            _until_done(bench, into, toll, orphans)
            judge(into, toll)
            toll.runs += 1
        orphans.wait()
        toll.alive += [f"process {pid} at the end" for pid in bench.probes_left()]
    return toll


def _start(bench: Bench, into: Path) -> subprocess.Popen[str]:
    words = ["run", "matrix.yaml", "--into", into.name, "--no-report", "--wait", "30"]
    words += ["--retries", "5"]  # on a busy machine a short trial may get no CPU time
    return bench.start(*words, stdout=subprocess.DEVNULL)


def _clean_s(bench: Bench) -> float:
    """Duration of an undisturbed run in seconds. SystemExit if it does not measure everything."""
    began = time.monotonic()
    child = _start(bench, bench.folder / "clean")
    output = child.communicate(timeout=RUN_S)[1]
    if child.returncode != 0:
        raise SystemExit(f"the run without a kill: exit status {child.returncode}\n{output}")
    return time.monotonic() - began


def _kill_sessions(
    bench: Bench,
    into: Path,
    toll: Toll,
    orphans: Orphans,
    chance: random.Random,
    clean_s: float,
    kills: int,
) -> None:
    """Kill each session of one run at a random moment, until a session ends before this moment.

    The next session begins at once, while probes of the last one may still be on the hosts.
    """
    while toll.kills < kills:
        old_contents = contents(into)
        moment_s = chance.uniform(0, clean_s)
        began = time.monotonic()
        child = _start(bench, into)
        while child.poll() is None and time.monotonic() - began < moment_s:
            orphans.look()
            time.sleep(0.005)
        child.kill()
        killed_at = time.monotonic()
        orphans.note(bench, killed_at)
        output = child.communicate()[1]
        new_contents = contents(into)
        toll.changed += changes(old_contents, new_contents, into.name)
        if child.returncode == 0:
            return
        if child.returncode > 0:
            toll.unended.append(f"{into.name}: exit status {child.returncode}: {output.strip()}")
            return
        toll.kills += 1
        in_trial = _kinds(into)[-1:] == ["attempt"]
        toll.in_trial += in_trial
        phase = "in a trial" if in_trial else "between trials"
        records = _kinds(into).count("record")
        print(f"kill {toll.kills} after {moment_s:.2f} s: {records} records, {phase}", flush=True)


def _until_done(bench: Bench, into: Path, toll: Toll, orphans: Orphans) -> None:
    """Resume the run without a kill until its exit status says that everything is measured."""
    for _ in range(MOST_SESSIONS):
        old_contents = contents(into)
        child, give_up = _start(bench, into), time.monotonic() + RUN_S
        while child.poll() is None:
            orphans.look()
            time.sleep(0.02)
            if time.monotonic() > give_up:
                child.kill()
                toll.unended.append(f"{into.name}: no end in {RUN_S:g} s")
                return
        output = child.communicate()[1]
        toll.changed += changes(old_contents, contents(into), into.name)
        if child.returncode == 0:
            return
    toll.unended.append(f"{into.name}: exit status {child.returncode}: {output.strip()}")


def contents(into: Path) -> dict[str, bytes]:
    """The files of a run folder that must not change once they are written: file name → bytes."""
    names = ("run.json", "matrix.yaml", "journal.jsonl")
    return {name: (into / name).read_bytes() for name in names if (into / name).exists()}


def changes(
    old_contents: dict[str, bytes], new_contents: dict[str, bytes], folder_name: str
) -> list[str]:
    """Files that have changed. Only the journal may have become longer."""
    paths = []
    for name, old_bytes in old_contents.items():
        is_kept = (
            new_contents.get(name, b"").startswith(old_bytes) if old_bytes else name in new_contents
        )
        if not is_kept or (name != "journal.jsonl" and new_contents[name] != old_bytes):
            paths.append(f"{folder_name}/{name}")
    return paths


def _kinds(into: Path) -> list[str]:
    """The kinds of the complete lines of a journal, in their order."""
    path = into / "journal.jsonl"
    return [line.data["kind"] for line in read_journal(path)[0]] if path.exists() else []


def judge(into: Path, toll: Toll) -> None:
    """Find the trials that a finished run lacks or has measured twice."""
    plan = json.loads((into / "run.json").read_text())
    trials = {(cell["key"], number) for cell in plan["cells"] for number in (1, 2)}
    toll.trials += len(trials)
    finished: Counter[tuple[str, int]] = Counter()
    for line in read_journal(into / "journal.jsonl")[0]:
        kind = line.data["kind"]
        if kind not in ("attempt", "record"):
            continue
        data = line.data if kind == "record" else line.data["data"]
        trial = data["cell"], data["trial"]
        if finished[trial]:
            toll.twice.append(f"{into.name}, line {line.number}: {kind} of {trial}")
        finished[trial] += kind == "record" and from_data(data).is_final
    toll.lost += [f"{into.name}: {trial}" for trial in sorted(trials) if not finished[trial]]
