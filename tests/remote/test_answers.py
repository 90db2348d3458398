"""The validation of a host's records: every recorded result is valid."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from folders import DOCS, FIXTURES, REPORTS
from hypothesis import given
from hypothesis import strategies as st

from netlab.remote import answers
from netlab.remote.answers import Allowance, Answers, fault_in_record
from netlab.results import value_types
from netlab.results.value_types import misfit
from netlab.store.journal import read_journal

JOURNALS = sorted([*REPORTS.glob("*/journal.jsonl"), *FIXTURES.glob("*/journal.jsonl")])
OF_ASKER = ("transactions", "elapsed_ns", "lost_messages", "rtt_", "first_rtt_ns")


def recorded(path: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The results in a journal in the form of their probes, with their verbs."""
    for line in read_journal(path)[0]:
        values = line.data.get("values", {})
        for flow in ("", "to_server_", "to_client_"):
            for verb, side in (
                ("receive", "receiver_"),
                ("send", "sender_"),
                ("ask", "client_"),
                ("mirror", "server_"),
            ):
                end_values = {
                    name.removeprefix(flow + side): value
                    for name, value in values.items()
                    if name.startswith(flow + side)
                }
                if "setup_ns" in end_values:
                    own = {n: v for n, v in values.items() if n.startswith(OF_ASKER)}
                    # In latency under load all values of the asking end have its prefix.
                    yield verb, (own if verb == "ask" else {}) | end_values


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.parent.name)
def test_every_recorded_result_is_accepted(path: Any) -> None:
    for verb, end_values in recorded(path):
        record = {"type": "result", "id": "1", **end_values}
        assert Answers(verb, {"count": 1}).checked(record, 0.0) is record
    for line in read_journal(path)[0]:
        assert misfit(line.data.get("values", {}) | line.data.get("settings", {})) is None
        facts = line.data.get("data", {}).get("facts", {})
        if "boot_id" in facts:
            assert fault_in_record({"type": "facts", "id": "1", **facts}) is None


def test_every_checked_key_of_a_record_is_documented_in_the_protocol() -> None:
    text = (DOCS / "protocol.md").read_text("utf-8")
    checked_names = {name for _, names in answers._KINDS for name in names.split()}
    documented = checked_names - {"type", "id", "socket"}
    omissions = {name for name in documented if f"`{name}`" not in text and f"{name}`" not in text}
    assert omissions == set()


@pytest.mark.parametrize(
    ("verb", "record", "words"),
    [
        ("receive", {"type": "hello", "protocol": 1}, "it answered `receive` with `hello`"),
        ("clock", {"type": "clock"}, "its clock has no monotonic_ns"),
        ("clock", {"type": "clock", "monotonic_ns": 1.5}, "its clock has monotonic_ns 1.5"),
        ("hello", {"type": "hello", "capabilities": ["tcp"]}, "its hello has capabilities ['tcp']"),
        ("hello", {"type": "hello", "protocol": True}, "its hello has protocol True"),
        ("facts", {"type": "facts", "interface_mtu_bytes": "1500"}, "interface_mtu_bytes '1500'"),
        ("facts", {"type": "facts", "cpu_numbers": [0, "1"]}, "cpu_numbers [0, '1']"),
        ("facts", {"type": "facts", "new_thing": [[1]]}, "new_thing [[1]]"),
        ("facts", {"type": "facts", "new_ns": "soon"}, "new_ns 'soon'"),
        ("receive", {"type": "ready", "port": 65536}, "its ready has port 65536"),
        ("receive", {"type": "ready"}, "its ready has no port"),
        ("receive", {"type": "ready", "port": 1, "ports": "1, 2"}, "ports '1, 2'"),
        ("receive", {"type": "ready", "port": 1, "ports": "1" + 1000 * ",1"}, "ports '1,1,"),
        (
            "send",
            {"type": "result", "stream_bytes": [1, -1]},
            "its result has stream_bytes [1, -1]",
        ),
        ("send", {"type": "result", "stream_cpus_open": 3}, "its result has stream_cpus_open 3"),
        ("send", {"type": "result", "fairness_index": "even"}, "fairness_index 'even'"),
        ("send", {"type": "progress", "bytes": -1}, "its progress has bytes -1"),
        ("receive", {"type": "window", "elapsed_ns": "1"}, "its window has elapsed_ns '1'"),
        ("receive", {"type": "result"}, "its result has no elapsed_ns"),
        ("ask", {"type": "error"}, "its error has no error"),
        ("ask", {"type": "error", "error": "\x1b[2J"}, "which should be a word"),
        ("ask", {"type": "error", "error": "system", "errno": "EIO"}, "errno 'EIO'"),
        ("facts", {"type": "facts", "x": 1 << 9000}, "x of 9001 bits"),
        ("facts", {"type": "facts", "BIG KEY": 1}, "which is not a valid name"),
        ("facts", {"type": "facts"} | dict.fromkeys(map("k{}".format, range(600)), 1), "602 keys"),
    ],
)
def test_an_invalid_record_is_refused_with_its_key_and_value(
    verb: str, record: dict[str, Any], words: str
) -> None:
    reply = Answers(verb, {}).checked({"id": "1", **record}, 0.0)
    assert reply is not None
    assert (reply["type"], reply["error"], reply["id"]) == ("error", "bad-answer", "1")
    assert words in reply["detail"]
    assert reply["detail"].isprintable()
    assert len(reply["detail"]) < 300


