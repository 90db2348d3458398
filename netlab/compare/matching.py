"""Agreement: the conditions for a comparison of two runs, and their matching cells. No I/O.

A cell is one combination of test, pairing (server and client) and settings. The run that is
compared with the baseline is the contender.

The link, the kinds of test, the pairings and every setting must agree; only a setting that has one
value in each run may differ, and the comparison then states the difference. Hosts, netlab's
version, the number of repeats and their order may differ: the comparison may be about them. If a
run lacks a setting because its version of netlab did not have it, the default counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.kinds import DEFAULTS_OF, EXCLUSIVE
from netlab.experiment.matrix import Link
from netlab.experiment.settings import Level, Scalar
from netlab.messages import counted
from netlab.results.labels import setting_name, setting_value
from netlab.store.plan import Plan, PlannedCell
from netlab.units import format_rate

TestKind = tuple[str, str]
"""Kind of test, and its protocol."""

LevelsByKind = Mapping[TestKind, Mapping[str, frozenset[Level]]]
"""Kind → setting (or ``pairing``) → the values of its cells; ``None``: not set."""

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two plans can be compared cell by cell."""

    differences: tuple[str, ...]
    """One phrase per difference that forbids a comparison; empty if the plans agree."""
    pairs: tuple[tuple[str, str], ...]
    """Keys of matching cells, in the baseline's order. The cells of a pair may differ in a setting
    that has one value in each run.
    """
    alone: tuple[str, ...]
    """One phrase per run that has cells without a counterpart in the other run."""


def agreement(baseline: Plan, contender: Plan) -> Agreement:
    """The differences of two plans, and their matching cells."""
    old_cells, new_cells = (
        [_MatchedCell.of(cell, plan) for cell in plan.cells] for plan in (baseline, contender)
    )
    old, new = _levels(old_cells), _levels(new_cells)
    differences = [*link_differences(baseline.link, contender.link), *_of_kinds(old, new)]
    names = dict.fromkeys(name for side in (old, new) for kind in side.values() for name in kind)
    differences += [phrase for name in names for phrase in _of_setting(name, old, new)]
    pairs = _pairs(old_cells, new_cells, _left_out(old, new))
    remarks = tuple(
        f"{counted('{number} cell', '{number} cells', len(keys))} only in the {side}, "
        f"such as {keys[0]}"
        for side, keys in (
            ("baseline", _unpaired_keys(old_cells, [key for key, _ in pairs])),
            ("contender", _unpaired_keys(new_cells, [key for _, key in pairs])),
        )
        if keys
    )
    return Agreement(tuple(dict.fromkeys(differences)) or remarks, pairs, remarks)


def identities(plan: Plan) -> dict[str, Hashable]:
    """Key of each cell → what identifies the cell in every run: its kind of test, its pairing and
    its settings. A setting that an older netlab lacked has its default.
    """
    cells = (_MatchedCell.of(cell, plan) for cell in plan.cells)
    return {cell.key: (cell.kind, frozenset(cell.settings.items())) for cell in cells}


def link_differences(old: Link | None, new: Link | None) -> Iterator[str]:
    """One phrase per difference of two links."""
    old_words, new_words = _link_words(old), _link_words(new)
    for name in old_words | new_words:
        words = old_words.get(name, "not stated"), new_words.get(name, "not stated")
        if words[0] != words[1]:
            yield _side_by_side(f"link’s {name}", *words)


def _link_words(link: Link | None) -> dict[str, str]:
    if link is None:
        return {}
    return {
        "rate": format_rate(link.rate_bit_per_s),
        "MTU": f"{link.mtu_bytes} B",
        "VLAN tag": "yes" if link.vlan else "no",
        "hops": f"{link.hops}",
    }


@dataclass(frozen=True, slots=True)
class _MatchedCell:
    """A planned cell: its kind, and its other settings including the pairing."""

    key: str
    kind: TestKind
    settings: Mapping[str, Scalar]

    @classmethod
    def of(cls, cell: PlannedCell, plan: Plan) -> _MatchedCell:
        # A setting that an imported document does not state is unknown, not the default.
        defaults = DEFAULTS_OF.get(cell.test, {}) if plan.source is None else {}
        settings = {
            "pairing": cell.pairing,
            **{
                name: value
                for name, value in defaults.items()
                if value is not None and name not in _ONE_OF_TWO
            },
            **{name: value for name, value in cell.settings.items() if not isinstance(value, list)},
        }
        protocol = str(settings.pop("protocol", ""))
        return cls(cell.key, (cell.test, protocol), settings)


