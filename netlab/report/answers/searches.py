"""Throughput searches → a line for each pair of ports: sizes that reach line rate. No I/O.

A throughput search looks for the highest frame rate without loss through a device (RFC 2544). A
record is the data of one search. A cell is one combination of test, pairing (server and client)
and settings.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.records import Record
from netlab.messages import Message, _, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.sections import bottlenecks
from netlab.results.quantities import names_of
from netlab.stats import mean

FULL = 0.995
"""A rate of at least this share of the line rate counts as the line rate, because by default a
search tries rates in steps of 0.5 % of the line rate."""
ALIKE = 0.005
"""If the shares at all frame sizes differ by less than this, the line gives a single share."""
_SECTION = "rate-without-loss"


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each pair of ports and set of conditions."""
    names = names_of(records, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, list[Record]] = {}
    for record in records:
        words = [word for word in (record.pairing, names[record.cell]) if word]
        if record.number("line_share") is not None:
            groups.setdefault(joined(" ", words), []).append(record)
    return tuple(_answer(name, searches) for name, searches in groups.items())


def _answer(name: str, records: Sequence[Record]) -> AnswerLine:
    by_size: dict[int, list[Record]] = {}
    for record in records:
        by_size.setdefault(int(str(record.settings.get("frame_bytes", 0))), []).append(record)
    shares = {size: _share(by_size[size]) for size in sorted(by_size)}
    full: int | None = None
    for size in reversed(shares):
        if shares[size] < FULL:
            break
        full = size
    least = min(shares, key=lambda size: shares[size])
    cells = (by_size[least][0].cell, *(record.cell for record in records))
    alike = full is None and len(shares) > 1 and max(shares.values()) - shares[least] < ALIKE
    return AnswerLine(
        _of_all_sizes(name, records, shares[least])
        if alike
        else _sentence(name, full, least, by_size[least], shares[least]),
        tuple(dict.fromkeys(cells)),
        _SECTION,
        f"{_SECTION}-share",
    )


def _sentence(
    name: str, full: int | None, least: int, trials: Sequence[Record], share: float
) -> Message:
    line_rate = (
        _("{name}: no frame size reaches the line rate without loss", name=name)
        if full is None
        else _(
            "{name}: line rate without loss from {size} bytes upwards", name=name, size=str(full)
        )
    )
    if share >= FULL:
        return line_rate
    return _(
        "{said}; {size} bytes: {share} % of the line rate, {limit}",
        said=line_rate,
        size=str(least),
        share=f"{100 * share:.1f}",
        limit=_limits(trials),
    )


def _of_all_sizes(name: str, trials: Sequence[Record], share: float) -> Message:
    return _(
        "{name}: {share} % of the line rate without loss at every frame size; limit: {limit}",
        name=name,
        share=f"{100 * share:.1f}",
        limit=_limits(trials),
    )


def _limits(trials: Sequence[Record]) -> Message | str:
    limits = dict.fromkeys(bottlenecks.limit_words(trial) for trial in trials)
    return joined("; ", [limit for limit in limits if limit]) or _("limit not known")


def _share(trials: Sequence[Record]) -> float:
    shares = [trial.number("line_share") for trial in trials]
    return mean([share for share in shares if share is not None])
