"""Limits that several trials show together: links slower than stated, shapers, waits and others.

A link, a shaper or other traffic limits TCP to one rate all the time. An end without a CPU stops
TCP for some hundredths of a second; between these stops TCP uses all that the path carries. So the
rate of a TCP stream is its plateau: its rate while its data flow. Trials also tell a limit from a
wait for a CPU that costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from netlab import ethernet
from netlab.findings import stream_limits
from netlab.findings.claims import SELECTS
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.kind import kinds_named
from netlab.findings.rates import Accounting, step_of
from netlab.findings.stream_limits import FILLED, JudgedStream, is_above, trials_of
from netlab.findings.stream_rules import COSTS, WAITED, stood_in_queue
from netlab.messages import Message, _
from netlab.trial.record import grouped

SAME = 0.005
"""Share by which equal rates may differ."""

SCATTERS = 4.0
"""They may differ by so many standard deviations more, where random loss scatters them."""

FASTER = 0.02
"""A single trial may exceed the rate by this share. If it exceeds the rate by more, the rate is not
a limit."""

TCP_BELOW = 0.03
"""Share by which TCP may be below UDP at the same limit: it has to find the rate."""

HELD = 0.1
"""Minimum share of the time in which a held sender neither runs nor waits for a CPU nor is stopped.
"""

LEAST_TRIALS, LEAST_AT = 3, 2
"""Minimum number of trials at one rate, so that chance is ruled out; and how many of them must be
at the rate itself. The others may be up to 1 % below it, if their share of time without a CPU was
at least twice this difference."""

CEILINGS, APART = 3, 0.02
"""Minimum number of different wire ceilings that is needed to distinguish two accountings, and the
share by which any two of these ceilings must differ."""

STANDS_OUT = 3
"""An accounting stands out if the rates by another accounting spread at least this many times as
much as the rates by this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFit:
    """Streams that are limited to one rate."""

    members: tuple[JudgedStream, ...]
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

    def stands_out(self, accounting: Accounting) -> bool:
        """Whether it can be told from ``WIRE``; ``WIRE`` itself: from all other accountings."""
        return all(
            spread >= STANDS_OUT * self.spread
            for option, spread in self.other_spreads
            if Accounting.WIRE in (option, accounting)
        )


def fitted(
    pool: Sequence[JudgedStream], all_streams: Sequence[JudgedStream], accounting: Accounting
) -> RateFit | None:
    """The rate that limits the streams of ``pool``.

    ``None`` if they have no common rate, if one of ``all_streams`` is faster, or if some streams
    are below the rate without a known reason.
    """
    rates = {stream: stream.rate_bit_per_s(accounting) for stream in all_streams}
    least = _least_trials(pool)
    if len(pool) < least:
        return None
    scatter = SCATTERS * max(stream.scatter_share for stream in pool)
    same = SAME + scatter
    level = max(_of_cells(pool, rates))
    top = max(rates[stream] for stream in pool if rates[stream] <= (1 + same) * level)
    at_rate = [s for s in pool if (1 - same) * top <= rates[s] <= (1 + same) * top]
    compared = [*_of_cells(all_streams, rates), *(rates[stream] for stream in pool)]
    faster = any(rate > (1 + same) * top for rate in compared) or any(
        rates[stream] > (1 + FASTER + scatter + stream.sample.resolution_share) * top
        for stream in all_streams
    )
    if len(at_rate) < min(LEAST_AT, least) or faster:
        return None
    has_udp = any(stream.sample.protocol == "UDP" for stream in at_rate)
    of_cells = {stream.sample.cell for stream in at_rate}
    has_plateau = any(stream.sample.plateau_bit_per_s is not None for stream in at_rate)
    # One column may have some like trials, and waits in the others, by chance.
    alone = len(pool) > LEAST_TRIALS and len({*map(_column, at_rate)}) == 1 and not has_plateau
    just_below, unexplained, trials = [], 0, len(at_rate)
    for stream in (stream for stream in pool if stream not in at_rate):
        missing_share = 1 - rates[stream] / top
        # If all trials of a cell are below the rate, a wait for a CPU is accepted as the
        # reason only if a stream at the rate has a TCP plateau (its rate while data flow).
        waited = stream.sample.longest_wait_share
        waits_enough = (
            waited >= (1 if alone and missing_share <= TCP_BELOW else COSTS) * missing_share
            if stream.sample.cell in of_cells
            else (has_plateau and waited >= missing_share)
        )
        reason = waits_enough or (has_udp and stream.sample.protocol == "TCP")
        if missing_share <= TCP_BELOW and reason:
            just_below.append(stream)
            # See ``LEAST_AT``: the trial counts as one at the rate.
            trials += not alone and missing_share <= 2 * SAME and waited >= 2 * missing_share
        elif not waits_enough:
            unexplained += 1
    ceilings = _ceilings(at_rate)
    few = ceilings >= CEILINGS and 2 * unexplained <= len(at_rate) + len(just_below)
    if (unexplained and not few) or trials < least or len(at_rate) < len(just_below):
        return None
    spreads = {option: _spread(at_rate, option) for option in Accounting}
    return RateFit(
        members=tuple(s for s in all_streams if s in at_rate or s in just_below),
        rate_bit_per_s=median(rates[stream] for stream in at_rate),
        ceilings=ceilings,
        columns=len(grouped(at_rate, _column)),
        spread=spreads.pop(accounting),
        other_spreads=tuple(spreads.items()),
    )


