"""netlab check --baseline history:RUNS finds whether a run is worse than the last segment."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_streams import netlab

from benchmarks.truth.drawn_histories import draw
from benchmarks.truth.written_histories import (
    round_trip_cell,
    stream_cell,
    write_history,
    write_run,
)
from netlab.kinds import KINDS
from netlab.results.quantities import STACK

needs_ruptures = pytest.mark.needs("ruptures")

STREAM, TRIPS = stream_cell(1448), round_trip_cell(64)


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 runs: the stream has a step of -3 % at run 22, which is recent; the other has none."""
    chance = np.random.default_rng(2)
    folder = tmp_path_factory.mktemp("nightly")
    histories = [
        (STREAM, draw(chance, runs=30, steps=[(22, -0.03)]).figures),
        (TRIPS, draw(chance, runs=30).figures),
    ]
    write_history(folder, histories)
    return folder


@needs_ruptures
@pytest.mark.parametrize(
    ("mbit_per_s", "us", "code"),
    [
        (91.2, 94.0, 0),
        (89.0, 94.0, 5),  # slower than after the step
        (94.0, 94.0, 0),  # as before the step, which is better
        (91.2, 97.0, 5),
        (91.2, 91.0, 0),  # a shorter round trip is better
        (91.2, None, 3),
    ],
)
def test_netlab_check_compares_a_run_with_its_history_since_the_last_change(
    nightly: Path,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    mbit_per_s: float,
    us: float | None,
    code: int,
) -> None:
    run = write_run(tmp_path / "tonight", 30, [(STREAM, mbit_per_s), (TRIPS, us)])
    words = ("check", str(run), "--baseline", f"history:{nightly}")
    outcome, out, _ = netlab(capfdbinary, *words)
    assert outcome == code, out
    assert "The history of TCP 1448 changed recently: throughput −" in out
    assert "since run-022 (2025-01-23)." in out


@needs_ruptures
def test_netlab_check_prints_how_many_runs_set_the_expectation_and_accepts_a_wider_limit(
    nightly: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    run = write_run(tmp_path / "tonight", 30, [(STREAM, 89.0), (TRIPS, 94.0)])
    words = ("check", str(run), "--baseline", f"history:{nightly}")
    _, out, _ = netlab(capfdbinary, *words)
    assert "no worse than the baseline by 0.5 %: 1 met, 1 not met" in out
    assert "TCP 1448: throughput, median 89.00 Mbit/s, −2." in out
    assert "expected by 8 runs)" in out
    assert netlab(capfdbinary, *words, "--no-worse-by", "5 %")[0] == 0
    _, out, _ = netlab(capfdbinary, *words, "--json")
    document = json.loads(out)
    assert document["baseline"] == f"history:{nightly}"
    assert len(document["remarks"]) == 1


@needs_ruptures
def test_netlab_check_uses_only_the_runs_before_the_checked_run(
    nightly: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    # Of the run in the history itself, before the step, there are 20 earlier runs.
    words = ("check", str(nightly / "run-020"), "--baseline", f"history:{nightly}")
    code, out, _ = netlab(capfdbinary, *words)
    assert code == 0
    assert "recently" not in out


def test_netlab_check_cannot_judge_a_run_against_a_history_of_three_runs(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    write_history(tmp_path / "runs", [(STREAM, (94.0, 94.1, 93.9))])
    run = write_run(tmp_path / "tonight", 3, [(STREAM, 94.0)])
    words = ("check", str(run), "--baseline", f"history:{tmp_path / 'runs'}")
    code, out, _ = netlab(capfdbinary, *words)
    assert code == 3
    assert "throughput: fewer than 5 runs since the last change" in out


def test_a_larger_value_is_worse_for_times_and_not_for_payload_or_frames() -> None:
    times = ("round_trip", "connect", "latency_under_load")
    of_times = [q for kind in times for q in KINDS[kind].quantities.values()]
    worse = {q.name for q in (*of_times, STACK) if q.more_is_worse}
    assert len(worse) == 4
    for search in ("payload_search", "throughput_search"):
        assert [q.more_is_worse for q in KINDS[search].quantities.values()] == [False]
