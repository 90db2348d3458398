"""Plants in the hosts: programs that take their CPUs, and settings of their kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.truths.plants import Plant
from benchmarks.truths.site import RECEIVER, RECEIVER_CPU, SENDER, SENDER_CPU, Site, killed
from netlab.lab.programs import run

PERIOD_MS = 100.0
BUFFERED_MS = 4.0
"""Milliseconds of data that buffers of 64 KiB hold at 100 Mbit/s: a pause of this length costs
nothing, as measured with iperf3."""


def pause_ms(cost: float) -> float:
    """Length of the pause in each tenth of a second that makes a stream lose the share ``cost``."""
    return cost * PERIOD_MS + BUFFERED_MS


def busy(cpus: str) -> Plant:
    """A program of higher priority that uses these CPUs for a part of each tenth of a second."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        with killed(site.script("neighbour.py", cpus, "bursts", f"{pause_ms(cost):g}")):
            yield

    return plant


def often_busy(cpu: int) -> Plant:
    """A program of higher priority that uses a CPU for some milliseconds of each 4 ms."""

    @contextmanager
    def plant(site: Site, busy_ms: float) -> Iterator[None]:
        with killed(site.script("neighbour.py", str(cpu), "bursts", f"{busy_ms:g}", "4")):
            yield

    return plant


def competing(cpu: int) -> Plant:
    """A program that never sleeps. Its nice level gives it about the share ``cost`` of a CPU."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        # The kernel's weights: 1024 at level 0; each level divides the weight by about 1.25.
        level = min(range(20), key=lambda n: abs(1.25**-n / (1 + 1.25**-n) - cost))
        with killed(site.script("neighbour.py", str(cpu), "nice", str(level))):
            yield

    return plant


def quota(host: str, cpu: int) -> Plant:
    """A quota of CPU time that another program of the host uses up. Then all programs of it
    wait.
    """

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        burner = site.script("neighbour.py", str(cpu), "nice", "19")
        with site.running(host, *burner, in_group=True):
            site.set_quota(host, 1 - pause_ms(cost) / PERIOD_MS)
            try:
                yield
            finally:
                site.set_quota(host, None)

    return plant


@contextmanager
def stolen(site: Site, cost: float) -> Iterator[None]:
    """Keep all CPUs busy for a part of the time, and let the hosts read this time as stolen."""
    with ExitStack() as stack:
        share = pause_ms(cost) / PERIOD_MS
        for host in (RECEIVER, SENDER):
            enter = ("nsenter", "--target", str(site.sshd(host)), "--mount")
            stack.enter_context(killed([*enter, *site.script("taken.py", f"{share:g}")]))
        stack.enter_context(busy(f"{SENDER_CPU},{RECEIVER_CPU}")(site, cost))
        yield


def setting(host: str, text: str) -> Plant:
    """A sysctl of a host, ``NAME=VALUE`` with the number in place of ``{0}``; restored at the
    end.
    """

    @contextmanager
    def plant(site: Site, number: float) -> Iterator[None]:
        name, _, value = text.partition("=")
        old_value = site.run(host, "sysctl", "-n", name).strip()
        site.run(host, "sysctl", "-q", "-w", f"{name}={value.format(round(number))}")
        try:
            yield
        finally:
            site.run(host, "sysctl", "-q", "-w", f"{name}={old_value}")

    return plant


@contextmanager
def short_backlog(site: Site, frames: float) -> Iterator[None]:
    """Let one CPU take in all frames of the receiver, with a queue of so few of them.

    The setting and the counter are the whole machine's. Only the receiver's frames wait for another
    CPU; with an identity of its own it counts as a machine of its own.
    """
    identity, file = "/etc/machine-id", "/run/netlab-machine-id"
    steering = "/sys/class/net/test/queues/rx-0/rps_cpus"
    inside = ("nsenter", "--target", str(site.sshd(RECEIVER)), "--mount", "--pid", "sh", "-c")
    with ExitStack() as undone:
        site.run(RECEIVER, "sh", "-c", f"echo {1 << RECEIVER_CPU:x} > {steering}")
        undone.callback(site.run, RECEIVER, "sh", "-c", f"echo 0 > {steering}")
        run(*inside, f"echo {'1' * 32} > {file} && mount --bind {file} {identity}")
        undone.callback(run, *inside, f"umount {identity}")
        undone.enter_context(killed(site.script("backlog.py", f"{frames:.0f}")))
        yield


@contextmanager
def another_congestion_control(site: Site, _: float) -> Iterator[None]:
    """Let the receiver send with another congestion control than the sender.

    A route sets it, so no sysctl is changed.
    """
    usual = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip()
    alternative = "bbr" if usual != "bbr" else "cubic"
    route = f"{site.host(SENDER).addresses[0]} dev test congctl {alternative}"
    site.run(RECEIVER, *f"ip route add {route}".split())
    try:
        yield
    finally:
        site.run(RECEIVER, *f"ip route del {route}".split())


@contextmanager
def saving(site: Site, _: float) -> Iterator[None]:
    """Let the sender read that the governor of its CPU saves power."""
    enter = ("nsenter", "--target", str(site.sshd(SENDER)), "--mount")
    with killed([*enter, *site.script("saving.py", str(SENDER_CPU))]):
        yield


def farther(host: str) -> Plant:
    """Delay what a host sends by some milliseconds."""

    @contextmanager
    def plant(site: Site, delay_ms: float) -> Iterator[None]:
        with site.running(host, *site.script("delay.py", f"{delay_ms / 1e3:g}", "own")):
            yield
        site.run(host, "nft", "delete table ip delay")
        site.run(host, *["ip", "rule", "delete", "fwmark", "100"])

    return plant
