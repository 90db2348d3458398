"""The first screen of a page answers a reader's questions by few words and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser import Browser, Tab
from folders import REPORTS, ROOT
from made_reports import RECORDED
from PIL import Image, ImageChops, ImageStat

from benchmarks.cost.page import SCREENS, save

pytestmark = pytest.mark.needs("chromium")

DESK, PHONE = (screen.size_px for screen in SCREENS.values())
PICTURES = ROOT / "docs" / "pictures" / "first"
MOST_APART = 0.5
"""Of 255, at the mean: a digit that changed is more on one of the two screens."""
MOST_WORDS = 300
MOST_CLICKS = 2
OPEN = "document.getElementById('cell').open"


@dataclass(frozen=True)
class Question:
    """A question of a reader, the clicks that lead to its answer, and the answer."""

    run: str
    asks: str
    clicks: tuple[str, ...]
    answer: str


QUESTIONS = (
    Question("lab-report", "How many cells have a result?", (), "346 of 416 cells"),
    Question(
        "lab-report",
        "Which systems are slowest, and how slow?",
        (),
        "the lowest (Windows to Windows, TCP, 65536 bytes) reaches 0.149 %",
    ),
    Question(
        "lab-report",
        "What did the lowest cell reach?",
        (".answers .to[data-cell]",),
        "0.14",
    ),
    Question(
        "lab-report",
        "Which socket buffer is the outlier of WL over UDP 1500?",
        (),
        "1.89 Mbit/s at a socket buffer of 60 KiB is an outlier",
    ),
    Question(
        "connection-kinds",
        "Which pair is slowest over the cable?",
        (),
        "26.30 Mbit/s (TCP, colinux-winpcap-bridge to linux)",
    ),
    Question("connection-kinds", "Which figure can no cable carry?", (".warnings .to",), "99.3"),
    Question("nettest-lab", "How sure is the mean of TCP?", (), "94.014 ± 0.041"),
    Question(
        "nettest-lab-unshaped",
        "How long did the longest round trip take, in µs?",
        (".answers li:nth-child(1) a.to[href='#round-trip']",),
        " 3987 ",
    ),
    Question("payload-lab", "What does UDP carry over IPv6?", (), "1452"),
    Question(
        "udp-mirror-lab-unshaped",
        "How sure is it that a mirror that never sleeps is faster, for 18 bytes with checksum?",
        (".compared .to[href='#comparisons-1']",),
        "0.600 to 0.909",
    ),
    Question(
        "rfc2544-lab",
        "How much passes through the device without loss, and what ends it?",
        (),
        "Every cell reaches 80.0 % of the wire ceiling: device",
    ),
    Question(
        "udp-mirror-lab-pinned",
        "How sure is it that a spinning mirror is faster, for 18 bytes with checksum?",
        (".compared .to[href='#comparisons-1']",),
        "0.389 to 0.420",
    ),
)

SEEN = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const within = (box) => box.height && box.bottom > 0 && box.top < innerHeight;
  let text = "";
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const modal = document.querySelector("dialog[open]");
    if (modal && !modal.contains(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    if (element.checkVisibility() && within(range.getBoundingClientRect()))
      text += walker.currentNode.textContent + " ";
  }
  return text.replace(/\\s+/g, " ");
})()
"""
"""All text on the screen."""

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

DIFFERENT = {
    *("connection-kinds", "lab-report", "latency-under-load-lab", "payload-lab", "rfc2544-lab"),
    "udp-mirror-lab-unshaped",
}
"""Runs with different kinds of tests; at night the pages of all runs are looked at."""


def page_of(name: str) -> Path:
    """The committed page, which is what the records give: tests/recorded/test_recorded_runs.py."""
    return REPORTS / name / "index.html"


def opened(browser: Browser, name: str, size: tuple[int, int]) -> Tab:
    tab = browser.tab(*size)
    tab.open(page_of(name))
    return tab


