"""How a cause is put into a standing lab, and taken out of it again.

Each is a context manager of the lab and a number, the dial: most often the share of the clean rate
that it is to cost. What must change from trial to trial yields what is to be called when one
begins.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from os import kill
from pathlib import Path
from threading import Timer

from benchmarks.truths.site import (
    RATE_BIT_PER_S,
    RECEIVER,
    RECEIVER_CPU,
    SENDER,
    SENDER_CPU,
    Site,
    killed,
)
from netlab.experiment.schedule import Trial
from netlab.lab.plan import Cable
from netlab.lab.programs import run
from netlab.lab.shaping import LEAST_FRAME_BYTES, OVERHEAD_BYTES, shape, shape_of

OnTrial = Callable[[Trial], None]
"""Called when a trial begins."""
Plant = Callable[[Site, float], AbstractContextManager[OnTrial | None]]

PERIOD_MS = 100.0
BUFFERED_MS = 4.0
"""What buffers of 64 KiB hold at 100 Mbit/s: so long a pause costs nothing [tried with iperf3]."""
OTHER_PORT = 5401
OTHER_PAYLOAD_BYTES, OTHER_WIRE_BYTES = 1448, 1514


def pause_ms(cost: float) -> float:
    """So long in each tenth of a second nothing may run, for a stream to lose that share."""
    return cost * PERIOD_MS + BUFFERED_MS


# ---- CPUs ----------------------------------------------------------------------------------------


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
        idler = site.script("neighbour.py", str(cpu), "idle")
        with site.running(host, *idler, in_group=True):
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


# ---- cables --------------------------------------------------------------------------------------


@contextmanager
def reshaped(*cables: tuple[Cable, Cable]) -> Iterator[None]:
    """Each first cable is as the second says, for a while."""
    try:
        for _, planted in cables:
            shape(planted)
        yield
    finally:
        for usual, _ in cables:
            shape(usual)


def slower(*hosts: str) -> Plant:
    """The cables of these hosts carry less, both ways; without a name all cables."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cables = [site.cable(host) for host in hosts] or list(site.plan.cables)
        with reshaped(*((each, _slowed(each, cost)) for each in cables)):
            yield

    return plant


def _slowed(cable: Cable, cost: float) -> Cable:
    assert cable.rate is not None
    return replace(cable, rate=cable.rate * (1 - cost), device_rate=None)


def slower_towards(host: str) -> Plant:
    """What leaves the switch for a host is slower; what comes from the host is not."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable = site.cable(host)
        assert cable.rate is not None
        with reshaped((cable, replace(cable, device_rate=cable.rate * (1 - cost)))):
            yield

    return plant


def shaper(host: str) -> Plant:
    """A shaper that counts packets without framing, on what the router sends to a host."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable = site.cable(host)
        end = cable.ends[1]
        # Of full frames: 1514 bytes as the kernel counts them, 1538 on the wire.
        rate = round(RATE_BIT_PER_S * (1 - cost) * 1514 / 1538)
        with reshaped((cable, cable)):
            qdisc = f"qdisc replace dev {end.interface} root handle 2: tbf rate {rate}bit"
            words = f"tc -n {end.namespace} {qdisc} burst 3200 limit 1514000".split()
            _as_root(*words)
            try:
                yield
            finally:
                _as_root(*f"tc -n {end.namespace} qdisc del dev {end.interface} root".split())

    return plant


@contextmanager
def short_queue(site: Site, frames: float) -> Iterator[None]:
    """So few frames wait in the router before the receiver's cable."""
    cable = site.cable(RECEIVER)
    with reshaped((cable, replace(cable, device_queue_frames=max(1, round(frames))))):
        yield


@contextmanager
def small_mtu(site: Site, below: float) -> Iterator[None]:
    """Every cable carries packets so many bytes shorter."""
    ends = [(cable, end) for cable in site.plan.cables for end in cable.ends]

    def set_to(less: int) -> None:
        for cable, end in ends:
            mtu = str(cable.mtu - less)
            words = ("ip", "-n", end.namespace, "link", "set", end.interface, "mtu", mtu)
            _as_root(*words)

    try:
        set_to(round(below))
        yield
    finally:
        set_to(0)


# ---- what passes ---------------------------------------------------------------------------------


def filtered(host: str, hook: str, rule: str) -> Callable[[Site], AbstractContextManager[None]]:
    """A packet filter of one rule in a host or the router."""

    @contextmanager
    def plant(site: Site) -> Iterator[None]:
        head = f"add table inet planted; add chain inet planted {hook}"
        chain = f"{head} {{ type filter hook {hook} priority 0; }}"
        site.run(host, "nft", f"{chain}; add rule inet planted {hook} {rule}")
        try:
            yield
        finally:
            site.run(host, "nft", "delete table inet planted")

    return plant


@contextmanager
def black_hole(site: Site, below: float) -> Iterator[None]:
    """The router drops packets that are longer, and says nothing."""
    longest = 1500 - round(below)
    with filtered("router", "forward", f"meta length > {longest} drop")(site):
        yield


@contextmanager
def packet_rate(site: Site, per_second: float) -> Iterator[None]:
    """The router forwards so many packets to the receiver in a second."""
    address = site.host(RECEIVER).addresses[0]
    rule = f"ip daddr {address} limit rate over {per_second:.0f}/second burst 100 packets drop"
    with filtered("router", "forward", rule)(site):
        yield


