"""The settings of ``latency_under_load`` are read from a matrix, and each fault is reported."""

from __future__ import annotations

from typing import Any

import pytest
from made_matrices import faults, load

from netlab.config.settings import LOAD_KEYS, SETTINGS_OF
from netlab.errors import UsageError
from netlab.experiment.matrix import Matrix, expand
from netlab.kinds import LatencyUnderLoad, Stream

__all__ = ["faults", "load"]

HEAD = """\
title: under load
pairings: [LL]
tests:
  - test: latency_under_load
"""

BESIDE = {
    *("duration", "idle", "after", "network", "ip", "interface", "dscp", "variant"),
    *("connect_rate", "request_protocol", "request_size", "request_rate", "request_timeout"),
}


def of(*settings: dict[str, Any]) -> LatencyUnderLoad:
    return LatencyUnderLoad(**{name: value for group in settings for name, value in group.items()})


def setups(matrix: Matrix) -> list[LatencyUnderLoad]:
    load_setups = [cell.setup for cell in expand(matrix)]
    assert all(isinstance(setup, LatencyUnderLoad) for setup in load_setups)
    return load_setups  # type: ignore[return-value]


def test_a_latency_under_load_test_needs_no_settings(load: Any) -> None:
    assert setups(load(HEAD)) == [LatencyUnderLoad()]
    assert setups(load(HEAD + "    load: {}\n")) == [LatencyUnderLoad()]


def test_every_setting_of_latency_under_load_is_read_from_a_matrix(load: Any) -> None:
    text = (
        HEAD
        + """\
    idle: 6s
    duration: 20s
    after: 7s
    request_protocol: TCP
    request_size: 1KiB
    request_rate: 50/s
    request_timeout: 500ms
    connect_rate: 0.5/s
    network: test
    ip: 6
    interface: eth0
    dscp: 46
    variant: as-found
    load:
      protocol: UDP
      message_size: 1400
      streams: 2
      direction: both
      rate: 5Mbit
      socket_buffer: 64KiB
      receive: polling
      receive_from: packet
      send_method: batch
      server_cpus: [[0, 1]]
      client_cpus: [[2, 3]]
"""
    )
    (setup,) = setups(load(text))
    assert setup == of(
        {"idle_s": 6.0, "duration_s": 20.0, "after_s": 7.0, "request_protocol": "TCP"},
        {"request_bytes": 1024, "request_rate_per_s": 50.0, "request_timeout_s": 0.5},
        {"connect_rate_per_s": 0.5, "network": "test", "ip_version": 6, "interface": "eth0"},
        {"dscp": 46, "protocol": "UDP", "message_bytes": 1400, "streams": 2},
        {"direction": "both", "rate_bit_per_s": 5e6, "socket_buffer_bytes": 65536},
        {"receive": "polling", "receive_from": "packet", "send_method": "batch"},
        {"server_cpus": "0,1", "client_cpus": "2,3"},
    )
    (setup,) = setups(
        load(
            HEAD
            + "    load: {congestion: bbr, nodelay: true, message_rate: 9, server_cpu: 1, "
            + "client_cpu: 0}\n    connect_rate: none\n"
        )
    )
    assert setup == of(
        {"congestion": "bbr", "nodelay": True, "message_rate_per_s": 9.0},
        {"server_cpu": 1, "client_cpu": 0, "connect_rate_per_s": None},
    )
    setting_names = {line.split(":")[0].strip() for line in text.splitlines()[4:]} - {"load"}
    setting_names |= {"congestion", "nodelay", "message_rate", "server_cpu", "client_cpu"}
    assert setting_names == {setting.name for setting in SETTINGS_OF["latency_under_load"]}
    assert setting_names - LOAD_KEYS == BESIDE


