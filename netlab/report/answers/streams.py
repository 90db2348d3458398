"""Streams → a line for each protocol at the top of the page: where it reaches the wire ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from netlab.ethernet import Link
from netlab.findings.traffic import LINK_FULL
from netlab.messages import Message, _, counted, joined
from netlab.report.tables.elements import AnswerLine
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
    """All cells of a pairing with one protocol, message size and direction of the data, measured
    by one tool (engine).
    """

    pairing: str
    engine: str
    """The name of the tool; empty for netlab's own probe (its program on each host)."""
    column: TableColumn
    bins: tuple[Bin, ...]
    ceiling_bit_per_s: float | None

    @cached_property
    def means_bit_per_s(self) -> tuple[float, ...]:
        """The mean of each cell's trials."""
        return tuple(_mean_of(place) for place in self.bins if place.throughputs_bit_per_s)

    @cached_property
    def middle_bit_per_s(self) -> float:
        """The median of the cells' means, which a single slow cell hardly changes."""
        return median(self.means_bit_per_s)

    @property
    def share(self) -> float | None:
        """The median as a share of the wire ceiling; ``None`` if the ceiling is not known."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.middle_bit_per_s / ceiling

    @property
    def shares(self) -> tuple[float, ...]:
        """Each cell's mean as a share of the wire ceiling; empty if the ceiling is not known."""
        ceiling = self.ceiling_bit_per_s
        return () if ceiling is None else tuple(rate / ceiling for rate in self.means_bit_per_s)

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys of the cells with a result, the lowest throughput first."""
        places = [place for place in self.bins if place.throughputs_bit_per_s]
        return tuple(place.cell for place in sorted(places, key=_mean_of))


def _mean_of(place: Bin) -> float:
    return mean(place.throughputs_bit_per_s)


def answers(layout: Layout, link: Link | None) -> tuple[AnswerLine, ...]:
    """One line for each protocol; the line of a single cell gives the interval of the mean.

    Protocols share one line if all their cells reach the wire ceiling, in the same pairings from
    the same message sizes upwards. If netlab's probe measured cells, the line is about these
    cells, and the numbers of other tools follow.
    """
    by_protocol: dict[str, list[PairingSize]] = {}
    for pairing_size in _pairing_sizes(layout, link):
        by_protocol.setdefault(pairing_size.column.protocol, []).append(pairing_size)
    alike: dict[object, list[str]] = {}
    for protocol, items in by_protocol.items():
        everywhere = None if _blank_pairings(protocol, items, layout) else _everywhere(items)
        alike.setdefault(everywhere or protocol, []).append(protocol)
    return tuple(
        _with_blanks(
            protocols, [item for protocol in protocols for item in by_protocol[protocol]], layout
        )
        for protocols in alike.values()
    )


def _everywhere(all_items: Sequence[PairingSize]) -> tuple[object, ...] | None:
    """A value that is equal for protocols that share a line.

    It consists of the pairings, each with its smallest message size, and of the names of other
    tools. ``None`` if a cell does not reach the wire ceiling, or if there is only one cell. Cells
    of other tools are not checked if the probe measured cells.
    """
    items, tools = _by_probe(all_items)
    shares = [share for item in items for share in item.shares]
    if len(shares) < 2 or not all(share >= LINK_FULL for share in shares):
        return None
    return (*_full_from(items).items(), *dict.fromkeys(item.engine for item in tools))


def _by_probe(
    items: Sequence[PairingSize],
) -> tuple[Sequence[PairingSize], Sequence[PairingSize]]:
    """(items that the answer is about, items of other tools that the text states after the answer).

    If the probe measured nothing, the answer is about all tools; with several tools, each pairing
    is followed by the name of its tool.
    """
    tools = [item for item in items if item.engine]
    probe = [item for item in items if not item.engine]
    if probe:
        return probe, tools
    if len({item.engine for item in tools}) == 1:
        return tools, ()
    return [replace(item, pairing=f"{item.pairing} ({item.engine})") for item in tools], ()


def _with_blanks(
    protocols: Sequence[str], items: Sequence[PairingSize], layout: Layout
) -> AnswerLine:
    """The line of some protocols, then numbers of other tools, then pairings without any result."""
    own, tools = _by_probe(items)
    answer = _answer(protocols, own)
    if tools:
        sentence = _(
            "{answer}, by netprobe; {tools}: {figures}",
            answer=answer.sentence,
            tools=listed(dict.fromkeys(item.engine for item in tools)),
            figures=_figures(tools),
        )
        cells = (*answer.cells, *(cell for item in tools for cell in item.cells))
        answer = replace(answer, sentence=sentence, cells=tuple(dict.fromkeys(cells)))
    without = [
        pairing for protocol in protocols for pairing in _blank_pairings(protocol, items, layout)
    ]
    if not without:
        return answer
    none = _("no result in {pairings}", pairings=listed(without))
    return replace(answer, sentence=joined("; ", [answer.sentence, none]))


def _figures(items: Sequence[PairingSize]) -> str:
    """The range of the items' results: shares of the ceiling; rates if any ceiling is unknown."""
    shares = sorted(item.share for item in items if item.share is not None)
    if len(shares) == len(items):
        return joined(" ", [spanned(*(f"{100 * shares[end]:.1f}" for end in (0, -1))), "%"])
    rates = sorted(item.middle_bit_per_s for item in items)
    return spanned(throughput(rates[0]), throughput(rates[-1]))


