"""Findings report round trips that are shorter than the time of their frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from folders import ROOT
from made_readings import planned
from made_trips import LINK, found, said, timed, trip_cell, trips_run

from netlab.ethernet import Link, packets, transfer_floor_bytes, transfer_wire_bytes
from netlab.findings.analysis import load
from netlab.findings.round_trips import below_floor, floor_ns, trip_cells
from netlab.findings.series import series_of

KIND = "below-floor"


def frame_ns(ip_bytes: int, rate: float, *, tag: int = 0) -> float:
    """Time of a frame: preamble 8, header 14, FCS 4; at least 64 bytes from header to FCS."""
    return 8e9 * (8 + max(ip_bytes + 18 + tag, 64)) / rate


@pytest.mark.parametrize(
    ("settings", "values", "link", "frames_ns"),
    [
        # 1472 bytes at 100 Mbit/s: 1526 bytes per direction.
        ({"message_bytes": 1472}, {}, LINK, 2 * frame_ns(1500, 1e8)),
        ({"message_bytes": 1472}, {}, Link(1e8, 1500, hops=1), 4 * frame_ns(1500, 1e8)),
        ({"message_bytes": 18}, {}, LINK, 2 * frame_ns(46, 1e8)),
        ({"message_bytes": 18}, {}, Link(1e7, 1500, vlan=True), 2 * frame_ns(46, 1e7, tag=4)),
        (
            {"message_bytes": 1472, "ip_version": 6},
            {},
            LINK,
            2 * (frame_ns(1496, 1e8) + 960 + frame_ns(80, 1e8)),
        ),
        (
            {"message_bytes": 1000, "response_bytes": 18},
            {},
            LINK,
            frame_ns(1028, 1e8) + frame_ns(46, 1e8),
        ),
        # A path MTU of 1000 bytes at the client: the first fragment has 976 of 1008 bytes.
        (
            {"message_bytes": 1000, "response_bytes": 18},
            {"client_path_mtu_bytes": 1000},
            LINK,
            frame_ns(996, 1e8) + 960 + frame_ns(52, 1e8) + frame_ns(46, 1e8),
        ),
        # On the second cable, only the last of two fragments adds time.
        (
            {"message_bytes": 1500},
            {},
            Link(1e8, 1500, hops=1),
            2 * (frame_ns(1500, 1e8) + 960 + 2 * frame_ns(48, 1e8)),
        ),
        (
            {"protocol": "TCP", "message_bytes": 1448},
            {"mss_bytes": 1448, "tcp_timestamps": True},
            LINK,
            2 * frame_ns(1500, 1e8),
        ),
        (
            {"protocol": "TCP", "message_bytes": 100},
            {"mss_bytes": 1460, "tcp_timestamps": False},
            LINK,
            2 * frame_ns(140, 1e8),
        ),
    ],
)
def test_the_floor_of_a_round_trip_is_the_time_of_the_frames_of_both_directions(
    tmp_path: Path, settings: dict[str, Any], values: dict[str, Any], link: Link, frames_ns: float
) -> None:
    run = trips_run(
        tmp_path / "r", (trip_cell(**settings), [timed([10**9] * 5, **values)]), link=link
    )
    (cell,) = trip_cells(series_of(run))
    assert floor_ns(cell.trials[0], cell.test, link) == pytest.approx(frames_ns)


def test_the_floor_of_a_connection_includes_its_two_opening_packets(tmp_path: Path) -> None:
    cell = planned("connect", protocol="TCP", message_bytes=64)
    run = trips_run(tmp_path / "r", (cell, [timed([10**9] * 5)]))
    (only,) = trip_cells(series_of(run))
    expected_ns = 2 * frame_ns(46, 1e8) + 2 * frame_ns(104, 1e8)
    assert floor_ns(only.trials[0], "connect", LINK) == pytest.approx(expected_ns)


def test_the_floor_of_a_transfer_is_never_above_the_transfer_time_on_equal_cables() -> None:
    rng = chance(3)
    for _ in range(drawn(60, 3000)):
        size, cables = rng.randint(1, 60_000), rng.randint(1, 4)
        packet_bytes = packets(
            "UDP", size, rng.choice([1280, 1500, 9000]), ip_version=rng.choice([4, 6])
        )
        floor, total = (
            f(packet_bytes, Link(1e8, 1500, hops=cables - 1))
            for f in (transfer_floor_bytes, transfer_wire_bytes)
        )
        assert floor <= total
        if cables == 1 or len(packet_bytes) == 1:
            assert floor == total


def test_round_trips_shorter_than_their_frames_are_reported_with_both_times(tmp_path: Path) -> None:
    times = [124_000] * 90 + [61_000] * 10
    trials = [timed(times), timed([300_000] * 100), timed(times)]
    run = trips_run(tmp_path / "r", (trip_cell(message_bytes=1472), trials))
    assert said(run, KIND) == (
        "LL UDP 1472: in 2 of 3 trials: round trips took 124 µs (the shortest 61 µs), but their "
        "frames alone take 244 µs on a link of 100 Mbit/s: a shaper passes short bursts faster, or "
        "the path is another one."
    )
    (only,) = found(run, KIND)
    assert only.severity == "warning"
    assert [number for _cell, number in only.trials] == [1, 3]


def test_the_floor_of_a_round_trip_over_a_router_counts_both_cables(tmp_path: Path) -> None:
    cell = trip_cell(protocol="TCP", message_bytes=1448)
    values = {"mss_bytes": 1448, "tcp_timestamps": True}
    link = Link(1e8, 1500, hops=1)
    run = trips_run(tmp_path / "r", (cell, [timed([400_000] * 100, **values)]), link=link)
    assert "take 488 µs on 2 links of 100 Mbit/s in series" in said(run, KIND)


def test_random_round_trips_have_a_floor_warning_exactly_if_shorter_than_the_floor(
    tmp_path: Path,
) -> None:
    rng, number = chance(11), drawn(60, 300)
    wrong, missed, cells, truths = 0, 0, [], []
    for index in range(number):
        size, rate = rng.randint(16, 1472), 1e8
        floor = 2 * frame_ns(28 + size, rate)
        over = rng.choice([0.5, 0.9, 0.98, 1.0, 1.001, 1.05, 2, 10])
        least = round(floor * over)
        below = least < 0.99 * floor - 1000
        times = [least, *(round(least * rng.uniform(1, 3)) for _ in range(50))]
        cells.append((trip_cell(message_bytes=size, source_port=index + 1), [timed(times)]))
        truths.append(below)
    run = trips_run(tmp_path / "r", *cells)
    reported = {cell for finding in found(run, KIND) for cell in finding.cells}
    for (cell, _trials), below in zip(cells, truths, strict=True):
        wrong += cell.key in reported and not below
        missed += below and cell.key not in reported
    assert (wrong, missed) == (0, 0)
    assert number / 5 < sum(truths) < 4 * number / 5


@pytest.mark.parametrize("more", [{"same_host": True}, {"rtt_min_ns": 243_000}])
def test_round_trips_within_one_host_or_within_the_clock_error_have_no_floor_finding(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(message_bytes=1472), [timed([300_000] * 9, **more)]))
    assert found(run, KIND) == []


def test_round_trips_without_a_stated_link_have_no_floor_finding(tmp_path: Path) -> None:
    run = trips_run(
        tmp_path / "r", (trip_cell(message_bytes=1472), [timed([10_000] * 9)]), link=None
    )
    assert found(run, KIND) == []


def test_an_imported_mean_round_trip_below_the_floor_is_reported(tmp_path: Path) -> None:
    values = {"rtt_mean_ns": 100_000.0, "same_host": False}
    run = trips_run(tmp_path / "r", (trip_cell(message_bytes=1472), [values]))
    assert "round trips took 100 µs (the shortest 100 µs)" in said(run, KIND)


@pytest.mark.parametrize(
    ("folder", "sizes"),
    [
        ("tests/fixtures/below-floor/udp-mirror", {18: (7.25, 11.52), 1472: (10.76, 244.16)}),
        ("tests/fixtures/below-floor/nettest", {1448: (10.2, 488.32)}),
        ("reports/nettest", {}),
        ("reports/nettest-lab", {}),
        ("reports/udp-mirror-lab-pinned", {}),
        ("reports/udp-mirror-lab-unshaped", {}),
        ("reports/udp-mirror-lab-windows", {}),
        ("reports/nettest-lab-unshaped", {}),
    ],
)
def test_exactly_the_recorded_runs_over_a_shaped_cable_have_a_floor_finding(
    folder: str, sizes: dict[int, tuple[float, float]]
) -> None:
    run = load(ROOT / folder)
    reported = {
        finding.group.message_bytes: (
            round(finding.evidence["shortest_trip_ns"] / 1e3, 2),
            round(finding.evidence["floor_trip_ns"] / 1e3, 2),
        )
        for finding in below_floor(series_of(run), run.plan.link)
    }
    assert reported.keys() == sizes.keys()
    for size, (least, floor) in sizes.items():
        assert reported[size][0] == pytest.approx(least, abs=0.05)
        assert reported[size][1] == floor
