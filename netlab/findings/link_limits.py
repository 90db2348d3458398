"""Plateau: the rate of TCP while its data flow, without the times in which the data stood still.

A link, a shaper or other traffic limits TCP to one rate all the time. An end without a CPU stops
TCP for some hundredths of a second; between these stops TCP uses all that the path carries. The
series of tcp_info, sampled every 10 ms, shows which of the two is the case. No I/O.

Links that are slower than stated: one rate that several streams have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.rates import Accounting, step_of
from netlab.findings.stream_limits import (
    FILLED,
    JudgedStream,
    is_above,
    lost_to_stops,
    stood_for_cpu,
    trials_of,
)
from netlab.findings.stream_rules import COSTS, WAITED, stood_in_queue
from netlab.messages import Message, _

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
        own = framing.rate_bit_per_s(self.sample.flowing_bit_per_s, accounting)
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


LOST_ALONE = 0.1
"""A stream lost messages because it exceeded the rate, not at random, if the loss share of another
stream at the same rate is at most this part of the stream's own loss share: random loss affects all
streams equally."""

LOSS_SPAN = 0.02
"""Minimum difference between the loss shares of columns at one rate; random loss is the same in all
columns."""

WAITS_ALIKE = 1.5
"""Waits for a CPU count as equal if the longest is at most this many times the shortest."""

ALIKE = 0.01
"""If the rates of both directions differ by less than this share, one finding states both."""

OF_LINKS = frozenset(
    {Kind.LINK_FAR_BELOW, Kind.RATE_LIMIT_LINK, Kind.RATE_LIMIT_SHAPER, Kind.RATE_LIMIT_EITHER}
)
"""The kinds of findings about links."""

_LOSSY = frozenset({Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_UNKNOWN})
_COUNTED: dict[Accounting, Message] = {
    Accounting.FRAME: _("Ethernet frames"),
    Accounting.HEADED: _("frames without FCS"),
    Accounting.PACKET: _("IP packets"),
}


@dataclass(frozen=True, slots=True)
class LinkLimit:
    """The finding about a pairing or one of its directions, and its streams."""

    finding: Finding
    members: frozenset[int]
    """The streams, as indices in the list of all judged streams."""
    shared: frozenset[int]
    """Those members that share the link with other traffic; they also belong to the finding about
    other traffic."""


@dataclass(frozen=True, slots=True)
class _StoppedWay:
    """The rate that limits the streams of one direction of a pairing."""

    kind: Kind
    fit: RateFit
    accounting: Accounting
    stated_bit_per_s: float
    step_bit_per_s: float | None
    of_trials: int

    @property
    def rate_bit_per_s(self) -> float:
        """The rate, in the bytes that its accounting counts."""
        return self.fit.rate_bit_per_s

    @property
    def streams(self) -> tuple[StreamSample, ...]:
        """The streams that are limited to the rate."""
        return tuple(member.sample for member in self.fit.members)


def link_limits(judged_streams: Sequence[JudgedStream]) -> tuple[LinkLimit, ...]:
    """One limit per pairing, or per direction if the limits of its directions differ."""
    ways: dict[tuple[str, str, str], list[Stopped]] = {}
    for place, stream in enumerate(judged_streams):
        sample = stream.sample
        if (
            sample.framing is None
            or sample.flow
            or sample.same_host
            or sample.imported
            or sample.streams < 1
        ):
            continue
        if all(end.judged for end in sample.ends):
            key = (sample.pairing, sample.sender.host, sample.receiver.host)
            ways.setdefault(key, []).append(
                Stopped(place, sample, stream.kind, by_shares=stream.by_shares)
            )
    pairings: dict[str, list[_StoppedWay]] = {}
    for (pairing, _sender, _receiver), streams in ways.items():
        stopped_way = _one_way(streams)
        if stopped_way is not None:
            pairings.setdefault(pairing, []).append(stopped_way)
    link_limits = []
    for alike in (alike for stopped_ways in pairings.values() for alike in _alike(stopped_ways)):
        members = [member for way in alike for member in way.fit.members]
        places = frozenset(member.place for member in members)
        shared = frozenset(member.place for member in members if member.is_shared)
        link_limits.append(LinkLimit(_finding(alike), places, shared))
    return tuple(link_limits)


def _one_way(all_streams: Sequence[Stopped]) -> _StoppedWay | None:
    """The rate that limits the streams of one direction; ``None`` if they show no such rate."""
    quiet = [stream for stream in all_streams if not stream.sample.paced and _is_open(stream)]
    lossy = [stream for stream in all_streams if not stream.sample.paced and stream.kind in _LOSSY]
    for pool in ([*quiet, *lossy], quiet) if lossy else (quiet,):
        for kind, accounting, fit in _fits(pool, all_streams):
            stated_rate = _stated(fit)
            if (
                not _is_of_rate(fit)
                or _fills_stated(fit, stated_rate)
                or _is_of_waits(fit, stated_rate)
            ):
                continue
            wire = accounting is Accounting.WIRE
            step = step_of(fit.rate_bit_per_s, stated_rate) if wire else None
            link_kind = Kind.LINK_FAR_BELOW if step is not None else kind
            unpaced = sum(not stream.sample.paced for stream in all_streams)
            # The link limits all streams that fill it, even if their own records show a wait.
            members = {stream.place: stream for stream in fit.members} | {
                stream.place: stream
                for stream in all_streams
                if not stream.sample.paced
                and stream.rate_bit_per_s(accounting) >= FILLED * fit.rate_bit_per_s
            }
            full = replace(fit, members=tuple(members[place] for place in sorted(members)))
            return _StoppedWay(link_kind, full, accounting, stated_rate, step, unpaced)
    return None


def _fills_stated(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether the streams fill the stated link together with other traffic."""
    shared = any(member.is_shared for member in fit.members)
    return shared and fit.rate_bit_per_s >= FILLED * stated_bit_per_s


