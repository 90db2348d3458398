"""Throughput searches → the limit found, each host's load and drops, latency and bursts.

Latency is that of RFC 2544, 26.2, at the rate found and at shares of it; bursts are the
back-to-back frames of 26.4. The rate found is the highest without loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.messages import _, joined
from netlab.report.tables.charts import in_panels
from netlab.report.tables.columns import (
    WHOLE,
    FigureColumn,
    Shown,
    Trials,
    mean_of,
    numbers,
    results_of,
    table,
)
from netlab.report.tables.elements import Chart, Curve, Notes, Table
from netlab.stats import mean
from netlab.trial.host_counters import HOSTS, PLACES
from netlab.trial.record import Record

_LIMITS = {
    "line rate": _("line rate"),
    "device": _("device"),
    "generator-bound": _("generator-bound"),
    "receiver-bound": _("receiver-bound"),
    "failed": _("failed"),
}
"""Limit of a search, or of a search for bursts → its words."""
_ROLES = {"client": _("client"), "server": _("server")}


def limit_called(limit: str) -> str:
    """The words for a limit. A word of another version of netlab is returned unchanged."""
    return _LIMITS.get(limit, limit)


def limit_words(record: Record) -> str:
    """A search's limit and the busiest core at the rate found: ``device (router: CPU 1, 99 %)``."""
    words = limit_called(str(record.values.get("limit", "")))
    host, share = record.value("limit_host"), record.number("limit_core_share")
    core = record.number("limit_core")
    if host is None or share is None or core is None:
        return words
    return _(
        "{limit} ({host}: CPU {core}, {share})",
        limit=words,
        host=host,
        core=f"{core:.0f}",
        share=f"{100 * share:.0f} %",
    )


def load_sheet(name: str, groups: Mapping[int, Trials]) -> Table | None:
    """A line for each frame size and host; ``None`` if no load and no count is known.

    ``groups``: frame size → trials.
    """
    rows = []
    for size, trials in groups.items():
        results = results_of(trials)
        for key in HOSTS:
            row = (key, results)
            if any(column.place(row, Notes()).text for column in _LOAD_COLUMNS):
                rows.append((joined(", ", [str(size), name_of(key, results)]), "", row))
    title = _(
        "{group}: load at the rate found, and frames dropped in all trials of the search",
        group=name,
    )
    return table(title, _("frame, bytes; host"), _LOAD_COLUMNS, rows) if rows else None


def name_of(key: str, records: Sequence[Record]) -> str:
    """A host in words: its role in the test, and its name."""
    role = _ROLES.get(key, _("observed"))
    for record in records:
        ends = {"client": record.client, "server": record.server}
        name = ends.get(key, record.value(f"{key}_host"))
        if name:
            return joined(" ", [role, name])
    return role