def _least_trials(streams: Iterable[JudgedStream]) -> int:
    """How many trials must be at a rate: one whose data arrived evenly shows the rate alone."""
    return 1 if all(stream.sample.is_even for stream in streams) else LEAST_TRIALS


def _of_cells(
    streams: Iterable[JudgedStream], rates: Mapping[JudgedStream, float]
) -> tuple[float, ...]:
    """The median rate of each cell."""
    cells = grouped(streams, lambda stream: stream.sample.cell).values()
    return tuple(median(rates[stream] for stream in of_cell) for of_cell in cells)


def _column(stream: JudgedStream) -> tuple[str, int]:
    return stream.sample.protocol, stream.sample.message_bytes


def _spread(streams: Iterable[JudgedStream], accounting: Accounting) -> float:
    """Share by which the medians of columns differ."""
    columns = grouped(streams, _column).values()
    rates = [median(stream.rate_bit_per_s(accounting) for stream in column) for column in columns]
    return 1 - min(rates) / max(rates)


def _ceilings(streams: Iterable[JudgedStream]) -> int:
    """Number of the streams' wire ceilings, counting only ceilings at least 5 % apart."""
    framings = (stream.sample.framing for stream in streams)
    number, last = 0, 0.0
    for share in sorted(framing.ceiling_share for framing in framings if framing):
        if not number or share >= (1 + APART) * last:
            number, last = number + 1, share
    return number


LOST_ALONE = 0.1
"""A stream lost messages because it exceeded the rate, not at random, if the loss share of another
stream at the same rate is at most this part of the stream's own loss share: random loss affects all
streams equally."""

ARRIVED_SPAN, SPREADS = 0.01, 3
"""Minimum difference between the delivered shares of columns at one rate, as a share of them, and
how many times the difference between the trials of a column it must be; random loss is the same in
all columns."""

LOST_MORE = 0.05
"""Minimum share of what a lower offered rate delivers that a full load does not, for a limit of the
rate: random loss is the same at any load."""

WAITS_ALIKE = 1.5
"""Waits for a CPU count as equal if the longest is at most this many times the shortest."""

PASSES = 0.05
"""If a limit is one of some packets only, the others exceed it by more than this share."""

ALIKE = 0.01
"""If the rates of both directions differ by less than this share, one finding states both."""

OF_LINKS = frozenset({Kind.LINK_FAR_BELOW, *kinds_named("rate-limit")})
"""The kinds of findings about links."""

_LOSSY = frozenset(stream_limits.OF_PATH)
_COUNTED: dict[Accounting, Message] = {
    Accounting.FRAME: _("Ethernet frames"),
    Accounting.HEADED: _("frames without FCS"),
    Accounting.PACKET: _("IP packets"),
}


@dataclass(frozen=True, slots=True)
class LinkLimit:
    """The finding about a pairing or one of its directions, and its streams."""

    finding: Finding
    members: frozenset[JudgedStream]
    shared: frozenset[JudgedStream]
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


