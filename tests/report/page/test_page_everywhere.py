"""The committed pages of recorded runs have working contents, a file menu and a printed form."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from browser import Browser, Tab
from folders import REPORTS
from made_reports import copied, write_undrawn

from netlab.findings.analysis import load

pytestmark = pytest.mark.needs("chromium")

DESK = (1400, 900)

TOO_WIDE = """
[...document.querySelectorAll("main table, main figure, main pre")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > 689)
  .map((each) => `${each.getBoundingClientRect().right}: ${each.outerHTML.slice(0, 100)}`)
"""


def opened(browser: Browser, page: Path, scheme: str = "light") -> Tab:
    tab = browser.tab(*DESK, scheme=scheme)
    tab.open(page)
    return tab


def test_the_contents_mark_the_section_that_was_clicked(browser: Browser) -> None:
    tab = opened(browser, REPORTS / "lab-report" / "index.html")
    marked = "[...document.querySelectorAll('nav [aria-current]')].map((each) => each.hash)"
    assert tab.run(marked) == []
    for name in ("#tables", "#hosts", "#means"):
        tab.click(f"nav a[href='{name}']")
        tab.until(f"String({marked}) === '{name}'")


@pytest.mark.needs("pdftotext")
@pytest.mark.parametrize("name", ["lab-report", "udp-mirror-lab-unshaped"])
def test_a_printed_page_lists_host_facts_and_settings_and_no_table_is_wider_than_the_paper(
    browser: Browser, name: str, tmp_path: Path
) -> None:
    tab = opened(browser, REPORTS / name / "index.html", scheme="dark")
    (tmp_path / "page.pdf").write_bytes(tab.printed())
    text = printed_text(tmp_path / "page.pdf")
    run = load(REPORTS / name)
    hosts = {str(note["host"]) for note in run.facts}
    for host in hosts:
        assert re.search(rf"{host}: \d+ facts", text)
    facts = next(note["facts"] for note in run.facts if note.get("facts"))
    assert str(facts["kernel"]) in text
    assert f"of {len(run.plan.cells)} cells" in text
    assert "These figures come from a document" in text or "Throughput is the payload" in text
    for words in ("socket buffer" if name == "lab-report" else "time-out", "Methods", "Settings"):
        assert words in text
    for control in ("Show rows that contain", "Previous", "further table", "next to the page"):
        assert control not in text
    assert tab.run("document.querySelectorAll('main details[open]').length") == 0
    tab.emulate(media="print")
    tab.resize(688, 1000)  # A4 without the page's margins: 182 mm at 96 pixels an inch
    assert tab.run(TOO_WIDE) == []
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def printed_text(pdf: Path) -> str:
    """The words of a PDF with single spaces."""
    process = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, check=True)
    return re.sub(r"\s+", " ", process.stdout)


@pytest.mark.parametrize("name", ["nettest", "nettest-lab"])
def test_the_file_menu_separates_files_of_the_run_from_files_of_the_report(
    browser: Browser, name: str, tmp_path: Path
) -> None:
    page = write_undrawn(load(copied(REPORTS / name, tmp_path)))
    tab = opened(browser, page)
    tab.click(".strip summary")
    own, report_files = tab.run(
        "[...document.querySelectorAll('.strip .files li')].map((item) =>"
        " [...item.querySelectorAll('a')].map((link) => link.getAttribute('href')))"
        ".reduce(([own, others], links) => links.length > 1 ?"
        " [own, [...others, ...links]] : [[...own, ...links], others], [[], []])"
    )
    assert all((page.parent / file).exists() for file in [*own, *report_files])
    assert set(own) <= {"journal.jsonl", "matrix.yaml"}
    assert "journal.jsonl" in own
    assert {"tables.csv", "figures.csv", "tables.tex"} <= set(report_files)
