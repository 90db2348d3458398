"""Paths that are longer for some packets or trials, vary, or lose or copy what round trips send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median

from netlab.ethernet import Link
from netlab.findings.claims import PLACE, SELECTS
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, conditions_of, of_trials
from netlab.findings.kind import KINDS, kinds_named
from netlab.findings.round_trips import ENDS, WHAT, TripTrial, floor_ns, trip_cells, waiting
from netlab.findings.series import Series
from netlab.findings.stream_rules import WAITED
from netlab.results.tcp_series import TcpSeries
from netlab.stats.histogram import middle_of
from netlab.trial.record import Value, as_number, grouped

LONGER, LONGER_NS = 0.03, 300_000.0
"""Minimum time by which a path is longer, or varies, as a share of the round trip and in ns: hosts
add tens of microseconds."""

PACED = 0.08
"""Minimum time as a share of the round trip where TCP paces the segments of a message (BBR)."""

ALIKE = 0.5
"""Round trips of longer paths, and of the others, differ among each other by at most this share of
the step between both."""

USUAL = 0.95
"""Share of the round trips, the shortest ones, that show whether the path varies: single losses and
interrupts make few ones long."""

NEARLY = 0.9
"""Share of the usual round trips, the longest of which may be that of a path longer at times."""

LITTLE = 0.35
"""Maximum share of those of the usual round trips that are not near the shortest one (within a
sixth of the range) which are not near the longest one either, for a path that is longer at times;
evenly spread ones have four fifths there."""

AS_A_WHOLE, SMOOTHED = 2.0, 4.0
"""Trials with a longer path are longer than the others by more than this multiple of what they vary
themselves; the second value is that of the times that TCP states, which are smoothed."""

OTHERS = 1 / 3
"""The round trips of a stream vary more than its own data make them if those of another trial vary
by at most this share of it."""

TWICE = 0.1
"""Round trips take twice as long as the shortest one if the ratio differs from 2 by less."""

ONE_WAY = 0.25
"""Maximum share of the additional time on the one way, for a path that varies on the other."""

DRIFT = 1e-4
"""Maximum drift of two clocks, as a share of the time."""

OF_HOSTS = 0.25
"""Maximum share of the additional time in which the ends waited for a CPU."""

HOLDS, FOLLOWS, HALF = 0.45, 0.5, 0.5
"""Minimum share of the time in which a socket's memory held TCP back, so that its own data form no
queue; minimum part of the change of the round trips by which its rate changes with them; and share
of the wire ceiling up to which either that, or a range above that of a whole window, shows it."""


@dataclass(frozen=True, slots=True)
class _Spread:
    """Of the usual round trips of a trial, which vary."""

    mean_ns: float
    shortest_ns: float
    """The shortest one, or the mean of the short ones, if all are short or long."""
    between: float
    """Share of the longer ones that are not near the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """The times of one trial over its path."""

    cell: str
    key: tuple[str, int]
    group: Group
    test: str
    settings: Mapping[str, Value]
    of_trials: int
    """Number of trials of the cell."""
    shortest_ns: float
    """The shortest round trip."""
    bare_ns: float
    """This without its time on the wire."""
    later_share: float | None
    """Share of the time by which round trips took longer than the shortest one, on average, that
    requests took longer on their way than the fastest one; ``None``: not known."""
    spread: _Spread | None
    """``None``: the round trips differ too little."""


def path_times(
    series: Iterable[Series], samples: Iterable[StreamSample], link: Link | None
) -> Iterator[Finding]:
    """A note for each cell whose path is longer than that of cells that differ in one setting of
    their packets, or than in other trials of the cell; and for each cell whose path varies.
    """
    every = [*_of_trips(series, link), *_of_streams(samples)]
    of_cells = grouped(every, lambda trial: trial.cell)
    # Few varying times hardly have a short one, so it is that of all cells over the same path.
    paths = grouped(every, _path_of)
    found = {cell: longer for cell, own in of_cells.items() if (longer := _longer_as_a_whole(own))}
    found |= {
        cell: varying
        for cell, own in of_cells.items()
        if cell not in found
        and (varying := _varying(own, min(it.shortest_ns for it in paths[_path_of(own[0])])))
    }
    # The shortest of varying times differ by chance.
    steady = [trial for trial in every if trial.cell not in found]
    # Another direction changes the hosts' parts, too; other lengths have other times on the wire.
    left_out = {"direction", *([] if link else ["message_bytes"])}
    for name in (name for name in SELECTS if name not in left_out):
        for alike in _alike_but(name, steady):
            found |= {longer.cells[0]: longer for longer in _longer(alike, by_cell=True)}
    for own in grouped(steady, lambda trial: trial.cell).values():
        found |= {longer.cells[0]: longer for longer in _longer(own, by_cell=False)}
    yield from (found[cell] for cell in of_cells if cell in found)