TOLD: dict[str, Any] = {
    "type": "trips",
    "id": "1",
    "window_open_ns": 5_000_000_000,
    "trip_at_us": [0, 20_000],
    "trip_ns": [1_000_000, 999_999],
    "lost_trip_at_us": [10_000],
}
"""What an asking end tells of three round trips."""


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"trip_at_us": [], "trip_ns": []},
        {"lost_trip_at_us": []},
        {"trip_at_us": [2**63 - 1], "trip_ns": [0]},
    ],
)
def test_a_valid_record_of_single_round_trips_is_accepted(more: dict[str, Any]) -> None:
    record = TOLD | more
    assert Answers("ask", {"trips": 1}).checked(record, 0.0) is record


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"trip_ns": [1]}, "its trips has 2 times in trip_at_us, and 1 round trips in trip_ns"),
        ({"trip_at_us": []}, "its trips has 0 times in trip_at_us, and 2 round trips"),
        ({"trip_ns": [1, -1]}, "its trips has trip_ns [1, -1]"),
        ({"trip_at_us": [-1, 1]}, "its trips has trip_at_us [-1, 1]"),
        ({"lost_trip_at_us": [-1]}, "its trips has lost_trip_at_us [-1]"),
        ({"trip_ns": [1, math.nan]}, "its trips has trip_ns [1, nan]"),
        ({"trip_ns": [1, math.inf]}, "its trips has trip_ns [1, inf]"),
        ({"trip_ns": [1, 1e308]}, "its trips has trip_ns [1, 1e+308]"),
        ({"trip_ns": [1, 1.5]}, "its trips has trip_ns [1, 1.5]"),
        ({"trip_ns": [1, 2**63]}, "its trips has trip_ns [1, "),
        ({"trip_ns": [1, True]}, "its trips has trip_ns [1, True]"),
        ({"trip_ns": [1, "2"]}, "its trips has trip_ns [1, '2']"),
        ({"trip_ns": [[1], [2]]}, "its trips has trip_ns [[1], [2]]"),
        ({"trip_ns": 12}, "its trips has trip_ns 12"),
        ({"lost_trip_at_us": None}, "its trips has lost_trip_at_us None"),
        ({"window_open_ns": -1}, "its trips has window_open_ns -1"),
        ({"window_open_ns": 1.5}, "its trips has window_open_ns 1.5"),
    ],
)
def test_an_invalid_record_of_single_round_trips_is_refused_with_its_key_and_value(
    more: dict[str, Any], words: str
) -> None:
    reply = Answers("ask", {"trips": 1}).checked(TOLD | more, 0.0)
    assert reply is not None
    assert (reply["type"], reply["error"]) == ("error", "bad-answer")
    assert words in reply["detail"]
    assert len(reply["detail"]) < 300


@pytest.mark.parametrize("name", ["window_open_ns", "trip_at_us", "trip_ns", "lost_trip_at_us"])
def test_a_record_of_single_round_trips_without_one_of_its_keys_is_refused(name: str) -> None:
    record = {key: value for key, value in TOLD.items() if key != name}
    reply = Answers("ask", {"trips": 1}).checked(record, 0.0)
    assert reply is not None
    assert reply["detail"] == f"its trips has no {name}"


