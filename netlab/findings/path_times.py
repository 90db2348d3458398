"""Round trips over a path that is longer for some packets or trials, varies, loses or copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from netlab.ethernet import Link
from netlab.findings.claims import SELECTS
from netlab.findings.finding import Finding, Kind, conditions_of
from netlab.findings.kind import kinds_named
from netlab.findings.round_trips import WHAT, TripCell, TripTrial, floor_ns, trip_cells, waiting
from netlab.findings.series import Series
from netlab.stats.histogram import middle_of
from netlab.trial.record import grouped

LONGER, LONGER_NS = 0.03, 300_000.0
"""Minimum time by which a path is longer, or varies, as a share of the round trip and in ns: hosts
add tens of microseconds."""

ALIKE = 0.5
"""Round trips of longer paths, and of the others, differ among each other by at most this share of
the step between both."""

USUAL = 0.95
"""Share of the round trips, the shortest ones, that show whether the path varies: single losses and
interrupts make few ones long."""

LITTLE = 0.15
"""Maximum share of the usual round trips in the middle third of their times, for a path that is
longer at times; evenly spread ones have a third there."""

OF_HOSTS = 0.25
"""Maximum share of the additional time in which the ends waited for a CPU."""

_Timed = tuple[float, TripCell, TripTrial]
"""The shortest round trip in ns without its time on the wire, its cell, and its trial."""


def path_times(series: Iterable[Series], link: Link | None) -> Iterator[Finding]:
    """A note for each cell whose path is longer than that of cells that differ in one setting of
    their packets, or than in other trials of the cell; and for each cell whose path varies.
    """
    cells = tuple(trip_cells(series))
    found = {cell.cell: varying for cell in cells if (varying := _varying(cell))}
    # The shortest of varying times differ by chance.
    steady = [cell for cell in cells if cell.cell not in found]
    timed = {cell.cell: [*_timed(cell, link)] for cell in steady}
    # Another direction changes the hosts' parts, too; other lengths have other times on the wire.
    left_out = {"direction", *([] if link else ["message_bytes"])}
    for name in (name for name in SELECTS if name not in left_out):
        for alike in _alike_but(name, steady):
            pool = [entry for cell in alike for entry in timed[cell.cell]]
            found |= {longer.cells[0]: longer for longer in _longer(pool, by_cell=True)}
    for own in timed.values():
        found |= {longer.cells[0]: longer for longer in _longer(own, by_cell=False)}
    yield from (found[cell.cell] for cell in cells if cell.cell in found)


def _alike_but(name: str, cells: Sequence[TripCell]) -> Iterable[Sequence[TripCell]]:
    """The cells in groups that differ in one setting only, of those that all of them have."""
    settings = {cell.cell: cell.trials[0].record.settings for cell in cells}
    common = sorted(set.intersection(*map(set, settings.values())) - {name}) if cells else []

    def others(cell: TripCell) -> tuple[object, ...]:
        conditions = conditions_of(settings[cell.cell], common)
        return cell.test, cell.group.pairing, cell.group.flow, conditions

    return grouped(cells, others).values()


def _timed(cell: TripCell, link: Link | None) -> Iterator[_Timed]:
    for trial in cell.calm:
        if (least := trial.number("rtt_min_ns")) is not None:
            wire = floor_ns(trial, cell.test, link) if link else None
            yield least - (wire or 0.0), cell, trial


def _longer(pool: Sequence[_Timed], *, by_cell: bool) -> Iterator[Finding]:
    """The trials whose path is longer than that of the others, if there is one clear step between
    both; ``by_cell``: if it is between cells, else if it is within one.
    """
    order = sorted(pool, key=lambda entry: entry[0])
    steps = [(after[0] - before[0], at) for at, (before, after) in enumerate(pairwise(order), 1)]
    step, at = max(steps, default=(0.0, 0))
    short, long = order[:at], order[at:]
    if not short or step < max(LONGER_NS, LONGER * _shortest_ns(long)):
        return
    is_clear = all(part[-1][0] - part[0][0] <= ALIKE * step for part in (short, long))
    of_both = {entry[1].cell for entry in short} & {entry[1].cell for entry in long}
    if not is_clear or by_cell == bool(of_both):
        return
    kind = Kind.LONGER_PATH_PACKETS if by_cell else Kind.LONGER_PATH_TRIALS
    least = median(ns for ns, *_rest in short)
    for own in grouped(long, lambda entry: entry[1].cell).values():
        shortest = _shortest_ns(own)
        added = median(ns for ns, *_rest in own) - least
        yield _finding(kind, own[0][1], own, shortest, shortest - added)


def _shortest_ns(entries: Sequence[_Timed]) -> float:
    return median(trial.number("rtt_min_ns") or 0.0 for _ns, _cell, trial in entries)


def _finding(
    kind: Kind, cell: TripCell, entries: Sequence[_Timed], trip_ns: float, than_ns: float
) -> Finding:
    figures = {
        "longer_trip_ns": trip_ns,
        "other_trip_ns": than_ns,
        "change_share": 1 - than_ns / trip_ns,
    }
    trials = [trial for _ns, _cell, trial in entries]
    return cell.finding(kind, trials, figures, {"what": WHAT[cell.test]})


def _varying(cell: TripCell) -> Finding | None:
    """Usual round trips take more than the shortest one, which hosts and queues do not explain."""
    varied = [(each, cell, trial) for trial in cell.calm if (each := _spread(trial))]
    if not varied:
        return None
    means, leasts, between = (median(each) for each in zip(*(v[0] for v in varied), strict=True))
    kind = Kind.LONGER_PATH_TIMES if between < LITTLE else Kind.PATH_JITTER
    return _finding(kind, cell, [(0.0, cell, trial) for _, _, trial in varied], means, leasts)


def _spread(trial: TripTrial) -> tuple[float, float, float] | None:
    """Mean of the usual round trips and the shortest one, in ns, and the share of them in the
    middle third between the shortest and the longest; ``None`` if they differ too little.
    """
    times, least, waits = (
        trial.histogram("rtt_histogram"),
        trial.number("rtt_min_ns"),
        waiting(trial),
    )
    most = None if times is None else times.percentile(USUAL)
    if times is None or most is None or least is None or waits is None or trial.under_way > 1:
        return None
    middles = {middle_of(bucket, times.bits): n for bucket, n in times.counts.items()}
    usual = {ns: number for ns, number in middles.items() if ns <= most}
    number, third = sum(usual.values()), (most - least) / 3
    mean = sum(ns * n for ns, n in usual.items()) / max(1, number)
    added = mean - least
    if not number or added < max(LONGER_NS, LONGER * mean) or waits.each_ns > OF_HOSTS * added:
        return None
    between = sum(n for ns, n in usual.items() if third < ns - least < 2 * third)
    return mean, least, between / number


LEAST_ODD = 0.01
"""Minimum share of the requests, or of the answers, that are lost or copied."""


def odd_trips(series: Iterable[Series]) -> Iterator[Finding]:
    """Notes for cells over UDP with requests, or answers, that were lost or copied."""
    for cell in trip_cells(series):
        shares = [(trial, odd_shares(trial)) for trial in cell.trials]
        for kind in kinds_named("trips"):
            odd = [(t, each[kind]) for t, each in shares if each.get(kind, 0.0) >= LEAST_ODD]
            if odd:
                words = {"server": cell.trials[0].record.server, "what": WHAT[cell.test]}
                figures = {"odd_share": median(share for _trial, share in odd)}
                yield cell.finding(kind, [trial for trial, _share in odd], figures, words)


def odd_shares(trial: TripTrial) -> dict[Kind, float]:
    """Shares of the requests, and of the answers, that were lost or copied; empty: not counted."""
    settings = trial.record.settings
    if settings.get("protocol") != "UDP" or settings.get("warm_up_s"):
        return {}  # the server counts those of the warm-up, too
    names = ("client_sent_messages", "server_received_messages", "server_answered_messages")
    sent, received, answered = map(trial.number, names)
    in_time, lost = map(trial.number, ("transactions", "lost_messages"))
    copies, late = map(trial.number, ("client_duplicate_messages", "client_late_messages"))
    if not sent or received is None or not answered or in_time is None or lost is None:
        return {}
    there, number = 1 - received / sent, in_time + lost
    return {
        Kind.TRIPS_LOST_THERE: there,
        Kind.TRIPS_LOST_BACK: (lost - (late or 0)) / max(1, number) - max(0.0, there),
        Kind.TRIPS_COPIED_THERE: -there,
        Kind.TRIPS_COPIED_BACK: (copies or 0) / answered - max(0.0, -there),
    }
