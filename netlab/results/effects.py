"""What matters in a run: how much each setting that varies changes the figures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Literal

from netlab.errors import UsageError
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.messages import sentence_case
from netlab.results.labels import SYSTEMS, setting_name, setting_value
from netlab.results.layout import LevelValue, in_order
from netlab.results.quantities import quantities_of
from netlab.stats.effects import AxisEffect, Effects, effects_of
from netlab.terminal import fitted, printable_lines, table_lines
from netlab.trial.column import THROUGHPUTS, Quantity
from netlab.trial.record import Record, by_cell, server_sends
from netlab.units import format_share, plain_figures

SCHEMA = 1
"""Version of the JSON format."""
MOSTLY = 0.9
"""The verdict names one axis if it explains at least this share, otherwise two."""
Scale = Literal["log", "linear"]
_SYSTEM = "_system"
"""Ending of the axes of pairings of systems."""
_ENDS = ("server", "client", "receiver", "sender")
_PREFIX = {quantity.name: prefix for prefix, quantity in THROUGHPUTS.items()}
_COLUMNS = 80


@dataclass(frozen=True, slots=True)
class KindEffects:
    """What matters for one quantity of one kind of test over one protocol (empty: it has none), in
    the cells with two hosts, or in those within one host (``same_host``).

    ``blank_cells``: number of planned cells without a figure. ``follows``: a setting that varies
    only with another one → this other one, which is the axis. ``effects`` are in the ``unit``;
    without them, ``why_not`` says why.
    """

    test: str
    protocol: str
    same_host: bool
    quantity: str
    unit: str
    blank_cells: int
    follows: Mapping[str, str]
    effects: Effects | None
    why_not: str

    @property
    def verdict(self) -> str:
        """What explains most of the variation, in one sentence of at most 20 words."""
        effects = self.effects
        if effects is None:
            return f"Not known: {self.why_not}."
        if effects.degrees and not any(term.low for term in effects.terms):
            return "No setting makes a difference that is above the noise."
        axes, share_of = effects.axes, effects.share_of
        one = max(axes, key=share_of)
        best: tuple[str, ...] = (one,)
        if share_of(one) < MOSTLY:
            best = max(combinations(axes, 2), key=lambda some: share_of(*some))
        rest = [_axis(axis) for axis in axes if axis not in best]
        first = f"{format_share(share_of(*best if rest else (one,)))} of the variation"
        if not rest:
            (other,) = {*best} - {one}
            also = (
                f"{_axis(other)} {format_share(share_of(other))}, and only both together the rest"
            )
            return sentence_case(f"{_axis(one)} explains {first}, {also}.")
        named = f"{' and '.join(map(_axis, best))} {'explains'[: 9 - len(best)]}"
        others = " and ".join(rest) if len(rest) < 3 else f"{len(rest)} other settings"
        return sentence_case(f"{named} {first}; {others} the rest.")


def kind_effects(
    trials: Sequence[Record], scale: Scale | None = None, quantity: str | None = None
) -> tuple[KindEffects, ...]:
    """The effects in each kind of test, protocol and quantity, which are never mixed.

    ``trials``: all trials of a run; without a figure, a cell is empty. ``scale``: if it is not
    given, the logarithm if all figures are above 0. ``quantity``: the name of the only quantity;
    UsageError if the run does not have it.
    """
    kinds: dict[tuple[tuple[str, str, bool], Quantity], list[tuple[Record, list[float]]]]
    kinds = defaultdict(list)
    for cell in by_cell(trials).values():
        kind = cell[0].test, cell[0].protocol, any(record.same_host for record in cell)
        for own in quantities_of(cell[0]):
            figures = [figure for record in cell if (figure := own.in_unit(record)) is not None]
            kinds[kind, own].append((cell[0], figures))
    names = dict.fromkeys(str(own.name) for _kind, own in kinds)
    if quantity is not None and quantity not in names:
        raise UsageError(f"--quantity {quantity}: this run has {', '.join(names) or 'none'}")
    return tuple(
        _effects(kind, own, cells, scale)
        for (kind, own), cells in kinds.items()
        if quantity in (None, own.name)
    )


def _effects(
    kind: tuple[str, str, bool],
    quantity: Quantity,
    cells: Sequence[tuple[Record, list[float]]],
    scale: Scale | None,
) -> KindEffects:
    """``kind``: the first fields of the result; ``cells``: a trial, and all figures."""
    firsts = [first for first, _figures in cells]
    names = dict.fromkeys(name for first in firsts for name in first.settings)
    levels = _pairings(firsts, quantity)
    levels |= {name: [first.settings.get(name) for first in firsts] for name in names}
    follows: dict[str, str] = {}
    for name in [name for name in reversed(levels) if len({*levels[name]}) > 1]:
        for other in (other for other in levels if other != name and other not in follows):
            # With each level of the other axis, there is a single level of this one.
            if len({*zip(levels[other], levels[name], strict=True)}) == len({*levels[other]}):
                follows[name] = other
    filled = [at for at, (_first, figures) in enumerate(cells) if figures]
    axes = {name: in_order(own[at] for at in filled) for name, own in levels.items()}
    axes = {name: own for name, own in axes.items() if len(own) > 1 and name not in follows}
    table = {tuple(levels[name][at] for name in axes): cells[at][1] for at in filled}
    is_log = scale == "log" if scale else min(map(min, table.values()), default=0) > 0
    try:
        effects, why_not = effects_of(axes, table, logarithmic=is_log), ""
    except ValueError as error:
        effects, why_not = None, str(error)
    words, blanks = (str(quantity.name), str(quantity.unit)), len(cells) - len(filled)
    return KindEffects(*kind, *words, blanks, follows, effects, why_not)


def _pairings(firsts: Sequence[Record], quantity: Quantity) -> dict[str, list[LevelValue]]:
    """The axes of the pairings: an axis for each end, if the pairs of ends link all levels and are
    the same in each direction. The ends of a flow are sender and receiver.
    """
    prefix = _PREFIX.get(quantity.name)
    pairs: list[tuple[str, ...]] = []
    by_direction: dict[object, set[tuple[str, ...]]] = defaultdict(set)
    for first in firsts:
        turn = -1 if prefix is not None and server_sends(first.settings, prefix) else 1
        pairs.append(labels_of(first.pairing)[::turn])
        by_direction[first.settings.get("direction")].add(pairs[-1])
    every, linked = {*pairs}, {pairs[0]}
    while more := {p for p in every - linked if any(p[0] == q[0] or p[1] == q[1] for q in linked)}:
        linked |= more
    if linked != every or any(own != every for own in by_direction.values()):
        return {"pairing": [first.pairing for first in firsts]}
    ending = "" if any(is_by_name(first.pairing) for first in firsts) else _SYSTEM
    ends = _ENDS[:2] if prefix is None else _ENDS[2:]
    return {f"{end}{ending}": [pair[at] for pair in pairs] for at, end in enumerate(ends)}


def as_json(kinds: Sequence[KindEffects]) -> str:
    """A JSON object; shares are from 0 to 1, means (with their intervals) in the ``unit``."""
    document = {
        "schema": SCHEMA,
        "kinds": [asdict(kind) | {"verdict": kind.verdict} for kind in kinds],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_text(kinds: Sequence[KindEffects]) -> str:
    """For each kind of test and quantity: verdict, terms, sizes and remarks, in 80 columns."""
    text = "\n\n".join("\n".join(_lines(kind)) for kind in kinds)
    return fitted(printable_lines(text), _COLUMNS)


def _lines(kind: KindEffects) -> Iterator[str]:
    effects, unit = kind.effects, kind.unit
    where = " over ".join(filter(None, (kind.test, kind.protocol)))
    within = " within one host" if kind.same_host else ""
    yield f"{where}{within}, {kind.quantity}: {kind.verdict}"
    if effects is None:
        return
    rows, lost = [["", "share", "95 % interval"]], []
    for term in effects.terms:
        several = "three or more settings together"
        name = " × ".join(map(_axis, term.axes)) if len(term.axes) < 4 else several
        if term is effects.terms[-1] and not effects.degrees:
            name += ", or noise"
        limits = [f"{100 * end:.1f}" for end in (term.low, term.high) if end is not None]
        share = f"{100 * term.share:.1f} %" if term.degrees else "–"
        rows.append([name, share, f"{' to '.join(limits)} %" if limits else "–"])
        lost += [f"{name}{' (in part)' if term.degrees else ''}"] if term.lost else []
    yield from table_lines(rows, _COLUMNS, right=True)
    for axis in effects.axes:
        sizes = [size for size in effects.sizes if size.axis == axis]
        yield f"  {_axis(axis)}: {_size(effects, sizes, unit)}"
    yield f"  scale: {'logarithm, as settings act as factors' if effects.logarithmic else unit}"
    noise = "not known, as no cell has two trials; it is part of the shares"
    if effects.degrees:
        trials = " to ".join(map(str, dict.fromkeys(effects.trials)))
        spread = _difference(effects, effects.deviation, unit)
        noise = f"standard deviation {spread}, {trials} trials a cell; shares are without it"
    yield f"  noise: {noise}"
    if effects.empty or kind.blank_cells:
        cells = f"{effects.empty} of {effects.cells + effects.empty} combinations"
        yield f"  empty: {cells}; planned cells without a figure: {kind.blank_cells}"
    if lost:
        yield f"  not known, as cells are empty: {', '.join(lost)}"
    for name, axis in kind.follows.items():
        yield f"  {_axis(name)} varies only with {_axis(axis)}"


def _size(effects: Effects, sizes: Sequence[AxisEffect], unit: str) -> str:
    """The largest difference of an axis's levels, with their means and where that is."""
    if not sizes:
        return "no two values are measured in the same combination of the others"
    size = max(sizes, key=lambda size: size.at_most)
    order, means = sorted(size.means, key=size.means.__getitem__), []
    for level in size.means if len(order) <= 3 else (order[0], order[-1]):
        middle, *ends = (plain_figures(figure, 4) for figure in size.means[level])
        bounds = f" [{' to '.join(ends)}]" if ends else ""
        means.append(f"{_level(size.axis, level)} {middle}{bounds}")
    at = ", ".join(f"{_axis(name)} {_level(name, level)}" for name, level in size.within.items())
    most = f"{'at most' if effects.degrees else 'up to'} {_difference(effects, size.at_most, unit)}"
    return f"{most}; {', '.join(means)} {unit}{at and f' (at {at})'}"


def _difference(effects: Effects, size: float, unit: str) -> str:
    if not effects.logarithmic:
        return f"{plain_figures(size)} {unit}"
    return format_share(size, 2) if size < 1 else f"{plain_figures(1 + size)} times"


def _axis(name: str) -> str:
    """An axis's name in a text, such as ``sender’s system`` or ``socket buffer``."""
    end = name.removesuffix(_SYSTEM)
    if end in _ENDS:
        return end if end == name else f"{end}’s system"
    return setting_name(name).partition(",")[0]


def _level(name: str, level: LevelValue) -> str:
    """A level of an axis in a text, such as ``Linux`` or ``64 KiB``."""
    if name.endswith(_SYSTEM):
        return SYSTEMS.get(str(level), str(level))
    return setting_value(name, level)
