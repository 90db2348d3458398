"""The page's charts answer to pointer, finger and keyboard in a real browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Tab
from folders import REPORTS, ROOT
from made_parts import made_run
from made_readings import plan_of, planned, result
from made_reports import RECORDED, write_undrawn

from netlab.report.language import wording_in
from netlab.report.page import packed_charts
from netlab.report.tables.elements import Band, Chart, Curve, HeatMap, Panel, Strip

AXE = ROOT / ".venv/axe/node_modules/axe-core/axe.min.js"
VENDOR = ROOT / "netlab" / "report" / "page" / "vendor"
HOSTILE = "</script><script>document.title='owned'</script><b>"
DESK = (1400, 900)
MEANS = {64: 80.0, 512: 90.0, 1472: 94.0}
"""Message size in bytes → Mbit/s of the middle one of three trials."""
FIGURE = "document.querySelector('#chart-message-size-udp')"
TOLD = f"{FIGURE}.querySelector('.told').textContent"


def chart_of(**more: Any) -> Chart:
    line = Curve("LL", 0, ((64.0, 88.123456789), (512.0, None)), half_widths=(0.5, None))
    fields: dict[str, Any] = {"name": "c", "title": "T", "x_label": "x", "x_ticks": ((64.0, "64"),)}
    return Chart(**{**fields, "log_x": True, "lines": (line,), **more})


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_vendored_script_files_match_their_published_digests_and_total_under_200_kilobytes() -> (
    None
):
    digests = dict(
        re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", (VENDOR / "README.md").read_text())
    )
    files = {path.name: path.read_bytes() for path in VENDOR.iterdir() if path.name != "README.md"}
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert sum(map(len, files.values())) < 200_000


def test_packed_chart_data_hold_the_figures_of_the_chart() -> None:
    (chart_data,) = unpacked(packed_charts([chart_of()])).values()
    assert chart_data["panels"][0]["lines"] == [
        {
            "label": "LL",
            "place": 0,
            "joined": True,
            "x": [64.0, 512.0],
            "y": [88.1235, None],
            "half": [0.5, None],
        }
    ]


SQUARE = HeatMap(
    name="h",
    title="H",
    unit="Mbit/s",
    rows=("a", "b"),
    columns=("a", "b"),
    values=((None, 94.1), (26.3, None)),
    inside=((1e4, None), (None, None)),
)


def test_time_charts_and_heat_maps_are_interactive_but_bars_and_backward_lines_are_not() -> None:
    strip = Strip("s", "S", "minutes", (Panel("LL", "%", (Curve("", 0, ((0.0, 1.0),)),)),))
    back = chart_of(name="back", lines=(Curve("", 0, ((2.0, 1.0), (1.0, 1.0))),))
    data = unpacked(packed_charts([strip, SQUARE, back, chart_of(as_bars=True)]))
    assert [*data] == ["s", "h"]
    assert data["s"]["panels"][0]["title"] == "LL"
    assert data["h"]["values"] == [[None, 94.1], [26.3, None]]
    assert packed_charts([back]) == ""


def test_packed_data_of_a_chart_over_time_hold_its_named_bands() -> None:
    panels = (Panel("round trip", "ms", (Curve("", 0, ((0.0, 1.0),)),)),)
    strip = Strip("s", "S", "seconds", panels, (Band(0.5, 2.1234567, "idle"),), from_zero=True)
    (chart_data,) = unpacked(packed_charts([strip])).values()
    assert chart_data["bands"] == [[0.5, 2.12346, "idle"]]
    assert chart_data["fromZero"] is True


def test_packed_data_of_a_chart_hold_one_entry_per_panel() -> None:
    lines = (Curve("1 stream", 0, ((64.0, 1.0),)),)
    panels = (Panel("LL", "%", lines), Panel("WL", "%", lines))
    (chart_data,) = unpacked(packed_charts([chart_of(panels=panels)])).values()
    assert [panel["title"] for panel in chart_data["panels"]] == ["LL", "WL"]


def a_page(folder: Path, language: str = "en", title: str = "made up") -> Path:
    """LL and WL over three message sizes, three trials each; WL has a tenth of LL."""
    cells, records = [], []
    for pairing, share in (("LL", 1.0), ("WL", 0.1)):
        for size, mean in MEANS.items():
            cell = planned("stream", pairing, message_bytes=size)
            cells.append(cell)
            records += [
                result(cell, n, {"throughput_bit_per_s": (mean + n - 2) * share * 1e6})
                for n in (1, 2, 3)
            ]
    run = made_run(folder, plan_of(cells, 3, title=title), records)
    return write_undrawn(run, wording_in(language))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_page(tmp_path_factory.mktemp("made"))


def explored(browser: Browser, page: Path, *size: int, scheme: str = "light") -> Tab:
    """The page, its chart over message sizes in the middle of the screen and alive."""
    tab = browser.tab(*(size or DESK), scheme=scheme)
    tab.open(page)
    tab.run(f"{FIGURE}.scrollIntoView({{block: 'center'}})")
    tab.until(f"{FIGURE}.classList.contains('explored')")
    tab.until(f"{FIGURE}.querySelector('canvas')")
    return tab


def place_of(tab: Tab, share: float) -> tuple[float, float]:
    """A place within the plot, so much of its width from the left."""
    x, y, wide, high = tab.run(
        f"(() => {{ const r = {FIGURE}.querySelector('.u-over').getBoundingClientRect();"
        " return [r.x, r.y, r.width, r.height]; })()"
    )
    return x + share * wide, y + high / 2


def button(tab: Tab, words: str) -> None:
    tab.run(
        f"[...{FIGURE}.querySelectorAll('.controls button')]"
        f".find((each) => each.textContent === {json.dumps(words)}).click()"
    )


needs_browser = pytest.mark.needs("chromium")


@needs_browser
def test_pointing_at_a_chart_shows_the_figure_of_every_line_at_that_place(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    tab.point(*place_of(tab, 0.02))
    tab.until(f"{TOLD}.startsWith('64')")
    assert tab.run(TOLD) == "64: LL 80.0 ± 2.5 Mbit/s; WL 8.00 ± 0.25 Mbit/s"
    tab.point(*place_of(tab, 0.98))
    tab.until(f"{TOLD}.startsWith('1472')")
    assert "LL 94.0 ± 2.5" in tab.run(TOLD)
    assert tab.complaints == []


@needs_browser
def test_a_tap_on_a_phone_shows_the_figures_of_a_chart(browser: Browser, made: Path) -> None:
    tab = explored(browser, made, 390, 844)
    tab.touch(*place_of(tab, 0.98))
    tab.until(f"{TOLD}.startsWith('1472')")
    assert tab.run("document.documentElement.scrollWidth") <= 390


@needs_browser
def test_arrow_keys_announce_every_point_of_every_line_of_a_chart(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    tab.run(f"{FIGURE}.querySelector('.plots').focus()")
    announcements = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "Home", "End"):
        tab.press(key)
        announcements.append(tab.run(TOLD).replace(" Mbit/s", ""))
    assert [re.sub(r" ± [\d.]+", "", announcement) for announcement in announcements] == [
        *("64: LL 80.0", "512: LL 90.0", "1472: LL 94.0"),
        *("1472: WL 9.40", "512: WL 9.00", "64: WL 8.00", "1472: WL 9.40"),
    ]
    assert tab.run(f"{FIGURE}.querySelector('.told').ariaLive") == "polite"


@needs_browser
def test_arrow_keys_stay_within_a_zoomed_chart_and_the_key_0_shows_the_whole_chart(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    tab.run(f"{FIGURE}.querySelector('.plots').focus()")
    whole_button = f"[...{FIGURE}.querySelectorAll('.controls button')].at(-1)"
    assert tab.run(f"{whole_button}.disabled")
    for key in ("End", "+", "+", "Home"):
        tab.press(key)
    assert tab.run(TOLD).startswith("1472: LL 94")
    assert not tab.run(f"{whole_button}.disabled")
    for key in ("0", "Home"):
        tab.press(key)
    assert tab.run(TOLD).startswith("64: LL 80")
    assert tab.run(f"{whole_button}.disabled")


@needs_browser
def test_dragging_zooms_a_chart_and_a_double_click_shows_the_whole_chart(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    tab.point(*place_of(tab, 0.45))
    tab.point(*place_of(tab, 0.45), kind="mousePressed")
    tab.point(*place_of(tab, 0.8))
    tab.point(*place_of(tab, 0.8), kind="mouseReleased")
    tab.point(*place_of(tab, 0.01))
    tab.until(f"{TOLD}.startsWith('512')")  # the only one between
    twice = "new MouseEvent('dblclick', {bubbles: true})"
    tab.run(f"{FIGURE}.querySelector('.u-over').dispatchEvent({twice})")
    tab.point(*place_of(tab, 0.02))
    tab.until(f"{TOLD}.startsWith('64')")


@needs_browser
def test_a_click_in_the_legend_hides_a_line_and_a_second_click_shows_the_line_again(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    button(tab, "WL")
    tab.point(*place_of(tab, 0.02))
    tab.until(f"{TOLD}.startsWith('64')")
    assert "WL" not in tab.run(TOLD)
    pressed = f"{FIGURE}.querySelectorAll('.controls [aria-pressed=true]').length"
    count = tab.run(pressed)
    button(tab, "WL")
    assert tab.run(pressed) == count + 1
    assert "WL 8.00" in tab.run(TOLD)


@needs_browser
def test_a_chart_can_show_shares_of_the_wire_ceiling_at_each_message_size(
    browser: Browser, made: Path
) -> None:
    tab = explored(browser, made)
    button(tab, "share of the ceiling")
    tab.point(*place_of(tab, 0.98))
    tab.until(f"{TOLD}.startsWith('1472')")
    assert tab.run(TOLD).startswith("1472: LL 98.2 ± 2.6 %")  # of 95.709 Mbit/s
    button(tab, "logarithmic")
    assert tab.run(TOLD).startswith("1472: LL 98.2 ± 2.6 %")


@needs_browser
def test_the_drawn_picture_is_shown_on_paper_and_without_javascript(
    browser: Browser, made: Path
) -> None:
    visibility = "[...document.querySelectorAll('.charts img')].every((e) => e.checkVisibility())"
    tab = explored(browser, made)
    assert not tab.run(f"{FIGURE}.querySelector('img').checkVisibility()")
    tab.emulate(media="print")
    assert tab.run(f"{FIGURE}.querySelector('img').checkVisibility()")
    assert not tab.run(f"{FIGURE}.querySelector('.live-chart').checkVisibility()")
    bare = browser.tab(*DESK)
    bare.call("Emulation.setScriptExecutionDisabled", value=True)
    bare.open(made)
    bare.call("Emulation.setScriptExecutionDisabled", value=False)
    assert bare.run(visibility)
    assert bare.run("document.querySelectorAll('.explored').length") == 0


@needs_browser
def test_the_lines_of_a_chart_have_the_colours_of_the_scheme_of_the_page(
    browser: Browser, made: Path
) -> None:
    style = (VENDOR.parent / "page.css").read_text("utf-8")
    (pair,) = re.findall(r"--look-0: light-dark\(#(\w{6}), #(\w{6})\)", style)
    light, dark = ([int(colour[n : n + 2], 16) for n in (0, 2, 4)] for colour in pair)

    def pixels(colour: list[int]) -> str:
        return (
            f"(() => {{ const c = {FIGURE}.querySelector('canvas'), d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; let count = 0;"
            " for (let p = 0; p < d.length; p += 4)"
            f" if ({json.dumps(colour)}.every((v, n) => d[p + n] === v))"
            " count++;"
            " return count; })()"
        )

    tab = explored(browser, made)
    tab.until(f"{pixels(light)} > 50")
    assert tab.run(pixels(dark)) == 0
    tab.click("[data-scheme]")
    tab.until(f"{pixels(dark)} > 50")
    assert tab.run(pixels(light)) == 0


@needs_browser
def test_a_german_chart_shows_decimal_commas(browser: Browser, tmp_path: Path) -> None:
    tab = explored(browser, a_page(tmp_path, "de"))
    tab.point(*place_of(tab, 0.98))
    tab.until(f"{TOLD}.startsWith('1472')")
    assert "WL 9,40 ± 0,25 Mbit/s" in tab.run(TOLD)


@needs_browser
def test_a_run_title_with_script_tags_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    tab = explored(browser, a_page(tmp_path, title=HOSTILE))
    assert tab.run("document.title") == HOSTILE
    assert tab.complaints == []


@needs_browser
@pytest.mark.needs("axe")
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.night)])
def test_an_accessibility_checker_finds_no_violation_on_a_page_with_interactive_charts(
    browser: Browser, made: Path, scheme: str
) -> None:
    tab = explored(browser, made, scheme=scheme)
    tab.run(AXE.read_text("utf-8") + "; 0")
    violations = tab.run(
        "axe.run({resultTypes: ['violations']}).then((r) => r.violations.map((v) =>"
        " `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`))"
    )
    assert violations == []


@needs_browser
def test_arrow_keys_on_a_heat_map_announce_the_places_with_their_figures(browser: Browser) -> None:
    tab = browser.tab(*DESK)
    tab.open(REPORTS / "connection-kinds" / "index.html")
    data = unpacked(tab.run("document.getElementById('charts-data').textContent"))
    (name, square), *_ = [(name, chart) for name, chart in data.items() if "rows" in chart]
    figure = f"document.getElementById('chart-{name}')"
    query = f"{figure}.querySelector('.told').textContent"
    tab.run(f"{figure}.scrollIntoView({{block: 'center'}})")
    tab.until(f"{figure}.querySelector('.heat-live')")
    tab.run(f"{figure}.querySelector('.plots').focus()")
    for row, column, key in ((0, 0, ""), (0, 1, "ArrowRight"), (1, 1, "ArrowDown")):
        if key:
            tab.press(key)
        value = square["values"][row][column] or square["inside"][row][column]
        announcement = tab.run(query)
        assert square["rows"][row] in announcement
        assert square["columns"][column] in announcement
        assert ("no figure" if value is None else f"{float(f'{value:.4g}'):,g}") in announcement
    assert tab.complaints == []


@needs_browser
@pytest.mark.parametrize(
    "name",
    [
        "payload-lab",
        "nettest-lab-unshaped",
        *(
            pytest.param(path.name, marks=pytest.mark.night)
            for path in RECORDED
            if path.name != "nettest"  # its page has no chart
        ),
    ],
)
def test_every_chart_of_a_recorded_page_becomes_interactive_and_answers_to_arrow_keys(
    browser: Browser, name: str
) -> None:
    tab = browser.tab(*DESK)
    tab.open(REPORTS / name / "index.html")
    data = tab.run("document.getElementById('charts-data').textContent")
    for chart in unpacked(data):
        figure = f"document.getElementById('chart-{chart}')"
        tab.run(f"{figure}.scrollIntoView()")
        tab.until(f"{figure}.querySelector('canvas, .heat-live')")
        tab.run(f"{figure}.querySelector('.plots').focus()")
        tab.press("Home")
        tab.press("ArrowRight")
        assert re.search(
            r"\w: (.*\d|no figure)", tab.run(f"{figure}.querySelector('.told').textContent")
        )
    assert tab.complaints == []