def _of_trips(series: Iterable[Series], link: Link | None) -> Iterator[_Timed]:
    for cell in trip_cells(series):
        for trial in cell.calm:
            if trial.under_way > 1:
                continue  # they wait for each other
            if (least := trial.number("rtt_min_ns")) is not None:
                wire = floor_ns(trial, cell.test, link) if link else None
                yield _Timed(
                    cell=cell.cell,
                    key=trial.record.key,
                    group=cell.group,
                    test=cell.test,
                    settings=trial.record.settings,
                    of_trials=len(cell.trials),
                    shortest_ns=least,
                    bare_ns=least - (wire or 0.0),
                    later_share=_later_share(trial, least),
                    spread=_spread_of_trips(trial, wire or 0.0),
                )


def _later_share(trial: TripTrial, least_ns: float) -> float | None:
    """``None``, too, if the drift of two clocks may be as long."""
    later_ns, mean_ns = trial.number("server_later_mean_ns"), trial.mean_ns
    drift_ns = DRIFT * (trial.number("elapsed_ns") or 0.0) / 2
    if later_ns is None or mean_ns is None or drift_ns > ONE_WAY * (mean_ns - least_ns):
        return None
    return later_ns / (mean_ns - least_ns)


def _of_streams(samples: Iterable[StreamSample]) -> Iterator[_Timed]:
    """Streams whose TCP waited for the memory of a socket: their round trips are the path's."""
    for cell, trials in grouped(samples, lambda sample: sample.cell).items():
        ranges = [
            usual[-1] - usual[0]
            for it in trials
            if it.tcp_series and (usual := _usual_us(it.tcp_series.rtt_us))
        ]
        for sample in trials:
            series = sample.tcp_series
            held = (sample.rwnd_limited_share or 0) + (sample.sndbuf_limited_share or 0)
            has_waited = any(end.waited_share > WAITED for end in sample.ends)
            if series is None or not series.rtt_us or held < HOLDS or sample.flow:
                continue
            spread = None if has_waited else _spread_of_stream(sample, series, min(ranges))
            yield _Timed(
                cell=cell,
                key=sample.record.key,
                group=sample.group,
                test="stream",
                settings=sample.record.settings,
                of_trials=len(trials),
                shortest_ns=1e3 * min(series.rtt_us),
                bare_ns=1e3 * min(series.rtt_us),
                later_share=None,
                spread=spread,
            )


def _alike_but(name: str, trials: Sequence[_Timed]) -> Iterable[Sequence[_Timed]]:
    """The trials in groups that differ in one setting only, of those that all of them have."""
    common = sorted(
        set.intersection(*(set(it.settings) for it in trials)) - {name} if trials else ()
    )

    def others(trial: _Timed) -> tuple[object, ...]:
        conditions = conditions_of(trial.settings, common)
        return trial.test, trial.group.pairing, trial.group.flow, conditions

    return grouped(trials, others).values()


def _longer(pool: Sequence[_Timed], *, by_cell: bool) -> Iterator[Finding]:
    """The trials whose path is longer than that of the others, if there is one clear step between
    both; ``by_cell``: if it is between cells, else if it is within one.
    """
    order = sorted(pool, key=lambda trial: trial.bare_ns)
    steps = [(b.bare_ns - a.bare_ns, at) for at, (a, b) in enumerate(pairwise(order), 1)]
    step, at = max(steps, default=(0.0, 0))
    short, long = order[:at], order[at:]
    if not short or step < max(LONGER_NS, LONGER * _shortest_ns(long)):
        return
    is_clear = all(part[-1].bare_ns - part[0].bare_ns <= ALIKE * step for part in (short, long))
    of_both = {trial.cell for trial in short} & {trial.cell for trial in long}
    if not is_clear or by_cell == bool(of_both):
        return
    kind = Kind.LONGER_PATH_PACKETS if by_cell else Kind.LONGER_PATH_TRIALS
    least = median(trial.bare_ns for trial in short)
    for own in grouped(long, lambda trial: trial.cell).values():
        shortest = _shortest_ns(own)
        added = median(trial.bare_ns for trial in own) - least
        yield _finding(kind, own, shortest, shortest - added)


