"""The import of the printed lab report has its cells and its means to the last digit."""

from __future__ import annotations

import csv
import statistics
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pandas as pd
import pytest
from folders import FIXTURES
from made_tables import TABLE

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.imports.table import import_table
from netlab.trial.record import Status

AVERAGES = FIXTURES / "lab-report-averages.csv"

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


def test_every_printed_mean_of_the_lab_report_equals_the_mean_of_its_cells(
    lab_report: Analysis,
) -> None:
    for column, printed_mean in printed_means().items():
        values = measured(lab_report, column)
        if not printed_mean:
            assert values == [], column
            continue
        mean = sum(values, Decimal(0)) / len(values)
        assert str(mean.quantize(Decimal("0.01"), ROUND_HALF_UP)) == printed_mean, column
        # ... and with the frame's own floating point as well.
        own = column_of(lab_report, column)["throughput_bit_per_s"].mean() / 1e6
        assert f"{own:.2f}" == printed_mean, column


def test_the_lab_report_has_28_printed_means_and_4_blank_ones() -> None:
    assert sorted(bool(mean) for mean in printed_means().values()) == [False] * 4 + [True] * 28


def test_the_imported_lab_report_has_416_cells_with_346_measured(lab_report: Analysis) -> None:
    frame = lab_report.frame
    assert len(frame) == 416
    assert (frame["status"] == "ok").sum() == 346
    assert frame["throughput_bit_per_s"].notna().sum() == 346
    assert lab_report.damage == ()


def test_every_imported_value_equals_the_printed_value_exactly(lab_report: Analysis) -> None:
    with TABLE.open(encoding="utf-8") as file:
        printed_texts = [row["mbit_per_s"] for row in csv.DictReader(file)]
    frame = lab_report.frame
    texts = ["" if text is pd.NA else text for text in frame["printed_mbit_per_s"]]
    assert texts == printed_texts
    for text, value in zip(printed_texts, frame["throughput_bit_per_s"], strict=True):
        assert value is pd.NA if text == "" else Decimal(value) == Decimal(text) * 10**6
    assert set(frame["printed_step_bit_per_s"].dropna()) == {10_000}


def test_blank_cells_of_windows_to_windows_udp_are_pending_and_have_no_throughput(
    lab_report: Analysis,
) -> None:
    for message_bytes in (64, 576, 1500, 64512):
        rows = column_of(lab_report, ("WW", "UDP", message_bytes))
        assert len(rows) == 13
        assert rows["throughput_bit_per_s"].isna().all()
        assert pd.isna(rows["throughput_bit_per_s"].mean())
        assert set(rows["status"]) == {"pending"}
        assert set(rows["reason"]) == {"not-recorded"}


def test_a_blank_in_the_table_becomes_a_record_with_a_reason_and_no_value(
    lab_report: Analysis,
) -> None:
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
def test_columns_of_the_imported_lab_report_have_the_expected_number_of_values_and_blanks(
    lab_report: Analysis, column: Column, n: int, blank_buffers_kib: list[int]
) -> None:
    rows = column_of(lab_report, column)
    assert rows["throughput_bit_per_s"].count() == n
    blank = rows[rows["throughput_bit_per_s"].isna()]
    assert [size // 1024 for size in blank["socket_buffer_bytes"]] == blank_buffers_kib


def test_the_largest_message_of_the_lab_report_is_64512_bytes_in_udp_and_65536_in_tcp(
    lab_report: Analysis,
) -> None:
    frame = lab_report.frame
    sizes = {
        protocol: sorted(set(frame[frame["protocol"] == protocol]["message_bytes"]))
        for protocol in ("TCP", "UDP")
    }
    assert sizes == {"TCP": [64, 576, 1500, 65536], "UDP": [64, 576, 1500, 64512]}


def test_imported_pairings_name_the_server_first(lab_report: Analysis) -> None:
    assert list(dict.fromkeys(lab_report.frame["pairing"])) == ["LL", "WL", "LW", "WW"]
    # All of LW's TCP 65536 lie above the ceiling with timestamps: a Windows client sends.
    assert min(measured(lab_report, ("LW", "TCP", 65536))) > Decimal("94.928")


def test_the_import_keeps_outliers_and_sudden_steps_of_the_document_unchanged(
    lab_report: Analysis,
) -> None:
    values = measured(lab_report, ("WL", "UDP", 1500))
    assert values[-1] == Decimal("1.89")
    assert statistics.median(values) == Decimal("92.375")
    assert measured(lab_report, ("WL", "UDP", 64512))[0] == Decimal("56.31")
    assert measured(lab_report, ("LL", "UDP", 1500))[-2:] == [Decimal("87.14")] * 2


def test_a_printed_number_with_a_leading_zero_is_read_as_decimal(lab_report: Analysis) -> None:
    assert measured(lab_report, ("WL", "UDP", 64))[0] == Decimal("2.57")
    assert column_of(lab_report, ("WL", "UDP", 64))["printed_mbit_per_s"].iloc[0] == "02.57"


def test_the_import_leaves_values_blank_that_the_document_does_not_state(
    lab_report: Analysis,
) -> None:
    frame = lab_report.frame
    unsaid = ["duration_s", "server", "client", "started_at", "nodelay", "streams", "mss_bytes"]
    assert frame[unsaid].isna().all().all()


def test_an_imported_run_has_a_link_only_if_the_import_states_one(
    lab_report: Analysis, tmp_path: Path
) -> None:
    link = lab_report.plan.link
    assert link is not None
    assert (link.rate_bit_per_s, link.mtu_bytes, link.vlan) == (1e8, 1500, False)
    assert lab_report.plan.title == "NIC lab report"
    assert lab_report.plan.source == "lab-report.csv"
    import_table(TABLE, tmp_path / "run")
    assert load(tmp_path / "run").plan.link is None
    assert load(tmp_path / "run").plan.title == "lab-report"