def test_each_setting_of_the_load_is_a_stream_setting_and_may_be_an_axis(load: Any) -> None:
    assert {setting.name for setting in SETTINGS_OF["stream"]} >= LOAD_KEYS
    text = HEAD + (
        "    load: {streams: [1, 4], congestion: [cubic, bbr], direction: [client-sends, both]}\n"
        "    request_rate: {from: 50, to: 100, step: 50}\n"
    )
    load_setups = setups(load(text))
    assert len(load_setups) == len(set(load_setups)) == 16
    assert {setup.streams for setup in load_setups} == {1, 4}
    assert {setup.congestion for setup in load_setups} == {"cubic", "bbr"}
    assert {setup.request_rate_per_s for setup in load_setups} == {50.0, 100.0}
    # As in every test, the axis that is written last varies fastest.
    assert [setup.request_rate_per_s for setup in load_setups[:4]] == [50.0, 100.0, 50.0, 100.0]
    assert [setup.direction for setup in load_setups[:3]] == [
        "client-sends",
        "client-sends",
        "both",
    ]


def test_a_load_over_tcp_and_udp_gives_each_protocol_only_its_own_settings(load: Any) -> None:
    text = HEAD + (
        "    load: {protocol: [TCP, UDP], congestion: [cubic, bbr], send_method: [plain, batch]}\n"
    )
    combinations = {
        (setup.protocol, setup.congestion, setup.send_method) for setup in setups(load(text))
    }
    assert combinations == {
        *(("TCP", "cubic", None), ("TCP", "bbr", None)),
        *(("UDP", None, None), ("UDP", None, "batch")),
    }


# ---- other layers ----


def test_defaults_apply_to_the_load_unless_the_test_sets_its_own_values(load: Any) -> None:
    text = (
        "title: t\npairings: [LL]\n"
        "defaults: {streams: 3, duration: 4s, request_rate: 20, congestion: cubic}\n"
        "tests:\n"
        "  - {test: stream, protocol: TCP, message_size: 1448}\n"
        "  - {test: latency_under_load, load: {congestion: bbr}, duration: 8s}\n"
    )
    stream, under_load = (cell.setup for cell in expand(load(text)))
    assert isinstance(stream, Stream)
    assert (stream.streams, stream.duration_s, stream.congestion) == (3, 4.0, "cubic")
    assert under_load == LatencyUnderLoad(
        streams=3, duration_s=8.0, request_rate_per_s=20.0, congestion="bbr"
    )


def test_a_rate_of_the_load_cancels_a_message_rate_of_the_defaults(load: Any) -> None:
    text = "title: t\npairings: [LL]\ndefaults: {message_rate: 5}\ntests:\n"
    (setup,) = setups(load(text + "  - {test: latency_under_load, load: {rate: 1Mbit}}\n"))
    assert (setup.rate_bit_per_s, setup.message_rate_per_s) == (1e6, None)


def test_rules_name_settings_of_the_load_directly_and_not_within_a_section_load(load: Any) -> None:
    text = HEAD + (
        "    load: {protocol: [TCP, UDP], streams: [1, 4], direction: [client-sends, both]}\n"
        "    replace: [{when: {protocol: UDP}, with: {rate: 5Mbit}}]\n"
        "    exclude: [{streams: 4, direction: both}]\n"
        "    override: [{when: {streams: 4}, set: {duration: 60s, request_rate: 50}}]\n"
    )
    load_setups = setups(load(text))
    assert len(load_setups) == 6
    assert {(setup.protocol, setup.rate_bit_per_s) for setup in load_setups} == {
        ("TCP", None),
        ("UDP", 5e6),
    }
    assert {
        (setup.streams, setup.duration_s, setup.request_rate_per_s) for setup in load_setups
    } == {
        (1, 30.0, 100.0),
        (4, 60.0, 50.0),
    }
    assert (4, "both") not in {(setup.streams, setup.direction) for setup in load_setups}


