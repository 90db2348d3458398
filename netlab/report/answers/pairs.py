"""Records of pairs of named hosts → a line for each quantity: range, slowest pair. No I/O.

A pair of named hosts is a pairing such as ``nas+laptop``, which names its server and its client;
other pairings name two operating systems, as in ``WL``. A cell is one combination of test, pairing
(server and client) and settings; a trial is one measurement of a cell, and a record is the data of
one trial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.experiment.hosts import labels_of
from netlab.experiment.records import Record
from netlab.messages import Message, _, counted
from netlab.report.answers.answer import AnswerLine
from netlab.report.text.phrases import rate_unit
from netlab.results.labels import figure
from netlab.results.quantities import Quantity, names_of, quantities_of
from netlab.stats import mean

_SECTION = "every-host-with-every-other"
_TIMES = ("µs", "ms")
"""Units of times: the pair with the largest figure is the slowest."""


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each quantity and combination of settings, without pairs inside one host."""
    names = names_of(records)
    groups: dict[tuple[str, str], dict[str, list[Record]]] = {}
    quantities: dict[str, Quantity] = {}
    for record in records:
        server, client = labels_of(record.pairing)
        if record.same_host or server == client:
            continue
        for quantity in quantities_of(record):
            if quantity.in_unit(record) is not None:
                quantities[quantity.name] = quantity
                pairs = groups.setdefault((names[record.cell], quantity.name), {})
                pairs.setdefault(record.pairing, []).append(record)
    return tuple(
        _answer(title, quantities[quantity], pairs, number)
        for number, ((title, quantity), pairs) in enumerate(groups.items(), start=1)
    )


def _answer(
    title: str, quantity: Quantity, pairs: dict[str, list[Record]], number: int
) -> AnswerLine:
    means = {pairing: _mean(trials, quantity) for pairing, trials in pairs.items()}
    slow = max if quantity.unit in _TIMES else min
    worst = slow(means, key=lambda pairing: means[pairing])
    usual_means = [value for pairing, value in means.items() if pairing != worst] or [means[worst]]
    server, client = labels_of(worst)
    slowest = _("{client} to {server}", client=client, server=server)
    unit, spell = _unit_of(quantity, max(means.values()))
    sentence = _(
        "{title}: {least} to {most} {unit} between {pairs}; slowest {slowest}: {worst} {unit}",
        title=title,
        least=spell(min(usual_means)),
        most=spell(max(usual_means)),
        unit=unit,
        pairs=counted("{number} pair", "{number} pairs", len(usual_means)),
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
    """(unit of a line's numbers, function that formats them); Gbit/s from 1000 Mbit/s upwards."""
    if quantity.unit != "Mbit/s":
        return quantity.unit, lambda value: figure(value, 1)
    unit, scale = rate_unit(most * quantity.scale)
    decimals = 1 if scale == quantity.scale else 3
    return unit, lambda value: figure(value * quantity.scale / scale, decimals)


def _mean(trials: Sequence[Record], quantity: Quantity) -> float:
    figures = [quantity.in_unit(trial) for trial in trials]
    return mean([value for value in figures if value is not None])
