"""Pairs of named hosts → tables and heat maps of clients by servers; both directions compared.

The tables have the form of the imported document connection-kinds. Data that never left a machine
is marked and is in no mean. A role is a host, or a host in one of its networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from netlab.compare.align import AlignedPair, judge
from netlab.ethernet import Link, best_udp_message, ip_version_of
from netlab.experiment.hosts import is_by_name, labels_of, role_of
from netlab.findings.rates import offered_bit_per_s
from netlab.messages import _, counted, joined
from netlab.report.sections.comparisons import columns_of
from netlab.report.tables.elements import HeatMap, Part, Table, table
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import figure
from netlab.results.layout import Bin, TableColumn, lost_share
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import mean
from netlab.stats.mesh import judge_mesh, round_trip_deviations
from netlab.trial.column import Quantity
from netlab.trial.figures import FigureColumn, Shown, ShownOf, Trials, blanks_of, known
from netlab.trial.record import Record, by_cell
from netlab.units import format_rate

MAX_SHOWN_ROLES = 20
"""Tables with more hosts are folded, as the map shows their figures."""
MAX_MAPS = 16
_SECTION = "every-host-with-every-other"

INSIDE = _("within one machine: no cable was touched, and it is in no mean.")
NOT_REQUESTED = _("not requested by the matrix.")
PARTLY = _("measured at the same time as others, but did not send over the whole common window.")


@dataclass(frozen=True)
class PairValue:
    """One place of the table: the trials of a client with a server."""

    records: tuple[Record, ...]
    quantity: Quantity
    inside: bool

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The figures of those trials that have a figure, in the quantity's unit."""
        figures = (self.quantity.in_unit(record) for record in self.records)
        return tuple(value for value in figures if value is not None)

    @cached_property
    def value(self) -> float | None:
        """The mean of ``values``; ``None`` if there are none."""
        return mean(self.values) if self.values else None

    def shown(self, link: Link | None, estimate: float | None, *, imported: bool) -> Shown:
        """One place of the table: the mean with its number of trials, or why the place is blank.

        An imported figure is written as the document prints it. ``estimate``: the figure to be
        expected from what the two hosts reach with other hosts; ``None`` if the pair does not
        deviate.
        """
        first, value = self.records[0], self.value
        why: list[str] = [INSIDE] if self.inside else []
        why += blanks_of(self.records)
        why += [PARTLY] if any(r.value("common_window") is False for r in self.records) else []
        if value is None:
            return Shown(why=why or [_("not recorded.")], cell=first.cell)
        ceiling = None
        if link is not None and not self.inside and first.test == "stream" and "" in first.flows:
            size = first.message_bytes
            if size is None:
                # The document does not state the size: the size with the highest ceiling is taken.
                version = ip_version_of(first.settings)
                size = best_udp_message(link.mtu_bytes, ip_version=version)
            ceiling = ceiling_of(TableColumn(first.protocol, size), [Bin(self.records, "")], link)
        if ceiling is not None and ceiling.is_exceeded_by(value * 1e6, imported=imported):
            most = f"{figure(ceiling.highest_bit_per_s / 1e6)} Mbit/s"
            template = _ABOVE if first.message_bytes is not None else _ABOVE_ANY_SIZE
            why.append(_(template.id, most=most))
        if estimate is not None:
            expected = joined(" ", [figure(estimate), self.quantity.unit])
            template = _LONGER if self.quantity.unit == "µs" else _BELOW
            why.append(_(template.id, expected=expected))
        document_figure = first.value("printed_mbit_per_s")
        text = str(document_figure) if document_figure is not None else figure(value)
        if len(self.records) > 1:
            text = joined(" ", [text, f"({len(self.values)})"])
        return Shown(value, why, text, self.quantity.unit, first.cell)


