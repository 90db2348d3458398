"""The report's tables: layout, blanks and their footnotes, means, ceilings; and their writers."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.matrix import Link
from netlab.report.page.methods import methods
from netlab.report.tables.elements import GridTable, TableLine
from netlab.report.tables.tables import overviews, sections
from netlab.report.write.text import comma_separated, markdown, plain
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import figure
from netlab.results.layout import TableColumn, lay_out
from netlab.results.readings import FlowReading, Reading

LINK = Link(1e8, 1500)


def reading(
    mbit_per_s: float | None = 90.0,
    *,
    pairing: str = "LL",
    protocol: str = "TCP",
    message: int = 64,
    buffer: int | None = 16384,
    trial: int = 1,
    status: str = "ok",
    reason: str | None = None,
    errno: int | None = None,
    same_host: bool = False,
    flows: dict[str, FlowReading] | None = None,
    flow: dict[str, Any] | None = None,
    **settings: Any,
) -> Reading:
    asked = {"protocol": protocol, "message_bytes": message, **settings}
    if buffer is not None:
        asked["socket_buffer_bytes"] = buffer
    rate = None if mbit_per_s is None else mbit_per_s * 1e6
    return Reading(
        cell=f"{pairing}-{sorted(asked.items())}",
        trial=trial,
        attempt=1,
        status=status,
        reason=reason,
        errno=errno,
        detail=None,
        pairing=pairing,
        server=None,
        client=None,
        test="stream",
        same_host=same_host,
        settings=asked,
        flows=flows or {"": FlowReading(throughput_bit_per_s=rate, **(flow or {}))},
    )


def blank(status: str = "failed", reason: str = "no-traffic", **keys: Any) -> Reading:
    return reading(None, status=status, reason=reason, **keys)


def tables_of(
    *readings: Reading, link: Link | None = None, imported: bool = False
) -> list[GridTable]:
    parts = sections(lay_out(readings), link, imported=imported)
    return [table for part in parts for table in part.tables]


def table_of(*readings: Reading, link: Link | None = None, imported: bool = False) -> GridTable:
    return tables_of(*readings, link=link, imported=imported)[0]


def texts(table: GridTable, label: str) -> list[str]:
    row = row_of(table, label)
    return [entry.text for entry in row.places]


def row_of(table: GridTable, label: str) -> TableLine:
    return next(row for row in table.lines if row.label == label)


def test_rows_are_buffers_and_columns_are_protocol_and_message_size() -> None:
    table = table_of(
        reading(95, protocol="UDP", message=64512, buffer=20480),
        reading(94, message=576, buffer=20480),
        reading(93, message=64, buffer=16384),
        reading(92, message=64, buffer=20480),
    )
    assert list(table.columns) == ["TCP 64", "TCP 576", "UDP 64512"]
    assert table.groups == (("TCP", 2), ("UDP", 1))
    assert [row.label for row in table.lines] == ["16 KiB", "20 KiB", "mean", "median"]
    assert texts(table, "20 KiB") == ["92.00", "94.00", "95.00"]
    assert texts(table, "16 KiB") == ["93.00", "", ""]


def test_the_system_s_own_buffers_are_a_row_of_their_own_below_the_sizes() -> None:
    table = table_of(reading(buffer=None), reading(buffer=65536), reading(buffer=16384))
    assert [row.label for row in table.lines][:3] == ["16 KiB", "64 KiB", "auto"]


def test_a_blank_has_a_letter_for_its_reason_and_equal_reasons_share_it() -> None:
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


def test_the_same_reason_with_another_error_number_has_another_letter() -> None:
    table = table_of(
        blank("failed", "system", errno=22, buffer=1), blank("failed", "system", errno=5, buffer=2)
    )
    assert [row.places[0].notes for row in table.lines[:2]] == [("a",), ("b",)]


def test_a_reason_that_this_netlab_does_not_know_is_shown_as_it_stands() -> None:
    table = table_of(blank("failed", "gone-fishing"))
    assert table.footnotes == (("a", "Failed (gone-fishing)."),)


def test_what_the_matrix_left_out_is_told_from_what_was_not_measured() -> None:
    table = table_of(
        reading(message=64, buffer=1), reading(message=64, buffer=2), reading(message=576, buffer=1)
    )
    assert row_of(table, "2 B").places[1].notes == ("a",)
    assert table.footnotes == (("a", "Not asked for by the matrix."),)


def test_means_are_taken_over_the_cells_that_have_a_figure_and_say_how_many() -> None:
    table = table_of(reading(90, buffer=1), blank(buffer=2), reading(91, buffer=3))
    mean = row_of(table, "mean").places[0]
    assert (mean.value, mean.n, mean.shows_n) == (90.5e6, 2, True)
    assert "90.50 (2)" in plain(table)


def test_a_column_without_a_figure_has_a_blank_mean_and_never_a_zero() -> None:
    readings = (reading(94), blank(protocol="UDP"))
    for table in (table_of(*readings, link=LINK), overviews(lay_out(readings))[0]):
        means = [row.places[1] for row in table.lines if row.kind in ("mean", "median")]
        assert all(entry.value is None and entry.n == 0 and entry.notes for entry in means)
        assert " 0.00" not in plain(table)


def test_a_cell_with_repeats_shows_the_mean_of_its_trials_and_their_number() -> None:
    table = table_of(*(reading(90 + trial, trial=trial) for trial in (1, 2, 3)))
    assert "(number of trials)" in table.quantity
    entry = row_of(table, "16 KiB").places[0]
    assert (entry.value, entry.n) == (92e6, 3)
    assert "92.00 (3)" in plain(table)


def test_trials_that_failed_beside_others_are_counted_in_the_footnote() -> None:
    table = table_of(reading(90, trial=1), blank(trial=2), blank("pending", "host-away", trial=3))
    entry = row_of(table, "16 KiB").places[0]
    assert (entry.value, entry.n, entry.notes) == (90e6, 1, ("a", "b"))
    assert [sentence.split(":")[0] for _, sentence in table.footnotes] == [
        "1 of 3 trials failed",
        "1 of 3 trials pending",
    ]


def test_the_mean_row_weighs_cells_alike_however_many_trials_they_had() -> None:
    table = table_of(
        *(reading(90, buffer=1, trial=trial) for trial in (1, 2, 3)),
        *(reading(96, buffer=2, trial=trial) for trial in (1,)),
    )
    assert texts(table, "mean") == ["93.00"]


def test_three_trials_and_more_have_an_interval_in_a_companion_table() -> None:
    throughput, intervals = tables_of(
        *(reading(94 + trial / 10, trial=trial, buffer=1) for trial in (0, 1, 2)),
        reading(94, buffer=2),
    )
    assert texts(intervals, "1 B") == ["0.25"]
    assert texts(intervals, "2 B") == [""]
    assert "fewer than 3 trials" in intervals.footnotes[0][1].lower()
    assert throughput.quantity != intervals.quantity


def test_other_settings_that_vary_make_a_table_a_combination_and_the_caption_says_which() -> None:
    tables = tables_of(
        *(
            reading(buffer=buffer, streams=streams, congestion=congestion)
            for congestion in ("cubic", "bbr")
            for streams in (1, 4)
            for buffer in (16384, 32768)
        )
    )
    assert [table.conditions for table in tables] == [
        "streams 1, congestion control cubic",
        "streams 4, congestion control cubic",
        "streams 1, congestion control bbr",
        "streams 4, congestion control bbr",
    ]
    assert tables[1].title.startswith("LL, streams 4, congestion control cubic: throughput")


def test_where_buffers_do_not_vary_the_setting_with_the_most_levels_makes_the_rows() -> None:
    (table,) = tables_of(*(reading(duration_s=seconds) for seconds in (10.0, 1.0, 0.5)))
    assert table.corner == "duration"
    assert [row.label for row in table.lines][:3] == ["500 ms", "1 s", "10 s"]


def test_a_setting_that_only_one_protocol_has_does_not_split_the_tables() -> None:
    (table,) = tables_of(reading(congestion="cubic"), reading(protocol="UDP"))
    assert list(table.columns) == ["TCP 64", "UDP 64"]


def test_both_directions_have_columns_of_their_own_and_no_sum() -> None:
    flows = {
        "to_server_": FlowReading(throughput_bit_per_s=60e6),
        "to_client_": FlowReading(throughput_bit_per_s=50e6),
    }
    table = table_of(reading(direction="both", flows=flows))
    assert list(table.columns) == ["TCP 64 to client", "TCP 64 to server"]
    assert texts(table, "16 KiB") == ["50.00", "60.00"]
    assert "110" not in plain(table)


def test_combinations_with_other_columns_have_an_overview_of_their_own() -> None:
    both = {"to_server_": FlowReading(throughput_bit_per_s=1e6), "to_client_": FlowReading()}
    one_way = [reading(direction=way) for way in ("client-sends", "server-sends")]
    first, second = overviews(lay_out([*one_way, reading(direction="both", flows=both)]))
    assert [row.label for row in first.lines] == [
        "LL, direction client-sends",
        "LL, direction server-sends",
    ]
    assert [row.label for row in second.lines] == ["LL, direction both"]
    assert not first.footnotes


def test_directions_that_vary_have_tables_of_their_own() -> None:
    both = {"to_server_": FlowReading(throughput_bit_per_s=1e6), "to_client_": FlowReading()}
    tables = tables_of(
        reading(direction="client-sends"), reading(direction="both", flows=both, status="ok")
    )
    assert [table.conditions for table in tables] == [
        "direction client-sends",
        "direction both",
    ]


def test_tables_too_wide_for_a_page_are_cut_by_protocol_and_lose_nothing() -> None:
    sizes = (64, 128, 256, 512, 1024, 1280)
    readings = [reading(protocol=p, message=size) for p in ("TCP", "UDP") for size in sizes]
    tables = tables_of(*readings)
    assert [table.groups for table in tables] == [(("TCP", 6),), (("UDP", 6),)]
    assert [table.groups for table in overviews(lay_out(readings))] == [
        table.groups for table in tables
    ]
    many = tables_of(*(reading(message=size) for size in range(1, 24)))
    assert [len(table.columns) for table in many] == [10, 10, 3]
    assert [c.message_bytes for table in many for c in table.keys] == list(range(1, 24))


def test_trials_not_measured_yet_are_counted_as_a_sentence() -> None:
    table = table_of(reading(trial=1), blank("pending", "not-measured-yet", trial=2))
    assert table.footnotes == (("a", "1 of 2 trials: Not measured yet (not-measured-yet)."),)


def test_loss_stands_in_a_companion_table_where_there_was_any() -> None:
    def udp(lost: int, **keys: Any) -> Reading:
        counted = {"sent_messages": 1_000_000, "lost_messages": lost}
        return reading(protocol="UDP", flow=counted, **keys)

    assert len(tables_of(udp(0), reading())) == 1
    _, lost = tables_of(udp(1, buffer=1), udp(250_000, buffer=2), udp(0, buffer=3), reading())
    assert list(lost.columns) == ["UDP 64"]
    assert [texts(lost, f"{size} B") for size in (1, 2, 3)] == [["0.00010"], ["25.00"], ["0"]]


def test_a_measured_figure_is_never_printed_as_nothing() -> None:
    assert figure(0.14) == "0.14"
    assert figure(0.0004) == "0.00040"
    assert figure(0.0) == "0"
    assert figure(12345.678) == "12345.68"


def test_same_host_pairings_are_labelled_and_stay_out_of_the_mean_of_all() -> None:
    layout = lay_out(
        (
            reading(90, pairing="LL"),
            reading(80, pairing="WL"),
            reading(4393, pairing="WW", same_host=True),
        )
    )
    table = overviews(layout)[0]
    assert [row.label for row in table.lines] == ["LL", "WL", "WW (same host)", "all pairings"]
    everything = row_of(table, "all pairings").places[0]
    assert (everything.value, everything.n) == (85e6, 2)


def test_one_pairing_with_a_cable_has_no_mean_of_all() -> None:
    layout = lay_out((reading(pairing="LL"), reading(pairing="WW", same_host=True)))
    assert [row.kind for row in overviews(layout)[0].lines] == ["mean", "mean"]


def test_same_host_trials_have_no_wire_ceiling() -> None:
    table = table_of(reading(4393, same_host=True), link=LINK)
    assert "wire ceiling" not in [row.label for row in table.lines]
    assert table.pairing == "LL (same host)"


def test_the_ceiling_and_the_share_of_it_stand_below_the_means() -> None:
    table = table_of(reading(94.1, flow={"tcp_timestamps": True}), link=LINK)
    assert texts(table, "wire ceiling") == ["94.15"]
    assert texts(table, "mean / ceiling, %") == ["99.95"]
    assert not table.footnotes
    without = table_of(reading(94.1, flow={"tcp_timestamps": False}), link=LINK)
    assert texts(without, "wire ceiling") == ["94.93"]


def test_where_the_tcp_options_are_not_recorded_the_ceiling_is_the_higher_and_says_so() -> None:
    table = table_of(reading(94.1), link=LINK)
    assert texts(table, "wire ceiling") == ["94.93"]
    assert "With them the ceiling is 94.15 Mbit/s" in table.footnotes[0][1]


def test_the_mss_in_effect_the_tag_and_the_ip_version_decide_about_the_ceiling() -> None:
    def ceiling(link: Link, flow: dict[str, Any], **settings: Any) -> float:
        grid = lay_out((reading(flow={"tcp_timestamps": True, **flow}, **settings),)).grids[0]
        column = TableColumn("TCP", 64)
        found = ceiling_of(column, grid.column(column), link)
        assert found is not None
        return found.highest_bit_per_s

    assert ceiling(LINK, {"mss_bytes": 1448}) == pytest.approx(94.148e6, abs=500)
    assert ceiling(LINK, {"mss_bytes": 536}) == pytest.approx(1e8 * 536 / 626)
    assert ceiling(LINK, {"mss_bytes": 65483}) == pytest.approx(94.148e6, abs=500)
    assert ceiling(Link(1e8, 1500, vlan=True), {}) == pytest.approx(93.904e6, abs=500)
    assert ceiling(LINK, {}, ip_version=6) == pytest.approx(92.848e6, abs=500)


def test_a_message_that_the_protocol_cannot_carry_has_no_ceiling_but_a_reason() -> None:
    table = table_of(
        blank("impossible", "message-too-long", protocol="UDP", message=65536),
        reading(),
        link=LINK,
    )
    assert texts(table, "wire ceiling") == ["94.93", ""]
    assert "cannot carry such a message" in " ".join(text for _, text in table.footnotes)


@pytest.mark.parametrize(
    ("over_percent", "imported", "flagged"),
    [(0.076, False, False), (0.12, False, True), (0.12, True, False), (0.25, True, True)],
)
def test_only_what_clocks_cannot_explain_is_flagged_as_above_the_ceiling(
    over_percent: float, imported: bool, flagged: bool
) -> None:
    exact = 100 * 1500 / 1624
    cell = reading(exact * (1 + over_percent / 100), protocol="UDP", message=1500)
    table = table_of(cell, link=LINK, imported=imported)
    assert any("Above the wire ceiling" in text for _, text in table.footnotes) is flagged
    assert bool(row_of(table, "16 KiB").places[0].notes) is flagged


def test_without_a_link_there_is_no_ceiling() -> None:
    assert [row.kind for row in table_of(reading()).lines] == ["value", "mean", "median"]


def test_letters_go_on_after_z() -> None:
    table = table_of(*(blank("failed", f"word-{n}", buffer=n + 1) for n in range(30)))
    assert [letter for letter, _ in table.footnotes][24:29] == ["y", "z", "aa", "ab", "ac"]


settings_of_cells = st.fixed_dictionaries(
    {
        "pairing": st.sampled_from(["LL", "WL"]),
        "protocol": st.sampled_from(["TCP", "UDP"]),
        "message": st.sampled_from([64, 1500]),
        "buffer": st.sampled_from([None, 16384, 65536]),
    },
    optional={
        "duration_s": st.sampled_from([1.0, 10.0]),
        "streams": st.sampled_from([1, 4]),
        "congestion": st.sampled_from(["cubic", "bbr"]),
        "nodelay": st.booleans(),
    },
)


@given(
    st.lists(
        settings_of_cells, min_size=1, max_size=12, unique_by=lambda cell: str(sorted(cell.items()))
    )
)
def test_every_planned_cell_stands_in_exactly_one_place_whatever_varies(
    cells: list[dict[str, Any]],
) -> None:
    readings = [reading(float(index + 1), **cell) for index, cell in enumerate(cells)]
    tables = tables_of(*readings)
    shown = [
        entry.value
        for table in tables
        for row in table.lines
        if row.kind == "value"
        for entry in row.places
        if entry.value is not None
    ]
    assert sorted(shown) == [(index + 1) * 1e6 for index in range(len(cells))]
    assert all(
        entry.notes
        for table in tables
        for row in table.lines
        for entry in row.places
        if entry.value is None
    )


def test_a_spreadsheet_finds_no_formula_and_one_rectangle() -> None:
    table = table_of(
        reading(90, interface="=HYPERLINK(1)", streams=1),
        reading(91, interface=" @x\n=1", streams=1),
        blank(pairing="=A", interface="=HYPERLINK(1)", streams=1),
    )
    hostile = tables_of(blank(pairing="=A"), reading(pairing="-B"), reading(pairing="\t+C"))
    rows = list(csv.reader(io.StringIO(comma_separated([table, *hostile]))))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 10
    assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")]


def test_csv_has_the_figures_their_unit_and_the_reason_of_each_blank() -> None:
    table = table_of(reading(90), blank(protocol="UDP"), link=LINK)
    rows = list(csv.DictReader(io.StringIO(comma_separated([table]))))
    first = rows[0]
    assert (first["row"], first["unit"], first["TCP 64"], first["UDP 64"]) == (
        "16 KiB",
        "Mbit/s",
        "90.00",
        "",
    )
    assert first["notes"].startswith("UDP 64: Failed: ")
    counts = next(row for row in rows if row["unit"] == "n")
    assert (counts["row"], counts["TCP 64"], counts["UDP 64"]) == ("mean", "1", "0")


def test_markdown_is_one_table_a_table_with_footnotes_and_nothing_slips_through() -> None:
    text = markdown(
        "a|b <script>\n# c",
        tables_of(blank(pairing="<b>|"), reading(pairing="LL", interface="`x`|*y*")),
        ["Link: [x](y)."],
    )
    assert "<script>" not in text
    assert "<b>" not in text
    assert text.startswith("# a\\|b \\<script\\> \\# c\n")
    lines = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 * 5
    assert {line.count("|") for line in lines} == {3}
    assert "- *a* Failed: " in text
    assert "*a*" in lines[2]


def test_a_terminal_gets_no_escape_sequence() -> None:
    table = table_of(blank("failed", "\x1b[31m\u202eword"))
    assert "\x1b" not in plain(table)
    assert "\u202e" not in plain(table)
    assert "word" in plain(table)


def test_the_methods_name_where_the_server_connected_and_only_there() -> None:
    turned = reading(94, pairing="WL", flow={"connected_by": "server"})
    plain = reading(94, pairing="LW", flow={"connected_by": "client"})
    (sentence,) = [
        each for each in methods((turned, plain), None, source=None) if "it is the server" in each
    ]
    assert sentence.endswith("about the MSS (TCP of WL).")
    assert not any("it is the server" in each for each in methods((plain,), None, source=None))
