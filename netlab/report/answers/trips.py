"""Records of round trips and connections → a line for each protocol and message size. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.records import Record, by_cell
from netlab.messages import Message, _, counted, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.tables.columns import pooled
from netlab.report.text.phrases import in_us, percentile_words, with_interval
from netlab.results.labels import figure
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import MIN_TRIALS, interval, mean

MOST_LINES = 4
"""Maximum number of lines of a test; if there would be more, all cells share one line."""
_PERCENTILES = (0.99,)


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """Lines with the shortest and longest mean of each protocol and size, and their intervals."""
    lines: list[AnswerLine] = []
    for test in dict.fromkeys(record.test for record in records):
        results = [
            record
            for record in records
            if record.test == test and record.status == "ok" and _means_us([record])
        ]
        names = names_of(results, leaving_out=("protocol", "message_bytes"), brief=True)
        groups: dict[str, list[Record]] = {}
        for record in results:
            size = "" if record.message_bytes is None else str(record.message_bytes)
            words = [word for word in (record.protocol, size) if word]
            groups.setdefault(joined(" ", words), []).append(record)
        if len(groups) > MOST_LINES:
            groups = {results[0].protocol: results}
            names = names_of(results, brief=True)
        lines += [_answer(test, title, group, names) for title, group in groups.items()]
    return tuple(lines)


def _answer(test: str, title: str, records: Sequence[Record], names: dict[str, str]) -> AnswerLine:
    trials_of = by_cell(records)
    cells = sorted(trials_of, key=lambda cell: mean(_means_us(trials_of[cell])))
    section = test.replace("_", "-")
    subject = _("a connection with its answer") if test == "connect" else _("a round trip")
    if len(cells) == 1:
        trials = trials_of[cells[0]]
        histogram = pooled(trials)
        text = _(
            "{title}: {time} {what} ({trials})",
            title=title,
            time=_time(trials),
            what=subject,
            trials=counted("{number} trial", "{number} trials", len(trials)),
        )
        percentiles = () if histogram is None else percentile_words(histogram, _PERCENTILES, in_us)
        return AnswerLine(joined(", ", [text, *percentiles]), tuple(cells), section, section)
    if _overlap([trials_of[cell] for cell in cells]):
        # No cell is named, because chance may decide which cell has the shortest mean.
        least, most = (_interval(trials_of[cell]) for cell in (cells[0], cells[-1]))
        sentence = _(
            "{title}: {what} takes {least} to {most} µs",
            title=title,
            what=subject,
            least=least,
            most=most,
        )
        return AnswerLine(sentence, (cells[-1], *cells[:-1]), section, section)
    several = len({record.pairing for record in records}) > 1
    least, most = (
        _(
            "{time} ({cell})",
            time=_time(trials_of[cell]),
            cell=_name(trials_of[cell], names, several=several),
        )
        for cell in (cells[0], cells[-1])
    )
    sentence = _(
        "{title}: {what} takes {least} to {most}", title=title, what=subject, least=least, most=most
    )
    return AnswerLine(sentence, (cells[-1], *cells[:-1]), section, section)


def _name(trials: Sequence[Record], names: dict[str, str], *, several: bool) -> str:
    words = [trials[0].pairing] if several else []
    return joined(", ", [*words, *([names[trials[0].cell]] if names[trials[0].cell] else [])])


def _means_us(trials: Sequence[Record]) -> list[float]:
    """The means of the trials. Trials without a mean (imported pings with a lost answer) are left
    out.
    """
    (quantity,) = quantities_of(trials[0])
    means = [quantity.in_unit(trial) for trial in trials]
    return [value for value in means if value is not None]


def _overlap(cells: Sequence[Sequence[Record]]) -> bool:
    """Whether the intervals of all cells have a value in common."""
    values = [_means_us(trials) for trials in cells]
    if any(len(means) < MIN_TRIALS for means in values):
        return False
    ends = [(mean(means), interval(means).half_width) for means in values]
    return max(mid - half for mid, half in ends) <= min(mid + half for mid, half in ends)


def _time(trials: Sequence[Record]) -> Message:
    """A text such as ``124.0 ± 1.4 µs``, with as many digits as the interval justifies."""
    return joined(" ", [_interval(trials), "µs"])


def _interval(trials: Sequence[Record]) -> str:
    values = _means_us(trials)
    if len(values) < MIN_TRIALS:
        return figure(mean(values))
    return with_interval(mean(values), interval(values).half_width)