_ABOVE = _(
    "above {most}, the highest payload rate that the link’s framing allows: either this is the "
    "rate sent and not the rate received, or a clock is wrong."
)
_ABOVE_ANY_SIZE = _(
    "above {most}, the highest payload rate that the link’s framing allows at any message size: "
    "either this is the rate sent and not the rate received, or a clock is wrong."
)
_LONGER = _("longer than its two hosts add to round trips with others, {expected}.")
_BELOW = _("below what its two hosts reach with others, {expected}.")


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """The figures of every pair for one quantity, measured with the same settings."""

    title: str
    quantity: Quantity
    roles: tuple[str, ...]
    spots: Mapping[tuple[str, str], PairValue]
    """(client, server) → the trials of this pair."""

    def sheet(self, link: Link | None, *, imported: bool) -> Table:
        """A line for each client; the last line and the last column have the means.

        Notes name the pairs that deviate from the hosts' other pairs. Only pairs that used a cable
        count for that. The rules are those of the findings about pairs of hosts.
        """
        values = {at: s.values for at, s in self.spots.items() if not s.inside and s.values}
        if self.quantity.unit == "µs":
            strays = round_trip_deviations(values)
        else:
            verdict = judge_mesh(values)
            strays = {} if verdict is None else {**verdict.undecided, **verdict.strays}
        blank = Shown(why=[NOT_REQUESTED])
        rows: dict[str, dict[str, Shown]] = {
            client: dict.fromkeys(self.roles, blank) for client in self.roles
        }
        for (client, server), spot in self.spots.items():
            estimate = strays.get((client, server))
            rows[client][server] = spot.shown(link, estimate, imported=imported)
        for client in self.roles:
            of_client = [spot for at, spot in self.spots.items() if at[0] == client]
            rows[client][_MEAN] = self._means(of_client)
        rows[_MEAN] = {
            server: self._means([spot for at, spot in self.spots.items() if at[1] == server])
            for server in self.roles
        }
        rows[_MEAN][_MEAN] = self._means(list(self.spots.values()))
        return table(
            _("{quantity}; rows: clients, columns: servers", quantity=self.title),
            _("client \\ server"),
            [FigureColumn(heading, itemgetter(heading)) for heading in (*self.roles, _MEAN)],
            [(label, "", row) for label, row in rows.items()],
        )

    def _means(self, spots: Sequence[PairValue]) -> Shown:
        """The mean of the pairs that used a cable and have a figure, with their number."""
        values = [spot.value for spot in spots if not spot.inside and spot.value is not None]
        if not values:
            return Shown()
        value = mean(values)
        text = joined(" ", [figure(value), f"({len(values)})"])
        return Shown(value, text=text, unit=self.quantity.unit)

    def heat_map(self, number: int) -> HeatMap | None:
        """The heat map; ``None`` if no pair that used a cable has a figure."""
        of_cables, inside = (
            tuple(
                tuple(
                    spot.value
                    if (spot := self.spots.get((client, server))) and spot.inside is wanted
                    else None
                    for server in self.roles
                )
                for client in self.roles
            )
            for wanted in (False, True)
        )
        if all(value is None for row in of_cables for value in row):
            return None
        return HeatMap(
            name=f"{_SECTION}-{number}",
            title=self.title,
            unit=self.quantity.unit,
            rows=self.roles,
            columns=self.roles,
            values=of_cables,
            inside=inside,
        )


def part(records: Sequence[Record], link: Link | None, *, imported: bool) -> Part | None:
    """The section on a mesh of named hosts; ``None`` if the run has none."""
    by_name = [record for record in records if is_by_name(record.pairing)]
    if not by_name:
        return None
    matrices, names = pair_matrices(by_name), names_of(by_name)
    sheets = [matrix.sheet(link, imported=imported) for matrix in matrices]
    maps = [matrix.heat_map(number) for number, matrix in enumerate(matrices[:MAX_MAPS], start=1)]
    further = [asymmetry_sheet(by_name, names), offered_sheet(by_name, names)]
    pairs = {record.pairing: False for record in by_name}
    for record in by_name:
        pairs[record.pairing] |= _inside([record], *labels_of(record.pairing)[::-1])
    inside = sum(pairs.values())
    total = counted(
        "{number} pair of hosts, server and client given by name.",
        "{number} pairs of hosts, server and client given by name.",
        len(pairs),
    )
    within = counted(
        "{number} pair is within one machine: it is marked, and is not in the means or on the "
        "map’s scale.",
        "{number} pairs are within one machine: they are marked, and are not in the means or on "
        "the map’s scale.",
        inside,
    )
    many = len(matrices[0].roles) > MAX_SHOWN_ROLES
    return Part(
        name=_SECTION,
        title=_("Every host with every other"),
        paragraphs=(joined(" ", [total, _MEANING]), *([within] if inside else [])),
        sheets=(*(() if many else sheets), *(sheet for sheet in further if sheet is not None)),
        charts=tuple(chart for chart in maps if chart is not None),
        details=tuple(sheets) if many else (),
    )


