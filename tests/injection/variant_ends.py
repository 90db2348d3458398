"""Runs that change settings of a lab's hosts, their ends, and whether all is put back then."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fault_runs import Bench
from sshd import is_openssh, state
from undo_logs import SLOT_BYTES

from netlab.lab.life import LabState
from netlab.lab.network import processes
from netlab.lab.plan import LabHost
from netlab.lab.programs import run as run_program

MATRIX = """\
title: settings that are put back
pairings: [linux-a+linux-b]
switching: interleaved
repeats: 6
defaults: {duration: 100ms}
variants:
  ecn:
    found: {}
    wanted: {both: {sysctl: {net.ipv4.tcp_ecn: 1}, sudo: true}}
  offload:
    on: {client: {enter: "sudo -n ethtool -K {interface} gso on tso on", check: "ethtool -k {interface}", restore: as found}}
    off: {client: {enter: "sudo -n ethtool -K {interface} gso off tso off", check: "ethtool -k {interface}", restore: as found}}
tests:
  - {test: stream, protocol: UDP, message_size: 1400, rate: 8Mbit}
"""  # noqa: E501
TRIALS = 24

PUT_BACK_S = 30.0
"""From an end until all is put back: an agent without a controller lives 12 s, and its keeper waits
5 s for what it had started."""
RUN_S = 120.0
"""After which a run counts as one that does not end."""

Settings = dict[tuple[str, str], str]
"""Host and name → value."""


@dataclass(frozen=True, slots=True)
class SettingsLab:
    """A lab whose accounts may change settings, and runs that do so."""

    of: LabState
    bench: Bench

    @property
    def hosts(self) -> tuple[LabHost, ...]:
        return self.of.hosts

    def start(self, into: str) -> subprocess.Popen[str]:
        """A run in its own process group, as a shell starts it."""
        (self.bench.folder / "matrix.yaml").write_text(MATRIX)
        words = ("run", "matrix.yaml", "--hosts", str(self.of.hosts_file), "--into", into)
        return self.bench.start(*words, "--no-report", "--wait", "30", process_group=0)

    def settings(self) -> Settings:
        """The settings as the hosts' systems have them now."""
        values: Settings = {}
        for host in self.hosts:
            values[host.name, "ecn"] = inside(host, "sysctl -n net.ipv4.tcp_ecn").strip()
            for line in inside(host, "ethtool -k test").splitlines():
                name, _, value = line.partition(":")
                if name in ("generic-segmentation-offload", "tcp-segmentation-offload"):
                    values[host.name, name] = value.split()[0]
        return values

    def probes(self, host: LabHost) -> list[int]:
        """Agents and keepers of a host."""
        return [pid for pid in processes(host.namespace) if name_of(pid).startswith("netprobe")]

    def undo_files(self, host: LabHost) -> list[str]:
        """The files of the undo log that have an entry, in the home of the account, which is the
        host's own. An agent that is killed after its last entry leaves a file without entries,
        which the next agent removes.
        """
        for pid in processes(host.namespace):
            log = Path(f"/proc/{pid}/root/home/{host.user}/.local/state/netlab/undo")
            with suppress(OSError):
                return sorted(path.name for path in log.iterdir() if has_entry(path))
        return []

    def connections(self, host: LabHost) -> list[int]:
        """Processes of sshd that hold a connection."""
        servers = [pid for pid in processes(host.namespace) if is_openssh(pid)]
        first = [pid for pid in servers if state(pid)[2] not in servers]
        return [pid for pid in servers if pid not in first]

    def complaint(self, found: Settings, until_s: float) -> str:
        """What is not put back at the end of a time; empty as soon as everything is."""
        while words := self._complaint(found):
            if time.monotonic() > until_s:
                return words
            time.sleep(0.05)
        return ""

    def _complaint(self, found: Settings) -> str:
        left = [f"{host.name}: {pids}" for host in self.hosts if (pids := self.probes(host))]
        if left:
            return f"probes left: {'; '.join(left)}"
        now = self.settings()
        wrong = [
            f"{key} is {now[key]}, was {found[key]}" for key in found if now[key] != found[key]
        ]
        if wrong:
            return "; ".join(wrong)
        files = [f"{host.name}: {names}" for host in self.hosts if (names := self.undo_files(host))]
        return f"undo log left: {'; '.join(files)}" if files else ""


