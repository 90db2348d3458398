"""The frame has a row per trial, and a failure is never a number."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from folders import DOCS, FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from made_histograms import of_values, to_pairs
from made_runs import made_plan, made_record, ticking

import netlab
from netlab.errors import UsageError
from netlab.findings.analysis import Analysis, load
from netlab.kinds import FIELDS, SETUPS
from netlab.results.columns import COLUMNS, COLUMNS_OF, columns_of, describe
from netlab.results.frame import make_frame
from netlab.stats.histogram import from_pairs
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.column import Column
from netlab.trial.record import Record, Status, Value

LL, LL_LARGE, WL, WL_LARGE = made_plan().cells


def run_of(path: Path, *records: Record, plan: Plan | None = None) -> Analysis:
    plan = plan or made_plan(repeats=1)
    with RunFolder.open_for_writing(path / "run", plan, clock=ticking()) as folder:
        for record in records:
            folder.append(record)
    return load(path / "run")


def row_of(path: Path, values: Mapping[str, Value]) -> Mapping[Any, Any]:
    return run_of(path, made_record(values=values)).frame.iloc[0].to_dict()


def test_the_data_frame_has_one_row_per_planned_trial_in_the_order_of_the_plan(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path, made_record(WL, 2), made_record(LL, 1), plan=made_plan())
    assert list(zip(run.frame["cell"], run.frame["trial"], strict=True)) == [
        (cell.key, trial) for cell in (LL, LL_LARGE, WL, WL_LARGE) for trial in (1, 2)
    ]
    assert list(run.frame["status"]) == ["ok", *["pending"] * 4, "ok", *["pending"] * 2]


def test_a_pending_trial_is_a_row_with_its_settings_and_no_figure(tmp_path: Path) -> None:
    row = run_of(tmp_path).frame.iloc[1]
    assert (row["status"], row["reason"]) == ("pending", "not-measured-yet")
    assert (row["pairing"], row["protocol"], row["message_bytes"]) == ("LL", "UDP", 1500)
    assert row["throughput_bit_per_s"] is pd.NA
    assert row["attempt"] is pd.NA
    assert row["server"] is pd.NA


def test_the_last_attempt_at_a_trial_is_its_row_in_the_data_frame(tmp_path: Path) -> None:
    failed = made_record(status=Status.FAILED, reason="no-peer", errno=110, detail="nobody came")
    again = made_record(attempt=2)
    run = run_of(tmp_path, failed, again)
    row = run.frame.iloc[0]
    assert (row["status"], row["attempt"]) == ("ok", 2)
    assert row["reason"] is pd.NA
    assert row["throughput_bit_per_s"] == 48_600_000.5
    assert run.records == (failed, again)


def test_an_impossible_trial_is_a_row_with_its_reason_and_no_number(tmp_path: Path) -> None:
    failed = made_record(status=Status.IMPOSSIBLE, reason="no-buffers", errno=105, detail="why")
    frame = run_of(tmp_path, failed).frame
    row = frame.iloc[0]
    assert (row["status"], row["reason"], row["errno"], row["detail"]) == (
        "impossible",
        "no-buffers",
        105,
        "why",
    )
    assert row["throughput_bit_per_s"] is pd.NA
    assert frame["throughput_bit_per_s"].count() == 0
    assert pd.isna(frame["throughput_bit_per_s"].mean())


def test_documented_columns_come_first_in_the_data_frame_with_their_dtypes(tmp_path: Path) -> None:
    for run in (run_of(tmp_path), load(FIXTURES / "run-v1")):
        assert list(run.frame.columns[: len(COLUMNS)]) == list(COLUMNS)
        for name, column in COLUMNS.items():
            assert str(run.frame[name].dtype) == column.dtype, name


@pytest.mark.parametrize("test", SETUPS)
def test_every_setting_of_a_kind_of_test_is_a_documented_column(test: str) -> None:
    assert FIELDS[test] <= columns_of([test]).keys()


def test_column_names_end_in_the_unit_that_their_documentation_states() -> None:
    endings = {"_bytes": "byte", "_s": "s", "_ns": "ns", "_bit_per_s": "bit/s"}
    for name, column in columns_of(COLUMNS_OF).items():
        ending = re.search(r"(_bit_per_s|_per_s|_bytes|_ns|_s)$", name)
        if ending and ending.group() in endings and not name.startswith("printed_mbit"):
            assert column.unit == endings[ending.group()], name
        assert column.meaning


def test_times_are_stored_in_nanoseconds_and_also_given_in_seconds(tmp_path: Path) -> None:
    row = row_of(tmp_path, {"elapsed_ns": 10_000_012_345})
    assert row["elapsed_ns"] == 10_000_012_345
    assert row["elapsed_s"] == 10.000012345


def test_values_of_the_probes_follow_the_documented_columns_sorted_by_name(tmp_path: Path) -> None:
    values: dict[str, Value] = {
        "sender_snd_mss": 1448,
        "receiver_interval_bytes": [1, 2, 3],
        "receiver_host_busy_share": 0.5,
        "receiver_congestion": "cubic",
        "receiver_spin": 0,
        "to_server_throughput_bit_per_s": 5,
        "receiver_token": 2**70,
    }
    frame = run_of(tmp_path, made_record(values=values)).frame
    assert list(frame.columns[len(COLUMNS) :]) == sorted(values)
    dtypes = {name: str(frame[name].dtype) for name in values}
    assert dtypes == {
        "sender_snd_mss": "Int64",
        "receiver_interval_bytes": "string",
        "receiver_host_busy_share": "Float64",
        "receiver_congestion": "string",
        "receiver_spin": "Int64",
        "to_server_throughput_bit_per_s": "Float64",
        "receiver_token": "string",
    }
    row = frame.iloc[0]
    assert json.loads(row["receiver_interval_bytes"]) == [1, 2, 3]
    assert row["receiver_token"] == str(2**70)
    assert frame["sender_snd_mss"].isna().sum() == 3


def test_the_data_frame_stores_too_large_integers_as_text_and_mixed_numbers_as_floats() -> None:
    frame = make_frame([{"x_bytes": 2**63}, {"x_bytes": 1}, {"y_ns": 0.5}, {"y_ns": 3}])
    assert list(frame["x_bytes"][:2]) == [str(2**63), "1"]
    assert list(frame["y_ns"][2:]) == [0.5, 3.0]


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.lists(scalars, min_size=1))
def test_any_mixture_of_values_is_read_back_unchanged_or_as_its_text(values: list[Any]) -> None:
    values = [None if value in (float("inf"), -float("inf")) else value for value in values]
    column = make_frame([{"mixed": value} for value in values])["mixed"]
    assert str(column.dtype) in ("boolean", "Int64", "Float64", "string")
    for value, stored_value in zip(values, column, strict=True):
        if value is None:
            assert stored_value is pd.NA
        elif isinstance(value, str):
            assert stored_value == value
        else:
            assert stored_value == value or json.loads(stored_value) == value


def test_a_value_cannot_overwrite_the_cell_status_or_settings_of_its_trial(tmp_path: Path) -> None:
    row = row_of(tmp_path, {"cell": "fake", "status": "failed", "message_bytes": 9})
    assert (row["cell"], row["status"], row["message_bytes"]) == (LL.key, "ok", 64)


def test_half_a_surrogate_pair_in_a_detail_is_shown_as_an_escape_sequence(tmp_path: Path) -> None:
    run = run_of(tmp_path, made_record(detail="half \ud83d of one"))
    assert run.frame["detail"][0] == "half \\ud83d of one"


def test_a_run_lists_its_sessions_facts_and_damaged_journal_lines() -> None:
    run = load(FIXTURES / "run-v1")
    assert [dict(session)["order"] for session in run.sessions] == ["as-written"]
    (facts,) = run.facts
    assert facts["host"] == "alpha"
    assert facts["facts"] == {"kernel": "6.18.5", "cpu_count": 2}
    assert facts["at"] == "2026-01-31T12:00:02.000000Z"
    assert [damage.line for damage in run.damage] == [10]


def test_a_recorded_run_of_format_version_1_is_still_read_as_a_data_frame() -> None:
    frame = load(FIXTURES / "run-v1").frame
    assert list(frame["status"]) == ["ok", "ok", "impossible", "pending"]
    assert list(frame["throughput_bit_per_s"].dropna()) == [48561234.5, 48600000.5]
    assert list(frame["elapsed_s"].dropna()) == [10.000012345]


def test_netlab_load_reads_a_run_and_refuses_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert len(netlab.load(FIXTURES / "run-v1").frame) == 4
    with pytest.raises(UsageError, match="not a run folder"):
        netlab.load(tmp_path)


def test_columns_of_probe_values_are_described_by_their_prefix_and_unit() -> None:
    column = describe("to_client_receiver_throughput_bit_per_s")
    assert (column.dtype, column.unit) == ("Float64", "bit/s")
    assert column.meaning.startswith(
        "data to the client: reported by the receiving probe: received payload"
    )
    assert describe("sender_tcp_end_rtt_us").unit == "us"
    assert "`tcp_end_rtt_us` of docs/protocol.md" in describe("sender_tcp_end_rtt_us").meaning


def test_the_lists_of_columns_in_the_documentation_match_the_code() -> None:
    listed = runpy.run_path(str(DOCS / "scripts" / "code_map.py"))["LISTS"]
    page = (DOCS / "reference" / "columns.md").read_text("utf-8")
    earlier_columns: dict[str, Column] = {}
    for test, columns in {"": COLUMNS, **COLUMNS_OF}.items():
        name = f"columns of {test}".removesuffix(" of ")
        assert f"<!-- list: {name} -->" in page
        rows = listed[name]().splitlines()
        own = {each: column for each, column in columns.items() if each not in earlier_columns}
        if test in ("payload_search", "throughput_search", "latency_under_load"):
            own = dict(columns)
        assert rows[:2] == ["| column | dtype | unit | meaning |", "|---|---|---|---|"]
        assert rows[2:] == [
            f"| `{each}` | {column.dtype} | {column.unit} | {column.meaning} |"
            for each, column in own.items()
        ]
        earlier_columns |= columns


def test_only_a_run_with_round_trips_has_the_columns_of_round_trips(tmp_path: Path) -> None:
    plain = run_of(tmp_path)
    assert not {"rtt_p99_ns", "payload_bytes"} & set(plain.frame.columns)
    frame = round_trips(tmp_path / "other", [])
    assert set(COLUMNS_OF["round_trip"]) <= set(frame.columns)
    assert "payload_bytes" not in frame.columns
    for name, column in COLUMNS_OF["round_trip"].items():
        assert str(frame[name].dtype) == column.dtype, name


def test_a_percentile_is_computed_from_the_histogram_only_with_enough_values(
    tmp_path: Path,
) -> None:
    values_ns = [1000 * step for step in range(1, 501)]
    row = round_trips(tmp_path, values_ns).iloc[0]
    assert row["rtt_p50_ns"] == pytest.approx(250_000, rel=0.004)
    assert row["rtt_p99_ns"] == pytest.approx(495_000, rel=0.004)
    assert row["rtt_p99_9_ns"] is pd.NA
    assert row["rtt_p99_99_ns"] is pd.NA
    assert from_pairs(json.loads(row["rtt_histogram"])) == of_values(values_ns)
    assert row["first_rtt_ns"] == "[1000,2000]"


def test_the_histogram_of_stack_times_gives_percentiles(tmp_path: Path) -> None:
    pairs = to_pairs(of_values([7000] * 200))
    values: dict[str, Value] = {"server_stack_histogram": pairs, "server_stack_histogram_bits": 7}
    row = row_of(tmp_path, values)
    assert row["server_stack_p99_ns"] == pytest.approx(7000, rel=0.004)


@pytest.mark.parametrize("histogram", [[1], [5, 1, 4, 1], [1, -1], "text", [10**12, 1]])
def test_a_damaged_histogram_gives_no_percentile_column(tmp_path: Path, histogram: Any) -> None:
    row = row_of(tmp_path, {"rtt_histogram": histogram, "rtt_histogram_bits": 7})
    assert "rtt_p50_ns" not in row


def round_trips(path: Path, values_ns: list[int]) -> pd.DataFrame:
    """The frame of a run with one round-trip cell, which is pending without values."""
    cell = PlannedCell("LL-rt", "LL", "round_trip", {"protocol": "UDP", "message_bytes": 18})
    values: dict[str, Value] = {
        "transactions_per_s": 4000.5,
        "rtt_histogram": to_pairs(of_values(values_ns)),
        "rtt_histogram_bits": 7,
        "first_rtt_ns": values_ns[:2],
    }
    records = [made_record(cell, values=values)] if values_ns else []
    return run_of(path, *records, plan=made_plan(cells=(cell,), repeats=1)).frame
