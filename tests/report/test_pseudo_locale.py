"""A made-up language finds every text of a report that does not come from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest
from made_reports import copied, undrawn
from pseudo_locale import (
    RUNS,
    Pseudo,
    Visible,
    cells_of_page,
    names_of,
    omissions,
    texts_of_cell,
    texts_of_latex,
    texts_of_markdown,
)

from netlab.findings.analysis import Analysis, load
from netlab.report import Report
from netlab.report.language.translated import Translated
from netlab.report.tables.charts import charts
from netlab.results.labels import as_words

NEVER_SAID = {"name", "kind", "flow", "protocol", "unit", "way"}
"""Fields of charts that no reader sees, or that are the same in every language."""

LETTER = re.compile(r"[a-z]{1,2}")
"""Of a footnote."""

SIMILAR = {
    *("lab-report-lab", "nettest-lab", "payload-lab-unshaped", "run-v1", "two-modes"),
    *("udp-mirror-lab-pinned", "udp-mirror-lab-windows"),
}
"""Runs whose texts are those of another run."""


@dataclass(frozen=True, slots=True)
class Written:
    """A recorded run and its report in the made-up language."""

    run: Analysis
    report: Report
    names: frozenset[str]
    """What stays as it is."""
    requested: frozenset[str]
    """Values of settings."""
    page: str


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(folder, marks=[pytest.mark.night] if folder.name in SIMILAR else [])
        for folder in RUNS
    ],
    ids=lambda folder: str(folder.name),
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    run = load(copied(request.param, tmp_path_factory.mktemp("pseudo")))
    report = Report(run, Translated("de", Pseudo()))
    with undrawn():
        page = report.write().read_text("utf-8")
    values = (value for cell in run.plan.cells for value in cell.settings.values())
    return Written(run, report, names_of(run), frozenset(map(str, values)), page)


def texts(noun: Any, place: str) -> Iterator[tuple[str, str]]:
    """(place, text) of all that a reader sees of a chart."""
    if isinstance(noun, str):
        yield place, noun
    elif isinstance(noun, tuple):
        for item in noun:
            yield from texts(item, place)
    elif is_dataclass(noun):
        for field in fields(noun):
            if field.name not in NEVER_SAID:
                yield from texts(getattr(noun, field.name), f"{place}.{field.name}")


def test_no_text_of_a_chart_bypasses_the_translation_catalogue(written: Written) -> None:
    report = written.report
    of_tables, _left_out = charts(report.layout, report.run.plan.link)
    every = [*of_tables, *(chart for part in report.parts for chart in part.charts)]
    words = [text for chart in every for text in texts(report.wording.of(chart), "chart")]
    assert omissions(words, written.names) == {}


def noted_of(run: Analysis) -> frozenset[str]:
    """The notes on hosts and sessions that the page shows word for word, without yes and no, which
    are translated."""
    hosts = [facts for session in run.sessions for facts in session.get("hosts", {}).values()]
    notes = [*run.sessions, *hosts, *(note.get("facts", {}) for note in run.facts)]
    pairs = [(key, value) for note in notes for key, value in note.items()]
    values = {str(as_words(value)) for _, value in pairs if not isinstance(value, bool)}
    return frozenset({*(key for key, _ in pairs), *values})


def is_cut(text: str, page_texts: set[str]) -> bool:
    """Whether a text is shortened in its middle, and its full form is also on the page."""
    head, gap, tail = text.partition("…")
    return bool(gap) and any(
        translated.startswith(head) and translated.endswith(tail) and len(translated) > len(text)
        for translated in page_texts
    )


def test_no_text_of_the_page_bypasses_the_translation_catalogue(written: Written) -> None:
    page = Visible()
    page.feed(written.page)
    noted = noted_of(written.run) | {written.run.plan.matrix_text.strip()} | written.requested
    page_texts = {text for _, text in page.found}
    shown = [
        (place, text)
        for place, text in page.found
        if text not in noted and not LETTER.fullmatch(text)
    ]
    bypassing = omissions(shown, written.names)
    assert {text for text in bypassing if not is_cut(text, page_texts)} == set()
    assert len(page_texts) > 50


def test_no_text_of_an_opened_cell_bypasses_the_translation_catalogue(written: Written) -> None:
    words = [
        (place, text)
        for cell in cells_of_page(written.page)
        for place, text in texts_of_cell(cell)
        if text not in written.requested
    ]
    assert words
    assert omissions(words, written.names) == {}


def test_no_text_of_the_latex_and_markdown_files_bypasses_the_translation_catalogue(
    written: Written,
) -> None:
    # Typography may replace a straight apostrophe of a name.
    names = written.names | {name.replace("'", "’") for name in written.names}
    for file, texts_in in (("tables.tex", texts_of_latex), ("tables.md", texts_of_markdown)):
        file_texts = [*texts_in((written.run.path / file).read_text("utf-8"))]
        assert len(file_texts) > 50
        assert omissions(((file, text) for text in file_texts), names) == {}
