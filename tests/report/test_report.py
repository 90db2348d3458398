"""The report as files: what is written, the page's soundness, its bytes, and hostile names."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import made_readings as made
import pytest

from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, Status, Value
from netlab.findings.analysis import Analysis, load
from netlab.report import overview_text, write_report
from netlab.report.draw.parallel import draw
from netlab.report.tables.charts import MAX_CHARTS, charts
from netlab.report.tables.elements import Chart, Curve
from netlab.results.layout import lay_out
from netlab.results.readings import readings
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder

HOSTILE = '"><script>alert(1)</script>&<!--\x1b[31m\n|`=cmd`'


def planned(pairing: str = "LL", **settings: Value) -> PlannedCell:
    asked: dict[str, Value] = {
        "protocol": "UDP",
        "message_bytes": 64,
        "socket_buffer_bytes": 16384,
        "duration_s": 1.0,
        **settings,
    }
    key = "-".join([pairing, *(re.sub(r"\W+", "", str(value)) for value in asked.values())])
    return PlannedCell(key, pairing, "stream", asked)


def result(cell: PlannedCell, trial: int = 1, **keys: Any) -> Record:
    values = {"throughput_bit_per_s": 48e6, "sent_messages": 1000, "lost_messages": 0}
    return Record(
        **{
            "cell": cell.key,
            "trial": trial,
            "attempt": 1,
            "status": Status.OK,
            "pairing": cell.pairing,
            "server": "alpha",
            "client": "beta",
            "test": cell.test,
            "started_at": "2026-01-31T12:00:00.000000Z",
            "settings": cell.settings,
            "values": values,
            **keys,
        }
    )


def failure(cell: PlannedCell, reason: str = "no-traffic", **keys: Any) -> Record:
    return result(cell, **{"status": Status.FAILED, "reason": reason, "values": {}, **keys})


def make_run(
    beneath: Path,
    cells: list[PlannedCell],
    records: list[Record] | None = None,
    notes: list[tuple[str, dict[str, Any]]] | None = None,
    **plan: Any,
) -> Analysis:
    """Make a run folder out of cells, records and notes, and read it."""
    fields: dict[str, Any] = {
        "title": "made up",
        "content": {},
        "content_hash": "0" * 64,
        "matrix_text": "title: made up\n",
        "link": Link(1e8, 1500),
        "repeats": 1,
        **plan,
    }
    path = beneath / f"run-{len(list(beneath.iterdir()))}"
    with RunFolder.open_for_writing(path, Plan(cells=tuple(cells), **fields)) as folder:
        for kind, data in notes or []:
            folder.note(kind, **data)
        for record in [result(cell) for cell in cells] if records is None else records:
            folder.append(record)
    return load(path)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Analysis]:
    """Make runs in a folder of the test's own."""
    return partial(make_run, tmp_path)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A run of several cells whose report is written."""
    run = make_run(tmp_path_factory.mktemp("several"), several_cells())
    write_report(run)
    return run


def files_of(run: Analysis) -> dict[str, bytes]:
    """Each file of a run folder, by its name in it."""
    return {
        str(path.relative_to(run.path)): path.read_bytes()
        for path in run.path.rglob("*")
        if path.is_file()
    }


SCRIPTS: list[dict[str, str | None]] = [{"type": "application/json", "id": "cells"}, {}]
"""The records as data, and the one script that shows them."""


class Page(HTMLParser):
    """A page's elements, and whether they are nested as HTML wants it."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read_page(run: Analysis) -> Page:
    return Page(write_report(run).read_text(encoding="utf-8"))


def page_of(run: Analysis) -> Page:
    """The page that is written already."""
    return Page((run.path / "index.html").read_text(encoding="utf-8"))


def several_cells() -> list[PlannedCell]:
    return [
        planned(pairing, protocol=protocol, message_bytes=size, socket_buffer_bytes=buffer)
        for pairing, protocol, size, buffer in product(
            ("LL", "WL"), ("TCP", "UDP"), (64, 1500), (16384, 32768)
        )
    ]


def test_a_report_is_tables_charts_and_a_page_beside_the_run(several: Analysis) -> None:
    written = set(files_of(several))
    assert {"index.html", "tables.md", "tables.csv", "tables.tex"} <= written
    pictures = {name for name in written if name.startswith("charts/")}
    assert {Path(name).suffix for name in pictures} == {".png", ".svg", ".pdf"}
    assert len(pictures) == 2 * 3 * (2 + 4)


