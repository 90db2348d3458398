"""The settings that vary decide about the rows, the columns and the number of tables."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from made_grids import reading, table_of, tables_of, texts

from netlab.report.tables.tables import overviews
from netlab.report.write.text import plain
from netlab.results.layout import lay_out


def test_table_rows_are_buffers_and_columns_are_protocol_and_message_size() -> None:
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


def test_automatic_buffers_are_a_table_row_below_the_sizes() -> None:
    table = table_of(reading(buffer=None), reading(buffer=65536), reading(buffer=16384))
    assert [row.label for row in table.lines][:3] == ["16 KiB", "64 KiB", "auto"]


def test_each_combination_of_further_settings_has_a_table_whose_title_names_the_settings() -> None:
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


def test_without_varied_buffers_the_setting_with_most_levels_makes_the_table_rows() -> None:
    (table,) = tables_of(*(reading(duration_s=seconds) for seconds in (10.0, 1.0, 0.5)))
    assert table.corner == "duration"
    assert [row.label for row in table.lines][:3] == ["500 ms", "1 s", "10 s"]


def test_a_setting_of_only_one_protocol_does_not_split_the_tables() -> None:
    (table,) = tables_of(reading(congestion="cubic"), reading(protocol="UDP"))
    assert list(table.columns) == ["TCP 64", "UDP 64"]


def test_streams_in_both_directions_have_a_table_column_per_direction_and_no_sum() -> None:
    flows: dict[str, float | None] = {"to_server_": 60.0, "to_client_": 50.0}
    table = table_of(reading(direction="both", flows=flows))
    assert list(table.columns) == ["TCP 64 to client", "TCP 64 to server"]
    assert texts(table, "16 KiB") == ["50.00", "60.00"]
    assert "110" not in plain(table)


def test_one_way_streams_and_streams_in_both_directions_have_separate_overviews() -> None:
    flows = {"to_server_": 1.0, "to_client_": None}
    one_way = [reading(direction=way) for way in ("client-sends", "server-sends")]
    first, second = overviews(lay_out([*one_way, reading(direction="both", flows=flows)]))
    assert [row.label for row in first.lines] == [
        "LL, direction client-sends",
        "LL, direction server-sends",
    ]
    assert [row.label for row in second.lines] == ["LL, direction both"]
    assert not first.footnotes


def test_one_way_streams_and_streams_in_both_directions_have_separate_tables() -> None:
    flows = {"to_server_": 1.0, "to_client_": None}
    tables = tables_of(
        reading(direction="client-sends"), reading(direction="both", flows=flows, status="ok")
    )
    assert [table.conditions for table in tables] == [
        "direction client-sends",
        "direction both",
    ]


def test_tables_too_wide_for_a_page_are_cut_by_protocol_and_lose_no_column() -> None:
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
def test_every_planned_cell_is_in_exactly_one_table_place_whatever_varies(
    cells: list[dict[str, Any]],
) -> None:
    readings = [reading(float(index + 1), **cell) for index, cell in enumerate(cells)]
    tables = tables_of(*readings)
    values = [
        entry.value
        for table in tables
        for row in table.lines
        if row.kind == "value"
        for entry in row.places
        if entry.value is not None
    ]
    assert sorted(values) == [(index + 1) * 1e6 for index in range(len(cells))]
    assert all(
        entry.notes
        for table in tables
        for row in table.lines
        for entry in row.places
        if entry.value is None
    )