def slower_to(sender: str, receiver: str) -> Plant:
    """A host sends one of the others less than its cable carries, and all of them together that."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable, address = site.cable(sender), site.host(receiver).addresses[0]
        end = cable.ends[0]
        assert cable.rate is not None
        bits = shape_of(cable.rate, cable.mtu, cable.queue_frames)
        tc = f"tc -n {end.namespace}"
        frames = f"overhead {OVERHEAD_BYTES} linklayer ethernet mpu {LEAST_FRAME_BYTES}"
        sizes = f"{frames} mtu {bits.table_mtu_bytes} tsize {bits.table_slots}"
        limits = f"burst {bits.burst_bytes} cburst {bits.burst_bytes}"
        slow = cable.rate * (1 - cost)
        classes = (("3:", "3:1", cable.rate), ("3:1", "3:10", cable.rate), ("3:1", "3:20", slow))
        class_of = f"ip daddr {address} meta priority set 3:20"
        with reshaped((cable, cable)), filtered(sender, "output", class_of)(site):
            device = f"dev {end.interface}"
            head = f"{tc} qdisc replace {device} root handle 3: stab {sizes} htb default 10"
            _as_root(*head.split())
            for parent, name, rate in classes:
                words = f"{tc} class add {device} parent {parent} classid {name} htb"
                _as_root(*f"{words} rate {rate:.0f} {limits} quantum 1600".split())
            try:
                yield
            finally:
                _as_root(*f"{tc} qdisc del {device} root".split())

    return plant


def other_flow(sender: str, *, management: bool = False) -> Plant:
    """Datagrams of others to the receiver: that share of the test cable's rate."""

    @contextmanager
    def plant(site: Site, share: float) -> Iterator[None]:
        to = site.host(RECEIVER)
        address = to.management_address if management else to.addresses[0]
        payload = round(share * RATE_BIT_PER_S * OTHER_PAYLOAD_BYTES / OTHER_WIRE_BYTES)
        words = f"{address} {OTHER_PORT} {payload} {OTHER_PAYLOAD_BYTES}".split()
        sink = site.script("other.py", "sink", str(OTHER_PORT))
        with (
            site.running(RECEIVER, *sink),
            site.running(sender, *site.script("other.py", "send", *words)),
        ):
            yield

    return plant


def setting(host: str, text: str) -> Plant:
    """A setting of a host's kernel, with the number in it; back to what it was."""

    @contextmanager
    def plant(site: Site, number: float) -> Iterator[None]:
        name, _, value = text.partition("=")
        before = site.run(host, "sysctl", "-n", name).strip()
        site.run(host, "sysctl", "-q", "-w", f"{name}={value.format(round(number))}")
        try:
            yield
        finally:
            site.run(host, "sysctl", "-q", "-w", f"{name}={before}")

    return plant


@contextmanager
def another_congestion_control(site: Site, _: float) -> Iterator[None]:
    """The receiver sends with another one: by its route, a namespace has none of its own."""
    usual = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip()
    other = "bbr" if usual != "bbr" else "cubic"
    route = f"{site.host(SENDER).addresses[0]} dev test congctl {other}"
    site.run(RECEIVER, *f"ip route add {route}".split())
    try:
        yield
    finally:
        site.run(RECEIVER, *f"ip route del {route}".split())


# ---- stops ---------------------------------------------------------------------------------------


def stopped(host: str, after_s: float) -> Plant:
    """The probe of a host stands still for so long, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        held: list[int] = []

        def stop() -> None:
            held.extend(site.probes(host))
            _signal(held, signal.SIGSTOP)

        def go_on() -> None:
            _signal(held, signal.SIGCONT)
            held.clear()

        with _once_a_trial(after_s, seconds, stop, go_on) as on_trial:
            yield on_trial

    return plant


def unplugged(after_s: float) -> Plant:
    """Nothing comes through to the receiver for so long, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def stop() -> None:
            stack.enter_context(filtered(RECEIVER, "input", "iifname test drop")(site))

        with _once_a_trial(after_s, seconds, stop, stack.close) as on_trial:
            yield on_trial

    return plant


@contextmanager
def _once_a_trial(
    after_s: float, seconds: float, stop: Callable[[], None], go_on: Callable[[], None]
) -> Iterator[OnTrial]:
    timers: list[Timer] = []

    def on_trial(_: Trial) -> None:
        for delay_s, deed in ((after_s, stop), (after_s + seconds, go_on)):
            timers.append(Timer(delay_s, deed))
            timers[-1].start()

    try:
        yield on_trial
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        go_on()


def in_trials(plant: Plant, chosen: Callable[[int], bool]) -> Plant:
    """The plant in some trials of each cell, by their numbers from 1."""

    @contextmanager
    def planted(site: Site, dial: float) -> Iterator[OnTrial]:
        with ExitStack() as stack:
            there: list[ExitStack] = []

            def on_trial(trial: Trial) -> None:
                if chosen(trial.number) and not there:
                    there.append(stack.enter_context(ExitStack()))
                    there[0].enter_context(plant(site, dial))
                elif not chosen(trial.number) and there:
                    there.pop().close()

            yield on_trial

    return planted


def growing(plant: Plant, trials: int) -> Plant:
    """Nothing in the first block of trials, and more in each, up to the dial in the last."""

    @contextmanager
    def planted(site: Site, dial: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def on_trial(trial: Trial) -> None:
            stack.close()
            share = (trial.number - 1) / (trials - 1)
            stack.enter_context(plant(site, dial * share))

        with stack:
            yield on_trial

    return planted


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            kill(pid, number)


def _as_root(*words: str) -> None:
    run(*words)
