"""One rate: which streams of a direction are limited to the same rate, by one way to count bytes.

Such a way is called an accounting.
"""

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
"""Share by which equal rates may differ."""

FASTER = 0.02
"""A single trial may exceed the rate by this share. If it exceeds the rate by more, the rate is not
a limit."""

TCP_BELOW = 0.03
"""Share by which TCP may be below UDP at the same limit: it has to find the rate."""

LEAST_TRIALS, LEAST_AT = 3, 2
"""Minimum number of trials at one rate, so that chance is ruled out; and how many of them must be
at the rate itself. The others may be up to 1 % below it, if their share of time without a CPU was
at least twice this difference."""

CEILINGS, APART = 3, 0.05
"""Minimum number of different wire ceilings that is needed to distinguish two accountings, and the
share by which any two of these ceilings must differ."""

SHARED, ON_WIRE = 0.015, 1538 / 1514
"""If other traffic probably used at least this share of the link, it is added to the stream's rate.
The second value is the bytes on the wire per byte that an interface counts, for full frames."""

STANDS_OUT = 3
"""An accounting stands out if the rates by another accounting spread at least this many times as
much as the rates by this one."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stream of one direction, and its limit by its own record."""

    place: int
    """The stream's index in the list of all judged streams."""
    sample: StreamSample
    kind: Kind | None
    by_shares: bool = False

    def rate_bit_per_s(self, accounting: Accounting) -> float:
        """The stream's rate in bit/s while data flowed, in the bytes that the accounting counts.
        Probable other traffic is included if it is large enough (``is_shared``).
        """
        framing = self.sample.framing
        if framing is None:
            return 0.0
        own = framing.rate_bit_per_s(flowing_bit_per_s(self.sample), accounting)
        others_rate = self.sample.likely_others_share * framing.link_rate_bit_per_s
        return own + (ON_WIRE * others_rate if self.is_shared else 0.0)

    @property
    def is_shared(self) -> bool:
        """Whether other traffic probably used enough of the link to be added to the rate."""
        return self.sample.likely_others_share >= SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFit:
    """Streams that are limited to one rate."""

    members: tuple[Stopped, ...]
    """The streams at the rate, and those below it for a known reason."""
    rate_bit_per_s: float
    ceilings: int
    """Number of different wire ceilings of the streams at the rate, at least 5 % apart."""
    columns: int
    spread: float
    """Share by which the columns at the rate differ. A column: all streams of one protocol and
    message size."""
    other_spreads: tuple[tuple[Accounting, float], ...]
    """The spread of the same columns by each other accounting."""

    @property
    def tells_accountings(self) -> bool:
        """Whether the streams have enough different ceilings to distinguish the accountings."""
        return self.ceilings >= CEILINGS

    def stands_out(self, accounting: Accounting) -> bool:
        """Whether this accounting can be distinguished from ``WIRE``; ``WIRE`` itself must be
        distinguished from all other accountings.
        """
        return all(
            spread >= STANDS_OUT * self.spread
            for option, spread in self.other_spreads
            if Accounting.WIRE in (option, accounting)
        )


