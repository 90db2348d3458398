"""Matrix files with several kinds of test: settings, rules, repeats, comparisons, --set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from folders import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.config.matrix_file import comparisons_in, load_matrix
from netlab.config.matrix_model import MatrixFile
from netlab.config.settings import SETTINGS, SETTINGS_OF
from netlab.errors import MatrixError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.comparisons import Comparison
from netlab.experiment.kinds import FIELDS, Connect, PayloadSearch, RoundTrip, Stream
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.stopping import StealRule, StopRule

STREAMS = """\
title: streams
pairings: [LL]
defaults: {duration: 2s}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [64, 1500]
"""

ROUND_TRIPS = """\
title: round trips
pairings: [LL]
tests:
  - test: round_trip
    protocol: UDP
    message_size: [18, 1472]
    count: 10000
    server_receive: [blocking, spinning]
    override: [{when: {message_size: 1472}, set: {count: 1000}}]
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def from_text(text: str, **overrides: str) -> Matrix:
        path = tmp_path / "m.yaml"
        path.write_text(text, encoding="utf-8")
        return load_matrix(path, overrides)

    return from_text


@pytest.fixture
def faults(load: Any) -> Any:
    def of_text(text: str) -> list[str]:
        with pytest.raises(MatrixError) as caught:
            load(text)
        return [line.partition("m.yaml:")[2] for line in str(caught.value).splitlines()]

    return of_text


def stream_of(cell: Cell) -> Stream:
    assert isinstance(cell.setup, Stream)
    return cell.setup


def test_every_setting_of_a_round_trip_can_be_written_and_arrives(load: Any) -> None:
    written: dict[str, Any] = {
        "protocol": "UDP",
        "ip": 4,
        "message_size": "1KiB",
        "response_size": 16,
        "socket_buffer": "64KiB",
        "duration": "3s",
        "warm_up": "250ms",
        "outstanding": 8,
        "message_rate": "5k/s",
        "timeout": "200ms",
        "dont_fragment": True,
        "udp_checksum": False,
        "dscp": 46,
        "source_port": 5000,
        "interface": "eth0",
        "server_receive": "spinning",
        "client_receive": "spinning",
        "server_cpu": 0,
        "client_cpu": 1,
        "network": "test",
        "stack_time": True,
        "mirror_hold": "100us",
        "keep_first": 100,
    }
    base = {"pairings": ["LL"], "tests": [{"test": "round_trip", **written}]}
    (cell,) = expand(load(yaml.safe_dump(base)))
    assert cell.setup == RoundTrip(
        protocol="UDP",
        message_bytes=1024,
        response_bytes=16,
        socket_buffer_bytes=65536,
        duration_s=3.0,
        warm_up_s=0.25,
        outstanding=8,
        message_rate_per_s=5000.0,
        timeout_s=0.2,
        dont_fragment=True,
        udp_checksum=False,
        dscp=46,
        source_port=5000,
        interface="eth0",
        server_receive="spinning",
        client_receive="spinning",
        server_cpu=0,
        client_cpu=1,
        network="test",
        stack_time=True,
        mirror_hold_s=0.0001,
        keep_first=100,
    )
    rest: dict[str, Any] = {"protocol": "TCP", "message_size": 64, "response_size": "same"}
    rest |= {"count": 500, "nodelay": True, "congestion": "bbr"}
    base["tests"] = [{"test": "round_trip", **rest}]
    (cell,) = expand(load(yaml.safe_dump(base)))
    assert cell.setup == RoundTrip(
        protocol="TCP",
        message_bytes=64,
        count=500,
        duration_s=None,
        nodelay=True,
        congestion="bbr",
    )
    assert {s.name for s in SETTINGS_OF["round_trip"]} == written.keys() | rest.keys()


