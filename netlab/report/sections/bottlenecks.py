"""Records → the limit that a search found: load and dropped frames of each host. No I/O.

The search looks for the highest frame rate without loss through a device (RFC 2544); the rate found
is its result. A record is the data of one search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.experiment.host_counters import HOSTS, PLACES
from netlab.experiment.records import Record
from netlab.messages import _, joined
from netlab.report.tables.chart_panels import in_panels
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


def sheet(name: str, groups: Mapping[int, Trials]) -> Table | None:
    """A line for each frame size and host; ``None`` if no load and no count is known.

    ``groups``: frame size → trials.
    """
    rows = []
    for size, trials in groups.items():
        results = results_of(trials)
        for key in HOSTS:
            row = (key, results)
            if any(column.place(row, Notes()).text for column in _COLUMNS):
                rows.append((joined(", ", [str(size), name_of(key, results)]), "", row))
    title = _(
        "{group}: load at the rate found, and frames dropped in all trials of the search",
        group=name,
    )
    return table(title, _("frame, bytes; host"), _COLUMNS, rows) if rows else None


def name_of(key: str, records: Sequence[Record]) -> str:
    """A host in words: its role in the test, and its name."""
    role = _ROLES.get(key, _("observed"))
    for record in records:
        ends = {"client": record.client, "server": record.server}
        name = ends.get(key, record.value(f"{key}_host"))
        if name:
            return joined(" ", [role, name])
    return role


def chart(groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> Chart | None:
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


def _share(name: str) -> Callable[[_OfHost], Shown]:
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
_COLUMNS: Sequence[FigureColumn[_OfHost]] = (
    FigureColumn(_("CPU, %"), _share("busy_share"), "%"),
    FigureColumn(_("busiest core, %"), _share("busiest_core_share"), "%"),
    FigureColumn(_("core"), _core),
    *(FigureColumn(_DROPPED[place], _dropped(place), decimals=WHOLE) for place in PLACES),
)
