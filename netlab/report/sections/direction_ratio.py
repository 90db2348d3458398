"""Tables on pairs of named hosts: both directions compared; rates offered and received. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from netlab.experiment.hosts import labels_of, role_of
from netlab.experiment.records import Record, by_cell
from netlab.messages import _, joined
from netlab.report.sections.comparisons import in_words, interval_words
from netlab.report.tables.elements import Notes, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.quantities import Quantity, quantities_of
from netlab.stats import ComparisonResult as Judged
from netlab.stats import compare, judged_together, mean, pairs_by_block

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
