"""Every word of the page's templates and of its script is from the catalogue."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from browser import Browser
from folders import FIXTURES
from made_reports import copied, write_undrawn
from pseudo_locale import Pseudo, any_of, cells_of_page, names_of, texts_of_cell, unsaid

import netlab.report.page
from netlab.findings.analysis import load
from netlab.messages import _
from netlab.report.language import Wording
from netlab.report.language.translated import Translated
from netlab.report.page import SCRIPTS, script_words
from netlab.report.page.coverage import environment
from netlab.report.page.first import strip

PAGE = Path(netlab.report.page.__file__).parent
CALLS = re.compile(r"\bsay\((?:data\.level === null \? \"(\w+)\" : )?\"(\w+)\"")
PROSE = re.compile(r"[A-Za-z’]{2,}[.:,;]? [A-Za-z]+|^[A-Z][a-z]+$")
CODE = {
    "nav a",
    *("use strict", "tbody tr", "td, th", "line look-", "dot trial look-", "spot look-"),
    *("middle on-", "heat-live drawing", "Escape"),
    *(
        "table button[data-cell]",
        "tr.columns th",
        "main table.figures",
        "(prefers-color-scheme: dark)",
    ),
}
"""Literals of the script that look like prose but are code."""


def script_text() -> str:
    """The scripts that are netlab's own, without third-party code."""
    own = [name for name in SCRIPTS if name.startswith("script/")]
    return "\n".join((PAGE / name).read_text("utf-8") for name in own)


def pseudo() -> Translated:
    return Translated("de", Pseudo())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of streams that were measured, in the made-up language."""
    folder = copied(FIXTURES / "limits-linux", tmp_path_factory.mktemp("pseudo"))
    return write_undrawn(load(folder), pseudo())


def test_titles_axes_and_statuses_of_a_cell_come_from_the_translation_catalogue(page: Path) -> None:
    (cell, *_) = cells_of_page(page.read_text("utf-8"))
    own = {"chart title", "chart x", "line", "status", "ends"}
    own_texts = [text for place, text in texts_of_cell(cell) if place in own]
    assert len(own_texts) >= 5
    assert [text for text in own_texts if "⟦" not in text] == []
    lengths = {value for trial in cell["trials"] for value in trial["values"] if "⟦" in str(value)}
    assert all(re.fullmatch(r"\d+⟦ numbers⟧", value) for value in lengths)


@pytest.mark.parametrize("name", ["page.html.j2", "page_tables.html.j2"])
def test_a_page_template_has_no_words_outside_translations(name: str) -> None:
    text = (PAGE / name).read_text("utf-8")
    text = re.sub(r"\{%-? trans.*?endtrans -?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
    read = re.findall(r'(?:aria-label|alt|title|placeholder)="([^"]*)"', text)
    words = " ".join([*read, re.sub(r'<[^>]*>| class="[^"]*"', " ", text)])
    assert re.findall(r"[^\W\d_]{2,}", words) == []


def test_expressions_of_a_page_template_have_no_untranslated_prose() -> None:
    for name in ("page.html.j2", "page_tables.html.j2"):
        text = (PAGE / name).read_text("utf-8")
        text = re.sub(r'gettext\("[^"]*"', "", text)
        blocks = re.findall(r"\{\{.*?\}\}|\{%.*?%\}", text, flags=re.DOTALL)
        literals = [literal for block in blocks for literal in re.findall(r'"([^"]*)"', block)]
        assert [literal for literal in literals if PROSE.search(literal)] == []


def test_the_page_script_has_no_words_of_its_own() -> None:
    script = re.sub(r"/\*.*?\*/", "", script_text(), flags=re.DOTALL)
    script = re.sub(r"// .*", "", script)
    literals = re.findall(r'"([^"\n]*)"|`([^`]*)`', script)
    words = {re.sub(r"\$\{[^}]*\}", "", string or template) for string, template in literals}
    assert len(words) > 40
    assert {literal for literal in words if PROSE.search(literal)} == CODE


def test_the_page_contains_exactly_the_translated_words_that_its_script_uses() -> None:
    calls = CALLS.findall(script_text())
    assert {literal for call in calls for literal in call if literal} == set(
        json.loads(script_words(Wording()))
    )


@pytest.mark.needs("chromium")
def test_texts_that_the_page_script_shows_are_in_the_language_of_the_page(
    browser: Browser, page: Path
) -> None:
    run = load(page.parent)
    (cell, *_) = cells_of_page(page.read_text("utf-8"))
    of_data = any_of(frozenset(text for _, text in texts_of_cell(cell)))
    tab = browser.tab()
    tab.open(page)
    tab.click('button[data-cell="0"]')
    tab.until("document.getElementById('cell').open")
    texts = tab.run(
        "[...document.querySelectorAll('#cell [aria-label]')]"
        ".map((each) => each.getAttribute('aria-label')).concat("
        "[...document.querySelectorAll('#cell :is(caption, th, summary, label, li, figcaption,"
        " button, h2)')].map((each) => [...each.childNodes].filter((child) =>"
        " child.nodeName !== 'DETAILS').map((child) => child.textContent).join('')))"
    )
    assert tab.run("document.documentElement.lang") == "de"
    assert tab.complaints == []
    names = names_of(run) | {name for record in run.records for name in record.values}
    names |= {name for finding in run.findings for name in finding.evidence}
    own = [of_data.sub(" ", text) for text in texts if text]
    assert [text for text in own if unsaid(text, names)] == []
    assert any("mean" in text for text in texts if text)


def test_a_date_is_written_in_the_format_of_the_language(tmp_path: Path) -> None:
    run = load(FIXTURES / "limits-linux")
    period = dict(strip(run, run.trials, ()))["trials began"][0]
    year, month, day = re.findall(r"(\d{4})-(\d\d)-(\d\d)", period)[0]
    assert f"{day}.{month}.{year}" in pseudo().text(period)


def test_markup_in_a_translation_catalogue_is_escaped_on_the_page(tmp_path: Path) -> None:
    class Hostile(Pseudo):
        def gettext(self, message: str) -> str:
            return '"><script>' + message

    (tmp_path / "made.j2").write_text(
        '<p title="{% trans %}one{% endtrans %}">{{ text }}'
        "{% trans name=name | said %}Of {{ name }}{% endtrans %}</p>"
    )
    template = environment(tmp_path, Translated("de", Hostile())).get_template("made.j2")
    html = template.render(text=_("two {name}", name="<b>"), name=_("<i>\x1b"))
    assert "<script" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert html.count("&lt;script&gt;") == 4
    assert "\x1b" not in html
