"""Shipped matrices, their schema, and the settings and axes of a matrix are read as documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from folders import ROOT
from jsonschema import Draft202012Validator
from made_matrices import SMALL, load, stream_of, streams

from netlab.config.matrix_file import load_matrix
from netlab.config.schema import SCHEMA_FILE, schema_text
from netlab.config.settings import FIELD_OF, SETTINGS_OF
from netlab.experiment.matrix import expand
from netlab.kinds import Stream

__all__ = ["load"]


MATRICES = sorted((ROOT / "matrices").glob("*.yaml"))


def test_the_matrix_lab_report_has_416_cells_in_under_40_lines() -> None:
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


def test_the_matrix_loopback_is_short_and_contains_its_inventory() -> None:
    matrix = load_matrix(ROOT / "matrices" / "loopback.yaml")
    cells = expand(matrix)
    assert matrix.has_inventory
    assert 8 <= len(cells) <= 16
    assert sum(c.setup.window_s() or 0 for c in cells) < 8
    assert "not a network" in matrix.title


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.name)
def test_each_shipped_matrix_names_the_schema_in_its_first_line_and_loads(
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


def test_the_json_schema_allows_exactly_the_settings_of_each_kind_of_test() -> None:
    schema = json.loads(schema_text())
    for test, kind in KINDS.items():
        setting_names = {setting.name for setting in SETTINGS_OF[test]}
        for part in ("Test", "When", "Values"):
            section = schema["$defs"][kind + part]
            assert section["additionalProperties"] is False
            assert section["properties"].keys() & FIELD_OF.keys() == setting_names
    assert schema["$defs"]["Defaults"]["properties"].keys() == FIELD_OF.keys()
    assert schema["$defs"]["steps"]["required"] == ["from", "to", "step"]
    assert '"default": null' not in schema_text()


def test_the_json_schema_defines_each_type_once_by_a_name_that_a_person_chose() -> None:
    definitions = json.loads(schema_text())["$defs"]
    assert {name for name in definitions if not re.fullmatch("[A-Za-z]+(_[a-z]+)*", name)} == set()
    units = [definitions[unit] for unit in ("bytes", "seconds", "bits_per_second", "per_second")]
    assert units.count(definitions["seconds"]) == 3
    for name in FIELD_OF:
        axis = json.dumps(definitions[f"{name}_axis"])
        assert axis.count(f'"$ref": "#/$defs/{name}"') in (2, 3)
    assert schema_text().count("\n") < 2550


@pytest.mark.parametrize(
    ("settings", "is_valid"),
    [
        ("duration: 10s", True),
        ("duration: [1, 2s]", True),
        ("duration: {from: 1, to: 3s, step: 1}", True),
        ("duration: {from: 1, to: 3}", False),
        ("duration: {from: 1, to: 3, step: 1, by: 1}", False),
        ("duration: {from: soon, to: 3, step: 1}", False),
        ("duration: soon", False),
        ("socket_buffer: [auto, 64KiB]", True),
        ("socket_buffer: {from: auto, to: 64KiB, step: 1KiB}", False),
        ("streams: {from: 1, to: 4, step: 1}", True),
        ("streams: {from: 0, to: 4, step: 1}", False),
        ("server_cpus: [[0, 1], 2-3]", True),
        ("sends: all", False),
    ],
)
def test_an_editor_accepts_one_value_a_list_and_steps_by_the_schema(
    settings: str, is_valid: bool
) -> None:
    text = f"pairings: [LL]\ntests: [{{test: stream, {settings}}}]"
    schema = Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    assert schema.is_valid(yaml.safe_load(text)) == is_valid


KINDS = {
    "stream": "Stream",
    "round_trip": "RoundTrip",
    "connect": "Connect",
    "payload_search": "PayloadSearch",
    "throughput_search": "ThroughputSearch",
}


def test_every_setting_of_a_stream_is_read_from_a_matrix(load: Any) -> None:
    udp_settings = {
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
        "receive_from": "packet",
        "server_cpu": 0,
        "client_cpu": 1,
        "network": "test",
        "open": "server-connects",
        "variant": "as-found",
    }
    base = {"title": "t", "pairings": ["LL"], "tests": [{"test": "stream", **udp_settings}]}
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
        receive_from="packet",
        server_cpu=0,
        client_cpu=1,
        network="test",
        opening="server-connects",
    )
    tcp_settings = {"protocol": "TCP", "message_size": 64, "count": 500, "message_rate": "5k/s"}
    tcp_settings |= {"nodelay": True, "congestion": "bbr", "engine": "iperf3"}
    tcp_settings |= {"server_cpus": [0, 2], "client_cpus": "1-3"}
    tcp_settings |= {"tcp_send_method": "batch", "tcp_receive_call": "message"}
    base["tests"] = [{"test": "stream", **tcp_settings}]
    (stream,) = streams(load(yaml.safe_dump(base)))
    assert (stream.count, stream.duration_s, stream.message_rate_per_s) == (500, None, 5000.0)
    assert (stream.nodelay, stream.congestion, stream.tcp_send_method) == (True, "bbr", "batch")
    assert (stream.tcp_receive_call, stream.engine) == ("message", "iperf3")
    assert (stream.server_cpus, stream.client_cpus) == ("0,2", "1,2,3")
    names = {setting.name for setting in SETTINGS_OF["stream"]}
    assert names == udp_settings.keys() | tcp_settings.keys()


def test_auto_is_a_value_of_the_axis_socket_buffer(load: Any) -> None:
    matrix = load(SMALL + "    socket_buffer: [auto, 16KiB]\n")
    assert {s.socket_buffer_bytes for s in streams(matrix)} == {None, 16384}


def test_an_axis_of_decimal_steps_ends_exactly_at_its_end(load: Any) -> None:
    matrix = load(SMALL + "    warm_up: {from: 100ms, to: 700ms, step: 200ms}\n")
    assert {s.warm_up_s for s in streams(matrix)} == {0.1, 0.3, 0.5, 0.7}


def test_a_setting_of_a_test_replaces_its_default_and_cancels_contrary_defaults(load: Any) -> None:
    text = SMALL.replace("{duration: 2s}", "{duration: 2s, rate: 1Mbit, streams: 2}")
    (stream, *_) = streams(load(text + "    count: 1000\n    message_rate: 50\n    streams: 4\n"))
    assert (stream.duration_s, stream.count) == (None, 1000)
    assert (stream.rate_bit_per_s, stream.message_rate_per_s) == (None, 50.0)
    assert stream.streams == 4


def test_a_matrix_without_a_title_has_its_file_name_as_title(load: Any) -> None:
    assert load(SMALL.replace("title: small\n", "")).title == "m"
