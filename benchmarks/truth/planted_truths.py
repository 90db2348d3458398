"""Limits and faults, how each is planted in a lab, and what must be said of a run there.

Speeds are this machine's; what is judged is what is said.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.stage import a_lab, netlab, run_words
from netlab.findings.analysis import Analysis, findings, load
from netlab.findings.finding import Finding, Kind
from netlab.lab import LabState

SENDER_CPU, RECEIVER_CPU = 1, 0
FAST = "10Gbit"
"""Stated for an unshaped veth, so that there is a ceiling that it stays below."""

UNDISTURBED = "quiet: {steal: 3 %, tries: 4}"
"""What a hypervisor takes is no part of what is planted: such a trial is measured again."""

Plant = Callable[[LabState], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Truth:
    """What is planted, where, how it is measured, and what must be said of it."""

    planted: str
    expected: Kind | None
    """``None``: no finding of severity warning."""
    tests: str
    """The matrix's list of tests, YAML."""
    link: str = "{rate: 100Mbit, mtu: 1500}"
    pairings: str = "[linux-a+linux-b]"
    """Server first: linux-b sends."""
    lab: Mapping[str, Any] = field(default_factory=dict)
    plant: Plant = lambda _: nullcontext()
    about: frozenset[str] = frozenset()
    """The pairings that it must be said of, and of no other; empty: whichever."""

    def matrix(self, seconds: float, warm_up_s: float = 0.5) -> str:
        """The whole matrix."""
        return (
            f"title: {json.dumps(self.planted)}\n"
            f"link: {self.link}\npairings: {self.pairings}\nrepeats: 3\n{UNDISTURBED}\n"
            f"defaults: {{duration: {seconds}s, warm_up: {warm_up_s}s}}\ntests:\n{self.tests}\n"
        )


@contextmanager
def neighbour(cpu: int) -> Iterator[None]:
    """A program that never rests on one CPU."""
    argv = ["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"]
    process = subprocess.Popen(argv)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def inside(namespace: str, *words: str) -> None:
    """Analysis a program in a namespace of the lab."""
    subprocess.run(["ip", "netns", "exec", namespace, *words], check=True)


