"""What matters in a run: how much each setting that varies changes the figures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Literal

from netlab.errors import UsageError
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.experiment.sample import PAIRING, Sample
from netlab.kinds import KINDS
from netlab.messages import _, counted, joined, listed, sentence_case
from netlab.results.labels import SYSTEMS, setting_name, setting_value
from netlab.results.layout import LevelValue, in_order
from netlab.results.quantities import quantities_of
from netlab.trial.column import THROUGHPUTS, Quantity
from netlab.trial.record import Record, by_cell, server_sends
from netlab.units import format_share

if TYPE_CHECKING:
    from netlab.stats.effects import Effects

SCHEMA = 1
"""Version of the JSON format."""
MOSTLY = 0.9
"""The verdict names one axis if it explains at least this share, otherwise two."""
_ALMOST_ALL = 0.9995
Scale = Literal["log", "linear"]
_SYSTEM = "_system"
"""Ending of the axes of pairings of systems."""
_ENDS = {
    **{"receiver": _("receiver"), "receiver_system": _("receiver’s system")},
    **{"sender": _("sender"), "sender_system": _("sender’s system")},
    **{"server": _("server"), "server_system": _("server’s system")},
    **{"client": _("client"), "client_system": _("client’s system")},
}
PAIRING_AXES = frozenset({"pairing", *_ENDS})
_NAMES = {"message_bytes": _("message size"), "frame_bytes": _("frame size"), **_ENDS}
"""Axis → its name in a text, without a unit."""
_PREFIX = {quantity.name: prefix for prefix, quantity in THROUGHPUTS.items()}


@dataclass(frozen=True, slots=True)
class KindEffects:
    """What matters for one quantity of one kind of test over one protocol (empty: it has none), in
    the cells with two hosts, or in those within one host (``same_host``).

    ``blank_cells``: number of planned cells without a figure. ``follows``: a setting that varies
    only with another one → this other one, which is the axis. ``effects`` are in the ``unit``;
    without them, ``why_not`` says why. ``sample``: the sample of which the run's cells are all, in
    words; empty: of the whole matrix.
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
    sample: str = ""

    @property
    def heading(self) -> str:
        """Kind of test, quantity and protocol: ``round trips, mean round trip over UDP``."""
        label = KINDS[self.test].label if self.test in KINDS else self.test
        words: str = self.quantity
        if self.protocol:
            words = _("{quantity} over {protocol}", quantity=words, protocol=self.protocol)
        inside = [_("within one host")] if self.same_host else []
        return sentence_case(joined(", ", filter(None, [label, words, *inside])))

    @property
    def sentence(self) -> str:
        """The heading with the verdict."""
        return _("{what}: {verdict}", what=self.heading, verdict=self.verdict)

    @property
    def verdict(self) -> str:
        """What explains most of the variation, in one sentence of at most 20 words."""
        effects = self.effects
        if effects is None:
            return _("Not known: {why}.", why=self.why_not)
        if effects.degrees and not any(term.low for term in effects.terms):
            return _("No setting makes a difference that is above the noise.")
        axes, share_of = effects.axes, effects.share_of
        one = max(axes, key=share_of)
        best: tuple[str, ...] = (one,)
        if share_of(one) < MOSTLY:
            best = max(combinations(axes, 2), key=lambda some: share_of(*some))
        rest = [axis_words(axis) for axis in axes if axis not in best]
        if not rest:
            (other,) = {*axes} - {one}
            text = _(
                "{axis} explains {share} of the variation, {other} {less}, and only both together "
                "the rest.",
                **{"axis": axis_words(one), "share": format_share(share_of(one))},
                **{"other": axis_words(other), "less": format_share(share_of(other))},
            )
            return sentence_case(text)
        others: str = counted("{number} other setting", "{number} other settings", len(rest))
        if len(rest) < 3:
            others = listed(rest)
        share, named = share_of(*best), listed(map(axis_words, best))
        values: dict[str, str] = {"axis": named, "share": format_share(share), "others": others}
        if share > _ALMOST_ALL:
            values["share"] = _("more than 99.9 %")
            if best[1:]:
                return sentence_case(_("{axis} explain {share} of the variation.", **values))
            return sentence_case(_("{axis} explains {share} of the variation.", **values))
        if best[1:]:
            text = _("{axis} explain {share} of the variation; {others} the rest.", **values)
        else:
            text = _("{axis} explains {share} of the variation; {others} the rest.", **values)
        return sentence_case(text)


