"""Matrix files: what they mean, every fault at its place, and --set."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from folders import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.config.matrix_file import load_matrix
from netlab.config.schema import SCHEMA_FILE, schema_text
from netlab.config.settings import FIELD_OF, SETTINGS_OF
from netlab.errors import MatrixError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.estimate import window_s
from netlab.experiment.kinds import Stream
from netlab.experiment.matrix import Matrix, expand

MATRICES = sorted((ROOT / "matrices").glob("*.yaml"))

SMALL = """\
title: small
pairings: [LL, WL]
defaults: {duration: 2s}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [64, 1500]
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


def streams(matrix: Matrix) -> list[Stream]:
    return [stream_of(cell) for cell in expand(matrix) if cell.pairing == matrix.pairings[0]]


def test_the_lab_reports_experiment_is_416_cells_in_under_40_lines() -> None:
    path = ROOT / "matrices" / "lab-report.yaml"
    assert len(path.read_text(encoding="utf-8").splitlines()) < 40
    matrix = load_matrix(path)
    cells = expand(matrix)
    assert len(cells) == 416
    for pairing in ("LL", "WL", "LW", "WW"):
        assert sum(cell.pairing == pairing for cell in cells) == 104
    sizes = {
        p: {stream_of(c).message_bytes for c in cells if c.setup.protocol == p}
        for p in ("TCP", "UDP")
    }
    assert sizes == {"TCP": {64, 576, 1500, 65536}, "UDP": {64, 576, 1500, 64512}}
    assert {c.setup.socket_buffer_bytes for c in cells} == {1024 * k for k in range(16, 65, 4)}
    assert {c.setup.duration_s for c in cells} == {10.0}
    assert {c.settings["congestion"] for c in cells if c.setup.protocol == "TCP"} == {"cubic"}
    assert matrix.link is not None
    assert (matrix.link.rate_bit_per_s, matrix.link.mtu_bytes) == (1e8, 1500)
    assert not matrix.has_inventory


def test_the_loopback_matrix_is_short_and_has_its_hosts_inside() -> None:
    matrix = load_matrix(ROOT / "matrices" / "loopback.yaml")
    cells = expand(matrix)
    assert matrix.has_inventory
    assert 8 <= len(cells) <= 16
    assert sum(window_s(c.setup) or 0 for c in cells) < 8
    assert "not a network" in matrix.title


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.name)
def test_each_matrix_names_the_schema_in_its_first_line_and_loads(
    path: Path, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text("hosts: {here: {local: true}, there: {local: true}}\n")
    first = path.read_text(encoding="utf-8").splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / name).resolve() == SCHEMA_FILE.resolve()
    assert expand(load_matrix(path, None, hosts))


def test_the_json_schema_in_the_repository_is_current() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "run: python -m netlab.config.schema"
    )


def test_the_json_schema_knows_every_setting_and_forbids_others() -> None:
    schema = json.loads(schema_text())
    for test, kind in KINDS.items():
        taken = {setting.name for setting in SETTINGS_OF[test]}
        for part in ("Test", "When", "Values"):
            section = schema["$defs"][kind + part]
            assert section["additionalProperties"] is False
            assert section["properties"].keys() & FIELD_OF.keys() == taken
    assert schema["$defs"]["Defaults"]["properties"].keys() == FIELD_OF.keys()
    steps = [part for name, part in schema["$defs"].items() if name.startswith("Steps")]
    assert steps
    assert all(part["required"] == ["from", "to", "step"] for part in steps)
    assert '"default": null' not in schema_text()


KINDS = {
    "stream": "Stream",
    "round_trip": "RoundTrip",
    "connect": "Connect",
    "payload_search": "PayloadSearch",
    "throughput_search": "ThroughputSearch",
}


