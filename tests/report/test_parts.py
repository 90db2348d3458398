"""A report contains its sections in every one of its files."""

from __future__ import annotations

import csv
import io
import re

from folders import FIXTURES
from made_parts import BLOCKING_18, SPINNING_18, Make
from made_readings import drawn_ns, of_round_trips, plan_of, planned, result, round_trip_run
from made_reports import overview_text, write_undrawn

from netlab.findings.analysis import load
from netlab.report.sections import parts_of
from netlab.results.labels import figure
from netlab.results.quantities import names_of


def test_a_report_of_round_trips_has_every_section_with_its_charts_and_figures(make: Make) -> None:
    run = make(*round_trip_run(3))
    page = write_undrawn(run).read_text(encoding="utf-8")
    for name in ("round-trip", "comparisons", "repeats", "over-time"):
        assert f'<h2 id="{name}">' in page
        assert f'<a href="#{name}">' in page
    assert '<h2 id="means">' not in page
    files = {path.name for path in (run.path / "charts").iterdir()}
    assert {"round-trip-udp-1.png", "over-time-1.svg"} <= files
    rows = list(csv.DictReader(io.StringIO((run.path / "figures.csv").read_text("utf-8"))))
    rows = [
        row
        for row in rows
        if (row["table"], row["column"]) == ("LL: time of a round trip", "mean, µs")
    ]
    assert len(rows) == 4
    assert all(row["unit"] == "µs" and float(row["value"]) > 50 for row in rows)
    markdown = (run.path / "tables.md").read_text("utf-8")
    assert "## Round trips" in markdown
    assert "### LL: time of a round trip" in markdown
    assert markdown.split("\n")[2] == "## Answers"
    assert "](charts/round-trip-udp-1.png)" in markdown
    tex = (run.path / "tables.tex").read_text("utf-8")
    included = set(re.findall(r"includegraphics\[.*\]{charts/(.*)\.pdf}", tex))
    assert included == {name.removesuffix(".pdf") for name in files if name.endswith(".pdf")}


def test_a_report_without_sections_removes_the_figures_file_of_an_earlier_report(
    make: Make,
) -> None:
    cell = planned("stream")
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 1e6})])
    (run.path / "figures.csv").write_text("old")
    write_undrawn(run)
    assert not (run.path / "figures.csv").exists()


def test_streams_and_round_trips_of_one_run_have_tables_of_their_own(make: Make) -> None:
    cells = [planned("stream"), planned("round_trip")]
    records = [
        result(cells[0], 1, {"throughput_bit_per_s": 48e6}),
        result(cells[1], 1, of_round_trips([1000] * 9)),
    ]
    run = make(plan_of(cells, 1), records)
    text = overview_text(run)
    assert "Linux to Linux over UDP: 48.00 Mbit/s" in text
    assert "Mean round trip: 1 µs" in text
    page = write_undrawn(run).read_text(encoding="utf-8")
    assert '<h2 id="means">' in page
    assert '<h2 id="round-trip">' in page


def test_a_recorded_run_of_streams_has_a_section_on_limits() -> None:
    run = load(FIXTURES / "limits-linux")
    assert "limits" in [part.name for part in parts_of(run, run.trials)]


def test_names_of_cells_have_only_the_words_that_distinguish_the_cells(make: Make) -> None:
    plan, records = round_trip_run(1)
    names = names_of(make(plan, records).trials)
    assert names[plan.cells[0].key] == BLOCKING_18
    assert names[plan.cells[1].key] == SPINNING_18
    assert len(set(names.values())) == len(names)


def test_figures_are_printed_without_exponents_and_whole_numbers_without_decimals() -> None:
    assert figure(1.6e-7, 4) == "0.00000016"
    assert figure(5, 0) == "5"
    assert figure(0.0, 0) == "0"
    assert len(drawn_ns(3, 10, 1)) == 3