def cpu_chart(groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> Chart | None:
    """The busiest core of each host at the rate found; ``None`` if no core load is known."""
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    lines: list[Curve] = []
    for group, by_size in groups.items():
        of_group = [record for trials in by_size.values() for record in trials]
        for key in HOSTS:
            points = tuple(
                (float(at), mean_of(f"{key}_busiest_core_share", by_size.get(size, ()), 100))
                for at, size in enumerate(sizes)
            )
            if any(y is not None for _, y in points):
                words = (group, name_of(key, of_group))
                lines.append(Curve(joined(": ", words), len(lines), points, words=words))
    if not lines:
        return None
    bars = Chart(
        name="rate-without-loss-cpu",
        title=_("Busiest core of each host at the rate found"),
        x_label=_("frame size with header and FCS, bytes"),
        x_ticks=tuple((float(at), str(size)) for at, size in enumerate(sizes)),
        log_x=False,
        lines=tuple(lines),
        quantity=_("busy"),
        unit="%",
        as_bars=True,
    )
    return in_panels(bars)


_OfHost = tuple[str, Trials]
"""A host's key in the names of values, and the trials of its search."""


def _host_share(name: str) -> Callable[[_OfHost], Shown]:
    def shown(row: _OfHost) -> Shown:
        key, results = row
        value = mean_of(f"{key}_{name}", results, 100)
        shared = any(record.value("one_machine") is True for record in results)
        return Shown(value, [_SHARED] if shared and value else ())

    return shown


def _core(row: _OfHost) -> str:
    key, results = row
    cores = sorted(set(numbers(results, f"{key}_busiest_core")))
    return joined(", ", [_("CPU {number}", number=f"{core:.0f}") for core in cores])


def _dropped(place: str) -> Callable[[_OfHost], float | None]:
    return lambda row: mean_of(f"{row[0]}_{place}_dropped_frames", row[1])


_SHARED = _(
    "Shared: some of the hosts have the same machine id. They are one machine, and the figure is "
    "that of all of them. Their backlogs cannot be separated."
)
_DROPPED = {
    "interface": _("dropped by its interfaces"),
    "queue": _("by the queues before them"),
    "softnet": _("by its backlog"),
    "socket": _("by the receiving socket"),
}
_LOAD_COLUMNS: Sequence[FigureColumn[_OfHost]] = (
    FigureColumn(_("CPU, %"), _host_share("busy_share"), "%"),
    FigureColumn(_("busiest core, %"), _host_share("busiest_core_share"), "%"),
    FigureColumn(_("core"), _core),
    *(FigureColumn(_DROPPED[place], _dropped(place), decimals=WHOLE) for place in PLACES),
)


BySize = Mapping[int, Trials]
"""Frame size → trials."""


def latency_sheet(name: str, by_size: BySize) -> Table | None:
    """A line for each frame size and load; ``None`` if no round trip was measured."""
    rows = [
        (joined(", ", [str(size), f"{100 * share:.0f} %"]), "", (trials, share))
        for size, trials in by_size.items()
        for share in sorted(_shares(trials, "latency_found_share") | _failed(trials))
    ]
    title = _(
        "{group}: round trips under load; the load as a share of the rate without loss", group=name
    )
    return table(title, _("frame, bytes; load"), _LATENCY, rows) if rows else None


def burst_sheet(name: str, by_size: BySize) -> Table | None:
    """A line for each frame size; ``None`` if no burst was searched for."""
    rows = [
        (str(size), "", searches)
        for size, trials in by_size.items()
        if (searches := [r for r in trials if r.value("back_to_back_limit") is not None])
    ]
    title = _("{group}: longest burst at line rate without loss", group=name)
    return table(title, _("frame, bytes"), _BURSTS, rows) if rows else None


def latency_charts(groups: Mapping[str, BySize]) -> tuple[Chart, ...]:
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


def _shares(trials: Trials, name: str) -> set[float]:
    return {share for record in trials for share in record.series(name)}


def _failed(trials: Trials) -> set[float]:
    return _shares(trials, "latency_failed_share")


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


_Load = tuple[Trials, float]
"""Trials, and the load of the round trips as a share of the rate found."""


def _of_load(name: str, factor: float = 1) -> Callable[[_Load], float | None]:
    return lambda row: _at(row[0], name, row[1], factor)


def _count(row: _Load) -> Shown:
    """Number of round trips, with a note if some trial had none at this load."""
    trials, share = row
    why = _("In some trial no round trip completed at that load.")
    return Shown(_at(trials, "latency_count", share), [why] if share in _failed(trials) else ())


_LATENCY: Sequence[FigureColumn[_Load]] = (
    FigureColumn(_("round trips"), _count, decimals=WHOLE),
    *(
        FigureColumn(heading, _of_load(f"latency_{name}_ns", 1e-3), "µs")
        for heading, name in (
            (_("shortest, µs"), "min"),
            (_("median, µs"), "p50"),
            (_("mean, µs"), "mean"),
            (_("99 %, µs"), "p99"),
            (_("longest, µs"), "max"),
        )
    ),
    FigureColumn(_("requests lost"), _of_load("latency_lost_requests"), decimals=WHOLE),
    FigureColumn(_("frames lost meanwhile"), _of_load("latency_lost_frames"), decimals=WHOLE),
)


def _burst_limits(trials: Trials) -> list[str]:
    return list(dict.fromkeys(str(record.value("back_to_back_limit")) for record in trials))


def _frames(trials: Trials) -> Shown:
    sentences = [_ENDED[limit] for limit in _burst_limits(trials) if limit in _ENDED]
    return Shown(mean_of("back_to_back_frames", trials), sentences)


def _with_frames(trials: Trials) -> list[Record]:
    return [record for record in trials if record.number("back_to_back_frames") is not None]


def _time_ms(trials: Trials) -> float | None:
    frames = mean_of("back_to_back_frames", trials)
    rates = [rate for rate in numbers(_with_frames(trials), "line_frames_per_s") if rate]
    return 1e3 * frames / rates[0] if frames is not None and rates else None


_ENDED = {
    "line rate": _("The device forwards frames at line rate: a burst of any length passes."),
    "receiver-bound": _(
        "Our own hosts dropped frames of a burst: nothing is known about the device."
    ),
    "failed": _("In some trial no burst completed: nothing is known about the device."),
    "generator-bound": _("Our sender is slower than the line: it sends no bursts at line rate."),
}

_BURSTS: Sequence[FigureColumn[Trials]] = (
    FigureColumn(
        _("searches"),
        lambda trials: float(sum(len(r.series("back_to_back_each_frames")) for r in trials)),
        decimals=0,
    ),
    FigureColumn(_("frames"), _frames, decimals=1),
    FigureColumn(
        _("waiting in the device"),
        lambda trials: mean_of("back_to_back_waiting_frames", _with_frames(trials)),
        decimals=1,
    ),
    FigureColumn(_("at line rate, ms"), _time_ms, "ms"),
    FigureColumn(
        _("ended by"), lambda trials: joined("; ", map(limit_called, _burst_limits(trials)))
    ),
)
