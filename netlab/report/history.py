"""A history of cells over many runs: one part of a report, or text, Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netlab.compare.history import CellHistory, DatedRun, History
from netlab.messages import Message, _, counted, joined
from netlab.report.draw.style import PAGE_WIDE
from netlab.report.language import Wording
from netlab.report.sections.comparisons import ratio_words
from netlab.report.tables.elements import Chart, Curve, Part, table
from netlab.report.write.text import csv_text, csv_value, markdown, plain
from netlab.results.labels import figure
from netlab.stats.breaks import LEAST_CHANGE, LEAST_RUNS, SIGNIFICANCE, ChangePoint
from netlab.terminal import printable
from netlab.trial.figures import FigureColumn, Shown
from netlab.units import format_share

TITLE = _("History")
SCHEMA = 1
"""Version of the JSON format."""
_COLUMNS = (
    *("run", "started_at", "cell", "label", "quantity", "unit", "figure", "level"),
    *("change_point", "before", "after", "change_share", "p"),
)


def part_of(history: History, *, with_charts: bool) -> Part:
    """Sentences, the table of change points and, if wanted, a chart a history, changed first."""
    rows = [
        (joined(", ", [cell.label, cell.quantity.name]), cell.cell, _Change(history, cell, point))
        for cell in history.cells
        for point in cell.course.change_points
    ]
    sheet = table(_("Change points"), _("cell"), _CHANGES, rows)
    drawn = [cell for cell in history.cells if cell.course.count] if with_charts else []
    drawn.sort(key=lambda cell: not cell.course.change_points)
    return Part(
        name="history",
        title=TITLE,
        paragraphs=(*_opening(history), *history.remarks, _METHOD),
        sheets=(sheet,) if rows else (),
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
    short = [cell for cell in history.cells if cell.course.count < 2 * LEAST_RUNS]
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


class _Change(NamedTuple):
    """A change point: a line of the table."""

    history: History
    cell: CellHistory
    point: ChangePoint

    @property
    def run(self) -> DatedRun:
        return self.history.runs[self.point.index]

    @property
    def words(self) -> str:
        return ratio_words(self.point.after / self.point.before, self.cell.quantity)

    def shown(self, value: float) -> Shown:
        unit = self.cell.quantity.unit
        return Shown(value, text=joined(" ", [figure(value), unit]), unit=unit)


_CHANGES: Sequence[FigureColumn[_Change]] = (
    FigureColumn(_("first run after the change"), lambda change: change.run.name),
    FigureColumn(
        _("start"), lambda change: Message("{day}", {"day": change.run.started_at.date()})
    ),
    FigureColumn(_("before"), lambda change: change.shown(change.point.before)),
    FigureColumn(_("after"), lambda change: change.shown(change.point.after)),
    FigureColumn(_("change"), lambda change: change.words),
    FigureColumn(_("p value"), lambda change: change.point.p_value, decimals=3),
)


# Charts


def _chart(history: History, cell: CellHistory, name: str) -> Chart:
    points = cell.course.change_points
    title = joined(", ", [cell.label, cell.quantity.name])
    changes = [_Change(history, cell, point) for point in points]
    words = [_("{change} from {run} on", run=c.run.name, change=c.words) for c in changes]
    if words:
        title = joined(": ", [title, joined("; ", words)])
    places = [0, *(point.index for point in points), len(cell.figures) - 1]
    ticks = tuple((float(at), history.runs[at].name) for at in dict.fromkeys(places))
    steps = {point.index: point for point in points}
    levels: list[tuple[float, float | None]] = []
    for at, level in enumerate(cell.course.levels):
        if at in steps:
            # A vertical stroke in the middle between two runs.
            levels += [(at - 0.5, steps[at].before), (at - 0.5, steps[at].after)]
        if level is not None:
            levels.append((float(at), level))
    return Chart(
        name=name,
        title=title,
        x_label=_("run"),
        x_ticks=ticks,
        log_x=False,
        lines=(
            Curve(_("median of a run"), 0, tuple(enumerate(cell.figures)), joined=False),
            Curve(_("level"), 1, tuple(levels), marked=False),
        ),
        quantity=cell.quantity.name,
        unit=cell.quantity.unit,
        from_zero=False,
    )


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
    """For a terminal: change points in a table no wider than ``width``, then sentences."""
    part = wording.of(part_of(history, with_charts=False))
    tables = [plain(sheet, width) for sheet in part.sheets]
    return "\n\n".join([*tables, "\n".join(map(printable, part.paragraphs))])


def as_markdown(history: History, wording: Wording) -> str:
    """The same in GitHub's Markdown."""
    part = wording.of(part_of(history, with_charts=False))
    return markdown(part.title, (), (), [part])


def as_html(history: History, wording: Wording) -> str:
    """The same as a page that opens offline, with the charts. All text from files is escaped."""
    from netlab.report.draw.parallel import draw
    from netlab.report.page import plain_page
    from netlab.report.page.first import with_drawings

    part = wording.of(part_of(history, with_charts=True))
    charts = [*enumerate(part.charts)]
    html = plain_page("plain_history.html.j2", part.title, wording, part=part, charts=charts)
    return with_drawings(html, draw(part.charts, (PAGE_WIDE,)))


def as_csv(history: History) -> str:
    """CSV with a line a run, cell and quantity; ``change_point``: in the first run after one."""
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
    """One JSON object: runs, and each cell's figures and change points, without unknown values."""
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
