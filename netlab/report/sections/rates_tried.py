"""Records → the rates that searches tried, in order, and those that did not pass. No I/O.

A record is the data of one throughput search (RFC 2544); a trial of a search sends frames at one
rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.rate_search import VERDICTS
from netlab.experiment.records import Record
from netlab.messages import _
from netlab.report.tables.elements import Chart, Curve

_PASSED = VERDICTS.index("passed")
_MOST_TICKS = 20


def charts(groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> tuple[Chart, ...]:
    """A chart for each group, with a line for each frame size. A line shows one search: the first
    search with this frame size that tried a rate.

    ``groups``: name → frame size → searches.
    """
    all_charts = []
    for number, (name, by_size) in enumerate(groups.items(), start=1):
        lines = []
        failed: list[tuple[float, float | None]] = []
        for index, (size, records) in enumerate(by_size.items()):
            tries = next((trials for trials in map(_tried, records) if trials), ())
            if tries:
                points = tuple((float(at), share) for at, (share, _) in enumerate(tries, start=1))
                lines.append(Curve(_("{size} bytes", size=size), index, points))
                failed += [
                    (x, y) for (x, y), (_, passed) in zip(points, tries, strict=True) if not passed
                ]
        if not lines:
            continue
        if failed:
            lines.append(Curve(_("did not pass"), len(by_size), tuple(failed), joined=False))
        most = max(len(line.points) for line in lines if line.joined)
        step = -(-most // _MOST_TICKS)
        all_charts.append(
            Chart(
                name=f"rates-tried-{number}",
                title=_("{group}: rates tried, trial by trial", group=name),
                x_label=_("trial of the search"),
                x_ticks=tuple((float(at), str(at)) for at in range(1, most + 1, step)),
                log_x=False,
                lines=tuple(lines),
                quantity=_("offered rate"),
                unit=_("% of the line rate"),
            )
        )
    return tuple(all_charts)


def _tried(record: Record) -> tuple[tuple[float, bool], ...]:
    """(rate in per cent of the line rate, whether it passed) for each rate tried, in order."""
    shares, verdicts = record.series("trial_line_share"), record.series("trial_verdict")
    return tuple(
        (100 * share, verdict == _PASSED) for share, verdict in zip(shares, verdicts, strict=False)
    )