_ONE_OF_TWO = frozenset(name for pair in EXCLUSIVE for name in pair)
"""Settings that may be absent because another one replaces them: no default is assumed."""


def _levels(cells: Sequence[_MatchedCell]) -> LevelsByKind:
    kinds: dict[TestKind, list[Mapping[str, Scalar]]] = {}
    for cell in cells:
        kinds.setdefault(cell.kind, []).append(cell.settings)
    return {
        kind: {
            name: frozenset(settings.get(name) for settings in all_settings)
            for name in dict.fromkeys(name for settings in all_settings for name in settings)
        }
        for kind, all_settings in kinds.items()
    }


def _of_kinds(old: LevelsByKind, new: LevelsByKind) -> Iterator[str]:
    for side, own, counterpart in (("baseline", old, new), ("contender", new, old)):
        for test, protocol in own:
            if (test, protocol) not in counterpart:
                yield f"{' over '.join(w for w in (test, protocol) if w)}: only in the {side}"


def _of_setting(name: str, old: LevelsByKind, new: LevelsByKind) -> Iterator[str]:
    """The differences of one setting: one phrase per kind of test that both runs have."""
    for kind in (kind for kind in old if kind in new):
        old_levels, new_levels = _levels_of(old, kind, name), _levels_of(new, kind, name)
        if old_levels == new_levels:
            continue
        if len(old_levels) == 1 == len(new_levels):
            yield _side_by_side(
                setting_name(name), _words(name, old_levels), _words(name, new_levels)
            )
            continue
        only = {"baseline": old_levels - new_levels, "contender": new_levels - old_levels}
        phrases = [f"{_words(name, own)} only in the {side}" for side, own in only.items() if own]
        yield f"{setting_name(name)}: {'; '.join(phrases)}"


def _levels_of(levels: LevelsByKind, kind: TestKind, name: str) -> frozenset[Level]:
    """The values of a setting; the set has only ``None`` if no cell has the setting."""
    return levels[kind].get(name, frozenset([None]))


def _side_by_side(name: str, old: str, new: str) -> str:
    return f"{name}: {old} in the baseline, {new} in the contender"


def _words(name: str, levels: frozenset[Level]) -> str:
    """The first few values, numbers by size, such as ``64, 576``."""
    sorted_levels = sorted(
        levels, key=lambda level: (level is None, isinstance(level, str), level or 0)
    )
    text = ", ".join(setting_value(name, level) for level in sorted_levels[:_SHOWN])
    more = len(sorted_levels) - _SHOWN
    return f"{text} and {more} more" if more > 0 else text


def _left_out(old: LevelsByKind, new: LevelsByKind) -> Mapping[TestKind, frozenset[str]]:
    """The settings with one value in each run: cells match even if these values differ."""
    return {
        kind: frozenset(
            name
            for name in {*old[kind], *new[kind]}
            if len(_levels_of(old, kind, name)) == 1 == len(_levels_of(new, kind, name))
        )
        for kind in old.keys() & new.keys()
    }


def _pairs(
    old: Sequence[_MatchedCell],
    new: Sequence[_MatchedCell],
    left_out: Mapping[TestKind, frozenset[str]],
) -> tuple[tuple[str, str], ...]:
    def content(cell: _MatchedCell) -> object:
        without = left_out.get(cell.kind, frozenset())
        return cell.kind, frozenset(
            pair for pair in cell.settings.items() if pair[0] not in without
        )

    counterparts = {content(cell): cell.key for cell in new}
    pairs = ((cell.key, counterparts.get(content(cell))) for cell in old)
    return tuple((key, counterpart) for key, counterpart in pairs if counterpart is not None)


def _unpaired_keys(cells: Sequence[_MatchedCell], partners: Sequence[str]) -> list[str]:
    paired_keys = set(partners)
    return [cell.key for cell in cells if cell.key not in paired_keys]
