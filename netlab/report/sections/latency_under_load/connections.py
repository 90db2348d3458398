"""Readings of latency under load → a table of the connections made beside the load. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.load_phases import PHASES, RPM_INTERVAL_NS, RPM_INTERVALS
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
from netlab.results.readings import Reading

_RPM, _RATE = "responsiveness_per_minute", "round_trips_per_minute_loaded"


def connections_sheet(
    where: str, readings: Sequence[Reading], names: Mapping[str, str]
) -> Table | None:
    """A line a cell; ``None`` where none were made, and no rate a minute is known."""
    measured = [each for each in readings if each.status == "ok"]
    made = any(each.number(f"{phase}_connections") for each in measured for phase in PHASES)
    rates = [name for name in (_RATE, _RPM) if any(each.number(name) for each in measured)]
    if not made and not rates:
        return None
    notes = Notes()
    lines = [
        TableLine(names[cell], _places(trials, rates, notes, made=made), cell)
        for cell, trials in by_cell(readings).items()
        if any(each.status == "ok" for each in trials)
    ]
    times = [
        joined(", ", [PHASE_WORDS[phase], what, "ms"])
        for phase in PHASES
        for what in (_("median"), _("longest"))
    ]
    return Table(
        title=_("{pairing}: connections with their first answer", pairing=where)
        if made
        else _("{pairing}: round trips a minute", pairing=where),
        corner=_("load"),
        columns=(
            *([*times, _("lost, %")] if made else []),
            *(_RATES[name] for name in rates),
        ),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _places(
    trials: Sequence[Reading], rates: Sequence[str], notes: Notes, *, made: bool
) -> tuple[TableCell, ...]:
    measured = [each for each in trials if each.status == "ok"]
    places = []
    for phase in PHASES if made else ():
        median, longest = (number(f"{phase}_connect_{each}_ns", 1e-6) for each in ("p50", "max"))
        why = _why_no_connection(phase)
        places.append(mean_place(measured, median, "ms", why, notes))
        places.append(longest_place(measured, longest, "ms", why, notes))
    if made:
        lost, asked = _of_all("lost_connections"), _of_all("connections")
        places.append(share_place(measured, lost, asked, [_NONE_ASKED], notes))
    for name in rates:
        why = _why_no_rpm if name == _RPM else _why_no_rate
        places.append(mean_place(measured, number(name), "1/min", why, notes))
    return tuple(places)


def _of_all(name: str) -> Figure:
    """Of all phases together."""

    def of(reading: Reading) -> float | None:
        found = [reading.number(f"{phase}_{name}") for phase in PHASES]
        known = [each for each in found if each is not None]
        return sum(known) if known else None

    return of


def _why_no_connection(phase: str) -> Why:
    def why(reading: Reading) -> str:
        if reading.number(f"{phase}_connections"):
            return _HALF_LOST
        asked = reading.settings.get("connect_rate_per_s")
        return _NONE_ASKED if asked is None else _NONE_IN_PHASE

    return why


def _why_no_rate(_reading: Reading) -> str:
    return _MANY_LOST


def _why_no_rpm(reading: Reading) -> str | Message:
    if reading.protocol != "TCP":
        return _NOT_TCP
    asked, least_s = reading.settings.get("duration_s"), RPM_INTERVALS * RPM_INTERVAL_NS / 1e9
    if isinstance(asked, int | float) and asked < least_s:
        return _("RPM takes a load of {least} s and more.", least=f"{least_s:g}")
    return _NO_RPM


_RATES: Mapping[str, str] = {
    _RATE: _("round trips a minute, loaded"),
    _RPM: _("RPM"),
}
_HALF_LOST = _("half of the connections or more were not answered in 5 s.")
_NONE_ASKED = _("no connections were made.")
_NONE_IN_PHASE = _("no connection was begun in that phase.")
_MANY_LOST = _("more than 5 % of the requests under load were lost, or all of them.")
_NOT_TCP = _("RPM is of a load over TCP.")
_NO_RPM = _("the sender’s TCP told no round trips, or too few connections were answered.")