def _blank_pairings(protocol: str, items: Sequence[PairingSize], layout: Layout) -> list[str]:
    """The pairings that were planned with ``protocol`` but have no result."""
    grids = [grid for grid in layout.grids if any(c.protocol == protocol for c in grid.columns)]
    with_result = {item.pairing for item in items}
    return [p for p in dict.fromkeys(grid.pairing for grid in grids) if p not in with_result]


def _pairing_sizes(layout: Layout, link: Link | None) -> Iterator[PairingSize]:
    """The results by pairing, engine and column, without traffic inside one host."""
    places: dict[tuple[str, str, TableColumn], list[Bin]] = {}
    for grid in layout.grids:
        for column in () if grid.same_host else grid.columns:
            for place in grid.column(column):
                engine = str(place.records[0].settings.get("engine") or "")
                places.setdefault((grid.pairing, engine, column), []).append(place)
    for (pairing, engine, column), bins in places.items():
        if any(place.throughputs_bit_per_s for place in bins):
            ceiling = ceiling_of(column, bins, link)
            highest = None if ceiling is None else ceiling.highest_bit_per_s
            yield PairingSize(pairing, engine, column, tuple(bins), highest)


def _answer(protocols: Sequence[str], pairing_sizes: Sequence[PairingSize]) -> AnswerLine:
    least = min(pairing_sizes, key=lambda item: item.share or item.middle_bit_per_s)
    all_cells = (cell for item in pairing_sizes for cell in item.cells)
    cells = tuple(dict.fromkeys([*least.cells, *all_cells]))
    if len(pairing_sizes) == 1 and len(least.means_bit_per_s) == 1:
        return AnswerLine(_of_one(least), cells, _SECTION)
    if any(item.share is None for item in pairing_sizes):
        sentence = _without_ceiling(protocols[0], pairing_sizes, least)
    else:
        sentence = _of_ceiling(protocols, pairing_sizes, least)
    return AnswerLine(sentence, cells, _SECTION, _CHART)


def _of_one(cell: PairingSize) -> Message:
    """A text such as ``TCP, 1448 bytes: 93.27 ± 0.48 Mbit/s of payload (10 trials), 99.1 % …``."""
    trials = [value for place in cell.bins for value in place.throughputs_bit_per_s]
    middle = mean(trials)
    half = interval(trials).half_width if len(trials) >= MIN_TRIALS else None
    text = _(
        "{protocol}, {size} bytes: {rate} of payload ({trials})",
        protocol=cell.column.protocol,
        size=cell.column.label,
        rate=throughput(middle) if half is None else throughput_with_interval(middle, half),
        trials=counted("{number} trial", "{number} trials", len(trials)),
    )
    ceiling = cell.ceiling_bit_per_s
    return text if ceiling is None else joined(", ", [text, share_words(middle, ceiling)])


