"""The pages of all recorded runs as they are met: few words, a phone, paper, contents beside."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, Tab, a_browser
from folders import REPORTS

from netlab.findings.analysis import load
from netlab.report import write_report

pytestmark = pytest.mark.needs("chromium")

RUNS = sorted(path.parent.name for path in REPORTS.glob("*/run.json"))
DESK, PHONE = (1400, 900), (390, 844)
MOST_WORDS = 300

WORDS = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (element.closest("table, svg, script, style, dialog")) continue;
    if (!element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    if (range.getBoundingClientRect().top < 2 * innerHeight)
      words += (walker.currentNode.textContent.match(/[\\p{L}\\p{N}][^\\s]*/gu) ?? []).length;
  }
  return words;
})()
"""
"""Words on the first two screens, bare numbers counted, without those of tables and pictures."""

UNSEEN = """
(() => {
  document.querySelectorAll("main details").forEach((each) => (each.open = true));
  const figure = (cell) => /\\d/.test(cell.textContent) && !cell.classList.contains("long");
  return [...document.querySelectorAll("main table.figures")].map((table) => {
    const rows = [...table.tBodies[0].rows];
    const column = rows[0]?.cells.length > 1 && [...rows[0].cells].findIndex(
      (_, place) => place && rows.some((row) => row.cells[place] && figure(row.cells[place])));
    if (!column || column < 0) return "";
    const cell = rows.map((row) => row.cells[column]).find((each) => each && figure(each));
    cell.scrollIntoView({block: "center", inline: "nearest"});
    table.parentElement.scrollLeft = 0;
    const range = document.createRange();
    range.selectNodeContents(cell);
    const box = range.getBoundingClientRect();
    return box.right <= innerWidth && box.left >= 0 ? "" :
      `${table.caption.textContent}: ${cell.textContent.trim()} ends at ${box.right}`;
  }).filter(Boolean);
})()
"""
"""Tables of which the first column with a figure is not on the screen before it is scrolled."""

TOO_WIDE = """
[...document.querySelectorAll("main table, main figure, main pre")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > 689)
  .map((each) => `${each.getBoundingClientRect().right}: ${each.outerHTML.slice(0, 100)}`)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run → its page, made now, beside nothing but the run."""
    paths = {}
    for name in RUNS:
        copy = tmp_path_factory.mktemp(name) / "run"
        copy.mkdir()
        for part in ("run.json", "matrix.yaml", "journal.jsonl"):
            if (REPORTS / name / part).exists():
                shutil.copy(REPORTS / name / part, copy)
        paths[name] = write_report(load(copy))
    return paths


def opened(browser: Browser, page: Path, size: tuple[int, int], scheme: str = "light") -> Tab:
    tab = browser.tab(*size, scheme=scheme)
    tab.open(page)
    return tab


@pytest.mark.parametrize("name", RUNS)
def test_the_first_two_screens_of_a_recorded_page_have_at_most_300_words(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    assert 50 < opened(browser, pages[name], DESK).run(WORDS) <= MOST_WORDS


@pytest.mark.parametrize("name", RUNS)
def test_the_first_figures_of_every_table_are_visible_on_a_phone(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    tab = opened(browser, pages[name], PHONE)
    assert tab.run("document.querySelectorAll('main table.figures').length") > 0
    assert tab.run(UNSEEN) == []


@pytest.mark.parametrize("name", RUNS)
def test_the_contents_cover_no_text_on_a_desktop_and_scroll_with_the_page_on_a_phone(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    tab = opened(browser, pages[name], DESK)
    right = "document.querySelector('nav').getBoundingClientRect().right"
    left = "document.querySelector('main section').getBoundingClientRect().left"
    assert 0 < tab.run(right) <= tab.run(left)
    tab.run("scrollTo(0, 2000)")
    assert 0 <= tab.run("document.querySelector('nav').getBoundingClientRect().top") < 100
    tab.resize(1920, 1080)
    assert 0 < tab.run(right) <= tab.run(left)
    tab.resize(*PHONE)
    assert tab.run("getComputedStyle(document.querySelector('nav')).position") == "static"


def test_the_contents_mark_the_section_that_was_clicked(
    browser: Browser, pages: dict[str, Path]
) -> None:
    tab = opened(browser, pages["lab-report"], DESK)
    marked = "[...document.querySelectorAll('nav [aria-current]')].map((each) => each.hash)"
    assert tab.run(marked) == []
    for name in ("#tables", "#hosts", "#means"):
        tab.click(f"nav a[href='{name}']")
        tab.until(f"String({marked}) === '{name}'")


@pytest.mark.needs("pdftotext")
@pytest.mark.parametrize("name", ["lab-report", "udp-mirror-lab-pinned"])
def test_a_printed_page_lists_host_facts_and_settings_and_no_table_is_wider_than_the_paper(
    browser: Browser, pages: dict[str, Path], name: str, tmp_path: Path
) -> None:
    tab = opened(browser, pages[name], DESK, scheme="dark")
    (tmp_path / "page.pdf").write_bytes(tab.printed())
    text = printed_text(tmp_path / "page.pdf")
    run = load(pages[name].parent)
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


def test_the_file_menu_separates_files_of_the_run_from_files_of_the_report(
    browser: Browser, pages: dict[str, Path]
) -> None:
    for name in ("lab-report", "nettest-lab"):
        tab = opened(browser, pages[name], DESK)
        tab.click(".strip summary")
        own, report_files = tab.run(
            "[...document.querySelectorAll('.strip .files li')].map((item) =>"
            " [...item.querySelectorAll('a')].map((link) => link.getAttribute('href')))"
            ".reduce(([own, others], links) => links.length > 1 ?"
            " [own, [...others, ...links]] : [[...own, ...links], others], [[], []])"
        )
        assert all((pages[name].parent / file).exists() for file in [*own, *report_files])
        assert set(own) <= {"journal.jsonl", "matrix.yaml"}
        assert "journal.jsonl" in own
        assert {"tables.csv", "figures.csv", "tables.tex"} <= set(report_files)