def link_limits(judged_streams: Iterable[JudgedStream]) -> tuple[LinkLimit, ...]:
    """One limit per pairing, or per direction if the limits of its directions differ."""

    def is_comparable(stream: JudgedStream) -> bool:
        sample = stream.sample
        if sample.framing is None or sample.flow or sample.same_host or sample.imported:
            return False
        return sample.streams >= 1 and all(end.judged for end in sample.ends)

    pairings: dict[str, list[_StoppedWay]] = {}
    some_packets: list[tuple[_StoppedWay, ...]] = []
    for way, streams in grouped(
        filter(is_comparable, judged_streams), stream_limits.way_of
    ).items():
        stopped_way = _one_way(streams)
        if stopped_way is not None:
            pairings.setdefault(way[0], []).append(stopped_way)
        else:
            of_some = _some_packets(streams) or _some_trials(streams)
            before_losses = () if of_some else filter(None, [_one_way(_as_sent(streams))])
            some_packets += [(each,) for each in (*of_some, *before_losses)]
    link_limits = []
    every = [alike for stopped_ways in pairings.values() for alike in _alike(stopped_ways)]
    for alike in [*every, *some_packets]:
        members = frozenset(member for way in alike for member in way.fit.members)
        shared = frozenset(member for member in members if member.is_shared)
        link_limits.append(LinkLimit(_finding(alike), members, shared))
    return tuple(link_limits)


def _as_sent(all_streams: Sequence[JudgedStream]) -> Sequence[JudgedStream]:
    """Those streams over UDP that lost messages on the path, as if they had not, whose sender slept
    though it had more to send: a limit before that place holds it back.
    """
    lossy = [stream.sample for stream in all_streams if stream.kind in _LOSSY]
    return [
        stream_limits.judged(
            stream_limits.lost_only(sample, None).but(throughput_bit_per_s=sample.sent_bit_per_s)
        )
        for sample in lossy
        if sample.protocol == "UDP" and sample.losses.sent and sample.sent_bit_per_s
        for sender in [sample.sender]
        for slept in [1 - sender.waited_share - sender.stalled_share - (sender.thread_share or 1)]
        if slept >= HELD
    ]


def _one_way(all_streams: Sequence[JudgedStream]) -> _StoppedWay | None:
    """The rate that limits the streams of one direction; ``None`` if they show no such rate."""
    # What the sender's stops cost is no limit of a link, though it may cost all trials as much.
    unpaced = [
        stream
        for stream in all_streams
        if not stream.sample.offers_less and not stream_limits.lost_to_pauses(stream.sample)
    ]
    quiet = [stream for stream in unpaced if _is_open(stream)]
    lossy = [stream for stream in unpaced if stream.kind in _LOSSY]
    for pool in ([*quiet, *lossy], quiet) if lossy else (quiet,):
        for kind, accounting, fit in _fits(pool, all_streams):
            framing, rate = fit.members[0].sample.framing, fit.rate_bit_per_s
            stated_rate = 0.0 if framing is None else framing.link_rate_bit_per_s
            # Together with other traffic, the streams may fill the stated link.
            is_shared = any(member.is_shared for member in fit.members)
            is_full = is_shared and rate >= FILLED * stated_rate
            if is_full or not _is_of_rate(fit) or _is_of_waits(fit, stated_rate):
                continue
            step = step_of(rate, stated_rate) if accounting is Accounting.WIRE else None
            # The link limits all streams that fill it, even if their own records show a wait.
            limited = {s for s in unpaced if s.rate_bit_per_s(accounting) >= FILLED * rate}
            limited |= {*fit.members}
            members = tuple(stream for stream in all_streams if stream in limited)
            is_half_duplex = step is None and _is_half_duplex(fit, stated_rate)
            by_rate = Kind.RATE_LIMIT_HALF_DUPLEX if is_half_duplex else kind
            return _StoppedWay(
                by_rate if step is None else Kind.LINK_FAR_BELOW,
                replace(fit, members=members),
                accounting,
                stated_rate,
                step,
                len(unpaced),
            )
    return None


def _some_packets(all_streams: Sequence[JudgedStream]) -> Sequence[_StoppedWay]:
    """The rates that limit the packets with one value of one setting, such as one IP version.

    Each other value of the setting has a stream that is faster by more than ``PASSES``.
    """
    for name in SELECTS:
        values = grouped(all_streams, partial(_setting_of, name))
        found = {value: way for value, it in values.items() if (way := _way_of_cells(it))}
        others = [streams for value, streams in values.items() if value not in found]
        slow = [
            way
            for way in found.values()
            for least in [(1 + PASSES) * way.fit.rate_bit_per_s]
            if all(any(s.rate_bit_per_s(way.accounting) > least for s in it) for it in others)
        ]
        if others and slow:  # other settings that vary with this one would say the same
            return slow
    return ()


