"""Ctrl-C at random moments of runs whose host falls silent: `make benchmark-interrupts`.

The host is an SSH server in this process that sends nothing more after its n-th message. Each time
a run is started, the host falls silent at a random stage: before its banner, at key exchange,
login, the first command, SFTP, the agent's greeting, checks, facts, trials, or never. The signal is
sent at a random moment before the report is complete. The table has the median and the longest time
until the prompt is back. This must be at most 5 s. No probe may be left, the journal must be
readable, and there must be no traceback.

``--times`` is the number of SIGINTs, which are sent as the terminal sends them. ``--others`` is the
number of SIGTERMs, and of SIGHUPs. ``--seed`` is the seed of the random numbers. ``--first N
--times 1`` repeats the run with number N. Everything is in a temporary folder. With the default
numbers it takes half an hour.
"""

from __future__ import annotations

import argparse
import os
import pwd
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fault_runs import LOCAL, Bench, bench_in
from sshd import make_key
from stalling_ssh_server import STAGES, Said, StallingServer

from benchmarks.faults.chaos_kills import shown
from benchmarks.stage import ROOT, Verdict, finish, table
from netlab.store.journal import read_journal

TIMES, OTHERS = 300, 30
MOST_S = 5.0
"""Longest time from the signal until the prompt is back, and until no probe is left."""
HANG_S = 60.0
"""Time after which a run counts as one that does not end."""
CLEAN_S = 120.0
STALLED_S = 4.0
"""Longest time from the silence of the host to the signal."""
BEFORE = 0.3
"""Share of the signals that come before the host falls silent."""
NEVER = "never"
PACKAGE = str(ROOT / "netlab")
TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1448, rate: 20Mbit}"


@dataclass(frozen=True, slots=True)
class Draw:
    """When the host falls silent, and when the signal comes."""

    stage: str
    most: int | None
    """Number of messages that the host sends before it falls silent; ``None``: never."""
    moment_s: float
    """When the signal is sent, counted from the start of the run or from the silence."""
    in_silence: bool = False


