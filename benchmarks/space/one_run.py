"""Measures one run twice in a lab of its own: without its causes, and with them.

The folder of a run has ``control/`` and ``run/``, which are run folders, and ``truth.json``, which
is written last: what was planted, on which cells it acted, and by what it is known that it did.
"""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.space.draw import Planned
from benchmarks.space.forwarder import Acted, Counters, forwarding
from benchmarks.space.plants import foreign_cpu, plant_of, queue_drops, selector_of, timed
from benchmarks.space.rows import ROWS
from benchmarks.space.rules_of import acting_share, far_rule, rule_of
from benchmarks.space.words import Words
from benchmarks.truths.one_run import TRUTH, run_planted, undisturbed, write
from benchmarks.truths.site import RECEIVER, SENDER, UNLIMITED_CPUS, Site
from netlab import lab
from netlab.errors import NetlabError
from netlab.findings.analysis import Analysis, load
from netlab.lab import LabOptions, programs
from netlab.trial.record import Record, as_number

CONTROL, RUN = "control", "run"
LONGEST_S = 240.0
"""When a run that does not end is given up."""
LAB = "truths0-space"
"""A name of the benchmark of truths, whose next start removes what is left of it."""
LEAST_COST = 0.3
"""A cause acted if it costs this part of the share that it should take."""
COUNTED = ("drops", "order", "copies", "corruption")
"""Of these, how much is the share of the packets."""
QUANTITIES = (
    *("throughput_bit_per_s", "to_server_throughput_bit_per_s", "to_client_throughput_bit_per_s"),
    *("transactions_per_s", "frames_per_s"),
)
"""What may be lost, the first that a record has."""


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
    needs_quota = any(_planter(words) == "quota" for words in planned.parts)
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


def _planter(words: Words) -> str:
    return ROWS[f"{words.where} {words.what}"].planter


def _both(planned: Planned, site: Site, folder: Path, evidence: list[dict[str, Any]]) -> str | None:
    """Measure without and with the causes. Returns ``None``, or what went wrong."""
    stand = planned.stand
    rules = [far_rule(stand)] if stand.far_ms else []
    numbers: dict[Words, int] = {}
    for words in planned.parts:
        if _planter(words) == "forwarder":
            numbers[words] = len(rules)
            rules.append(rule_of(words, stand))
    with ExitStack() as stack:
        forwarder = None
        if stand.forwarder:
            context = forwarding(site, stand.mtu, rules, planned.seed)
            forwarder = stack.enter_context(context)
        if stand.foreign_cpu:
            stack.enter_context(foreign_cpu())
        if planned.parts and (failed := _run(planned, site, folder / CONTROL, [])):
            return f"control: {failed}"
        before = forwarder.counters() if forwarder else None
        drops = queue_drops(site)
        plants = [
            (timed(plant_of(words, stand, forwarder, numbers.get(words, 0)), planned, words), words)
            for words in planned.parts
        ]
        failed = _run(planned, site, folder / RUN, plants)
        after = forwarder.counters() if forwarder else None
        dropped = queue_drops(site) - drops
    for words in planned.parts:
        rule = _of_rule(before, after, numbers[words]) if words in numbers else None
        evidence.append(_evidence(planned, words, folder, rule, dropped))
    return failed


def _run(planned: Planned, site: Site, folder: Path, plants: Sequence[Any]) -> str | None:
    """Measure the matrix with these plants. Returns ``None``, or what went wrong."""
    matrix = folder.parent / f"{folder.name}.yaml"
    matrix.write_text(planned.stand.matrix(planned.name, planned.seed), encoding="utf-8")
    return run_planted(matrix, site, folder, [(plant, words.share) for plant, words in plants])


# ---- what shows that a cause acted ---------------------------------------------------------------


def _of_rule(before: Counters | None, after: Counters | None, rule: int) -> Acted:
    """What a rule did between two readings."""
    assert before is not None and after is not None
    old, new = before.rules[rule], after.rules[rule]
    pairs = {
        name: tuple(b - a for a, b in zip(getattr(old, name), getattr(new, name), strict=True))
        for name in Acted.__slots__
    }
    return Acted(**pairs)


def _evidence(
    planned: Planned, words: Words, folder: Path, rule: Acted | None, dropped: int
) -> dict[str, Any]:
    """What is known of one cause: the cells, the shares that are true, whether it acted."""
    cells, cost = _cells_and_cost(planned, words, folder)
    shares = {"planted": words.share, "acting": acting_share(words)}
    if rule is not None and rule.share is not None and words.what in COUNTED:
        shares["counted"] = rule.share
    if cost is not None and len(planned.parts) == 1:
        shares["cost"] = cost
    planter = _planter(words)
    if rule is not None:
        acted = sum(rule.acted) > 0
    elif planter == "queue":
        acted = dropped > 0
    else:
        acted = planter == "mtu" or (cost is not None and cost >= LEAST_COST * words.share)
    return {
        "cells": cells,
        "shares": {name: round(share, 4) for name, share in shares.items()},
        "acted": acted,
        "rule": None if rule is None else {name: getattr(rule, name) for name in Acted.__slots__},
        "queue_drops": dropped,
    }


def _cells_and_cost(planned: Planned, words: Words, folder: Path) -> tuple[list[str], float | None]:
    """The cells on which the cause acts, and the share that it costs there, in its trials."""
    try:
        with_it, without = load(folder / RUN), load(folder / CONTROL)
    except NetlabError:
        return [], None
    stand = planned.stand
    cells = [cell.key for cell in with_it.plan.cells if stand.acts(cell.settings)]
    return cells, cost_of(planned, words, cells, with_it, without)


def cost_of(
    planned: Planned, words: Words, cells: Sequence[str], with_it: Analysis, without: Analysis
) -> float | None:
    """The share that a cause costs in these cells, in its trials; ``None``: not known."""
    selector = selector_of(planned, words)
    reading = _mean(with_it, cells, lambda record: selector(record.trial))
    clean = _mean(without, cells, lambda _: True)
    return None if reading is None or not clean else 1 - reading / clean


def _mean(analysis: Analysis, cells: Sequence[str], wanted: Any) -> float | None:
    values = [
        value
        for record in analysis.records
        if record.cell in cells and wanted(record) and (value := _quantity(record)) is not None
    ]
    return statistics.fmean(values) if values else None


def _quantity(record: Record) -> float | None:
    for name in QUANTITIES:
        if (value := as_number(record.values.get(name))) is not None:
            return value
    return None
