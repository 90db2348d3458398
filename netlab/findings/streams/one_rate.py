"""One rate: which streams of a direction stop at the same rate, by one way to count. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from netlab.findings.finding import Kind
from netlab.findings.framing import Accounting
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COSTS
from netlab.findings.streams.plateau import flowing_bit_per_s

SAME = 0.005
"""Share by which rates differ that are the same."""

FASTER = 0.02
"""By what share one trial that has a limit of its own is above a rate that it cannot be held to."""

TCP_BELOW = 0.03
"""By what share TCP may lie below UDP where both stop at one rate: it has to find it."""

LEAST_TRIALS, LEAST_AT = 3, 2
"""Trials at one rate that show that it is none by chance; one of three may be up to 1 % below it
where it had no CPU for twice as long as that."""

CEILINGS, APART = 3, 0.05
"""Least different wire ceilings that tell one accounting from another, and by what share they
differ pairwise."""

SHARED, ON_WIRE = 0.015, 1538 / 1514
"""Share of the link from which on what others are likely to have used counts with a stream's rate;
and what their bytes are on the wire, in full frames."""

STANDS_OUT = 3
"""Times as far apart the rates must be by any other accounting."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stream of one direction, and what its own record says of its limit."""

    place: int
    """Among the run's streams."""
    sample: StreamSample
    kind: Kind | None
    by_shares: bool = False

    def rate_bit_per_s(self, accounting: Accounting) -> float:
        """As that accounting counts, while data flowed, with what others are likely to have used of
        the link.
        """
        framing = self.sample.framing
        if framing is None:
            return 0.0
        own = framing.rate_bit_per_s(flowing_bit_per_s(self.sample), accounting)
        others = self.sample.likely_others_share * framing.link_rate_bit_per_s
        return own + (ON_WIRE * others if self.is_shared else 0.0)

    @property
    def is_shared(self) -> bool:
        """Whether others used more of the link than the counters may be off."""
        return self.sample.likely_others_share >= SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFit:
    """Streams that stop at one rate."""

    members: tuple[Stopped, ...]
    """Those at it, and those that are below for a reason that is known."""
    rate_bit_per_s: float
    ceilings: int
    """Of the streams at it, how many differ by 5 % and more."""
    columns: int
    spread: float
    """Share by which the columns at it differ."""
    other_spreads: tuple[tuple[Accounting, float], ...]
    """The same columns by other accountings."""

    @property
    def tells_accountings(self) -> bool:
        """Whether its ceilings are enough to tell what is counted."""
        return self.ceilings >= CEILINGS

    def stands_out(self, accounting: Accounting) -> bool:
        """Whether the wire can be told from what counts less, or this from the wire."""
        return all(
            other >= STANDS_OUT * self.spread
            for each, other in self.other_spreads
            if Accounting.WIRE in (each, accounting)
        )


def fitted(
    pool: Sequence[Stopped], every: Sequence[Stopped], accounting: Accounting
) -> RateFit | None:
    """The rate that the streams of ``pool`` stop at; ``None`` where they share none, where one of
    ``every`` is faster, or where some stop below it and nothing says why.
    """
    rates = {each.place: each.rate_bit_per_s(accounting) for each in every}
    if len(pool) < LEAST_TRIALS:
        return None
    level = max(_of_cells(pool, rates).values())
    top = max(rate for each in pool if (rate := rates[each.place]) <= (1 + SAME) * level)
    at = [each for each in pool if (1 - SAME) * top <= rates[each.place] <= (1 + SAME) * top]
    beside = [*_of_cells(every, rates).values(), *(rates[each.place] for each in pool)]
    faster = any(rate > (1 + SAME) * top for rate in beside) or any(
        rates[each.place] > (1 + FASTER + each.sample.resolution_share) * top for each in every
    )
    if len(at) < LEAST_AT or faster:
        return None
    below = [each for each in pool if each not in at]
    udp = any(each.sample.protocol == "UDP" for each in at)
    of_cells = {each.sample.cell for each in at}
    flat = any(each.sample.plateau_bit_per_s is not None for each in at)
    near, unexplained = [], []
    for each in below:
        missing = 1 - rates[each.place] / top
        # What a whole cell stays below is no single trial's wait, but of TCP's plateau.
        waited = each.sample.longest_wait_share
        waits = (
            waited >= COSTS * missing
            if each.sample.cell in of_cells
            else (flat and waited >= missing)
        )
        reason = waits or (udp and each.sample.protocol == "TCP")
        if missing <= TCP_BELOW and reason:
            near.append(each)
        elif not waits:
            unexplained.append(each)
    counted = len(at) + sum(_is_held_up(each, rates[each.place] / top) for each in near)
    ceilings = _ceilings(at)
    few = ceilings >= CEILINGS and 2 * len(unexplained) <= len(at) + len(near)
    if (unexplained and not few) or counted < LEAST_TRIALS or len(at) < len(near):
        return None
    spreads = [(each, _spread(at, each)) for each in Accounting]
    return RateFit(
        members=tuple(sorted((*at, *near), key=lambda each: each.place)),
        rate_bit_per_s=median(rates[each.place] for each in at),
        ceilings=ceilings,
        columns=len(_columns(at)),
        spread=dict(spreads)[accounting],
        other_spreads=tuple((each, spread) for each, spread in spreads if each is not accounting),
    )


def _is_held_up(each: Stopped, share: float) -> bool:
    """Whether it is hardly below the rate, and had no CPU for far longer than it would take."""
    waited = each.sample.longest_wait_share
    return 1 - share <= 2 * SAME and waited >= 2 * (1 - share)


def _of_cells(those: Iterable[Stopped], rates: dict[int, float]) -> dict[str, float]:
    """Cell → the median over its trials."""
    cells: dict[str, list[float]] = {}
    for each in those:
        cells.setdefault(each.sample.cell, []).append(rates[each.place])
    return {cell: median(values) for cell, values in cells.items()}


def _columns(those: Iterable[Stopped]) -> dict[tuple[str, int], list[Stopped]]:
    columns: dict[tuple[str, int], list[Stopped]] = {}
    for each in those:
        columns.setdefault((each.sample.protocol, each.sample.message_bytes), []).append(each)
    return columns


def _spread(those: Iterable[Stopped], accounting: Accounting) -> float:
    """Share by which the medians of columns differ."""
    rates = [
        median(each.rate_bit_per_s(accounting) for each in column)
        for column in _columns(those).values()
    ]
    return 1 - min(rates) / max(rates)


def _ceilings(those: Iterable[Stopped]) -> int:
    """How many ceilings there are that differ pairwise by 5 % and more."""
    shares = sorted(each.sample.framing.ceiling_share for each in those if each.sample.framing)
    found: list[float] = []
    for share in shares:
        if not found or share >= (1 + APART) * found[-1]:
            found.append(share)
    return len(found)
