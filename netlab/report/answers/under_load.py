"""Latency under load → a line for each load: how much longer round trips take. No I/O.

Latency under load is the time of round trips while a load fills the path, next to the time without
load. A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.hosts import is_by_name
from netlab.experiment.records import Record, by_cell
from netlab.messages import Message, _, counted, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.sections.latency_under_load.names import (
    SECTION,
    TEST,
    chart_names,
    load_names,
)
from netlab.report.text.under_load import increase_words, mean_ms, rise_words

MOST_LINES = 3
"""Maximum number of lines; if there would be more, all cells share one line."""


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each cell with a result, or one line with the least and the largest increase.

    ``records``: all records of the run. Pairs of named hosts are left out here; the module
    ``answers.pairs`` makes their lines.
    """
    of_test = [
        record for record in records if record.test == TEST and not is_by_name(record.pairing)
    ]
    names, charts = load_names(of_test), chart_names(records)
    cells = by_cell([r for r in of_test if r.status == "ok" and r.number("loaded_rtt_count")])
    increases = {
        cell: increase
        for cell, trials in cells.items()
        if (increase := mean_ms(trials, "increase_ns")) is not None
    }
    if len(cells) <= MOST_LINES or not increases:
        return tuple(
            AnswerLine(rise_words(trials, _name(trials, names)), (cell,), SECTION, charts[cell])
            for cell, trials in list(cells.items())[:MOST_LINES]
        )
    ranking = sorted(increases, key=increases.__getitem__)
    least, most = (
        _("{time} ({load})", time=increase_words(cells[cell]), load=_name(cells[cell], names))
        for cell in (ranking[0], ranking[-1])
    )
    clauses = [_("Under load round trips take longer by {least} to {most}", least=least, most=most)]
    lossy_cells = [cell for cell in cells if cell not in increases]
    if lossy_cells:
        clauses.append(
            counted(
                "in {number} cell at least half of the requests are lost",
                "in {number} cells at least half of the requests are lost",
                len(lossy_cells),
            )
        )
    by_relevance = (ranking[-1], *ranking[:-1], *lossy_cells)
    return (AnswerLine(joined("; ", clauses), by_relevance, SECTION, charts[by_relevance[0]]),)


def _name(trials: Sequence[Record], names: dict[str, str]) -> Message:
    return joined(", ", [trials[0].pairing, names[trials[0].cell]])
