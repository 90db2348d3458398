"""Every fault of a matrix file is reported at its place, all of them together."""

from __future__ import annotations

import copy
import random
import resource
from typing import Any

import pytest
from draws import chance, drawn
from folders import MATRICES
from made_matrices import SMALL, faults, load, streams

from netlab.config.document import check, read_document
from netlab.config.models import MatrixFile, model_for, whole_model
from netlab.experiment.matrix import expand

__all__ = ["faults", "load"]


FAULTS = [
    ("    mesage_size: 5", "8:5: tests[0].mesage_size: unknown key; did you mean `message_size`?"),
    (
        "    direction: both-ways",
        "8:16: tests[0].direction: `both-ways` is not one of client-sends",
    ),
    ("    socket_buffer: 64K", "8:20: tests[0].socket_buffer: '64K' could mean two things: write"),
    ("    socket_buffer: 0", "8:20: tests[0].socket_buffer: 0 is too little; at least 1 B"),
    ("    socket_buffer: []", "8:20: tests[0].socket_buffer: is empty"),
    (
        "    socket_buffer: [auto, auto]",
        "8:27: tests[0].socket_buffer[1]: the same value as number 1",
    ),
    ("    socket_buffer: [1KiB, 5, 1024]", "8:30: tests[0].socket_buffer[2]: the same value as nu"),
    (
        "    socket_buffer: {from: auto, to: 5, step: 1}",
        "8:27: tests[0].socket_buffer.from: 'auto' is",
    ),
    (
        "    socket_buffer: {from: 16KiB, to: 65KiB, step: 4KiB}",
        "8:20: tests[0].socket_buffer: the steps do not end at `to`: the last value below 66560 is",
    ),
    ("    dscp: {from: 5, to: 1, step: 1}", "8:11: tests[0].dscp: `from` is above `to`"),
    (
        "    dscp: {from: 0, to: 1, step: 0}",
        "8:11: tests[0].dscp: `step` must be more than 0",
    ),
    ("    dscp: {from: 0, to: 8}", "8:11: tests[0].dscp.step: the key is missing"),
    ("    dscp: 64", "8:11: tests[0].dscp: 64 should be at most 63"),
    ("    duration: 0s", "8:15: tests[0].duration: 0s is too little; at least 1 ms"),
    ("    duration: 10", ""),
    (
        "    duration: ten",
        "8:15: tests[0].duration: 'ten' is not a time, such as 10s, 500ms or 2min",
    ),
    ("    duration:", "8:5: tests[0].duration: has no value: give one, or leave the key out"),
    ("    nodelay: no", "8:14: tests[0].nodelay: `no` should be true or false"),
    ("    streams: 2.5", "8:14: tests[0].streams: 2.5 should be a whole number"),
    (
        "    count: 5\n    duration: 1s",
        "9:5: tests[0].duration: `duration` and `count` exclude each o",
    ),
    (
        "    count: 5\n    rate: 1Mbit\n    message_rate: 5",
        "10:5: tests[0].message_rate: `rate` and",
    ),
    (
        "    receive: adaptive",
        "8:14: tests[0].receive: an adaptive receiver chooses its method in the warm-up: set",
    ),
    (
        "    receive: adaptive\n    warm_up: 200ms\n    count: 5",
        "8:14: tests[0].receive: `adaptive` needs a warm-up, and a test with `count` has none",
    ),
    (
        "    source_port: 5000\n    streams: 2",
        "8:18: tests[0].source_port: one source port serves only",
    ),
    (
        "    replace: [{when: {message_size: 65}, with: {message_size: 66}}]",
        "8:15: tests[0].replace[0]: matches no cell",
    ),
    (
        "    replace: [{when: {message_size: 64}, with: {message_size: 1500}}]",
        "8:15: tests[0].replace[0]: gives two cells the same settings, such as LL: ",
    ),
    (
        "    replace: [{when: {message_size: 64}, with: {message_size: [1, 2]}}]",
        "8:63: tests[0].replace[0].with.message_size: should be one value",
    ),
    ("    exclude: [{pairing: WW}]", "8:15: tests[0].exclude[0]: matches no cell"),
    ("    exclude: [{protocol: [TCP, UDP]}]", "5:5: tests[0]: every cell of the test is excluded"),
    ("    exclude: [{when: {protocol: TCP}}]", "8:16: tests[0].exclude[0].when: unknown key"),
    (
        "    override: [{when: {message_size: 64}, set: {message_size: 1500}}]",
        "8:16: tests[0].override[0]: gives two cells the same settings, such as LL: ",
    ),
    (
        "    override: [{when: {protocol: UDP, message_size: 64}, set: {message_size: 70000}}]",
        "8:78: tests[0].override[0].set.message_size: a UDP message carries 65507 bytes at most",
    ),
    (
        "  - test: stream\n    protocol: TCP\n    message_size: 64",
        "8:5: tests[1]: tests[0] contains the same cell, LL-stream-tcp-64-auto-",
    ),
    ("  - test: stream\n    protocol: TCP", "8:5: tests[1]: the test has no `message_size`"),
    (
        "  - test: steam\n    protocol: TCP",
        "8:11: tests[1].test: `steam` is not one of stream, round_trip, con",
    ),
    ("repeats: 0", "8:10: repeats: 0 should be at least 1"),
    ("repeats: 1000000", "8:10: repeats: 1000000 should be at most 1000"),
    ("order: random", "8:8: order: `random` is not one of as-written, shuffled"),
    ("expects: {}", "8:1: expects: unknown key; did you mean `expect`?"),
    ("expect: {}", "8:9: expect: should be a list"),
    ("link: {mtu: 1500}", "8:7: link.rate: the key is missing"),
    (
        "link: {rate: 100MBps}",
        "8:14: link.rate: '100MBps' reads as bytes per second: write 100Mbit/s",
    ),
    ("link:", "8:1: link: has no value"),
    (
        "link: {rate: 1Gbit, overhead: -1}",
        "8:31: link.overhead: -1 should be at least 0",
    ),
    # What other tools, and people, call it.
    ("    time: 5s", "8:5: tests[0].time: unknown key; did you mean `duration`?"),
    ("    buffer: 1MiB", "8:5: tests[0].buffer: unknown key; did you mean `socket_buffer`?"),
    ("    bandwidth: 1Gbit", "8:5: tests[0].bandwidth: unknown key; did you mean `rate`?"),
    ("    parallel: 4", "8:5: tests[0].parallel: unknown key; did you mean `streams`?"),
    ("time: 5s", "8:1: time: unknown key; did you mean `duration` in `defaults` or `tests`?"),
    ("duration: 5s", "8:1: duration: unknown key; did you mean `duration` in `defaults` or"),
    ("iterations: 5", "8:1: iterations: unknown key; did you mean `repeats`?"),
    (
        "  - test: bufferbloat",
        "8:11: tests[1].test: `bufferbloat` is not one of stream, round_trip, connect, "
        "payload_search, throughput_search, latency_under_load; did you mean `latency_under_load`?",
    ),
    ("title: again", "8:1: title: the key is given twice; first in line 1"),
]