def _longer_as_a_whole(own: Sequence[_Timed]) -> Finding | None:
    """Some trials of a cell are longer than the others by far more than their times vary."""
    longer = next(_longer(own, by_cell=False), None)
    spreads = [it.spread.mean_ns - it.spread.shortest_ns for it in own if it.spread]
    if longer is None or not spreads:
        return None
    step_ns = longer.evidence["longer_trip_ns"] - longer.evidence["other_trip_ns"]
    return longer if step_ns > SMOOTHED * max(spreads) else None


def _shortest_ns(trials: Sequence[_Timed]) -> float:
    return median(trial.shortest_ns for trial in trials)


def _finding(kind: Kind, trials: Sequence[_Timed], trip_ns: float, than_ns: float) -> Finding:
    figures = {
        "longer_trip_ns": trip_ns,
        "other_trip_ns": than_ns,
        "change_share": 1 - than_ns / trip_ns,
    }
    keys, first = sorted(trial.key for trial in trials), trials[0]
    words: dict[str, str] = {"what": WHAT.get(first.test, WHAT["round_trip"])}
    later = [trial.later_share for trial in trials if trial.later_share is not None]
    if kind is Kind.PATH_JITTER:
        there, more_ns = fmean(later) if later else 0.5, trip_ns - than_ns
        words[PLACE] = "path"
        if there < ONE_WAY:
            figures["answers_later_ns"] = (1 - there) * more_ns
            words[PLACE] = "path-back"
        elif there > 1 - ONE_WAY:
            figures["requests_later_ns"] = there * more_ns
    return of_trials(kind, first.group, keys, first.of_trials, figures, words)


def _path_of(trial: _Timed) -> tuple[object, ...]:
    """What decides about the shortest round trip of a trial, where its path does not vary."""
    return trial.test, trial.group.pairing, trial.group.flow, trial.settings.get("message_bytes")


def _varying(trials: Sequence[_Timed], least_ns: float) -> Finding | None:
    """Usual round trips take more than the shortest one, which hosts and queues do not explain;
    ``least_ns``: the shortest one of all cells over this path.
    """
    varied = [(trial, trial.spread) for trial in trials if trial.spread]
    if not varied:
        return None
    means = fmean(spread.mean_ns for _trial, spread in varied)
    leasts = fmean(spread.shortest_ns for _trial, spread in varied)
    between = fmean(spread.between for _trial, spread in varied)
    others = [trial.shortest_ns for trial in trials if not trial.spread]
    as_a_whole = SMOOTHED if trials[0].test == "stream" else AS_A_WHOLE
    if others and leasts - min(others) > as_a_whole * (means - leasts):
        return None  # these trials are longer as a whole
    kind = Kind.LONGER_PATH_TIMES if between < LITTLE else Kind.PATH_JITTER
    least = leasts if between < LITTLE else least_ns
    return _finding(kind, [trial for trial, _spread in varied], means, least)


def _spread_of_trips(trial: TripTrial, wire_ns: float) -> _Spread | None:
    """A shaper may pass short bursts faster than the link's frames take (``wire_ns``); late answers
    take the time-out at least.
    """
    times, waits = trial.histogram("rtt_histogram"), waiting(trial)
    least, most = trial.number("rtt_min_ns"), None if times is None else times.percentile(USUAL)
    if most is None and (longest := trial.number("rtt_max_ns")):
        most = round(longest)  # there are too few for this percentile
    if times is None or most is None or least is None or waits is None:
        return None
    mss, settings = trial.number("mss_bytes"), trial.record.settings
    size = trial.record.message_bytes or 0
    is_in_parts = trial.number("client_nodelay") == 0 and mss and size > mss
    if is_in_parts and abs(most / least - 2) < TWICE:
        return None  # Nagle's algorithm held the last part until those before were acknowledged
    is_paced = settings.get("congestion") == "bbr" and size > (mss or 0)
    middles = {middle_of(bucket, times.bits): n for bucket, n in times.counts.items()}
    usual = {float(ns): number for ns, number in middles.items() if ns <= most}
    late = round(trial.number("client_late_messages") or 0)
    timed_out = {1e9 * (as_number(settings.get("timeout_s")) or 0.0): late} if late else {}
    spread = _spread(usual | timed_out, max(least, wire_ns))
    if spread and timed_out:
        # An answer costs what was waited for those that came too late; if some came nearly as late
        # and in time, these show how late they are.
        is_near = max(timed_out) - least < (max(usual) - least) / ALIKE
        between = _between(usual, least, max(usual)) if is_near else spread.between
        mean_ns = spread.mean_ns * (1 + late / sum(usual.values()))
        spread = _Spread(mean_ns, spread.shortest_ns, between)
    if spread and is_paced and spread.mean_ns - spread.shortest_ns < PACED * spread.mean_ns:
        return None
    is_of_host = spread and waits.each_ns > OF_HOSTS * (spread.mean_ns - least)
    return None if is_of_host else spread