def test_an_override_of_a_load_setting_replaces_the_value_in_the_section_load(load: Any) -> None:
    text = HEAD + "    load: {streams: [1, 4], congestion: cubic}\n"
    assert {setup.streams for setup in setups(load(text, streams="2"))} == {2}
    load_setups = setups(load(text, congestion="[cubic, bbr]", idle="1s"))
    assert {(setup.streams, setup.congestion, setup.idle_s) for setup in load_setups} == {
        *((1, "cubic", 1.0), (1, "bbr", 1.0), (4, "cubic", 1.0), (4, "bbr", 1.0))
    }
    assert {setup.connect_rate_per_s for setup in setups(load(text, connect_rate="none"))} == {None}
    # A setting that no test wrote.
    assert {setup.rate_bit_per_s for setup in setups(load(text, rate="2Mbit"))} == {2e6}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"load": "{streams: 2}"}, "--set load: no such setting"),
        ({"request_size": "8"}, "a UDP request needs 16 bytes for its sequence number"),
        (
            {"request_rate": "2000"},
            "6000 requests would be under way at once, and at most 1024 can be",
        ),
        ({"request_rate": "2001"}, "2001 is too much; at most 2000 a second"),
        ({"idle": "0"}, "0 is too little; at least 1 s"),
        ({"outstanding": "2"}, "--set outstanding: no test of this matrix has this setting"),
    ],
)
def test_a_wrong_override_of_latency_under_load_is_refused_with_a_reason(
    overrides: dict[str, str], words: str, load: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        load(HEAD + "    load: {streams: 2}\n", **overrides)
    assert words in str(caught.value)


def test_comparisons_name_settings_of_the_load_directly_and_not_within_a_section_load(
    load: Any,
) -> None:
    text = HEAD + (
        "    load: {streams: [1, 4], congestion: [cubic, bbr]}\n"
        "compare:\n"
        "  - {name: bbr, baseline: {congestion: cubic}, contender: {congestion: bbr}}\n"
    )
    matrix = load(text)
    (comparison,) = matrix.comparisons
    cells = [{**cell.settings, "test": cell.test, "pairing": "LL"} for cell in expand(matrix)]
    assert comparison.fault(cells) is None
    pairs = [(cells[first], cells[second]) for first, second in comparison.pairs_in(cells)]
    assert [(first["streams"], first["congestion"]) for first, _ in pairs] == [
        (1, "cubic"),
        (4, "cubic"),
    ]
    assert [(second["streams"], second["congestion"]) for _, second in pairs] == [
        (1, "bbr"),
        (4, "bbr"),
    ]


# ---- faults ----

FAULTS = [
    # Keys in the wrong place, and no keys at all.
    (
        "    streams: 5",
        "5:5: tests[0].streams: in a `latency_under_load` test this setting belongs under `load`",
    ),
    (
        "    congestion: bbr",
        "5:5: tests[0].congestion: in a `latency_under_load` test this setting belongs under",
    ),
    (
        "    load: {idle: 5s}",
        "5:12: tests[0].load.idle: in a `latency_under_load` test this setting belongs next",
    ),
    (
        "    load: {duration: 5s}",
        "5:12: tests[0].load.duration: in a `latency_under_load` test this setting belongs next",
    ),
    (
        "    load: {ip: 6}",
        "5:12: tests[0].load.ip: in a `latency_under_load` test this setting belongs next",
    ),
    ("    load: {streamz: 5}", "5:12: tests[0].load.streamz: unknown key; did you mean `streams`?"),
    (
        "    load: {count: 5}",
        "5:12: tests[0].load.count: not a setting of a `latency_under_load` test",
    ),
    (
        "    load: {timeout: 5s}",
        "5:12: tests[0].load.timeout: not a setting of a `latency_under_load`",
    ),
    (
        "    outstanding: 4",
        "5:5: tests[0].outstanding: not a setting of a `latency_under_load` test",
    ),
    ("    lode: {streams: 1}", "5:5: tests[0].lode: unknown key; did you mean `load`?"),
    # What is no section.
    ("    load:", "5:5: tests[0].load: has no value"),
    ("    load: [1]", "5:11: tests[0].load: should be a mapping"),
    ("    load: {streams: 2, streams: 3}", "5:24: tests[0].load.streams: the key is given twice"),
    # Values.
    ("    load: {streams: [1, 2000]}", "5:25: tests[0].load.streams[1]: 2000 should be at most"),
    ("    load: {direction: up}", "5:23: tests[0].load.direction: `up` is not one of"),
    ("    load: {protocol: [TCP, SCTP]}", "5:28: tests[0].load.protocol[1]: `SCTP` is not supp"),
    ("    load: {rate: fast}", "5:18: tests[0].load.rate: 'fast' is not a"),
    ("    load: {message_size: 0}", "5:26: tests[0].load.message_size: "),
    ("    idle: 500ms", "5:11: tests[0].idle: 500ms is too little; at least 1 s"),
    ("    after: 2h", "5:12: tests[0].after: 2h is too much"),
    ("    request_protocol: SCTP", "5:23: tests[0].request_protocol: `SCTP` is not supported"),
    ("    request_rate: [100, 0.5]", "5:25: tests[0].request_rate[1]: 0.5 is too little"),
    ("    connect_rate: 11", "5:19: tests[0].connect_rate: 11 is too much; at most 10 a second"),
    ("    request_timeout: 11s", "5:22: tests[0].request_timeout: 11s is too much; at most 10 s"),
    # What no host could measure.
    (
        "    load: {protocol: UDP, message_size: [64, 70000]}",
        "5:46: tests[0].load.message_size[1]: a UDP message carries 65507 bytes at most",
    ),
    ("    load: {receive: adaptive}", "5:21: tests[0].load.receive: `adaptive` needs a warm-up,"),
    ("    request_size: [64, 8]", "5:24: tests[0].request_size[1]: a UDP request needs 16"),
    ("    request_size: 70000", "5:19: tests[0].request_size: a UDP message carries 65507 bytes"),
    # What means nothing, and what excludes what.
    (
        "    load: {protocol: UDP, congestion: cubic}",
        "5:27: tests[0].load.congestion: has no effect: it is for TCP, which this test never uses",
    ),
    (
        "    load: {send_method: batch}",
        "5:12: tests[0].load.send_method: has no effect: it is for UDP, which this test never uses",
    ),
    (
        "    load: {rate: 1Mbit, message_rate: 5}",
        "5:25: tests[0].load.message_rate: `rate` and `message_rate` exclude each other",
    ),
    # Rules, where settings of the load stand by themselves.
    ("    exclude: [{load: {streams: 1}}]", "5:16: tests[0].exclude[0].load: unknown key"),
    (
        "    load: {streams: [1, 2]}\n    exclude: [{streams: 3}]",
        "6:15: tests[0].exclude[0]: matches no cell",
    ),
    (
        "    load: {streams: [1, 2]}\n"
        "    override: [{when: {streams: 2}, set: {protocol: UDP, message_size: 70000}}]",
        "6:72: tests[0].override[0].set.message_size: a UDP message carries 65507 bytes at most",
    ),
    # Sections of other kinds.
    (
        "  - {test: stream, protocol: TCP, message_size: 5, load: {streams: 2}}",
        "5:52: tests[1].load: unknown key",
    ),
    ("defaults: {load: {streams: 2}}", "5:12: defaults.load: unknown key"),
    (
        "compare: [{name: x, baseline: {load: {streams: 1}}, contender: {streams: 2}}]",
        "5:32: compare[0].baseline.load: unknown key",
    ),
]


@pytest.mark.parametrize(("line", "fault"), FAULTS)
def test_each_fault_of_a_latency_under_load_test_is_reported_at_its_place(
    line: str, fault: str, faults: Any
) -> None:
    complaints = faults(f"{HEAD}{line}\n")
    assert len(complaints) == 1, complaints
    assert complaints[0].startswith(fault)


def test_faults_beside_and_within_the_section_load_are_reported_together(faults: Any) -> None:
    text = HEAD + "    request_timeout: 10.5s\n    load: {streams: 0, congestion: 5, rate: 1x}\n"
    assert [fault.split(": ")[1] for fault in faults(text)] == [
        "tests[0].request_timeout",
        "tests[0].load.streams",
        "tests[0].load.congestion",
        "tests[0].load.rate",
    ]


def test_axes_of_the_load_with_too_many_cells_are_refused(faults: Any) -> None:
    axis = "{from: 1, to: 1000, step: 1}"
    (fault,) = faults(HEAD + f"    load: {{streams: {axis}, message_size: {axis}}}\n")
    assert fault.startswith("4:5: tests[0]: 1,000,000 cells are too many")
