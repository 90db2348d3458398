"""The plan of a matrix as `netlab plan` shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from folders import MATRICES
from hypothesis import given
from hypothesis import strategies as st

from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import expand
from netlab.experiment.schedule import PROGRAMS_S
from netlab.kinds import Connect, PayloadSearch, RoundTrip, Setup
from netlab.runner.planning import plan_json, plan_of, plan_text
from netlab.runner.progress import OVERHEAD_S

REPORT = MATRICES / "lab-report.yaml"
LOOPBACK = MATRICES / "loopback.yaml"


def test_the_plan_as_json_has_cells_trials_rounds_and_time() -> None:
    plan = plan_of(REPORT, None)
    plan_data = plan_json(plan)
    assert (plan_data["cells"], plan_data["trials"], plan_data["rounds"]) == (416, 416, 416)
    assert 4160 < plan_data["seconds"] < 4160 * 1.02
    assert [entry["key"] for entry in plan_data["cell_list"]] == [
        cell.key for cell in expand(load_matrix(REPORT))
    ]
    counts = {entry["pairing"]: entry["cells"] for entry in plan_data["pairings"]}
    assert counts == {"LL": 104, "WL": 104, "LW": 104, "WW": 104}
    assert plan_data["at_the_same_time"] == []
    assert json.loads(plan.as_json()) == plan_data


def test_the_plan_as_text_has_trials_time_link_and_sizes() -> None:
    text = plan_text(plan_of(REPORT, None))
    assert "416 cells x 1 trial = 416 trials in 416 rounds" in text
    assert "About 1 h 9 min" in text
    assert "Link: 100 Mbit/s, MTU 1500" in text
    assert "16 KiB, 20 KiB, … 64 KiB (13)" in text
    assert "64, 576, 1500, 64512" in text
    assert "One trial at a time" in text


def test_the_plan_names_cells_that_their_engine_cannot_measure_and_counts_no_time_for_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.yaml").write_text(
        "pairings: [LL]\n"
        "tests:\n"
        "  - {test: round_trip, protocol: TCP, message_size: 64, duration: 2s,"
        " engine: [netprobe, netperf, iperf3], outstanding: [1, 4]}\n"
    )
    plan = plan_of(tmp_path / "m.yaml", None)
    assert set(plan.refused.values()) == {"`test`: iperf3 has no test round_trip"}
    assert (len(plan.cells), len(plan.refused), plan.trials) == (6, 2, 4)
    assert plan.time.time_s == pytest.approx(4 * (2 + OVERHEAD_S) + 2 * PROGRAMS_S)
    text = plan_text(plan)
    assert "Cannot be measured: 2 cells of LL: `test`: iperf3 has no test round_trip" in text


def test_the_plan_as_text_lists_every_cell_key_if_asked() -> None:
    plan = plan_of(LOOPBACK, None)
    listed = plan_text(plan, with_cells=True)
    assert all(cell.key in listed for cell in plan.cells)
    assert not any(cell.key in plan_text(plan, with_cells=False) for cell in plan.cells)


def test_the_options_only_and_set_change_the_cells_trials_and_time_of_the_plan() -> None:
    plan_data = plan_json(plan_of(REPORT, None, ["LL"], {"duration": "1s", "repeats": "2"}))
    assert (plan_data["cells"], plan_data["trials"]) == (104, 208)
    assert 208 < plan_data["seconds"] < 215
    with pytest.raises(
        UsageError, match="--only XX: this matrix has no such pairing or test; pairings: LL, WL"
    ):
        plan_of(REPORT, None, ["XX"])


def test_the_plan_of_a_parallel_matrix_names_pairings_that_run_at_the_same_time() -> None:
    plan = plan_of(REPORT, None, (), {"parallel": "true"})
    assert plan_json(plan)["at_the_same_time"] == [["LL", "WW"]]
    assert plan_json(plan)["rounds"] == 312
    assert "At the same time: LL with WW (if each system has two hosts" in plan_text(plan)


def test_the_inventory_decides_which_pairings_of_the_plan_run_at_the_same_time(
    tmp_path: Path,
) -> None:
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text(
        "hosts:\n"
        "  one: {ssh: a@192.0.2.1, os: L, machine: first, addresses: {test: 198.51.100.1}}\n"
        "  two: {ssh: a@192.0.2.2, os: L, machine: second, addresses: {test: 198.51.100.2}}\n"
        "  three: {ssh: a@192.0.2.1, os: W, machine: first, addresses: {test: 198.51.100.1}}\n"
        "  four: {ssh: a@192.0.2.2, os: W, machine: second, addresses: {test: 198.51.100.2}}\n",
        encoding="utf-8",
    )
    plan_data = plan_json(plan_of(REPORT, hosts, (), {"parallel": "true"}))
    assert plan_data["at_the_same_time"] == []
    assert plan_data["rounds"] == 416
    assert not plan_data["hosts_assumed"]
    text = plan_text(plan_of(REPORT, hosts, (), {"parallel": "true"}))
    assert "any two pairings share a host" in text


def test_the_plan_gives_no_time_for_trials_limited_by_count_if_the_link_rate_is_unknown() -> None:
    plan = plan_of(LOOPBACK, None, (), {"count": "1000"})
    plan_data = plan_json(plan)
    assert (plan_data["trials_of_unknown_length"], plan_data["trials_at_link_rate"]) == (12, 0)
    text = plan_text(plan)
    assert "12 trials are limited by `count` and not by time: their time cannot be" in text
    assert "About" not in text


def test_the_plan_computes_the_time_of_counted_trials_from_the_link_rate() -> None:
    plan_data = plan_json(plan_of(MATRICES / "nettest.yaml", None))
    assert (plan_data["cells"], plan_data["trials"], plan_data["trials_at_link_rate"]) == (
        3,
        35,
        35,
    )
    assert [entry["trials"] for entry in plan_data["cell_list"]] == [10, 10, 15]
    # 1538 bytes on the wire: a million of them one way; 100,000 there and back over two cables.
    frame_s = 8 * 1538 / 1e8
    least_s = 10 * 4 * 100_000 * frame_s + (10 + 15) * 1_000_000 * frame_s
    assert plan_data["seconds"] == pytest.approx(least_s + 34 * 3 + 35 * OVERHEAD_S)
    text = plan_text(plan_of(MATRICES / "nettest.yaml", None))
    assert "3 cells x 10 or 15 trials = 35 trials in 35 rounds" in text
    assert "At least 1 h 1 min" in text
    assert "1 router between the hosts" in text


def test_the_computed_least_time_of_trials_agrees_with_the_times_of_the_nettest_document() -> None:
    """100,000 took 63.8 s there, 637.6 us each; the cables alone are less, and most of it."""
    matrix = load_matrix(MATRICES / "nettest.yaml")
    least = expand(matrix)[0].setup.least_s(matrix.link)
    assert least is not None
    assert 0.7 * 63.761 < least < 63.761
    blasts = [cell.setup.least_s(matrix.link) for cell in expand(matrix)[1:]]
    # The document's clock ticks in hundredths, and its link's crystal is not ours.
    assert blasts == pytest.approx([123.316, 123.316], rel=0.003)


def link(**changes: Any) -> Link:
    return Link(**{"rate_bit_per_s": 1e8, "mtu_bytes": 1500, "vlan": False} | changes)


def cell_of(setup: Setup) -> Cell:
    return Cell(pairing="LL", test="", setup=setup)


def test_outstanding_requests_need_as_long_as_the_busier_direction_or_the_mirror() -> None:
    settings: dict[str, Any] = {"protocol": "UDP", "message_bytes": 1472, "response_bytes": 18}
    settings |= {"duration_s": None, "count": 1000}
    long_s, short_s = 1000 * 8 * 1538 / 1e8, 1000 * 8 * 84 / 1e8
    single_s, parallel_s, hold_s = (
        RoundTrip(**settings, **more).least_s(link())
        for more in ({}, {"outstanding": 64}, {"outstanding": 64, "mirror_hold_s": 0.01})
    )
    assert single_s == pytest.approx(long_s + short_s)
    assert parallel_s == pytest.approx(long_s)
    assert hold_s == pytest.approx(10)


def test_the_least_time_counts_handshakes_of_connections_and_message_sizes_of_a_sweep() -> None:
    settings: dict[str, Any] = {"message_bytes": 64, "duration_s": None, "count": 1000}
    connect = Connect(**settings).least_s(link())
    round_trip = RoundTrip(protocol="TCP", **settings).least_s(link())
    assert connect is not None
    assert round_trip is not None
    assert connect == pytest.approx(round_trip + 1000 * 2 * 8 * 84 / 1e8)
    swept = PayloadSearch(protocol="UDP", sweep=True, duration_s=0.5)
    assert swept.least_s(link()) == 14 * 0.5
    assert RoundTrip(protocol="TCP", **settings).least_s(None) is None
    huge = RoundTrip(protocol="UDP", ip_version=6, **settings)
    assert huge.least_s(link(mtu_bytes=576)) is None


@given(
    st.sampled_from(["TCP", "UDP"]),
    st.integers(1, 20_000),
    st.integers(1, 20_000),
    st.integers(1, 1000),
    st.integers(1, 64),
    st.integers(0, 3),
)
def test_more_or_longer_messages_and_more_cables_never_take_less_time(
    protocol: Literal["TCP", "UDP"],
    size: int,
    other_size: int,
    count: int,
    outstanding: int,
    hops: int,
) -> None:
    def time_s(message_bytes: int, count: int, hops: int) -> float:
        setup = RoundTrip(
            protocol=protocol,
            message_bytes=message_bytes,
            duration_s=None,
            count=count,
            outstanding=outstanding,
        )
        duration_s = setup.least_s(link(hops=hops))
        assert duration_s is not None
        return duration_s

    shorter, longer = sorted((size, other_size))
    assert time_s(shorter, count, hops) <= time_s(longer, count, hops)
    assert time_s(size, 2 * count, hops) == pytest.approx(2 * time_s(size, count, hops))
    assert time_s(size, count, hops) <= time_s(size, count, hops + 1)
    # At least the time that the cable needs for the data of one direction.
    assert time_s(size, count, hops) >= 8 * size * count / 1e8


HOSTS = """\
hosts:
  echo: {os: W, mirror: {address: 198.51.100.7, port: 7}}
  one: {ssh: a@192.0.2.1, os: L, address: 198.51.100.1}
  two: {ssh: a@192.0.2.2, os: L, address: 198.51.100.2}