def test_every_setting_of_a_stream_can_be_written_and_arrives(load: Any) -> None:
    written = {
        "protocol": "UDP",
        "ip": 6,
        "message_size": "1KiB",
        "socket_buffer": "64KiB",
        "duration": "3s",
        "warm_up": "250ms",
        "direction": "server-sends",
        "streams": 1,
        "dont_fragment": True,
        "rate": "5Mbit",
        "send_method": "packet",
        "dscp": 46,
        "source_port": 5000,
        "interface": "eth0",
        "receive": "spinning",
        "server_cpu": 0,
        "client_cpu": 1,
        "network": "test",
    }
    base = {"title": "t", "pairings": ["LL"], "tests": [{"test": "stream", **written}]}
    (stream,) = streams(load(yaml.safe_dump(base)))
    assert stream == Stream(
        protocol="UDP",
        ip_version=6,
        message_bytes=1024,
        socket_buffer_bytes=65536,
        duration_s=3.0,
        warm_up_s=0.25,
        direction="server-sends",
        streams=1,
        dont_fragment=True,
        rate_bit_per_s=5e6,
        send_method="packet",
        dscp=46,
        source_port=5000,
        interface="eth0",
        receive="spinning",
        server_cpu=0,
        client_cpu=1,
        network="test",
    )
    rest = {"protocol": "TCP", "message_size": 64, "count": 500, "message_rate": "5k/s"}
    rest |= {"nodelay": True, "congestion": "bbr"}
    base["tests"] = [{"test": "stream", **rest}]
    (stream,) = streams(load(yaml.safe_dump(base)))
    assert (stream.count, stream.duration_s, stream.message_rate_per_s) == (500, None, 5000.0)
    assert (stream.nodelay, stream.congestion) == (True, "bbr")
    assert {setting.name for setting in SETTINGS_OF["stream"]} == written.keys() | rest.keys()


def test_auto_is_a_level_of_the_buffer_axis(load: Any) -> None:
    matrix = load(SMALL + "    socket_buffer: [auto, 16KiB]\n")
    assert {s.socket_buffer_bytes for s in streams(matrix)} == {None, 16384}


def test_steps_of_decimals_meet_their_end_exactly(load: Any) -> None:
    matrix = load(SMALL + "    warm_up: {from: 100ms, to: 700ms, step: 200ms}\n")
    assert {s.warm_up_s for s in streams(matrix)} == {0.1, 0.3, 0.5, 0.7}


def test_the_nearer_section_wins_and_takes_back_what_it_excludes(load: Any) -> None:
    text = SMALL.replace("{duration: 2s}", "{duration: 2s, rate: 1Mbit, streams: 2}")
    (one, *_) = streams(load(text + "    count: 1000\n    message_rate: 50\n    streams: 4\n"))
    assert (one.duration_s, one.count) == (None, 1000)
    assert (one.rate_bit_per_s, one.message_rate_per_s) == (None, 50.0)
    assert one.streams == 4


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
        "8:20: tests[0].socket_buffer: the steps do not hit their end: the last one below 66560 is",
    ),
    ("    dscp: {from: 5, to: 1, step: 1}", "8:11: tests[0].dscp: `from` is above `to`"),
    (
        "    dscp: {from: 0, to: 1, step: 0}",
        "8:11: tests[0].dscp: the step must be more than nothing",
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
    ("    receive: polling", "8:14: tests[0].receive: only a UDP receiver polls"),
    (
        "    source_port: 5000\n    streams: 2",
        "8:18: tests[0].source_port: one source port serves one",
    ),
    (
        "    replace: [{when: {message_size: 65}, with: {message_size: 66}}]",
        "8:15: tests[0].replace[0]: matches no cell",
    ),
    (
        "    replace: [{when: {message_size: 64}, with: {message_size: 1500}}]",
        "8:15: tests[0].replace[0]: makes two cells equal, such as LL: ",
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
        "8:16: tests[0].override[0]: makes two cells equal, such as LL: ",
    ),
    (
        "    override: [{when: {protocol: UDP, message_size: 64}, set: {message_size: 70000}}]",
        "8:78: tests[0].override[0].set.message_size: a UDP message carries 65507 bytes at most",
    ),
    (
        "  - test: stream\n    protocol: TCP\n    message_size: 64",
        "8:5: tests[1]: the cell LL-stream-tcp-64-auto-",
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
        "8:14: link.rate: '100MBps' reads as bytes a second: write 100Mbit/s",
    ),
    ("link:", "8:1: link: has no value"),
    ("title: again", "8:1: title: the key stands twice; first in line 1"),
]


@pytest.mark.parametrize(("line", "fault"), FAULTS, ids=[line.strip() for line, _ in FAULTS])
def test_each_fault_is_named_at_its_place(line: str, fault: str, load: Any, faults: Any) -> None:
    text = f"{SMALL}{line}\n"
    if not fault:
        load(text)
        return
    found = faults(text)
    assert len([each for each in found if each.startswith(fault)]) == 1, found
    assert len(found) == 1, found


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("LL, WL", "LL, wl", "2:16: pairings[1]: `wl` is no pairing: two capital letters"),
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
def test_each_fault_of_the_upper_part_is_named_at_its_place(
    old: str, new: str, fault: str, faults: Any
) -> None:
    (found,) = faults(SMALL.replace(old, new))
    assert found.startswith(fault)