def fitted(
    pool: Sequence[Stopped], all_streams: Sequence[Stopped], accounting: Accounting
) -> RateFit | None:
    """The rate that limits the streams of ``pool``.

    ``None`` if they have no common rate, if one of ``all_streams`` is faster, or if some streams
    are below the rate without a known reason.
    """
    rates = {stream.place: stream.rate_bit_per_s(accounting) for stream in all_streams}
    if len(pool) < LEAST_TRIALS:
        return None
    level = max(_of_cells(pool, rates).values())
    top = max(rate for stream in pool if (rate := rates[stream.place]) <= (1 + SAME) * level)
    at_rate = [
        stream for stream in pool if (1 - SAME) * top <= rates[stream.place] <= (1 + SAME) * top
    ]
    compared = [*_of_cells(all_streams, rates).values(), *(rates[stream.place] for stream in pool)]
    faster = any(rate > (1 + SAME) * top for rate in compared) or any(
        rates[stream.place] > (1 + FASTER + stream.sample.resolution_share) * top
        for stream in all_streams
    )
    if len(at_rate) < LEAST_AT or faster:
        return None
    below = [stream for stream in pool if stream not in at_rate]
    has_udp = any(stream.sample.protocol == "UDP" for stream in at_rate)
    of_cells = {stream.sample.cell for stream in at_rate}
    has_plateau = any(stream.sample.plateau_bit_per_s is not None for stream in at_rate)
    just_below, unexplained = [], []
    for stream in below:
        missing_share = 1 - rates[stream.place] / top
        # If all trials of a cell are below the rate, a wait for a CPU is accepted as the
        # reason only if a stream at the rate has a TCP plateau (its rate while data flow).
        waited = stream.sample.longest_wait_share
        waits_enough = (
            waited >= COSTS * missing_share
            if stream.sample.cell in of_cells
            else (has_plateau and waited >= missing_share)
        )
        reason = waits_enough or (has_udp and stream.sample.protocol == "TCP")
        if missing_share <= TCP_BELOW and reason:
            just_below.append(stream)
        elif not waits_enough:
            unexplained.append(stream)
    trials = len(at_rate) + sum(_is_held_up(s, rates[s.place] / top) for s in just_below)
    ceilings = _ceilings(at_rate)
    few = ceilings >= CEILINGS and 2 * len(unexplained) <= len(at_rate) + len(just_below)
    if (unexplained and not few) or trials < LEAST_TRIALS or len(at_rate) < len(just_below):
        return None
    spreads = [(option, _spread(at_rate, option)) for option in Accounting]
    return RateFit(
        members=tuple(sorted((*at_rate, *just_below), key=lambda stream: stream.place)),
        rate_bit_per_s=median(rates[stream.place] for stream in at_rate),
        ceilings=ceilings,
        columns=len(_columns(at_rate)),
        spread=dict(spreads)[accounting],
        other_spreads=tuple(
            (option, spread) for option, spread in spreads if option is not accounting
        ),
    )


def _is_held_up(stream: Stopped, share: float) -> bool:
    """Whether a trial is at most 1 % below the rate, and its share of time waiting for a CPU is at
    least twice this difference.
    """
    waited = stream.sample.longest_wait_share
    return 1 - share <= 2 * SAME and waited >= 2 * (1 - share)


def _of_cells(streams: Iterable[Stopped], rates: dict[int, float]) -> dict[str, float]:
    """Cell (combination of settings) → the median rate over its trials."""
    cells: dict[str, list[float]] = {}
    for stream in streams:
        cells.setdefault(stream.sample.cell, []).append(rates[stream.place])
    return {cell: median(values) for cell, values in cells.items()}


def _columns(streams: Iterable[Stopped]) -> dict[tuple[str, int], list[Stopped]]:
    columns: dict[tuple[str, int], list[Stopped]] = {}
    for stream in streams:
        columns.setdefault((stream.sample.protocol, stream.sample.message_bytes), []).append(stream)
    return columns


def _spread(streams: Iterable[Stopped], accounting: Accounting) -> float:
    """Share by which the medians of columns differ."""
    rates = [
        median(stream.rate_bit_per_s(accounting) for stream in column)
        for column in _columns(streams).values()
    ]
    return 1 - min(rates) / max(rates)


def _ceilings(streams: Iterable[Stopped]) -> int:
    """Number of the streams' wire ceilings, counting only ceilings at least 5 % apart."""
    shares = sorted(
        stream.sample.framing.ceiling_share for stream in streams if stream.sample.framing
    )
    ceilings: list[float] = []
    for share in shares:
        if not ceilings or share >= (1 + APART) * ceilings[-1]:
            ceilings.append(share)
    return len(ceilings)
