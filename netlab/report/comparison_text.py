"""The results of a comparison as text, Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from netlab.compare.align import ASSUMPTIONS, CONFIDENCE, CORRECTION, RATE, smallest_shown
from netlab.compare.runs import Compared
from netlab.messages import counted
from netlab.report.sections.comparisons import sheet, words_of
from netlab.report.tables.elements import Part, Table
from netlab.report.write.text import csv_text, csv_value, markdown, plain
from netlab.stats import Verdict
from netlab.terminal import printable
from netlab.units import format_share

SCHEMA = 1
"""Version of the JSON format."""

VERDICTS: tuple[str, ...] = get_args(Verdict)

_ANYWAY = "NOT COMPARABLE, compared anyway"


def as_text(compared: Compared, width: int | None = None) -> str:
    """For a terminal: method, results, then a table a contender, no wider than ``width``."""
    sheets = (plain(sheet_, width) for sheet_ in _sheets(compared))
    return "\n\n".join(["\n".join(_head(compared)), *sheets])


def as_markdown(compared: Compared) -> str:
    """The comparison in GitHub's Markdown."""
    part = Part(
        name="comparison",
        title=f"Against {compared.baseline}",
        paragraphs=tuple(_head(compared)),
        sheets=_sheets(compared),
    )
    return markdown("Comparison", (), (), [part])


def as_csv(compared: Compared) -> str:
    """CSV with a line a pair of cells and quantity: geometric means, unknown values empty."""
    rows = [*_data(compared)]
    lines: list[list[object]] = [[*row] for row in rows[:1]]
    lines += [[" ".join(v) if isinstance(v, list) else v for v in row.values()] for row in rows]
    return csv_text(map(csv_value, line) for line in lines)


def as_json(compared: Compared) -> str:
    """One JSON object: the method, and a row a pair and quantity, without unknown values."""
    spread = smallest_shown(compared.rows)
    document = {
        "schema": SCHEMA,
        "comparable": not compared.differences,
        "differences": list(compared.differences),
        "baseline": compared.baseline,
        "contenders": [group.contender for group in compared.groups],
        "remarks": list(compared.remarks),
        "method": {
            "test": compared.test,
            "means": "geometric",
            "assumptions": list(ASSUMPTIONS[compared.test]),
            "correction": CORRECTION,
            "false_discovery_rate": RATE,
            "judged_together": compared.judged_together,
            "confidence": CONFIDENCE,
            "margin": compared.margin,
        },
        "verdicts": _verdicts(compared),
        "smallest_difference": spread
        and dict(zip(("least", "median", "most"), spread, strict=True)),
        "comparisons": [_present(row) for row in _data(compared)],
    }
    return json.dumps(_present(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


WRITERS: Mapping[str, Callable[[Compared], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "csv": as_csv,
    "json": as_json,
}


def _head(compared: Compared) -> list[str]:
    spread = smallest_shown(compared.rows)
    contenders = ", ".join(group.contender for group in compared.groups)
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in _verdicts(compared).items() if n)
    number = counted("{number} comparison", "{number} comparisons", len(compared.rows))
    lines = [f"{_ANYWAY}: {'; '.join(compared.differences)}."] if compared.differences else []
    lines += [f"Baseline {compared.baseline}; contender {contenders}.", f"{number}: {verdicts}."]
    if spread is not None:
        least, middle, most = map(format_share, spread)
        lines.append(
            f"Smallest difference that four of five such runs would detect: {middle} "
            f"at the median, {least} to {most}."
        )
    lines.append(
        f"Test: {compared.test}; intervals at {format_share(CONFIDENCE)}; “different” is "
        f"corrected for all {compared.judged_together} ({CORRECTION}, "
        f"{format_share(RATE)}) and requires a difference above "
        f"{format_share(compared.margin)}. Assumed: "
        f"{'; '.join(ASSUMPTIONS[compared.test])}."
    )
    lines += [f"{remark[:1].upper()}{remark[1:]}." for remark in compared.remarks]
    return [printable(line) for line in lines]


def _verdicts(compared: Compared) -> dict[str, int]:
    numbers = Counter(row.verdict.verdict for row in compared.rows)
    return {verdict: numbers[verdict] for verdict in VERDICTS}  # type: ignore[index]


def _sheets(compared: Compared) -> tuple[Table, ...]:
    mark = f"{_ANYWAY}: " if compared.differences else ""
    return tuple(
        sheet(f"{mark}{group.contender}", f"baseline {compared.baseline}", group.rows)
        for group in compared.groups
    )


def _data(compared: Compared) -> Iterator[dict[str, Any]]:
    """The values of each pair of cells and quantity: the columns of the CSV, in their order."""
    for contender, row in ((group.contender, r) for group in compared.groups for r in group.rows):
        aligned, verdict = row.aligned, row.verdict
        smallest = verdict.smallest_ratio
        baseline_trials, contender_trials = aligned.figures
        baseline_mean, contender_mean = aligned.means
        yield {
            "comparable": not compared.differences,
            "baseline_run": compared.baseline,
            "contender_run": contender,
            "cell": aligned.cells[0],
            "contender_cell": aligned.cells[1],
            "label": aligned.label,
            "quantity": aligned.quantity.name,
            "unit": aligned.quantity.unit,
            "baseline": baseline_mean,
            "contender": contender_mean,
            "ratio": verdict.ratio,
            "ratio_low": verdict.low,
            "ratio_high": verdict.high,
            "baseline_trials": len(baseline_trials),
            "contender_trials": len(contender_trials),
            "test": compared.test,
            "p": verdict.p,
            "p_together": verdict.p_together,
            "smallest_difference": None if smallest is None else smallest - 1,
            "verdict": verdict.verdict,
            "in_words": words_of(row),
            "why_not": list(aligned.why_not) or None,
        }


def _present(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}