@pytest.mark.parametrize("name", sorted({question.run for question in QUESTIONS}))
def test_each_reader_question_is_answered_on_the_screen_after_at_most_two_clicks(
    browser: Browser, name: str
) -> None:
    tab = opened(browser, name, DESK)
    for question in sorted(QUESTIONS, key=lambda question: len(question.clicks)):
        if question.run != name:
            continue
        assert len(question.clicks) <= MOST_CLICKS
        for selector in question.clicks:
            assert tab.run(f'document.querySelector("{selector}") !== null'), selector
            tab.click(selector)
            if "data-cell" in selector:
                tab.until(OPEN)
        tab.until(f"{SEEN.strip()}.includes({json.dumps(question.answer)})", question.asks)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(path.name, marks=[] if path.name in DIFFERENT else [pytest.mark.night])
        for path in RECORDED
    ],
)
def recorded(request: pytest.FixtureRequest) -> str:
    """The name of a recorded run."""
    return str(request.param)


@pytest.fixture(scope="module")
def at_desk(browser: Browser, recorded: str) -> Iterator[Tab]:
    """The page of a recorded run on a desktop."""
    tab = opened(browser, recorded, DESK)
    yield tab
    tab.close()


@pytest.fixture(scope="module")
def on_phone(browser: Browser, recorded: str) -> Iterator[Tab]:
    """The page of a recorded run on a phone."""
    tab = opened(browser, recorded, PHONE)
    yield tab
    tab.close()


def test_the_answer_and_a_picture_are_on_the_first_screen(at_desk: Tab, on_phone: Tab) -> None:
    for tab, size in ((at_desk, DESK), (on_phone, PHONE)):
        answer = tab.run("document.querySelector('.answers').getBoundingClientRect().bottom")
        top, bottom, wide = tab.run(
            "(() => { const r = [...document.querySelectorAll('#picture-1 > svg')]"
            ".find((each) => each.checkVisibility()).getBoundingClientRect();"
            " return [r.top, r.bottom, r.right]; })()"
        )
        assert 0 < answer <= size[1]
        assert 0 < top < bottom <= size[1]
        assert wide <= size[0]
        assert tab.run("document.documentElement.scrollWidth") <= size[0]


def test_the_pictures_in_the_documentation_show_the_first_screen_of_the_page(
    at_desk: Tab, on_phone: Tab, recorded: str, tmp_path: Path
) -> None:
    for (form, screen), tab in zip(SCREENS.items(), (at_desk, on_phone), strict=True):
        save(tab.screenshot(), tmp_path / f"{form}.png", screen.width_px)
        screenshot, picture = (
            Image.open(path).convert("RGB")
            for path in (tmp_path / f"{form}.png", PICTURES / form / f"{recorded}.png")
        )
        assert screenshot.size == picture.size
        apart = ImageStat.Stat(ImageChops.difference(screenshot, picture)).mean
        assert max(apart) < MOST_APART, "python -m benchmarks.cost.page --pictures docs/pictures"


def test_the_first_two_screens_of_a_recorded_page_have_at_most_300_words(at_desk: Tab) -> None:
    assert 50 < at_desk.run(WORDS) <= MOST_WORDS


def test_every_answer_line_leads_to_a_cell_and_a_section_of_the_page(
    at_desk: Tab, recorded: str
) -> None:
    lines, led = at_desk.run(
        "[document.querySelectorAll('.front :not(.matters) > li .where').length,"
        " [...document.querySelectorAll('.front :not(.matters) > li .where')].filter((each) =>"
        " each.querySelector('[data-cell]') && [...each.querySelectorAll('a')].some((link) =>"
        " document.getElementById(link.hash.slice(1)))).length]"
    )
    # One search has one answer.
    least = 1 if recorded.startswith(("rfc2544-lab", "payload-lab", "udp-mirror-lab")) else 2
    assert lines == led >= least


def test_the_contents_cover_no_text_on_a_desktop_and_scroll_with_the_page_on_a_phone(
    at_desk: Tab, on_phone: Tab
) -> None:
    right = "document.querySelector('nav').getBoundingClientRect().right"
    left = "document.querySelector('main section').getBoundingClientRect().left"
    assert 0 < at_desk.run(right) <= at_desk.run(left)
    at_desk.run("scrollTo(0, 2000)")
    assert 0 <= at_desk.run("document.querySelector('nav').getBoundingClientRect().top") < 100
    at_desk.resize(1920, 1080)
    assert 0 < at_desk.run(right) <= at_desk.run(left)
    assert on_phone.run("getComputedStyle(document.querySelector('nav')).position") == "static"


