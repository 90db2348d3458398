"""A matrix may give an end a list of CPUs, or an axis of such lists."""

from __future__ import annotations

from typing import Any

import pytest
from made_matrices import SMALL, load, streams

from netlab.errors import MatrixError
from netlab.experiment.cells import Cell
from netlab.kinds import Stream, ThroughputSearch

__all__ = ["load"]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("[0, 1]", ["0,1"]),
        ("[1, 0]", ["1,0"]),
        ("3", ["3"]),
        ("0-3,8", ["0,1,2,3,8"]),
        ("'5'", ["5"]),
        ("[[0, 1], [2, 3], 4]", ["0,1", "2,3", "4"]),
        ("[0-1, 2-3]", ["0,1", "2,3"]),
        ("[[0]]", ["0"]),
    ],
)
def test_a_list_of_cpus_is_one_value_and_a_list_of_lists_is_an_axis(
    load: Any, text: str, levels: list[str]
) -> None:
    setups = streams(load(SMALL + f"    server_cpus: {text}\n"))
    assert list(dict.fromkeys(setup.server_cpus for setup in setups)) == levels


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "should name at least one CPU"),
        ("[0, 0]", "should name each CPU once"),
        ("[0, 4096]", "CPU numbers are 0 to 4095"),
        ("[-1]", "CPU numbers are 0 to 4095"),
        ("3-1", "should name at least one CPU"),
        ("[true]", "should be CPU numbers, such as [0, 1] or 0-3"),
        ("all", "should be CPU numbers, such as [0, 1] or 0-3"),
        ("1.5", "should be CPU numbers, such as [0, 1] or 0-3"),
        ("0-64", "has 65 CPUs; at most 64"),
        ("[[0, 1], 0-1]", "the same value as number 1 of this list"),
    ],
)
def test_an_invalid_list_of_cpus_is_refused_with_its_place(
    load: Any, text: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        load(SMALL + f"    server_cpus: {text}\n")
    (line,) = str(excinfo.value).splitlines()
    assert "tests[0].server_cpus" in line
    assert fault in line


def test_a_list_of_cpus_for_the_server_replaces_the_default_cpu_of_the_server(load: Any) -> None:
    text = SMALL.replace("{duration: 2s}", "{duration: 2s, server_cpu: 1, client_cpu: 1}")
    (stream, *_rest) = streams(load(text + "    server_cpus: [0, 1]\n"))
    assert (stream.server_cpu, stream.server_cpus) == (None, "0,1")
    assert (stream.client_cpu, stream.client_cpus) == (1, None)


def test_only_a_given_list_of_cpus_is_part_of_a_cells_key() -> None:
    plain = Stream(protocol="TCP", message_bytes=64)
    assert "server_cpus" not in plain.settings()
    key = Cell(pairing="LL", test="stream", setup=plain).key
    cpu_setup = Stream(protocol="TCP", message_bytes=64, server_cpus="0,1")
    assert Cell(pairing="LL", test="stream", setup=cpu_setup).key != key


def test_a_throughput_search_passes_its_cpu_lists_to_the_streams_of_its_trials() -> None:
    search = ThroughputSearch(frame_bytes=64, streams=4, server_cpus="0,1", client_cpus="2,3")
    handed_on = search.passed_on(Stream)
    assert (handed_on["server_cpus"], handed_on["client_cpus"]) == ("0,1", "2,3")


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("send_method: batch", "more than 64 streams can only send one message per call"),
        ("receive: polling", "with more than 64 streams, a thread waits for several at once"),
    ],
)
def test_more_than_64_streams_with_batched_sending_or_polling_are_refused(
    load: Any, more: str, fault: str
) -> None:
    test = "  - test: stream\n    protocol: UDP\n    message_size: 64\n"
    text = SMALL[: SMALL.index("  - test")] + test
    for count, is_refused in ((64, False), (65, True), (1000, True)):
        try:
            load(text + f"    streams: {count}\n    {more}\n")
            assert not is_refused
        except MatrixError as error:
            assert is_refused
            assert fault in str(error)
