"""importer.py: the printed lab report, its means to the last digit, and tables that are wrong."""

from __future__ import annotations

import csv
import os
import statistics
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from folders import FIXTURES, ROOT
from hypothesis import given
from hypothesis import strategies as st

from netlab.cli import cli
from netlab.errors import LockedError, MatrixError, UsageError
from netlab.experiment.matrix import Link
from netlab.experiment.records import Status
from netlab.findings.analysis import Analysis, load
from netlab.imports.facts_file import read_stated
from netlab.imports.table import COLUMNS, import_table, parse_table
from netlab.store.run_folder import RunFolder
from netlab.store.source_facts import stated_of

TABLE = ROOT / "reports" / "lab-report" / "lab-report.csv"
AVERAGES = FIXTURES / "lab-report-averages.csv"
HEADER = ",".join(COLUMNS)
NOW = "2026-01-31T12:00:00.000000Z"

Column = tuple[str, str, int]


@pytest.fixture(scope="module")
def lab_report(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    into = tmp_path_factory.mktemp("imported") / "run"
    import_table(TABLE, into, title="NIC lab report", link=Link(1e8, 1500))
    return load(into)


def printed_means() -> dict[Column, str]:
    with AVERAGES.open(encoding="utf-8") as file:
        return {
            (row["pairing"], row["protocol"], int(row["message_bytes"])): row["mean_mbit_per_s"]
            for row in csv.DictReader(file)
        }


def column_of(run: Analysis, column: Column) -> pd.DataFrame:
    frame = run.frame
    pairing, protocol, message_bytes = column
    return frame[
        (frame["pairing"] == pairing)
        & (frame["protocol"] == protocol)
        & (frame["message_bytes"] == message_bytes)
    ]


def measured(run: Analysis, column: Column) -> list[Decimal]:
    """The measured values of a column in 10^6 bit/s, exactly as printed."""
    values = column_of(run, column)["throughput_bit_per_s"].dropna()
    return [Decimal(int(value)) / 10**6 for value in values]


# The lab report


@pytest.mark.parametrize(("column", "printed"), printed_means().items())
def test_every_printed_mean_comes_out_of_the_cells_to_the_last_digit(
    lab_report: Analysis, column: Column, printed: str
) -> None:
    values = measured(lab_report, column)
    if not printed:
        assert values == []
        return
    mean = sum(values, Decimal(0)) / len(values)
    assert str(mean.quantize(Decimal("0.01"), ROUND_HALF_UP)) == printed
    # ... and with the frame's own floating point as well.
    own = column_of(lab_report, column)["throughput_bit_per_s"].mean() / 1e6
    assert f"{own:.2f}" == printed


def test_there_are_28_printed_means_and_4_blank_ones() -> None:
    assert sorted(bool(mean) for mean in printed_means().values()) == [False] * 4 + [True] * 28


def test_all_416_cells_are_there_346_measured_and_70_blank(lab_report: Analysis) -> None:
    frame = lab_report.frame
    assert len(frame) == 416
    assert (frame["status"] == "ok").sum() == 346
    assert frame["throughput_bit_per_s"].notna().sum() == 346
    assert lab_report.damage == ()


def test_every_value_is_the_printed_one_exactly(lab_report: Analysis) -> None:
    with TABLE.open(encoding="utf-8") as file:
        printed = [row["mbit_per_s"] for row in csv.DictReader(file)]
    frame = lab_report.frame
    texts = ["" if text is pd.NA else text for text in frame["printed_mbit_per_s"]]
    assert texts == printed
    for text, value in zip(printed, frame["throughput_bit_per_s"], strict=True):
        assert value is pd.NA if text == "" else Decimal(value) == Decimal(text) * 10**6
    assert set(frame["printed_step_bit_per_s"].dropna()) == {10_000}


@pytest.mark.parametrize("message_bytes", [64, 576, 1500, 64512])
def test_windows_to_windows_udp_is_blank_and_not_zero(
    lab_report: Analysis, message_bytes: int
) -> None:
    rows = column_of(lab_report, ("WW", "UDP", message_bytes))
    assert len(rows) == 13
    assert rows["throughput_bit_per_s"].isna().all()
    assert pd.isna(rows["throughput_bit_per_s"].mean())
    assert set(rows["status"]) == {"pending"}
    assert set(rows["reason"]) == {"not-recorded"}


def test_a_blank_is_a_record_with_a_reason_and_no_value(lab_report: Analysis) -> None:
    blanks = [record for record in lab_report.records if record.status is not Status.OK]
    assert len(blanks) == 70
    assert all(record.reason == "not-recorded" for record in blanks)
    assert all(not record.values for record in blanks)


@pytest.mark.parametrize(
    ("column", "n", "blank_buffers_kib"),
    [
        (("WL", "UDP", 1500), 12, [64]),
        (("WL", "UDP", 64512), 11, [16, 20]),
        (("LW", "UDP", 64512), 7, [16, 20, 24, 28, 32, 36]),
        (("WW", "TCP", 65536), 4, [32, 36, 40, 44, 48, 52, 56, 60, 64]),
        (("LL", "TCP", 64), 13, []),
    ],
)
def test_n_differs_from_column_to_column(
    lab_report: Analysis, column: Column, n: int, blank_buffers_kib: list[int]
) -> None:
    rows = column_of(lab_report, column)
    assert rows["throughput_bit_per_s"].count() == n
    blank = rows[rows["throughput_bit_per_s"].isna()]
    assert [size // 1024 for size in blank["socket_buffer_bytes"]] == blank_buffers_kib


def test_udp_was_measured_with_64512_where_tcp_was_with_65536(lab_report: Analysis) -> None:
    frame = lab_report.frame
    sizes = {
        protocol: sorted(set(frame[frame["protocol"] == protocol]["message_bytes"]))
        for protocol in ("TCP", "UDP")
    }
    assert sizes == {"TCP": [64, 576, 1500, 65536], "UDP": [64, 576, 1500, 64512]}


def test_pairings_are_kept_server_first(lab_report: Analysis) -> None:
    assert list(dict.fromkeys(lab_report.frame["pairing"])) == ["LL", "WL", "LW", "WW"]
    # All of LW's TCP 65536 lie above the ceiling with timestamps: a Windows client sends.
    assert min(measured(lab_report, ("LW", "TCP", 65536))) > Decimal("94.928")


def test_the_outliers_and_the_step_are_kept_as_they_are(lab_report: Analysis) -> None:
    values = measured(lab_report, ("WL", "UDP", 1500))
    assert values[-1] == Decimal("1.89")
    assert statistics.median(values) == Decimal("92.375")
    assert measured(lab_report, ("WL", "UDP", 64512))[0] == Decimal("56.31")
    assert measured(lab_report, ("LL", "UDP", 1500))[-2:] == [Decimal("87.14")] * 2


def test_a_printed_leading_zero_does_not_make_a_number_octal(lab_report: Analysis) -> None:
    assert measured(lab_report, ("WL", "UDP", 64))[0] == Decimal("2.57")
    assert column_of(lab_report, ("WL", "UDP", 64))["printed_mbit_per_s"].iloc[0] == "02.57"


def test_what_the_document_does_not_say_is_not_made_up(lab_report: Analysis) -> None:
    frame = lab_report.frame
    unsaid = ["duration_s", "server", "client", "started_at", "nodelay", "streams", "mss_bytes"]
    assert frame[unsaid].isna().all().all()


def test_the_link_is_known_where_it_was_given(lab_report: Analysis, tmp_path: Path) -> None:
    link = lab_report.plan.link
    assert link is not None
    assert (link.rate_bit_per_s, link.mtu_bytes, link.vlan) == (1e8, 1500, False)
    assert lab_report.plan.title == "NIC lab report"
    assert lab_report.plan.source == "lab-report.csv"
    import_table(TABLE, tmp_path / "run")
    assert load(tmp_path / "run").plan.link is None
    assert load(tmp_path / "run").plan.title == "lab-report"


# Into which folder


def test_with_a_fixed_time_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        import_table(TABLE, tmp_path / name, imported_at=NOW)
    for file in ("run.json", "journal.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def small_table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_importing_again_into_the_same_folder_changes_nothing(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35", "LL,TCP,64,20480,")
    import_table(table, tmp_path / "run")
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    import_table(table, tmp_path / "run")
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


def test_an_import_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35", "LL,TCP,64,20480,90")
    import_table(table, tmp_path / "run", imported_at=NOW)
    journal = tmp_path / "run" / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[: -len(whole.splitlines(keepends=True)[-1])])
    import_table(table, tmp_path / "run", imported_at=NOW)
    assert journal.read_bytes() == whole


def test_another_table_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path / "run")
    small_table(table, "LL,TCP,64,16384,88.36")
    with pytest.raises(UsageError, match=r"another matrix: table\.sha256: "):
        import_table(table, tmp_path / "run")
    with pytest.raises(UsageError, match="link: nothing there"):
        import_table(TABLE, tmp_path / "run", link=Link(1e8, 1500))