def _without_ceiling(
    protocol: str, pairing_sizes: Sequence[PairingSize], least: PairingSize
) -> Message:
    if len(pairing_sizes) == 1:
        return _(
            "{protocol}, {size} bytes: {least} to {most} of payload, means of {number} cells",
            protocol=protocol,
            size=least.column.label,
            least=throughput(min(least.means_bit_per_s)),
            most=throughput(max(least.means_bit_per_s)),
            number=len(least.means_bit_per_s),
        )
    most = max(pairing_sizes, key=lambda item: item.middle_bit_per_s)
    return _(
        "{protocol}: {least} to {most}, medians over the cells",
        protocol=protocol,
        least=_rate_of(least),
        most=_rate_of(most),
    )


def _rate_of(pairing_size: PairingSize) -> Message:
    return _(
        "{rate} ({pairing}, {size} bytes)",
        rate=throughput(pairing_size.middle_bit_per_s),
        pairing=pairing_size.pairing,
        size=pairing_size.column.label,
    )


def _of_ceiling(
    protocols: Sequence[str], pairing_sizes: Sequence[PairingSize], least: PairingSize
) -> Message:
    """Which pairings reach the wire ceiling, from which message size, and the lowest share."""
    full = _full_from(pairing_sizes)
    if not full:
        text = _("{protocol} does not reach the wire ceiling in any cell", protocol=protocols[0])
    else:
        at_wire = [
            item
            for item in pairing_sizes
            if item.pairing in full and item.column.message_bytes >= full[item.pairing]
        ]
        ends = sorted(item.share or 0 for item in at_wire)
        shares = [share for item in at_wire for share in item.shares]
        some = sum(share >= LINK_FULL for share in shares)
        text = counted(
            "{protocols} reaches the wire ceiling {where}: {shares} % of it",
            "{protocols} reach the wire ceiling {where}: {shares} % of it",
            len(protocols),
            protocols=listed(protocols),
            where=joined("; ", _where(full)),
            shares=spanned(*(f"{100 * share:.1f}" for share in (ends[0], ends[-1]))),
        )
        if some < len(shares):
            median_only = _(
                "at the median, in {some} of {all} cells", some=str(some), all=str(len(shares))
            )
            text = joined(" ", [text, median_only])
    if (least.share or 0) >= LINK_FULL:
        return text
    lowest = _(
        "lowest: {rate}, {share} % of the ceiling, in {pairing} with {size} bytes",
        rate=throughput(least.middle_bit_per_s),
        share=f"{100 * (least.share or 0):.1f}",
        pairing=least.pairing,
        size=least.column.label,
    )
    return joined("; ", [text, lowest])


def _full_from(pairing_sizes: Sequence[PairingSize]) -> dict[str, int]:
    """Pairing → message size. This size and all larger sizes reach the wire ceiling."""
    full: dict[str, int] = {}
    for pairing in dict.fromkeys(item.pairing for item in pairing_sizes):
        by_column = {item.column: item for item in pairing_sizes if item.pairing == pairing}
        for column in sorted(by_column, reverse=True):
            if (by_column[column].share or 0) < LINK_FULL:
                break
            full[pairing] = column.message_bytes
    return full


def _where(full: dict[str, int]) -> Iterator[Message]:
    """One text for each size, such as ``from 64 bytes upwards in LL and WL``."""
    for size in sorted(set(full.values())):
        yield _(
            "from {size} bytes upwards in {pairings}",
            size=str(size),
            pairings=listed([pairing for pairing, least in full.items() if least == size]),
        )
