"""A made-up language finds every text of a report that does not come from the catalogue."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pseudo_locale import (
    RUNS,
    Pseudo,
    Visible,
    names_of,
    texts_of_latex,
    texts_of_markdown,
    unsaid,
)

from netlab.findings.analysis import Analysis, load
from netlab.report import in_tables, write_report
from netlab.report.language.translated import Translated
from netlab.report.sections import parts_of
from netlab.report.tables.charts import charts
from netlab.report.tables.tables import overviews, sections
from netlab.results.labels import as_words
from netlab.results.layout import lay_out
from netlab.results.readings import readings

NEVER_SAID = {
    "name",
    "notes",
    "cell",
    "decimal_marker",
    "kind",
    "flow",
    "protocol",
    "grid",
    "unit",
    "way",
}
"""Fields that no reader sees, or that are the same in every language."""

LETTER = re.compile(r"[a-z]{1,2}")
"""Of a footnote."""


def texts(noun: Any, place: str) -> Iterator[tuple[str, str]]:
    """(place, text) of all that a reader sees of a table, a chart or a part."""
    if isinstance(noun, str):
        if not LETTER.fullmatch(noun):
            yield place, noun
    elif isinstance(noun, tuple):
        for item in noun:
            yield from texts(item, place)
    elif is_dataclass(noun):
        for field in fields(noun):
            if field.name not in NEVER_SAID:
                yield from texts(getattr(noun, field.name), f"{place}.{field.name}")


def nouns(run: Analysis, wording: Translated) -> Iterator[tuple[str, Any]]:
    """Every table, chart and part of a run's report."""
    trials = readings(run)
    layout = lay_out(in_tables(trials))
    link, imported = run.plan.link, run.plan.source is not None
    for table in overviews(layout, link):
        yield "overview", wording.of_table(table)
    for section in sections(layout, link, imported=imported):
        yield "section", wording.of_section(section)
    for chart in charts(layout, link)[0]:
        yield "chart", wording.of_chart(chart)
    for part in parts_of(run, trials):
        yield f"part {part.name}", wording.of_part(part)


def noted_of(run: Analysis) -> frozenset[str]:
    """The notes on hosts and sessions that the page shows word for word, without yes and no, which
    are translated."""
    hosts = [facts for session in run.sessions for facts in session.get("hosts", {}).values()]
    notes = [*run.sessions, *hosts, *(note.get("facts", {}) for note in run.facts)]
    pairs = [(key, value) for note in notes for key, value in note.items()]
    values = {str(as_words(value)) for _, value in pairs if not isinstance(value, bool)}
    return frozenset({*(key for key, _ in pairs), *values})


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_no_text_of_tables_charts_and_sections_bypasses_the_catalogue(folder: Path) -> None:
    run = load(folder)
    names = names_of(run)
    omissions = {
        (place, unsaid(text, names)): text
        for noun_at, noun in nouns(run, Translated("de", Pseudo()))
        for place, text in texts(noun, noun_at)
        if unsaid(text, names)
    }
    assert not omissions, "\n".join(f"{place}: {text!r}" for (place, _), text in omissions.items())


def is_cut(text: str, page_texts: list[str]) -> bool:
    """Whether a text is shortened in its middle, and its full form is also on the page."""
    head, gap, tail = text.partition("…")
    return bool(gap) and any(
        translated.startswith(head) and translated.endswith(tail) and len(translated) > len(text)
        for translated in page_texts
    )


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_no_text_of_the_page_and_of_the_latex_and_markdown_files_bypasses_the_catalogue(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "run")
    run = load(tmp_path / "run")
    names = names_of(run)
    page = Visible()
    page.feed(write_report(run, Translated("de", Pseudo())).read_text("utf-8"))
    requested = {str(value) for cell in run.plan.cells for value in cell.settings.values()}
    page_texts = [text for _, text in page.found]
    noted = noted_of(run) | {run.plan.matrix_text.strip(), *requested}
    omissions = {
        (place, unsaid(text, names)): text
        for place, text in page.found
        if not is_cut(text, page_texts)
        and text not in noted
        and not LETTER.fullmatch(text)
        and unsaid(text, names)
    }
    assert not omissions, "\n".join(f"{place}: {text!r}" for (place, _), text in omissions.items())
    # Typography may replace a straight apostrophe of a name.
    names |= {name.replace("'", "’") for name in names}
    for file, texts_in in (("tables.tex", texts_of_latex), ("tables.md", texts_of_markdown)):
        file_texts = [*texts_in((tmp_path / "run" / file).read_text("utf-8"))]
        assert len(file_texts) > 50
        assert [text for text in file_texts if unsaid(text, names)] == [], file
