"""Plants in the hosts: what takes their CPUs, and settings of their kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.truths.plants import Plant
from benchmarks.truths.site import RECEIVER, RECEIVER_CPU, SENDER, SENDER_CPU, Site, killed

PERIOD_MS = 100.0
BUFFERED_MS = 4.0
"""What buffers of 64 KiB hold at 100 Mbit/s: so long a pause costs nothing [tried with iperf3]."""


def pause_ms(cost: float) -> float:
    """So long in each tenth of a second nothing may run, for a stream to lose that share."""
    return cost * PERIOD_MS + BUFFERED_MS


def busy(cpus: str) -> Plant:
    """A program that goes first on these CPUs, for a part of each tenth of a second."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        with killed(site.script("neighbour.py", cpus, "bursts", f"{pause_ms(cost):g}")):
            yield

    return plant


def competing(cpu: int) -> Plant:
    """A program that never rests on a CPU and has this share of it: by its nice level."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        # The kernel's weights: 1024 at level 0, each level a quarter more or less.
        level = min(range(20), key=lambda n: abs(1.25**-n / (1 + 1.25**-n) - cost))
        with killed(site.script("neighbour.py", str(cpu), "nice", str(level))):
            yield

    return plant


def quota(host: str, cpu: int) -> Plant:
    """A quota of CPU time that another program of the host uses up: then all of them wait."""

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
    """All CPUs are gone for a part of the time, and the hosts read that others took it."""
    with ExitStack() as stack:
        share = pause_ms(cost) / PERIOD_MS
        for host in (RECEIVER, SENDER):
            enter = ("nsenter", "--target", str(site.sshd(host)), "--mount")
            stack.enter_context(killed([*enter, *site.script("taken.py", f"{share:g}")]))
        stack.enter_context(busy(f"{SENDER_CPU},{RECEIVER_CPU}")(site, cost))
        yield


def setting(host: str, text: str) -> Plant:
    """A setting of a host's kernel, with the number in it; back to what it was."""

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
def another_congestion_control(site: Site, _: float) -> Iterator[None]:
    """The receiver sends with another one: by its route, a namespace has none of its own."""
    usual = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip()
    alternative = "bbr" if usual != "bbr" else "cubic"
    route = f"{site.host(SENDER).addresses[0]} dev test congctl {alternative}"
    site.run(RECEIVER, *f"ip route add {route}".split())
    try:
        yield
    finally:
        site.run(RECEIVER, *f"ip route del {route}".split())
