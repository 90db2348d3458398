"""Links slower than stated: streams that all stop at one rate, and what that rate counts. Pure.

One direction of a pairing at a time: its streams that nothing else explains → the highest rate that
several of them share, by each way to count bytes → a finding, where none of its streams is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.framing import Accounting, step_of
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COSTS, WAITED
from netlab.findings.streams.limits import FILLED, JudgedStream, is_above, lost_to_stops
from netlab.findings.streams.one_rate import SAME, TCP_BELOW, RateFit, Stopped, fitted
from netlab.findings.streams.path_limits import stood_in_queue
from netlab.findings.streams.plateau import stood_for_cpu, stood_share
from netlab.findings.streams.trial_counts import trials_of
from netlab.messages import Message, _

LOST_ALONE = 0.1
"""Most that others lost, as a share of what a stream lost, for its loss to be of its rate: what is
lost at random is lost by all alike."""

LOSS_SPAN = 0.02
"""Least difference of the shares that columns lost at one rate, which no random loss has."""

WAITS_ALIKE = 1.5
"""Times the shortest of the waits that are alike."""

ALIKE = 0.01
"""Rates of both directions that differ by less are said at once."""

OF_LINKS = frozenset({Kind.LINK_FAR_BELOW, Kind.SLOWER_LINK, Kind.SHAPER, Kind.LINK_OR_SHAPER})
"""The kinds of what is said here."""

_LOSSY = frozenset({Kind.PATH_LOSS, Kind.UNPLACED_LOSS})
_COUNTED: dict[Accounting, Message] = {
    Accounting.FRAME: _("Ethernet frames"),
    Accounting.HEADED: _("frames without FCS"),
    Accounting.PACKET: _("IP packets"),
}


@dataclass(frozen=True, slots=True)
class LinkLimit:
    """What is said of one direction of a pairing, and the places of the streams it is said of."""

    finding: Finding
    members: frozenset[int]
    shared: frozenset[int]
    """Those of them that fill the link together with others, which is said as well."""


@dataclass(frozen=True, slots=True)
class _StoppedWay:
    """The rate at which one direction of a pairing stops."""

    kind: Kind
    fit: RateFit
    accounting: Accounting
    stated_bit_per_s: float
    step_bit_per_s: float | None
    of_trials: int

    @property
    def rate_bit_per_s(self) -> float:
        """As its accounting counts, by most of its streams."""
        return self.fit.rate_bit_per_s

    @property
    def streams(self) -> tuple[StreamSample, ...]:
        """Those that stop there."""
        return tuple(each.sample for each in self.fit.members)


def link_limits(shown: Sequence[JudgedStream]) -> tuple[LinkLimit, ...]:
    """One a pairing, or a direction of it where these differ."""
    ways: dict[tuple[str, str, str], list[Stopped]] = {}
    for place, each in enumerate(shown):
        it = each.sample
        if it.framing is None or it.flow or it.same_host or it.imported or it.streams < 1:
            continue
        if all(end.judged for end in it.ends):
            key = (it.pairing, it.sender.host, it.receiver.host)
            ways.setdefault(key, []).append(Stopped(place, it, each.kind, by_shares=each.by_shares))
    pairings: dict[str, list[_StoppedWay]] = {}
    for (pairing, _sender, _receiver), those in ways.items():
        found = _one_way(those)
        if found is not None:
            pairings.setdefault(pairing, []).append(found)
    return tuple(_limit(alike) for found_ways in pairings.values() for alike in _alike(found_ways))


def _one_way(every: Sequence[Stopped]) -> _StoppedWay | None:
    """What all streams of one direction show of its link."""
    quiet = [each for each in every if not each.sample.paced and _is_open(each)]
    lossy = [each for each in every if not each.sample.paced and each.kind in _LOSSY]
    for pool in ([*quiet, *lossy], quiet) if lossy else (quiet,):
        for kind, accounting, fit in _fits(pool, every):
            stated = _stated(fit)
            if not _is_of_rate(fit) or _fills_stated(fit, stated) or _is_of_waits(fit, stated):
                continue
            wire = accounting is Accounting.WIRE
            step = step_of(fit.rate_bit_per_s, stated) if wire else None
            said = Kind.LINK_FAR_BELOW if step is not None else kind
            unpaced = sum(not each.sample.paced for each in every)
            full = _with_full(fit, every, accounting)
            return _StoppedWay(said, full, accounting, stated, step, unpaced)
    return None


def _with_full(fit: RateFit, every: Sequence[Stopped], accounting: Accounting) -> RateFit:
    """With the streams that fill the slower link, whatever they wait for: as with the one stated,
    they could be no faster.
    """
    full = [
        each
        for each in every
        if not each.sample.paced and each.rate_bit_per_s(accounting) >= FILLED * fit.rate_bit_per_s
    ]
    members = {each.place: each for each in (*full, *fit.members)}
    return replace(fit, members=tuple(members[place] for place in sorted(members)))


def _fills_stated(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether it is the stated link that its streams fill together with others."""
    shared = any(each.is_shared for each in fit.members)
    return shared and fit.rate_bit_per_s >= FILLED * stated_bit_per_s