def _is_of_waits(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether all streams waited equally long for a CPU, and long enough to explain the missing
    throughput.

    Equal waits would also give all streams one rate. If a stream has a TCP plateau, waits can be
    distinguished from a slower link.
    """
    missing_share = 1 - fit.rate_bit_per_s / stated_bit_per_s
    waits = [member.sample.longest_wait_share for member in fit.members]
    has_plateau = any(member.sample.plateau_bit_per_s is not None for member in fit.members)
    alike = min(waits) >= missing_share and max(waits) <= WAITS_ALIKE * min(waits)
    return alike and not has_plateau and all(member.by_shares for member in fit.members)


def _stated(fit: RateFit) -> float:
    framing = fit.members[0].sample.framing
    return 0.0 if framing is None else framing.link_rate_bit_per_s


def _fits(
    pool: Sequence[Stopped], all_streams: Sequence[Stopped]
) -> Iterator[tuple[Kind, Accounting, RateFit]]:
    """The possible explanations, the best one first.

    The first is the accounting by which columns with different ceilings have one rate, if this
    accounting can be distinguished from the others. The next is ``WIRE``, if all streams have one
    rate on the wire.
    """
    fits = {option: fitted(pool, all_streams, option) for option in Accounting}
    several = {
        option: fit
        for option, fit in fits.items()
        if fit is not None and fit.tells_accountings and fit.spread <= SAME
    }
    if several:
        best = min(several, key=lambda option: several[option].spread)
        if several[best].stands_out(best):
            kind = Kind.RATE_LIMIT_LINK if best is Accounting.WIRE else Kind.RATE_LIMIT_SHAPER
            yield kind, best, several[best]
    wire = fits[Accounting.WIRE]
    if wire is not None and any(stream.kind is not None for stream in wire.members):
        yield Kind.RATE_LIMIT_EITHER, Accounting.WIRE, wire


def _is_open(stream: Stopped) -> bool:
    """Whether a stream's own record allows a slower link as the limit."""
    sample = stream.sample
    # Data that stood still for longer than TCP needs to find its rate, not for lack of a CPU.
    stood = sample.plateau_gap_share > TCP_BELOW and not stood_for_cpu(sample)
    if is_above(sample) or lost_to_stops(sample) or _is_robbed(sample) or stood:
        return False
    return (
        stream.by_shares
        or stream.kind in (None, Kind.NOT_DETERMINED)
        or (stream.kind is Kind.CONGESTION and stood_in_queue(stream.sample))
    )


def _is_robbed(sample: StreamSample) -> bool:
    """Whether the hypervisor took a share of CPU time that is at least half of the missing share of
    the wire ceiling. If it takes time evenly, all streams have one rate, as behind a slower link.
    """
    stolen = max(end.steal_share or 0 for end in sample.ends)
    return stolen > WAITED and stolen >= COSTS * sample.missing_share


def _is_of_rate(fit: RateFit) -> bool:
    """Whether messages were lost because the sender exceeded the rate, not at random."""
    lossy_members = [member for member in fit.members if member.kind in _LOSSY]
    if not lossy_members:
        return True
    least = min(member.sample.lost_share or 0 for member in lossy_members)
    other_samples = [member.sample for member in fit.members if member.kind not in _LOSSY]
    if any(_resent_share(sample) <= LOST_ALONE * least for sample in other_samples):
        return True
    columns: dict[tuple[str, int], list[float]] = {}
    for member in lossy_members:
        key = (member.sample.protocol, member.sample.message_bytes)
        columns.setdefault(key, []).append(member.sample.lost_share or 0)
    shares = [median(shares_of_column) for shares_of_column in columns.values()]
    return fit.tells_accountings and max(shares) - min(shares) >= LOSS_SPAN


def _resent_share(sample: StreamSample) -> float:
    """Share of TCP's segments that were retransmitted, or of UDP's messages that were lost; 1 if
    not known.
    """
    if sample.protocol == "UDP":
        return 1.0 if sample.lost_share is None else sample.lost_share
    resent, window_ns, framing = sample.tcp.retransmissions, sample.sender.window_ns, sample.framing
    if resent is None or not window_ns or framing is None:
        return 1.0
    segments = sample.throughput_bit_per_s * window_ns / 8e9 / framing.payload_bytes
    return resent / max(1.0, segments)


# ---- the finding --------------------------------------------------------------------------------


def _alike(ways: Sequence[_StoppedWay]) -> Iterator[tuple[_StoppedWay, ...]]:
    """Both directions of a pairing together, if they are limited to one rate in the same way."""
    if len(ways) == 2:
        first, second = ways
        highest = max(first.rate_bit_per_s, second.rate_bit_per_s)
        near = abs(first.rate_bit_per_s - second.rate_bit_per_s) <= ALIKE * highest
        if near and (first.kind, first.accounting) == (second.kind, second.accounting):
            yield first, second
            return
    for way in ways:
        yield (way,)


def _finding(ways: Sequence[_StoppedWay]) -> Finding:
    first = ways[0]
    streams = [stream for way in ways for stream in way.streams]
    rate = median(way.rate_bit_per_s for way in ways)
    shares = [stream.ceiling_share for stream in streams if stream.ceiling_share is not None]
    words: dict[str, str] = {}
    sender, receiver = streams[0].sender.host, streams[0].receiver.host
    if sender:
        one_way = _("from {sender} to {receiver}", sender=sender, receiver=receiver)
        words["direction"] = _("both ways") if len(ways) > 1 else one_way
    # The group has what all of the streams have in common.
    protocols = {stream.protocol for stream in streams}
    sizes = {stream.message_bytes for stream in streams}
    group = Group(
        streams[0].pairing,
        protocols.pop() if len(protocols) == 1 else "",
        sizes.pop() if len(sizes) == 1 else None,
    )
    shared = any(member.is_shared for way in ways for member in way.fit.members)
    if shared:
        words["with_others"] = _("including other traffic")
    if first.accounting in _COUNTED:
        words["counted"] = _COUNTED[first.accounting]
    return finding(
        first.kind,
        group,
        tuple(dict.fromkeys(stream.cell for stream in streams)),
        {
            "rate_limit_bit_per_s": rate,
            "costs_share": max(0.0, 1 - rate / first.stated_bit_per_s),
            "step_rate_bit_per_s": first.step_bit_per_s,
            "link_rate_bit_per_s": first.stated_bit_per_s,
            "ceiling_share": rate / first.stated_bit_per_s if shared else median(shares),
            "throughput_bit_per_s": max(stream.throughput_bit_per_s for stream in streams),
            "spread_share": max(way.fit.spread for way in ways),
            "columns": min(way.fit.columns for way in ways),
            "trials": len(streams),
            "of_trials": sum(way.of_trials for way in ways),
        },
        words,
        trials_of(streams),
    )
