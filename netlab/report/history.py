"""A history of cells over many runs: one part of a report, or text, Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from netlab.compare.history import CellHistory, History
from netlab.messages import Message, _, counted, joined
from netlab.report.language import Wording
from netlab.report.sections.comparisons import ratio_words
from netlab.report.tables.elements import Chart, Curve, Part, Table, TableCell, TableLine
from netlab.report.write.text import csv_text, csv_value, markdown, plain
from netlab.results.labels import figure
from netlab.stats.breaks import LEAST_CHANGE, LEAST_RUNS, SIGNIFICANCE, ChangePoint
from netlab.terminal import printable
from netlab.units import format_share

TITLE = _("History")
_GAP_BESIDE_STEP = 0.5
"""A step is drawn in the middle between two runs."""


SCHEMA = 1
"""Version of the JSON format."""
_COLUMNS = (
    *("run", "started_at", "cell", "label", "quantity", "unit", "figure", "level"),
    *("change_point", "before", "after", "change_share", "p"),
)


def part_of(history: History, *, with_charts: bool) -> Part:
    """Sentences about the runs, the table of change points and, if wanted, a chart per history.

    The charts of histories with change points come first.
    """
    lines = [
        _line(history, cell, point) for cell in history.cells for point in cell.course.change_points
    ]
    sheet = Table(
        title=_("Change points"),
        corner=_("cell"),
        columns=(
            *(_("first run after the change"), _("start"), _("before"), _("after")),
            *(_("change"), _("p value")),
        ),
        lines=tuple(lines),
    )
    drawn = [cell for cell in history.cells if cell.course.count] if with_charts else []
    drawn.sort(key=lambda cell: not cell.course.change_points)
    return Part(
        name="history",
        title=TITLE,
        paragraphs=(*_opening(history), *history.remarks, _METHOD),
        sheets=(sheet,) if lines else (),
        charts=tuple(
            _chart(history, cell, f"history-{number}") for number, cell in enumerate(drawn, 1)
        ),
    )


def _opening(history: History) -> Iterator[str]:
    first, last = history.runs[0], history.runs[-1]
    yield counted(
        "{number} run, {first} ({first_day}) to {last} ({last_day}).",
        "{number} runs, {first} ({first_day}) to {last} ({last_day}).",
        len(history.runs),
        first=first.name,
        first_day=first.started_at.date(),
        last=last.name,
        last_day=last.started_at.date(),
    )
    short = [cell for cell in history.cells if not cell.can_change]
    changed = [cell for cell in history.cells if cell.course.change_points]
    steady = len(history.cells) - len(short) - len(changed)
    if changed:
        yield counted(
            "{number} figure of a cell has change points.",
            "{number} figures of cells have change points.",
            len(changed),
        )
    if steady:
        yield counted(
            "{number} figure of a cell has no change point.",
            "{number} figures of cells have no change point.",
            steady,
        )
    if short:
        yield counted(
            "{number} figure of a cell is known in fewer than {least} runs, which are too few to "
            "find a change point.",
            "{number} figures of cells are known in fewer than {least} runs, which are too few to "
            "find a change point.",
            len(short),
            least=2 * LEAST_RUNS,
        )


def _line(history: History, cell: CellHistory, point: ChangePoint) -> TableLine:
    run, unit = history.runs[point.index], cell.quantity.unit
    before, after = (
        TableCell(joined(" ", [figure(value), unit]), value, unit)
        for value in (point.before, point.after)
    )
    return TableLine(
        joined(", ", [cell.label, cell.quantity.name]),
        (
            TableCell(run.name),
            TableCell(Message("{day}", {"day": run.started_at.date()})),
            before,
            after,
            TableCell(ratio_words(point.after / point.before, cell.quantity)),
            TableCell(figure(point.p_value, 3), point.p_value),
        ),
        cell=cell.cell,
    )


# Charts


def _chart(history: History, cell: CellHistory, name: str) -> Chart:
    points = cell.course.change_points
    title = joined(", ", [cell.label, cell.quantity.name])
    words = [
        _(
            "{change} from {run} on",
            run=history.runs[point.index].name,
            change=ratio_words(point.after / point.before, cell.quantity),
        )
        for point in points
    ]
    if words:
        title = joined(": ", [title, joined("; ", words)])
    places = [0, *(point.index for point in points), len(cell.figures) - 1]
    ticks = tuple((float(at), history.runs[at].name) for at in dict.fromkeys(places))
    return Chart(
        name=name,
        title=title,
        x_label=_("run"),
        x_ticks=ticks,
        log_x=False,
        lines=(
            Curve(_("median of a run"), 0, tuple(enumerate(cell.figures)), joined=False),
            Curve(_("level"), 1, tuple(_level(cell, points)), marked=False),
        ),
        quantity=cell.quantity.name,
        unit=cell.quantity.unit,
        from_zero=False,
    )


def _level(
    cell: CellHistory, points: Sequence[ChangePoint]
) -> Iterator[tuple[float, float | None]]:
    """The line of the levels, with a vertical stroke at each change point."""
    steps = {point.index: point for point in points}
    for at, level in enumerate(cell.course.levels):
        if at in steps:
            yield at - _GAP_BESIDE_STEP, steps[at].before
            yield at - _GAP_BESIDE_STEP, steps[at].after
        if level is not None:
            yield float(at), level


_METHOD = _(
    "The figure of a run is the median of its trials. A change point is a sudden change with at "
    "least {least} runs on each side, of {change} or more; a slow drift and single outliers are "
    "none. PELT (Killick, Fearnhead and Eckley, 2012) divides the logarithms into straight lines. "
    "A permutation test requires p ≤ {p} (as in Daly and others, 2020), and a jump must explain "
    "the figures better than a bend.",
    least=LEAST_RUNS,
    change=format_share(LEAST_CHANGE),
    p=str(SIGNIFICANCE),
)


def as_text(history: History, wording: Wording, width: int | None = None) -> str:
    """Text for a terminal: the table of change points, then sentences. Tables are no wider than
    ``width`` characters.
    """
    part = wording.of_part(part_of(history, with_charts=False))
    tables = [plain(table, width) for table in part.sheets]
    return "\n\n".join([*tables, "\n".join(map(printable, part.paragraphs))])


def as_markdown(history: History, wording: Wording) -> str:
    """The same in GitHub's Markdown."""
    part = wording.of_part(part_of(history, with_charts=False))
    return markdown(part.title, (), (), [part])


