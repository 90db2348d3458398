"""A map states which columns of any table are which columns of netlab."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from netlab.cli import cli
from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.common.mapped import ColumnMap, parse_mapped_table, read_column_map
from netlab.imports.table import import_table
from netlab.trial.record import Status

STREAMS = """\
separator: ";"
decimal: ","
blank: ["n/a"]
columns:
  pairing: Setup
  message_bytes: {heading: Size, unit: KiB}
  socket_buffer_bytes: {heading: Window, unit: kB}
  throughput_bit_per_s: {heading: Rate, unit: Gbit/s}
values:
  protocol: TCP
"""
STREAM_TABLE = """\
Setup;Size;Window;Rate;Remark
WL;1;64;0,0941;first
WL;1;64;0,0940;again
LL;4;64 KiB;n/a;
LL;8;65536 byte;"94,12 Mbit/s";
"""
ROUND_TRIPS = """\
test: round_trip
separator: tab
columns:
  server: nas
  client: laptop
  protocol: proto
  message_bytes: bytes
  rtt_p50_ns: {heading: median, unit: us}
  started_at: when
"""
ROUND_TRIP_TABLE = """\
nas\tlaptop\tproto\tbytes\tmedian\twhen
a\tb\tudp\t64\t12.25\t2026-01-31T12:00:10Z
a\tb\tUDP\t64\t1.5e1\t2026-01-31T13:00:00+01:00
"""


def imported(folder: Path, columns: str, table: str, **more: Any) -> Any:
    (folder / "columns.yaml").write_text(columns, encoding="utf-8")
    (folder / "table.csv").write_text(table, encoding="utf-8")
    columns_path, into = folder / "columns.yaml", folder / "run"
    return load(import_table(folder / "table.csv", into, columns=columns_path, **more))


def map_of(folder: Path, text: str) -> ColumnMap:
    path = folder / "columns.yaml"
    path.write_text(text, encoding="utf-8")
    return read_column_map(path)


def test_a_number_of_a_mapped_table_has_the_unit_of_its_column_or_its_own_unit(
    tmp_path: Path,
) -> None:
    run = imported(tmp_path, STREAMS, STREAM_TABLE)
    rows = [
        (r.pairing, r.trial, r.settings["message_bytes"], r.settings["socket_buffer_bytes"])
        for r in run.records
    ]
    assert rows == [
        ("WL", 1, 1024, 64000),
        ("WL", 2, 1024, 64000),
        ("LL", 1, 4096, 65536),
        ("LL", 1, 8192, 65536),
    ]
    assert {record.settings["protocol"] for record in run.records} == {"TCP"}
    figures = [
        (r.values.get("throughput_bit_per_s"), r.values.get("printed_step_bit_per_s"))
        for r in run.records
    ]
    assert figures == [
        (94_100_000, 100_000),
        (94_000_000, 100_000),
        (None, None),
        (94_120_000, 10_000),
    ]
    assert run.records[3].values["printed_mbit_per_s"] == "94.12"
    assert "printed_mbit_per_s" not in run.records[0].values


def test_the_documented_example_of_a_column_map_reads_a_table_with_its_headings(
    tmp_path: Path,
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text(encoding="utf-8")
    section = page.partition("### A table of any form\n")[2]
    example = section.partition("```yaml\n")[2].partition("```")[0]
    table = (
        "Receiver;Sender;Time;Size;Rate\n"
        "nas;laptop;2026-01-31T12:00:00Z;64;0,9414\n"
        "nas;laptop;2026-01-31T12:01:00Z;64;-\n"
    )
    records = imported(tmp_path, example, table).records
    assert [record.status for record in records] == [Status.OK, Status.PENDING]
    assert records[0].values["throughput_bit_per_s"] == 941_400_000
    assert records[0].settings == {
        "message_bytes": 65536,
        "protocol": "TCP",
        "socket_buffer_bytes": 65536,
    }


def test_a_blank_of_a_mapped_table_becomes_a_pending_record_without_values(tmp_path: Path) -> None:
    record = imported(tmp_path, STREAMS, STREAM_TABLE).records[2]
    assert (record.status, record.reason, record.values) == (Status.PENDING, "not-recorded", {})


def test_rows_of_one_cell_become_trials_in_the_order_of_their_times(tmp_path: Path) -> None:
    run = imported(tmp_path, ROUND_TRIPS, ROUND_TRIP_TABLE)
    trials = [(r.trial, r.started_at, r.values["rtt_p50_ns"]) for r in run.records]
    assert trials == [
        (1, "2026-01-31T12:00:00.000000Z", 15000),
        (2, "2026-01-31T12:00:10.000000Z", 12250),
    ]
    assert {(r.pairing, r.server, r.client, r.test) for r in run.records} == {
        ("a+b", "a", "b", "round_trip")
    }


def test_the_report_of_a_mapped_table_names_the_columns_that_were_not_read(tmp_path: Path) -> None:
    (tmp_path / "columns.yaml").write_text(STREAMS, encoding="utf-8")
    (tmp_path / "table.csv").write_text(STREAM_TABLE, encoding="utf-8")
    words = ["import", "table", str(tmp_path / "table.csv"), "--into", str(tmp_path / "run")]
    words += ["--map", str(tmp_path / "columns.yaml")]
    outcome = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    page = next((tmp_path / "run").rglob("*.html")).read_text(encoding="utf-8")
    assert "columns not read: Remark" in page


def test_an_import_with_another_map_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    imported(tmp_path, STREAMS, STREAM_TABLE)
    imported(tmp_path, STREAMS, STREAM_TABLE)
    with pytest.raises(UsageError, match="run"):
        imported(tmp_path, STREAMS.replace("Gbit/s", "Mbit/s"), STREAM_TABLE)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "pairing: Setup",
            "paring: Setup",
            "5:3: columns.paring: not a column that a table can give",
        ),
        ("pairing: Setup", "paring: Setup", "did you mean `pairing`?"),
        ("pairing: Setup", "duration_s: Setup", "4:1: columns: name a column for pairing"),
        ("pairing: Setup", "pairing: Setup\n  server: S", "exclude each other"),
        (
            "unit: Gbit/s",
            "unit: MB/s",
            "8:47: columns.throughput_bit_per_s.unit: `MB/s` is",
        ),
        ("unit: Gbit/s", "unit: ms", "its units: bit/s, kbit/s, Mbit/s, Gbit/s"),
        ("throughput_bit_per_s", "duration_s", "no column has a measured value"),
        (
            "protocol: TCP",
            "protocol: SCTP",
            "10:13: values.protocol: 'SCTP' is not one of TCP",
        ),
        ("protocol: TCP", "streams: 2", "protocol is missing; if all rows have the same"),
        ("protocol: TCP", "protocol: TCP\n  message_bytes: 64", "keep one of the two"),
        (
            "protocol: TCP",
            "protocol: TCP\n  dscp: 900",
            "values.dscp: '900' is not between 0 and 63",
        ),
        ('separator: ";"', 'separator: "ab"', "1:12: separator: `ab` is not one of"),
        ("{heading: Size, unit: KiB}", "[Size]", "columns.message_bytes: "),
        ("decimal", "decimals", "2:1: decimals: unknown key"),
    ],
)
def test_a_wrong_map_of_columns_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as caught:
        map_of(tmp_path, STREAMS.replace(old, new, 1))
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Setup;Size", "Set-up;Size", "1:1: pairing: no column has the heading `Setup`"),
        ("Remark", "Rate", "1:24: throughput_bit_per_s: 2 columns have the heading `Rate`"),
        ("WL;1;", "WL;one;", "2:4: message_bytes: 'one' is not a plain number"),
        ("WL;1;", "W;1;", "2:1: pairing: 'W' is not two capitals"),
        ("WL;1;", ";1;", "2:1: pairing: is blank, but every row needs this value"),
        ("WL;1;", "WL;0,3;", "2:4: message_bytes: '0,3' is not a whole number"),
        ("WL;1;", "WL;99999999;", "2:4: message_bytes: '99999999' is not between "),
        ("0,0941", "0,0941 MBps", "2:9: throughput_bit_per_s: '0,0941 MBps': MBps is not a unit"),
        ("0,0941", "0", "2:9: throughput_bit_per_s: 0 is not a throughput"),
        ("0,0941", "1e20", "2:9: throughput_bit_per_s: '1e20' is more than 100000000000000 bit/s"),
        ("0,0941", "1.000,5", "2:9: throughput_bit_per_s: '1.000,5' is not a plain number"),
        ("0,0941", "nan", "2:9: throughput_bit_per_s: 'nan' is not a plain number"),
        ("0,0941;first", "0,0941", "2:9: 4 values for 5 columns"),
        (";", ",", "no column has the heading `Setup`"),
    ],
)
def test_a_wrong_row_of_a_mapped_table_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    count = -1 if old == ";" else 1
    with pytest.raises(MatrixError) as caught:
        parse_mapped_table(
            STREAM_TABLE.replace(old, new, count), "t.csv", map_of(tmp_path, STREAMS)
        )
    assert fault in str(caught.value)


def test_a_mapped_udp_message_above_the_largest_datagram_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="UDP cannot carry 65536 bytes"):
        imported(
            tmp_path, STREAMS.replace("TCP", "UDP"), STREAM_TABLE.replace("WL;1;", "WL;64;", 1)
        )


def test_a_too_large_udp_message_is_refused_if_the_protocol_column_comes_after_the_size(
    tmp_path: Path,
) -> None:
    columns = STREAMS.replace("values:\n  protocol: TCP\n", "  protocol: Remark\n")
    table = "Setup;Size;Window;Rate;Remark\nLL;64;64;0,09;udp\n"
    with pytest.raises(MatrixError, match="2:4: message_bytes: UDP cannot carry 65536 bytes"):
        imported(tmp_path, columns, table)


UNITS = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
    "byte/s": 8,
    "Mbyte/s": 8 * 10**6,
    "KiB/s": 8 * 1024,
    "MiB/s": 8 * 1024**2,
}
"""Unit → bit/s, from the SI and IEC prefixes by hand."""


@given(
    number=st.decimals("0.001", "9999", places=3),
    unit=st.sampled_from(sorted(UNITS)),
    separator=st.sampled_from([",", ";", "|", "tab"]),
    decimal=st.sampled_from([".", ","]),
    own=st.booleans(),
)
def test_a_rate_is_read_exactly_with_every_unit_column_separator_and_decimal_mark(
    tmp_path_factory: pytest.TempPathFactory,
    number: Decimal,
    unit: str,
    separator: str,
    decimal: str,
    own: bool,
) -> None:
    mark = "\t" if separator == "tab" else separator
    columns = f'separator: "{separator}"\ndecimal: "{decimal}"\nvalues: {{protocol: TCP}}\n'
    rate = "Rate" if own else f"{{heading: Rate, unit: {unit}}}"
    columns += f"columns:\n  pairing: P\n  throughput_bit_per_s: {rate}\n"
    text = str(number).replace(".", decimal) + (f" {unit}" if own else "")
    table = f'P{mark}Rate\nLL{mark}"{text}"\n'
    column_map = map_of(tmp_path_factory.getbasetemp(), columns)
    (result,) = parse_mapped_table(table, "t.csv", column_map)
    rate_bit_per_s = Decimal(str(result.values["throughput_bit_per_s"]))
    assert float(rate_bit_per_s) == float(number * UNITS[unit])