def _some_trials(all_streams: Sequence[JudgedStream]) -> Sequence[_StoppedWay]:
    """The rate that limits the same trials of all cells; in each cell another trial is faster by
    more than ``PASSES``.
    """
    slow: list[JudgedStream] = []
    for streams in grouped(all_streams, lambda stream: stream.sample.cell).values():
        least = (1 - PASSES) * max(stream.rate_bit_per_s(Accounting.WIRE) for stream in streams)
        slow += (s for s in streams if s.rate_bit_per_s(Accounting.WIRE) < least)
    cells = {stream.sample.cell for stream in all_streams}
    of_trials = grouped(slow, lambda stream: stream.sample.trial).values()
    stopped_way = _one_way(slow) if all(len(each) == len(cells) for each in of_trials) else None
    return [] if stopped_way is None else [replace(stopped_way, of_trials=len(all_streams))]


def _setting_of(name: str, stream: JudgedStream) -> str:
    return str(stream.sample.record.settings.get(name))


def _way_of_cells(streams: Sequence[JudgedStream]) -> _StoppedWay | None:
    """The rate that limits all of these cells, if only in some trials; chance may give one cell any
    rate, unless its data arrived evenly.
    """
    stopped_way = _one_way(streams) or next(iter(_some_trials(streams)), None)
    members = stopped_way.fit.members if stopped_way else ()
    cells = {stream.sample.cell for stream in members}
    every = {stream.sample.cell for stream in streams}
    enough = len(cells) > 1 or any(member.sample.is_even for member in members)
    return stopped_way if enough and cells == every else None


