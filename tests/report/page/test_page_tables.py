"""The tables of a German page are sorted and filtered with the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser, Tab
from folders import REPORTS
from made_reports import copied, write_undrawn

from netlab.findings.analysis import load
from netlab.report.language import wording_in

pytestmark = pytest.mark.needs("chromium")

TABLE = "document.querySelector('#pairing-2 table')"
COLUMN = f"[...{TABLE}.tBodies[0].rows].map((row) => row.cells[8].textContent.trim())"
HEAD = f"{TABLE}.querySelectorAll('tr.columns th')[7].querySelector('.sort')"


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = load(copied(REPORTS / "lab-report", tmp_path_factory.mktemp("german")))
    return write_undrawn(run, wording_in("de"))


def opened(browser: Browser, page: Path) -> Tab:
    tab = browser.tab(1400, 900)
    tab.open(page)
    tab.run(f"{TABLE}.scrollIntoView()")
    return tab


def figures(column: list[str]) -> list[float]:
    return [float(text.replace(".", "").replace(",", ".")) for text in column if text[:1].isdigit()]


def test_enter_on_a_column_head_sorts_german_figures_by_size_with_blanks_last(
    browser: Browser, german: Path
) -> None:
    tab = opened(browser, german)
    column = tab.run(COLUMN)
    assert any("," in text for text in column)
    blanks = len(column) - len(figures(column))
    assert blanks == 2
    for down in (False, True):
        tab.run(f"{HEAD}.focus()")
        tab.press("Enter")
        sorted_column = tab.run(COLUMN)
        assert figures(sorted_column) == sorted(figures(column), reverse=down)
        assert figures(sorted_column[-blanks:]) == []
        order = tab.run(f"{HEAD}.parentElement.getAttribute('aria-sort')")
        assert order == ("descending" if down else "ascending")


def test_typing_into_the_filter_hides_all_table_rows_without_the_typed_text(
    browser: Browser, german: Path
) -> None:
    tab = opened(browser, german)
    tab.run("document.querySelector('#pairing-2 .filter input').focus()")
    tab.type("KIB")
    hidden_count = f"[...{TABLE}.tBodies[0].rows].filter((row) => row.hidden).length"
    assert tab.run(hidden_count) == 0
    tab.type(" no such row")
    assert tab.run(hidden_count) == tab.run(f"{TABLE}.tBodies[0].rows.length") == 13