def test_connections_and_payload_searches_have_their_own_settings(load: Any) -> None:
    text = ROUND_TRIPS.partition("tests:")[0] + (
        "defaults: {congestion: cubic, duration: 2s}\n"
        "tests:\n"
        "  - {test: connect, message_size: 64, response_size: 1KiB, close: orderly}\n"
        "  - {test: payload_search, protocol: UDP, sweep: true, capture: true, timeout: 50ms}\n"
    )
    assert [cell.setup for cell in expand(load(text))] == [
        Connect(
            message_bytes=64,
            response_bytes=1024,
            close="orderly",
            congestion="cubic",
            duration_s=2.0,
        ),
        PayloadSearch(protocol="UDP", sweep=True, capture=True, timeout_s=0.05, duration_s=2.0),
    ]


def test_rules_and_axes_hold_for_every_kind_of_test(load: Any) -> None:
    text = ROUND_TRIPS + (
        "    replace: [{when: {pairing: LL, message_size: 18}, with: {message_size: 20}}]\n"
        "    exclude: [{message_size: 20, server_receive: spinning}]\n"
    )
    found = {
        (s["message_bytes"], s["server_receive"], s["count"])
        for s in (cell.settings for cell in expand(load(text)))
    }
    assert found == {(20, "blocking", 10000), (1472, "blocking", 1000), (1472, "spinning", 1000)}


def test_defaults_reach_the_tests_that_take_them_and_pass_the_others_by(load: Any) -> None:
    text = STREAMS.replace("{duration: 2s}", "{count: 9, outstanding: 4, streams: 2}") + (
        "  - {test: round_trip, protocol: TCP, message_size: 64}\n"
        "  - {test: payload_search, protocol: TCP}\n"
    )
    setups = [cell.setup for cell in expand(load(text)) if cell.pairing == "LL"]
    assert setups[-2:] == [
        RoundTrip(protocol="TCP", message_bytes=64, count=9, duration_s=None, outstanding=4),
        PayloadSearch(protocol="TCP"),
    ]
    assert setups[0] == Stream(
        protocol="TCP", message_bytes=64, count=9, duration_s=None, streams=2
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("    streams: 2", "10:5: tests[0].streams: no setting of a `round_trip` test: it is one"),
        ("    outstandin: 2", "10:5: tests[0].outstandin: unknown key; did you mean `outstanding`"),
        ("    outstanding: 1025", "10:18: tests[0].outstanding: 1025 should be at most 1024"),
        ("    outstanding: [1, 8]\n    response_size: 8", "10:22: tests[0].outstanding[1]: more"),
        ("    response_size: 20", "10:20: tests[0].response_size: a UDP answer of 20 bytes to a"),
        ("    response_size: longer", "10:20: tests[0].response_size: 'longer' is not a size"),
        ("    ip: 6\n    udp_checksum: false", "11:19: tests[0].udp_checksum: UDP over IPv6 must"),
        ("    timeout: 11s", "10:14: tests[0].timeout: 11s is too much; at most 10 s"),
        ("    mirror_hold: 1s", "10:18: tests[0].mirror_hold: 1s is too much; at most 100 ms"),
        ("    nodelay: true", "10:5: tests[0].nodelay: means nothing here: it is of TCP, which"),
        (
            "  - {test: round_trip, protocol: TCP, message_size: 1, udp_checksum: false}",
            "10:56: tests[1].udp_checksum: means nothing here: it is of UDP, which",
        ),
        ("    keep_first: 1001", "10:17: tests[0].keep_first: 1001 should be at most 1000"),
        (
            "    exclude: [{sweep: true}]",
            "10:16: tests[0].exclude[0].sweep: no setting of a `round_trip` test: it is one of "
            "`payload_search`",
        ),
        (
            "  - {test: round-trip, protocol: TCP, message_size: 1, outstanding: 2}",
            "10:12: tests[1].test: `round-trip` is not one of stream, round_trip, connect, "
            "payload_search, throughput_search; did you mean `round_trip`?",
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
            "10:12: defaults.sweep: no test here takes it: it is",
        ),
        ("until: {within: 2.5}", "10:17: until.within: 2.5 is not a share with its sign"),
        ("until: {at_least: 5}", "10:8: until.within: the key is missing"),
        ("until: {within: 1 %, at_least: 2}", "10:32: until.at_least: 2 should be at least 3"),
        ("until: {within: 1 %, at_least: 40}", "10:8: until: `at_most` (30) is below `at_least`"),
        ("quiet: {tries: 2}", "10:8: quiet.steal: the key is missing"),
        ("quiet: {steal: 0.5}", "10:16: quiet.steal: 0.5 is not a share with its sign"),
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
    ],
)
def test_each_fault_of_what_round_trips_brought_is_named_at_its_place(
    line: str, fault: str, faults: Any
) -> None:
    found = faults(f"{ROUND_TRIPS}{line}\n")
    assert len(found) == 1, found
    assert found[0].startswith(fault)