@dataclass(slots=True)
class Ends:
    """How the interrupted runs ended."""

    after_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Stage → seconds from the signal to the prompt."""
    early: int = 0
    """Number of runs that ended before their signal."""
    late: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)

    def all_s(self) -> list[float]:
        """The times of all stages together."""
        return [time_s for times in self.after_s.values() for time_s in times]


@contextmanager
def _prepared(scratch: Path) -> Iterator[tuple[Bench, StallingServer]]:
    with bench_in(scratch) as bench:
        make_key(bench.home / ".ssh" / "id_ed25519")
        server = StallingServer(scratch / "server")
        try:
            (bench.home / ".ssh" / "known_hosts").write_text(server.known)
            user = pwd.getpwuid(os.geteuid()).pw_name
            at = f"{{os: L, ssh: {user}@127.0.0.1:{server.port}, addresses: {{test: 127.0.0.1}}}}"
            bench.matrix(TESTS, server=at, client=LOCAL, repeats="3")
            yield bench, server
        finally:
            server.close()


def _start(bench: Bench, server: StallingServer, into: str) -> subprocess.Popen[str]:
    """Start a run that copies the probe to the host, which has none."""
    shutil.rmtree(server.home / ".cache", ignore_errors=True)
    words = ("run", "matrix.yaml", "--into", into, "--wait", "30")
    return bench.start(*words, stdout=subprocess.DEVNULL, process_group=0)


def draw(chance: random.Random, clean: list[Said], clean_s: float) -> Draw:
    """A random stage, a random message of this stage, and a random moment for the signal.

    ``clean``: the messages of a run without a signal, which takes ``clean_s`` seconds.
    """
    stages = [*dict.fromkeys(message.stage for message in clean), NEVER]
    stage = chance.choice(stages)
    if stage == NEVER:
        return Draw(stage, None, chance.uniform(0, clean_s))
    most = chance.choice([n for n, message in enumerate(clean) if message.stage == stage])
    silent_s = clean[most].after_s
    if chance.random() < BEFORE:
        return Draw(stage, most, chance.uniform(0, silent_s))
    return Draw(stage, most, chance.uniform(0, STALLED_S), in_silence=True)


def interrupt(
    bench: Bench,
    server: StallingServer,
    choice: Draw,
    number: signal.Signals,
    into: str,
    ends: Ends,
) -> None:
    """Send a signal to a run, and note in ``ends`` how long it took to end and what it left."""
    server.begin(choice.most)
    child = _start(bench, server, into)
    began = time.monotonic()
    while child.poll() is None and time.monotonic() - began < choice.moment_s:
        time.sleep(0.002)
        if choice.in_silence and not server.is_silent:
            began = time.monotonic()
    if child.poll() is not None:
        child.communicate()
        ends.early += 1
        return
    since = "of silence" if choice.in_silence else "of the run"
    label = f"{into}: {number.name} after {choice.moment_s:.2f} s {since}, silent at {choice.stage}"
    label += "" if choice.most is None else f" after {choice.most} messages"
    # The terminal sends its signals to all processes in the foreground, `kill` only to one.
    (os.kill if number == signal.SIGTERM else os.killpg)(child.pid, number)
    signalled_at = time.monotonic()
    try:
        output = child.communicate(timeout=HANG_S)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        output = child.communicate()[1]
        ends.late.append(f"{label}: no end in {HANG_S:g} s")
    took_s = time.monotonic() - signalled_at
    probes = bench.probes_left(max(0.0, MOST_S - took_s))
    stage = choice.stage if server.is_silent else NEVER
    ends.after_s[stage].append(took_s)
    if MOST_S < took_s < HANG_S:
        ends.late.append(f"{label}: {took_s:.1f} s")
    if probes:
        ends.alive.append(f"{label}: {len(probes)} {MOST_S:g} s after the signal")
    complaint = _placed_fault(bench.folder / into, child.returncode, output, number)
    if complaint and took_s < HANG_S:
        ends.bad.append(f"{label}: {complaint}")
    word = "" if not complaint else f"; {complaint}"
    print(f"{label}: {took_s:.2f} s, exit status {child.returncode}{word}", flush=True)
    server.hang_up()
    bench.probes_left(HANG_S)


def _placed_fault(folder: Path, code: int, output: str, number: signal.Signals) -> str:
    """What is wrong with the end of a run; empty if nothing is."""
    if "Traceback" in output and PACKAGE in output:
        return f"a traceback: {output[output.rindex(PACKAGE) :].strip()[-300:]!r}"
    if code == 1 and output.strip().endswith("KeyboardInterrupt"):
        return ""  # Python was still starting, before netlab
    if code not in (128 + number, -number):
        return f"exit status {code}: {output.strip()[-200:]!r}"
    journal = folder / "journal.jsonl"
    damages = read_journal(journal)[1] if journal.exists() else ()
    return f"journal: {damages[0]}" if damages else ""


def signals_of(times: int, other_count: int) -> Iterator[signal.Signals]:
    """The signals, in their order."""
    yield from [signal.SIGINT] * times
    yield from [signal.SIGTERM, signal.SIGHUP] * other_count


def main() -> int:
    """Interrupt runs, print the verdicts. Returns the exit status."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--times", type=int, default=TIMES, help="SIGINTs")
    words.add_argument("--others", type=int, default=OTHERS, help="SIGTERMs, and SIGHUPs")
    words.add_argument("--first", type=int, default=1, help="number of the first")
    words.add_argument("--seed", type=int, default=1)
    arguments = words.parse_args()
    for signal_number in (signal.SIGINT, signal.SIGHUP):
        # A parent process without a terminal may ignore these signals; runs would inherit this.
        if signal.getsignal(signal_number) is signal.SIG_IGN:
            signal.signal(signal_number, signal.SIG_DFL)
    ends, began = Ends(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="netlab-") as name, _prepared(Path(name)) as prepared:
        bench, server = prepared
        clean, clean_s = _clean(bench, server)
        for count, signal_number in enumerate(
            signals_of(arguments.times, arguments.others), arguments.first
        ):
            chance = random.Random(f"{arguments.seed}-{count}")  # noqa: S311 - what can be repeated
            interrupt(
                bench, server, draw(chance, clean, clean_s), signal_number, f"run{count}", ends
            )
    return _judge(ends, f"seed {arguments.seed}, {time.monotonic() - began:.0f} s")


def _clean(bench: Bench, server: StallingServer) -> tuple[list[Said], float]:
    """The messages of the host in a run without a signal, and the seconds until the report is
    complete.

    An earlier run builds the probe, so that this run finds it here.
    """
    for into in ("first", "clean"):
        server.begin(None)
        began = time.monotonic()
        child = _start(bench, server, into)
        output = child.communicate(timeout=CLEAN_S)[1]
        if child.returncode not in (0, 3):  # a trial may fail if the machine is busy
            raise SystemExit(f"the run without a signal: {child.returncode}\n{output}")
    took_s = time.monotonic() - began
    stages = list(dict.fromkeys(message.stage for message in server.said))
    print(f"a run without a signal: {len(server.said)} messages, {took_s:.1f} s", flush=True)
    if stages != list(STAGES):
        raise SystemExit(f"the host received requests for {stages}, not for {list(STAGES)}")
    return server.said, took_s


def _judge(ends: Ends, details: str) -> int:
    rows = [
        (stage, str(len(times)), f"{statistics.median(times):.2f}", f"{max(times):.2f}")
        for stage in (*STAGES, NEVER)
        if (times := ends.after_s[stage])
    ]
    print(table(("silent at", "signals", "median s", "longest s"), rows))
    all_s = ends.all_s() or [0.0]
    longest = f"median {statistics.median(all_s):.2f} s, longest {max(all_s):.2f} s"
    verdicts = [
        Verdict(
            not ends.late, f"the prompt is back in {MOST_S:g} s", f"{longest}; {shown(ends.late)}"
        ),
        Verdict(not ends.alive, f"no probe {MOST_S:g} s after the signal", shown(ends.alive)),
        Verdict(not ends.bad, "its exit status, no traceback, a whole journal", shown(ends.bad)),
    ]
    return finish(
        verdicts,
        f"interrupts: {len(ends.all_s())} signals, {ends.early} runs over before theirs; "
        f"{longest}; {details}",
    )


if __name__ == "__main__":
    sys.exit(main())
