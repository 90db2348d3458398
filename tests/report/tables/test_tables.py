"""The report's tables contain figures, means, intervals and footnotes for blanks."""

from __future__ import annotations

from typing import Any

from made_grids import LINK, blank, reading, row_of, table_of, tables_of, texts

from netlab.report.tables.tables import overviews
from netlab.report.write.text import plain
from netlab.results.labels import figure
from netlab.results.layout import lay_out
from netlab.trial.record import Record


def test_each_blank_has_a_footnote_letter_and_equal_reasons_share_a_letter() -> None:
    table = table_of(
        reading(buffer=16384),
        blank(buffer=20480),
        blank("impossible", "no-buffers", errno=105, buffer=24576),
        blank(buffer=28672),
    )
    assert texts(table, "20 KiB") == [""]
    letters = [row_of(table, f"{size} KiB").places[0].notes for size in (20, 24, 28)]
    assert letters == [("a",), ("b",), ("a",)]
    sentences = dict(table.footnotes)
    assert sentences["a"].startswith("Failed: ")
    assert "(no-traffic)" in sentences["a"]
    assert sentences["b"].startswith("Impossible: ")
    assert "(no-buffers, error number 105)" in sentences["b"]


def test_blanks_with_different_error_numbers_have_different_letters() -> None:
    table = table_of(
        blank("failed", "system", errno=22, buffer=1), blank("failed", "system", errno=5, buffer=2)
    )
    assert [row.places[0].notes for row in table.lines[:2]] == [("a",), ("b",)]


def test_an_unknown_reason_is_printed_as_recorded() -> None:
    table = table_of(blank("failed", "gone-fishing"))
    assert table.footnotes == (("a", "Failed (gone-fishing)."),)


def test_cells_that_the_matrix_left_out_have_a_footnote_of_their_own() -> None:
    table = table_of(
        reading(message=64, buffer=1), reading(message=64, buffer=2), reading(message=576, buffer=1)
    )
    assert row_of(table, "2 B").places[1].notes == ("a",)
    assert table.footnotes == (("a", "Not requested by the matrix."),)


def test_means_cover_the_cells_with_a_figure_and_state_their_number() -> None:
    table = table_of(reading(90, buffer=1), blank(buffer=2), reading(91, buffer=3))
    mean = row_of(table, "mean").places[0]
    assert (mean.value, mean.n, mean.shows_n) == (90.5e6, 2, True)
    assert "90.50 (2)" in plain(table)


def test_a_column_without_a_figure_has_a_blank_mean_and_no_zero() -> None:
    readings = (reading(94), blank(protocol="UDP"))
    for table in (table_of(*readings, link=LINK), overviews(lay_out(readings))[0]):
        means = [row.places[1] for row in table.lines if row.kind in ("mean", "median")]
        assert all(entry.value is None and entry.n == 0 and entry.notes for entry in means)
        assert " 0.00" not in plain(table)


def test_a_cell_with_repeats_shows_the_mean_and_number_of_its_trials() -> None:
    table = table_of(*(reading(90 + trial, trial=trial) for trial in (1, 2, 3)))
    assert "(number of trials)" in table.quantity
    entry = row_of(table, "16 KiB").places[0]
    assert (entry.value, entry.n) == (92e6, 3)
    assert "92.00 (3)" in plain(table)


def test_failed_and_pending_trials_beside_a_figure_are_counted_in_footnotes() -> None:
    table = table_of(reading(90, trial=1), blank(trial=2), blank("pending", "host-away", trial=3))
    entry = row_of(table, "16 KiB").places[0]
    assert (entry.value, entry.n, entry.notes) == (90e6, 1, ("a", "b"))
    assert [sentence.split(":")[0] for _, sentence in table.footnotes] == [
        "1 of 3 trials failed",
        "1 of 3 trials pending",
    ]


def test_the_row_of_means_weighs_every_cell_alike() -> None:
    table = table_of(
        *(reading(90, buffer=1, trial=trial) for trial in (1, 2, 3)),
        *(reading(96, buffer=2, trial=trial) for trial in (1,)),
    )
    assert texts(table, "mean") == ["93.00"]


def test_cells_with_three_trials_or_more_have_an_interval_in_a_second_table() -> None:
    throughput, intervals = tables_of(
        *(reading(94 + trial / 10, trial=trial, buffer=1) for trial in (0, 1, 2)),
        reading(94, buffer=2),
    )
    assert texts(intervals, "1 B") == ["0.25"]
    assert texts(intervals, "2 B") == [""]
    assert "fewer than 3 trials" in intervals.footnotes[0][1].lower()
    assert throughput.quantity != intervals.quantity


def test_trials_not_measured_yet_are_counted_in_a_footnote() -> None:
    table = table_of(reading(trial=1), blank("pending", "not-measured-yet", trial=2))
    assert table.footnotes == (("a", "1 of 2 trials: Not measured yet (not-measured-yet)."),)


def test_lost_messages_are_in_a_second_table_if_any_were_lost() -> None:
    def udp(losses: int, **keys: Any) -> Record:
        counts = {"sent_messages": 1_000_000, "lost_messages": losses}
        return reading(protocol="UDP", flow=counts, **keys)

    assert len(tables_of(udp(0), reading())) == 1
    _, loss_table = tables_of(udp(1, buffer=1), udp(250_000, buffer=2), udp(0, buffer=3), reading())
    assert list(loss_table.columns) == ["UDP 64"]
    assert [texts(loss_table, f"{size} B") for size in (1, 2, 3)] == [["0.00010"], ["25.00"], ["0"]]


def test_a_small_measured_figure_is_never_printed_as_zero() -> None:
    assert figure(0.14) == "0.14"
    assert figure(0.0004) == "0.00040"
    assert figure(0.0) == "0"
    assert figure(12345.678) == "12345.68"


def test_footnote_letters_continue_with_two_letters_after_z() -> None:
    table = table_of(*(blank("failed", f"word-{n}", buffer=n + 1) for n in range(30)))
    assert [letter for letter, _ in table.footnotes][24:29] == ["y", "z", "aa", "ab", "ac"]