@pytest.mark.parametrize(("line", "fault"), FAULTS, ids=[line.strip() for line, _ in FAULTS])
def test_each_fault_of_a_matrix_is_reported_once_at_its_place(
    line: str, fault: str, load: Any, faults: Any
) -> None:
    text = f"{SMALL}{line}\n"
    if not fault:
        load(text)
        return
    complaints = faults(text)
    assert len([complaint for complaint in complaints if complaint.startswith(fault)]) == 1, (
        complaints
    )
    assert len(complaints) == 1, complaints


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("LL, WL", "LL, wl", "2:16: pairings[1]: `wl` is not a pairing: write two capital"),
        ("LL, WL", "LL, LL", "2:16: pairings[1]: the same value as number 1"),
        ("[LL, WL]", "[]", "2:11: pairings: is empty"),
        ("[64, 1500]", "[64, 0]", "7:24: tests[0].message_size[1]: 0 is too little; at least 1 B"),
        ("[64, 1500]", "[64, 17MiB]", "7:24: tests[0].message_size[1]: 17MiB is too much; at most"),
        (
            "[64, 1500]",
            "[64, 65508]",
            "7:24: tests[0].message_size[1]: a UDP message carries 65507",
        ),
        ("{duration: 2s}", "[duration]", "3:11: defaults: should be a mapping"),
    ],
)
def test_each_invalid_pairing_message_size_or_default_is_reported_at_its_place(
    old: str, new: str, fault: str, faults: Any
) -> None:
    (complaint,) = faults(SMALL.replace(old, new))
    assert complaint.startswith(fault)


@pytest.mark.parametrize("protocol", ["SCTP", "sctp", "MPTCP", "quic"])
def test_a_protocol_that_netlab_does_not_measure_is_refused_with_those_that_it_measures(
    protocol: str, faults: Any
) -> None:
    text = "title: x\npairings: [LL]\ntests:\n  - {test: stream, message_size: 64, protocol: X}\n"
    (complaint,) = faults(text.replace("X", protocol))
    place, _, message = complaint.partition(": `")
    assert place.endswith("tests[0].protocol")
    assert message == f"{protocol}` is not supported; supported: TCP, UDP"


