"""The plan as text for people: cells, trials, their time, and what runs in parallel.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. A trial is one
execution of a cell. A round is the trials that run at the same time.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.experiment.hosts import is_by_name, labels_of, role_of
from netlab.runner.planning import Planned, lines_of
from netlab.terminal import table_lines
from netlab.units import (
    format_bytes,
    format_rate,
    format_seconds,
    format_share,
    many,
    plain_figures,
)

if TYPE_CHECKING:
    from netlab.experiment.cells import Cell
    from netlab.experiment.matrix import Link, NamedMirror
    from netlab.kinds import TestSettings


MAX_TOGETHER = 12
"""Maximum number of combinations of pairings that are listed; `--json` has all combinations."""


def plan_text(plan: Planned, *, with_cells: bool = False, width: int | None = None) -> str:
    """The plan as text: a line for each pairing and protocol, then the totals. The table is no
    wider than ``width``.
    """
    matrix = plan.matrix
    lines = [matrix.title, f"{matrix.file}, content {matrix.content_hash[:8]}", ""]
    lines += _table(plan, width)
    if with_cells:
        lines += ["", *(f"{cell.key}  {_settings(cell)}" for cell in plan.cells)]
    if matrix.scale != 1:
        lines += [
            "",
            f"Scaled: every `count` is multiplied by {plain_figures(matrix.scale)} (at least 1)",
        ]
    if matrix.link is not None:
        lines += ["", _link(matrix.link)]
    lines += ["", *_shortfall(plan), *_refusals(plan), _sum(plan), *_tightness(plan), *_quiet(plan)]
    if plan.rounds:
        lines += [_time(plan), *_simultaneity(plan)]
    lines += [_mirror(mirror) for mirror in matrix.mirrors.values()]
    lines += lines_of(matrix.variants)
    lines += [f"Compared: {comparison.name}" for comparison in matrix.comparisons]
    return "\n".join(lines)


def _table(plan: Planned, width: int | None) -> list[str]:
    """One line for each pairing and protocol, columns aligned."""
    groups: dict[tuple[str, str, str], Counter[TestSettings]] = {}
    labels, ends = _pairings(plan)
    for (label, test, setup), cells in Counter(
        (labels[cell.pairing], cell.test, cell.setup) for cell in plan.cells
    ).items():
        groups.setdefault((label, test, setup.protocol), Counter())[setup] += cells
    rows = [("pairing", "server, client", "test", "cells", "message sizes", "socket buffers")]
    for (pairing, test, protocol), setups in groups.items():
        sizes = dict.fromkeys(word for setup in setups for word in _message_size(setup))
        buffers = dict.fromkeys(setup.socket_buffer_bytes for setup in setups)
        rows.append(
            (
                pairing,
                ends[pairing],
                f"{test} {protocol}",
                str(setups.total()),
                _listed(list(sizes)) if sizes else "searched",
                _listed(["auto" if size is None else format_bytes(size) for size in buffers]),
            )
        )
    return table_lines(rows, width)


def _pairings(plan: Planned) -> tuple[dict[str, str], dict[str, str]]:
    """Pairing → label of its line in the table, and label → the two ends.

    Pairings that name their two hosts share one line if there are more than ``MAX_TOGETHER``.
    """
    by_name = [pairing for pairing in plan.ends if is_by_name(pairing)]
    shared: dict[str, str] = {}
    own_ends: dict[str, str] = {}
    if len(by_name) > MAX_TOGETHER:
        label = f"{len(by_name)} by name"
        roles = {role for pairing in by_name for role in labels_of(pairing)}
        shared = dict.fromkeys(by_name, label)
        own_ends[label] = f"{len({role_of(role).host for role in roles})} hosts"
    own = [pairing for pairing in plan.ends if pairing not in shared]
    own_ends |= {pairing: ", ".join(plan.ends[pairing]) for pairing in own}
    return shared | dict(zip(own, own, strict=True)), own_ends


def _message_size(setup: TestSettings) -> tuple[str, ...]:
    """The message size; empty if the test searches it."""
    size = setup.settings().get("message_bytes")
    return () if size is None else (str(size),)


def _listed(words: list[str]) -> str:
    """All words if there are at most 5, else the first two, the last one and their number."""
    if len(words) <= 5:
        return ", ".join(words)
    return f"{words[0]}, {words[1]}, … {words[-1]} ({len(words)})"


def _settings(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.settings.items())


def _link(link: Link) -> str:
    tag = ", 802.1Q tag" if link.vlan else ""
    hops = f", {many(link.hops, 'router')} between the hosts" if link.hops else ""
    return f"Link: {format_rate(link.rate_bit_per_s)}, MTU {link.mtu_bytes}{tag}{hops}"


def _mirror(mirror: NamedMirror) -> str:
    """The command that netlab starts on the server, or the address of a mirror that runs already.

    A mirror is a program that answers the requests of a round-trip test.
    """
    if mirror.start:
        return f"Mirror {mirror.name}: started on the server: {shlex.join(mirror.start)}"
    address = mirror.address or "the server's test address"
    return f"Mirror {mirror.name}: runs already at {address}, port {mirror.port}"


def _shortfall(plan: Planned) -> list[str]:
    """The line about hosts that the inventory lacks, if it lacks any."""
    if not plan.shortfall:
        return []
    return [f"{plan.shortfall}; their cells stay pending (--strict refuses the run)", ""]


def _refusals(plan: Planned) -> list[str]:
    """A line for each reason why cells cannot be measured, and for each note."""
    reasons: dict[str, list[Cell]] = {}
    for cell, sentence in plan.refused.items():
        if plan.shortfall and cell.pairing not in plan.paired:
            continue  # `_shortfall` reports this cell
        reasons.setdefault(sentence, []).append(cell)
    lines = [
        f"Cannot be measured: {many(len(cells), 'cell')} of "
        f"{', '.join(dict.fromkeys(cell.pairing for cell in cells))}: {sentence}"
        for sentence, cells in reasons.items()
    ]
    lines += [f"Note: {note}" for note in plan.notes]
    return [*lines, ""] if lines else []


def _sum(plan: Planned) -> str:
    """The numbers of cells and trials: ``416 cells x 1 trial = 416 trials in 416 rounds``."""
    matrix = plan.matrix
    cells = (
        [cell for cell in plan.cells if cell not in plan.refused] if plan.refused else plan.cells
    )
    differing = cells if matrix.own_repeats else cells[:1]
    numbers = dict.fromkeys((matrix.fewest_of(cell), matrix.repeats_of(cell)) for cell in differing)
    fewest, most = plan.trials_at_least, plan.trials
    per_cell = " or ".join(f"{low} to {high}" if low < high else str(high) for low, high in numbers)
    trials = f"{fewest} to {most} trials" if fewest < most else many(most, "trial")
    rounds_ = f"{len(plan.fewest)} to {len(plan.rounds)} rounds"
    if len(plan.fewest) == len(plan.rounds):
        rounds_ = many(len(plan.rounds), "round")
    blocks = f", in shuffled order (seed {matrix.seed})" if matrix.order == "shuffled" else ""
    word = "trial" if per_cell == "1" else "trials"
    if not cells:
        return "No cell can be measured"
    return f"{many(len(cells), 'cell')} x {per_cell} {word} = {trials} in {rounds_}{blocks}"


def _tightness(plan: Planned) -> list[str]:
    until = plan.matrix.until
    if until is None:
        return []
    return [
        f"A cell is repeated until its mean is within ± {format_share(until.within)} at "
        f"{format_share(until.confidence)} confidence: {until.at_least} to {until.at_most} trials"
    ]


def _quiet(plan: Planned) -> list[str]:
    quiet = plan.matrix.quiet
    if quiet is None:
        return []
    return [
        f"If a hypervisor takes more than {format_share(quiet.steal)} of a host's CPU time, the "
        f"trial is repeated at the end, up to {quiet.tries} attempts in all"
    ]


def _time(plan: Planned) -> str:
    """The duration, and the part of it that cannot be predicted."""
    most, fewest = plan.time, plan.time_at_least
    sentences: list[str] = []
    if most.longest_s:
        least = "At least" if most.at_link_rate or most.searching else "About"
        text = f"{least} {format_seconds(fewest.time_s)}"
        if most.searching and most.time_s > fewest.time_s:
            text += f", at most {format_seconds(most.time_s)}"
        elif most.time_s > fewest.time_s:
            text += f", {format_seconds(most.time_s)} if every trial is needed"
        text += f"; the longest trial {format_seconds(most.longest_s)}"
        if plan.matrix.pause_s:
            text += f"; a pause of {format_seconds(plan.matrix.pause_s)} between two rounds"
        sentences.append(text)
    if most.at_link_rate:
        sentences.append(
            f"{_are(most.at_link_rate)} limited by `count` and not by time: their time is "
            "calculated from the link's rate, and hosts may take longer"
        )
    if most.counted:
        sentences.append(
            f"{_are(most.counted)} limited by `count` and not by time: their time cannot be "
            "predicted"
        )
    if most.searching:
        verb = "searches" if most.searching == 1 else "search"
        sentences.append(
            f"{many(most.searching, 'trial')} {verb} the path: the maximum holds for a path with "
            "one fixed limit; a path with random loss takes longer"
        )
    if most.unbounded:
        sentences.append(
            f"The time of {many(most.unbounded, 'trial')} is not known: set the line rate with "
            "`link`"
        )
    return ". ".join(sentences)


def _are(trials: int) -> str:
    return f"{many(trials, 'trial')} {'is' if trials == 1 else 'are'}"


def _simultaneity(plan: Planned) -> list[str]:
    together = [_with_each_other(pairings) for pairings in plan.together]
    if not plan.matrix.parallel:
        return ["One trial at a time"]
    if not together:
        return ["One trial at a time: any two pairings share a host"]
    note = "" if plan.inventory else " (if each system has two hosts; --hosts FILE names them)"
    more = f"; and {len(together) - MAX_TOGETHER} more" if len(together) > MAX_TOGETHER else ""
    most = max(len(round_.trials) for round_ in plan.rounds)
    return [
        f"At the same time: {'; '.join(together[:MAX_TOGETHER])}{more}{note}",
        *_saved(plan, most),
    ]


def _with_each_other(pairings: Sequence[str]) -> str:
    words = " with ".join(pairings[:MAX_TOGETHER])
    more = len(pairings) - MAX_TOGETHER
    return f"{words} and {more} more" if more > 0 else words


def _saved(plan: Planned, most: int) -> list[str]:
    """The time with and without parallel trials, if it is known."""
    apart, time = plan.time_one_by_one, plan.time
    if not apart.longest_s:
        return []
    return [
        f"Up to {most} trials at once: {format_seconds(time.time_s)} instead of "
        f"{format_seconds(apart.time_s)} one by one"
    ]