def _spread(usual: Mapping[float, int], least: float) -> _Spread | None:
    """Of times in ns and how often each was measured; a few of the longest ones may be longer than
    a path that is longer at times.
    """
    number = sum(usual.values())
    mean = sum(ns * n for ns, n in usual.items()) / max(1, number)
    if not number or mean - least < max(LONGER_NS, LONGER * mean):
        return None
    places = accumulate(usual[ns] for ns in sorted(usual))
    nearly = next(ns for ns, at in zip(sorted(usual), places, strict=True) if at >= NEARLY * number)
    longest = [most for most in (max(usual), nearly) if most - least >= (max(usual) - least) / 4]
    between = min(_between(usual, least, most) for most in longest)
    if between >= LITTLE:
        return _Spread(mean, least, between)
    short = {ns: n for ns, n in usual.items() if ns - least <= (nearly - least) / 2}
    mean_short = sum(ns * n for ns, n in short.items()) / sum(short.values())
    return _Spread(mean, mean_short, between)


def _between(usual: Mapping[float, int], least: float, most: float) -> float:
    """Share of the longer ones of the times up to ``most`` that are not near the longest."""
    sixth = (most - least) / 6
    longer = {ns: n for ns, n in usual.items() if sixth < ns - least <= most - least}
    return sum(n for ns, n in longer.items() if ns - least < 5 * sixth) / sum(longer.values())


def _usual_us(times_us: Sequence[int]) -> Sequence[int]:
    return sorted(times_us)[: max(1, round(USUAL * len(times_us)))]


def _spread_of_stream(sample: StreamSample, series: TcpSeries, least_us: float) -> _Spread | None:
    """Of the samples of TCP's state, if the rate is the lower the longer the round trips are.

    ``least_us``: the least range of the round trips of a trial of this cell.
    """
    times, usual = series.rtt_us, _usual_us(series.rtt_us)
    spread = _spread(Counter(1e3 * us for us in usual), 1e3 * usual[0])
    if spread is None or not series.delivered_bytes:
        return None
    middle_us = (usual[0] + usual[-1]) / 2
    rates: dict[bool, list[float]] = {False: [], True: []}
    means = [fmean(us for us in times if (us > middle_us) is is_long) for is_long in (False, True)]
    points = zip(series.time_us, series.delivered_bytes, series.rtt_us, strict=True)
    for (from_us, before, _rtt), (until_us, after, rtt_us) in pairwise(points):
        rates[rtt_us > middle_us].append((after - before) / (until_us - from_us))
    short, long = (fmean(each) if each else 0.0 for each in rates.values())
    by_times = means[1] / means[0] - 1
    # A whole window of its own data may wait at once.
    filled, range_us = sample.ceiling_share or 1.0, usual[-1] - usual[0]
    is_longer = range_us > filled * fmean(usual)
    follows = long and short / long - 1 >= FOLLOWS * by_times
    is_of_path = filled <= HALF and (follows or is_longer)
    return spread if is_of_path or least_us <= OTHERS * range_us else None


LEAST_ODD, FEW_ODD = 0.01, 3
"""Minimum share, and number, of the requests or answers that are lost, copied and so on."""


