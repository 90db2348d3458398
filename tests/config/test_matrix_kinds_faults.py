"""Faults of a matrix with several kinds of test, and of its overrides, are reported."""

from __future__ import annotations

from typing import Any

import pytest
from made_matrices import ROUND_TRIPS, faults, load

from netlab.errors import UsageError

__all__ = ["faults", "load"]


FAULTS = [
    ("    streams: 2", "10:5: tests[0].streams: not a setting of a `round_trip` test, but of"),
    ("    outstandin: 2", "10:5: tests[0].outstandin: unknown key; did you mean `outstanding`"),
    ("    outstanding: 1025", "10:18: tests[0].outstanding: 1025 should be at most 1024"),
    ("    outstanding: [1, 8]\n    response_size: 8", "10:22: tests[0].outstanding[1]: with more"),
    ("    response_size: 20", "10:20: tests[0].response_size: the UDP answer (20 bytes)"),
    ("    response_size: longer", "10:20: tests[0].response_size: 'longer' is not a size"),
    ("    ip: 6\n    udp_checksum: false", "11:19: tests[0].udp_checksum: UDP over IPv6 must"),
    ("    timeout: 11s", "10:14: tests[0].timeout: 11s is too much; at most 10 s"),
    ("    mirror_hold: 1s", "10:18: tests[0].mirror_hold: 1s is too much; at most 100 ms"),
    ("    nodelay: true", "10:5: tests[0].nodelay: has no effect: it is for TCP, which"),
    (
        "  - {test: round_trip, protocol: TCP, message_size: 1, udp_checksum: false}",
        "10:56: tests[1].udp_checksum: has no effect: it is for UDP, which",
    ),
    ("    keep_first: 1001", "10:17: tests[0].keep_first: 1001 should be at most 1000"),
    (
        "    exclude: [{sweep: true}]",
        "10:16: tests[0].exclude[0].sweep: not a setting of a `round_trip` test, but of "
        "`payload_search`",
    ),
    (
        "  - {test: round-trip, protocol: TCP, message_size: 1, outstanding: 2}",
        "10:12: tests[1].test: `round-trip` is not one of stream, round_trip, connect, "
        "payload_search, throughput_search, latency_under_load; did you mean `round_trip`?",
    ),
    (
        "  - {test: [stream], protocol: TCP, message_size: 1, socket_buffer: [1KiB]}",
        "10:12: tests[1].test: ",
    ),
    ("  - {protocol: TCP, message_size: 1, close: reset}", "10:5: tests[1].test: the key is m"),
    (
        "  - {test: connect, message_size: 1, protocol: UDP}",
        "10:48: tests[1].protocol: UDP",
    ),
    ("  - {test: payload_search}", "10:5: tests[1]: the test has no `protocol`"),
    ("  - {test: connect}", "10:5: tests[1]: the test has no `message_size`"),
    (
        "defaults: {sweep: true}",
        "10:12: defaults.sweep: no test of this matrix has this setting:",
    ),
    ("until: {within: 2.5}", "10:17: until.within: 2.5 is not a percentage"),
    ("until: {at_least: 5}", "10:8: until.within: the key is missing"),
    ("until: {within: 1 %, at_least: 2}", "10:32: until.at_least: 2 should be at least 3"),
    ("until: {within: 1 %, at_least: 40}", "10:8: until: `at_most` (30) is below `at_least`"),
    ("quiet: {tries: 2}", "10:8: quiet.steal: the key is missing"),
    ("quiet: {steal: 0.5}", "10:16: quiet.steal: 0.5 is not a percentage"),
    ("quiet: {steal: 60 %}", "10:16: quiet.steal: "),
    ("quiet: {steal: 1 %, tries: 1}", "10:28: quiet.tries: 1 should be at least 2"),
    ("until: {within: 1 %}\nrepeats: 3", "11:1: repeats: `repeats` and `until` exclude each"),
    ("    repeats: 0", "10:14: tests[0].repeats: 0 should be at least 1"),
    ("pause: -1s", "10:8: pause: '-1s' is not a time"),
    ("link: {rate: 1Gbit, hops: -1}", "10:27: link.hops: -1 should be at least 0"),
    (
        "compare: [{name: x, baseline: {dscp: 1}, contender: {dscp: 2}}]",
        "10:11: compare[0]: the baseline matches no cell",
    ),
    (
        "compare: [{name: x, baseline: {message_size: [1, 2]}, contender: {message_size: 2}}]",
        "10:46: compare[0].baseline.message_size: should be one value",
    ),
    (
        "compare: [{name: x, baseline: {test: steam}, contender: {test: stream}}]",
        "10:38: compare[0].baseline.test: `steam` is not one of stream, round_trip, connect",
    ),
    ("compare: [{name: x, baseline: {dscp: 1}}]", "10:11: compare[0].contender: the key is mi"),
    ("compare: []", "10:10: compare: is empty"),
]


@pytest.mark.parametrize(("line", "fault"), FAULTS)
def test_each_fault_of_tests_rules_and_comparisons_is_reported_at_its_place(
    line: str, fault: str, faults: Any
) -> None:
    complaints = faults(f"{ROUND_TRIPS}{line}\n")
    assert len(complaints) == 1, complaints
    assert complaints[0].startswith(fault)


def test_a_test_of_unknown_kind_is_checked_as_the_kind_that_its_settings_fit(
    faults: Any,
) -> None:
    complaints = faults(
        ROUND_TRIPS
        + "  - {test: ping, protocol: TCP, message_size: 1, outstanding: 0, timeout: 1, streams: 1}"
    )
    assert [fault.split(": ")[1] for fault in complaints] == [
        "tests[1].test",
        "tests[1].outstanding",
        "tests[1].streams",
    ]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"scale": "0"}, "--set scale=0: 0 should be more than 0"),
        ({"scale": "2", "duration": "1s"}, "no test of this matrix has a `count`"),
        (
            {"sweep": "true"},
            "--set sweep: no test of this matrix has this setting; it belongs to",
        ),
        ({"repeats": "3", "until": "{within: 1 %}"}, "--set repeats and --set until exclude"),
        ({"outstanding": "2", "message_size": "8"}, "with more than one UDP request under way"),
        ({"scal": "2"}, "--set scal: no such setting; did you mean `scale`?"),
        ({"until": "{within: 1}"}, "1 is not a percentage"),
    ],
)
def test_a_wrong_override_of_a_matrix_of_round_trips_is_refused_with_a_reason(
    overrides: dict[str, str], words: str, load: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        load(ROUND_TRIPS, **overrides)
    assert words in str(caught.value)
