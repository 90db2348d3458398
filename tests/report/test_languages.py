"""Reports in other languages translate texts and leave names and CSV files unchanged."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.pofile import read_po
from command_line import netlab
from folders import FIXTURES, REPORTS, ROOT
from hypothesis import given
from hypothesis import strategies as st
from made_reports import copied, write_undrawn

from netlab.findings.analysis import load
from netlab.kinds import ROWS
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report import language
from netlab.report.language import FOLDER, Wording, languages, wording_in
from netlab.report.sections import parts_of
from netlab.trial.record import REASONS

OTHERS = [language for language in languages() if language != "en"]


@pytest.fixture
def german() -> Wording:
    return wording_in("de")


def braces(template: str) -> set[str]:
    return {name for _text, name, _form, _as in Formatter().parse(template) if name}


def translations(language: str) -> Iterator[tuple[str, str]]:
    """(message, its translation) of every message that the catalogue translates."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        for message in read_po(file, locale=language):
            if isinstance(message.id, tuple):
                yield from ((message.id[1], form) for form in message.string or () if form)
            elif message.id and message.string:
                yield str(message.id), str(message.string)


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_catalogue_has_exactly_the_texts_of_the_reports(language: str) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "scripts" / "messages.py"))
    assert (FOLDER / f"{language}.po").read_bytes() == script["updated"](language), "make messages"


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_a_catalogue_is_translated(language: str) -> None:
    with (FOLDER / f"{language}.po").open("rb") as file:
        messages = [message for message in read_po(file, locale=language) if message.id]
    plural = [message for message in messages if isinstance(message.id, tuple)]
    assert [message.id for message in plural if not all(message.string or ())] == []
    assert [message.id for message in messages if not message.string] == []
    assert len(messages) > 1000


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_placeholders_of_its_message(language: str) -> None:
    wrong = [text for message, text in translations(language) if braces(text) != braces(message)]
    assert wrong == []
    assert len([*translations(language)]) > 400


def test_every_setting_and_every_reason_has_german_words() -> None:
    german = dict(translations("de"))
    labels = [row.label for row in ROWS.values() if isinstance(row.label, Message)]
    words = [reason.clause for reason in REASONS.values()]
    assert [message.id for message in (*labels, *words) if message.id not in german] == []
    assert len(labels) > 30


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (_("throughput"), "Übertragungsrate"),
        (sentence_case(_("socket buffer")), "Puffergröße"),
        (joined(", ", ["LL", _("socket buffer"), "99.9 %"]), "LL, Puffergröße, 99,9 %"),
        (counted("{number} cell", "{number} cells", 2000), "2.000 Zellen"),
        ("1,488,095.5", "1.488.095,5"),
        ("94.15 Mbit/s", "94,15 Mbit/s"),
        ("10.0.0.1", "10.0.0.1"),
        ("server", "server"),
    ],
)
def test_the_german_wording_translates_messages_and_figures_and_leaves_names_unchanged(
    german: Wording, message: str, words: str
) -> None:
    assert german.text(message) == words


@given(st.floats(min_value=0, max_value=1e9, allow_nan=False), st.integers(0, 4))
def test_a_german_figure_has_the_same_digits_with_swapped_separators(
    value: float, decimals: int
) -> None:
    english = f"{value:,.{decimals}f}"
    spelled = wording_in("de").text(english)
    assert re.sub(r"\D", "", spelled) == re.sub(r"\D", "", english)
    assert spelled.translate(str.maketrans(",.", ".,")) == english


def test_an_untranslated_message_stays_english_with_its_values(german: Wording) -> None:
    message = _("quantum foam of {size}", size="1.5 KiB")
    assert german.text(message) == "quantum foam of 1.5 KiB"


def test_the_english_wording_leaves_every_section_unchanged() -> None:
    run = load(REPORTS / "nettest")
    english = wording_in("en")
    assert type(english) is Wording
    for part in parts_of(run, run.trials):
        assert english.of(part) is part


def test_a_catalogue_file_alone_adds_a_language_to_the_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    french = 'msgid "Coverage"\nmsgstr "Couverture"\n'
    (tmp_path / "fr.po").write_text(
        f'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8"\n\n{french}'
    )
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    assert languages() == ("en", "fr")
    run = load(copied(FIXTURES / "run-v1", tmp_path))
    page = write_undrawn(run, wording_in("fr")).read_text("utf-8")
    language.catalogue_of.cache_clear()
    assert '<html lang="fr">' in page
    assert "Couverture</h2>" in page


def test_a_german_report_has_decimal_commas_and_the_csv_files_of_an_english_report(
    tmp_path: Path,
) -> None:
    folder = copied(FIXTURES / "run-v1", tmp_path)
    run = load(folder)
    write_undrawn(run)
    programs = {name: (folder / name).read_bytes() for name in ("tables.csv", "figures.csv")}
    page = write_undrawn(run, wording_in("de")).read_text("utf-8")
    assert {name: (folder / name).read_bytes() for name in programs} == programs
    markdown = (folder / "tables.md").read_text("utf-8")
    assert "| Puffergröße |" in re.sub(" +", " ", markdown)
    assert "48,56 (1)" in markdown
    assert "48.56" not in markdown
    tex = (folder / "tables.tex").read_text("utf-8")
    assert "output-decimal-marker={{{,}}}" in tex
    assert r"\renewcommand{\tablename}{Tabelle}" in tex
    for words in ("Übertragungsrate", "Puffergröße", "Obergrenze der Leitung", "48,56"):
        assert words in page


def test_without_babel_an_english_report_is_written_and_a_german_one_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(FIXTURES / "run-v1", tmp_path)
    language.catalogue_of.cache_clear()
    for name in ["babel", *(name for name in sys.modules if name.startswith("babel."))]:
        monkeypatch.setitem(sys.modules, name, None)
    files = sorted(folder.rglob("*"))
    for words in ("report", "history"):
        ended = netlab(tmp_path, words, "--lang", "de", str(folder))
        (line,) = ended.stderr.splitlines()
        assert "--lang needs Babel" in line and "pip install 'netlab-matrix[languages]'" in line
        assert (ended.returncode, ended.stdout) == (2, "")
    assert sorted(folder.rglob("*")) == files
    assert '<html lang="en">' in write_undrawn(load(folder)).read_text("utf-8")
