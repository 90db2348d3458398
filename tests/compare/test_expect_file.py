"""`netlab check --expect FILE` takes the expectations from a file instead of the matrix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from folders import REPORTS
from made_streams import netlab, stream, stream_run

from netlab.config.matrix_file import load_expectations
from netlab.errors import MatrixError, UsageError

IMPORTED = REPORTS / "lab-report"
STEADY = (94.10, 94.12, 94.11)


def written(folder: Path, text: str) -> str:
    file = folder / "expect.yaml"
    file.write_text(text)
    return str(file)


def test_an_imported_run_without_expectations_can_be_checked_against_a_file(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = netlab(capfdbinary, "check", str(IMPORTED))
    assert (code, out) == (2, "")
    assert "has no expectations: it was imported and has no matrix: name a file that has" in err
    assert "--expect FILE, or a run with --baseline RUN" in err
    # The 13 cells of LL over TCP with 64 bytes: the lowest printed figure is 88.35 Mbit/s.
    file = written(
        tmp_path,
        "expect:\n  - when: {pairing: LL, protocol: TCP, message_size: 64}\n"
        "    throughput: {at_least: 88Mbit}\n",
    )
    code, out, _ = netlab(capfdbinary, "check", str(IMPORTED), "--expect", file, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["verdicts"] == {"met": 13, "not met": 0, "cannot be judged": 0}


def test_a_file_replaces_the_expectations_of_the_matrix(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = (
        "link: {rate: 100Mbit}\npairings: [LL]\n"
        "tests: [{test: stream, protocol: TCP, message_size: 1448}]\n"
        "expect: [{throughput: {at_least: 99 % of the ceiling}}]\n"
    )
    run = stream_run(tmp_path / "run", (stream(), STEADY), matrix_text=text)
    assert netlab(capfdbinary, "check", str(run.path))[0] == 0
    file = written(tmp_path, "expect: [{throughput: {at_least: 95Mbit}}]\n")
    code, out, err = netlab(capfdbinary, "check", str(run.path), "--expect", file)
    assert code == 5
    assert "throughput at least 95 Mbit/s: 0 met, 1 not met, 0 cannot be judged" in out
    assert "99 %" not in out
    assert "0 met, 1 not met" in err
    # A whole matrix is also such a file.
    matrix_file = written(tmp_path, text.replace("99 % of the ceiling", "94Mbit"))
    assert netlab(capfdbinary, "check", str(run.path), "--expect", matrix_file)[0] == 0


def test_an_expectation_file_can_forbid_kinds_of_findings(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    run = stream_run(tmp_path / "run", (stream(), STEADY))
    file = written(tmp_path, "expect: [{no: [interface/duplex]}]\n")
    assert netlab(capfdbinary, "check", str(run.path), "--expect", file)[0] == 0
    file = written(tmp_path, "expect: [{no: [interface/duplx]}]\n")
    code, _, err = netlab(capfdbinary, "check", str(run.path), "--expect", file)
    assert code == 2
    assert "`interface/duplx` is not a kind of finding; did you mean `interface/duplex`?" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expect: []\n", "expect"),
        ("expct: [{throughput: {at_least: 1Mbit}}]\n", "did you mean `expect`?"),
        ("expect: [{throughput: {at_least: 1Mbps/s}}]\n", "expect.yaml:1:"),
        ("", "the file is empty"),
    ],
)
def test_a_wrong_expectation_file_is_refused_with_the_place_of_the_fault(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        load_expectations(Path(written(tmp_path, text)))
    assert message in str(excinfo.value)


def test_an_expectation_file_that_is_missing_or_expects_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_expectations(tmp_path / "none.yaml")
    test = "{test: stream, protocol: TCP, message_size: 64}"
    matrix = written(tmp_path, f"pairings: [LL]\ntests: [{test}]\n")
    with pytest.raises(UsageError, match="a matrix without `expect:`"):
        load_expectations(Path(matrix))