def test_a_test_of_no_known_kind_is_looked_at_as_the_kind_that_its_settings_are_of(
    faults: Any,
) -> None:
    found = faults(
        ROUND_TRIPS
        + "  - {test: ping, protocol: TCP, message_size: 1, outstanding: 0, timeout: 1, streams: 1}"
    )
    assert [fault.split(": ")[1] for fault in found] == [
        "tests[1].test",
        "tests[1].outstanding",
        "tests[1].streams",
    ]


def test_repeats_of_a_test_are_its_cells_own(load: Any) -> None:
    text = ROUND_TRIPS + (
        "    repeats: 15\n  - {test: stream, protocol: TCP, message_size: 64}\nrepeats: 10\n"
    )
    matrix = load(text)
    assert [matrix.repeats_of(cell) for cell in expand(matrix)] == [15, 15, 15, 15, 10]
    assert matrix.repeats == 10
    assert matrix.content["repeats"] == 10
    assert [each.get("repeats") for each in matrix.content["tests"]] == [15, None]
    everywhere = load(text, repeats="3")
    assert {everywhere.repeats_of(cell) for cell in expand(everywhere)} == {3}
    assert everywhere.own_repeats == {}


def test_until_is_read_with_what_nobody_needs_to_say(load: Any) -> None:
    matrix = load(ROUND_TRIPS + "until: {within: 2.5 %}\npause: 3s\n")
    assert matrix.until == StopRule(within=0.025, confidence=0.95, at_least=5, at_most=30)
    assert (matrix.repeats, matrix.pause_s) == (30, 3.0)
    (cell, *_) = expand(matrix)
    assert (matrix.fewest_of(cell), matrix.repeats_of(cell)) == (5, 30)
    assert matrix.until_of(cell) == matrix.until
    own = load(ROUND_TRIPS + "    repeats: 4\nuntil: {within: 2.5 %}\n")
    (cell, *_) = expand(own)
    assert (own.until_of(cell), own.fewest_of(cell), own.repeats_of(cell)) == (None, 4, 4)


def test_what_is_measured_again_is_read_or_set_and_makes_no_other_experiment(load: Any) -> None:
    plain, quiet = load(ROUND_TRIPS), load(ROUND_TRIPS + "quiet: {steal: 0.5 %}\n")
    assert (plain.quiet, quiet.quiet) == (None, StealRule(steal=0.005, tries=3))
    assert load(ROUND_TRIPS, quiet="{steal: 1 %, tries: 5}").quiet == StealRule(steal=0.01, tries=5)
    assert plain.content_hash == quiet.content_hash


def test_set_repeats_and_set_until_take_each_other_back(load: Any) -> None:
    text = ROUND_TRIPS + "    repeats: 4\n"
    found = load(text + "until: {within: 2.5 %}\n", repeats="2")
    assert (found.until, found.repeats) == (None, 2)
    found = load(text + "repeats: 9\n", until="{within: 1 %, at_least: 6}")
    assert found.until == StopRule(within=0.01, confidence=0.95, at_least=6, at_most=30)
    assert {found.repeats_of(cell) for cell in expand(found)} == {30}


def test_until_hops_and_own_repeats_make_another_experiment_pause_and_compare_do_not(
    load: Any,
) -> None:
    plain = load(ROUND_TRIPS)
    same = load(
        ROUND_TRIPS + "pause: 3s\ncompare: [{name: x, baseline: {server_receive: blocking}, "
        "contender: {server_receive: spinning}}]\n"
    )
    assert same.content_hash == plain.content_hash
    hops = load(ROUND_TRIPS + "link: {rate: 1Gbit, hops: 1}\n")
    assert hops.link is not None
    assert hops.link.hops == 1
    assert hops.content_hash != load(ROUND_TRIPS + "link: {rate: 1Gbit}\n").content_hash
    assert load(ROUND_TRIPS + "until: {within: 1 %}\n").content_hash != plain.content_hash
    assert load(ROUND_TRIPS + "    repeats: 2\n").content_hash != plain.content_hash