def as_csv(history: History) -> str:
    """CSV with a line for each run, cell and quantity. Unknown values are empty.

    ``change_point`` is true in the line of the first run after a change.
    """
    rows: list[list[object]] = [[*_COLUMNS]]
    for cell in history.cells:
        points = {point.index: point for point in cell.course.change_points}
        for at, run in enumerate(history.runs):
            row = {
                "run": run.name,
                "started_at": run.started_at.isoformat(),
                "cell": cell.cell,
                "label": cell.label,
                "quantity": cell.quantity.name,
                "unit": cell.quantity.unit,
                "figure": cell.figures[at],
                "level": cell.course.levels[at],
                "change_point": at in points,
                **(_of_point(points[at]) if at in points else {}),
            }
            rows.append([row.get(name) for name in _COLUMNS])
    return csv_text(map(csv_value, row) for row in rows)


def as_json(history: History) -> str:
    """One JSON object: the runs, and each cell with its figures and change points. Unknown values
    are absent.
    """
    runs = history.runs
    document = {
        "schema": SCHEMA,
        "runs": [
            {"run": run.name, "path": str(run.path), "started_at": run.started_at.isoformat()}
            for run in runs
        ],
        "remarks": list(history.remarks),
        "histories": [
            {
                "cell": cell.cell,
                "label": cell.label,
                "quantity": cell.quantity.name,
                "unit": cell.quantity.unit,
                "figures": [
                    {"run": run.name, "figure": value, "level": level}
                    for run, value, level in zip(
                        runs, cell.figures, cell.course.levels, strict=True
                    )
                    if value is not None
                ],
                "change_points": [
                    {
                        "run": runs[point.index].name,
                        "started_at": runs[point.index].started_at.isoformat(),
                        **_of_point(point),
                    }
                    for point in cell.course.change_points
                ],
            }
            for cell in history.cells
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _of_point(point: ChangePoint) -> dict[str, float]:
    return {
        "before": point.before,
        "after": point.after,
        "change_share": point.change_share,
        "p": point.p_value,
    }
