"""A matrix expands into cells by axes and rules, and each cell has a key made of its content."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
from folders import MATRICES

from netlab.config.matrix_file import load_matrix
from netlab.experiment.cells import Cell, Expansion, Grid, Rule, expansion
from netlab.experiment.matrix import expand
from netlab.kinds import (
    DEFAULTS_OF,
    Connect,
    PayloadSearch,
    RoundTrip,
    Setup,
    Stream,
    ThroughputSearch,
)
from netlab.trial.settings import Level

BOTH: dict[str, tuple[Level, ...]] = {"protocol": ("TCP", "UDP")}


def grid(**changes: object) -> Grid:
    """Two protocols by two message sizes, and what else is given."""
    axes: dict[str, tuple[Level, ...]] = {
        "protocol": ("TCP", "UDP"),
        "message_bytes": (64, 1500),
        **{name: (level,) for name, level in DEFAULTS_OF["stream"].items()},
    }
    rules = {
        name: changes.pop(name) for name in ("replace", "exclude", "override") if name in changes
    }
    axes |= changes  # type: ignore[arg-type]
    return Grid(test="stream", axes=axes, **rules)  # type: ignore[arg-type]


def when(then: dict[str, Level] | None = None, **conditions: Level) -> Rule:
    return Rule({name: frozenset({level}) for name, level in conditions.items()}, then or {})


def stream_of(cell: Cell) -> Stream:
    assert isinstance(cell.setup, Stream)
    return cell.setup


def sizes(result: Expansion) -> list[tuple[str, int]]:
    return [(cell.setup.protocol, stream_of(cell).message_bytes) for cell in result.cells]


def test_cells_are_the_product_of_the_axes_and_the_last_axis_varies_fastest() -> None:
    result = expansion(["LL"], [grid()])
    assert sizes(result) == [("TCP", 64), ("TCP", 1500), ("UDP", 64), ("UDP", 1500)]
    assert result.problems == ()
    assert grid().size == 4


def test_cells_are_ordered_by_pairing_and_then_by_test() -> None:
    grids = [
        grid(protocol=("TCP",), message_bytes=(1,)),
        grid(protocol=("TCP",), message_bytes=(2,)),
    ]
    result = expansion(["WL", "LL"], grids)
    assert [(c.pairing, stream_of(c).message_bytes) for c in result.cells] == [
        ("WL", 1),
        ("WL", 2),
        ("LL", 1),
        ("LL", 2),
    ]


def test_a_replace_rule_changes_values_only_in_matching_cells() -> None:
    result = expansion(
        ["LL"], [grid(replace=(when({"message_bytes": 1400}, protocol="UDP", message_bytes=1500),))]
    )
    assert sizes(result) == [("TCP", 64), ("TCP", 1500), ("UDP", 64), ("UDP", 1400)]


def test_an_exclude_rule_matches_replaced_values_and_pairings() -> None:
    rules = grid(
        replace=(when({"message_bytes": 1400}, protocol="UDP", message_bytes=1500),),
        exclude=(when(pairing="WW", message_bytes=1400),),
    )
    result = expansion(["LL", "WW"], [rules])
    assert result.problems == ()
    assert [c.pairing for c in result.cells if stream_of(c).message_bytes == 1400] == ["LL"]
    assert len(result.cells) == 7


def test_a_later_override_rule_wins_over_an_earlier_rule() -> None:
    rules = grid(
        override=(
            when({"duration_s": 20.0, "dscp": 1}, message_bytes=64),
            when({"duration_s": 30.0}, message_bytes=64, protocol="TCP"),
        )
    )
    cells = expansion(["LL"], [rules]).cells
    by_size = {(c.setup.protocol, stream_of(c).message_bytes): stream_of(c) for c in cells}
    assert (by_size["TCP", 64].duration_s, by_size["TCP", 64].dscp) == (30.0, 1)
    assert (by_size["UDP", 64].duration_s, by_size["UDP", 64].dscp) == (20.0, 1)
    assert (by_size["UDP", 1500].duration_s, by_size["UDP", 1500].dscp) == (10.0, None)


def test_settings_that_a_protocol_lacks_are_dropped_and_make_no_further_cells() -> None:
    result = expansion(
        ["LL"],
        [
            grid(
                message_bytes=(64,),
                congestion=("cubic", "bbr"),
                nodelay=(True, False),
                dont_fragment=(True,),
            )
        ],
    )
    assert result.problems == ()
    tcp = [stream_of(c) for c in result.cells if c.setup.protocol == "TCP"]
    (udp,) = (stream_of(c) for c in result.cells if c.setup.protocol == "UDP")
    assert {(s.congestion, s.nodelay, s.dont_fragment) for s in tcp} == {
        ("cubic", True, False),
        ("cubic", False, False),
        ("bbr", True, False),
        ("bbr", False, False),
    }
    assert (udp.congestion, udp.nodelay, udp.dont_fragment) == (None, False, True)


def test_a_rule_that_makes_cells_equal_is_a_problem_and_the_cell_appears_once() -> None:
    result = expansion(
        ["LL", "WW"], [grid(replace=(when({"message_bytes": 64}, message_bytes=1500),))]
    )
    assert sizes(result) == [("TCP", 64), ("UDP", 64)] * 2
    (problem,) = result.problems
    assert (problem.grid, problem.kind, problem.rule) == (0, "replace", 0)


def test_a_replaced_value_equal_to_a_later_value_is_a_problem_of_the_replace_rule() -> None:
    result = expansion(["LL"], [grid(replace=(when({"message_bytes": 1500}, message_bytes=64),))])
    assert [(p.kind, p.rule) for p in result.problems] == [("replace", 0)]


def test_rules_that_match_no_cell_and_tests_without_cells_are_problems() -> None:
    result = expansion(
        ["LL"],
        [
            grid(exclude=(when(message_bytes=65), when(pairing="LL"))),
            grid(override=(when({"dscp": 1}, protocol="SCTP"),)),
        ],
    )
    assert [(p.grid, p.kind, p.rule) for p in result.problems] == [
        (0, "exclude", 0),
        (0, "test", 0),
        (1, "override", 0),
    ]


def test_a_cell_that_two_tests_produce_is_reported_as_a_problem_of_the_later_test() -> None:
    result = expansion(["LL"], [grid(), grid(protocol=("UDP",))])
    assert [(p.grid, p.kind) for p in result.problems] == [(1, "test")]
    assert len(result.cells) == 4


def test_a_value_that_no_host_can_measure_is_a_problem_of_its_setting() -> None:
    result = expansion(["LL"], [grid(message_bytes=(64, 65508), source_port=(5000,), streams=(2,))])
    assert {(p.kind, p.field, p.level) for p in result.problems} == {
        ("setting", "message_bytes", 65508),
        ("setting", "source_port", 5000),
    }
    assert expansion(["LL"], [grid(message_bytes=(65527,), ip_version=(6,))]).problems == ()


UDP: dict[str, Any] = {"protocol": "UDP", "message_bytes": 1472}
SHORT: dict[str, Any] = {"protocol": "UDP", "message_bytes": 15}


@pytest.mark.parametrize(
    ("setup", "field"),
    [
        (RoundTrip(**UDP | {"message_bytes": 65508}), "message_bytes"),
        (RoundTrip(**UDP, response_bytes=1473), "response_bytes"),
        (RoundTrip(**SHORT, outstanding=2), "outstanding"),
        (RoundTrip(**UDP, response_bytes=15, outstanding=2), "outstanding"),
        (RoundTrip(**SHORT, source_port=5000), "source_port"),
        (RoundTrip(**UDP, udp_checksum=False, ip_version=6), "udp_checksum"),
        (Stream(**UDP, send_method="xdp", streams=2), "send_method"),
        (ThroughputSearch(frame_bytes=64, send_method="xdp", streams=2), "send_method"),
        (Stream(**UDP, receive_from="packet"), "receive_from"),
        (Stream(**UDP, receive_from="packet", receive="blocking"), "receive_from"),
        (ThroughputSearch(frame_bytes=64, receive_from="packet"), "receive_from"),
        (Connect(message_bytes=1, protocol="UDP"), "protocol"),
        (Connect(message_bytes=1, source_port=5000, close="orderly"), "source_port"),
    ],
)
def test_the_fault_of_an_impossible_setup_names_the_setting_at_fault(
    setup: Setup, field: str
) -> None:
    assert [name for name, _ in setup.faults()] == [field]


@pytest.mark.parametrize(
    "setup",
    [
        RoundTrip(**UDP, response_bytes=1472, outstanding=1024),
        RoundTrip(**UDP, response_bytes=16, outstanding=2, udp_checksum=False, source_port=5000),
        RoundTrip(**SHORT),
        RoundTrip(**UDP | {"message_bytes": 65527}, ip_version=6),
        RoundTrip(protocol="TCP", message_bytes=1, response_bytes=1 << 24, outstanding=1024),
        Connect(message_bytes=1, source_port=5000),
        PayloadSearch(protocol="UDP", ip_version=6),
        Stream(**UDP, send_method="xdp", receive_from="packet", receive="polling"),
        Stream(**UDP, receive_from="packet", receive="spinning", streams=2),
        Stream(protocol="TCP", message_bytes=64, tcp_send_method="batch", streams=2),
        Stream(protocol="TCP", message_bytes=64, tcp_receive_call="message"),
    ],
)
def test_a_possible_setup_has_no_fault(setup: Setup) -> None:
    assert list(setup.faults()) == []


def test_each_kind_of_test_makes_cells_with_setups_of_that_kind() -> None:
    grids = [
        Grid("round_trip", {"message_bytes": (18, 1472), "udp_checksum": (True, False), **BOTH}),
        Grid(
            "connect", {"protocol": ("TCP",), "message_bytes": (64,), "close": ("reset", "orderly")}
        ),
        Grid("payload_search", {"ip_version": (4, 6), "sweep": (True,), **BOTH}),
    ]
    result = expansion(["LL"], grids)
    assert result.problems == ()
    assert [type(cell.setup) for cell in result.cells] == [
        *[RoundTrip] * 6,
        *[Connect] * 2,
        *[PayloadSearch] * 4,
    ]
    # TCP has no such checksum to leave out: there both are one cell.
    protocols = [cell.settings["protocol"] for cell in result.cells[:6]]
    assert sorted(map(str, protocols)) == ["TCP"] * 2 + ["UDP"] * 4
    assert result.grids == (0,) * 6 + (1,) * 2 + (2,) * 4
    assert len({cell.key for cell in result.cells}) == 12


def test_the_duration_of_a_cell_is_known_except_for_searches_and_counts_without_a_rate() -> None:
    count_settings: dict[str, Any] = {"duration_s": None, "count": 100}
    setups: dict[float, Setup] = {
        12.0: Stream(protocol="TCP", message_bytes=1, duration_s=10, warm_up_s=2),
        20.0: Stream(protocol="TCP", message_bytes=1, message_rate_per_s=5, **count_settings),
        8.0: Stream(protocol="TCP", message_bytes=1000, rate_bit_per_s=1e5, **count_settings),
        51.0: RoundTrip(**UDP, message_rate_per_s=2, warm_up_s=1, **count_settings),
        10.0: Connect(message_bytes=1),
    }
    assert [setup.window_s() for setup in setups.values()] == list(setups)
    endless_setups: list[Setup] = [
        RoundTrip(**UDP, **count_settings),
        Connect(message_bytes=1, **count_settings),
    ]
    assert [s.window_s() for s in (*endless_setups, PayloadSearch(protocol="UDP"))] == [None] * 3


def test_a_cells_key_is_readable_and_differs_for_each_setting() -> None:
    cell = Cell(pairing="LL", test="stream", setup=Stream(protocol="TCP", message_bytes=64))
    assert cell.key.startswith("LL-stream-tcp-64-auto-")
    variants = [
        Cell(pairing="WL", test="stream", setup=cell.setup),
        Cell(pairing="LL", test="stream", setup=Stream(protocol="UDP", message_bytes=64)),
        Cell(pairing="LL", test="stream", setup=Stream(protocol="TCP", message_bytes=64, dscp=0)),
        Cell(
            pairing="LL", test="stream", setup=Stream(protocol="TCP", message_bytes=64, streams=2)
        ),
    ]
    digests = {variant.key.rpartition("-")[2] for variant in [cell, *variants]}
    assert len(digests) == 5


def test_the_key_of_a_stream_cell_is_the_key_in_stored_runs() -> None:
    stream = Stream(protocol="UDP", message_bytes=64512, socket_buffer_bytes=65536)
    assert (
        Cell(pairing="WW", test="stream", setup=stream).key == "WW-stream-udp-64512-65536-197ad868"
    )


def test_the_connecting_side_is_part_of_a_cells_key_only_if_set() -> None:
    setups = [
        Stream(protocol="UDP", message_bytes=64512, socket_buffer_bytes=65536, opening=opening)
        for opening in (None, "client-connects", "server-connects")
    ]
    keys = [Cell(pairing="WW", test="stream", setup=setup).key for setup in setups]
    assert keys[0] == "WW-stream-udp-64512-65536-197ad868"
    assert len(set(keys)) == 3
    assert "opening" not in setups[0].settings()


def test_the_settings_of_a_cell_leave_out_values_that_the_host_chooses() -> None:
    values = Stream(protocol="TCP", message_bytes=64).settings()
    assert "socket_buffer_bytes" not in values
    assert (values["message_bytes"], values["duration_s"], values["nodelay"]) == (64, 10.0, False)


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("lab-report", "a5c0a5956c4f0e50"),
        ("loopback", "a9edb9e85aa84c01"),
        ("windows-check", "4a2bf35b61d5d5a8"),
    ],
)
def test_the_cell_keys_of_shipped_matrices_are_the_keys_of_recorded_runs(
    name: str, digest: str
) -> None:
    cells = expand(load_matrix(MATRICES / f"{name}.yaml"))
    keys = "\n".join(cell.key for cell in cells)
    assert hashlib.sha256(keys.encode()).hexdigest()[:16] == digest


def test_each_kind_of_test_has_readable_cell_keys() -> None:
    setups: dict[str, Setup] = {
        "round_trip": RoundTrip(protocol="UDP", message_bytes=18, count=1000, duration_s=None),
        "connect": Connect(message_bytes=64, close="orderly"),
        "payload_search": PayloadSearch(protocol="UDP", ip_version=6),
    }
    keys = [Cell(pairing="LL", test=test, setup=setup).key for test, setup in setups.items()]
    assert [key.rpartition("-")[0] for key in keys] == [
        "LL-round_trip-udp-18-auto",
        "LL-connect-tcp-64-auto",
        "LL-payload_search-udp-ipv6-auto",
    ]


@pytest.mark.lab
def test_an_unpickled_cell_is_found_in_a_set_of_equal_cells_in_another_process() -> None:
    cell = Cell(pairing="LL", test="stream", setup=Stream(protocol="TCP", message_bytes=64))
    assert cell in {cell}
    code = (
        "import pickle, sys\n"
        "from netlab.experiment.cells import Cell\n"
        "from netlab.kinds import Stream\n"
        "here = Cell(pairing='LL', test='stream', setup=Stream(protocol='TCP', message_bytes=64))\n"
        "there = pickle.load(sys.stdin.buffer)\n"
        "print(there in {here}, there.key == here.key)"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    other = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(cell),
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": seed},
    )
    assert other.stdout.split() == [b"True", b"True"]
