"""Readings → what flows that ran at the same time carried together, in one common window. Pure.

A sum is of a round, and of its one window: rates of different windows are never added. Where one of
its flows has no figure, was not sending all the time, or was cut by a clock that ran away, there is
no sum, and the reason stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.pairings import is_by_name
from netlab.messages import _, counted, joined
from netlab.report.tables.elements import Notes, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.quantities import names_of
from netlab.results.readings import FlowReading, Reading
from netlab.stats import mean

MOST_DRIFT = 1e-3
"""Of the window: a host's clock that ran off the controller's by more than this share of it. Its
rates are off by as much, and its window is another."""
MAX_LINES = 60

MISSING = _("a trial that ran at the same time has no figure.")
PARTLY = _("a flow was not sending over the whole of the common window.")
DRIFTED = _(
    "the clock of one of the hosts ran off the controller’s by more than 0.1 % of the window."
)
UNKNOWN = _("whether the hosts’ clocks kept step with the controller’s is not recorded.")


@dataclass(frozen=True, slots=True)
class AtOnce:
    """The trials of one round, cut by one window."""

    readings: tuple[Reading, ...]

    @property
    def flows(self) -> tuple[FlowReading, ...]:
        """Each way in which data went."""
        return tuple(flow for reading in self.readings for flow in reading.flows.values())

    @property
    def inside(self) -> bool:
        """Whether some of it stayed within one machine: then it says nothing of cables."""
        return any(reading.same_host for reading in self.readings)

    @property
    def why_not(self) -> str | None:
        """Why its flows cannot be added up; ``None`` where they can."""
        figures = [flow.throughput_bit_per_s for flow in self.flows]
        if len(self.readings) < _trials(self) or None in figures:
            return MISSING
        if any(reading.values.get("common_window") is not True for reading in self.readings):
            return PARTLY
        drifts = [_drift_share(reading) for reading in self.readings]
        if None in drifts:
            return UNKNOWN
        return DRIFTED if max(share or 0 for share in drifts) > MOST_DRIFT else None

    @property
    def bit_per_s(self) -> float | None:
        """All its flows together; ``None`` where they cannot be added up."""
        if self.why_not is not None:
            return None
        return sum(flow.throughput_bit_per_s or 0 for flow in self.flows)


def at_once(readings: Sequence[Reading]) -> tuple[AtOnce, ...]:
    """The rounds with more flows than one, in the order of the readings."""
    rounds: dict[object, list[Reading]] = {}
    for reading in readings:
        opens_ns = reading.values.get("common_window_open_ns")
        if opens_ns is not None:
            rounds.setdefault(opens_ns, []).append(reading)
    found = (AtOnce(tuple(trials)) for trials in rounds.values())
    return tuple(each for each in found if _wanted(each) > 1 and not each.inside)


def part(readings: Sequence[Reading]) -> Part | None:
    """A line for all rounds of one kind; ``None`` where nothing ran at the same time."""
    rounds = at_once(readings)
    if not rounds:
        return None
    names = names_of([reading for each in rounds for reading in each.readings])
    kinds: dict[tuple[str, int], list[AtOnce]] = {}
    for each in rounds:
        kinds.setdefault((_label(each, names), _wanted(each)), []).append(each)
    notes = Notes()
    lines = [_line(label, flows, those, notes) for (label, flows), those in kinds.items()]
    sheet = Table(
        title=_(
            "Together in a common window (the first {shown} of {all})",
            shown=MAX_LINES,
            all=len(lines),
        )
        if len(lines) > MAX_LINES
        else _("Together in a common window"),
        corner=_("at the same time"),
        columns=(
            *(
                _("flows"),
                _("rounds added up"),
                _("together, {unit}", unit="Mbit/s"),
                _("least"),
                _("most"),
            ),
        ),
        lines=tuple(lines[:MAX_LINES]),
        footnotes=notes.footnotes,
    )
    return Part(
        name="together",
        title=_("At the same time"),
        paragraphs=_paragraphs(rounds),
        sheets=(sheet,),
    )


def _paragraphs(rounds: Sequence[AtOnce]) -> tuple[str, ...]:
    every = [reading for each in rounds for reading in each.readings]
    bound_ns = max(reading.number("clock_bound_ns") or 0 for reading in every)
    most = max(_wanted(each) for each in rounds)
    said = _(
        "{trials} in {rounds}, up to {most} flows at once: all of a round started together and "
        "were cut by one common window in each host’s own clock, known to within {bound}. Rates "
        "of one window are added up, and no others.",
        trials=counted("{number} trial", "{number} trials", len(every)),
        rounds=counted("{number} round", "{number} rounds", len(rounds)),
        most=most,
        bound=f"{figure(bound_ns / 1e3)} µs",
    )
    return (said,)


def _line(label: str, flows: int, rounds: Sequence[AtOnce], notes: Notes) -> TableLine:
    sums = [bit_per_s / 1e6 for each in rounds if (bit_per_s := each.bit_per_s) is not None]
    why = notes(reason for each in rounds if (reason := each.why_not) is not None)
    of = _("{some} of {all}", some=len(sums), all=len(rounds))
    added = TableCell(of, float(len(sums)), "rounds", why)
    places = [TableCell(notes=why)] * 3
    if sums:
        places = [_mbit_per_s(value) for value in (mean(sums), min(sums), max(sums))]
    return TableLine(label, (TableCell(str(flows), float(flows), "flows"), added, *places))


def _mbit_per_s(value: float) -> TableCell:
    return TableCell(figure(value), value, "Mbit/s")


def _label(each: AtOnce, names: Mapping[str, str]) -> str:
    """``TCP 1448, 3 pairs``; pairings by letters are named, those of several setups with each."""
    setups = dict.fromkeys(names[reading.cell] for reading in each.readings)
    if len(setups) > 1:
        return _together([joined(" ", [r.pairing, names[r.cell]]) for r in each.readings])
    (setup,) = setups
    pairings = sorted(reading.pairing for reading in each.readings)
    if _trials(each) > 1 and is_by_name(pairings[0]):
        pairs = counted("{number} pair", "{number} pairs", _trials(each))
        return joined(", ", [setup, pairs])
    return joined(", ", [_together(pairings), setup])


def _together(names: Sequence[str]) -> str:
    """``LL with LW``."""
    first, *others = names
    return joined(" ", [first, *(_("with {other}", other=each) for each in others)])


def _trials(each: AtOnce) -> int:
    """How many ran at the same time, those without a figure among them."""
    return max(int(reading.number("common_window_trials") or 1) for reading in each.readings)


def _wanted(each: AtOnce) -> int:
    """How many flows those have."""
    a_trial = max(len(reading.flows) for reading in each.readings)
    return max(len(each.flows), _trials(each) * a_trial)


def _drift_share(reading: Reading) -> float | None:
    """How far its hosts' clocks ran off the controller's, as a share of the window."""
    drift_ns, length_s = reading.number("clock_drift_ns"), reading.settings.get("duration_s")
    if drift_ns is None or not isinstance(length_s, int | float) or not length_s:
        return None
    return drift_ns / 1e9 / length_s