@contextmanager
def small_window_over_delay(lab: LabState) -> Iterator[None]:
    """A receiver that takes 16 KiB at most (doubled, as for SO_RCVBUF), 10 ms away each way."""
    plan = lab.plan
    assert plan is not None and plan.router is not None
    inside(lab.hosts[0].namespace, "sysctl", "-q", "-w", "net.ipv4.tcp_rmem=4096 32768 32768")
    ports = [cable.ends[1].interface for cable in plan.cables]
    script = [sys.executable, "-I", "-S", str(Path(__file__).with_name("delay.py")), "0.01", *ports]
    with subprocess.Popen(
        ["ip", "netns", "exec", plan.router, *script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise SystemExit("delay.py did not start: it needs /dev/net/tun")
        yield
        process.communicate(timeout=10)


@contextmanager
def another_congestion_control(lab: LabState) -> Iterator[None]:
    """linux-a's default by its route, since a namespace has none of its own to set."""
    settings = Path("/proc/sys/net/ipv4")
    default = (settings / "tcp_congestion_control").read_text().strip()
    others = (settings / "tcp_available_congestion_control").read_text().split()
    other = next(name for name in ("cubic", "bbr", *others) if name in others and name != default)
    address = lab.hosts[1].addresses[0]
    inside(lab.hosts[0].namespace, *f"ip route add {address} dev test congctl {other}".split())
    yield


PINNED = f"message_size: 64, client_cpu: {SENDER_CPU}, server_cpu: {RECEIVER_CPU}"
SMALL = f"  - {{test: stream, protocol: TCP, {PINNED}, congestion: cubic}}"
SMALL_DATAGRAMS = f"  - {{test: stream, protocol: UDP, {PINNED}}}"
TCP = "  - {test: stream, protocol: TCP, message_size: 1448, congestion: cubic}"
BOTH = f"{TCP}\n  - {{test: stream, protocol: UDP, message_size: 1472}}"
CABLE: Mapping[str, Any] = {"rate_bit_per_s": 100e6}
UNSHAPED = f"{{rate: {FAST}, mtu: 1500}}"

TRUTHS = (
    Truth("nothing", None, BOTH, lab=CABLE),
    Truth(
        "sender with 20 % of a CPU",
        Kind.SENDER_CPU_QUOTA,
        SMALL,
        link=UNSHAPED,
        lab={"cpu_shares": {"linux-b": 0.2}},
    ),
    Truth(
        "busy neighbour on the sender's core",
        Kind.SENDER_STARVED,
        SMALL,
        link=UNSHAPED,
        plant=lambda _: neighbour(SENDER_CPU),
    ),
    Truth(
        "spinning competitor on the receiver's core",
        Kind.RECEIVER_STARVED,
        SMALL_DATAGRAMS,
        link=UNSHAPED,
        plant=lambda _: neighbour(RECEIVER_CPU),
    ),
    Truth(
        "receiver's buffer of 16 KiB, 20 ms there and back",
        Kind.RECEIVER_WINDOW,
        TCP,
        lab={**CABLE, "topology": "router"},
        plant=small_window_over_delay,
    ),
    Truth(
        "queue of 2 frames before 40 Mbit/s",
        Kind.CONGESTION,
        TCP,
        lab={**CABLE, "topology": "router", "device_rate": 40e6, "device_queue_frames": 2},
    ),
    Truth(
        "the same, over UDP",
        Kind.PATH_LOSS,
        "  - {test: stream, protocol: UDP, message_size: 1472}",
        lab={**CABLE, "topology": "router", "device_rate": 40e6, "device_queue_frames": 2},
    ),
    Truth(
        "one cable of 10 Mbit/s among 100",
        Kind.LINK_FAR_BELOW,
        TCP,
        pairings="{between: all, inside: false}",
        lab={**CABLE, "linux": 3, "rates": {"linux-b": 10e6}},
        about=frozenset(
            {"linux-a+linux-b", "linux-b+linux-a", "linux-b+linux-c", "linux-c+linux-b"}
        ),
    ),
    Truth("MTU of 1400", Kind.PATH_MTU, BOTH, lab={**CABLE, "mtu": 1400}),
    Truth(
        "one sender's congestion control is another",
        Kind.CONGESTION_DIFFERS,
        "  - {test: stream, protocol: TCP, message_size: 64}",
        link=UNSHAPED,
        pairings="[linux-a+linux-b, linux-b+linux-a]",
        plant=another_congestion_control,
    ),
    Truth(
        "link: rate 90 Mbit/s, of 100",
        Kind.ABOVE_CEILING,
        BOTH,
        "{rate: 90Mbit, mtu: 1500}",
        lab=CABLE,
    ),
)


def found_in(truth: Truth, seconds: float) -> tuple[Finding, ...]:
    """The findings of a run where it is planted."""
    return findings(run_of(truth, seconds))


def run_of(truth: Truth, seconds: float, warm_up_s: float = 0.5) -> Analysis:
    """A run where it is planted, in a lab of its own."""
    with tempfile.TemporaryDirectory() as name, a_lab(**truth.lab) as lab, truth.plant(lab):
        folder = Path(name)
        (folder / "matrix.yaml").write_text(truth.matrix(seconds, warm_up_s))
        netlab(*run_words(folder / "matrix.yaml", lab.hosts_file, folder / "run"))
        return load(folder / "run")


def warned_of(found: Sequence[Finding]) -> list[str]:
    """The kinds of all warnings."""
    return sorted({str(each.kind) for each in found if each.severity == "warning"})


def is_named(truth: Truth, found: Sequence[Finding]) -> bool:
    """Whether it was named, there and nowhere else; of a clean run, that nothing was warned of."""
    if truth.expected is None:
        return not warned_of(found)
    where = {each.group.pairing for each in found if each.kind is truth.expected}
    return where == truth.about if truth.about else bool(where)
