"""Pairs of named hosts → tables and heat maps of clients by servers; both directions compared.

The tables have the form of the imported document connection-kinds. Data that never left a machine
is marked and is in no mean. A role is a host, or a host in one of its networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netlab.ethernet import Link, best_udp_message, ip_version_of
from netlab.experiment.hosts import is_by_name, labels_of, role_of
from netlab.messages import _, counted, joined
from netlab.report.sections.comparisons import in_words, interval_words
from netlab.report.tables.elements import HeatMap, Notes, Part, Table, TableCell, TableLine
from netlab.results.ceilings import Ceiling, ceiling_of
from netlab.results.labels import figure
from netlab.results.layout import Bin, TableColumn
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import ComparisonResult as Judged
from netlab.stats import compare, judged_together, mean, pairs_by_block
from netlab.stats.mesh import judge_mesh, round_trip_deviations
from netlab.trial.quantity import Quantity
from netlab.trial.record import Record, by_cell
from netlab.units import format_rate

MAX_SHOWN_ROLES = 20
"""Tables with more hosts are folded, as the map shows their figures."""
MAX_MAPS = 16

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

    def ceiling(self, link: Link | None) -> Ceiling | None:
        """The wire ceiling of this pair; ``None`` if it cannot be known.

        If an imported document does not state the message size, the size with the highest ceiling
        is assumed.
        """
        first = self.records[0]
        if link is None or self.inside or first.test != "stream" or "" not in first.flows:
            return None
        size = first.message_bytes
        if size is None:
            version = ip_version_of(first.settings)
            size = best_udp_message(link.mtu_bytes, ip_version=version)
        return ceiling_of(TableColumn(first.protocol, size), [Bin(self.records, "")], link)

    def place(
        self, notes: Notes, link: Link | None, estimate: float | None, *, imported: bool
    ) -> TableCell:
        """One place of the table: the mean with its number of trials, or why the place is blank.

        An imported figure is written as the document prints it. ``estimate``: the figure to be
        expected from what the two hosts reach with other hosts; ``None`` if the pair does not
        deviate.
        """
        why: list[str] = [INSIDE] if self.inside else []
        why += [record.why_blank for record in self.records if record.status != "ok"]
        why += [PARTLY] if any(r.value("common_window") is False for r in self.records) else []
        value = self.value
        if value is None:
            return TableCell(notes=notes(why or [_("not recorded.")]), cell=self.records[0].cell)
        ceiling = self.ceiling(link)
        if ceiling is not None and ceiling.is_exceeded_by(value * 1e6, imported=imported):
            why.append(_above(ceiling, has_size=self.records[0].message_bytes is not None))
        if estimate is not None:
            why.append(_off(estimate, self.quantity))
        document_figure = self.records[0].value("printed_mbit_per_s")
        text = str(document_figure) if document_figure is not None else figure(value)
        if len(self.records) > 1:
            text = joined(" ", [text, f"({len(self.values)})"])
        return TableCell(text, value, self.quantity.unit, notes(why), self.records[0].cell)


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """The figures of every pair for one quantity, measured with the same settings."""

    title: str
    quantity: Quantity
    roles: tuple[str, ...]
    spots: Mapping[tuple[str, str], PairValue]
    """(client, server) → the trials of this pair."""

    def means(self, spots: Sequence[PairValue]) -> TableCell:
        """The mean of the pairs that used a cable and have a figure, with their number."""
        values = [
            pair_value.value
            for pair_value in spots
            if not pair_value.inside and pair_value.value is not None
        ]
        if not values:
            return TableCell()
        value = mean(values)
        text = joined(" ", [figure(value), f"({len(values)})"])
        return TableCell(text, value, self.quantity.unit)

    def strays(self) -> dict[tuple[str, str], float]:
        """(client, server) → expected figure, for pairs that deviate from the hosts' other pairs.

        Only pairs that used a cable count. The rules are those of the findings about pairs of
        hosts.
        """
        values = {
            at: pair_value.values
            for at, pair_value in self.spots.items()
            if not pair_value.inside and pair_value.values
        }
        if self.quantity.unit == "µs":
            return round_trip_deviations(values)
        verdict = judge_mesh(values)
        return {} if verdict is None else {**verdict.undecided, **verdict.strays}


def part(records: Sequence[Record], link: Link | None, *, imported: bool) -> Part | None:
    """The section on pairs of named hosts; ``None`` if the run has no such pairs."""
    by_name = [record for record in records if is_by_name(record.pairing)]
    if not by_name:
        return None
    boards = pair_matrices(by_name)
    tables = [_sheet(pair_matrix, link, imported=imported) for pair_matrix in boards]
    many = len(boards[0].roles) > MAX_SHOWN_ROLES
    names = names_of(by_name)
    further = [asymmetry_sheet(by_name, names), offered_sheet(by_name, names)]
    sheets = [sheet for sheet in further if sheet is not None]
    return Part(
        name="every-host-with-every-other",
        title=_("Every host with every other"),
        paragraphs=_paragraphs(by_name),
        sheets=tuple(sheets if many else [*tables, *sheets]),
        charts=tuple(
            chart
            for number, pair_matrix in enumerate(boards[:MAX_MAPS], start=1)
            if (chart := _map(pair_matrix, number)) is not None
        ),
        details=tuple(tables) if many else (),
    )


def pair_matrices(records: Sequence[Record]) -> list[PairMatrix]:
    """A matrix for each quantity and set of conditions, from records of named pairs."""
    names = names_of(records)
    groups: dict[tuple[str, str], dict[tuple[str, str], list[Record]]] = {}
    quantities: dict[str, Quantity] = {}
    ends = [labels_of(record.pairing) for record in records]
    roles = dict.fromkeys([*(server for server, _ in ends), *(client for _, client in ends)])
    for record, (server, client) in zip(records, ends, strict=True):
        label = _label(record, names[record.cell])
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


def _label(record: Record, name: str) -> str:
    """The settings that differ between cells, and the offered rate in any case."""
    rate = record.settings.get("rate_bit_per_s")
    if isinstance(rate, int | float) and "offered rate" not in name:
        return _("{cell}, offered {rate}", cell=name, rate=format_rate(rate))
    return name


def _inside(trials: Sequence[Record], client: str, server: str) -> bool:
    """Whether client and server are one machine: the records say so, or they are the same host."""
    return any(r.same_host for r in trials) or role_of(client).host == role_of(server).host


def _sheet(pair_matrix: PairMatrix, link: Link | None, *, imported: bool) -> Table:
    notes, strays = Notes(), pair_matrix.strays()
    lines = []
    for client in pair_matrix.roles:
        row = {server: pair_matrix.spots.get((client, server)) for server in pair_matrix.roles}
        places = [
            pair_value.place(notes, link, strays.get((client, server)), imported=imported)
            if pair_value
            else TableCell(notes=notes([NOT_REQUESTED]))
            for server, pair_value in row.items()
        ]
        lines.append(
            TableLine(client, (*places, pair_matrix.means([s for s in row.values() if s])))
        )
    by_server: dict[str, list[PairValue]] = {role: [] for role in pair_matrix.roles}
    for (_client, server), pair_value in pair_matrix.spots.items():
        by_server[server].append(pair_value)
    columns = [pair_matrix.means(by_server[role]) for role in pair_matrix.roles]
    lines.append(TableLine(_MEAN, (*columns, pair_matrix.means(list(pair_matrix.spots.values())))))
    return Table(
        title=_("{quantity}; rows: clients, columns: servers", quantity=pair_matrix.title),
        corner=_("client \\ server"),
        columns=(*pair_matrix.roles, _MEAN),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _above(ceiling: Ceiling, *, has_size: bool) -> str:
    most = f"{figure(ceiling.highest_bit_per_s / 1e6)} Mbit/s"
    if has_size:
        return _(
            "above {most}, the highest payload rate that the link’s framing allows: either this is "
            "the rate sent and not the rate received, or a clock is wrong.",
            most=most,
        )
    return _(
        "above {most}, the highest payload rate that the link’s framing allows at any message "
        "size: either this is the rate sent and not the rate received, or a clock is wrong.",
        most=most,
    )


def _off(estimate: float, quantity: Quantity) -> str:
    figure_expected = joined(" ", [figure(estimate), quantity.unit])
    if quantity.unit == "µs":
        return _(
            "longer than its two hosts add to round trips with others, {expected}.",
            expected=figure_expected,
        )
    return _("below what its two hosts reach with others, {expected}.", expected=figure_expected)


def _map(pair_matrix: PairMatrix, number: int) -> HeatMap | None:
    """The heat map; ``None`` if no pair that used a cable has a figure."""

    def values_of(*, inside: bool) -> tuple[tuple[float | None, ...], ...]:
        return tuple(
            tuple(
                pair_value.value
                if (pair_value := pair_matrix.spots.get((client, server)))
                and pair_value.inside is inside
                else None
                for server in pair_matrix.roles
            )
            for client in pair_matrix.roles
        )

    values = values_of(inside=False)
    if all(value is None for row in values for value in row):
        return None
    return HeatMap(
        name=f"every-host-with-every-other-{number}",
        title=pair_matrix.title,
        unit=pair_matrix.quantity.unit,
        rows=pair_matrix.roles,
        columns=pair_matrix.roles,
        values=values,
        inside=values_of(inside=True),
    )


def _paragraphs(records: Sequence[Record]) -> tuple[str, ...]:
    pairs = {record.pairing: False for record in records}
    for record in records:
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
    meaning = joined(" ", [total, _MEANING])
    return (meaning, within) if inside else (meaning,)


_MEAN = _("mean (pairs)")
_MEANING = _(
    "A row is a client, a column is a server; the client sends unless the settings say otherwise. "
    "A place without a figure was not measured; it is not a zero."
)


MAX_LINES = 60
"""Maximum number of lines of a table. The pairs that differ most, or that lost most, come first."""

ONE_EACH = _("cannot tell: one trial each way")


def asymmetry_sheet(records: Sequence[Record], names: Mapping[str, str]) -> Table | None:
    """Both directions of each pair of machines, side by side; ``None`` without such a pair.

    The two trials of a block, in which every cell is measured once, are compared with each other.
    Pairs whose directions differ by more than noise come first. With one trial in each direction
    there is no verdict.
    """
    figures = _figures(records, names)
    pairs = []
    for (label, quantity, sender, receiver), trials in figures.items():
        return_trials = figures.get((label, quantity, receiver, sender))
        if return_trials is not None and sender < receiver:
            old, new = pairs_by_block(trials, return_trials)
            own_verdict = compare(old, new, paired=True)
            if own_verdict.ratio is not None:
                pairs.append(
                    (label, quantity, sender, receiver, trials, return_trials, own_verdict)
                )
    if not pairs:
        return None
    verdicts = judged_together([pair[-1] for pair in pairs])
    several = len({label for label, *_ in pairs}) > 1
    rated = [
        (
            verdict,
            TableLine(
                _labelled(label if several else "", " ↔ ", (sender, receiver)),
                (
                    _geometric(trials, quantity),
                    _geometric(return_trials, quantity),
                    TableCell(figure(verdict.ratio or 0, 3), verdict.ratio),
                    TableCell(interval_words(verdict)),
                    TableCell(str(verdict.n), float(verdict.n)),
                    TableCell(_words(verdict, quantity, own_verdict=own_verdict)),
                ),
            ),
        )
        for (label, quantity, sender, receiver, trials, return_trials, own_verdict), verdict in zip(
            pairs, verdicts, strict=True
        )
    ]
    rated.sort(
        key=lambda pair: (pair[0].verdict != "different", -abs(math.log(pair[0].ratio or 1)))
    )
    return Table(
        title=_(
            "One direction against the other (the {shown} that differ most, of {all})",
            shown=MAX_LINES,
            all=len(rated),
        )
        if len(rated) > MAX_LINES
        else _("One direction against the other"),
        corner=_("pair: one ↔ other"),
        columns=(
            *(_("one → other"), _("other → one"), _("ratio"), _("95 % interval"), _("pairs")),
            _("in words"),
        ),
        lines=tuple(line for _, line in rated[:MAX_LINES]),
    )


_Key = tuple[str, Quantity, str, str]
"""Label of the cell, quantity, sender, receiver."""


def _figures(records: Sequence[Record], names: Mapping[str, str]) -> dict[_Key, dict[int, float]]:
    """Key → trial → figure, for streams in one direction between two machines."""
    figures: dict[_Key, dict[int, float]] = {}
    for record in records:
        ends = _sender_and_receiver(record)
        if ends is None or record.same_host or role_of(ends[0]).host == role_of(ends[1]).host:
            continue
        for quantity in quantities_of(record):
            value = quantity.in_unit(record)
            if value is not None and value > 0:
                key = (names[record.cell], quantity, *ends)
                figures.setdefault(key, {})[record.trial] = value
    return figures


def _sender_and_receiver(record: Record) -> tuple[str, str] | None:
    """Sender and receiver of a stream; ``None`` if the data went both ways."""
    server, client = labels_of(record.pairing)
    direction = record.settings.get("direction")
    if record.test != "stream" or direction == "both":
        return None
    return (server, client) if direction == "server-sends" else (client, server)


def _geometric(figures: Mapping[int, float], quantity: Quantity) -> TableCell:
    value = math.exp(mean([math.log(value) for value in figures.values()]))
    return TableCell(joined(" ", [figure(value), quantity.unit]), value, quantity.unit)


def _labelled(setup: str, arrow: str, ends: Sequence[str]) -> str:
    """A label such as ``UDP 1472: alpha → beta``; ``setup`` is empty if all lines share it."""
    pair = joined(arrow, ends)
    return joined(": ", [setup, pair]) if setup else pair


def _words(verdict: Judged, quantity: Quantity, *, own_verdict: Judged) -> str:
    """The verdict in words. ``own_verdict``: the verdict without the correction for other pairs."""
    if verdict.verdict == "cannot tell":
        return ONE_EACH
    return in_words(verdict, quantity, taken_back=verdict.verdict != own_verdict.verdict)


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
    notes = Notes()
    cells = by_cell(paced)
    several = len({names[cell] for cell in cells}) > 1
    ranking = sorted(cells.values(), key=lambda trials: -(_lost_share(trials) or 0.0))
    return Table(
        title=_(
            "UDP: offered, sent, received (the {shown} that lost most, of {all})",
            shown=MAX_LINES,
            all=len(ranking),
        )
        if len(ranking) > MAX_LINES
        else _("UDP: offered, sent, received"),
        corner=_("sender → receiver"),
        columns=(
            _("offered, {unit}", unit="Mbit/s"),
            _("sent, {unit}", unit="Mbit/s"),
            _("received, {unit}", unit="Mbit/s"),
            *(_("lost, %"), _("jitter, µs")),
        ),
        lines=tuple(
            _offered_line(trials, names if several else {}, notes) for trials in ranking[:MAX_LINES]
        ),
        footnotes=notes.footnotes,
    )


def _offered_line(trials: Sequence[Record], names: Mapping[str, str], notes: Notes) -> TableLine:
    """The line of one cell; ``names`` is empty if all lines have the same setup."""
    ends = _sender_and_receiver(trials[0]) or ()
    blanks = notes([r.why_blank for r in trials if r.status != "ok"])
    received = [
        value / 1e6
        for r in trials
        for flow in r.flows.values()
        if (value := flow.throughput_bit_per_s) is not None
    ]
    loss = _lost_share(trials)
    return TableLine(
        _labelled(names.get(trials[0].cell, ""), " → ", ends),
        (
            _mean([(_offered(trials[0]) or 0) / 1e6], "Mbit/s", ()),
            _mean(_numbers(trials, "sent_bit_per_s", 1e6), "Mbit/s", blanks),
            _mean(received, "Mbit/s", blanks),
            _mean([] if loss is None else [100 * loss], "%", blanks),
            _mean(_numbers(trials, "receiver_jitter_ns", 1e3), "µs", blanks),
        ),
    )


def _offered(record: Record) -> float | None:
    """The requested payload rate, in bit/s."""
    rate, messages = (
        record.settings.get(name) for name in ("rate_bit_per_s", "message_rate_per_s")
    )
    if isinstance(rate, int | float):
        return float(rate)
    if isinstance(messages, int | float) and record.message_bytes is not None:
        return 8.0 * record.message_bytes * messages
    return None


def _lost_share(trials: Sequence[Record]) -> float | None:
    counts = [
        (flow.lost_messages, flow.sent_messages)
        for record in trials
        for flow in record.flows.values()
        if flow.lost_messages is not None and flow.sent_messages
    ]
    return (
        sum(losses for losses, _ in counts) / sum(messages for _, messages in counts)
        if counts
        else None
    )


def _numbers(trials: Sequence[Record], name: str, scale: float) -> list[float]:
    numbers = (record.number(name) for record in trials if record.status == "ok")
    return [value / scale for value in numbers if value is not None]


def _mean(values: Sequence[float], unit: str, why_not: tuple[str, ...]) -> TableCell:
    if not values:
        return TableCell(notes=why_not)
    value = mean(values)
    return TableCell(figure(value), value, unit)
