"""The report in German: each label of what is shipped has its words; names and figures stay."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import made_readings as made
import pytest
from folders import ROOT
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.kinds import FIELDS, SETUPS
from netlab.experiment.records import REASONS
from netlab.findings.analysis import Analysis, load
from netlab.report import in_tables, write_report
from netlab.report.language import wording_in
from netlab.report.language.german import German, spelled
from netlab.report.language.names import names_in
from netlab.report.language.wording import Wording
from netlab.report.sections import parts_of
from netlab.report.tables.charts import charts
from netlab.report.tables.tables import overviews, sections
from netlab.results.labels import setting_name
from netlab.results.layout import lay_out
from netlab.results.readings import readings
from netlab.store.run_folder import RunFolder

SHIPPED = sorted(each.parent for each in (ROOT / "reports").glob("*/run.json"))
FIXTURES = sorted(each.parent for each in (ROOT / "tests" / "fixtures").glob("*/run.json"))


def worded(run: Analysis, german: German) -> Iterator[str]:
    """Everything of a report that is a label, in German."""
    found = readings(run)
    layout = lay_out(in_tables(found))
    link, imported = run.plan.link, run.plan.source is not None
    for table in overviews(layout, link):
        yield german.of_table(table).title
    for section in sections(layout, link, imported=imported):
        yield german.of_section(section).subtitle
    for chart in charts(layout, link)[0]:
        yield german.of_chart(chart).title
    for part in parts_of(run, found):
        yield german.of_part(part).title


@pytest.mark.parametrize("folder", [*SHIPPED, *FIXTURES], ids=lambda folder: folder.name)
def test_every_label_of_the_recorded_runs_has_german_words(folder: Path) -> None:
    run = load(folder)
    german = German(names_in(run))
    assert list(worded(run, german))
    assert german.unknown == (), "put them into netlab/report/language/german_labels.py"


def test_every_label_of_a_run_of_round_trips_has_german_words(tmp_path: Path) -> None:
    plan, records = made.round_trip_run()
    with RunFolder.open_for_writing(tmp_path / "run", plan) as folder:
        for record in records:
            folder.append(record)
    run = load(tmp_path / "run")
    german = German(names_in(run))
    titles = list(worded(run, german))
    assert {"Umläufe", "Vergleiche", "Wiederholungen", "Über die Zeit"} <= set(titles)
    assert german.unknown == ()


def _words(hints: dict[str, Any]) -> Iterator[str]:
    """What settings may be, where that is a word of a closed list."""
    for hint in hints.values():
        for kind in (hint, *get_args(hint)):
            yield from (each for each in get_args(kind) if isinstance(each, str))


def test_every_setting_and_every_reason_has_german_words() -> None:
    german = German()
    for name in sorted({name for fields in FIELDS.values() for name in fields}):
        german.text(setting_name(name))
    for setup in SETUPS.values():
        for value in _words(get_type_hints(setup)):
            german.text(value)
    for reason in REASONS.values():
        german.text(reason.sentence)
    assert german.unknown == ()


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "throughput, Mbit/s (number of trials)",
            "Übertragungsrate, Mbit/s (Anzahl der Messungen)",
        ),
        ("LL (same host)", "LL (ein Rechner)"),
        ("all pairings, streams 4", "alle Kombinationen, Ströme 4"),
        ("99.9 %, µs", "99,9 %, µs"),
        ("1,488,095", "1.488.095"),
        (
            "UDP 18, server’s receive call spinning",
            "UDP 18, Empfangsaufruf des Servers aktiv wartend",
        ),
        ("LL, UDP 1472: repeat by repeat", "LL, UDP 1472: Wiederholung für Wiederholung"),
        ("Link: 100 Mbit/s, MTU 1500 bytes.", "Strecke: 100 Mbit/s, MTU 1500 Byte."),
        (
            "Failed: The system refused every send call for want of buffer space (no-buffers, "
            "error number 105).",
            "Gescheitert: Das System lehnte jeden Sendeaufruf mangels Pufferplatz ab (no-buffers, "
            "Fehlernummer 105).",
        ),
        (
            "2 of 10 trials failed: The other probe came, but no message arrived (no-traffic).",
            "2 von 10 Messungen gescheitert: Die andere Sonde kam, aber keine Nachricht traf ein "
            "(no-traffic).",
        ),
        ("20 % longer (+18.5 to +22.1 %)", "20 % länger (+18,5 bis +22,1 %)"),
    ],
)
def test_labels_are_put_together_as_they_are_in_english(english: str, german: str) -> None:
    translator = German({"LL"})
    assert translator.text(english) == german
    assert translator.unknown == ()


def test_a_label_without_words_stays_english_and_is_told() -> None:
    german = German()
    assert german.text("quantum foam, Mbit/s") == "quantum foam, Mbit/s"
    assert german.unknown == ("quantum foam, Mbit/s",)


def test_names_are_kept_even_where_they_are_words() -> None:
    german = German({"server", "mean", "10.0.0.1"})
    assert [german.text(name) for name in ("server", "mean", "10.0.0.1")] == [
        "server",
        "mean",
        "10.0.0.1",
    ]
    assert German().text("server") == "Server"


@given(st.floats(min_value=0, max_value=1e9, allow_nan=False), st.integers(0, 4))
def test_a_figure_keeps_its_digits_and_swaps_its_separators(value: float, decimals: int) -> None:
    english = f"{value:,.{decimals}f}"
    german = spelled(english)
    assert re.sub(r"\D", "", german) == re.sub(r"\D", "", english)
    assert spelled(german) == english
    assert German().text(english) == german


def test_the_english_wording_changes_nothing() -> None:
    run = load(SHIPPED[0])
    english = wording_in("en", run)
    assert type(english) is Wording
    for part in parts_of(run, readings(run)):
        assert english.of_part(part) is part


def test_a_german_report_has_commas_for_people_and_the_same_csv_for_programs(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ROOT / "tests" / "fixtures" / "run-v1", folder)
    run = load(folder)
    write_report(run)
    programs = {name: (folder / name).read_bytes() for name in ("tables.csv", "figures.csv")}
    page = write_report(run, wording_in("de", run)).read_text("utf-8")
    assert {name: (folder / name).read_bytes() for name in programs} == programs
    markdown = (folder / "tables.md").read_text("utf-8")
    assert "| Puffergröße |" in re.sub(" +", " ", markdown)
    assert "48,56 (1)" in markdown
    assert "48.56" not in markdown
    tex = (folder / "tables.tex").read_text("utf-8")
    assert "output-decimal-marker={{,}}" in tex
    assert r"\renewcommand{\tablename}{Tabelle}" in tex
    for words in ("Übertragungsrate", "Puffergröße", "Obergrenze der Leitung", "48,56"):
        assert words in page