def test_a_udp_message_may_be_20_bytes_longer_over_ipv6(load: Any, faults: Any) -> None:
    text = SMALL.replace("1500", "65527")
    assert 65527 in {s.message_bytes for s in streams(load(text + "    ip: 6\n"))}
    assert "65507 bytes at most over IPv4" in faults(text)[0]
    assert (
        "65527 bytes at most over IPv6" in faults(text.replace("65527", "65528") + "    ip: 6\n")[0]
    )


def test_all_faults_come_in_one_go_in_the_files_order(faults: Any) -> None:
    found = faults(
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
    assert [fault.split(": ")[1] for fault in found] == [
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
def test_an_absurd_product_is_refused_at_once_without_making_it(axes: str, faults: Any) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    (found,) = faults(SMALL.replace("    message_size: [64, 1500]\n", axes + "\n"))
    assert time.process_time() - began < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50 * 1024
    assert found.startswith("5:5: tests[0]: ")
    assert found.endswith("cells are too many; a matrix has 100,000 at most")


def test_many_repeats_of_many_cells_are_refused(load: Any, faults: Any) -> None:
    text = SMALL.replace("[64, 1500]", "{from: 1, to: 10000, step: 1}")
    assert len(expand(load(text))) == 40_000
    assert faults(text + "repeats: 1000\n")[0].startswith(
        "8:10: repeats: 40,000,000 trials are too"
    )


def test_set_holds_for_every_cell_whatever_axis_or_rule_gives_that_setting(load: Any) -> None:
    text = SMALL + (
        "    duration: [5s, 10s]\n"
        "    override: [{when: {message_size: 64, duration: 5s}, set: {duration: 60s}}]\n"
        "    exclude: [{duration: 10s, protocol: UDP}]\n"
    )
    assert {s.duration_s for s in streams(load(text))} == {5.0, 10.0, 60.0}
    quick = streams(load(text, duration="1s"))
    assert {s.duration_s for s in quick} == {1.0}
    assert len(quick) == 4


def test_set_takes_back_what_its_setting_excludes(load: Any) -> None:
    matrix = load(SMALL, count="1000")
    assert {(s.duration_s, s.count) for s in streams(matrix)} == {(None, 1000)}


def test_set_takes_axes_and_the_words_of_the_whole_matrix(load: Any) -> None:
    matrix = load(SMALL, message_size="[1, 2, 3]", repeats="4", order="shuffled", seed="7")
    assert {s.message_bytes for s in streams(matrix)} == {1, 2, 3}
    assert (matrix.repeats, matrix.order, matrix.seed) == (4, "shuffled", 7)


def test_a_replacement_that_translates_a_value_still_does_so_under_set() -> None:
    matrix = load_matrix(ROOT / "matrices" / "lab-report.yaml", {"message_size": "65536"})
    found = {(c.setup.protocol, stream_of(c).message_bytes) for c in expand(matrix)}
    assert found == {("TCP", 65536), ("UDP", 64512)}


def test_set_is_part_of_the_content(load: Any) -> None:
    assert load(SMALL).content_hash == load(SMALL, duration="2s").content_hash
    assert load(SMALL).content_hash != load(SMALL, duration="1s").content_hash
    assert load(SMALL, duration="1s").content["tests"][0]["duration_s"] == 1.0
    assert load(SMALL, repeats="2").content["repeats"] == 2


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"duraton": "1s"}, "--set duraton: no such setting; did you mean `duration`?"),
        ({"title": "x"}, "--set title: no such setting"),
        ({"pairings": "[LL, LL]"}, "--set pairings=[LL, LL]: the same value as number 1"),
        ({"pairings": "all"}, "--set pairings=all: `all` should be a list"),
        ({"duration": "1x"}, "--set duration=1x: '1x' is not a time, such as 10s"),
        ({"duration": ""}, "--set duration=: has no value"),
        ({"duration": "1s\nrate: 5"}, "--set duration: one value on one line"),
        ({"repeats": "many"}, "--set repeats=many: `many` should be a whole number"),
        ({"count": "5", "duration": "1s"}, "--set duration and --set count exclude each other"),
        ({"message_size": "70000"}, "--set message_size=70000: a UDP message carries 65507"),
        (
            {"dscp": "{from: 0, to: 63, step: 1}", "rate": "{from: 1, to: 9999, step: 1}"},
            "too many",
        ),
    ],
)
def test_a_wrong_set_is_refused_in_a_sentence(
    overrides: dict[str, str], words: str, load: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        load(SMALL, **overrides)
    assert not isinstance(caught.value, MatrixError)
    assert words in str(caught.value)


def test_a_matrix_must_be_right_by_itself_whatever_is_set(load: Any) -> None:
    with pytest.raises(MatrixError, match="matches no cell"):
        load(SMALL + "    exclude: [{message_size: 65}]\n", message_size="65")


def test_tests_that_set_makes_equal_are_measured_once(load: Any) -> None:
    text = SMALL + "  - {test: stream, protocol: TCP, message_size: 64, duration: 20s}\n"
    assert len(expand(load(text))) == 2 * 5
    assert len(expand(load(text, duration="1s"))) == 2 * 4


def test_inventory_sections_pass_unseen_and_are_no_part_of_the_content(load: Any) -> None:
    inside = load(SMALL + "hosts: {a: {local: true}}\npairs: {LL: {server: a, client: b}}\n")
    assert inside.has_inventory
    assert not load(SMALL).has_inventory
    assert inside.content_hash == load(SMALL).content_hash


def test_the_same_experiment_written_differently_has_the_same_content(load: Any) -> None:
    other = """\
# The same, otherwise.
parallel: true
seed: 99
order: shuffled
tests:
- message_size: {from: 64B, to: 1500, step: 1436}
  "protocol": [UDP, TCP]
  duration: 2000ms
  test: stream
pairings:
- WL
- LL
title: 'another title'
"""
    assert load(other).content == load(SMALL).content
    assert load(other).content_hash == load(SMALL).content_hash
    assert {c.key for c in expand(load(other))} == {c.key for c in expand(load(SMALL))}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: small", "title: small\nlink: {rate: 1Gbit}"),
        ("[LL, WL]", "[LL]"),
        ("[64, 1500]", "[64]"),
        ("title: small", "title: small\nrepeats: 2"),
        ("2s", "3s"),
    ],
)
def test_another_experiment_has_another_content(old: str, new: str, load: Any) -> None:
    assert load(SMALL.replace(old, new)).content_hash != load(SMALL).content_hash