def axis_words(name: str) -> str:
    """An axis's name in a text, such as ``sender’s system`` or ``socket buffer``."""
    return _NAMES[name] if name in _NAMES else setting_name(name)


def level_words(name: str, level: LevelValue) -> str:
    """A level of an axis in a text, such as ``Linux`` or ``64 KiB``."""
    if name.endswith(_SYSTEM):
        return SYSTEMS.get(str(level), str(level))
    if name == "message_bytes":
        return _("{size} bytes", size=str(level))
    return setting_value(name, level)


def kind_effects(
    trials: Sequence[Record],
    scale: Scale | None = None,
    quantity: str | None = None,
    sample: Sample | None = None,
) -> tuple[KindEffects, ...]:
    """The effects in each kind of test, protocol and quantity, which are never mixed.

    ``trials``: all trials of a run; without a figure, a cell is empty. ``scale``: if it is not
    given, the logarithm if all figures are above 0. ``quantity``: the name of the only quantity;
    UsageError if the run does not have it. ``sample``: which part of the matrix the run is.
    """
    if sample is not None and sample.cells >= sample.of:
        sample = None
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
        _effects(kind, own, cells, scale, sample)
        for (kind, own), cells in kinds.items()
        if quantity in (None, own.name)
    )


def _effects(
    kind: tuple[str, str, bool],
    quantity: Quantity,
    cells: Sequence[tuple[Record, list[float]]],
    scale: Scale | None,
    sample: Sample | None,
) -> KindEffects:
    """``kind``: the first fields of the result; ``cells``: a trial, and all figures."""
    firsts = [first for first, _figures in cells]
    names = dict.fromkeys(name for first in firsts for name in first.settings)
    levels = _pairings(firsts, quantity)
    ends = [*levels]
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
    pairs = None
    if sample is not None:
        of = {name: [follows.get(name, name)] for name in levels} | {PAIRING: ends}
        named = [product(*(of.get(name, ()) for name in pair)) for pair in sample.pairs]
        pairs = [(a, b) for a, b in chain(*named) if a != b and {a, b} <= axes.keys()]
    effects: Effects | None = None
    why_not: str = _("fewer than two settings vary among the cells with a figure")
    try:
        if len(axes) > 1:
            from netlab.stats.effects import effects_of  # imports numpy

            effects, why_not = effects_of(axes, table, logarithmic=is_log, pairs=pairs), ""
    except ValueError as error:
        why_not = str(error)
    words, blanks = (quantity.name, quantity.unit), len(cells) - len(filled)
    return KindEffects(*kind, *words, blanks, follows, effects, why_not, str(sample or ""))


def ends_of(record: Record, prefix: str | None) -> tuple[str, str]:
    """Receiver and sender of a flow (by the prefix of its columns), as a pairing names them;
    without a flow (``None``) server and client.
    """
    turn = -1 if prefix is not None and server_sends(record.settings, prefix) else 1
    server, client = labels_of(record.pairing)[::turn]
    return server, client


def _pairings(firsts: Sequence[Record], quantity: Quantity) -> dict[str, list[LevelValue]]:
    """The axes of the pairings: an axis for each end, if the pairs of ends link all levels and are
    the same in each direction. The ends of a flow are sender and receiver.
    """
    prefix = _PREFIX.get(quantity.name)
    pairs: list[tuple[str, ...]] = []
    by_direction: dict[object, set[tuple[str, ...]]] = defaultdict(set)
    for first in firsts:
        pairs.append(ends_of(first, prefix))
        by_direction[first.settings.get("direction")].add(pairs[-1])
    every, linked = {*pairs}, {pairs[0]}
    while more := {p for p in every - linked if any(p[0] == q[0] or p[1] == q[1] for q in linked)}:
        linked |= more
    if linked != every or any(own != every for own in by_direction.values()):
        return {"pairing": [first.pairing for first in firsts]}
    ending = "" if any(is_by_name(first.pairing) for first in firsts) else _SYSTEM
    ends = ("server", "client") if prefix is None else ("receiver", "sender")
    return {f"{end}{ending}": [pair[at] for pair in pairs] for at, end in enumerate(ends)}


def as_json(kinds: Sequence[KindEffects]) -> str:
    """A JSON object; shares are from 0 to 1, means (with their intervals) in the ``unit``."""
    document = {
        "schema": SCHEMA,
        "kinds": [asdict(kind) | {"verdict": kind.verdict} for kind in kinds],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
