"""Every text of a host is escaped wherever the report shows it."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import made_readings as made
from made_reports import SCRIPTS, failure, make, overview_text, planned, read_page, result

from netlab.findings.analysis import Analysis
from netlab.report import write_report

__all__ = ["make"]


HOSTILE = '"><script>alert(1)</script>&<!--\x1b[31m\n|`=cmd`'


def test_names_and_errors_of_hosts_are_escaped_on_the_page_in_markdown_and_on_the_terminal(
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
    assert page.all("script") == [SCRIPTS[0], {**SCRIPTS[0], "id": "charts-data"}, *SCRIPTS[1:]]
    assert not [image for image in page.all("img") if image.get("src") == "x"]
    assert "onerror" not in [name for _, attributes in page.elements for name in attributes]
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "\x1b" not in page.text
    markdown = (run.path / "tables.md").read_text(encoding="utf-8")
    assert "<script>" not in markdown
    assert "\x1b" not in markdown
    assert "\x1b" not in overview_text(run)


def test_sections_on_round_trips_and_payloads_escape_host_texts_and_have_valid_links(
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
    payload_values: dict[str, Any] = {
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
        *(made.result(cells[2], n, payload_values) for n in (1, 2)),
    ]
    text = made.MATRIX.replace(
        "A mirror that never sleeps", json.dumps(HOSTILE.replace("\x1b", ""))
    )
    run = make(cells, records, repeats=2, matrix_text=text)
    page = read_page(run)
    assert {"round-trip", "payload", "comparisons", "repeats"} <= {
        str(heading.get("id")) for heading in page.all("h2")
    }
    assert page.all("script") == [SCRIPTS[0], {**SCRIPTS[0], "id": "charts-data"}, *SCRIPTS[1:]]
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert Counter(identifiers).most_common(1)[0][1] == 1
    targets = {str(link["href"]) for link in page.all("a")}
    assert {target[1:] for target in targets if target.startswith("#")} <= {*map(str, identifiers)}
    assert all((run.path / target).exists() for target in targets if not target.startswith("#"))
    assert {heading.get("scope") for heading in page.all("th")} == {"col", "row"}
    assert "\x1b" not in page.text
    assert "\x1b" not in overview_text(run)
    rows = list(csv.reader(io.StringIO((run.path / "figures.csv").read_text("utf-8"))))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell[:1] in set("=+@\t\r")]
    markdown = (run.path / "tables.md").read_text("utf-8")
    assert "<script>" not in markdown


def test_charts_named_in_other_scripts_or_with_math_signs_are_drawn(
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