def pair_matrices(records: Sequence[Record]) -> list[PairMatrix]:
    """A matrix for each quantity and set of conditions, from records of named pairs."""
    names = names_of(records)
    groups: dict[tuple[str, str], dict[tuple[str, str], list[Record]]] = {}
    quantities: dict[str, Quantity] = {}
    ends = [labels_of(record.pairing) for record in records]
    roles = dict.fromkeys([*(server for server, _ in ends), *(client for _, client in ends)])
    for record, (server, client) in zip(records, ends, strict=True):
        label, rate = names[record.cell], record.settings.get("rate_bit_per_s")
        if isinstance(rate, int | float) and "offered rate" not in label:
            label = _("{cell}, offered {rate}", cell=label, rate=format_rate(rate))
        for quantity in quantities_of(record):
            quantities[quantity.name] = quantity
            places = groups.setdefault((label, quantity.name), {})
            places.setdefault((client, server), []).append(record)
    return [
        PairMatrix(
            title=joined(": ", [label, joined(", ", [name, quantities[name].unit])]),
            quantity=quantities[name],
            roles=tuple(roles),
            spots={
                at: PairValue(tuple(trials), quantities[name], _inside(trials, *at))
                for at, trials in places.items()
            },
        )
        for (label, name), places in groups.items()
    ]


def _inside(trials: Sequence[Record], client: str, server: str) -> bool:
    """Whether client and server are one machine: the records say so, or they are the same host."""
    return any(r.same_host for r in trials) or role_of(client).host == role_of(server).host


_MEAN = _("mean (pairs)")
_MEANING = _(
    "A row is a client, a column is a server; the client sends unless the settings say otherwise. "
    "A place without a figure was not measured; it is not a zero."
)

MAX_LINES = 60
"""Maximum number of lines of a table. The pairs that differ most, or that lost most, come first."""


def asymmetry_sheet(records: Sequence[Record], names: Mapping[str, str]) -> Table | None:
    """Both directions of each pair of machines, side by side; ``None`` without such a pair.

    The two trials of a block, in which every cell is measured once, are compared with each other.
    Pairs whose directions differ by more than noise come first. With one trial in each direction
    there is no verdict.
    """
    # (label of the cell, quantity, sender, receiver) → trial → figure, between two machines
    figures: dict[tuple[str, Quantity, str, str], dict[int, float]] = {}
    cells: dict[tuple[str, str, str], str] = {}
    for record in records:
        ends = _sender_and_receiver(record)
        if ends is None or _inside([record], *ends):
            continue
        for quantity in quantities_of(record):
            value = quantity.in_unit(record)
            if value is not None and value > 0:
                key = (names[record.cell], quantity, *ends)
                figures.setdefault(key, {})[record.trial] = value
                cells[names[record.cell], *ends] = record.cell
    both_ways = [
        (setup, quantity, one, other, trials, back)
        for (setup, quantity, one, other), trials in figures.items()
        if one < other and trials.keys() & (back := figures.get((setup, quantity, other, one), {}))
    ]
    if not both_ways:
        return None
    several = len({setup for setup, *_rest in both_ways}) > 1
    pairs = [
        AlignedPair(
            label=_labelled(setup if several else "", " ↔ ", (one, other)),
            cells=(cells[setup, one, other], cells[setup, other, one]),
            quantity=quantity,
            baseline=trials,
            contender=back,
            paired=True,
        )
        for setup, quantity, one, other, trials, back in both_ways
    ]
    rows = sorted(
        judge(pairs),
        key=lambda row: (
            row.verdict.verdict != "different",
            -abs(math.log(row.verdict.ratio or 1)),
        ),
    )
    title = _("One direction against the other, geometric means")
    if len(rows) > MAX_LINES:
        title = _(
            "One direction against the other, geometric means (the {shown} that differ most, of "
            "{all})",
            shown=MAX_LINES,
            all=len(rows),
        )
    columns = columns_of(_("one → other"), _("other → one"), paired=True)
    lines = [(row.aligned.label, "", row) for row in rows[:MAX_LINES]]
    return table(title, _("pair: one ↔ other"), columns, lines)


