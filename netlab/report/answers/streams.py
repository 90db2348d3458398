"""Readings of streams → a line a protocol: where it fills the wire, where it does least. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from netlab.experiment.matrix import Link
from netlab.findings.sample import LINK_FULL
from netlab.messages import Message, _, counted, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.text.phrases import (
    listed,
    share_words,
    spanned,
    throughput,
    throughput_with_interval,
)
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, Layout, TableColumn
from netlab.stats import MIN_TRIALS, interval, mean, median

_SECTION = "tables"
_CHART = "message-size"


@dataclass(frozen=True)
class PairingSize:
    """All cells of a pairing with one protocol, message size and way of the data."""

    pairing: str
    column: TableColumn
    bins: tuple[Bin, ...]
    ceiling_bit_per_s: float | None

    @cached_property
    def means_bit_per_s(self) -> tuple[float, ...]:
        """The mean of each cell's trials."""
        return tuple(_mean_of(each) for each in self.bins if each.throughputs_bit_per_s)

    @cached_property
    def middle_bit_per_s(self) -> float:
        """The median over its cells: a buffer that is too small does not hide the rest."""
        return median(self.means_bit_per_s)

    @property
    def share(self) -> float | None:
        """Of the wire ceiling, where it is known."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.middle_bit_per_s / ceiling

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the wire ceiling, of each cell; none where that is not known."""
        ceiling = self.ceiling_bit_per_s
        return () if ceiling is None else tuple(each / ceiling for each in self.means_bit_per_s)

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys, the least throughput first."""
        measured = [each for each in self.bins if each.throughputs_bit_per_s]
        return tuple(each.cell for each in sorted(measured, key=_mean_of))


def _mean_of(place: Bin) -> float:
    return mean(place.throughputs_bit_per_s)


def answers(layout: Layout, link: Link | None) -> tuple[AnswerLine, ...]:
    """One a protocol; of a single cell with its interval."""
    found: dict[str, list[PairingSize]] = {}
    for each in _pairing_sizes(layout, link):
        found.setdefault(each.column.protocol, []).append(each)
    return tuple(_told(protocol, those, layout) for protocol, those in found.items())


def _told(protocol: str, those: Sequence[PairingSize], layout: Layout) -> AnswerLine:
    """With the pairings that have no result at all."""
    answer, measured = _answer(protocol, those), {each.pairing for each in those}
    asked = [grid for grid in layout.grids if any(c.protocol == protocol for c in grid.columns)]
    planned = dict.fromkeys(grid.pairing for grid in asked)
    without = [each for each in planned if each not in measured]
    if not without:
        return answer
    none = _("no result in {pairings}", pairings=listed(without))
    return replace(answer, sentence=joined("; ", [answer.sentence, none]))


def _pairing_sizes(layout: Layout, link: Link | None) -> Iterator[PairingSize]:
    """By protocol, pairing and size; without what stayed within a host or has no result."""
    places: dict[tuple[str, TableColumn], list[Bin]] = {}
    for grid in layout.grids:
        for column in () if grid.same_host else grid.columns:
            places.setdefault((grid.pairing, column), []).extend(grid.column(column))
    for (pairing, column), bins in places.items():
        if any(each.throughputs_bit_per_s for each in bins):
            ceiling = ceiling_of(column, bins, link)
            highest = None if ceiling is None else ceiling.highest_bit_per_s
            yield PairingSize(pairing, column, tuple(bins), highest)


def _answer(protocol: str, those: Sequence[PairingSize]) -> AnswerLine:
    least = min(those, key=lambda each: each.share or each.middle_bit_per_s)
    cells = tuple(dict.fromkeys([*least.cells, *(cell for each in those for cell in each.cells)]))
    if len(those) == 1 and len(least.means_bit_per_s) == 1:
        return AnswerLine(_of_one(least), cells, _SECTION)
    if any(each.share is None for each in those):
        sentence = _unshared(protocol, those, least)
    else:
        sentence = _shared(protocol, those, least)
    return AnswerLine(sentence, cells, _SECTION, _CHART)


def _of_one(found: PairingSize) -> Message:
    """``TCP, 1448 bytes: 93.27 ± 0.48 Mbit/s of payload (10 trials), 99.1 % of the …``."""
    trials = [value for place in found.bins for value in place.throughputs_bit_per_s]
    middle = mean(trials)
    half = interval(trials).half_width if len(trials) >= MIN_TRIALS else None
    said = _(
        "{protocol}, {size} bytes: {rate} of payload ({trials})",
        protocol=found.column.protocol,
        size=found.column.label,
        rate=throughput(middle) if half is None else throughput_with_interval(middle, half),
        trials=counted("{number} trial", "{number} trials", len(trials)),
    )
    ceiling = found.ceiling_bit_per_s
    return said if ceiling is None else joined(", ", [said, share_words(middle, ceiling)])


def _unshared(protocol: str, those: Sequence[PairingSize], least: PairingSize) -> Message:
    most = max(those, key=lambda each: each.middle_bit_per_s)
    return _(
        "{protocol}: {least} to {most}, medians over cells",
        protocol=protocol,
        least=_rate_of(least),
        most=_rate_of(most),
    )


def _rate_of(found: PairingSize) -> Message:
    return _(
        "{rate} ({pairing}, {size} bytes)",
        rate=throughput(found.middle_bit_per_s),
        pairing=found.pairing,
        size=found.column.label,
    )


def _shared(protocol: str, those: Sequence[PairingSize], least: PairingSize) -> Message:
    """Which pairings fill the wire from which size on, and what does least of all."""
    full = _full_from(those)
    if not full:
        said = _("{protocol} fills the wire nowhere", protocol=protocol)
    else:
        at_wire = [
            each
            for each in those
            if each.pairing in full and each.column.message_bytes >= full[each.pairing]
        ]
        ends = sorted(each.share or 0 for each in at_wire)
        shares = [share for each in at_wire for share in each.shares]
        some = sum(share >= LINK_FULL for share in shares)
        said = _(
            "{protocol} fills the wire {where}: {shares} % of the ceiling",
            protocol=protocol,
            where=joined("; ", _where(full)),
            shares=spanned(*(f"{100 * share:.1f}" for share in (ends[0], ends[-1]))),
        )
        if some < len(shares):
            but = _("at the median, in {some} of {all} cells", some=str(some), all=str(len(shares)))
            said = joined(" ", [said, but])
    if (least.share or 0) >= LINK_FULL:
        return said
    worst = _(
        "least {rate}, {share} % of it, in {pairing} with {size} bytes",
        rate=throughput(least.middle_bit_per_s),
        share=f"{100 * (least.share or 0):.1f}",
        pairing=least.pairing,
        size=least.column.label,
    )
    return joined("; ", [said, worst])


def _full_from(those: Sequence[PairingSize]) -> dict[str, int]:
    """Pairing → the size from which on all that was measured fills the wire."""
    found: dict[str, int] = {}
    for pairing in dict.fromkeys(each.pairing for each in those):
        sizes = sorted(each.column for each in those if each.pairing == pairing)
        its = {each.column: each for each in those if each.pairing == pairing}
        for column in reversed(sizes):
            if (its[column].share or 0) < LINK_FULL:
                break
            found[pairing] = column.message_bytes
    return found


def _where(full: dict[str, int]) -> Iterator[Message]:
    """``from 64 bytes on in LL and WL``, a part a size."""
    for size in sorted(set(full.values())):
        yield _(
            "from {size} bytes on in {pairings}",
            size=str(size),
            pairings=listed([pairing for pairing, its in full.items() if its == size]),
        )
