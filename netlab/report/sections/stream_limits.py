"""Findings → what the page says about the limit of each group of cells. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import DELIVERED
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _, joined, sentence_case
from netlab.report.tables.elements import Part, Table, TableCell, TableLine
from netlab.report.text import summary
from netlab.report.text.stream_findings import CALLED, shown_by
from netlab.stats import rounded

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

_NOT_SHOWN = _("not shown")

_MEANS = _(
    "What the records show of the limit. The wire: throughput is 98 % of its ceiling and more "
    "(96 % with data both ways); all others only below it. The sender’s CPU: its one thread was on "
    "a CPU for 95 % of the window and more. The receiver’s: its queue was full to 80 % at most "
    "looks. Others on a CPU, or a quota: for more than 5 % of the window a thread was ready to run "
    "and had none, or in more than 5 % of the quota’s periods it was made to wait. The sender’s "
    "call rate: its send calls fill 80 % of the window and more, and nine of ten found room in the "
    "socket, so they wait for no queue. Window, buffer and congestion: TCP’s own account, for half "
    "of the window and more; congestion only where segments were sent again. Not determined: all "
    "of this is recorded, and nothing shows."
)


@dataclass(frozen=True, slots=True)
class _LimitRow:
    """One limit of the groups of one pairing, protocol and direction."""

    groups: tuple[Group, ...]
    kind: Kind | None
    samples: tuple[StreamSample, ...]
    of_cells: int
    """How many cells that have a result these groups have."""
    of_trials: int
    """And how many trials."""
    beside: int
    """How many of these are of the cells that it is said of."""
    finding: Finding | None

    @property
    def cells(self) -> int:
        """How many of them it is said of."""
        return len({sample.cell for sample in self.samples})

    @property
    def whole(self) -> bool:
        """Whether it is said of every trial of every cell."""
        return self.cells == self.of_cells and len(self.samples) == self.of_trials

    @property
    def counted(self) -> Message:
        """Of how many cells it is said, and of how many of their trials where it is not all."""
        cells = _("{some} of {all}", some=self.cells, all=self.of_cells)
        if len(self.samples) == self.beside:
            return cells
        trials = in_trials(len(self.samples), self.beside)["in_trials"]
        return joined(", ", (cells, trials))

    @property
    def label(self) -> str:
        """``WW TCP 64, 576``."""
        first = self.groups[0]
        sizes = ", ".join(str(group.message_bytes) for group in self.groups)
        words = (first.pairing, first.protocol, sizes, first.flow)
        return joined(" ", [word for word in words if word])

    def joins(self, other: _LimitRow) -> bool:
        """Whether both are one line: all cells, the same limit, and no figures of their own."""
        mine, its = self.groups[-1], other.groups[0]
        return (
            self.kind is other.kind
            and self.kind in (None, Kind.WIRE_CEILING)
            and (mine.pairing, mine.protocol, mine.flow) == (its.pairing, its.protocol, its.flow)
            and self.whole
            and other.whole
        )


def parts(run: Analysis) -> tuple[Part, ...]:
    """All findings, what limited the run's streams, and what an imported document says of them;
    each where there is something to say.
    """
    found = (summary.all_findings(run), _limited(run), summary.stated(run))
    return tuple(part for part in found if part is not None)


def _limited(run: Analysis) -> Part | None:
    unpaced = [sample for sample in run.samples if not sample.paced]
    found = [each for each in run.limits if each.kind is not Kind.PACING]
    if not found:
        return None
    sheet = Table(
        title=_("What limited throughput"),
        corner=_("messages, bytes"),
        columns=(_("limited by"), _("cells"), _("of the ceiling, %"), _("evidence")),
        lines=tuple(_line(row) for row in _rows(unpaced, found)),
    )
    warned = dict.fromkeys(each.advice for each in found if each.severity == "warning")
    advice = tuple(_("{advice}.", advice=sentence_case(each)) for each in warned)
    return Part(name="limits", title=_("Limits"), paragraphs=(_MEANS, *advice), sheets=(sheet,))


def _rows(unpaced: Sequence[StreamSample], found: Iterable[Finding]) -> list[_LimitRow]:
    """A row a group and limit, those that say the same joined."""
    groups: dict[Group, list[StreamSample]] = {}
    for each in unpaced:
        groups.setdefault(each.group, []).append(each)
    limits = [(each, frozenset(each.trials)) for each in found]
    rows: list[_LimitRow] = []
    for group, those in groups.items():
        rest = those
        for finding, trials in limits:
            its = [each for each in rest if (each.cell, each.trial) in trials]
            if its and _is_about(finding.group, group):
                _add(rows, _row(group, those, its, finding))
                rest = [each for each in rest if (each.cell, each.trial) not in trials]
        if rest:
            _add(rows, _row(group, those, rest, None))
    return rows


def _is_about(broad: Group, group: Group) -> bool:
    """Whether what is found of a group, or of several at once, is of this one as well."""
    return (
        broad.pairing == group.pairing
        and broad.flow == group.flow
        and broad.protocol in ("", group.protocol)
        and broad.message_bytes in (None, group.message_bytes)
    )


def _row(
    group: Group,
    those: Sequence[StreamSample],
    its: Sequence[StreamSample],
    finding: Finding | None,
) -> _LimitRow:
    cells = {each.cell for each in its}
    return _LimitRow(
        (group,),
        None if finding is None else finding.kind,
        tuple(its),
        len({each.cell for each in those}),
        len(those),
        sum(each.cell in cells for each in those),
        finding,
    )


def _add(rows: list[_LimitRow], row: _LimitRow) -> None:
    if rows and rows[-1].joins(row):
        last = rows.pop()
        row = _LimitRow(
            (*last.groups, *row.groups),
            row.kind,
            (*last.samples, *row.samples),
            last.of_cells + row.of_cells,
            last.of_trials + row.of_trials,
            last.beside + row.beside,
            None,
        )
    rows.append(row)


def _line(row: _LimitRow) -> TableLine:
    shares = [each.ceiling_share for each in row.samples if each.ceiling_share is not None]
    return TableLine(
        row.label,
        (
            TableCell(_NOT_SHOWN if row.kind is None else CALLED[row.kind]),
            TableCell(row.counted, row.cells, "cells"),
            TableCell(_span(shares)),
            TableCell(_evidence(row)),
        ),
    )


def _evidence(row: _LimitRow) -> str:
    if row.kind is not None and row.finding is not None:
        return shown_by(row.kind, row.finding.evidence)
    datagrams = [each for each in row.samples if each.protocol == "UDP"]
    arrived = [each.delivered_share for each in datagrams if each.delivered_share is not None]
    if row.kind is None and arrived and min(arrived) < DELIVERED:
        span = _span([min(1.0, each) for each in arrived])
        return _("{percent} % of what was sent arrived", percent=span)
    return ""


def _span(shares: Sequence[float]) -> str:
    """``27.5`` or ``27.5 to 33.2``, in per cent; empty where there are none."""
    if not shares:
        return ""
    least, most = (str(rounded(100 * each, 1)) for each in (min(shares), max(shares)))
    return least if least == most else _("{low} to {high}", low=least, high=most)