def test_the_first_figures_of_every_table_are_visible_on_a_phone(on_phone: Tab) -> None:
    assert on_phone.run("document.querySelectorAll('main table.figures').length") > 0
    assert on_phone.run(UNSEEN) == []


def test_the_browser_reports_no_fault_of_a_recorded_page(at_desk: Tab, on_phone: Tab) -> None:
    assert [*at_desk.complaints, *on_phone.complaints] == []


@pytest.mark.parametrize(
    "name",
    ["udp-mirror-lab-unshaped", pytest.param("udp-mirror-lab-pinned", marks=pytest.mark.night)],
)
def test_a_comparison_on_the_first_screen_leads_to_its_own_table(
    browser: Browser, name: str
) -> None:
    tab = opened(browser, name, DESK)
    led = tab.run(
        "[...document.querySelectorAll('.compared li')].map((each) => [each.textContent,"
        " document.getElementById(each.querySelector('a').hash.slice(1))"
        ".querySelector('caption').textContent])"
    )
    assert len(led) >= 2
    for line, caption in led:
        assert line.partition(":")[0].strip() == caption.partition(":")[0].strip()


def test_a_click_on_a_column_head_sorts_a_table_and_typed_text_filters_another(
    browser: Browser,
) -> None:
    tab = opened(browser, "udp-mirror-lab-unshaped", DESK)
    column = (
        "[...document.querySelector('#round-trip').parentElement"
        ".querySelector('table').tBodies[0].rows]"
        ".map((row) => parseFloat(row.cells[3].textContent))"
    )
    head = "section[aria-labelledby=round-trip] tr.columns th:nth-child(4) .sort"
    figures = tab.run(column)
    tab.click(head)
    assert tab.run(column) == sorted(figures) != figures
    tab.click(head)
    assert tab.run(column) == sorted(figures, reverse=True)
    tab = opened(browser, "lab-report", DESK)
    tab.run("document.querySelector('#pairing-1 .filter input').focus()")
    tab.type("60 KiB")
    visible = (
        "[...document.querySelector('#pairing-1 table').tBodies[0].rows].filter((r) => !r.hidden)"
    )
    assert tab.run(f"{visible}.length") == 1


def test_the_corner_of_a_table_scrolled_sideways_stays_in_front_of_its_columns(
    browser: Browser,
) -> None:
    tab = opened(browser, "lab-report", PHONE)
    over = tab.run(
        "(() => { const box = document.querySelector('#pairing-1 .wide');"
        " box.scrollIntoView(); box.scrollLeft = 120;"
        " const r = box.querySelector('.corner').getBoundingClientRect();"
        " return document.elementFromPoint(r.right - 6, r.bottom - 8).closest('th').className; })()"
    )
    assert over == "corner"


def test_the_first_column_of_a_table_stays_visible_when_scrolled_sideways(browser: Browser) -> None:
    tab = opened(browser, "udp-mirror-lab-unshaped", PHONE)
    geometry = tab.run(
        "(() => { const box = document.querySelector('#round-trip').parentElement"
        ".querySelector('.wide'); const head = box.querySelector('tbody th');"
        " const before = head.getBoundingClientRect().left; box.scrollLeft = 300;"
        " return [box.scrollLeft, head.getBoundingClientRect().left - before,"
        " head.getBoundingClientRect().width]; })()"
    )
    assert geometry[0] == 300
    assert abs(geometry[1]) < 1
    assert geometry[2] < 0.45 * PHONE[0]


def test_a_switch_turns_the_page_dark_and_back(browser: Browser) -> None:
    tab = opened(browser, "nettest-lab", DESK)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.run(paper)
    tab.click("[data-scheme]")
    assert tab.run(paper) != light
    tab.click("[data-scheme]")
    assert tab.run(paper) == light
