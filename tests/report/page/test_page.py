"""The page works in a real browser: opened from disk, by keyboard, on a phone and on paper."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Tab
from folders import FIXTURES, REPORTS
from made_parts import made_run
from made_readings import (
    drawn_ns,
    failure,
    of_round_trips,
    plan_of,
    planned,
    result,
)
from made_reports import copied, drawn_here, write_undrawn
from needs import AXE

from netlab.findings.analysis import load
from netlab.report import write_report

HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
)

pytestmark = pytest.mark.needs("chromium")

IN_TABLE = "section:not(.front) td button[data-cell]"
FIRST = f"document.querySelector('{IN_TABLE}')"
OPEN = "document.getElementById('cell').open"
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of streams that were measured: series of intervals, CPU, findings, charts."""
    run = load(copied(FIXTURES / "limits-linux", tmp_path_factory.mktemp("measured")))
    with drawn_here():
        return write_report(run)


@pytest.fixture(scope="module")
def lab_report() -> Path:
    """The page of 416 cells."""
    return REPORTS / "lab-report" / "index.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run whose hosts and files say what they like, of every kind of test."""
    cells = [
        planned("round_trip", interface=HOSTILE),
        planned("stream", interface=HOSTILE, message_bytes=64),
        planned("payload_search", interface=HOSTILE),
    ]
    values: dict[str, Any] = {
        "throughput_bit_per_s": 48e6,
        "receiver_interval_ns": 100_000_000,
        "receiver_interval_bytes": [600_000, 610_000, 590_000],
        "receiver_elapsed_ns": 300_000_000,
        HOSTILE: HOSTILE,
    }
    records = [
        result(cells[0], 1, of_round_trips(drawn_ns(200, 90, 1), said=HOSTILE)),
        *(result(cells[1], n, values, server=HOSTILE) for n in (1, 2)),
        failure(cells[2], detail=HOSTILE),
    ]
    plan = plan_of(cells, 2, title=HOSTILE, matrix_text=HOSTILE)
    return write_undrawn(made_run(tmp_path_factory.mktemp("hostile"), plan, records))


def opened(browser: Browser, page: Path, *size: int, scheme: str = "light") -> Tab:
    tab = browser.tab(*size, scheme=scheme)
    tab.open(page)
    return tab


def open_first_cell(tab: Tab) -> None:
    tab.click(IN_TABLE)
    tab.until(OPEN)


def test_a_page_opened_from_disk_requests_no_other_address(
    browser: Browser, measured: Path
) -> None:
    tab = opened(browser, measured)
    open_first_cell(tab)
    assert tab.complaints == []
    tab.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert tab.asked_for == [measured.resolve().as_uri()]
    assert tab.complaints
    assert all("Content Security Policy" in complaint for complaint in tab.complaints)
    assert tab.run("[...document.images].every((image) => image.naturalWidth > 100)")


def test_a_click_on_a_figure_opens_the_cell_with_its_record_intervals_and_findings(
    browser: Browser, measured: Path
) -> None:
    run = load(measured.parent)
    cell = run.plan.cells[0]
    record = run.latest[cell.key, 1]
    tab = opened(browser, measured)
    open_first_cell(tab)
    text = tab.run("document.getElementById('cell').textContent")
    assert cell.key in text
    assert record.started_at in text
    assert str(record.values["sender_tcp_end_rtt_us"]) in text
    points = tab.run("document.querySelector('#cell polyline').getAttribute('points').split(' ')")
    intervals = record.values["receiver_interval_bytes"]
    assert isinstance(intervals, list)
    least = [n for n, interval in enumerate(intervals) if interval == min(intervals)]
    assert len(points) == len(intervals)
    heights = [-float(point.split(",")[1]) for point in points]
    assert heights.index(min(heights)) in least
    assert tab.run("document.querySelectorAll('#cell .findings li').length") >= 1
    assert tab.run("document.querySelector('#cell svg[role=img]').getAttribute('aria-label')")
    tab.click("#cell [data-close]")
    assert not tab.run(OPEN)
    assert tab.complaints == []