def test_rendering_the_same_run_twice_gives_the_same_bytes(several: Analysis) -> None:
    first = files_of(several)
    (several.path / "tables.md").unlink()
    assert write_report(several) == several.path / "index.html"
    assert files_of(several) == first


def test_another_process_with_another_hash_seed_and_clock_gives_the_same_bytes(
    several: Analysis,
) -> None:
    before = files_of(several)
    (several.path / "tables.md").unlink()
    code = (
        "import sys, netlab; from netlab.report import write_report;"
        "write_report(netlab.load(sys.argv[1]))"
    )
    other = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1"}
    command = [sys.executable, "-c", code, str(several.path)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", **other})
    assert files_of(several) == before


def test_charts_that_a_run_has_no_more_are_removed_and_strange_files_stay(
    make: Callable[..., Analysis],
) -> None:
    run = make([planned()])
    (run.path / "charts").mkdir()
    (run.path / "charts" / "old.svg").write_text("old")
    (run.path / "charts" / "notes.txt").write_text("mine")
    write_report(run)
    assert not (run.path / "charts" / "old.svg").exists()
    assert (run.path / "charts" / "notes.txt").read_text() == "mine"


def test_the_page_is_one_sound_file_that_needs_nothing_from_elsewhere(several: Analysis) -> None:
    page = page_of(several)
    assert page.all("html") == [{"lang": "en"}]
    assert page.all("script") == SCRIPTS
    assert not page.all("link")
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert Counter(identifiers).most_common(1)[0][1] == 1
    targets = [str(link["href"]) for link in page.all("a")]
    assert all(target.startswith("#") and target[1:] in identifiers for target in targets)
    images = page.all("img")
    assert len(images) == 6
    for image in images:
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
        assert str(image["alt"]).startswith("Line chart: ")
        ET.fromstring(base64.b64decode(str(image["src"]).partition(",")[2]))  # noqa: S314
    style = page.text
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_s_own_policy_names_its_one_script_and_style_and_allows_no_other(
    make: Callable[..., Analysis],
) -> None:
    text = write_report(make([planned()])).read_text(encoding="utf-8")
    policy = next(
        str(meta["content"])
        for meta in Page(text).all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'{digest(style)}'"
    assert rules["script-src"] == f"'{digest(script)}'"
    assert " style=" not in text


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_means_have_their_share_of_the_ceiling_beside_them(make: Callable[..., Analysis]) -> None:
    cells = [planned("LL"), planned("WL")]
    page = read_page(make(cells))
    assert len([a for a in page.all("span") if a.get("class") == "share"]) == 3
    assert f"{100 * 48 / 49.231:.1f}" in page.text
    without = read_page(make(cells, link=None))
    assert not [a for a in without.all("span") if a.get("class") == "share"]


def test_the_page_begins_with_what_was_measured_between_whom_and_when(
    make: Callable[..., Analysis],
) -> None:
    text = read_page(make([planned("LL"), planned("WL")])).text
    for words in (
        "Measured: the throughput of streams over UDP, messages of 64 bytes.",
        "Between: pairings LL and WL, server first: L Linux, W Windows.",
        "Each cell once, on 2026-01-31 at 12:00 UTC.",
        "All of them have a result.",
    ):
        assert words in text


def test_counters_go_on_by_themselves_and_are_no_change_of_a_host(
    make: Callable[..., Analysis],
) -> None:
    def facts(when: str, sent: int) -> tuple[str, dict[str, Any]]:
        counted = {"interface_sent_bytes": sent, "governor": "performance"}
        return ("facts", {"host": "alpha", "when": when, "facts": counted})

    page = read_page(make([planned()], None, [facts("before", 1), facts("after", 2)]))
    assert "Nothing that was noted of a host before and after changed" in page.text
    assert {"class": "changed"} not in page.all("td")


def test_every_heading_of_a_table_has_its_scope(several: Analysis) -> None:
    page = page_of(several)
    assert len(page.all("th")) > 50
    assert {heading.get("scope") for heading in page.all("th")} == {"col", "colgroup", "row"}
    assert len(page.all("caption")) >= 3


def test_names_and_errors_of_hosts_are_escaped_wherever_they_appear(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(interface=HOSTILE), planned(interface="b", pairing="<b>")]
    records = [
        result(cells[0], server=HOSTILE, client="<img src=x onerror=alert(1)>"),
        failure(cells[1], detail=HOSTILE),
    ]
    notes: list[tuple[str, dict[str, Any]]] = [
        ("session", {"netlab": HOSTILE, "hosts": {HOSTILE: {HOSTILE: HOSTILE}}}),
        ("facts", {"host": HOSTILE, "when": "before", "facts": {HOSTILE: HOSTILE}}),
    ]
    run = make(cells, records, notes, title=HOSTILE, matrix_text=HOSTILE, source=HOSTILE)
    page = read_page(run)
    assert page.all("script") == SCRIPTS
    assert not [image for image in page.all("img") if image.get("src") == "x"]
    assert "onerror" not in [name for _, attributes in page.elements for name in attributes]
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "\x1b" not in page.text
    markdown = (run.path / "tables.md").read_text(encoding="utf-8")
    assert "<script>" not in markdown
    assert "\x1b" not in markdown
    assert "\x1b" not in overview_text(run)


def test_the_further_parts_are_sound_and_escape_whatever_a_host_said(
    make: Callable[..., Analysis],
) -> None:
    timed: dict[str, Any] = {"stack_time": True, "interface": HOSTILE}
    cells = [
        *(made.planned("round_trip", server_receive=r, **timed) for r in ("blocking", "spinning")),
        made.planned("payload_search", capture=True, interface=HOSTILE),
    ]
    stack: dict[str, Any] = {
        "server_stack_mean_ns": 900,
        "server_stack_stamps": HOSTILE,
        "stack_timed": True,
    }
    said: dict[str, Any] = {
        "captured": False,
        "capture_reason": HOSTILE,
        "path_mtu_evidence": HOSTILE,
    }
    records = [
        *(
            made.result(c, n, made.of_round_trips([9000] * 20, **stack))
            for c in cells[:2]
            for n in (1, 2)
        ),
        *(made.result(cells[2], n, said) for n in (1, 2)),
    ]
    text = made.MATRIX.replace(
        "A mirror that never sleeps", json.dumps(HOSTILE.replace("\x1b", ""))
    )
    run = make(cells, records, repeats=2, matrix_text=text)
    page = read_page(run)
    assert {"round-trip", "payload", "comparisons", "repeats"} <= {
        str(heading.get("id")) for heading in page.all("h2")
    }
    assert page.all("script") == SCRIPTS
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert Counter(identifiers).most_common(1)[0][1] == 1
    targets = {str(link["href"])[1:] for link in page.all("a")}
    assert targets <= {str(identifier) for identifier in identifiers}
    assert {heading.get("scope") for heading in page.all("th")} == {"col", "row"}
    assert "\x1b" not in page.text
    assert "\x1b" not in overview_text(run)
    rows = list(csv.reader(io.StringIO((run.path / "figures.csv").read_text("utf-8"))))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell[:1] in set("=+@\t\r")]
    markdown = (run.path / "tables.md").read_text("utf-8")
    assert "<script>" not in markdown


def test_names_in_other_scripts_and_math_signs_are_drawn_without_complaint(
    make: Callable[..., Analysis],
) -> None:
    cells = [
        planned(interface=name, socket_buffer_bytes=buffer)
        for name in ("$\\frac{1}{0}$", "网络", "_hidden")
        for buffer in (1024, 2048)
    ]
    run = make(cells)
    write_report(run)
    assert len(list((run.path / "charts").glob("*.svg"))) == 3


def test_a_run_without_a_single_record_has_a_page_that_says_so(
    make: Callable[..., Analysis],
) -> None:
    cells = several_cells()
    run = make(cells, [])
    page = read_page(run)
    assert f"{len(cells)} cells: {len(cells)} pending" in page.text
    assert "Not measured yet (not-measured-yet)." in page.text
    assert not page.all("img")
    assert " 0.00" not in (run.path / "tables.md").read_text(encoding="utf-8")


def test_the_page_counts_how_trials_ended_and_gives_each_reason_with_its_details(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(socket_buffer_bytes=size) for size in (1, 2, 3, 4, 5)]
    records = [
        result(cells[0], attempt=2),
        failure(cells[1], detail="alpha: nothing came"),
        failure(
            cells[2], "no-buffers", status=Status.IMPOSSIBLE, errno=105, detail="beta: refused"
        ),
        failure(cells[3], "host-away", status=Status.PENDING, detail="beta: no answer"),
    ]
    page = read_page(make(cells, records))
    assert "5 cells: 1 ok, 1 failed, 1 impossible, 2 pending" in page.text
    assert "1 needed more than one attempt" in page.text
    for words in ("alpha: nothing came", "beta: refused", "error number 105", "beta: no answer"):
        assert words in page.text


def test_the_page_shows_the_hosts_facts_and_what_changed_meanwhile(
    make: Callable[..., Analysis],
) -> None:
    def facts(when: str, governor: str) -> tuple[str, dict[str, Any]]:
        return ("facts", {"host": "alpha", "when": when, "facts": {"governor": governor, "n": 1}})

    session = {"netlab": "0.1", "overrides": {"duration": "1s"}, "hosts": {"alpha": {"os": "L"}}}
    notes = [("session", session), facts("before", "performance"), facts("after", "powersave")]
    page = read_page(make([planned()], None, notes))
    assert {"class": "changed"} in page.all("td")
    for words in ("alpha", "performance", "powersave", "duration 1s"):
        assert words in page.text


def test_hosts_on_one_machine_are_said_to_share_its_cpus(make: Callable[..., Analysis]) -> None:
    def facts(host: str, machine: str) -> tuple[str, dict[str, Any]]:
        return ("facts", {"host": host, "when": "before", "facts": {"machine_id": machine}})

    apart = read_page(make([planned()], None, [facts("alpha", "1"), facts("beta", "2")]))
    assert "share its CPUs" not in apart.text
    together = read_page(make([planned()], None, [facts("alpha", "1"), facts("beta", "1")]))
    assert "alpha, beta: one machine, so they share its CPUs" in together.text


def test_no_line_leads_to_the_system_s_own_buffers(make: Callable[..., Analysis]) -> None:
    sized = [planned(socket_buffer_bytes=size) for size in (1024, 2048)]
    asked = {n: v for n, v in sized[0].settings.items() if n != "socket_buffer_bytes"}
    run = make([*sized, PlannedCell("auto", "LL", "stream", asked)])
    (chart,) = charts(lay_out(readings(run)), run.plan.link)[0]
    assert [label for _, label in chart.x_ticks] == ["1 KiB", "2 KiB", "auto"]
    assert [y for _, y in chart.lines[0].points] == [48.0, 48.0, None, 48.0]


def test_an_imported_table_says_what_it_cannot_know(make: Callable[..., Analysis]) -> None:
    page = read_page(make([planned()], source="table.csv"))
    assert "Imported from table.csv." in page.text
    assert "netlab measured none of them" in page.text
    assert "the receiver’s clock" not in page.text


def test_a_damaged_journal_is_said_on_the_page(make: Callable[..., Analysis]) -> None:
    run = make([planned()])
    with (run.path / "journal.jsonl").open("ab") as journal:
        journal.write(b"torn")
    page = read_page(load(run.path))
    assert "The journal is damaged in 1 place;" in page.text


def test_directions_both_ways_have_a_line_and_a_column_each(make: Callable[..., Analysis]) -> None:
    cells = [planned(direction="both", socket_buffer_bytes=size) for size in (1024, 2048)]
    values = {"to_server_throughput_bit_per_s": 40e6, "to_client_throughput_bit_per_s": 30e6}
    run = make(cells, [result(cell, values=values) for cell in cells])
    (chart,) = charts(lay_out(readings(run)), run.plan.link)[0]
    assert [line.label for line in chart.lines] == ["LL, to client", "LL, to server"]
    assert "they are not added" in read_page(run).text


def test_a_gap_in_a_chart_is_no_point_and_no_zero(make: Callable[..., Analysis]) -> None:
    cells = [planned(socket_buffer_bytes=1024 * step) for step in (1, 2, 3)]
    run = make(cells, [result(cells[0]), failure(cells[1]), result(cells[2])])
    (chart,) = charts(lay_out(readings(run)), run.plan.link)[0]
    assert chart.lines[0].points == ((1024.0, 48.0), (2048.0, None), (3072.0, 48.0))
    (picture,) = draw([chart])
    whole = Chart(**{**_fields(chart), "lines": (_filled(chart.lines[0]),)})
    assert _moves(picture.svg) > _moves(draw([whole])[0].svg)


def test_bars_are_the_interval_of_a_cell_s_mean_from_three_trials_upwards(
    make: Callable[..., Analysis],
) -> None:
    cells = [planned(socket_buffer_bytes=1024 * step) for step in (1, 2, 3)]

    def measured(trials: int) -> Analysis:
        rates = (47e6, 48e6, 49e6)[:trials]
        records = [
            result(cell, n, values={"throughput_bit_per_s": rate})
            for cell in cells
            for n, rate in enumerate(rates, start=1)
        ]
        return make(cells, records, repeats=trials)

    run = measured(3)
    (chart,) = charts(lay_out(readings(run)), run.plan.link)[0]
    # Student's t of two degrees of freedom, 4.303, times the standard deviation, over root three.
    assert chart.lines[0].half_widths == pytest.approx((4.30265 / 3**0.5,) * 3, rel=1e-4)
    bare = Chart(**{**_fields(chart), "lines": (Curve("LL", 0, chart.lines[0].points),)})
    assert len(draw([chart])[0].svg) > len(draw([bare])[0].svg)
    assert "Bars are the 95 % interval" in read_page(run).text
    few = measured(2)
    (chart,) = charts(lay_out(readings(few)), few.plan.link)[0]
    assert not chart.has_bars
    assert "Bars are" not in read_page(few).text


def test_lines_differ_in_marker_and_dash_and_keep_their_look_from_chart_to_chart(
    make: Callable[..., Analysis],
) -> None:
    cells = several_cells()
    records = [
        failure(cell)
        if cell.pairing == "LL" and cell.settings["protocol"] == "UDP"
        else result(cell)
        for cell in cells
    ]
    run = make(cells, records)
    drawn, _ = charts(lay_out(readings(run)), run.plan.link)
    places = {(line.label, line.place) for chart in drawn for line in chart.lines}
    assert places == {("LL", 0), ("WL", 1)}
    svg = draw(drawn[:1])[0].svg.decode()
    assert len(set(re.findall(r"stroke-dasharray: [0-9., ]+; [^\"]*stroke-width: 1.4", svg))) == 1


def test_many_settings_draw_a_bounded_number_of_charts_and_say_how_many_are_missing(
    make: Callable[..., Analysis],
) -> None:
    cells = [
        planned(source_port=port, socket_buffer_bytes=buffer)
        for port in range(1, MAX_CHARTS + 4)
        for buffer in (1024, 2048)
    ]
    run = make(cells)
    drawn, left_out = charts(lay_out(readings(run)), None)
    assert (len(drawn), left_out) == (MAX_CHARTS, 3)
    assert len({chart.name for chart in drawn}) == MAX_CHARTS


def test_conditions_that_make_the_same_file_name_overwrite_nothing(
    make: Callable[..., Analysis],
) -> None:
    cells = [
        planned(interface=name, socket_buffer_bytes=buffer)
        for name in ("a-b", "a_b")
        for buffer in (1024, 2048)
    ]
    drawn, _ = charts(lay_out(readings(make(cells))), None)
    assert [chart.name[-2:] for chart in drawn] == ["-b", "-2"]


def test_pictures_are_of_the_size_that_the_page_expects(several: Analysis) -> None:
    pictures = list((several.path / "charts").glob("*.png"))
    assert pictures
    for path in pictures:
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        assert 1100 < width < 1200
        assert 0.5 < height / width < 0.6


def test_importing_the_report_loads_no_heavy_library() -> None:
    code = (
        "import sys, netlab.report; "
        "sys.exit(bool({'pandas', 'matplotlib', 'jinja2', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _fields(chart: Chart) -> dict[str, Any]:
    return {name: getattr(chart, name) for name in Chart.__slots__}


def _filled(line: Curve) -> Curve:
    return Curve(line.label, line.place, tuple((x, 48.0) for x, _ in line.points))


def _moves(svg: bytes) -> int:
    """How often the pen is lifted and set down anew in the measured lines."""
    lines = re.findall(
        r'<path d="([^"]+)" clip-path="[^"]*" style="[^"]*stroke-width: 1.4', _open(svg)
    )
    lines += re.findall(r'<path d="([^"]+)" style="[^"]*stroke-width: 1.4', _open(svg))
    return sum(path.count("M") for path in lines)


def _open(svg: bytes) -> str:
    return svg.decode("utf-8").replace("\n", " ")
