"""Records of latency under load → a table of the connections opened meanwhile. No I/O.

The test measures round trips while a load fills the path, and before and after the load. A cell is
one combination of test, pairing (server and client) and settings; a trial is one measurement of a
cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.load_phases import PHASES, RPM_INTERVAL_NS, RPM_INTERVALS
from netlab.experiment.records import Record
from netlab.messages import Message, _, joined
from netlab.report.sections.latency_under_load.names import PHASE_WORDS, by_cell
from netlab.report.sections.latency_under_load.places import (
    Figure,
    Why,
    longest_place,
    mean_place,
    number,
    share_place,
)
from netlab.report.tables.elements import Notes, Table, TableCell, TableLine

_RPM, _RATE = "responsiveness_per_minute", "round_trips_per_minute_loaded"


def connections_sheet(
    pairing_name: str, records: Sequence[Record], names: Mapping[str, str]
) -> Table | None:
    """A line for each cell; ``None`` if there is no connection and no rate of round trips."""
    results = [record for record in records if record.status == "ok"]
    connects = any(r.number(f"{phase}_connections") for r in results for phase in PHASES)
    rates = [name for name in (_RATE, _RPM) if any(r.number(name) for r in results)]
    if not connects and not rates:
        return None
    notes = Notes()
    lines = [
        TableLine(names[cell], _places(trials, rates, notes, connects=connects), cell)
        for cell, trials in by_cell(records).items()
        if any(trial.status == "ok" for trial in trials)
    ]
    times = [
        joined(", ", [PHASE_WORDS[phase], statistic, "ms"])
        for phase in PHASES
        for statistic in (_("median"), _("longest"))
    ]
    return Table(
        title=_("{pairing}: connections up to their first answer", pairing=pairing_name)
        if connects
        else _("{pairing}: round trips per minute", pairing=pairing_name),
        corner=_("load"),
        columns=(
            *([*times, _("lost, %")] if connects else []),
            *(_RATES[name] for name in rates),
        ),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _places(
    trials: Sequence[Record], rates: Sequence[str], notes: Notes, *, connects: bool
) -> tuple[TableCell, ...]:
    results = [trial for trial in trials if trial.status == "ok"]
    places = []
    for phase in PHASES if connects else ():
        median, longest = (number(f"{phase}_connect_{name}_ns", 1e-6) for name in ("p50", "max"))
        why = _why_no_connection(phase)
        places.append(mean_place(results, median, "ms", why, notes))
        places.append(longest_place(results, longest, "ms", why, notes))
    if connects:
        losses, connections = _of_all("lost_connections"), _of_all("connections")
        places.append(share_place(results, losses, connections, [_NONE_REQUESTED], notes))
    for name in rates:
        why = _why_no_rpm if name == _RPM else _why_no_rate
        places.append(mean_place(results, number(name), "1/min", why, notes))
    return tuple(places)


def _of_all(name: str) -> Figure:
    """A function that returns the sum of a figure of one trial over all phases."""

    def of(record: Record) -> float | None:
        counts = [n for phase in PHASES if (n := record.number(f"{phase}_{name}")) is not None]
        return sum(counts) if counts else None

    return of


def _why_no_connection(phase: str) -> Why:
    def why(record: Record) -> str:
        if record.number(f"{phase}_connections"):
            return _HALF_LOST
        rate = record.settings.get("connect_rate_per_s")
        return _NONE_REQUESTED if rate is None else _NONE_IN_PHASE

    return why


def _why_no_rate(_record: Record) -> str:
    return _MANY_LOST


def _why_no_rpm(record: Record) -> str | Message:
    if record.protocol != "TCP":
        return _NOT_TCP
    duration_s, least_s = record.settings.get("duration_s"), RPM_INTERVALS * RPM_INTERVAL_NS / 1e9
    if isinstance(duration_s, int | float) and duration_s < least_s:
        return _("RPM needs a load of at least {least} s.", least=f"{least_s:g}")
    return _NO_RPM


_RATES: Mapping[str, str] = {
    _RATE: _("round trips per minute, loaded"),
    _RPM: _("RPM"),
}
_HALF_LOST = _("at least half of the connections were not answered within 5 s.")
_NONE_REQUESTED = _("no connections were opened.")
_NONE_IN_PHASE = _("no connection was started in that phase.")
_MANY_LOST = _("more than 5 % of the requests under load were lost.")
_NOT_TCP = _("RPM needs a load over TCP.")
_NO_RPM = _("the sender’s TCP reported no round trips, or too few connections were answered.")
