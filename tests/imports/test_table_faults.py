"""Each fault of a table is reported with its place, and harmless differences are accepted."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_tables import HEADER

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.common.csv_table import parse
from netlab.imports.table import FORM, import_table


def faults_of(text: str) -> list[str]:
    with pytest.raises(MatrixError) as caught:
        parse(text, "t.csv", FORM)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("LL,TCP,64,16384,1e308", "17: mbit_per_s: '1e308' is not a plain decimal number"),
        ("LL,TCP,64,16384,NaN", "17: mbit_per_s: 'NaN' is not a plain decimal number"),
        ("LL,TCP,64,16384,Infinity", "17: mbit_per_s: 'Infinity' is not a plain decimal number"),
        ("LL,TCP,64,16384,-1", "17: mbit_per_s: '-1' is not a plain decimal number"),
        ("LL,TCP,64,16384,+1", "17: mbit_per_s: '+1' is not a plain decimal number"),
        ("LL,TCP,64,16384,0x1F", "17: mbit_per_s: '0x1F' is not a plain decimal number"),
        ("LL,TCP,64,16384,1_000", "17: mbit_per_s: '1_000' is not a plain decimal number"),
        ("LL,TCP,64,16384,٣", "17: mbit_per_s: '٣' is not a plain decimal number"),
        ("LL,TCP,64,16384,-", "17: mbit_per_s: '-' is not a plain decimal number"),
        ('LL,TCP,64,16384,"88,35"', "17: mbit_per_s: '88,35' is not a plain decimal number"),
        ("LL,TCP,64,16384,0.00", "17: mbit_per_s: 0 is not a throughput; leave the field empty"),
        ("LL,TCP,64,16384,100000001", "17: mbit_per_s: '100000001' is more than 100000000"),
        ("LL,TCP,64,16384,88,35", "20: 6 values for 5 columns; write a decimal point"),
        ("LL,TCP,64,16384", "11: 4 values for 5 columns"),
        ("LL,TCP,64,0,1", "11: socket_buffer_bytes: '0' is not a whole number of bytes"),
        ("LL,TCP,64,2147483648,1", "11: socket_buffer_bytes: '2147483648' is not a whole"),
        ("LL,TCP,64.5,16384,1", "8: message_bytes: '64.5' is not a whole number"),
        ("LL,TCP,16777217,16384,1", "8: message_bytes: '16777217' is not a whole number"),
        ("LL,TCP,,16384,1", "8: message_bytes: '' is not a whole number"),
        ("LL,UDP,65536,16384,1", "8: message_bytes: UDP cannot carry 65536 bytes"),
        ("LL,SCTP,64,16384,1", "4: protocol: 'SCTP' is neither TCP nor UDP"),
        ("LL,tcp,64,16384,1", "4: protocol: 'tcp' is neither TCP nor UDP"),
        ("ll,TCP,64,16384,1", "1: pairing: 'll' is not two capitals"),
        ("LLL,TCP,64,16384,1", "1: pairing: 'LLL' is not two capitals"),
        ('LL,TCP,64,16384,"1', "17: the quotes do not match"),
        ('LL,TCP,6"4,16384,1', "8: the quotes do not match"),
    ],
)
def test_a_wrong_row_of_a_table_is_refused_with_its_line_and_column(row: str, fault: str) -> None:
    lines = faults_of(f"{HEADER}\nLL,UDP,64,16384,1\n{row}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"t.csv:3:{fault}")


def test_netlab_reports_all_faults_of_a_table_at_once() -> None:
    lines = faults_of(f"{HEADER}\nX,SCTP,0,-1,nan\nLL,TCP,1,1,1\n\nLL,TCP,1,1,2\nWW,TCP,x,1,\n")
    places = [line.split(": ")[0] for line in lines]
    assert places == [
        "t.csv:2:1",
        "t.csv:2:3",
        "t.csv:2:8",
        "t.csv:2:10",
        "t.csv:2:13",
        "t.csv:5:1",
        "t.csv:6:8",
    ]
    assert lines[5] == "t.csv:5:1: the same cell as in line 3"


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (
            "",
            "t.csv:1:1: the file is empty; its first line must name the columns pairing, protocol",
        ),
        ("\n \n", "t.csv:1:1: the file is empty; its first line must name the columns"),
        (HEADER, "t.csv:1:1: no rows below"),
        (HEADER + ",colour", "t.csv:1:63: no such column: colour"),
        (
            HEADER.replace("mbit_", "mbyte_"),
            "t.csv:1:52: no such column: mbyte_per_s; did you mean",
        ),
        (HEADER + ",pairing", "t.csv:1:63: pairing: this column is given twice"),
        (HEADER.replace(",", ";"), "t.csv:1:1: no such column: "),
        ("LL,TCP,64,16384,88.35", "t.csv:1:1: no such column: LL"),
        ('"pairing', "t.csv:1:1: the quotes do not match"),
    ],
)
def test_a_wrong_header_of_a_table_is_refused_with_its_column(header: str, fault: str) -> None:
    assert faults_of(header)[0].startswith(fault)


def test_a_fault_names_the_columns_that_a_table_lacks() -> None:
    assert (
        "missing: socket_buffer_bytes, mbit_per_s" in faults_of("pairing,protocol,message_bytes")[0]
    )


def test_a_table_with_reordered_columns_quotes_spaces_and_windows_line_ends_is_accepted(
    tmp_path: Path,
) -> None:
    text = 'mbit_per_s, "protocol",pairing,socket_buffer_bytes,message_bytes\r\n'
    text += '"88.35",TCP , LL,16384,64\r\n'
    table = tmp_path / "table.csv"
    table.write_bytes(b"\xef\xbb\xbf" + text.encode())
    import_table(table, tmp_path / "run")
    row = load(tmp_path / "run").frame.iloc[0]
    assert (row["pairing"], row["protocol"], row["throughput_bit_per_s"]) == ("LL", "TCP", 88.35e6)


def test_a_table_in_another_encoding_is_refused_with_the_place(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes((HEADER + "\nLL,TCP,64,16384,1\nLL,Ä").encode("latin-1"))
    with pytest.raises(MatrixError, match=r"table\.csv:3:4: not UTF-8"):
        import_table(table, tmp_path / "run")
    table.write_bytes(HEADER.encode("utf-16"))
    with pytest.raises(MatrixError, match=r"table\.csv:1:1: not UTF-8"):
        import_table(table, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tables_that_are_too_large_are_refused(tmp_path: Path) -> None:
    assert "longer than 4096 characters" in faults_of(HEADER + "\n" + "9" * 5000)[0]
    faults = faults_of(HEADER + "\n" + "rubbish\n" * 100_000)
    assert len(faults) == 201
    assert "200 faults; reading stopped here" in faults[-1]
    many = "\n".join(f"LL,TCP,64,{n},1" for n in range(1, 20_003))
    assert "more than 20000 rows" in faults_of(f"{HEADER}\n{many}")[0]
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(UsageError, match="larger than 16 MiB"):
        import_table(large, tmp_path / "run")


def test_a_path_that_is_not_a_regular_file_is_refused_as_a_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path, words in (
        (tmp_path / "pipe.csv", "not a regular file"),
        (tmp_path, "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path / "nowhere.csv", "no such file"),
    ):
        with pytest.raises(UsageError, match=words):
            import_table(path, tmp_path / "run")


@given(st.text(), st.text())
def test_a_table_of_random_text_is_refused_with_a_list_of_faults(header: str, rows: str) -> None:
    for text in (header, f"{HEADER}\n{rows}"):
        with pytest.raises(MatrixError) as caught:
            parse(text, "t.csv", FORM)
        assert caught.value.faults


@given(
    st.decimals(min_value="0.000001", max_value=10**6, places=6, allow_nan=False),
    st.sampled_from(["TCP", "UDP"]),
    st.integers(1, 65507),
)
def test_a_plain_decimal_in_a_table_is_read_exactly(
    value: Decimal, protocol: str, size: int
) -> None:
    (row,) = parse(f"{HEADER}\nWL,{protocol},{size},8192,{value:f}\n", "t.csv", FORM)
    assert Decimal(row.printed) == value
    assert row.cell.settings["protocol"] == protocol
    assert row.cell.settings["message_bytes"] == size