"""


def test_the_plan_names_cells_that_the_inventory_makes_impossible(
    tmp_path: Path,
) -> None:
    hosts, matrix = tmp_path / "hosts.yaml", tmp_path / "m.yaml"
    hosts.write_text(HOSTS)
    matrix.write_text(
        "pairings: [WL, LL]\ndefaults: {duration: 10s, message_size: 64}\ntests:\n"
        "  - {test: stream, protocol: TCP}\n"
        "  - {test: round_trip, protocol: UDP, ip: [4, 6]}\n"
    )
    plan = plan_of(matrix, hosts)
    plan_data = plan_json(plan)
    assert (plan_data["cells"], plan_data["cells_refused"], plan_data["trials"]) == (6, 3, 3)
    assert 30 < plan_data["seconds"] < 31
    assert [(c["pairing"], c["test"]) for c in plan_data["cell_list"] if "refused" in c] == [
        ("WL", "stream"),
        ("WL", "round_trip"),
        ("LL", "round_trip"),
    ]
    text = plan_text(plan)
    assert "Cannot be measured: 1 cell of WL: echo is a mirror without a probe: a `stream`" in text
    assert "Cannot be measured: 1 cell of LL: host one has no IPv6 test address" in text
    assert "3 cells x 1 trial = 3 trials in 3 rounds" in text
    nothing = plan_text(plan_of(matrix, hosts, ["WL"], {"ip": "6"}))
    assert nothing.endswith("No cell can be measured")


def test_the_plan_of_a_payload_search_gives_its_least_and_its_most_time() -> None:
    plan = plan_of(MATRICES / "payload.yaml", None)
    text = plan_text(plan)
    assert "4 trials search the path" in text
    assert "searched" in text
    plan_data = plan_json(plan)
    assert (plan_data["trials_of_unknown_length"], plan_data["trials_that_search"]) == (0, 4)
    # One sweep per IP version: 14 sizes over TCP, 14 to 16 over UDP, a second each.
    assert plan_data["seconds_at_least"] == pytest.approx(4 * 14 + 4 * OVERHEAD_S)
    # Lost messages: 18 sizes of TCP, 1 s time-out and 1 s beyond; 19 of UDP, 500 ms.
    most_s = 2 * (14 + 2 * 18 * 2) + 2 * (16 + 2 * 19 * 0.5) + 4 * OVERHEAD_S
    assert plan_data["seconds"] == pytest.approx(most_s)
    assert "At least 56.1 s, at most 4 min 2 s; the longest trial 1 min 26 s" in text


def test_the_plan_of_an_rfc2544_search_gives_its_least_and_its_most_time() -> None:
    plan = plan_of(MATRICES / "rfc2544.yaml", None)
    plan_data = plan_json(plan)
    # For each of 14 cells: two trials at line rate, two of the loss, round trips at four loads.
    least_s = 2 * 60.1 + 5 + 2 * 65.1 + 4 * 65.5
    assert plan_data["seconds_at_least"] == pytest.approx(14 * (least_s + OVERHEAD_S))
    assert "At least 2 h 1 min, at most 11 h 13 min" in plan_text(plan)


def test_the_plan_reports_a_search_without_a_line_rate(tmp_path: Path) -> None:
    matrix = tmp_path / "m.yaml"
    matrix.write_text(
        "pairings: [LL]\ntests: [{test: throughput_search, frame_size: 64, back_to_back: 50}]\n"
    )
    plan = plan_of(matrix, None)
    assert plan_json(plan)["trials_of_unknown_length"] == 1
    assert "time of 1 trial is not known: set the line rate with `link`" in plan_text(plan)


def test_the_plan_gives_the_least_and_most_trials_if_cells_are_repeated_until_precise() -> None:
    plan = plan_of(LOOPBACK, None, (), {"until": "{within: 2.5 %, at_least: 5, at_most: 20}"})
    plan_data = plan_json(plan)
    assert (plan_data["trials_at_least"], plan_data["trials"]) == (60, 240)
    assert plan_data["seconds"] == pytest.approx(4 * plan_data["seconds_at_least"])
    assert plan_data["until"] == {
        "within": 0.025,
        "confidence": 0.95,
        "at_least": 5,
        "at_most": 20,
    }
    text = plan_text(plan)
    assert "12 cells x 5 to 20 trials = 60 to 240 trials in 60 to 240 rounds" in text
    assert "A cell is repeated until its mean is within ± 2.5 % at 95 % confidence" in text
    assert "About 34.2 s, 2 min 17 s if every trial is needed" in text


def test_the_plan_states_how_much_steal_causes_a_further_attempt() -> None:
    plan = plan_of(LOOPBACK, None, (), {"quiet": "{steal: 0.5 %, tries: 4}"})
    assert plan_json(plan)["quiet"] == {"steal": 0.005, "tries": 4}
    assert "takes more than 0.5 % of a host's CPU time" in plan_text(plan)
    assert "up to 4 attempts in all" in plan_text(plan)
    assert "quiet" not in plan_json(plan_of(LOOPBACK, None))


def test_the_plan_states_the_scale_of_counts_the_pauses_and_the_comparisons() -> None:
    text = plan_text(plan_of(MATRICES / "nettest.yaml", None, (), {"scale": "0.01"}))
    assert "Scaled: every `count` is multiplied by 0.01 (at least 1)" in text
    assert "a pause of 3 s between two rounds" in text
    text = plan_text(plan_of(MATRICES / "udp-mirror.yaml", None))
    assert "Compared: Without the UDP checksum, against with it" in text
    assert "Scaled" not in text
