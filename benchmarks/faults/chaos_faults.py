"""Two hosts and the faults that can happen to them during a run: for chaos_runs.py.

As root, each host is a network namespace with a real sshd, its own cable to the controller and a
test cable to the other host; otherwise both are real sshds on loopback, without cables to pull.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fault_runs import at
from sshd import Sshd, make_key

from benchmarks.stage import a_lab
from netlab.lab import missing_programs
from netlab.lab.network import NAMESPACES

RATE_BIT_PER_S = 20e6
"""Rate of the test cable. It is so low that any machine can forward it with CPU time left."""
PORT = 2222
BURST_S, BETWEEN_BURSTS_S = 0.08, 0.04
"""For a slow host: how long its probes are stopped, and then run, in turn."""


@dataclass
class ChaosHost:
    """One host and its processes."""

    name: str
    sshd: Sshd
    test_address: str
    namespace: str | None = None
    """Its network namespace; ``None``: the one of the machine."""

    def line(self) -> str:
        """The host's line of the inventory."""
        return f"{self.name}: {at(self.sshd, self.test_address)}"

    def probes(self) -> list[int]:
        """Process numbers of the host's agents, whose program file is below the host's home."""
        process_numbers = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "exe").readlink().is_relative_to(self.sshd.home):
                    process_numbers.append(int(entry.name))
        return process_numbers

    def link(self, device: str, state: str) -> None:
        """Pull a cable (``down``) or plug it in (``up``)."""
        words = ["ip", "-n", str(self.namespace), "link", "set", "dev", device, state]
        subprocess.run(words, check=True)


