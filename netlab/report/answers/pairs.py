"""Readings of pairs by name → a line a protocol: most, mean, and the pair that is slowest. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.experiment.pairings import labels_of
from netlab.messages import Message, _, counted
from netlab.report.answers.answer import AnswerLine
from netlab.report.text.phrases import rate_unit
from netlab.results.labels import figure
from netlab.results.quantities import Quantity, names_of, quantities_of
from netlab.results.readings import Reading
from netlab.stats import mean

_SECTION = "every-host-with-every-other"
_TIMES = ("µs", "ms")
"""Units of what is the slower the more there is of it."""


def answers(readings: Sequence[Reading]) -> tuple[AnswerLine, ...]:
    """One a quantity and set of conditions, of the pairs that used a cable."""
    names = names_of(readings)
    groups: dict[tuple[str, str], dict[str, list[Reading]]] = {}
    quantities: dict[str, Quantity] = {}
    for each in readings:
        server, client = labels_of(each.pairing)
        if each.same_host or server == client:
            continue
        for quantity in quantities_of(each):
            if quantity.in_unit(each) is not None:
                quantities[quantity.name] = quantity
                pairs = groups.setdefault((names[each.cell], quantity.name), {})
                pairs.setdefault(each.pairing, []).append(each)
    return tuple(
        _answer(title, quantities[quantity], pairs, number)
        for number, ((title, quantity), pairs) in enumerate(groups.items(), start=1)
    )


def _answer(
    title: str, quantity: Quantity, pairs: dict[str, list[Reading]], number: int
) -> AnswerLine:
    means = {pairing: _mean(trials, quantity) for pairing, trials in pairs.items()}
    slow = max if quantity.unit in _TIMES else min
    worst = slow(means, key=lambda pairing: means[pairing])
    others = [value for pairing, value in means.items() if pairing != worst] or [means[worst]]
    server, client = labels_of(worst)
    slowest = _("{client} to {server}", client=client, server=server)
    unit, spell = _unit_of(quantity, max(means.values()))
    sentence = _(
        "{title}: {least} to {most} {unit} between {pairs}; slowest {slowest}: {worst} {unit}",
        title=title,
        least=spell(min(others)),
        most=spell(max(others)),
        unit=unit,
        pairs=counted("{number} pair", "{number} pairs", len(others)),
        slowest=slowest,
        worst=spell(means[worst]),
    )
    cells = [pairs[worst][0].cell, *(trials[0].cell for trials in pairs.values())]
    return AnswerLine(
        sentence if len(means) > 1 else _alone(title, slowest, means[worst], quantity),
        tuple(dict.fromkeys(cells)),
        _SECTION,
        f"{_SECTION}-{number}",
    )


def _alone(title: str, slowest: str, value: float, quantity: Quantity) -> Message:
    unit, spell = _unit_of(quantity, value)
    return _(
        "{title}: {value} {unit}, {pair}", title=title, value=spell(value), unit=unit, pair=slowest
    )


def _unit_of(quantity: Quantity, most: float) -> tuple[str, Callable[[float], str]]:
    """The unit of a line's figures, and how one is written; throughputs from 1000 on in Gbit/s."""
    if quantity.unit != "Mbit/s":
        return quantity.unit, lambda value: figure(value, 1)
    unit, scale = rate_unit(most * quantity.scale)
    decimals = 1 if scale == quantity.scale else 3
    return unit, lambda value: figure(value * quantity.scale / scale, decimals)


def _mean(trials: Sequence[Reading], quantity: Quantity) -> float:
    found = [quantity.in_unit(trial) for trial in trials]
    return mean([each for each in found if each is not None])
