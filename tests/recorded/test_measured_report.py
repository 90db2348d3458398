"""A run with every kind of test on this machine has a result and a section for each of them."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest
from folders import ROOT

from netlab.build.binaries import local_probe
from netlab.findings.analysis import Analysis, load
from netlab.report.sections import parts_of
from netlab.results.columns import PREFIXES, columns_of
from netlab.stats.histogram import from_pairs, middle_of

pytestmark = pytest.mark.lab

MATRIX = """\
title: every kind of test
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
repeats: 3
compare:
  - name: Long and short
    baseline: {message_size: 18}
    contender: {message_size: 1472}
tests:
  - {test: round_trip, protocol: UDP, message_size: [18, 1472], count: 200, stack_time: true,
     keep_first: 2}
  - {test: round_trip, protocol: TCP, message_size: 100, duration: 100ms, message_rate: 1000}
  - {test: connect, message_size: 64, count: 50}
  - {test: stream, protocol: [TCP, UDP], message_size: 1448, count: 2000, socket_buffer: 1MiB}
  - {test: payload_search, protocol: TCP, sweep: true, duration: 300ms, repeats: 1}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    local_probe()
    folder = tmp_path_factory.mktemp("measured")
    (folder / "matrix.yaml").write_text(MATRIX)
    subprocess.run(
        [sys.executable, "-m", "netlab", "run", "matrix.yaml", "--into", "out"],
        cwd=folder,
        timeout=400,
        check=True,
        capture_output=True,
    )
    return load(folder / "out")


def test_every_trial_of_every_kind_of_test_on_loopback_has_a_result(run: Analysis) -> None:
    assert set(run.frame["status"]) == {"ok"}, run.frame[["cell", "reason", "detail"]]


def test_the_page_of_a_run_with_every_kind_of_test_has_every_section(run: Analysis) -> None:
    parts = parts_of(run, run.trials)
    # What is found depends on the machine.
    names = [part.name for part in parts if part.name not in ("findings", "limits")]
    assert names == [
        *("round-trip", "connect", "payload", "loss-cpu"),
        *("comparisons", "repeats", "over-time"),
    ]
    page = (run.path / "index.html").read_text("utf-8")
    assert [name for name in names if f'<h2 id="{name}">' not in page] == []


def test_percentiles_and_means_of_round_trips_agree_with_the_extremes_and_the_histogram(
    run: Analysis,
) -> None:
    rows = run.frame[run.frame["test"].isin(["round_trip", "connect"])]
    assert len(rows) == 12
    for _, row in rows.iterrows():
        low, high = row["rtt_min_ns"], row["rtt_max_ns"]
        assert low * 0.99 <= row["rtt_p50_ns"] <= high * 1.01
        assert low <= row["rtt_mean_ns"] <= high
        histogram = from_pairs([int(x) for x in re.findall(r"\d+", row["rtt_histogram"])])
        assert histogram.count == row["rtt_count"]
        total_ns = sum(middle_of(bucket) * n for bucket, n in histogram.counts.items())
        assert total_ns / histogram.count == pytest.approx(row["rtt_mean_ns"], rel=0.01)


def test_every_value_of_the_probe_is_described_in_the_protocol_documentation(run: Analysis) -> None:
    protocol = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    words = set(re.findall(r"[a-z0-9_]+", protocol))
    columns = columns_of(run.frame["test"].unique())
    value_names = {plain(str(name)) for name in run.frame.columns if name not in columns}
    percentile = re.compile(r"_p[0-9_]+_ns$")
    assert sorted(n for n in value_names - words - columns.keys() if not percentile.search(n)) == []


def plain(name: str) -> str:
    """A column's name as the probe says it."""
    for prefix in (*PREFIXES, "tcp_open_", "tcp_begin_", "tcp_end_"):
        name = name.removeprefix(prefix)
    return name


def test_the_measured_stack_time_of_the_mirror_is_shorter_than_the_round_trip(
    run: Analysis,
) -> None:
    rows = run.frame[run.frame["stack_time"].fillna(False)]
    stack = pd.to_numeric(rows["server_stack_mean_ns"])
    assert (stack.dropna() < pd.to_numeric(rows["rtt_mean_ns"])[stack.notna()]).all()
