"""The report of the recorded lab report reproduces its means to the last digit, and its gaps."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from folders import FIXTURES, ROOT

from netlab.findings.analysis import Analysis, load
from netlab.report.tables.charts import charts as charts_of
from netlab.report.tables.elements import GridTable
from netlab.report.tables.tables import TableSection, overviews, sections
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import BinGrid, TableColumn, lay_out
from netlab.stats import rounded

FOLDER = ROOT / "reports" / "lab-report"
AVERAGES = FIXTURES / "lab-report-averages.csv"

PRINTED = {
    (line["pairing"], TableColumn(line["protocol"], int(line["message_bytes"]))): line[
        "mean_mbit_per_s"
    ]
    for line in csv.DictReader(AVERAGES.read_text(encoding="utf-8").splitlines())
}
MEASURED = {place: mean for place, mean in PRINTED.items() if mean}


@pytest.fixture(scope="module")
def run() -> Analysis:
    return load(FOLDER)


@pytest.fixture(scope="module")
def layout(run: Analysis) -> tuple[BinGrid, ...]:
    return lay_out(run.trials)


@pytest.fixture(scope="module")
def parts(run: Analysis, layout: tuple[BinGrid, ...]) -> dict[str, TableSection]:
    table_sections = sections(layout, run.plan.link, imported=run.plan.source is not None)
    return {part.grid.pairing: part for part in table_sections}


def place(table: GridTable, label: str, column: TableColumn) -> tuple[str, int]:
    """The text and the n of one place of a table."""
    row = next(row for row in table.lines if row.label == label)
    entry = row.places[table.keys.index(column)]
    return entry.text, entry.n


def column_texts(table: GridTable, column: TableColumn) -> Iterator[str]:
    for row in table.lines:
        if row.kind == "value":
            yield row.places[table.keys.index(column)].text


def test_the_lab_report_document_prints_28_means_and_leaves_four_blank() -> None:
    assert (len(PRINTED), len(MEASURED)) == (32, 28)


@pytest.mark.parametrize(("mean_place", "mean"), MEASURED.items(), ids=str)
def test_each_printed_mean_of_the_lab_report_is_reproduced_to_the_last_digit(
    mean_place: tuple[str, TableColumn],
    mean: str,
    parts: dict[str, TableSection],
    layout: tuple[BinGrid, ...],
) -> None:
    pairing, column = mean_place
    assert place(parts[pairing].tables[0], "mean", column)[0] == mean
    assert place(overviews(layout)[0], pairing, column)[0] == mean


def test_udp_between_two_windows_hosts_is_blank_with_a_reason_and_never_zero(
    parts: dict[str, TableSection], layout: tuple[BinGrid, ...]
) -> None:
    table = parts["WW"].tables[0]
    for size in (64, 576, 1500, 64512):
        column = TableColumn("UDP", size)
        assert set(column_texts(table, column)) == {""}
        assert place(table, "mean", column) == ("", 0)
        assert place(table, "mean / ceiling, %", column) == ("", 0)
        assert place(overviews(layout)[0], "WW", column) == ("", 0)
    assert (
        "The imported document has no value here (not-recorded)." in dict(table.footnotes).values()
    )


def test_each_mean_of_the_lab_report_shows_the_number_of_cells_behind_the_mean(
    parts: dict[str, TableSection],
) -> None:
    assert place(parts["WL"].tables[0], "mean", TableColumn("UDP", 1500))[1] == 12
    assert place(parts["WL"].tables[0], "mean", TableColumn("UDP", 64512))[1] == 11
    assert place(parts["LW"].tables[0], "mean", TableColumn("UDP", 64512))[1] == 7
    assert place(parts["WW"].tables[0], "mean", TableColumn("TCP", 65536))[1] == 4
    assert place(parts["LL"].tables[0], "mean", TableColumn("TCP", 64))[1] == 13


def test_tables_of_the_lab_report_have_gaps_exactly_where_the_document_has_gaps(
    parts: dict[str, TableSection],
) -> None:
    def gaps(pairing: str, protocol: str, size: int) -> list[int]:
        table = parts[pairing].tables[0]
        texts = column_texts(table, TableColumn(protocol, size))
        return [16 + 4 * index for index, text in enumerate(texts) if not text]

    assert gaps("WL", "UDP", 1500) == [64]
    assert gaps("WL", "UDP", 64512) == [16, 20]
    assert gaps("LW", "UDP", 64512) == [16, 20, 24, 28, 32, 36]
    assert gaps("WW", "TCP", 65536) == list(range(32, 65, 4))
    assert gaps("LL", "UDP", 64512) == []


def test_the_median_beside_the_mean_exposes_a_single_bad_cell(
    parts: dict[str, TableSection],
) -> None:
    table, column = parts["WL"].tables[0], TableColumn("UDP", 1500)
    assert place(table, "60 KiB", column)[0] == "1.89"
    assert place(table, "mean", column)[0] == "84.82"
    assert place(table, "median", column)[0] == "92.38"


def test_pairings_are_named_server_first(parts: dict[str, TableSection]) -> None:
    assert parts["WL"].subtitle == "server Windows, client Linux"
    assert parts["LW"].subtitle == "server Linux, client Windows"


def test_cells_are_not_marked_if_only_clock_ticks_put_them_above_the_wire_ceiling(
    run: Analysis, layout: tuple[BinGrid, ...], parts: dict[str, TableSection]
) -> None:
    above: list[float] = []
    columns: list[tuple[str, TableColumn]] = []
    for grid in layout:
        for column in grid.columns:
            ceiling = ceiling_of(column, grid.column(column), run.plan.link)
            assert ceiling is not None
            for cell in grid.column(column):
                for figure in cell.throughputs_bit_per_s:
                    # Three more lie above it by less than their last digit can say.
                    if rounded(figure / 1e6, 2) > rounded(ceiling.highest_bit_per_s / 1e6, 2):
                        above.append(figure / ceiling.highest_bit_per_s - 1)
                        columns.append((grid.pairing, column))
    assert len(above) == 36
    assert max(above) < 0.00077
    assert columns.count(("LW", TableColumn("TCP", 65536))) == 13
    sentences = [text for part in parts.values() for _, text in part.tables[0].footnotes]
    assert not [text for text in sentences if text.startswith("Above")]


def test_wire_ceilings_are_those_of_the_link_and_a_footnote_states_unknown_tcp_options(
    parts: dict[str, TableSection],
) -> None:
    table = parts["LL"].tables[0]
    ceilings = [place(table, "wire ceiling", column)[0] for column in table.keys]
    assert ceilings == ["94.93"] * 4 + ["49.23", "89.72", "92.36", "96.18"]
    assert "94.15 Mbit/s" in table.footnotes[0][1]


def test_charts_of_the_lab_report_show_the_printed_figures_and_leave_gaps_open(
    run: Analysis, layout: tuple[BinGrid, ...]
) -> None:
    charts, left_out = charts_of(layout, run.plan.link)
    assert (len(charts), left_out) == (10, 0)
    by_name = {chart.name: chart for chart in charts}
    udp = by_name["socket-buffer-udp-1500"]
    assert [line.label for line in udp.lines] == ["LL", "WL", "LW"]
    wl = dict(udp.lines[1].points)
    assert (wl[61440], wl[65536]) == (1.89, None)
    sizes = by_name["message-size-udp"]
    assert [x for x, _ in sizes.x_ticks] == [64, 576, 1500, 64512]
    assert dict(sizes.ceilings[0].points)[1472] == pytest.approx(95.709, abs=5e-4)
    assert dict(sizes.ceilings[0].points)[1473] == pytest.approx(100 * 1473 / 1622, abs=5e-4)


def test_the_committed_lab_report_page_has_all_printed_means_and_its_folder_all_charts(
    run: Analysis, layout: tuple[BinGrid, ...]
) -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    assert [mean for mean in MEASURED.values() if mean not in page] == []
    names = {chart.name for chart in charts_of(layout, run.plan.link)[0]}
    assert {path.stem for path in (FOLDER / "charts").iterdir()} >= names