AXES: dict[str, list[Any]] = {
    "message_size": [1, "64", "1KiB", 1500, "32KiB"],
    "socket_buffer": ["auto", "16KiB", "64kB"],
    "protocol": ["TCP", "UDP"],
    "duration": ["1s", "500ms"],
    "nodelay": [True, False],
    "streams": [1, 2, 3],
    "dscp": [0, 46],
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_keys_are_unique_stable_and_independent_of_order_and_format(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    names = ["message_size", "protocol"]
    names += data.draw(st.lists(st.sampled_from(sorted(AXES.keys() - {*names})), unique=True))
    axes = {
        name: data.draw(st.lists(st.sampled_from(AXES[name]), min_size=1, unique=True))
        for name in names
    }
    if axes["protocol"] == ["UDP"]:
        axes.pop("nodelay", None)
    shuffled = {
        name: data.draw(st.permutations(axes[name])) for name in data.draw(st.permutations([*axes]))
    }
    path = tmp_path_factory.mktemp("keys") / "m.yaml"
    found = []
    for test, flow in ((axes, True), (shuffled, False)):
        whole = {"title": "t", "pairings": ["LL", "WW"], "tests": [{"test": "stream", **test}]}
        path.write_text(yaml.safe_dump(whole, default_flow_style=flow, sort_keys=False))
        matrix = load_matrix(path)
        cells = expand(matrix)
        keys = [cell.key for cell in cells]
        assert len(set(keys)) == len(keys) == len(set(cells))
        found.append((sorted(keys), matrix.content_hash))
    assert found[0] == found[1]


def test_a_matrix_without_a_title_is_called_by_its_file(load: Any) -> None:
    assert load(SMALL.replace("title: small\n", "")).title == "m"


def test_an_experiment_is_taken_to_other_systems_by_set() -> None:
    matrix = ROOT / "matrices" / "udp-mirror.yaml"
    as_written, set_ = load_matrix(matrix), load_matrix(matrix, {"pairings": "[WL, LW]"})
    assert as_written.pairings == ("LL",)
    assert {cell.pairing for cell in expand(set_)} == {"WL", "LW"}
    assert set_.content_hash != as_written.content_hash
