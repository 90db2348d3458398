"""Findings compare round trips by settings and split a round trip into its parts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from made_trips import found, said, trip_cell, trips_run

from netlab.trial.record import Value

KIND = "comparison/differs"
WINDOW_NS = 1_000_000_000


def trials(
    rng: random.Random, mean_us: float, n: int = 8, scatter: float = 0.01
) -> list[dict[str, Value]]:
    return [{"rtt_mean_ns": 1e3 * mean_us * (1 + rng.gauss(0, scatter))} for _ in range(n)]


def two(rng: random.Random, ratio: float, index: int = 0, **more: Any) -> list[Any]:
    settings = {"source_port": index + 1} if index else {}
    return [
        (trip_cell(server_receive=mode, **settings), trials(rng, 60 * factor, **more))
        for mode, factor in (("blocking", 1), ("spinning", ratio))
    ]


def test_a_significant_difference_of_settings_is_reported_as_a_ratio_with_its_interval(
    tmp_path: Path,
) -> None:
    rng = random.Random(1)  # noqa: S311  (no secret)
    run = trips_run(tmp_path / "r", *two(rng, 0.73), link=None)
    text = said(run, KIND)
    assert text.startswith(
        "LL, server’s receive call spinning: 0.73 times as long as with server’s receive call "
        "blocking (99 %: 0.7"
    )
    assert text.endswith(", n = 8).")
    (only,) = found(run, KIND)
    assert only.evidence["low_ratio"] < 0.73 < only.evidence["high_ratio"]
    assert len(only.cells) == 2


def test_several_pairs_of_cells_that_differ_in_one_setting_are_one_finding(tmp_path: Path) -> None:
    rng = random.Random(2)  # noqa: S311  (no secret)
    cells = [*two(rng, 0.7, 1), *two(rng, 0.9, 2), *two(rng, 1.0, 3)]
    run = trips_run(tmp_path / "r", *cells, link=None)
    assert ": 0.86 times as long as with server’s receive call blocking, the mean of 3 pairs" in (
        said(run, KIND)
    )


def test_pairs_of_cells_that_contradict_each_other_are_reported_as_a_range_with_counts(
    tmp_path: Path,
) -> None:
    rng = random.Random(3)  # noqa: S311  (no secret)
    cells = [*two(rng, 0.7, 1), *two(rng, 1.5, 2), *two(rng, 1.0, 3)]
    run = trips_run(tmp_path / "r", *cells, link=None)
    assert ": 0.7 to 1.5 times as long as with " in said(run, KIND)
    assert said(run, KIND).endswith("shown in 2 of 3 pairs of cells (n = 8).")
    pairs = [*two(rng, 0.7, 1), *two(rng, 1.3, 4, scatter=0.3)]
    run = trips_run(tmp_path / "one", *pairs, link=None)
    assert said(run, KIND).endswith("shown in 1 of 2 pairs of cells (n = 8).")


def test_a_difference_between_protocols_is_reported_with_both_protocols(tmp_path: Path) -> None:
    rng = random.Random(9)  # noqa: S311  (no secret)
    cells = [(trip_cell(protocol=p), trials(rng, us)) for p, us in (("TCP", 60), ("UDP", 54))]
    run = trips_run(tmp_path / "r", *cells, link=None)
    assert said(run, KIND).startswith("LL UDP: 0.89 times as long as with TCP (99 %: ")


def test_without_a_significant_difference_the_smallest_detectable_difference_is_stated(
    tmp_path: Path,
) -> None:
    rng = random.Random(4)  # noqa: S311  (no secret)
    run = trips_run(tmp_path / "r", *two(rng, 1.0, scatter=0.04), link=None)
    (only,) = found(run, "comparison/inconclusive")
    text = said(run, "comparison/inconclusive")
    assert text.startswith("LL, server’s receive call spinning: the comparison with ")
    assert 0.02 < only.evidence["detectable_share"] < 0.2


@pytest.mark.parametrize("n", [1, 2])
def test_cells_with_fewer_than_three_trials_are_not_compared_by_settings(
    tmp_path: Path, n: int
) -> None:
    rng = random.Random(5)  # noqa: S311  (no secret)
    run = trips_run(tmp_path / "r", *two(rng, 0.5, n=n), link=None)
    assert found(run, KIND) == found(run, "comparison/inconclusive") == []


def test_cells_of_different_message_sizes_are_not_compared_by_settings(tmp_path: Path) -> None:
    rng = random.Random(6)  # noqa: S311  (no secret)
    cells = [(trip_cell(message_bytes=size), trials(rng, size)) for size in (18, 200)]
    run = trips_run(tmp_path / "r", *cells, link=None)
    assert found(run, KIND) == []


def test_for_random_runs_a_difference_of_settings_is_nearly_always_judged_rightly(
    tmp_path: Path,
) -> None:
    rng, number = chance(7), drawn(12, 100)
    right = wrong = 0
    for index in range(number):
        ratio = rng.choice([1.0, 0.8, 1.25])
        run = trips_run(tmp_path / str(index), *two(rng, ratio), link=None)
        difference = bool(found(run, KIND))
        assert difference != bool(found(run, "comparison/inconclusive"))
        right += difference == (ratio != 1.0)
        wrong += difference and ratio == 1.0
    # By chance, one in a hundred of the runs without a difference may show one.
    assert wrong <= number // 25
    assert right >= 0.95 * number


def made_of(number: int, **parts: int) -> dict[str, Value]:
    return {
        "transactions": number,
        "rtt_count": number,
        "rtt_mean_ns": WINDOW_NS / number,
        "rtt_min_ns": WINDOW_NS // number // 2,
        "elapsed_ns": WINDOW_NS,
        "same_host": False,
        "server_received_messages": number,
        **{name: ns * number for name, ns in parts.items()},
    }


def test_a_mean_round_trip_is_split_into_wire_cpu_and_waiting_times(tmp_path: Path) -> None:
    values = made_of(
        10_000,
        client_thread_ns=25_001,
        server_thread_ns=20_000,
        client_run_queue_delay_ns=1_000,
        server_run_queue_delay_ns=2_000,
    )
    run = trips_run(tmp_path / "r", (trip_cell(), [values] * 2))
    assert said(run, "trip-made-of") == (
        "LL UDP 18: a mean time of 100 µs consists of at least 11.5 µs on the wire, 25 µs with "
        "the client’s thread on a CPU, 20 µs with the server’s thread on a CPU, 3 µs of waiting "
        "for a CPU; the rest is 40.5 µs."
    )


def test_kernel_time_stamps_of_the_server_replace_its_cpu_times_in_a_round_trip(
    tmp_path: Path,
) -> None:
    values = made_of(10_000, client_thread_ns=25_001, server_thread_ns=20_000)
    values |= {"server_stack_mean_ns": 18_000.0, "server_run_queue_delay_ns": 10**7}
    run = trips_run(tmp_path / "r", (trip_cell(), [values]), link=None)
    assert said(run, "trip-made-of") == (
        "LL UDP 18: a mean time of 100 µs consists of 18 µs in the server’s stack and program, "
        "25 µs with the client’s thread on a CPU; the rest is 57 µs."
    )


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, {"client_thread_ns": 60_000, "server_thread_ns": 60_000}),  # more than the whole
        ({}, {"client_thread_ns": 10_000, "server_thread_ns": 5_000}),  # too little of it
        ({}, {"client_thread_ns": 60_000}),
        ({"outstanding": 4}, {"client_thread_ns": 25_000, "server_thread_ns": 20_000}),
        (
            {"message_rate_per_s": 10_000.0},
            {"client_thread_ns": 25_000, "server_thread_ns": 20_000},
        ),
        ({"client_receive": "spinning"}, {"client_thread_ns": 25_000, "server_thread_ns": 30_000}),
    ],
)
def test_a_round_trip_with_inconsistent_parts_is_not_split(
    tmp_path: Path, settings: dict[str, Any], parts: dict[str, int]
) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(**settings), [made_of(10_000, **parts)]), link=None)
    assert found(run, "trip-made-of") == []


def test_a_round_trip_is_not_split_into_parts_if_cpu_times_have_a_coarse_clock(
    tmp_path: Path,
) -> None:
    values = made_of(1_000) | {"client_thread_ns": 156_250_000, "server_thread_ns": 156_250_000}
    run = trips_run(tmp_path / "r", (trip_cell(), [values]), link=None)
    assert found(run, "trip-made-of") == []