def _is_half_duplex(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether data and the acknowledgements that come back fill the stated link one at a time."""
    shares = [_both_ways_share(member, stated_bit_per_s) for member in fit.members]
    known = [share for share in shares if share is not None]
    return len(known) == len(shares) and abs(1 - median(known)) <= 2 * SAME


def _both_ways_share(stream: JudgedStream, stated_bit_per_s: float) -> float | None:
    """Share of the stated link that data and acknowledgements take together; ``None``: not TCP, or
    not known. An acknowledgement is a TCP header with time stamps, if these are in use.
    """
    sample, window_ns = stream.sample, stream.sample.sender.window_ns
    if sample.acknowledgements is None or not window_ns or sample.protocol != "TCP":
        return None
    stamps = 0 if sample.measured.tcp_timestamps is False else ethernet.TIMESTAMPS_BYTES
    version = ethernet.ip_version_of(sample.record.settings)
    packet = ethernet.IP_BYTES[version] + ethernet.TCP_BYTES + stamps
    back = 8e9 * sample.acknowledgements * ethernet.packet_wire_bytes(packet) / window_ns
    return (stream.rate_bit_per_s(Accounting.WIRE) + back) / stated_bit_per_s


def _is_of_waits(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether all streams waited equally long for a CPU, and long enough to explain the missing
    throughput.

    Equal waits would also give all streams one rate. If a stream has a TCP plateau, waits can be
    distinguished from a slower link.
    """
    if any(m.sample.plateau_bit_per_s is not None or not m.by_shares for m in fit.members):
        return False
    waits = [member.sample.longest_wait_share for member in fit.members]
    enough = min(waits) >= 1 - fit.rate_bit_per_s / stated_bit_per_s
    return enough and max(waits) <= WAITS_ALIKE * min(waits)


def _fits(
    pool: Sequence[JudgedStream], all_streams: Sequence[JudgedStream]
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
        if fit is not None and fit.ceilings >= CEILINGS and fit.spread <= SAME
    }
    if several:
        best = min(several, key=lambda option: several[option].spread)
        if several[best].stands_out(best):
            kind = Kind.RATE_LIMIT_LINK if best is Accounting.WIRE else Kind.RATE_LIMIT_SHAPER
            yield kind, best, several[best]
    wire = fits[Accounting.WIRE]
    if wire is not None and any(m.kind is not None or _is_free(m.sample) for m in wire.members):
        yield Kind.RATE_LIMIT_EITHER, Accounting.WIRE, wire


def _is_free(sample: StreamSample) -> bool:
    """Whether data arrived evenly, and no socket's memory held the first stream back."""
    held = (sample.rwnd_limited_share or 0) + (sample.sndbuf_limited_share or 0)
    return sample.is_even and held <= WAITED


def _is_open(stream: JudgedStream) -> bool:
    """Whether a stream's own record allows a slower link as the limit."""
    sample = stream.sample
    # Data that stood still for longer than TCP needs to find its rate, not for lack of a CPU.
    stood = sample.plateau_gap_share > TCP_BELOW and not stream_limits.stood_for_cpu(sample)
    if is_above(sample) or stream_limits.lost_to_stops(sample) or _is_robbed(sample) or stood:
        return False
    open_by_itself = stream.by_shares or stream.kind in (None, Kind.NOT_DETERMINED)
    return open_by_itself or (stream.kind is Kind.CONGESTION and stood_in_queue(sample))


def _is_robbed(sample: StreamSample) -> bool:
    """Whether the hypervisor took a share of CPU time that is at least half of the missing share of
    the wire ceiling. If it takes time evenly, all streams have one rate, as behind a slower link.
    """
    stolen = max(end.steal_share or 0 for end in sample.ends)
    return stolen > WAITED and stolen >= COSTS * sample.missing_share


def _is_of_rate(fit: RateFit) -> bool:
    """Whether messages were lost because the sender exceeded the rate, not at random."""
    lossy = [member for member in fit.members if member.kind in _LOSSY]
    if not lossy:
        return True
    certain = sum(_is_more_lost(member) or member.sample.is_even for member in lossy)
    if 2 * certain > len(lossy):  # a pause of a host makes the others uneven
        return True
    least = min(member.sample.lost_share or 0 for member in lossy)
    others = [member.sample for member in fit.members if member.kind not in _LOSSY]
    if any(_resent_share(sample) <= LOST_ALONE * least for sample in others):
        return True
    columns = [
        [1 - (m.sample.lost_share or 0) for m in c] for c in grouped(lossy, _column).values()
    ]
    spread = max(1 - min(column) / max(column) for column in columns)
    middles = [median(column) for column in columns]
    span = 1 - min(middles) / max(middles)
    return fit.ceilings >= CEILINGS and span >= max(ARRIVED_SPAN, SPREADS * spread)


def _is_more_lost(stream: JudgedStream) -> bool:
    """Whether a full load delivers clearly less than what the path loses at any load."""
    delivered, apart = stream.sample.delivered_share, stream.lost_apart
    if delivered is None or apart is None:
        return False
    return delivered <= (1 - LOST_MORE) * (1 - apart)


def _resent_share(sample: StreamSample) -> float:
    """Share of the segments that TCP sent again, or of lost UDP messages; 1 if not known."""
    if sample.protocol == "UDP":
        return 1.0 if sample.lost_share is None else sample.lost_share
    resent, window_ns, framing = sample.tcp.retransmissions, sample.sender.window_ns, sample.framing
    if resent is None or not window_ns or framing is None:
        return 1.0
    segments = sample.throughput_bit_per_s * window_ns / 8e9 / framing.payload_bytes
    return resent / max(1.0, segments)


# ---- the finding --------------------------------------------------------------------------------


def _alike(ways: Sequence[_StoppedWay]) -> list[tuple[_StoppedWay, ...]]:
    """Both directions of a pairing together, if they are limited to one rate in the same way."""
    rates = [way.fit.rate_bit_per_s for way in ways]
    near = max(rates) - min(rates) <= ALIKE * max(rates)
    causes = {(way.kind, way.accounting) for way in ways}
    together = len(ways) == 2 and len(causes) == 1 and near
    return [tuple(ways)] if together else [(way,) for way in ways]


def _finding(ways: Sequence[_StoppedWay]) -> Finding:
    first, members = ways[0], [member for way in ways for member in way.fit.members]
    streams = [member.sample for member in members]
    rate = median(way.fit.rate_bit_per_s for way in ways)
    shares = [stream.ceiling_share for stream in streams if stream.ceiling_share is not None]
    words: dict[str, str] = {}
    sender, receiver = streams[0].sender.host, streams[0].receiver.host
    if sender:
        one_way = _("from {sender} to {receiver}", sender=sender, receiver=receiver)
        words["direction"] = _("both ways") if len(ways) > 1 else one_way
    shared = any(member.is_shared for member in members)
    if shared:
        words["with_others"] = _("including other traffic")
    if first.accounting in _COUNTED:
        words["counted"] = _COUNTED[first.accounting]
    # The group has what all of the streams have in common.
    protocols = {stream.protocol for stream in streams}
    sizes = {stream.message_bytes for stream in streams}
    protocol = protocols.pop() if len(protocols) == 1 else ""
    return finding(
        first.kind,
        Group(streams[0].pairing, protocol, sizes.pop() if len(sizes) == 1 else None),
        (),
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