def test_records_of_single_round_trips_beyond_the_documented_number_are_refused() -> None:
    """As many records as the probe sends for them, plus those of a test without them."""
    text = (DOCS / "protocol.md").read_text("utf-8")
    (most,) = re.findall(r"^\| `trips=1` \| ask .*, (\d+) requests at most", text, re.M)
    (record_trips,) = re.findall(r"as many records as it takes, (\d+) requests each at most", text)
    records = math.ceil(int(most) / int(record_trips))
    checker = Answers("ask", {"trips": 1})
    record_count = 0
    while (reply := checker.checked(TOLD, 0.0)) is TOLD:
        record_count += 1
    assert reply is not None
    assert reply["detail"] == "it sends too many records"
    assert record_count == records + answers.TEST_RECORDS_AT_ONCE


def test_records_of_single_round_trips_that_nobody_requested_are_limited() -> None:
    checker = Answers("ask", {})
    replies = [checker.checked(TOLD, 0.0) for _ in range(answers.TEST_RECORDS_AT_ONCE + 1)]
    assert replies[-1] is not None
    assert replies[-1]["detail"] == "it sends too many records"
    assert Answers("clock", {}).checked(TOLD, 0.0) == {
        **{"type": "error", "id": "1", "error": "bad-answer"},
        "detail": "it answered `clock` with `trips`",
    }


def test_records_of_an_unknown_type_are_ignored_and_the_result_of_a_check_needs_no_figure() -> None:
    assert Answers("receive", {}).checked({"type": "weather", "id": "1"}, 0.0) is None
    result = {"type": "result", "id": "1", "role": "send"}
    assert Answers("send", {"kind": "check"}).checked(result, 0.0) is result


def test_a_result_without_throughput_is_accepted_only_if_the_number_of_messages_is_fixed() -> None:
    names = ("elapsed_ns", "received_bytes", "received_messages", "marks")
    result = {"type": "result", "id": "1"} | dict.fromkeys(
        (*names, "total_bytes", "total_messages"), 1
    )
    assert Answers("receive", {"count": 5}).checked(result, 0.0) is result
    reply = Answers("receive", {"seconds": "1"}).checked(result, 0.0)
    assert reply is not None
    assert reply["detail"] == "its result has no throughput_bit_per_s"


@pytest.mark.parametrize("pairs", [[1], [2, 1, 1, 1], [1, -1]])
def test_an_invalid_histogram_is_refused(pairs: list[int]) -> None:
    record = {"type": "result", "id": "1", "rtt_histogram": pairs, "rtt_histogram_bits": 7}
    assert "rtt_histogram" in (fault_in_record(record) or "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["elapsed_ns", "throughput_bit_per_s", "x", "rtt_histogram", "port", "id"])


@given(st.sampled_from(["send", "facts", "hello"]), st.dictionaries(NAMES | st.text(), JSON))
def test_any_record_is_accepted_or_refused_with_one_printable_line(
    verb: str, keys: dict[str, Any]
) -> None:
    for kind in ("result", "facts", "hello", "error", "trips", "\x1b"):
        reply = Answers(verb, {}).checked({**keys, "type": kind}, 0.0)
        if reply is not None and reply.get("error") == "bad-answer":
            assert str(reply["detail"]).isprintable()
            json.dumps(reply["detail"])


ENDS = (
    *(*value_types.TIMES_OF_AN_END, *value_types.COUNTS_OF_AN_END, *value_types.HEADLINES),
    *("_share", "_ppm", "_ns", "_us", "_bytes", "_messages", "_bit_per_s", "_per_s", "_name", ""),
)
BEGINS = ("x", "tcp", "tcp_x", "longest_n", "interface")
STRANGE = st.builds(str.__add__, st.sampled_from(BEGINS), st.sampled_from(ENDS))
ONE = st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=4) | st.booleans()


@given(STRANGE, ONE | st.lists(ONE, max_size=3))
def test_an_unknown_key_is_accepted_only_with_a_value_that_a_run_folder_can_hold(
    name: str, value: Any
) -> None:
    if fault_in_record({"type": "result", "id": "1", name: value}) is None:
        for end in ("receiver_", "sender_", "to_client_sender_", "server_"):
            assert misfit({end + name: value}) is None


def test_an_allowance_of_records_is_refilled_over_time_up_to_its_maximum() -> None:
    allowance = Allowance(at_once=10, per_s=2)
    assert allowance.takes(10, 0.0)
    assert not allowance.takes(1, 0.0)
    assert allowance.takes(4, 2.0)
    assert not allowance.takes(11, 1000.0)
    assert allowance.takes(10, 1000.0)
