"""Findings → their sections: all findings, the limits of streams, the remarks of a document.

A group of cells shares pairing, protocol, message size and direction of the data (flow). A sample
holds the values of one direction in one trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from netlab.findings.analysis import Analysis
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, in_trials
from netlab.findings.stream_rules import DELIVERED
from netlab.messages import _, joined, sentence_case
from netlab.report.tables.elements import Part, table
from netlab.report.text import summary
from netlab.report.text.findings import CALLED, shown_by
from netlab.stats import rounded
from netlab.trial.figures import FigureColumn, Shown
from netlab.trial.record import grouped

_NOT_SHOWN = _("not shown")

_LIMITS_MEANING = _(
    "The limits that the records show. Wire: throughput is at least 98 % of its ceiling (96 % "
    "with data both ways); all other limits only below that. Sender’s CPU: its one thread was on a "
    "CPU for at least 95 % of the window. Receiver’s CPU: its queue was at least 80 % full in most "
    "samples. Others on a CPU, or a quota: for more than 5 % of the window a thread was "
    "ready to run but had no CPU, or the quota made it wait in more than 5 % of its periods. "
    "Sender’s call rate: its send calls take at least 80 % of the window, and nine of ten found "
    "room in the socket, so they do not wait for a queue. Window, buffer and congestion: TCP’s own "
    "account, for at least half of the window; congestion only if segments were retransmitted. Not "
    "determined: all of this is recorded, and none of it shows a limit."
)


@dataclass(frozen=True, slots=True)
class _LimitRow:
    """One limit of one group of cells, or of several groups that differ only in message size."""

    groups: tuple[Group, ...]
    kind: Kind | None
    samples: tuple[StreamSample, ...]
    """The samples with this limit."""
    every: tuple[StreamSample, ...]
    """All samples of these groups."""
    finding: Finding | None

    def counted(self) -> Shown:
        """Number of cells with this limit. If not all trials of these cells have the limit, the
        number of trials with the limit follows.
        """
        limited = {sample.cell for sample in self.samples}
        of_trials = sum(sample.cell in limited for sample in self.every)
        of_cells = len({sample.cell for sample in self.every})
        text = _("{some} of {all}", some=len(limited), all=of_cells)
        if len(self.samples) < of_trials:
            text = joined(", ", (text, in_trials(len(self.samples), of_trials)["in_trials"]))
        return Shown(len(limited), text=text)

    @property
    def label(self) -> str:
        """The groups as text, such as ``WW TCP 64, 576``."""
        first = self.groups[0]
        sizes = ", ".join(str(group.message_bytes) for group in self.groups)
        return joined(" ", filter(None, (first.pairing, first.protocol, sizes, first.flow)))

    def joins(self, row: _LimitRow) -> bool:
        """Whether both rows can share a line: the same limit holds for all trials of all cells."""
        last, first = self.groups[-1], row.groups[0]
        return (
            self.kind is row.kind
            and self.kind in (None, Kind.WIRE_CEILING)
            and replace(last, message_bytes=None) == replace(first, message_bytes=None)
            and len(self.samples) == len(self.every)
            and len(row.samples) == len(row.every)
        )


def findings_and_limits(run: Analysis) -> tuple[Part, ...]:
    """All findings, the limits of the run's streams, and the remarks of an imported document.

    A part without content is left out.
    """
    unpaced = [sample for sample in run.samples if not sample.paced]
    limits = [finding for finding in run.limits if finding.kind is not Kind.PACING]
    rows = [(row.label, "", row) for row in _limit_rows(unpaced, limits)] if limits else []
    advices = dict.fromkeys(limit.advice for limit in limits if limit.severity == "warning")
    of_limits = Part(
        name="limits",
        title=_("Limits"),
        paragraphs=(
            _LIMITS_MEANING,
            *(_("{advice}.", advice=sentence_case(text)) for text in advices),
        ),
        sheets=(table(_("Bottlenecks"), _("messages, bytes"), _LIMITS, rows),),
    )
    every = (summary.all_findings(run), of_limits if limits else None, summary.stated(run))
    return tuple(part for part in every if part is not None)


def _limit_rows(unpaced: Sequence[StreamSample], findings: Iterable[Finding]) -> list[_LimitRow]:
    """A row for each group and limit. Successive rows are joined if ``_LimitRow.joins`` permits."""
    groups = grouped(unpaced, lambda sample: sample.group)
    limits = [(finding, frozenset(finding.trials)) for finding in findings]
    rows: list[_LimitRow] = []

    def add(row: _LimitRow) -> None:
        if rows and rows[-1].joins(row):
            last = rows.pop()
            groups, samples = (*last.groups, *row.groups), (*last.samples, *row.samples)
            row = _LimitRow(groups, row.kind, samples, (*last.every, *row.every), None)
        rows.append(row)

    for group, every in groups.items():
        samples = (*every,)
        rest = samples
        for finding, trials in limits:
            limited = [sample for sample in rest if (sample.cell, sample.trial) in trials]
            if limited and _is_about(finding.group, group):
                add(_LimitRow((group,), finding.kind, (*limited,), samples, finding))
                rest = (*(s for s in rest if (s.cell, s.trial) not in trials),)
        if rest:
            add(_LimitRow((group,), None, rest, samples, None))
    return rows


def _is_about(broad: Group, group: Group) -> bool:
    """Whether a finding about ``broad`` (one group or several) is also about ``group``."""
    return (
        broad.pairing == group.pairing
        and broad.flow == group.flow
        and broad.protocol in ("", group.protocol)
        and broad.message_bytes in (None, group.message_bytes)
    )


def _evidence(row: _LimitRow) -> str:
    if row.kind is not None and row.finding is not None:
        return shown_by(row.kind, row.finding.evidence)
    datagrams = [sample for sample in row.samples if sample.protocol == "UDP"]
    arrived = [s.delivered_share for s in datagrams if s.delivered_share is not None]
    if row.kind is None and arrived and min(arrived) < DELIVERED:
        span = _span([min(1.0, share) for share in arrived])
        return _("{percent} % of what was sent arrived", percent=span)
    return ""


def _span(shares: Sequence[float]) -> str:
    """The shares in per cent, such as ``27.5`` or ``27.5 to 33.2``; empty without shares."""
    if not shares:
        return ""
    least, most = (str(rounded(100 * share, 1)) for share in (min(shares), max(shares)))
    return least if least == most else _("{low} to {high}", low=least, high=most)


_LIMITS: Sequence[FigureColumn[_LimitRow]] = (
    FigureColumn(_("limited by"), lambda row: _NOT_SHOWN if row.kind is None else CALLED[row.kind]),
    FigureColumn(_("cells"), _LimitRow.counted, "cells"),
    FigureColumn(
        _("of the ceiling, %"),
        lambda row: _span([s.ceiling_share for s in row.samples if s.ceiling_share is not None]),
    ),
    FigureColumn(_("evidence"), _evidence),
)
