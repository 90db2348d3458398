"""A table of throughputs has one unit, chosen by its largest figure and named in its headings."""

from __future__ import annotations

from dataclasses import replace

from netlab.messages import _, joined
from netlab.report.tables.digits import align_digits, align_section_digits
from netlab.report.tables.elements import (
    GridTable,
    Table,
    TableCell,
    TableLine,
    grid_table,
    throughput_cell,
)
from netlab.report.tables.tables import TableSection
from netlab.results.labels import figure
from netlab.results.layout import BinGrid, TableColumn

KEYS = (TableColumn("TCP", 64), TableColumn("TCP", 1448))


def grid(*rows: tuple[float, float], unit: str = "Mbit/s", half_widths: bool = False) -> GridTable:
    lines = [
        TableLine(
            "16 KiB", tuple(throughput_cell(rate, 3, shows_n=True) for rate in row), unit=unit
        )
        for row in rows
    ]
    quantity = _("throughput, {unit} (number of trials)", unit="Mbit/s")
    table = grid_table(KEYS, "socket buffer", quantity, lines, (), pairing="LL, offered 500 Mbit/s")
    return replace(table, has_half_widths=half_widths)


def words(table: Table) -> list[list[str]]:
    return [[place.words for place in line.places] for line in table.lines]


def test_a_table_with_1000_mbit_per_s_or_more_is_in_gbit_per_s() -> None:
    table = align_digits(grid((12.3456e6, 2386.17e6), (34.5e6, 940e6)))
    assert words(table) == [["0.01235 (3)", "2.386 (3)"], ["0.03450 (3)", "0.940 (3)"]]
    assert table.title == "LL, offered 500 Mbit/s: throughput, Gbit/s (number of trials)"
    assert {line.unit for line in table.lines} == {"Gbit/s"}


def test_the_largest_printed_figure_decides_the_unit_of_a_table() -> None:
    assert "Mbit/s (" in align_digits(grid((1e6, 999.994e6))).title
    table = align_digits(grid((1e6, 999.996e6)))
    assert "Gbit/s (" in table.title
    assert words(table)[0][1] == "1.000 (3)"


def test_a_table_below_1_mbit_per_s_is_in_kbit_per_s() -> None:
    table = align_digits(grid((0.25312e6, 0.0012e6)))
    assert words(table) == [["253.1 (3)", "1.200 (3)"]]
    assert "throughput, kbit/s (" in table.title


def test_a_table_of_intervals_has_the_unit_and_decimals_of_its_table_of_means() -> None:
    tables = (grid((90e6, 2386.17e6)), grid((0.4e6, 249.01e6), half_widths=True))
    layout = BinGrid.__new__(BinGrid)
    evened_tables = align_section_digits(TableSection(layout, "", tables)).tables
    assert [words(table) for table in evened_tables] == [
        [["0.0900 (3)", "2.39 (3)"]],
        [["0.0004 (3)", "0.25 (3)"]],
    ]
    assert all("Gbit/s (" in table.title for table in evened_tables)


def test_figures_with_units_and_column_heads_change_with_the_unit_of_the_table() -> None:
    def cell(value: float) -> TableCell:
        return TableCell(joined(" ", [f"{value:.2f}", "Mbit/s"]), value, "Mbit/s")

    table = align_digits(
        Table(
            "compared",
            "cell",
            ("baseline", "Mbit/s", "ratio", "µs"),
            (
                TableLine(
                    joined(", ", ["throughput", "Mbit/s"]),
                    (
                        cell(4554.6),
                        TableCell("1934.84", 1934.84, "Mbit/s"),
                        TableCell("0.425", 0.425),
                        TableCell("12.25", 12.25, "µs"),
                    ),
                ),
            ),
        )
    )
    assert words(table) == [["4.555 Gbit/s", "1.935", "0.425", "12.25"]]
    assert table.columns == ("baseline", "Gbit/s", "ratio", "µs")
    assert table.lines[0].label == "throughput, Gbit/s"


def test_a_variance_changes_with_the_square_of_the_unit() -> None:
    cells = (
        TableCell("2000.00", 2000.0, "Mbit/s"),
        TableCell("348.09", 348.09, "Mbit/s"),
        TableCell("121166.65", 121166.65, "Mbit/s²"),
    )
    lines = (
        TableLine("throughput", cells),
        TableLine("elapsed", tuple(TableCell("1.25", 1.25, "s") for _cell in cells)),
    )
    table = align_digits(Table("repeats", "repeat", ("1", "deviation", "variance"), lines))
    assert words(table)[0] == ["2.000", "0.348", "0.1212"]
    assert words(table)[1] == ["1.25"] * 3


def test_a_table_below_1000_mbit_per_s_is_not_changed() -> None:
    table = grid((12.34e6, 94.1e6))
    assert align_digits(table) == table


def times(*values_ms: float, heading: str = "increase") -> Table:
    places = tuple(TableCell(figure(value), value, "ms") for value in values_ms)
    columns = tuple(joined(", ", [heading, "ms"]) for _each in values_ms)
    return Table("LL", "load", columns, (TableLine("TCP up", places),))


def test_a_table_of_times_below_a_millisecond_is_in_microseconds() -> None:
    table = align_digits(times(0.099567, 0.25))
    assert table.columns == ("increase, µs", "increase, µs")
    assert words(table) == [["99.57", "250.0"]]
    assert align_digits(times(0.099567, 1.0)).columns == ("increase, ms", "increase, ms")
    assert align_digits(times(0.0)).columns == ("increase, ms",)


def test_a_table_keeps_its_unit_if_a_column_heading_cannot_be_given_another_unit() -> None:
    table = replace(times(0.5), columns=("at line rate, ms",))
    assert align_digits(table) == table
