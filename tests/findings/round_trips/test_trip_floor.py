"""The floor of round trips and the findings below it, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest
from made_findings import run_of
from made_readings import of_round_trips, plan_of, planned, result

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.round_trips import TripTrial, below_floor, floor_ns, is_below
from netlab.findings.series import series_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

BYTE_PER_NS = Link(8e9, 1500)
"""On this link, a floor in ns is its number of bytes."""
LINK = Link(1e8, 1500)


def trial(*, values: dict[str, Any] | None = None, **settings: Any) -> TripTrial:
    cell = planned("round_trip", **settings)
    return TripTrial(result(cell, 1, values or {}))


def frame_bytes(ip_bytes: int) -> int:
    """A frame with preamble 8, header 14 and FCS 4."""
    return ip_bytes + 26


@pytest.mark.parametrize(
    ("settings", "values", "floor_bytes"),
    [
        ({"message_bytes": 100}, {}, 2 * frame_bytes(128)),
        ({"message_bytes": 100}, {"same_host": True}, None),
        (
            {"message_bytes": 100, "response_bytes": 200},
            {"client_response_bytes": 300},
            frame_bytes(128) + frame_bytes(328),
        ),
        # An MSS of 1000 splits 2500 bytes into three; a gap between frames takes 12 bytes.
        (
            {"protocol": "TCP", "message_bytes": 2500, "response_bytes": 100},
            {"mss_bytes": 1000.0, "tcp_timestamps": True},
            2 * (frame_bytes(1052) + 12) + frame_bytes(552) + frame_bytes(152),
        ),
        (
            {"protocol": "TCP", "message_bytes": 100, "ip_version": 6},
            {},
            2 * frame_bytes(160),
        ),
    ],
)
def test_a_floor_counts_the_bytes_of_request_and_answer_as_the_record_states_them(
    settings: dict[str, Any], values: dict[str, Any], floor_bytes: int | None
) -> None:
    assert floor_ns(trial(values=values, **settings), "round_trip", BYTE_PER_NS) == floor_bytes


def test_a_time_is_below_its_floor_if_it_misses_more_than_a_hundredth_and_a_microsecond() -> None:
    assert not is_below(98_000, 100_000)
    assert is_below(97_999, 100_000)


def findings_of(*cells: tuple[PlannedCell, list[dict[str, Value]]]) -> list[Finding]:
    records = [
        result(cell, number, values)
        for cell, trials in cells
        for number, values in enumerate(trials, 1)
    ]
    trials = max(len(of_cell) for _cell, of_cell in cells)
    run = run_of(plan_of([cell for cell, _trials in cells], trials), records)
    return list(below_floor(series_of(run), LINK))


def test_the_trial_farthest_below_its_floor_is_reported_among_cells_of_one_message_size() -> None:
    """Requests have 1526 bytes with their preamble, answers 1526 or 126. At 100 Mbit/s, they take
    244.16 and 132.16 µs; half of the first is less than 90 µs of the second.
    """
    words = {"what": "round trips", "link": "a link of 100 Mbit/s"}
    cells = [planned("round_trip", message_bytes=1472, response_bytes=size) for size in (72, 1472)]
    least_ns: list[list[dict[str, Value]]] = [
        [{"rtt_mean_ns": 90_000, "rtt_min_ns": 90_000}],
        [{"rtt_mean_ns": 300_000, "rtt_min_ns": 122_080}],
    ]
    (only,) = findings_of(*zip(cells, least_ns, strict=True))
    figures: dict[str, Any] = {"shortest_trip_ns": 122_080, "floor_trip_ns": pytest.approx(244_160)}
    figures |= {"typical_trip_ns": 195_000, "link_rate_bit_per_s": 1e8}
    figures |= {"trials": 2, "of_trials": 2}
    keys = tuple(cell.key for cell in cells)
    assert only == finding(
        Kind.BELOW_FLOOR,
        Group("LL", "UDP", 1472),
        keys,
        figures,
        words,
        tuple((k, 1) for k in keys),
    )


def test_a_typical_time_above_the_floor_is_not_reported_with_a_shorter_time_below_it() -> None:
    cell = planned("round_trip", message_bytes=1472)
    usual = of_round_trips([300_000] * 10)
    (only,) = findings_of((cell, [of_round_trips([122_000] + [300_000] * 10), usual, usual]))
    assert only.words["in_trials"] == in_trials(1, 3)["in_trials"]
    assert "typical_trip_ns" not in only.evidence
    assert only.evidence["shortest_trip_ns"] == 122_000


def test_connections_are_below_their_floor_if_their_opening_packets_had_no_time() -> None:
    """Messages of 1000 bytes take 1066 with their preamble, opening packets 72: at 100 Mbit/s,
    170.56 µs and 11.52 µs. Clocks explain times from 179.26 µs.
    """
    cell = planned("connect", protocol="TCP", message_bytes=1000)
    times: list[dict[str, Value]] = [
        {"rtt_mean_ns": mean_ns} for mean_ns in (178_000, 179_250, 179_270)
    ]
    (only,) = findings_of((cell, times))
    assert only.words["what"] == "transactions"
    assert only.evidence["floor_trip_ns"] == pytest.approx(182_080)
    assert only.trials == ((cell.key, 1), (cell.key, 2))