def test_a_udp_message_may_be_20_bytes_longer_over_ipv6(load: Any, faults: Any) -> None:
    text = SMALL.replace("1500", "65527")
    assert 65527 in {s.message_bytes for s in streams(load(text + "    ip: 6\n"))}
    assert "65507 bytes at most over IPv4" in faults(text)[0]
    assert (
        "65527 bytes at most over IPv6" in faults(text.replace("65527", "65528") + "    ip: 6\n")[0]
    )


def test_all_faults_of_a_matrix_are_reported_together_in_file_order(faults: Any) -> None:
    complaints = faults(
        """\
title: 5
link: {rate: 100MBps, mtu: 1}
pairings: [LL, WL]
pairings: [LL, wl]
defaults: {duration: 10s, count: 5}
tests:
  - test: stream
    protocl: TCP
    protocol: [TCP, UDP]
    message_size: [64, 65536]
  - test: stream
    protocol: [TCP, UPD]
    message_size: 64k
repeats: none
"""
    )
    assert [fault.split(": ")[1] for fault in complaints] == [
        "title",
        "link.rate",
        "link.mtu",
        "pairings",
        "defaults.count",
        "tests[0].protocl",
        "tests[0].message_size[1]",
        "tests[1].protocol[1]",
        "tests[1].message_size",
        "repeats",
    ]


@pytest.mark.parametrize(
    "axes",
    [
        "    message_size: {from: 1, to: 16777216, step: 1}\n    socket_buffer: [1, 2, 3, 4, 5]",
        "    message_size: 64\n"
        + "".join(
            f"    {name}: [{', '.join(str(n) for n in range(1, 64))}]\n"
            for name in ("socket_buffer", "duration", "warm_up", "streams", "dscp", "server_cpu")
        ),
        "    message_size: 64\n    rate: {from: 1, to: 1Tbit, step: 1}",
    ],
    ids=["steps", "lists", "one axis"],
)
def test_a_matrix_of_too_many_cells_is_refused_without_making_the_cells(
    axes: str, faults: Any
) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (complaint,) = faults(SMALL.replace("    message_size: [64, 1500]\n", axes + "\n"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50 * 1024
    assert complaint.startswith("5:5: tests[0]: ")
    assert complaint.endswith("cells are too many; a matrix has at most 100,000")


def test_a_matrix_of_too_many_trials_is_refused(load: Any, faults: Any) -> None:
    text = SMALL.replace("[64, 1500]", "{from: 1, to: 260, step: 1}")
    assert len(expand(load(text))) == 1_040
    assert faults(text + "repeats: 1000\n")[0].startswith("8:10: repeats: 1,040,000 trials are too")


def spoilt(data: Any, dice: random.Random, sections: list[Any]) -> Any:
    """A copy of the data in which one key or entry is gone, renamed, or has another value."""
    data = copy.deepcopy(data)
    part = data
    while True:
        keys = [*(part if isinstance(part, dict) else range(len(part)))]
        key = dice.choice(keys)
        deeper = part[key]
        if isinstance(deeper, dict | list) and deeper and dice.random() < 0.7:
            part = deeper
            continue
        match dice.randrange(3):
            case 0:
                del part[key]
            case 1 if isinstance(part, dict):
                part[dice.choice(["defaults", "test", "tests", "expect", "rat"])] = part.pop(key)
            case _:
                part[key] = copy.deepcopy(dice.choice(sections))
        return data


def test_checking_a_matrix_with_only_the_needed_validators_finds_the_same_faults() -> None:
    dice = chance(4)
    documents = [read_document(file) for file in sorted(MATRICES.glob("*.yaml"))]
    parts: list[Any] = [None, [], {}, 5, "x", ["stream"], {"test": "stream"}, {"test": ["stream"]}]
    parts += [part for document in documents for part in document.data.values()]
    faulty = 0
    count = drawn(20, 1000)
    for _ in range(count):
        document = dice.choice(documents)
        data = document.data
        for _ in range(dice.randrange(4)):
            data = spoilt(data, dice, parts)
            if not data:
                break
        narrow = check(document, model_for(data), data=data)
        whole = check(document, whole_model(), data=data)
        assert isinstance(narrow, list) == isinstance(whole, list)
        faulty += isinstance(whole, list)
        if isinstance(narrow, MatrixFile) and isinstance(whole, MatrixFile):
            assert narrow.model_dump() == whole.model_dump()
        else:
            assert narrow == whole
    assert count / 4 < faulty < count