def inside(host: LabHost, words: str) -> str:
    """What a program prints in a host's network namespace."""
    return run_program("ip", "netns", "exec", host.namespace, *shlex.split(words))


def name_of(pid: int) -> str:
    try:
        return state(pid)[0]
    except OSError:
        return ""


def send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


End = Callable[[SettingsLab, subprocess.Popen[str], random.Random], None]
"""What ends a run, or breaks something so that the run has to go on."""


def interrupt(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """Ctrl-C."""
    os.killpg(run.pid, signal.SIGINT)


def terminate(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """SIGTERM."""
    run.terminate()


def kill(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """kill -9 of the controller."""
    run.kill()


def kill_with_a_probe(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """kill -9 of the controller and of the agents of one host or both, in any order."""
    hosts = chance.sample(lab.hosts, chance.randint(1, 2))
    deeds = [
        run.kill,
        *(lambda host=host: send(agents(lab, host), signal.SIGKILL) for host in hosts),
    ]
    for deed in chance.sample(deeds, len(deeds)):
        deed()


def kill_a_probe(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """kill -9 of one host's agent. The run goes on."""
    send(agents(lab, chance.choice(lab.hosts)), signal.SIGKILL)


def cut(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """The connections of one host or both end. The run goes on."""
    for host in chance.sample(lab.hosts, chance.randint(1, 2)):
        send(lab.connections(host), signal.SIGKILL)


def pull_and_kill(lab: SettingsLab, run: subprocess.Popen[str], chance: random.Random) -> None:
    """The controller's cables are pulled, then it is killed: no host hears of it."""
    for host in lab.hosts:
        run_program("ip", "link", "set", "dev", host.port, "down")
    run.kill()
    run.wait()


ENDS: dict[str, End] = {
    "Ctrl-C": interrupt,
    "SIGTERM": terminate,
    "SIGKILL": kill,
    "SIGKILL of it and of agents": kill_with_a_probe,
    "SIGKILL of an agent": kill_a_probe,
    "connections cut": cut,
    "cables pulled, SIGKILL": pull_and_kill,
}


def agents(lab: SettingsLab, host: LabHost) -> list[int]:
    """The agents of a host. An agent without a connection has the same parent as a keeper without
    an agent: the host's first process, which is sshd.
    """
    probes = lab.probes(host)
    parents = {pid: state(pid)[2] for pid in probes if name_of(pid)}
    return [
        pid
        for pid, parent in parents.items()
        if is_openssh_or_shell(parent) and not blocks_signals(pid)
    ]


def blocks_signals(pid: int) -> bool:
    """Whether a process blocks all signals, by proc_pid_status(5): of the probe, keepers do."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return False
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    return bool(blocked & 1 << signal.SIGTERM - 1)


def has_entry(path: Path) -> bool:
    """Whether a slot of a file of the undo log is not free, by its first bytes."""
    data = path.read_bytes()
    return any(data[slot : slot + 8].strip(b"\0") for slot in range(0, len(data), SLOT_BYTES))


def is_openssh_or_shell(pid: int) -> bool:
    return is_openssh(pid) or name_of(pid) in ("sh", "dash", "bash")


@contextmanager
def cables_in(lab: SettingsLab) -> Iterator[None]:
    """The controller's cables are up again afterwards."""
    try:
        yield
    finally:
        for host in lab.hosts:
            run_program("ip", "link", "set", "dev", host.port, "up")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run."""

    was_changed: bool
    """Whether settings differed from those found when the end came."""
    after_s: float
    """From the end to everything being put back."""
    complaint: str


def end_at(
    lab: SettingsLab, into: str, end: End, moment_s: float, chance: random.Random
) -> Outcome:
    """Start a run, end it at a moment after its start, and wait until all is put back."""
    settings_before = lab.settings()
    run = lab.start(into)
    with cables_in(lab):
        with suppress(subprocess.TimeoutExpired):
            run.wait(moment_s)
        was_changed = lab.settings() != settings_before
        with suppress(ProcessLookupError):
            end(lab, run, chance)
        try:
            output = run.communicate(timeout=RUN_S)[1]
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            return Outcome(was_changed, RUN_S, f"no end within {RUN_S:g} s")
        ended_at = time.monotonic()
        complaint = lab.complaint(settings_before, ended_at + PUT_BACK_S)
    if "Traceback" in output:
        complaint = f"a traceback: {output[-300:]}"
    return Outcome(was_changed, time.monotonic() - ended_at, complaint)
