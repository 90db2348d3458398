"""The legend of a diagram: labels in lines and columns that fit below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from netlab.report.draw.lettering import lines_of, width_inches
from netlab.report.draw.sizes import Format

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Number = TypeVar("_Number", int, float)

_HANDLE_EM, _HANDLE_GAP_EM, _COLUMN_GAP_EM = 3.0, 0.6, 1.4
_LINE_EM, _BETWEEN_EM = 1.25, 0.45
_EDGE_INCHES = 0.04
_POINTS_AN_INCH = 72


@dataclass(frozen=True, slots=True)
class Legend:
    """The labels below a diagram."""

    labels: tuple[str, ...]
    """Texts of the labels, broken into lines."""
    columns: int
    high_inches: float
    """Height of the legend; 0 if there are no labels."""


def legend_of(labels: Sequence[str], form: Format) -> Legend:
    """A legend with as many columns as fit; a label wider than the picture is broken into lines."""
    if not labels:
        return Legend((), 0, 0.0)
    em = form.legend_pt / _POINTS_AN_INCH
    room = form.width_inches - 4 * _EDGE_INCHES
    handle = (_HANDLE_EM + _HANDLE_GAP_EM) * em
    texts = tuple(lines_of(label, form.legend_pt, room - handle) for label in labels)
    widths = [handle + width_inches(label, form.legend_pt) for label in texts]
    columns = len(texts)
    while columns > 1 and _wide(widths, columns, _COLUMN_GAP_EM * em) > room:
        columns -= 1
    # Use fewer columns if that needs no more lines: then the last line is fuller.
    columns = -(-len(texts) // -(-len(texts) // columns))
    lines = [label.count("\n") + 1 for label in texts]
    most = max(
        _LINE_EM * sum(column) + _BETWEEN_EM * (len(column) - 1)
        for column in _columns(lines, columns)
    )
    return Legend(texts, columns, most * em)


def draw_legend(figure: Figure, legend: Legend, handles: Sequence[Any], form: Format) -> None:
    """Draw a legend at the lower edge. ``handles``: matplotlib's symbols, one per label."""
    if not legend.labels:
        return
    high = figure.get_figheight()
    figure.legend(
        handles=list(handles),
        labels=list(legend.labels),
        loc="lower center",
        bbox_to_anchor=(0.5, _EDGE_INCHES / high),
        ncols=legend.columns,
        handlelength=_HANDLE_EM,
        handletextpad=_HANDLE_GAP_EM,
        columnspacing=_COLUMN_GAP_EM,
        labelspacing=_BETWEEN_EM,
        fontsize=form.legend_pt,
        borderpad=0,
        borderaxespad=0,
    )


def _wide(widths: Sequence[float], columns: int, gap: float) -> float:
    return sum(max(column) for column in _columns(widths, columns)) + gap * (columns - 1)


def _columns(numbers: Sequence[_Number], columns: int) -> list[Sequence[_Number]]:
    """The numbers by column, as matplotlib fills columns: the first columns may have one more."""
    least, more = divmod(len(numbers), columns)
    starts = [least * at + min(at, more) for at in range(columns + 1)]
    return [numbers[start:end] for start, end in pairwise(starts)]