def test_typing_part_of_a_name_filters_the_values_of_a_record(
    browser: Browser, measured: Path
) -> None:
    tab = opened(browser, measured)
    open_first_cell(tab)
    tab.run("document.querySelector('#cell-body > details').open = true")
    tab.run("document.querySelector('#cell input').focus()")
    tab.type("tcp_end_rtt")
    names = tab.run(
        "[...document.querySelectorAll('#cell-body > details tbody tr')]"
        ".filter((row) => row.offsetParent).map((row) => row.firstChild.textContent)"
    )
    assert {name.partition("tcp_")[2] for name in names} == {"end_rtt_us", "end_rttvar_us"}


def test_cells_can_be_reached_opened_and_closed_with_the_keyboard_alone(
    browser: Browser, measured: Path
) -> None:
    tab = opened(browser, measured)
    for _ in range(60):
        tab.press("Tab")
        if tab.run(f"{FOCUSED}.matches('{IN_TABLE}')"):
            break
        outline = tab.run(f"getComputedStyle({FOCUSED}).outlineStyle")
        assert outline not in ("none", ""), tab.run(f"{FOCUSED}.outerHTML.slice(0, 200)")
    assert tab.run(f"{FOCUSED} === {FIRST}")
    assert tab.run(f"parseFloat(getComputedStyle({FOCUSED}).outlineWidth)") >= 2
    tab.press("ArrowRight")
    column = tab.run(f"{FOCUSED}.closest('td').cellIndex")
    assert column == tab.run(f"{FIRST}.closest('td').cellIndex") + 1
    tab.press("Enter")
    tab.until(OPEN)
    name = tab.run("document.getElementById('cell-name').textContent")
    assert tab.run(f"document.getElementById('cell').contains({FOCUSED})")
    for _ in range(12):
        tab.press("Tab")
        assert tab.run(f"{FOCUSED} === document.body || {FOCUSED}.closest('#cell') !== null")
    tab.press("Escape")
    tab.until(f"!{OPEN}")
    assert tab.run(f"{FOCUSED}.closest('td').cellIndex") == column
    tab.press("ArrowLeft")
    tab.press("Enter")
    tab.until(OPEN)
    assert tab.run("document.getElementById('cell-name').textContent") != name


def test_each_table_is_a_single_stop_of_the_tab_key(browser: Browser, lab_report: Path) -> None:
    tab = opened(browser, lab_report)
    stops = tab.run(
        "[...document.querySelectorAll('table')].map((table) =>"
        " [table.querySelectorAll('button[data-cell]').length,"
        " table.querySelectorAll('button[data-cell][tabindex=\"0\"]').length])"
    )
    assert sum(figures for figures, _ in stops) >= 416
    assert {tab_stops for figures, tab_stops in stops if figures} == {1}


def test_an_opened_cell_leads_to_its_neighbours_up_to_the_first_and_last_cell_of_the_plan(
    browser: Browser, lab_report: Path
) -> None:
    cells = [cell.key for cell in load(lab_report.parent).plan.cells]
    tab = opened(browser, lab_report)

    def key() -> str:
        return str(tab.run("document.querySelector('#cell code').textContent"))

    tab.click('button[data-cell="0"]')
    tab.until(OPEN)
    assert key() == cells[0]
    assert tab.run("document.querySelector('[data-step=\"-1\"]').disabled")
    tab.click('[data-step="1"]')
    tab.until(f"document.querySelector('#cell code').textContent === {json.dumps(cells[1])}")
    tab.press("Escape")
    tab.click(f'button[data-cell="{len(cells) - 1}"]')
    tab.until(OPEN)
    assert key() == cells[-1]
    assert tab.run("document.querySelector('[data-step=\"1\"]').disabled")


def test_a_cell_without_a_figure_opens_and_states_the_reason(
    browser: Browser, lab_report: Path
) -> None:
    run = load(lab_report.parent)
    place, cell = next(
        (place, cell)
        for place, cell in enumerate(run.plan.cells)
        if run.latest[cell.key, 1].reason == "not-recorded"
    )
    tab = opened(browser, lab_report)
    tab.click(f'button[data-cell="{place}"]')
    tab.until(OPEN)
    text = tab.run("document.getElementById('cell').textContent")
    assert cell.key in text
    assert "no value here" in text


