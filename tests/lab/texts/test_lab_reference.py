"""The examples of docs/reference, run as they stand: on two hosts of a lab."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, typed
from reference_pages import CAPTURE, PAGES, columns, example

from netlab import lab, load
from netlab.lab.plan import LabOptions
from netlab.report.notebook import LoadedRun

# They judge which columns there are, no figures.
pytestmark = [*needs_a_lab, pytest.mark.beside, pytest.mark.night]

NAME = f"r{os.getpid()}"
MAY_BE_BLANK = {
    *("upper_frames_per_s", "limit_host", "limit_core"),  # the line rate itself passed
    *("responsiveness_per_minute", "fairness_index"),  # a load under 20 s, of one stream
}


@pytest.fixture(scope="module")
def two() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, linux=2, rate=100e6))
    finally:
        lab.down(NAME)


def run(name: str, home: Path, hosts: Path | None) -> LoadedRun:
    """What became of a page's example, typed at ``home``, where ``hosts`` lies as lab.yaml."""
    matrix, command = example(name)
    words = shlex.split(command.removeprefix("sudo "))[1:]
    (home / words[1]).write_text(matrix)
    if hosts is not None:
        (home / "lab.yaml").write_text(hosts.read_text())
    process = typed(home, *words, timeout_s=300)
    assert process.returncode == 0, (process.stdout, process.stderr)
    return load(home / words[words.index("--into") + 1])


@pytest.mark.parametrize("name", PAGES)
def test_each_example_of_the_reference_measures_the_documented_columns(
    name: str, two: lab.LabState, tmp_path: Path
) -> None:
    analysis = run(name, tmp_path, two.hosts_file)
    assert {record.status for record in analysis.records} == {"ok"}
    assert {cell.test for cell in analysis.plan.cells} == {PAGES[name]}
    page_columns = columns(name)
    assert len(page_columns) > 3
    assert [column for column in page_columns if column not in analysis.frame.columns] == []
    full_columns = set(analysis.frame.dropna(axis="columns", how="all").columns)
    assert [column for column in page_columns if column not in full_columns | MAY_BE_BLANK] == []


@pytest.mark.needs("tcpdump")
def test_the_capture_example_of_the_reference_captures_the_full_frame(tmp_path: Path) -> None:
    analysis = run(CAPTURE, tmp_path, None)
    (row,) = analysis.frame.to_dict("records")
    assert row["captured"] is True
    # The message that fills a packet, and the header of 14 bytes before it.
    assert str(row["path_mtu_bytes"] + 14) in row["captured_frame_bytes"]
    assert {"captured", "capture_reason", "captured_frame_bytes", "captured_next_frames"} <= set(
        columns(CAPTURE)
    )
    assert list((analysis.path / "captures").glob("*.pcap"))