def test_the_table_may_stand_in_the_folder_that_becomes_the_run(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path)
    assert len(load(tmp_path).frame) == 1


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"thesis\.tex is in it"):
        import_table(table, tmp_path)


def test_an_import_takes_the_writers_lock(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    import_table(table, tmp_path / "run")
    plan = load(tmp_path / "run").plan
    with RunFolder.open_for_writing(tmp_path / "run", plan), pytest.raises(LockedError):
        import_table(table, tmp_path / "run")


# Tables that are wrong


def faults_of(text: str) -> list[str]:
    with pytest.raises(MatrixError) as caught:
        parse_table(text, "t.csv")
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
        ("LL,TCP,64,16384,0.00", "17: mbit_per_s: 0 is no throughput; leave it empty"),
        ("LL,TCP,64,16384,100000001", "17: mbit_per_s: '100000001' is more than 100000000"),
        ("LL,TCP,64,16384,88,35", "20: 6 values for 5 columns; a decimal point is meant"),
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
def test_a_wrong_row_is_told_with_line_and_column(row: str, fault: str) -> None:
    lines = faults_of(f"{HEADER}\nLL,UDP,64,16384,1\n{row}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"t.csv:3:{fault}")


def test_every_fault_is_told_in_one_go() -> None:
    lines = faults_of(f"{HEADER}\nX,SCTP,0,-1,nan\nLL,TCP,1,1,1\n\nLL,TCP,1,1,2\nWW,TCP,x,1,\n")
    where = [line.split(": ")[0] for line in lines]
    assert where == [
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
        ("", "t.csv:1:1: empty; the columns are pairing, protocol"),
        ("\n \n", "t.csv:1:1: empty; the columns are"),
        (HEADER, "t.csv:1:1: no rows below"),
        (HEADER + ",colour", "t.csv:1:63: no such column: colour"),
        (
            HEADER.replace("mbit_", "mbyte_"),
            "t.csv:1:52: no such column: mbyte_per_s; did you mean",
        ),
        (HEADER + ",pairing", "t.csv:1:63: pairing: this column is here twice"),
        (HEADER.replace(",", ";"), "t.csv:1:1: no such column: "),
        ("LL,TCP,64,16384,88.35", "t.csv:1:1: no such column: LL"),
        ('"pairing', "t.csv:1:1: the quotes do not match"),
    ],
)
def test_a_wrong_header_is_told_with_its_column(header: str, fault: str) -> None:
    assert faults_of(header)[0].startswith(fault)


def test_missing_columns_are_named() -> None:
    assert (
        "missing: socket_buffer_bytes, mbit_per_s" in faults_of("pairing,protocol,message_bytes")[0]
    )


def test_order_of_columns_quotes_spaces_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    text = 'mbit_per_s, "protocol",pairing,socket_buffer_bytes,message_bytes\r\n'
    text += '"88.35",TCP , LL,16384,64\r\n'
    table = tmp_path / "table.csv"
    table.write_bytes(b"\xef\xbb\xbf" + text.encode())
    import_table(table, tmp_path / "run")
    row = load(tmp_path / "run").frame.iloc[0]
    assert (row["pairing"], row["protocol"], row["throughput_bit_per_s"]) == ("LL", "TCP", 88.35e6)


def test_a_table_in_another_encoding_is_told_with_its_place(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes((HEADER + "\nLL,TCP,64,16384,1\nLL,Ä").encode("latin-1"))
    with pytest.raises(MatrixError, match=r"table\.csv:3:4: not UTF-8"):
        import_table(table, tmp_path / "run")
    table.write_bytes(HEADER.encode("utf-16"))
    with pytest.raises(MatrixError, match=r"table\.csv:1:1: not UTF-8"):
        import_table(table, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_absurd_tables_are_refused_at_once(tmp_path: Path) -> None:
    assert "longer than 4096 characters" in faults_of(HEADER + "\n" + "9" * 5000)[0]
    faults = faults_of(HEADER + "\n" + "rubbish\n" * 100_000)
    assert len(faults) == 201
    assert "200 faults; not read further" in faults[-1]
    many = "\n".join(f"LL,TCP,64,{n},1" for n in range(1, 20_003))
    assert "more than 20000 rows" in faults_of(f"{HEADER}\n{many}")[0]
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(UsageError, match="larger than 16 MiB"):
        import_table(large, tmp_path / "run")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
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
def test_no_text_does_worse_than_a_list_of_faults(header: str, rows: str) -> None:
    for text in (header, f"{HEADER}\n{rows}"):
        with pytest.raises(MatrixError) as caught:
            parse_table(text, "t.csv")
        assert caught.value.faults


@given(
    st.decimals(min_value="0.000001", max_value=10**6, places=6, allow_nan=False),
    st.sampled_from(["TCP", "UDP"]),
    st.integers(1, 65507),
)
def test_any_plain_decimal_is_kept_exactly(value: Decimal, protocol: str, size: int) -> None:
    (row,) = parse_table(f"{HEADER}\nWL,{protocol},{size},8192,{value:f}\n", "t.csv")
    assert Decimal(row.printed) == value
    assert (row.protocol, row.message_bytes) == (protocol, size)


# What the document states beside its table

FACTS = """\
source: a document
durations:
  - {pairings: [LL], asked: 10s, shortest: 11s, longest: 19s, where: page 3}
hosts:
  L: {where: page 1, facts: {kernel: Linux 2.4, memory_bytes: 134217728}}
remarks:
  - {text: The cable was short., where: page 2}
"""


def with_facts(tmp_path: Path, text: str = FACTS) -> Path:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    facts = tmp_path / "facts.yaml"
    facts.write_text(text, encoding="utf-8")
    return import_table(table, tmp_path / "run", facts=facts, imported_at=NOW)


def test_stated_facts_come_into_the_run_with_their_source(tmp_path: Path) -> None:
    run = load(with_facts(tmp_path))
    stated = stated_of(run.plan)
    (duration,) = stated.durations
    assert (duration.shortest_s, duration.longest_s) == (11, 19)
    assert (duration.source, stated.remarks[0].source) == (
        "a document, page 3",
        "a document, page 2",
    )
    (noted,) = run.facts
    assert (noted["host"], noted["when"]) == ("L", "stated")
    assert noted["facts"] == {
        "kernel": "Linux 2.4",
        "memory_bytes": 134217728,
        "source": "a document, page 1",
    }
    assert run.frame["duration_s"].isna().all(), "a cell keeps what its table says"


def test_importing_facts_again_changes_nothing_and_others_are_refused(tmp_path: Path) -> None:
    journal = with_facts(tmp_path) / "journal.jsonl"
    before = journal.read_bytes()
    with_facts(tmp_path)
    assert journal.read_bytes() == before
    with pytest.raises(UsageError, match=r"stated\.durations.*longest_s: 19"):
        with_facts(tmp_path, FACTS.replace("19s", "18s"))


def test_facts_may_stand_in_the_folder_that_becomes_the_run(tmp_path: Path) -> None:
    small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    (tmp_path / "facts.yaml").write_text(FACTS)
    import_table(tmp_path / "table.csv", tmp_path, facts=tmp_path / "facts.yaml")
    assert stated_of(load(tmp_path).plan).durations


@pytest.mark.parametrize(
    ("wrong", "right", "fault"),
    [
        ("shortest: 11s", "shortest: 11", None),
        ("longest: 19s", "longest: 9s", "`shortest` is longer than `longest`"),
        ("longest: 19s", "longest: 19m", "m is no unit of time"),
        ("asked: 10s", "asked: 0s", "should be more than 0"),
        ("where: page 3", "wher: page 3", "did you mean `where`"),
        ("source: a document\n", "", "source"),
        ("facts: {kernel: Linux 2.4, memory_bytes: 134217728}", "facts: {}", "facts"),
        ("kernel: Linux 2.4", "kernel: [1, 2]", "kernel"),
    ],
)
def test_facts_that_are_wrong_are_told_with_their_place(
    wrong: str, right: str, fault: str | None, tmp_path: Path
) -> None:
    assert wrong in FACTS
    text = FACTS.replace(wrong, right)
    if fault is None:
        assert with_facts(tmp_path, text).exists()
        return
    with pytest.raises(MatrixError) as caught:
        with_facts(tmp_path, text)
    assert fault in str(caught.value)
    assert "facts.yaml:" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_facts_about_a_pairing_that_the_table_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"table\.csv has no 'WW'; it has LL"):
        with_facts(tmp_path, FACTS.replace("[LL]", "[LL, WW]"))


def test_the_command_takes_facts_and_the_report_says_them(tmp_path: Path) -> None:
    table = small_table(tmp_path / "table.csv", "LL,TCP,64,16384,88.35")
    facts = tmp_path / "facts.yaml"
    facts.write_text(FACTS)
    words = ["import", "table", str(table), "--into", str(tmp_path / "run"), "--facts", str(facts)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "run" / "tables.md").read_text("utf-8")
    assert "The cable was short." in text
    assert "11 s to 19 s where 10 s were asked for (a document, page 3)" in text


@pytest.mark.parametrize("name", ["lab-report", "nettest", "connection-kinds"])
def test_the_facts_of_the_recorded_documents_are_in_their_runs(name: str) -> None:
    folder = ROOT / "reports" / name
    stated, run = read_stated(folder / "facts.yaml"), load(folder)
    assert stated_of(run.plan) == stated
    assert stated.remarks
    assert {note["host"] for note in run.facts} == {host.name for host in stated.hosts}
    assert all(host.source for host in stated.hosts)