def test_scale_takes_every_count_times_itself_in_axes_and_rules_and_is_said(load: Any) -> None:
    matrix = load(ROUND_TRIPS, scale="0.1")
    counts = {(s["message_bytes"], s["count"]) for s in (cell.settings for cell in expand(matrix))}
    assert counts == {(18, 1000), (1472, 100)}
    assert (matrix.scale, matrix.content["scale"]) == (0.1, 0.1)
    assert load(ROUND_TRIPS).scale == 1
    assert "scale" not in load(ROUND_TRIPS).content
    least = {cell.settings["count"] for cell in expand(load(ROUND_TRIPS, scale="1e-9"))}
    assert least == {1}
    text = ROUND_TRIPS.replace("{message_size: 1472}, set", "{count: 10000}, set")
    assert {c.settings["count"] for c in expand(load(text, scale="0.01"))} == {10}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"scale": "0"}, "--set scale=0: 0 should be more than 0"),
        ({"scale": "2", "duration": "1s"}, "no test of this matrix has a `count`"),
        (
            {"sweep": "true"},
            "--set sweep: no test of this matrix takes it; it is a setting of",
        ),
        ({"repeats": "3", "until": "{within: 1 %}"}, "--set repeats and --set until exclude"),
        ({"outstanding": "2", "message_size": "8"}, "more than one UDP request at once needs"),
        ({"scal": "2"}, "--set scal: no such setting; did you mean `scale`?"),
        ({"until": "{within: 1}"}, "1 is not a share with its sign"),
    ],
)
def test_a_wrong_set_of_what_round_trips_brought_is_refused_in_a_sentence(
    overrides: dict[str, str], words: str, load: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        load(ROUND_TRIPS, **overrides)
    assert words in str(caught.value)


def test_set_reaches_the_tests_that_take_it(load: Any) -> None:
    text = ROUND_TRIPS + "  - {test: stream, protocol: TCP, message_size: 64}\n"
    cells = expand(load(text, outstanding="2", streams="3"))
    assert {cell.settings.get("outstanding") for cell in cells} == {2, None}
    assert {cell.settings.get("streams") for cell in cells} == {3, None}


def test_comparisons_are_of_the_cells_and_can_be_read_out_of_a_runs_own_text(load: Any) -> None:
    text = ROUND_TRIPS + (
        "compare:\n  - name: waits\n    baseline: {server_receive: blocking, pairing: LL}\n"
        "    contender: {server_receive: spinning, pairing: LL}\n"
    )
    matrix = load(text)
    (comparison,) = matrix.comparisons
    assert comparison == Comparison(
        "waits",
        {"server_receive": "blocking", "pairing": "LL"},
        {"server_receive": "spinning", "pairing": "LL"},
    )
    assert comparisons_in(matrix.text, "matrix.yaml") == matrix.comparisons
    assert comparisons_in(ROUND_TRIPS, "matrix.yaml") == ()
    with pytest.raises(MatrixError):
        comparisons_in("title: [", "matrix.yaml")


def test_the_ping_and_blast_experiment_is_the_documents() -> None:
    matrix = load_matrix(ROOT / "matrices" / "nettest.yaml")
    ping, tcp, udp = expand(matrix)
    assert ping.setup == RoundTrip(
        protocol="TCP", message_bytes=1448, count=100_000, duration_s=None, congestion="cubic"
    )
    assert [(stream_of(c).protocol, stream_of(c).message_bytes) for c in (tcp, udp)] == [
        ("TCP", 1448),
        ("UDP", 1472),
    ]
    assert {stream_of(cell).count for cell in (tcp, udp)} == {1_000_000}
    assert [matrix.repeats_of(cell) for cell in (ping, tcp, udp)] == [10, 10, 15]
    assert matrix.pause_s == 3
    assert matrix.link is not None
    assert (matrix.link.rate_bit_per_s, matrix.link.hops) == (1e8, 1)


def test_the_mirrors_experiment_counts_by_message_size_and_compares_its_axes() -> None:
    matrix = load_matrix(ROOT / "matrices" / "udp-mirror.yaml")
    cells = expand(matrix)
    assert len(cells) == 8
    assert {(c.settings["message_bytes"], c.settings["count"]) for c in cells} == {
        (18, 10_000),
        (1472, 1000),
    }
    assert all(cell.settings["stack_time"] for cell in cells)
    plain = [{**c.settings, "pairing": c.pairing, "test": c.test} for c in cells]
    assert [len(each.pairs_in(plain)) for each in matrix.comparisons] == [4, 4]


def test_the_search_for_a_payload_is_of_both_protocols_and_both_versions_of_ip() -> None:
    cells = expand(load_matrix(ROOT / "matrices" / "payload.yaml"))
    found = {(c.setup.protocol, c.setup.ip_version) for c in cells}
    assert found == {("TCP", 4), ("TCP", 6), ("UDP", 4), ("UDP", 6)}
    assert all(c.test == "payload_search" and c.settings["sweep"] for c in cells)


TEXT = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")


def test_the_documentation_says_which_kinds_of_test_take_a_setting() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([srcpt]+) \|", TEXT, re.M)
    letters = {"stream": "s", "round_trip": "r", "connect": "c", "payload_search": "p"}
    letters["throughput_search"] = "t"
    taken = {
        setting.name: "".join(
            letter for test, letter in letters.items() if setting.field in FIELDS[test]
        )
        for setting in SETTINGS
    }
    assert dict(rows) == taken


def test_the_documentation_names_every_part_of_a_matrix_and_every_shipped_one() -> None:
    parts = [
        name
        for names in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", TEXT, re.M)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert MatrixFile.model_fields.keys() <= {*parts}
    shipped = {path.name for path in (ROOT / "matrices").glob("*.yaml")}
    assert set(re.findall(r"^\| `([\w-]+\.yaml)` \|", TEXT, re.M)) == shipped


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", TEXT, re.S))
def test_every_matrix_in_the_documentation_loads(text: str, load: Any) -> None:
    matrix = load(text)
    assert expand(matrix)


AXES: dict[str, list[Any]] = {
    "message_size": [16, "64", "1KiB", 1500],
    "response_size": ["same", 16],
    "socket_buffer": ["auto", "16KiB"],
    "outstanding": [1, 8, 1024],
    "duration": ["1s", "500ms"],
    "server_receive": ["blocking", "spinning"],
    "udp_checksum": [True, False],
    "stack_time": [True, False],
    "mirror_hold": [0, "1ms"],
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_keys_of_round_trips_are_unique_and_independent_of_order_and_format(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    more = sorted(AXES.keys() - {"message_size"})
    names = ["message_size", *data.draw(st.lists(st.sampled_from(more), unique=True))]
    axes = {
        name: data.draw(st.lists(st.sampled_from(AXES[name]), min_size=1, unique=True))
        for name in names
    }
    axes["protocol"] = ["UDP"] if axes.keys() & {"udp_checksum", "stack_time"} else ["TCP", "UDP"]
    shuffled = {
        name: data.draw(st.permutations(axes[name])) for name in data.draw(st.permutations([*axes]))
    }
    path = tmp_path_factory.mktemp("keys") / "m.yaml"
    found = []
    for test, flow in ((axes, True), (shuffled, False)):
        whole = {"pairings": ["LL", "WW"], "tests": [{"test": "round_trip", **test}]}
        path.write_text(yaml.safe_dump(whole, default_flow_style=flow, sort_keys=False))
        matrix = load_matrix(path)
        cells = expand(matrix)
        assert len({cell.key for cell in cells}) == len(cells) == len(set(cells))
        found.append((sorted(cell.key for cell in cells), matrix.content_hash))
    assert found[0] == found[1]
