"""Records → the frame loss rate over the offered rate (RFC 2544, 26.3): table, graph.

A trial of a search sends frames at one rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.experiment.rate_search import VERDICTS
from netlab.experiment.records import Record
from netlab.messages import _
from netlab.report.tables.columns import FigureColumn, Shown, Trials, table
from netlab.report.tables.elements import Chart, Curve, Table
from netlab.stats import mean

_TENTHS = tuple(tenths / 10 for tenths in range(10, 0, -1))
_NOT_THE_DEVICES = frozenset({"tester-loss", "generator-bound"})
"""Verdicts of trials whose loss says nothing about the device at that rate."""

LossesByRate = Mapping[float, list[float]]
"""Share of the line rate → the share of frames lost in each trial at that rate, in per cent."""

_Losses = tuple[LossesByRate, set[float]]
"""The losses, and the rates at which a trial says nothing about the device."""


def sheet(name: str, records: Trials) -> Table | None:
    """A table of frame sizes by rates; ``None`` if no loss was measured."""
    rows = [
        (str(size), "", losses)
        for size in _sizes(records)
        if any(losses := _losses(_of_size(records, size)))
    ]
    title = _("{group}: frames lost, % of those sent, by offered rate", group=name)
    return table(title, _("frame, bytes"), _COLUMNS, rows) if rows else None


def charts(groups: Mapping[str, Sequence[Record]]) -> tuple[Chart, ...]:
    """Loss over the offered rate, a chart for each group, a line for each frame size."""
    all_charts = []
    for number, (name, records) in enumerate(groups.items(), start=1):
        lines = []
        for index, size in enumerate(_sizes(records)):
            losses = _losses(_of_size(records, size))[0]
            if len(losses) > 1:
                points = tuple((100 * share, mean(losses[share])) for share in sorted(losses))
                lines.append(Curve(_("{size} bytes", size=size), index, points))
        if lines:
            all_charts.append(
                Chart(
                    name=f"frame-loss-{number}",
                    title=_("{group}: frames lost over the offered rate", group=name),
                    x_label=_("offered rate, % of the line rate"),
                    x_ticks=tuple((100 * share, f"{100 * share:.0f}") for share in _TENTHS[::-1]),
                    log_x=False,
                    lines=tuple(lines),
                    quantity=_("frames lost"),
                    unit="%",
                )
            )
    return tuple(all_charts)


def _sizes(records: Sequence[Record]) -> list[int]:
    sizes = {record.settings.get("frame_bytes") for record in records}
    return sorted(size for size in sizes if isinstance(size, int))


def _of_size(records: Sequence[Record], size: int) -> list[Record]:
    return [r for r in records if r.settings.get("frame_bytes") == size and r.status == "ok"]


def _losses(records: Sequence[Record]) -> _Losses:
    losses: dict[float, list[float]] = {}
    ours: set[float] = set()
    names = ("loss_line_share", "loss_sent_frames", "loss_received_frames", "loss_verdict")
    for record in records:
        columns = [record.series(name) for name in names]
        for share, sent_frames, received_frames, verdict in zip(*columns, strict=False):
            if VERDICTS[int(verdict)] in _NOT_THE_DEVICES or not sent_frames:
                ours.add(share)
            else:
                losses.setdefault(share, []).append(
                    100 * max(0.0, sent_frames - received_frames) / sent_frames
                )
    return losses, ours


def _at(share: float) -> Callable[[_Losses], Shown]:
    def shown(row: _Losses) -> Shown:
        losses, ours = row
        value = mean(losses[share]) if share in losses else None
        return Shown(value, [_OURS] if share in ours else ())

    return shown


_OURS = _(
    "In some trial our own hosts lost frames at that rate or could not send them: it says nothing "
    "about the device."
)
_COLUMNS: Sequence[FigureColumn[_Losses]] = tuple(
    FigureColumn(f"{100 * share:.0f} %", _at(share), "%") for share in _TENTHS
)