def _sender_and_receiver(record: Record) -> tuple[str, str] | None:
    """Sender and receiver of a stream; ``None`` if the data went both ways."""
    server, client = labels_of(record.pairing)
    direction = record.settings.get("direction")
    if record.test != "stream" or direction == "both":
        return None
    return (server, client) if direction == "server-sends" else (client, server)


def _labelled(setup: str, arrow: str, ends: Sequence[str]) -> str:
    """A label such as ``UDP 1472: alpha → beta``; ``setup`` is empty if all lines share it."""
    pair = joined(arrow, ends)
    return joined(": ", [setup, pair]) if setup else pair


def offered_sheet(records: Sequence[Record], names: Mapping[str, str]) -> Table | None:
    """UDP sent at a requested rate in one direction: rates offered, sent, received; loss, jitter.

    ``None`` if no sent rate was recorded. ``names``: cell → the settings that differ between cells.
    """
    paced = [
        record
        for record in records
        if record.protocol == "UDP" and _sender_and_receiver(record) and _offered(record)
    ]
    if not any(record.number("sent_bit_per_s") is not None for record in paced):
        return None
    cells = by_cell(paced)
    several = len({names[cell] for cell in cells}) > 1
    ranking = sorted(cells.items(), key=lambda of_cell: -(_lost_share(of_cell[1]) or 0.0))
    title = _("UDP: offered, sent, received")
    if len(ranking) > MAX_LINES:
        title = _(
            "UDP: offered, sent, received (the {shown} that lost most, of {all})",
            shown=MAX_LINES,
            all=len(ranking),
        )
    lines = []
    for cell, trials in ranking[:MAX_LINES]:
        ends = _sender_and_receiver(trials[0]) or ()
        lines.append((_labelled(names[cell] if several else "", " → ", ends), "", trials))
    return table(title, _("sender → receiver"), _OFFERED, lines)


def _offered(record: Record) -> float:
    """The requested payload rate, in bit/s; 0 without one."""
    return offered_bit_per_s(record.settings, record.message_bytes or 0) or 0.0


def _lost_share(trials: Trials) -> float | None:
    return lost_share(flow for trial in trials for flow in trial.flows.values())


def _received(trials: Trials) -> Shown:
    """The mean of what the receivers took in; notes say why trials have no result."""
    flows = [flow for trial in trials for flow in trial.flows.values()]
    rates = [flow.throughput_bit_per_s for flow in flows]
    known_rates = [rate for rate in rates if rate is not None]
    return Shown(mean(known_rates) / 1e6 if known_rates else None, blanks_of(trials))


def _or_why(of: Callable[[Trials], float | None]) -> ShownOf[Trials]:
    def shown(trials: Trials) -> Shown:
        value = of(trials)
        return Shown(value, blanks_of(trials) if value is None else ())

    return shown


# A table: each row takes as few lines as possible.
# fmt: off
_OFFERED: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("offered, {unit}", unit="Mbit/s"),
        lambda trials: _offered(trials[0]) / 1e6, "Mbit/s"),
    FigureColumn(_("sent, {unit}", unit="Mbit/s"), _or_why(known("sent_bit_per_s", 1e-6)),
        "Mbit/s"),
    FigureColumn(_("received, {unit}", unit="Mbit/s"), _received, "Mbit/s"),
    FigureColumn(_("lost, %"), _or_why(_lost_share), "%"),
    FigureColumn(_("jitter, µs"), _or_why(known("receiver_jitter_ns", 1e-3)), "µs"),
)
# fmt: on
