"""`netlab.scan` and the Parquet export have the columns and rows of the frame."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from folders import FIXTURES, ROOT
from made_runs import made_plan, made_record, ticking

import netlab
from netlab.cli import cli
from netlab.errors import UsageError
from netlab.results.arrow import segment_writer
from netlab.results.arrow.run_parts import parquet_export
from netlab.results.arrow.segment_writer import compact
from netlab.results.run import load
from netlab.results.value_types import RUN_CHECK
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status

RECORDED = (
    FIXTURES / "run-v1",
    FIXTURES / "run-v1-until",
    ROOT / "reports" / "nettest",
    ROOT / "reports" / "rfc2544-lab",
)
needs_scan = pytest.mark.needs("duckdb")
LL, _, WL, _ = made_plan().cells


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of recorded runs."""
    for recorded in RECORDED:
        shutil.copytree(recorded, tmp_path / "runs" / recorded.name)
    return tmp_path / "runs"


def exported(folder: Path, *, core: bool = False) -> bytes:
    file = io.BytesIO()
    parquet_export(folder, core=core)(file)
    return file.getvalue()


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["cell", "trial"], ignore_index=True).astype(object)


def assert_equal(frame: pd.DataFrame, run: Path) -> None:
    """The rows of a run, in any order; columns that only other runs have are empty."""
    of_run = load(run).frame
    further = frame.columns.difference(of_run.columns)
    assert not frame[further].notna().any().any()
    pd.testing.assert_frame_equal(
        in_order(frame[of_run.columns]), in_order(of_run), check_dtype=False
    )


@needs_scan
@pytest.mark.parametrize("lines", [None, 7, 10**6])
def test_a_scan_of_many_runs_has_the_rows_and_columns_of_the_data_frame_of_each_run(
    runs: Path, lines: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lines is not None:  # with segments, and with a rest behind them
        monkeypatch.setattr(segment_writer, "SEGMENT_LINES", lines)
        least = 1 if lines > 7 else 10**6
        assert sum(compact(run, least_bytes=10**9, least_lines=least) for run in runs.iterdir()) > 3
    scan = netlab.scan(runs)
    assert scan.columns[:4] == ["run", "cell", "trial", "attempt"]
    frame = scan.frame()
    for run in runs.iterdir():
        assert_equal(frame[frame["run"] == str(run)].drop(columns="run"), run)
    assert scan.remarks == (
        f"{runs / 'run-v1'}: journal, line 10: damaged: the checksum does not match",
    )
    (count, mean) = scan.sql(
        "SELECT count(*), avg(throughput_bit_per_s) FROM runs WHERE contains(run, 'nettest')"
    ).fetchall()[0]
    assert count == 35
    assert mean == pytest.approx(load(runs / "nettest").frame["throughput_bit_per_s"].mean())


@needs_scan
def test_a_scan_reads_a_run_that_is_still_being_written_with_its_last_attempts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "[a]*'{run}"
    with RunFolder.open_for_writing(path, made_plan(), clock=ticking(), check=RUN_CHECK) as folder:
        folder.append(made_record(LL, 1, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(LL, 1, attempt=2))
        folder.append(made_record(LL, 2))
    assert compact(path, least_bytes=1, least_lines=1) == 1
    with RunFolder.open_for_writing(path, made_plan(), clock=ticking(), check=RUN_CHECK) as folder:
        folder.append(made_record(LL, 2, attempt=2, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(WL, 1))
        scan = netlab.scan(path)
        assert_equal(scan.frame().drop(columns="run"), path)
        statuses = scan.sql("SELECT status, count(*) FROM runs GROUP BY ALL ORDER BY ALL")
        assert statuses.fetchall() == [("failed", 1), ("ok", 2), ("pending", 5)]


@needs_scan
def test_a_scan_reads_the_journal_if_a_journal_segment_is_truncated_and_names_the_segment(
    runs: Path,
) -> None:
    run = runs / "nettest"
    assert compact(run, least_bytes=1, least_lines=1) == 1
    (segment,) = (run / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-9])
    scan = netlab.scan(run)
    assert [segment.name in remark for remark in scan.remarks] == [True]
    assert_equal(scan.frame().drop(columns="run"), run)


@needs_scan
def test_a_scan_of_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder, and no run folder is in it"):
        netlab.scan(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        netlab.scan(tmp_path / "absent")
    with pytest.raises(UsageError, match=r"^netlab.scan needs a run folder$"):
        netlab.scan()


def test_a_scan_without_duckdb_states_how_to_install_duckdb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"pip install 'netlab-matrix\[scan\]'"):
        netlab.scan(FIXTURES / "run-v1")


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("with_segments", [False, True])
def test_a_parquet_export_has_the_rows_of_the_data_frame_and_stores_units(
    runs: Path, with_segments: bool
) -> None:
    import pyarrow.parquet as pq

    for run in runs.iterdir():
        if with_segments:
            assert compact(run, least_bytes=1, least_lines=1) == 1
        data = exported(run)
        frame = pd.read_parquet(io.BytesIO(data), dtype_backend="numpy_nullable")
        columns = list(load(run).frame.columns)
        # A record that was replaced may have had further columns.
        assert [name for name in frame.columns if name in columns] == columns
        assert with_segments or list(frame.columns) == columns
        assert_equal(frame, run)
        schema = pq.read_schema(io.BytesIO(data))
        assert schema.field("throughput_bit_per_s").metadata[b"unit"] == b"bit/s"
        assert exported(run) == data
        core = pq.read_schema(io.BytesIO(exported(run, core=True)))
        assert core.names == list(netlab.load(run).core.columns)


@pytest.mark.needs("pyarrow", "dask")
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of dask, for pandas
def test_dask_reads_a_parquet_export_and_the_journal_segments_of_a_run(runs: Path) -> None:
    import dask.dataframe as dd

    run = runs / "nettest"
    assert compact(run, least_bytes=1, least_lines=1) == 1
    (runs / "nettest.parquet").write_bytes(exported(run))
    expected = load(run).frame.groupby("protocol")["throughput_bit_per_s"].mean()
    for path in (runs / "nettest.parquet", run / "segments"):
        table = dd.read_parquet(path, columns=["protocol", "throughput_bit_per_s"])
        means = table.groupby("protocol")["throughput_bit_per_s"].mean().compute(scheduler="sync")
        assert means.to_dict() == pytest.approx(expected.to_dict())


def test_a_parquet_export_without_pyarrow_states_how_to_install_pyarrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'netlab-matrix\[parquet\]'"):
        parquet_export(FIXTURES / "run-v1")


def test_a_failed_export_leaves_an_existing_output_file_unchanged(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_text("mine")
    arguments = ["export", str(tmp_path), "--format", "parquet", "--output", str(output)]
    with pytest.raises(UsageError):
        cli.main(arguments, standalone_mode=False)
    assert output.read_text() == "mine"
