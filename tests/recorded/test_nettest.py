"""The report of the recorded nettest document reproduces its figures and names what each one is."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import FIXTURES, ROOT
from made_reports import write_undrawn

from netlab.cli import cli
from netlab.errors import MatrixError, UsageError
from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.imports.common.csv_table import parse
from netlab.imports.repeats import FORM, import_repeats
from netlab.report.sections import parts_of
from netlab.report.tables.elements import Table, TableCell
from netlab.stats import rounded

FOLDER = ROOT / "reports" / "nettest"
TABLE = FOLDER / "nettest.csv"
AVERAGES = FIXTURES / "nettest-averages.csv"
NOW = "2026-01-31T12:00:00.000000Z"
HEADER = "test,message_bytes,messages,trial,elapsed_s,lost_packets\n"

PRINTED: Mapping[str, Mapping[str, str]] = {
    line["test"]: line for line in csv.DictReader(AVERAGES.read_text("utf-8").splitlines())
}
TITLES = {
    "tcp_ping": "LL, TCP 1448, round trips",
    "tcp_blast": "LL, TCP 1448",
    "udp_blast": "LL, UDP 1472",
}
VARIANCES = {"tcp_ping": "0.0791", "tcp_blast": "0.0212", "udp_blast": "0.0219"}


@pytest.fixture(scope="module")
def run() -> Analysis:
    return load(FOLDER)


@pytest.fixture(scope="module")
def sheets(run: Analysis) -> dict[str, Table]:
    parts = parts_of(run, run.trials)
    return {sheet.title: sheet for part in parts for sheet in (*part.sheets, *part.details)}


def place(sheet: Table, row: str, column: str) -> TableCell:
    line = next(line for line in sheet.lines if line.label == row)
    return line.places[sheet.columns.index(column)]


def repeats_of(test: str, sheets: Mapping[str, Table]) -> Table:
    return sheets[f"{TITLES[test]}: repeat by repeat"]


def counted(test: str, sheets: Mapping[str, Table]) -> Table:
    return sheets[f"{TITLES[test]}: throughput over all repeats, by what is counted"]


@pytest.mark.parametrize("test", PRINTED)
def test_each_printed_mean_of_nettest_is_reproduced_from_the_repeats_to_the_last_digit(
    test: str, sheets: dict[str, Table]
) -> None:
    cell = place(repeats_of(test, sheets), "elapsed, s", "mean")
    assert cell.text == PRINTED[test]["mean_elapsed_s"]


@pytest.mark.parametrize("test", PRINTED)
def test_the_var_of_the_nettest_document_is_the_mean_absolute_deviation_and_no_variance(
    test: str, sheets: dict[str, Table]
) -> None:
    sheet = repeats_of(test, sheets)
    printed_figure = PRINTED[test]["printed_var_s"]
    mad = place(sheet, "elapsed, s", "mean absolute deviation")
    assert mad.value is not None
    assert str(rounded(mad.value, len(printed_figure.split(".")[1]))) == printed_figure
    variance = place(sheet, "elapsed, s", "variance")
    assert (variance.text, variance.unit) == (VARIANCES[test], "s²")
    deviation = place(sheet, "elapsed, s", "standard deviation")
    assert deviation.value == pytest.approx((variance.value or 0) ** 0.5)


def test_a_round_trip_is_the_elapsed_time_divided_by_the_number_of_round_trips(
    sheets: dict[str, Table],
) -> None:
    row = place(repeats_of("tcp_ping", sheets), "elapsed / transactions, µs", "mean")
    assert row.text == PRINTED["tcp_ping"]["derived_value"] == "637.61"
    table = sheets["LL: time of a round trip"]
    assert place(table, "TCP 1448", "mean, µs").text == "637.61"
    assert place(table, "TCP 1448", "trials").text == "10/10"


@pytest.mark.parametrize("test", ["tcp_blast", "udp_blast"])
def test_the_report_shows_the_byte_rate_of_nettest_both_without_and_with_gaps(
    test: str, sheets: dict[str, Table]
) -> None:
    sheet = counted(test, sheets)
    theirs, right = "frames with preamble, without the gaps", "frames with preamble and gaps"
    assert place(sheet, theirs, "bytes per message").text == "1,526"
    assert place(sheet, theirs, "byte/s").text.replace(",", "") == PRINTED[test]["derived_value"]
    assert place(sheet, theirs, "share of the link, %").text == "99.00"
    assert place(sheet, right, "bytes per message").text == "1,538"
    assert place(sheet, right, "share of the link, %").text == "99.78"
    assert sheet.footnotes == ()


def test_the_report_counts_received_payload_as_throughput_and_lists_lost_messages_by_repeat(
    sheets: dict[str, Table],
) -> None:
    sheet = repeats_of("udp_blast", sheets)
    assert [place(sheet, "lost messages", str(n)).text for n in (1, 2, 6, 11, 13, 15)] == [
        *("42", "0", "108", "49", "51", "61")
    ]
    received = place(counted("udp_blast", sheets), "payload received", "byte/s").value
    assert received == pytest.approx(1472 * (15e6 - 311) / (15 * 123.316))


def test_the_recorded_nettest_run_has_ten_repeats_of_tcp_and_fifteen_of_udp(run: Analysis) -> None:
    counts = run.frame.groupby(["test", "protocol"])["trial"].max().to_dict()
    assert counts == {("round_trip", "TCP"): 10, ("stream", "TCP"): 10, ("stream", "UDP"): 15}
    assert set(run.frame["status"]) == {"ok"}
    assert set(run.frame["printed_elapsed_s"]) >= {"63.5", "123.27"}


def test_importing_the_nettest_table_again_gives_the_committed_run(tmp_path: Path) -> None:
    into = import_repeats(
        TABLE,
        tmp_path / "again",
        title=load(FOLDER).plan.title,
        link=Link(1e8, 1500, hops=1),
        mss_bytes=1448,
        facts=FOLDER / "facts.yaml",
    )
    again, committed = load(into), load(FOLDER)
    assert again.plan.content_hash == committed.plan.content_hash
    assert again.plan.cells == committed.plan.cells
    assert again.records == committed.records


def test_importing_a_table_of_repeats_twice_into_one_folder_adds_no_record(tmp_path: Path) -> None:
    for _ in range(2):
        import_repeats(TABLE, tmp_path / "run", imported_at=NOW)
    assert len(load(tmp_path / "run").records) == 35


def test_the_committed_page_of_nettest_shows_the_figures_of_the_document() -> None:
    text = (FOLDER / "index.html").read_text("utf-8")
    assert [figure for figure in ("637.61", "12,374,712", "99.78") if figure not in text] == []


def test_an_empty_time_in_an_imported_table_is_a_pending_trial_with_a_reason(
    tmp_path: Path,
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(HEADER + "udp_blast,64,1000,1,,\nudp_blast,64,1000,2,1.5,3\n")
    run = load(import_repeats(table, tmp_path / "run"))
    assert list(run.frame["status"]) == ["pending", "ok"]
    assert list(run.frame["reason"].dropna()) == ["not-recorded"]
    assert run.frame["throughput_bit_per_s"][1] == pytest.approx(8 * 64 * 997 / 1.5)


def test_an_import_gives_no_throughput_without_a_loss_count_and_no_round_trip_after_loss(
    tmp_path: Path,
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        HEADER + "udp_blast,64,1000,1,1.5,\nudp_ping,64,1000,1,1.5,2\nudp_ping,65,1000,1,1.5,0\n"
    )
    run = load(import_repeats(table, tmp_path / "run"))
    assert run.frame["throughput_bit_per_s"].count() == 0
    assert list(run.frame["rtt_mean_ns"].isna()) == [True, True, False]
    assert write_undrawn(run).exists()


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("ping,64,10,1,1.0,", "'ping' is not one of tcp_ping"),
        ("tcp_ping,0,10,1,1.0,", "message_bytes: '0' is not a whole number from 1"),
        ("tcp_ping,64,x,1,1.0,", "messages: 'x' is not a whole number"),
        ("tcp_ping,64,10,1,0,", "0 s cannot be the time of a test"),
        ("tcp_ping,64,10,1,-1,", "not a plain decimal number"),
        ("tcp_ping,64,10,1,nan,", "not a plain decimal number"),
        ('tcp_ping,64,10,1,"1,5",', "write a decimal point"),
        ("tcp_ping,64,10,1,1.0,1", "TCP delivers everything"),
        ("udp_blast,64,10,1,1.0,11", "11 lost, but only 10 sent"),
        ("udp_blast,64,10,1,1.0,1.5", "'1.5' is not a whole number"),
    ],
)
def test_an_invalid_row_of_a_repeats_table_is_refused_with_its_line_and_fault(
    row: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as caught:
        parse(HEADER + row + "\n", "t.csv", FORM)
    assert fault in str(caught.value)
    assert "t.csv:2:" in str(caught.value)


def test_a_repeated_trial_in_a_table_of_repeats_is_refused() -> None:
    with pytest.raises(MatrixError, match="the same trial as in line 2"):
        parse(HEADER + "tcp_ping,64,10,1,1.0,\n" * 2, "t.csv", FORM)


def test_the_import_command_writes_a_run_of_repeats_and_prints_its_answer(tmp_path: Path) -> None:
    words = ["import", "repeats", str(TABLE), "--into", str(tmp_path / "run"), "--mss", "1448"]
    outcome = CliRunner().invoke(cli, [*words, "--hops", "1", "--pairing", "WL"])
    assert outcome.exit_code == 0, outcome.output
    assert "Mean round trip: 637.6 ± 2.0 µs" in outcome.output
    assert load(tmp_path / "run").plan.link == Link(1e8, 1500, hops=1)
    wrong = CliRunner().invoke(cli, [*words, "--pairing", "linux"])
    assert isinstance(wrong.exception, UsageError)


def test_importing_an_mss_longer_than_the_link_carries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="allows 1 to 1460"):
        import_repeats(TABLE, tmp_path / "run", link=Link(1e8, 1500), mss_bytes=1461)
