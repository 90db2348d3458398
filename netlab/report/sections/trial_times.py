"""When trials ran → sums of flows that ran at the same time, and drift over the run.

The trials of a round started together. Their flows are added up if they sent during one common
window; rates of different windows are never added. Otherwise the table gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from netlab.experiment.hosts import is_by_name
from netlab.messages import _, counted, joined
from netlab.report.tables.elements import Curve, Panel, Part, Strip, table
from netlab.results.labels import figure
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import mean, median
from netlab.trial.column import Quantity
from netlab.trial.figures import FigureColumn, Shown
from netlab.trial.record import Record, by_cell, grouped, utc_of

MOST_DRIFT = 1e-3
"""Maximum drift of a host's clock from the controller's, as a share of the window. A drift changes
the host's rates by the same share, and shifts its window."""
MAX_LINES = 60

MISSING = _("a trial that ran at the same time has no figure.")
PARTLY = _("a flow did not send over the whole common window.")
DRIFTED = _(
    "the clock of one of the hosts drifted from the controller’s by more than 0.1 % of the window."
)
UNKNOWN = _("whether the hosts’ clocks drifted from the controller’s is not recorded.")


@dataclass(frozen=True, slots=True)
class ConcurrentTrials:
    """The trials of one round, evaluated over one common window."""

    records: tuple[Record, ...]

    @property
    def trials(self) -> int:
        """Number of trials, with or without a figure."""
        return max(int(record.number("common_window_trials") or 1) for record in self.records)

    @property
    def flows(self) -> int:
        """Number of flows, one for each direction of data, with or without a figure."""
        of_trials = [len(record.flows) for record in self.records]
        return max(sum(of_trials), self.trials * max(of_trials))

    @property
    def throughputs(self) -> list[float | None]:
        """The throughput of each flow in bit/s."""
        flows = (flow for record in self.records for flow in record.flows.values())
        return [flow.throughput_bit_per_s for flow in flows]

    @property
    def why_not(self) -> str | None:
        """Why the flows cannot be added up; ``None`` if they can."""
        if len(self.records) < self.trials or None in self.throughputs:
            return MISSING
        if any(record.value("common_window") is not True for record in self.records):
            return PARTLY
        shares = []
        for record in self.records:
            drift_ns, length_s = record.number("clock_drift_ns"), record.settings.get("duration_s")
            if drift_ns is None or not isinstance(length_s, int | float) or not length_s:
                return UNKNOWN
            shares.append(drift_ns / 1e9 / length_s)
        return DRIFTED if max(shares) > MOST_DRIFT else None

    @property
    def bit_per_s(self) -> float | None:
        """The sum of all flows; ``None`` if they cannot be added up."""
        return None if self.why_not else sum(filter(None, self.throughputs))


def concurrent_rounds(records: Sequence[Record]) -> tuple[ConcurrentTrials, ...]:
    """The rounds with several flows, none inside one machine, in the order of the records."""
    rounds = grouped(records, lambda record: record.number("common_window_open_ns"))
    # A sum with a flow that stayed within one machine would say nothing about cables.
    every = (
        ConcurrentTrials(tuple(trials))
        for opens_ns, trials in rounds.items()
        if opens_ns is not None and not any(record.same_host for record in trials)
    )
    return tuple(round_ for round_ in every if round_.flows > 1)


def together(records: Sequence[Record]) -> Part | None:
    """A line for all rounds with the same label and number of flows; ``None`` without rounds."""
    rounds = concurrent_rounds(records)
    if not rounds:
        return None
    trials = [record for round_ in rounds for record in round_.records]
    names = names_of(trials)
    alike = grouped(rounds, lambda round_: (_label(round_, names), round_.flows))
    meaning = _(
        "{trials} in {rounds}, up to {most} flows at once. All trials of a round started together "
        "and were evaluated over one common window in each host’s own clock, known to within "
        "{bound}. Only rates of the same window are added up.",
        trials=counted("{number} trial", "{number} trials", len(trials)),
        rounds=counted("{number} round", "{number} rounds", len(rounds)),
        most=max(flows for _, flows in alike),
        bound=f"{figure(max(r.number('clock_bound_ns') or 0 for r in trials) / 1e3)} µs",
    )
    title = _("Together in a common window")
    if len(alike) > MAX_LINES:
        title = _(
            "Together in a common window (the first {shown} of {all})",
            shown=MAX_LINES,
            all=len(alike),
        )
    rows = [(label, "", of_label) for (label, _), of_label in islice(alike.items(), MAX_LINES)]
    return Part(
        name="together",
        title=_("At the same time"),
        paragraphs=(meaning,),
        sheets=(table(title, _("at the same time"), _TOGETHER, rows),),
    )


_Rounds = Sequence[ConcurrentTrials]


def _of_sums(of: Callable[[Sequence[float]], float]) -> Callable[[_Rounds], Shown]:
    """A figure of the sums, in Mbit/s, of those rounds that can be added up."""

    def shown(rounds: _Rounds) -> Shown:
        sums = [rate / 1e6 for round_ in rounds if (rate := round_.bit_per_s) is not None]
        why_not = [why for round_ in rounds if (why := round_.why_not) is not None]
        return Shown(of(sums)) if sums else Shown(why=why_not)

    return shown