def odd_trips(series: Iterable[Series]) -> Iterator[Finding]:
    """Notes for cells with requests, or answers, that were lost, damaged, copied or overtaken."""
    for cell in trip_cells(series):
        shares = [(trial, odd_shares(trial)) for trial in cell.trials]
        for kind in kinds_named("trips"):
            odd = [(t, each[kind]) for t, each in shares if each.get(kind, 0.0) >= LEAST_ODD]
            if odd:
                words = {"server": cell.trials[0].record.server, "what": WHAT[cell.test]}
                # TCP counts those that overtook others, and not how many were overtaken.
                is_counted = cell.group.protocol == "UDP" or not kind.value.startswith("overtaken")
                share = median(share for _trial, share in odd) if is_counted else None
                figures = {"odd_share": share}
                yield cell.finding(kind, [trial for trial, _share in odd], figures, words)


def odd_shares(trial: TripTrial) -> dict[Kind, float]:
    """Shares of the requests, and of the answers (over TCP: of the segments with data), that were
    lost, damaged, copied or overtaken; what nothing counts is left out.
    """
    settings = trial.record.settings
    of_protocol = _of_udp if settings.get("protocol") == "UDP" else _of_tcp
    there, back = of_protocol(trial)
    shares: dict[Kind, float] = {}
    for way, counts in (("there", there), ("back", back)):
        for what, number in counts.odd.items():
            if number >= FEW_ODD and counts.sent:
                shares[KINDS[f"trips-{what}-{way}"]] = number / counts.sent
    return shares


@dataclass(frozen=True, slots=True)
class _OneWay:
    """What was sent one way, and what happened to it: word of a kind → how many."""

    sent: float
    odd: Mapping[str, float]


_NOTHING = _OneWay(0.0, {})


def _of_udp(trial: TripTrial) -> tuple[_OneWay, _OneWay]:
    names = ("client_sent_messages", "server_received_messages", "server_answered_messages")
    sent, received, answered = map(trial.number, names)
    lost, damaged = trial.number("lost_messages"), _known(trial, "{}_udp_checksum_errors")
    if trial.record.settings.get("warm_up_s") or sent is None or received is None or not answered:
        return _NOTHING, _NOTHING  # the server counts those of the warm-up, too
    copies, late = _known(trial, "{}_duplicate_messages"), _known(trial, "{}_late_messages")
    overtaken = _known(trial, "{}_reordered_messages")
    missing = sent - received - damaged["server"]
    missing_back = (lost or 0) - late["client"] - max(0.0, sent - received) - damaged["client"]
    there = {"lost": missing, "copied": -missing, "damaged": damaged["server"]}
    back = {
        "lost": missing_back,
        "copied": copies["client"] - max(0.0, -missing),
        "damaged": damaged["client"],
        "overtaken": overtaken["client"] - overtaken["server"],
    }
    return _OneWay(sent, there | {"overtaken": overtaken["server"]}), _OneWay(answered, back)


def _of_tcp(trial: TripTrial) -> tuple[_OneWay, _OneWay]:
    names = ("{}_tcp_window_data_segs_out", "{}_tcp_window_data_segs_in")
    if any(trial.number(name.format(end)) is None for name in names for end in ENDS):
        return _NOTHING, _NOTHING
    sent, came = (_known(trial, name) for name in names)
    damaged = _known(trial, "{}_tcp_checksum_errors")
    overtaken = {end: trial.grown(end, "rcv_ooopack") or 0 for end in ENDS}
    resent = {
        end: (trial.grown(end, "total_retrans") or 0) - (trial.grown(end, "dsack_dups") or 0)
        for end in ENDS
    }
    ways = []
    for source, target in (ENDS, ENDS[::-1]):
        missing = sent[source] - came[target] - damaged[target]
        odd = {"copied": -missing, "damaged": damaged[target]}
        # What was sent again needlessly may only be late.
        odd["lost"] = min(missing, resent[source])
        # What was lost lets the segments behind it come out of order, too.
        is_whole = damaged[target] + max(0.0, missing) < LEAST_ODD * sent[source]
        late = overtaken[target] if is_whole else 0.0
        ways.append(_OneWay(sent[source], odd | {"overtaken": late}))
    return ways[0], ways[1]


def _known(trial: TripTrial, name: str) -> Mapping[str, float]:
    """A value of both ends by its name with ``{}`` for the end; 0 if it is not known."""
    return {end: trial.number(name.format(end)) or 0.0 for end in ENDS}