def _is_of_waits(fit: RateFit, stated_bit_per_s: float) -> bool:
    """Whether all its streams waited for a CPU alike, and long enough to lack what they lack: no
    less than others that stand still as long each time. TCP's plateau would tell.
    """
    lacks = 1 - fit.rate_bit_per_s / stated_bit_per_s
    waits = [each.sample.longest_wait_share for each in fit.members]
    told = any(each.sample.plateau_bit_per_s is not None for each in fit.members)
    alike = min(waits) >= lacks and max(waits) <= WAITS_ALIKE * min(waits)
    return alike and not told and all(each.by_shares for each in fit.members)


def _stated(fit: RateFit) -> float:
    framing = fit.members[0].sample.framing
    return 0.0 if framing is None else framing.link_rate_bit_per_s


def _fits(
    pool: Sequence[Stopped], every: Sequence[Stopped]
) -> Iterator[tuple[Kind, Accounting, RateFit]]:
    """The accounting that puts columns of several ceilings at one rate, where another does not;
    else the wire's, where all are at one share of it.
    """
    fits = {each: fitted(pool, every, each) for each in Accounting}
    several = {
        each: fit
        for each, fit in fits.items()
        if fit is not None and fit.tells_accountings and fit.spread <= SAME
    }
    if several:
        best = min(several, key=lambda each: several[each].spread)
        if several[best].stands_out(best):
            kind = Kind.SLOWER_LINK if best is Accounting.WIRE else Kind.SHAPER
            yield kind, best, several[best]
    wire = fits[Accounting.WIRE]
    if wire is not None and any(each.kind is not None for each in wire.members):
        yield Kind.LINK_OR_SHAPER, Accounting.WIRE, wire


def _is_open(each: Stopped) -> bool:
    """Whether its own record leaves room for a slower link."""
    if any(rule(each.sample) for rule in (is_above, lost_to_stops, _is_robbed, _stood_for_else)):
        return False
    return (
        each.by_shares
        or each.kind in (None, Kind.NOT_DETERMINED)
        or (each.kind is Kind.CONGESTION and stood_in_queue(each.sample))
    )


def _stood_for_else(sample: StreamSample) -> bool:
    """Whether its data stood for longer than TCP needs to find its rate, and no CPU is the reason:
    what held it up held the figure down.
    """
    return stood_share(sample) > TCP_BELOW and not stood_for_cpu(sample)


def _is_robbed(sample: StreamSample) -> bool:
    """Whether the hypervisor took what may be half of the time that is missing: taken evenly, it
    holds all streams to one rate."""
    stolen = max(end.steal_share or 0 for end in sample.ends)
    return stolen > WAITED and stolen >= COSTS * sample.missing_share