@pytest.mark.parametrize("name", ["measured", "lab_report", "hostile"])
def test_a_page_on_a_phone_needs_no_sideways_scrolling_even_with_an_opened_cell(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    tab = opened(browser, request.getfixturevalue(name), 360, 740)
    tab.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert tab.run("document.documentElement.scrollWidth") <= 360
    open_first_cell(tab)
    tab.run("document.querySelectorAll('#cell details').forEach((each) => (each.open = true))")
    across = "((d) => d.scrollWidth - d.clientWidth)(document.getElementById('cell'))"
    assert tab.run(across) <= 0
    assert tab.run("document.getElementById('cell').getBoundingClientRect().right") <= 360


@pytest.mark.parametrize("name", ["measured", "lab_report"])
def test_a_printed_page_fits_a4_paper_and_shows_no_controls(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    tab = opened(browser, request.getfixturevalue(name))
    tab.emulate(media="print")
    # A4 without the margins that the page asks for: 182 mm at 96 pixels an inch.
    tab.resize(688, 1000)
    too_wide = tab.run(
        "[...document.querySelectorAll('main *')].filter((each) =>"
        " each.getBoundingClientRect().right > 689 && !each.closest('svg'))"
        ".map((each) => each.outerHTML.slice(0, 120))"
    )
    assert too_wide == []
    script = "[...document.querySelectorAll('nav, dialog')].every((each) => !each.offsetParent)"
    assert tab.run(script)
    tab.emulate()
    pdf = tab.printed()
    boxes = {tuple(map(float, box.split())) for box in media_boxes(pdf)}
    assert {(round(w), round(h)) for _, _, w, h in boxes} <= {(595, 842), (594, 841), (595, 841)}
    assert 2 <= len(media_boxes(pdf)) <= 20


def media_boxes(pdf: bytes) -> list[str]:
    """The paper of each page: four numbers in points."""
    text = pdf.decode("latin-1")
    for packed in re.finditer(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            text += zlib.decompress(packed.group(1)).decode("latin-1")
        except zlib.error:
            continue
    return re.findall(r"/MediaBox\s*\[([^\]]+)\]", text)


def test_texts_from_hosts_and_files_are_shown_on_the_page_and_never_executed(
    browser: Browser, hostile: Path
) -> None:
    tab = opened(browser, hostile)
    cells = len(load(hostile.parent).plan.cells)
    for place in range(cells):
        tab.click(f'button[data-cell="{place}"]')
        tab.until(OPEN)
        tab.run("document.querySelectorAll('#cell details').forEach((each) => (each.open = true))")
        assert HOSTILE in tab.run("document.getElementById('cell').textContent")
        tab.press("Escape")
        tab.until(f"!{OPEN}")
    assert tab.run("document.title") == HOSTILE
    assert tab.run("document.querySelectorAll('img[src=x]').length") == 0
    assert tab.run("document.scripts.length") == 3
    assert tab.asked_for == [hostile.resolve().as_uri()]
    assert tab.complaints == []


@pytest.mark.needs("axe")
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("measured", "light"),
        ("hostile", "dark"),
        pytest.param("measured", "dark", marks=pytest.mark.night),
        pytest.param("lab_report", "light", marks=pytest.mark.night),
    ],
)
def test_an_accessibility_checker_finds_no_violation_on_a_page_or_in_an_opened_cell(
    browser: Browser, name: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    tab = opened(browser, request.getfixturevalue(name), scheme=scheme)
    tab.run(AXE.read_text("utf-8") + "; 0")
    assert faults(tab) == []
    open_first_cell(tab)
    tab.run("document.querySelectorAll('#cell details').forEach((each) => (each.open = true))")
    assert faults(tab) == []


def faults(tab: Tab) -> list[str]:
    """What axe-core complains of, by all of its rules: WCAG 2.2 A and AA, and best practices."""
    elements = tab.run(
        "axe.run({resultTypes: ['violations']}).then((r) => r.violations.map((v) =>"
        " `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`))"
    )
    return [str(element)[:600] for element in elements]


def test_the_page_follows_the_light_or_dark_preference_of_the_browser(
    browser: Browser, measured: Path
) -> None:
    def paper(scheme: str) -> int:
        tab = opened(browser, measured, scheme=scheme)
        colour = tab.run("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert paper("light") == 3 * 255
    assert paper("dark") < 120
