"""Records → a device's latency under load, and its longest burst. No I/O.

Latency is measured as in RFC 2544, 26.2, at the rate found and at shares of this rate. Bursts are
the back-to-back frames of 26.4. The rate found is the highest frame rate without loss that a
throughput search found. A record is the data of one search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.records import Record
from netlab.messages import _, joined
from netlab.report.sections.bottlenecks import limit_called
from netlab.report.sections.pooled import mean_of
from netlab.report.tables.elements import Chart, Curve, Notes, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.stats import mean

_TIMES = {
    "min": _("shortest, µs"),
    "p50": _("median, µs"),
    "mean": _("mean, µs"),
    "p99": _("99 %, µs"),
    "max": _("longest, µs"),
}
_LATENCY = (
    _("round trips"),
    *_TIMES.values(),
    *(_("requests lost"), _("frames lost meanwhile")),
)
_BURSTS = (
    *(_("searches"), _("frames"), _("waiting in the device"), _("at line rate, ms")),
    _("ended by"),
)

Trials = Mapping[int, Sequence[Record]]
"""Frame size → trials."""


def latency_sheet(name: str, trials: Trials) -> Table | None:
    """A line for each frame size and load; ``None`` if no round trip was measured."""
    notes = Notes()
    lines = []
    for size, records in trials.items():
        shares = {share for r in records for share in r.series("latency_found_share")}
        failed = {share for r in records for share in r.series("latency_failed_share")}
        for share in sorted(shares | failed):
            letters = notes([_FAILED]) if share in failed else ()
            label = joined(", ", [str(size), f"{100 * share:.0f} %"])
            lines.append(TableLine(label, _round_trips(records, share, letters)))
    if not lines:
        return None
    return Table(
        title=_(
            "{group}: round trips under load; the load as a share of the rate without loss",
            group=name,
        ),
        corner=_("frame, bytes; load"),
        columns=_LATENCY,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def burst_sheet(name: str, trials: Trials) -> Table | None:
    """A line for each frame size; ``None`` if no burst was searched for."""
    notes = Notes()
    lines = [
        TableLine(str(size), _bursts(searches, notes))
        for size, records in trials.items()
        if (searches := [r for r in records if "back_to_back_limit" in r.measured])
    ]
    if not lines:
        return None
    return Table(
        title=_("{group}: longest burst at line rate without loss", group=name),
        corner=_("frame, bytes"),
        columns=_BURSTS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def latency_charts(groups: Mapping[str, Trials]) -> tuple[Chart, ...]:
    """Median round trips over the load, a chart for each group, a line for each frame size."""
    charts = []
    for number, (name, trials) in enumerate(groups.items(), start=1):
        lines = []
        for index, (size, records) in enumerate(trials.items()):
            shares = sorted({s for r in records for s in r.series("latency_found_share")})
            points = tuple((100 * s, _at(records, "latency_p50_ns", s, 1e-3)) for s in shares)
            if sum(y is not None for _, y in points) > 1:
                lines.append(Curve(_("{size} bytes", size=size), index, points))
        if lines:
            ticks = sorted({x for line in lines for x, _ in line.points})
            charts.append(
                Chart(
                    name=f"latency-under-load-{number}",
                    title=_("{group}: median round trip under load", group=name),
                    x_label=_("load, % of the rate without loss"),
                    x_ticks=tuple((x, f"{x:.0f}") for x in ticks),
                    log_x=False,
                    lines=tuple(lines),
                    quantity=_("round trip"),
                    unit="µs",
                    log_y=True,
                )
            )
    return tuple(charts)


def _round_trips(
    records: Sequence[Record], share: float, letters: tuple[str, ...]
) -> tuple[TableCell, ...]:
    sample_count = _at(records, "latency_count", share)
    times = [_at(records, f"latency_{name}_ns", share, 1e-3) for name in _TIMES]
    losses = [_at(records, f"latency_lost_{kind}", share) for kind in ("requests", "frames")]
    return (
        TableCell(
            "" if sample_count is None else f"{sample_count:,.0f}", sample_count, "", letters
        ),
        *(TableCell("" if time is None else figure(time), time, "µs") for time in times),
        *(TableCell("" if count is None else f"{count:,.0f}", count, "") for count in losses),
    )


def _at(records: Sequence[Record], name: str, share: float, factor: float = 1) -> float | None:
    """The mean of a figure at one load over the trials; ``None`` if no trial has the figure."""
    values = [
        value
        for record in records
        for at, value in zip(
            record.series("latency_found_share"), record.series(name), strict=False
        )
        if at == share
    ]
    return factor * mean(values) if values else None


def _bursts(records: Sequence[Record], notes: Notes) -> tuple[TableCell, ...]:
    limits = dict.fromkeys(str(record.measured["back_to_back_limit"]) for record in records)
    sentences = [_ENDED[limit] for limit in limits if limit in _ENDED]
    searches = sum(len(record.series("back_to_back_each_frames")) for record in records)
    results = [r for r in records if r.number("back_to_back_frames") is not None]
    frames = mean_of("back_to_back_frames", results)
    backlog = mean_of("back_to_back_waiting_frames", results)
    line_rates = [r.number("line_frames_per_s") for r in results]
    per_s = next((rate for rate in line_rates if rate), None)
    time_ms = None if frames is None or per_s is None else 1e3 * frames / per_s
    return (
        TableCell(str(searches), float(searches), ""),
        TableCell("" if frames is None else figure(frames, 1), frames, "", notes(sentences)),
        TableCell("" if backlog is None else figure(backlog, 1), backlog, ""),
        TableCell("" if time_ms is None else figure(time_ms), time_ms, "ms"),
        TableCell(joined("; ", map(limit_called, limits))),
    )


_FAILED = _("In some trial no round trip completed at that load.")
_ENDED = {
    "line rate": _("The device forwards frames at line rate: a burst of any length passes."),
    "receiver-bound": _(
        "Our own hosts dropped frames of a burst: nothing is known about the device."
    ),
    "failed": _("In some trial no burst completed: nothing is known about the device."),
    "generator-bound": _("Our sender is slower than the line: it sends no bursts at line rate."),
}
