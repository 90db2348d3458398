"""Measures one run twice in a lab of its own: without its causes, and with them.

The folder of a run has ``control/`` and ``run/``, which are run folders, and ``truth.json``, which
is written last: what was planted, on which cells it acted, and by what it is known that it did.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.space.draw import Planned
from benchmarks.space.evidence import CONTROL, RUN, evidence_of, planter_of, way_of
from benchmarks.space.forwarder import Forwarder, forwarding
from benchmarks.space.matrices import RECEIVER_CPU, SENDER_CPU, Stand
from benchmarks.space.plants import (
    foreign_cpu,
    own_queue_counts,
    plant_of,
    planting_of,
    selector_of,
)
from benchmarks.space.rules_of import acting_share, far_rule, rule_of
from benchmarks.space.trials import COUNTING, Ledger, Reading, grown, together
from benchmarks.space.words import RECEIVERS, Words
from benchmarks.truths.one_run import TRUTH, run_planted, undisturbed, write
from benchmarks.truths.plants import Plant
from benchmarks.truths.site import RECEIVER, SENDER, UNLIMITED_CPUS, Site
from netlab import lab
from netlab.lab import LabOptions, programs

LONGEST_S = 240.0
"""When a run that does not end is given up."""
LAB = "truths0-space"
"""A name of the benchmark of truths, whose next start removes what is left of it."""


def measure(planned: Planned, into: Path) -> dict[str, Any]:
    """Measure a run, and return what was written to its ``truth.json``."""
    began, folder = time.monotonic(), into / planned.name
    evidence: list[dict[str, Any]] = []

    def attempt(folder: Path) -> str | None:
        evidence.clear()
        folder.mkdir(parents=True)
        with deadline(LONGEST_S), standing(planned) as site:
            return _both(planned, site, folder, evidence)

    runs = (RUN,) if planned.kind == "healthy" else (CONTROL, RUN)
    last = undisturbed(attempt, folder, runs=runs)
    truth = {
        **planned.as_json(),
        "evidence": evidence,
        "stolen_share": last.stolen_share,
        "left_out": last.left_out,
        "failed": last.failed,
        "took_s": round(time.monotonic() - began, 2),
    }
    write(folder / TRUTH, truth)
    return truth


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the main thread after some seconds."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not over after {seconds:g} s")

    usual = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


@contextmanager
def standing(planned: Planned, name: str = LAB) -> Iterator[Site]:
    """The lab of a run: two hosts with a cable each to a switch."""
    stand = planned.stand
    wish: dict[str, Any] = {"rate": stand.rate_bit_per_s, "mtu": stand.mtu, "topology": "star"}
    needs_quota = any(planter_of(words) == "quota" for words in planned.parts)
    if needs_quota and programs.quota_controller() is not None:
        wish["cpu_shares"] = dict.fromkeys((RECEIVER, SENDER), UNLIMITED_CPUS)
    lab.down(name)
    try:
        site = Site("space", lab.up(LabOptions(name=name, checksums="software", **wish)))
        for host in wish.get("cpu_shares", ()):
            site.set_quota(host, None)
        yield site
    finally:
        lab.down(name, forget=True)


def _both(planned: Planned, site: Site, folder: Path, evidence: list[dict[str, Any]]) -> str | None:
    """Measure without and with the causes. Returns ``None``, or what went wrong."""
    stand = planned.stand
    rules, numbers = rules_of(planned)
    has_queue = any(planter_of(words) == "queue" for words in planned.parts)
    with ExitStack() as stack:
        forwarder = None
        if stand.forwarder:
            context = forwarding(site, stand.mtu, rules, planned.seed, _cpu_of(planned))
            forwarder = stack.enter_context(context)
        if stand.foreign_cpu:
            stack.enter_context(foreign_cpu())

        def read() -> Reading:
            queue = own_queue_counts(site) if has_queue else (0, 0)
            return Reading(forwarder.counters() if forwarder else None, queue)

        control = Ledger(read)
        if planned.parts:
            failed = _run(planned, site, folder / CONTROL, together([], control))
            if failed is not None:
                return f"control: {failed}"
        if forwarder is not None:
            for words, rule in numbers.items():
                _limit_acknowledgements(forwarder, words, rule, stand, control)
        ledger, before = Ledger(read), read()
        plantings = [
            planting_of(plant_of(words, stand, forwarder, numbers.get(words, 0)), planned, words)
            for words in planned.parts
        ]
        failed = _run(planned, site, folder / RUN, together(plantings, ledger))
        after = read()
    for words in planned.parts:
        acted = None
        if words in numbers:
            assert before.rules is not None and after.rules is not None
            acted = grown(before.rules, after.rules, numbers[words])
        counts = ledger.counts(numbers.get(words), way_of(words), selector_of(planned, words))
        evidence.append(evidence_of(planned, words, folder, acted, counts))
    return failed


def _cpu_of(planned: Planned) -> int | None:
    """The CPU of the forwarder: not that of a host with a quota, which its programs must use up."""
    for words in planned.parts:
        if planter_of(words) == "quota":
            return SENDER_CPU if words.where in RECEIVERS else RECEIVER_CPU
    return None


def _limit_acknowledgements(
    forwarder: Forwarder, words: Words, rule: int, stand: Stand, control: Ledger
) -> None:
    """Let pass the planted share less of them than without the cause: one for each segment, or for
    two, as the receiver decides.
    """
    if (words.what, words.which) != ("rate", "acknowledgements"):
        return
    seconds = sum(stand.seconds + stand.warm_up_s for _ in control.trials)
    counts = control.counts(rule, way_of(words), lambda _: True)
    number = sum(its["matched"] for its in counts.values())
    if number:
        forwarder.limit(rule, number / seconds * (1 - acting_share(words)))


def rules_of(planned: Planned) -> tuple[list[str], dict[Words, int]]:
    """The rules of the forwarder, and the number of the rule of each cause that is one."""
    stand = planned.stand
    rules = [COUNTING] if planned.parts else []
    rules += [far_rule(stand)] if stand.far_ms else []
    numbers: dict[Words, int] = {}
    for words in planned.parts:
        if planter_of(words) == "forwarder":
            numbers[words] = len(rules)
            rules.append(rule_of(words, stand))
    return rules, numbers


def _run(planned: Planned, site: Site, folder: Path, plant: Plant | None = None) -> str | None:
    """Measure the matrix with a plant. Returns ``None``, or what went wrong."""
    matrix = folder.parent / f"{folder.name}.yaml"
    matrix.write_text(planned.stand.matrix(planned.name, planned.seed), encoding="utf-8")
    return run_planted(matrix, site, folder, [] if plant is None else [(plant, 0.0)])
