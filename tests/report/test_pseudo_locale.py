"""A made-up language: whatever of a report is not said in it goes round the catalogue."""

from __future__ import annotations

import gettext
import html.parser
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from folders import FIXTURES, REPORTS
from run_names import names_in

from netlab.config.matrix_file import comparisons_in
from netlab.errors import MatrixError
from netlab.experiment.records import REASONS
from netlab.findings.analysis import Analysis, load
from netlab.report import in_tables, write_report
from netlab.report.language.translated import Translated
from netlab.report.sections import parts_of
from netlab.report.tables.charts import charts
from netlab.report.tables.tables import overviews, sections
from netlab.results.labels import as_words
from netlab.results.layout import lay_out
from netlab.results.readings import readings
from netlab.version import VERSION

RUNS = sorted(path.parent for folder in (FIXTURES, REPORTS) for path in folder.glob("*/run.json"))

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
"""Fields of nouns that no reader sees, or that are of every language."""

NEUTRAL = re.compile(
    r"[-+−±]?\d[\d.,]*(e[-+]?\d+)?(/s)?|\d+/\d+|[-+±×%↔→–—/:;,.()=&|]|TCP|UDP|RFC|MTU|DSCP|IP|CPU|IPv[46]"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z|[\da-f:]*:[\da-f:]+|[A-Z]|[KMG]iB|[kM]?B|[kMGT]?bit/s|byte/s|[mµun]?s|min|h|/s|1/s|ppm|Linux|Windows|FreeBSD|macOS"
)
"""Words of every language."""
LETTER = re.compile(r"[a-z]{1,2}")
"""Of a footnote."""


PLACE = re.compile(r"(\{\w+\}|%\(\w+\)s)")
"""Of a value in a message, or in a text of a template of the page."""


class Pseudo(gettext.NullTranslations):
    """Says the words of every message between brackets that no text has, and no value in them."""

    def gettext(self, message: str) -> str:
        parts = PLACE.split(message)
        return "".join(
            part if not part.strip() or PLACE.fullmatch(part) else f"⟦{part}⟧" for part in parts
        )

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@cache
def any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Any of these names, the longest first."""
    long = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, long))})(?!\w)")


def unsaid(text: str, names: frozenset[str]) -> str:
    """What of a text is in no brackets, and no name, figure or unit; empty where all is said."""
    text = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    if text.strip() in names:
        return ""
    text = any_of(names).sub(" ", text)
    words = ((word, word.strip("()[],;:.")) for word in text.split())
    return " ".join(word for word, bare in words if bare and not NEUTRAL.fullmatch(bare))


def texts(noun: Any, where: str) -> Iterator[tuple[str, str]]:
    """(place, text) of all that a reader sees of a noun."""
    if isinstance(noun, str):
        if not LETTER.fullmatch(noun):
            yield where, noun
    elif isinstance(noun, tuple):
        for each in noun:
            yield from texts(each, where)
    elif is_dataclass(noun):
        for field in fields(noun):
            if field.name not in NEVER_SAID:
                yield from texts(getattr(noun, field.name), f"{where}.{field.name}")


def nouns(run: Analysis, said: Translated) -> Iterator[tuple[str, Any]]:
    """Every table, chart and part of a run's report."""
    found = readings(run)
    layout = lay_out(in_tables(found))
    link, imported = run.plan.link, run.plan.source is not None
    for table in overviews(layout, link):
        yield "overview", said.of_table(table)
    for section in sections(layout, link, imported=imported):
        yield "section", said.of_section(section)
    for chart in charts(layout, link)[0]:
        yield "chart", said.of_chart(chart)
    for part in parts_of(run, found):
        yield f"part {part.name}", said.of_part(part)


def names_of(run: Analysis) -> frozenset[str]:
    """What stays as it is: names, keys, values of settings that are names, words of reasons."""
    keys = {cell.key for cell in run.plan.cells}
    details = {str(record.detail) for record in run.records if record.detail}
    written = {VERSION, run.plan.content_hash[:12], run.plan.title, run.plan.source or ""}
    with suppress(MatrixError):
        text = run.plan.matrix_text
        written |= {each.name for each in comparisons_in(text, "matrix.yaml") if text}
    noted = {*leaves([*run.sessions, *({"host": note["host"]} for note in run.facts)])}
    noted |= {str(note.get("facts", {}).get("virtual", "")) for note in run.facts}
    return frozenset({*names_in(run), *keys, *REASONS, *details, *written, *noted} - {""})


def leaves(noted: Any) -> Iterator[str]:
    """Every key and every text of what was noted."""
    if isinstance(noted, Mapping):
        for key, value in noted.items():
            yield str(key)
            yield from leaves(value)
    elif isinstance(noted, list):
        for each in noted:
            yield from leaves(each)
    elif isinstance(noted, str):
        yield noted


def noted_of(run: Analysis) -> frozenset[str]:
    """What was noted of hosts and sessions, as the page writes it, word for word; yes and no, which
    are words of ours, are not among it."""
    hosts = [each for session in run.sessions for each in session.get("hosts", {}).values()]
    notes = [*run.sessions, *hosts, *(note.get("facts", {}) for note in run.facts)]
    known = [(key, value) for note in notes for key, value in note.items()]
    values = {str(as_words(value)) for _, value in known if not isinstance(value, bool)}
    return frozenset({*(key for key, _ in known), *values})


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_no_text_of_tables_charts_and_parts_goes_round_the_catalogue(folder: Path) -> None:
    run = load(folder)
    names = names_of(run)
    found = {
        (where, unsaid(text, names)): text
        for noun_at, noun in nouns(run, Translated("de", Pseudo()))
        for where, text in texts(noun, noun_at)
        if unsaid(text, names)
    }
    assert not found, "\n".join(f"{where}: {text!r}" for (where, _), text in found.items())


class Visible(html.parser.HTMLParser):
    """The texts of a page that a reader sees or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br", "img", "input", "col", "hr"}:
            self._open.append(tag)
        for name, value in attrs:
            if name in {"alt", "title", "aria-label", "placeholder"} and value:
                self.found.append((f"{tag}@{name}", value))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not {"script", "style", "code", "pre"} & {*self._open}:
            self.found.append((">".join(self._open[-2:]), data.strip()))


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_no_text_of_the_page_goes_round_the_catalogue(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run")
    run = load(tmp_path / "run")
    names = names_of(run)
    page = Visible()
    page.feed(write_report(run, Translated("de", Pseudo())).read_text("utf-8"))
    asked = {str(value) for cell in run.plan.cells for value in cell.settings.values()}
    noted = noted_of(run) | {run.plan.matrix_text.strip(), *asked}
    found = {
        (where, unsaid(text, names)): text
        for where, text in page.found
        if text not in noted and not LETTER.fullmatch(text) and unsaid(text, names)
    }
    assert not found, "\n".join(f"{where}: {text!r}" for (where, _), text in found.items())
