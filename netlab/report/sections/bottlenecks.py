"""Readings → whose limit a search found: how busy each host was, where it dropped frames. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.host_counters import HOSTS, PLACES
from netlab.messages import _, joined
from netlab.report.sections.pooled import mean_of
from netlab.report.tables.chart_panels import in_panels
from netlab.report.tables.elements import Chart, Curve, Notes, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.readings import Reading

_DROPPED = {
    "interface": _("dropped by its interfaces"),
    "queue": _("by the queues before them"),
    "softnet": _("by its backlog"),
    "socket": _("by the receiving socket"),
}
_COLUMNS = (
    *(_("CPU, %"), _("busiest core, %"), _("which")),
    *(_DROPPED[place] for place in PLACES),
)

_LIMITS = {
    "line rate": _("line rate"),
    "device": _("device"),
    "generator-bound": _("generator-bound"),
    "receiver-bound": _("receiver-bound"),
    "failed": _("failed"),
}
"""What ended a search, or a search for bursts."""
_PARTS = {"client": _("client"), "server": _("server")}


def limit_called(limit: str) -> str:
    """What a limit is called; a word of another version as it is."""
    return _LIMITS.get(limit, limit)


def limit_words(reading: Reading) -> str:
    """What ended a search, and the core that was busiest then: ``device (router: CPU 1, 99 %)``."""
    words = limit_called(str(reading.values.get("limit", "")))
    host, share = reading.values.get("limit_host"), reading.number("limit_core_share")
    core = reading.number("limit_core")
    if host is None or share is None or core is None:
        return words
    return _(
        "{limit} ({host}: CPU {core}, {share})",
        limit=words,
        host=host,
        core=f"{core:.0f}",
        share=f"{100 * share:.0f} %",
    )


def sheet(name: str, groups: Mapping[int, Sequence[Reading]]) -> Table | None:
    """A line a frame size and host; ``None`` where nothing is known of any host.

    ``groups``: frame size → trials.
    """
    notes = Notes()
    lines = []
    for size, trials in groups.items():
        measured = [reading for reading in trials if reading.status == "ok"]
        for key in HOSTS:
            places = _places(key, measured, notes)
            if any(place.text for place in places):
                host = name_of(key, measured)
                lines.append(TableLine(joined(", ", [str(size), host]), places))
    if not lines:
        return None
    return Table(
        title=_(
            "{group}: load at that rate, and frames dropped in all trials of the search", group=name
        ),
        corner=_("frame, bytes; host"),
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def name_of(key: str, readings: Sequence[Reading]) -> str:
    """What a host is called: its part in the test, and its name."""
    part = _PARTS.get(key, _("observed"))
    for reading in readings:
        named = {"client": reading.client, "server": reading.server}
        name = named.get(key, reading.values.get(f"{key}_host"))
        if name:
            return joined(" ", [part, name])
    return part


def chart(groups: Mapping[str, Mapping[int, Sequence[Reading]]]) -> Chart | None:
    """The busiest core of each host at the rate found, a bar a group and host; ``None`` without."""
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    lines: list[Curve] = []
    for group, by_size in groups.items():
        everyone = [reading for trials in by_size.values() for reading in trials]
        for key in HOSTS:
            points = tuple(
                (float(at), mean_of(f"{key}_busiest_core_share", by_size.get(size, ()), 100))
                for at, size in enumerate(sizes)
            )
            if any(y is not None for _, y in points):
                words = (group, name_of(key, everyone))
                lines.append(Curve(joined(": ", words), len(lines), points, words=words))
    if not lines:
        return None
    drawn = Chart(
        name="rate-without-loss-cpu",
        title=_("Busiest core of each host at that rate"),
        x_label=_("frame size with header and FCS, bytes"),
        x_ticks=tuple((float(at), str(size)) for at, size in enumerate(sizes)),
        log_x=False,
        lines=tuple(lines),
        quantity=_("busy"),
        unit="%",
        as_bars=True,
    )
    return in_panels(drawn)


def _places(key: str, measured: Sequence[Reading], notes: Notes) -> tuple[TableCell, ...]:
    shared = any(reading.values.get("one_machine") is True for reading in measured)
    letters = notes([_SHARED]) if shared else ()
    busy = mean_of(f"{key}_busy_share", measured, 100)
    core = mean_of(f"{key}_busiest_core_share", measured, 100)
    cores = {reading.number(f"{key}_busiest_core") for reading in measured} - {None}
    numbers = sorted(number for number in cores if number is not None)
    which = joined(", ", [_("CPU {number}", number=f"{number:.0f}") for number in numbers])
    dropped = [mean_of(f"{key}_{place}_dropped_frames", measured) for place in PLACES]
    return (
        TableCell("" if busy is None else figure(busy), busy, "%", letters if busy else ()),
        TableCell("" if core is None else figure(core), core, "%", letters if core else ()),
        TableCell(which),
        *(TableCell("" if each is None else f"{each:,.0f}", each, "") for each in dropped),
    )


_SHARED = _(
    "Shared: one machine id. Some of the hosts are one machine, and the figure is that of all of "
    "them; its backlog cannot be told apart."
)
