"""What all cells of a run show together: directions, blank cells, lengths, single trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from netlab.experiment.hosts import is_by_name, labels_of, named, of_mesh
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Point, Series
from netlab.results.run import Run
from netlab.stats import compare, mean, median
from netlab.store.plan import PlannedCell, StatedFacts
from netlab.trial.record import Status, as_number, grouped

FAR = 2.0
"""A direction is far slower if the median of the opposite direction is more than this many times
its own median."""


def one_way(series: Iterable[Series], of_mesh: Collection[str] = ()) -> Iterator[Finding]:
    """Findings about pairings with less than half of the throughput of the other direction.

    The directions are compared with the same settings: by the median over the socket buffers that
    have a figure in both directions. ``of_mesh``: the cells that a finding about a mesh already
    calls slow. If all compared cells of the slower direction are among them, there is no finding.
    """
    groups = {one_series.group: one_series for one_series in series if one_series.test == "stream"}
    for group, slower in groups.items():
        faster = groups.get(replace(group, pairing=_turned(group.pairing)))
        if faster is None or faster is slower:
            continue
        slower_points, faster_points = (
            {point.buffer_bytes: point for point in side.measured if not point.same_host}
            for side in (slower, faster)
        )
        sizes = [size for size in slower_points if size in faster_points]
        if not sizes:
            continue
        less, more = (
            median([side[size].middle or 0 for size in sizes])
            for side in (slower_points, faster_points)
        )
        cells = tuple(slower_points[size].cell for size in sizes)
        if more > FAR * less and not all(cell in of_mesh for cell in cells):
            figures = {"throughput_bit_per_s": less, "other_bit_per_s": more, "ratio": more / less}
            yield finding(Kind.ONE_WAY, group, cells, figures, {"against": _turned(group.pairing)})


def _turned(pairing: str) -> str:
    server, client = labels_of(pairing)
    return named(client, server) if is_by_name(pairing) else client + server


_PATH_MTU = "path-mtu"
"""Reason of a cell whose packets are too long for the path."""

_SILENT = frozenset({"no-traffic", "connect-timeout"})
"""Reasons of trials whose messages do not arrive. If this happens more than once to a cell, and
never to others of the same blocks, the path stops messages of this cell."""


def missing(run: Run) -> Iterator[Finding]:
    """One finding per pairing, protocol and reason: failed trials, cells without any result."""
    with_result = {cell for (cell, _), r in run.latest.items() if r.status is Status.OK}
    blocks = {trial for (_, trial), r in run.latest.items() if r.status is Status.OK}
    silent = Counter(
        r.cell for r in run.latest.values() if r.reason in _SILENT and r.trial in blocks
    )
    blanks: dict[tuple[Group, Kind, str], list[PlannedCell]] = {}
    cells_of_group: dict[Group, set[str]] = {}
    for cell, _, record in run.stored.trials():
        group = Group(cell.pairing, str(cell.settings.get("protocol", "")))
        cells_of_group.setdefault(group, set()).add(cell.key)
        failed = record is not None and record.status is Status.FAILED
        is_mtu = record is not None and record.reason == _PATH_MTU
        if failed or is_mtu or cell.key not in with_result:
            reason = "not-measured-yet" if record is None else record.reason or "no-reason-given"
            blank = Kind.NO_RESULT_MTU if is_mtu else Kind.NO_RESULT_CELLS
            kind = Kind.NO_RESULT_TRIALS if failed else blank
            if silent[cell.key] > 1 and cell.key not in with_result:
                kind = Kind.NO_RESULT_EACH
            blanks.setdefault((group, kind, reason), []).append(cell)
    for (group, kind, reason), cells in blanks.items():
        keys = tuple(dict.fromkeys(cell.key for cell in cells))
        sizes = {cell.settings.get("message_bytes") for cell in cells}
        numbers = sorted(size for size in sizes if isinstance(size, int))
        figures = {"cells": len(keys), "of_cells": len(cells_of_group[group]), "trials": len(cells)}
        if kind is Kind.NO_RESULT_MTU and with_result.intersection(keys):
            del figures["of_cells"]  # these have other trials with a result
        figures |= {"lost_share": 1} if kind is Kind.NO_RESULT_MTU else {}
        words = {"reason": reason, "message_bytes": ", ".join(map(str, numbers))}
        yield finding(kind, group, keys, figures, words)


def fewer_cells(series: Iterable[Series]) -> Iterator[Finding]:
    """One finding per column whose mean covers fewer cells than the mean of another column.

    Columns are compared if they have the same test, protocol, direction and buffer sizes. A column
    in which no cell has a figure has no mean. If all columns lack the same number of cells, there
    is no finding.
    """

    def place_of(one: Series) -> tuple[object, ...]:
        levels = frozenset(point.buffer_bytes for point in one.points)
        return one.test, one.group.protocol, one.group.flow, levels

    for neighbours in grouped(series, place_of).values():
        most = max(len(one_series.measured) for one_series in neighbours)
        for one_series in neighbours:
            cells = len(one_series.measured)
            if 0 < cells < most:
                without = tuple(point.cell for point in one_series.points if not point.values)
                figures = {"cells": cells, "most_cells": most, "of_cells": len(one_series.points)}
                yield finding(Kind.FEWER_CELLS, one_series.group, without, figures)


TOLERANCE = 0.02
"""Maximum difference between a window and the requested time, as a share of the requested time."""

_LONGEST_NS = ("receiver_longest_gap_ns", "rtt_max_ns")
"""Names of the values for the longest gap between messages and the longest round trip. A window
ends only with the next message or answer, or with the time-out of an answer. So a window may exceed
the requested time by the larger one of these values plus the time-out."""


def off_time(series: Iterable[Series], statements: StatedFacts) -> tuple[Finding, ...]:
    """Pairings whose trials did not last as requested, by their records or a document."""
    points: dict[str, list[Point]] = {}
    for one_series in series:
        points.setdefault(one_series.group.pairing, []).extend(one_series.points)
    of_pairings = [_measured(pairing, its_points) for pairing, its_points in points.items()]
    return (*filter(None, of_pairings), *_stated(points, statements))


def _measured(pairing: str, points: Iterable[Point]) -> Finding | None:
    off: dict[str, list[tuple[float, float]]] = {}
    trials = 0
    for point in points:
        for record in point.records:
            if record is None:
                continue
            took_ns = _time(record.value(f"{point.prefix}elapsed_ns"))
            asked_s = _time(record.settings.get("duration_s"))
            if took_ns is None or asked_s is None:
                continue
            trials += 1
            took_s = took_ns / 1e9
            gaps_ns = (_time(record.values.get(point.prefix + name)) or 0 for name in _LONGEST_NS)
            slack_s = max(gaps_ns) / 1e9 + (_time(record.settings.get("timeout_s")) or 0)
            if abs(took_s - asked_s) > TOLERANCE * asked_s + slack_s:
                off.setdefault(point.cell, []).append((asked_s, took_s))
    if not off:
        return None
    off_times = [times for times_of_cell in off.values() for times in times_of_cell]
    return finding(
        Kind.OFF_TIME,
        Group(pairing),
        tuple(off),
        {
            "trials": len(off_times),
            "of_trials": trials,
            "asked_s": median([duration_s for duration_s, _ in off_times]),
            "shortest_s": min(took for _, took in off_times),
            "longest_s": max(took for _, took in off_times),
        },
    )


def _stated(points: Mapping[str, Sequence[Point]], statements: StatedFacts) -> Iterable[Finding]:
    """Findings about the durations that a document states for its trials."""
    for duration in statements.durations:
        longest = duration.longest_s / duration.asked_s
        shortest = duration.shortest_s / duration.asked_s
        if longest <= 1 + TOLERANCE and shortest >= 1 - TOLERANCE:
            continue
        figures = {it: getattr(duration, it) for it in ("asked_s", "shortest_s", "longest_s")}
        for pairing in filter(duration.is_of, points):
            cells = tuple(dict.fromkeys(point.cell for point in points[pairing] if point.values))
            words = {"source": duration.source}
            yield finding(Kind.OFF_TIME, Group(pairing), cells, figures, words)


def _time(value: object) -> float | None:
    time = as_number(value)
    return time if time is not None and time > 0 else None


MAX_PAIRINGS = 6
"""Maximum number of pairings for which every two pairings are compared: a longer list is of no
use."""

_Level = tuple[Group, int | None]
"""The column of a cell, as a group with an empty ``pairing``, and its socket buffer: the same in
all pairings."""


def unrepeated(series: Sequence[Series]) -> Iterator[Finding]:
    """One finding for every two pairings and each protocol, if each stream cell has one trial.

    The pairing that comes later in the plan is compared with the earlier pairing. The evidence is
    the difference of the column means over the cells that both pairings have.
    ``netlab.stats.compare`` gives "cannot tell" for each of these cells.
    """
    figures: dict[str, dict[_Level, tuple[str, float]]] = {}
    mesh = of_mesh({one_series.group.pairing for one_series in series})
    for one_series in series:
        if one_series.test != "stream" or one_series.group.pairing in mesh:
            continue
        of_pairing = figures.setdefault(one_series.group.pairing, {})
        for point in one_series.measured:
            if len(point.records) != 1 or point.same_host:
                return
            if point.values[0] > 0:  # otherwise nothing arrived: there is no ratio to it
                level = (replace(one_series.group, pairing=""), point.buffer_bytes)
                of_pairing[level] = (point.cell, point.values[0])
    if len(figures) > MAX_PAIRINGS:
        return
    for earlier, later in combinations(figures, 2):
        old, new = figures[earlier], figures[later]
        for protocol, levels in grouped(new, lambda level: level[0].protocol).items():
            differences: list[float] = []
            ratios: list[float] = []
            cells: list[str] = []
            for column in grouped(levels, lambda level: level[0]).values():
                pairs = [(old[level], new[level]) for level in column if level in old]
                comparisons = [compare([x], [y], paired=True) for (_, x), (_, y) in pairs]
                if not pairs or any(it.verdict != "cannot tell" for it in comparisons):
                    continue
                old_mean, new_mean = (mean([pair[side][1] for pair in pairs]) for side in (0, 1))
                differences.append(new_mean - old_mean)
                ratios.append(new_mean / old_mean)
                cells += [cell for _, (cell, _) in pairs]
            if differences:
                evidence = {
                    "n": 1,
                    "columns": len(differences),
                    "least_difference_bit_per_s": min(differences),
                    "most_difference_bit_per_s": max(differences),
                    "least_ratio": min(ratios),
                    "most_ratio": max(ratios),
                }
                group, words = Group(later, protocol), {"against": earlier}
                yield finding(Kind.CANNOT_TELL, group, tuple(cells), evidence, words)
