"""Puts a cause into a lab, by the words of its row, and proves that it acted."""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import kill

from benchmarks.space.draw import Planned, chance_of
from benchmarks.space.forwarder import Forwarder
from benchmarks.space.matrices import FAR_MS, RECEIVER_CPU, SENDER_CPU, Stand
from benchmarks.space.rows import ROWS
from benchmarks.space.trials import Planting
from benchmarks.space.words import RECEIVERS, Words
from benchmarks.truths.plants import OnTrial, Plant
from benchmarks.truths.plants.hosts import BUFFERED_MS, busy, quota, setting
from benchmarks.truths.plants.paths import other_flow, own_queue, slower, small_mtu
from benchmarks.truths.site import RATE_BIT_PER_S, RECEIVER, SENDER, Site, killed

STOP_EVERY_S = 0.2
SEND_FACTOR, RECEIVE_FACTOR = 2.1, 1.9
"""Bytes of a buffer's limit for each byte in flight that it admits: the kernel counts what it
allocates."""
FOREIGN = """
import os, sys, threading, time
cpus = [0, 1]
if os.fork(): cpus = cpus[:1]
else: cpus = cpus[1:]
os.sched_setaffinity(0, set(cpus))
parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    until = time.monotonic() + 0.004
    while time.monotonic() < until: pass
    time.sleep(0.016)
"""
"""A program of usual priority that takes a fifth of each CPU."""


def plant_of(words: Words, stand: Stand, forwarder: Forwarder | None, rule: int) -> Plant:
    """What creates the cause while its context lasts. ``rule``: its number in the forwarder."""
    planter = ROWS[f"{words.where} {words.what}"].planter
    host, cpu = (RECEIVER, RECEIVER_CPU) if words.where in RECEIVERS else (SENDER, SENDER_CPU)
    if planter == "forwarder":
        assert forwarder is not None
        return _turned_on(forwarder, rule)
    part = (stand.rate_bit_per_s or 0) / RATE_BIT_PER_S
    plants: dict[str, Plant] = {
        "quota": busy(str(cpu)) if words.when == "periodic" else quota(host, cpu),
        "stops": _stops(host, at_random=words.when == "bursts"),
        "scaling": setting(host, "net.ipv4.tcp_window_scaling=0"),
        "memory": _memory(words, stand),
        "mtu": lambda site, share: small_mtu(site, share * stand.mtu),
        "queue": lambda site, _: own_queue(site, 1.0),
        "flow": lambda site, share: other_flow(SENDER)(site, share * part),
        "cable": slower(SENDER),
    }
    return plants[planter]


def _turned_on(forwarder: Forwarder, rule: int) -> Plant:
    @contextmanager
    def plant(_: Site, __: float) -> Iterator[OnTrial]:
        forwarder.turn(rule, on=True)
        try:
            # What acts at the beginning needs to be told when a trial begins.
            yield lambda _: forwarder.turn(rule, on=True)
        finally:
            forwarder.turn(rule, on=False)

    return plant


def _memory(words: Words, stand: Stand) -> Plant:
    """A limit of the sockets' memory with which the share of the rate is lost on a long path."""
    in_flight = (stand.rate_bit_per_s or 0) / 8 * 2 * FAR_MS / 1e3 * (1 - words.share)
    if words.where == "sender-socket":
        name, host, number = "tcp_wmem", SENDER, SEND_FACTOR * in_flight
    else:
        name, host, number = "tcp_rmem", RECEIVER, RECEIVE_FACTOR * in_flight
    plant = setting(host, f"net.ipv4.{name}=4096 {{0}} {{0}}")
    return lambda site, _: plant(site, number)


def _stops(host: str, *, at_random: bool) -> Plant:
    """Stop the host's probe for a share of the time, again and again."""

    @contextmanager
    def plant(site: Site, share: float) -> Iterator[None]:
        over = threading.Event()
        stopped_s = share * STOP_EVERY_S + BUFFERED_MS / 1e3
        chance = random.Random(1)  # noqa: S311 - what can be repeated

        def stop_and_go() -> None:
            times = 1.0  # as long as usual; both alike, so the share stays
            while not over.wait(times * (STOP_EVERY_S - stopped_s)):
                times = chance.expovariate(1) if at_random else 1.0
                pids = site.probes(host)
                _signal(pids, signal.SIGSTOP)
                over.wait(times * stopped_s)
                _signal(pids, signal.SIGCONT)

        thread = threading.Thread(target=stop_and_go, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(5)
            _signal(site.probes(host), signal.SIGCONT)

    return plant


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            kill(pid, number)


def planting_of(plant: Plant, planned: Planned, words: Words) -> Planting:
    """The plant in some trials of each cell, or from one of them on, as the words say."""
    is_timed = words.when in ("trials", "onset")
    return Planting(plant, words.share, selector_of(planned, words) if is_timed else None)


def selector_of(planned: Planned, words: Words) -> Callable[[int], bool]:
    """Which trials (their numbers, from 1) the cause is in: some, but not all."""
    repeats, chance = planned.stand.repeats, chance_of(str(planned.seed), "trials")
    if words.when == "onset":
        first = chance.randrange(2, repeats + 1)
        return lambda number: number >= first
    if words.when == "trials":
        numbers = frozenset(chance.sample(range(1, repeats + 1), chance.randrange(1, repeats)))
        return lambda number: number in numbers
    return lambda number: True


@contextmanager
def foreign_cpu() -> Iterator[None]:
    """Let a foreign program take a fifth of each CPU."""
    with killed([sys.executable, "-I", "-S", "-c", FOREIGN]):
        yield


def own_queue_counts(site: Site, host: str = SENDER) -> tuple[int, int]:
    """Packets that the queue of a host's own interface has passed, and dropped."""
    tables = json.loads(site.run(host, *["tc", "-s", "-j", "qdisc", "show", "dev", "test"]))
    passed, dropped = (
        sum(int(table.get(name, 0)) for table in tables) for name in ("packets", "drops")
    )
    return passed, dropped
