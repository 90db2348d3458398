"""The export as CSV and JSON is the same everywhere and harmless for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import FIXTURES, ROOT
from made_runs import made_plan, made_record, ticking

from netlab.errors import UsageError
from netlab.findings.analysis import load
from netlab.results.export import export
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status

FIXTURE = FIXTURES / "run-v1"
LL, LL_LARGE, WL, WL_LARGE = made_plan().cells


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def folder_with_detail(path: Path, detail: str) -> Path:
    with RunFolder.open_for_writing(path / "run", made_plan(), clock=ticking()) as folder:
        folder.append(made_record(status=Status.FAILED, reason="system", detail=detail))
    return path / "run"


def test_a_csv_export_has_the_data_frame_of_the_run_with_blanks_for_missing_values() -> None:
    data = export(FIXTURE, "csv")
    rows = rows_of(data)
    assert list(rows[0]) == list(load(FIXTURE).frame.columns)
    assert [row["throughput_bit_per_s"] for row in rows] == ["48561234.5", "48600000.5", "", ""]
    assert [row["reason"] for row in rows] == ["", "", "no-buffers", "host-away"]
    assert rows[0]["same_host"] == "false"
    assert rows[0]["elapsed_ns"] == "10000012345"
    assert rows[0]["receiver_interval_bytes"] == "[1,2,3]"
    assert b"\r" not in data
    assert b"nan" not in data.lower().replace(b"nanosecond", b"")


@pytest.mark.parametrize(
    "detail", ["=cmd()|'/C calc'!A0", "+1+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=1,\n2"]
)
def test_a_csv_export_neutralises_texts_that_a_spreadsheet_would_execute(
    tmp_path: Path, detail: str
) -> None:
    data = export(folder_with_detail(tmp_path, detail), "csv")
    assert rows_of(data)[0]["detail"] == "'" + detail


@pytest.mark.parametrize("detail", ["a,b", 'a "quoted" b', "two\nlines", "<script>", "Käfer 🐞"])
def test_an_export_writes_harmless_text_unchanged(tmp_path: Path, detail: str) -> None:
    folder = folder_with_detail(tmp_path, detail)
    assert rows_of(export(folder, "csv"))[0]["detail"] == detail
    assert json.loads(export(folder, "json"))[0]["detail"] == detail


def test_a_csv_export_writes_negative_numbers_as_numbers(tmp_path: Path) -> None:
    with RunFolder.open_for_writing(tmp_path / "run", made_plan(), clock=ticking()) as folder:
        folder.append(made_record(values={"receiver_raw_clock_ppm": -3.5}))
    assert rows_of(export(tmp_path / "run", "csv"))[0]["receiver_raw_clock_ppm"] == "-3.5"


def test_a_json_export_is_an_array_of_flat_objects_with_null_for_missing_values() -> None:
    data = export(FIXTURE, "json")
    assert data.isascii()
    rows = json.loads(data)
    assert [row["status"] for row in rows] == ["ok", "ok", "impossible", "pending"]
    assert rows[2]["throughput_bit_per_s"] is None
    assert rows[0]["throughput_bit_per_s"] == 48561234.5
    assert rows[0]["same_host"] is False
    assert list(rows[0]) == list(load(FIXTURE).frame.columns)


def test_an_export_in_an_unknown_format_is_refused() -> None:
    with pytest.raises(
        UsageError, match="xlsx: not a format of an export; the formats are csv, json"
    ):
        export(FIXTURE, "xlsx")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_two_exports_of_one_run_have_the_same_bytes(form: str) -> None:
    assert export(FIXTURE, form) == export(FIXTURE, form)


@pytest.mark.lab
@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8", "tr_TR.UTF-8"])
def test_the_bytes_of_an_export_do_not_depend_on_the_locale(locale: str) -> None:
    program = (
        "import locale, sys\n"
        "try: locale.setlocale(locale.LC_ALL, '')\n"
        "except locale.Error: pass\n"
        "from pathlib import Path\n"
        "from netlab.results.export import export\n"
        "for form in ('csv', 'json'): sys.stdout.buffer.write(export(Path(sys.argv[1]), form))\n"
    )
    root = str(ROOT)
    process = subprocess.run(
        [sys.executable, "-c", program, str(FIXTURE)],
        env={**os.environ, "LC_ALL": locale, "PYTHONPATH": root, "PYTHONUTF8": "0"},
        check=True,
        capture_output=True,
        timeout=300,
    )
    assert process.stdout == export(FIXTURE, "csv") + export(FIXTURE, "json")