def _number_added_up(rounds: _Rounds) -> Shown:
    why_not = [why for round_ in rounds if (why := round_.why_not) is not None]
    number = len(rounds) - len(why_not)
    return Shown(float(number), why_not, _("{some} of {all}", some=number, all=len(rounds)))


_TOGETHER: Sequence[FigureColumn[_Rounds]] = (
    FigureColumn(_("flows"), lambda rounds: float(rounds[0].flows), "flows", decimals=0),
    FigureColumn(_("rounds added up"), _number_added_up, "rounds"),
    FigureColumn(_("together, {unit}", unit="Mbit/s"), _of_sums(mean), "Mbit/s"),
    FigureColumn(_("least"), _of_sums(min), "Mbit/s"),
    FigureColumn(_("most"), _of_sums(max), "Mbit/s"),
)


def _label(round_: ConcurrentTrials, names: Mapping[str, str]) -> str:
    """A label such as ``TCP 1448, 3 pairs``. Pairings of systems, such as ``LL``, are listed
    instead, each followed by its settings if these differ.
    """

    def listed(words: Sequence[str]) -> str:
        first, *partners = words
        return joined(" ", [first, *(_("with {other}", other=word) for word in partners)])

    setups = dict.fromkeys(names[record.cell] for record in round_.records)
    if len(setups) > 1:
        return listed([joined(" ", [r.pairing, names[r.cell]]) for r in round_.records])
    (setup,) = setups
    pairings = sorted(record.pairing for record in round_.records)
    if round_.trials > 1 and is_by_name(pairings[0]):
        pairs = counted("{number} pair", "{number} pairs", round_.trials)
        return joined(", ", [setup, pairs])
    return joined(", ", [listed(pairings), setup])


MAX_PANELS = 8
MAX_STRIPS = 3
_LEAST_POINTS = 3
_MAX_JOINED = 4
"""Maximum number of cells in a panel for which lines join the points of a cell. More lines would be
illegible."""
_MINUTES_FROM_S = 300.0


def drift(records: Sequence[Record]) -> Part | None:
    """A panel for each group of cells; ``None`` without recorded times, or without repeated trials:
    with one trial a cell, a difference between cells would look like drift.
    """
    begins = [at.timestamp() for record in records if (at := utc_of(record.started_at))]
    if not begins or len({record.cell for record in records}) == len(records):
        return None
    first, scale, since = min(begins), 1.0, _("seconds since the first trial began")
    if max(begins) - first >= _MINUTES_FROM_S:
        scale, since = 60.0, _("minutes since the first trial began")
    groups = grouped(records, lambda r: (r.test, r.pairing, r.protocol, r.message_bytes))
    panels = []
    for (_test, pairing, protocol, size), group in groups.items():
        for quantity in dict.fromkeys(q for record in group for q in quantities_of(record)):
            lines = _drift_lines(group, quantity, first, scale)
            if sum(len(line.points) for line in lines) >= _LEAST_POINTS:
                words = (pairing, protocol, "" if size is None else str(size), quantity.name)
                title = joined(" ", filter(None, words))
                panels.append(Panel(title, _("% off the cell’s median"), lines))
    if not panels:
        return None
    left_out = len(panels) - MAX_PANELS * MAX_STRIPS
    further = counted(
        "{number} further panel is not drawn.", "{number} further panels are not drawn.", left_out
    )
    return Part(
        name="over-time",
        title=_("Over time"),
        paragraphs=(joined(" ", [_DRIFT_MEANING, *([further] if left_out > 0 else [])]),),
        charts=tuple(
            Strip(
                name=f"over-time-{number}",
                title=_("Each trial at the time when it began"),
                x_label=since,
                panels=tuple(panels[(number - 1) * MAX_PANELS : number * MAX_PANELS]),
            )
            for number in range(1, min(MAX_STRIPS, -(-len(panels) // MAX_PANELS)) + 1)
        ),
    )


def _drift_lines(
    group: Sequence[Record], quantity: Quantity, first_s: float, scale: float
) -> tuple[Curve, ...]:
    """A line for each cell: its trials over time, as deviations from their median in per cent."""
    lines, cells = [], by_cell(group)
    for index, trials in enumerate(cells.values()):
        points = [
            ((at.timestamp() - first_s) / scale, value)
            for trial in trials
            if (at := utc_of(trial.started_at)) and (value := quantity.in_unit(trial)) is not None
        ]
        middle = median([value for _, value in points]) if len(points) > 1 else 0.0
        if middle:
            off = sorted((at, 100 * (value / middle - 1)) for at, value in points)
            lines.append(Curve("", index, tuple(off), len(cells) <= _MAX_JOINED))
    return tuple(lines)


_DRIFT_MEANING = _(
    "Every trial with a figure at the time when it began, in per cent off the median of its cell’s "
    "trials; each cell has a mark of its own. If the marks of all cells rise or fall together, the "
    "lab has drifted, and the trials of a cell were not measured under the same conditions."
)