def _is_of_rate(fit: RateFit) -> bool:
    """Whether what was lost was lost because more was sent than passes."""
    lost = [each for each in fit.members if each.kind in _LOSSY]
    if not lost:
        return True
    least = min(each.sample.lost_share or 0 for each in lost)
    others = [each.sample for each in fit.members if each.kind not in _LOSSY]
    if any(_resent_share(each) <= LOST_ALONE * least for each in others):
        return True
    columns: dict[tuple[str, int], list[float]] = {}
    for each in lost:
        key = (each.sample.protocol, each.sample.message_bytes)
        columns.setdefault(key, []).append(each.sample.lost_share or 0)
    shares = [median(those) for those in columns.values()]
    return fit.tells_accountings and max(shares) - min(shares) >= LOSS_SPAN


def _resent_share(sample: StreamSample) -> float:
    """Of the segments over TCP those sent again, of the messages over UDP those lost; 1 unknown."""
    if sample.protocol == "UDP":
        return 1.0 if sample.lost_share is None else sample.lost_share
    again, window_ns, framing = sample.tcp.retransmissions, sample.sender.window_ns, sample.framing
    if again is None or not window_ns or framing is None:
        return 1.0
    segments = sample.throughput_bit_per_s * window_ns / 8e9 / framing.payload_bytes
    return again / max(1.0, segments)


# ---- what is said --------------------------------------------------------------------------------


def _alike(ways: Sequence[_StoppedWay]) -> Iterator[tuple[_StoppedWay, ...]]:
    """Both directions of a pairing at once, where they stop at one rate in the same way."""
    if len(ways) == 2:
        one, other = ways
        most = max(one.rate_bit_per_s, other.rate_bit_per_s)
        near = abs(one.rate_bit_per_s - other.rate_bit_per_s) <= ALIKE * most
        if near and (one.kind, one.accounting) == (other.kind, other.accounting):
            yield one, other
            return
    for each in ways:
        yield (each,)


def _limit(ways: Sequence[_StoppedWay]) -> LinkLimit:
    members = [each for way in ways for each in way.fit.members]
    return LinkLimit(
        _said(ways),
        frozenset(each.place for each in members),
        frozenset(each.place for each in members if each.is_shared),
    )


def _said(ways: Sequence[_StoppedWay]) -> Finding:
    first = ways[0]
    streams = [each for way in ways for each in way.streams]
    rate = median(way.rate_bit_per_s for way in ways)
    shares = [each.ceiling_share for each in streams if each.ceiling_share is not None]
    words: dict[str, str] = {"direction": _direction(ways)} if streams[0].sender.host else {}
    shared = any(each.is_shared for way in ways for each in way.fit.members)
    if shared:
        words["with_others"] = _("including other traffic")
    if first.accounting in _COUNTED:
        words["counted"] = _COUNTED[first.accounting]
    return finding(
        first.kind,
        _group(streams),
        tuple(dict.fromkeys(each.cell for each in streams)),
        {
            "rate_limit_bit_per_s": rate,
            "costs_share": max(0.0, 1 - rate / first.stated_bit_per_s),
            "step_rate_bit_per_s": first.step_bit_per_s,
            "link_rate_bit_per_s": first.stated_bit_per_s,
            "ceiling_share": rate / first.stated_bit_per_s if shared else median(shares),
            "throughput_bit_per_s": max(each.throughput_bit_per_s for each in streams),
            "spread_share": max(way.fit.spread for way in ways),
            "columns": min(way.fit.columns for way in ways),
            "trials": len(streams),
            "of_trials": sum(way.of_trials for way in ways),
        },
        words,
        trials_of(streams),
    )


def _direction(ways: Sequence[_StoppedWay]) -> Message:
    if len(ways) > 1:
        return _("both ways")
    one = ways[0].streams[0]
    return _("from {sender} to {receiver}", sender=one.sender.host, receiver=one.receiver.host)


def _group(streams: Sequence[StreamSample]) -> Group:
    """What all of them have in common."""
    protocols = {each.protocol for each in streams}
    sizes = {each.message_bytes for each in streams}
    return Group(
        streams[0].pairing,
        protocols.pop() if len(protocols) == 1 else "",
        sizes.pop() if len(sizes) == 1 else None,
    )