Wait = Callable[[float], None]
"""A function that waits this many seconds, or until the run ends."""
Deed = Callable[[ChaosHost, random.Random, Wait], str]
"""A function that applies a fault to a host and removes it. It returns a description, or an empty
text if there was nothing to apply the fault to."""


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    try:
        _signal(pids, signal.SIGSTOP)
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def kill_probe(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Kill the agent's process."""
    probes = host.probes()
    _signal(probes, signal.SIGKILL)
    return "probe killed" if probes else ""


def stop_probe(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Stop the agent's process for a time."""
    return _stop_probe(host, chance.uniform(0.4, 4.0), wait)


def silence_probe(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Stop the agent's process for longer than a host may be silent."""
    return _stop_probe(host, chance.uniform(33, 40), wait)


def _stop_probe(host: ChaosHost, seconds: float, wait: Wait) -> str:
    probes = host.probes()
    if not probes:
        return ""
    with _stopped(probes):
        wait(seconds)
    return f"probe stopped for {seconds:.1f} s"


def slow_down(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Let the agent's process run only a third of the time, in short pieces."""
    seconds = chance.uniform(0.5, 3.0)
    if not host.probes():
        return ""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with _stopped(host.probes()):
            time.sleep(BURST_S)
        time.sleep(BETWEEN_BURSTS_S)
    return f"slow for {seconds:.1f} s"


def freeze_connections(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Stop the processes of sshd that serve connections, for a time."""
    seconds = chance.uniform(0.5, 8.0)
    serving = host.sshd.serving()
    if not serving:
        return ""
    with _stopped(serving):
        wait(seconds)
    return f"SSH frozen for {seconds:.1f} s"


def cut_connections(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """End every SSH connection at once."""
    host.sshd.cut()
    return "SSH cut"


def reset_at_controller(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Reset the connection at the controller only. The host gets no packet about it."""
    words = ["ss", "-K", "dst", host.sshd.address, "dport", "=", f":{host.sshd.port}"]
    host.link("management", "down")
    try:
        subprocess.run(words, check=False, capture_output=True)
    finally:
        host.link("management", "up")
    return "SSH reset at the controller"


def restart_sshd(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """End sshd, its connections and the processes that they started; start sshd again after a
    time.
    """
    seconds = chance.uniform(0.2, 4.0)
    host.sshd.stop()
    try:
        wait(seconds)
    finally:
        host.sshd.start()
    return f"sshd away for {seconds:.1f} s"


def pull_test_cable(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Pull the test cable for a time."""
    return _pull("test", host, chance.uniform(0.4, 5.0), wait)


def pull_management_cable(host: ChaosHost, chance: random.Random, wait: Wait) -> str:
    """Pull the cable to the controller for a time."""
    return _pull("management", host, chance.uniform(0.4, 8.0), wait)


def _pull(cable: str, host: ChaosHost, seconds: float, wait: Wait) -> str:
    host.link(cable, "down")
    try:
        wait(seconds)
    finally:
        host.link(cable, "up")
    return f"{cable} cable out for {seconds:.1f} s"


COME_BACK_S, PATH_S = 60.0, 5.0
"""How long after a fault netlab may still treat the host as away, and the path as broken."""


@dataclass(frozen=True, slots=True)
class LiveFault:
    """One kind of fault."""

    deed: Deed
    reasons: frozenset[str]
    """Reasons that a trial may have if this fault was applied to one of its hosts."""
    after_s: float = COME_BACK_S
    """The fault explains no trial that began more than this time after the end of the fault."""
    weight: float = 1.0
    cables: bool = False
    """Whether it needs cables, which need root."""


_TEST_BROKE = {
    "connect-timeout", "deadline", "no-answer", "no-peer", "no-traffic", "peer-vanished",
    "too-few-messages",
}  # fmt: skip
_HOST_LOST = {"host-gone", "host-away"}
_PROBE_ENDED = {"probe-died", "peer-vanished", "no-peer", "connect-refused"}


def _true(*words: set[str]) -> frozenset[str]:
    return frozenset().union(*words)


FAULTS = (
    LiveFault(kill_probe, _true(_PROBE_ENDED, _HOST_LOST, _TEST_BROKE)),
    LiveFault(stop_probe, _true(_TEST_BROKE), PATH_S),
    LiveFault(silence_probe, _true(_HOST_LOST, _TEST_BROKE), weight=0.1),
    LiveFault(slow_down, _true(_TEST_BROKE), PATH_S),
    LiveFault(freeze_connections, _true(_TEST_BROKE), PATH_S),
    LiveFault(cut_connections, _true(_PROBE_ENDED, _HOST_LOST, _TEST_BROKE)),
    LiveFault(reset_at_controller, _true(_HOST_LOST, _TEST_BROKE), cables=True),
    LiveFault(restart_sshd, _true(_PROBE_ENDED, _HOST_LOST, _TEST_BROKE)),
    LiveFault(
        pull_test_cable, _true(_TEST_BROKE, {"unreachable", "path-blocked"}), PATH_S, cables=True
    ),
    LiveFault(pull_management_cable, _true(_HOST_LOST, _TEST_BROKE), cables=True),
)


@dataclass
class ChaosSite:
    """The two hosts of all runs."""

    hosts: tuple[ChaosHost, ChaosHost]
    home: Path
    """The home folder of the controller's user."""
    faults: tuple[LiveFault, ...] = field(default=FAULTS)

    def draw(self, chance: random.Random) -> tuple[LiveFault, ChaosHost]:
        """A random fault, and a random host to apply it to."""
        fault = chance.choices(self.faults, [candidate.weight for candidate in self.faults])[0]
        return fault, chance.choice(self.hosts)


@contextmanager
def chaos_site(folder: Path) -> Iterator[ChaosSite]:
    """Hosts with running sshds. The user whose home is below ``folder`` may log in to them."""
    home = folder / "home"
    key = make_key(home / ".ssh" / "id_ed25519")
    with ExitStack() as stack:
        is_lab = os.geteuid() == 0 and not missing_programs()
        hosts = _in_lab(folder, key, stack) if is_lab else _on_loopback(folder, key)
        for host in hosts:
            host.sshd.start()
            stack.callback(host.sshd.stop)
        known_hosts = "".join(host.sshd.line() for host in hosts)
        (home / ".ssh" / "known_hosts").write_text(known_hosts)
        faults = tuple(fault for fault in FAULTS if hosts[0].namespace or not fault.cables)
        yield ChaosSite(hosts, home, faults)


def _in_lab(folder: Path, key: Path, stack: ExitStack) -> tuple[ChaosHost, ChaosHost]:
    lab = stack.enter_context(a_lab(RATE_BIT_PER_S))
    chaos_hosts = []
    for host in lab.hosts:
        # The probes have priority over all other work of this machine, so only the injected faults
        # disturb them.
        within = ("nsenter", f"--net={NAMESPACES / host.namespace}", "chrt", "--rr", "1")
        sshd = Sshd(
            folder / host.name, key, port=PORT, address=host.management_address, within=within
        )
        chaos_hosts.append(ChaosHost(host.name, sshd, host.addresses[0], host.namespace))
    return chaos_hosts[0], chaos_hosts[1]


def _on_loopback(folder: Path, key: Path) -> tuple[ChaosHost, ChaosHost]:
    left, right = (
        ChaosHost(name, Sshd(folder / name, key), "127.0.0.1") for name in ("linux-a", "linux-b")
    )
    return left, right
