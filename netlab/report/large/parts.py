"""The parts of a large run's report: its trials, means of each quantity, and findings. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from netlab.experiment.records import STATUSES, Status
from netlab.findings.analysis import Analysis
from netlab.messages import _, counted, joined
from netlab.report.large.means import MOST_EXTREMES, FigureGroup, count_cell
from netlab.report.tables.elements import Part, Table, TableLine
from netlab.report.text.summary import all_findings, leading
from netlab.results.arrow.large_run import LARGE_TRIALS, LargeRun
from netlab.results.quantities import figure_columns
from netlab.store.plan import PlannedCell

DAY = slice(0, 10)
"""The date in a time of the journal."""


def parts_of(run: LargeRun, sample: Analysis) -> tuple[Part, ...]:
    """All parts, in the page’s order. ``sample``: the cells that the findings are about."""
    return (_trials(run), _findings(run, sample), *(group.part() for group in groups_of(run)))


def groups_of(run: LargeRun) -> Iterator[FigureGroup]:
    """The quantities of each test and protocol, with the cells that have a figure of them."""
    cells: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in run.plan.cells:
        cells.setdefault((cell.test, str(cell.settings.get("protocol", ""))), []).append(cell)
    number = 0
    for (test, protocol), planned in cells.items():
        for column, quantity in figure_columns(test).items():
            figures = run.figures.get(column, {})
            own = tuple(cell for cell in planned if cell.key in figures)
            if own:
                number += 1
                of_cells = {cell.key: figures[cell.key] for cell in own}
                yield FigureGroup(number, test, protocol, column, quantity, of_cells, own)


def _trials(run: LargeRun) -> Part:
    """Numbers of trials by status, the time of the run, and the cells with most failed trials."""
    counts: Counter[Status] = Counter()
    for statuses in run.statuses.values():
        counts.update(statuses)
    numbers = [
        _("{number} {status}", number=counts[status], status=STATUSES[status])
        for status in Status
        if counts[status]
    ]
    cells = counted("{number} cell", "{number} cells", len(run.plan.cells))
    trials = counted("{number} trial", "{number} trials", counts.total())
    words = [
        _(
            "{cells}, {trials}: {numbers}.",
            cells=cells,
            trials=trials,
            numbers=joined(", ", numbers),
        )
    ]
    if run.began_at:
        days = {"first": run.began_at[DAY], "last": run.ended_at[DAY]}
        words.append(_("Measured from {first} to {last}.", **days))
    lines = sorted(
        ((-statuses.get(Status.FAILED, 0), cell) for cell, statuses in run.statuses.items()),
    )[:MOST_EXTREMES]
    failed = [
        TableLine(
            cell, (count_cell(-count), count_cell(sum(run.statuses[cell].values()))), cell=cell
        )
        for count, cell in lines
        if count
    ]
    columns = (_("failed"), _("trials"))
    sheet = Table(_("Cells with most failed trials"), _("cell"), columns, tuple(failed))
    return Part(
        name="trials",
        title=_("Trials"),
        paragraphs=(joined(" ", words), _HOW, *run.remarks),
        sheets=(sheet,) if failed else (),
    )


def _findings(run: LargeRun, sample: Analysis) -> Part:
    """The findings of the sample; the most important ones as sentences."""
    about = _(
        "The findings are about {number} of {all}, evenly spaced on the axes, with all their "
        "trials.",
        number=len(sample.plan.cells),
        all=counted("{number} cell", "{number} cells", len(run.plan.cells)),
    )
    part = all_findings(sample)
    if part is None:
        return Part(name="findings", title=_("Findings"), paragraphs=(about, _("None.")))
    return replace(part, paragraphs=(*leading(sample), about, *part.paragraphs))


_HOW = _(
    "This run has more than {number} trials, so its report is made from the columns of its "
    "segments. `netlab report RUN --cell KEY` makes the whole report of single cells.",
    number=LARGE_TRIALS,
)
