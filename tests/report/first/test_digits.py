"""A column of the page's tables has as many decimals as its interval justifies."""

from __future__ import annotations

from netlab.report.tables.digits import align_digits
from netlab.report.tables.elements import Table, TableCell, TableLine


def texts(columns: tuple[str, ...], *rows: tuple[str, ...]) -> list[list[str]]:
    lines = tuple(TableLine("row", tuple(TableCell(text) for text in row)) for row in rows)
    table = align_digits(Table("title", "cell", columns, lines))
    return [[place.text for place in line.places] for line in table.lines]


def test_figures_of_a_column_have_the_decimals_of_its_largest_figure() -> None:
    assert texts(("1/s",), ("22570.09",), ("7.26",)) == [["22570"], ["7"]]
    assert texts(("µs",), ("146.94",), ("9.03",)) == [["146.9"], ["9.0"]]
    assert texts(("Mbit/s",), ("94.13",), ("0.19",)) == [["94.13"], ["0.19"]]


def test_a_mean_has_the_decimals_that_its_interval_justifies() -> None:
    columns = ("mean, µs", "± 95 %, µs")
    assert texts(columns, ("50.91", "9.64"), ("43.85", "10.83")) == [
        ["50.9", "9.6"],
        ["43.9", "10.8"],
    ]
    assert texts(columns, ("138.11", "12.95"), ("123.64", "")) == [["138", "13"], ["124", ""]]


def test_rounding_a_table_leaves_ratios_texts_and_tiny_figures_unchanged() -> None:
    assert texts(("ratio", "in words"), ("0.713", "29 % shorter")) == [["0.713", "29 % shorter"]]
    assert texts(("%",), ("1000.00",), ("0.0029",)) == [["1000"], ["0.0029"]]
