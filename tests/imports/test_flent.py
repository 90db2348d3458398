"""The importer reads recorded outputs of flent, and refuses outputs that are cut or wrong."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports import flent
from netlab.imports.flent import IMPORTER, parse_flent, text_of_flent
from netlab.stats.histogram import from_pairs, middle_of

SAMPLES = Path(__file__).parent / "samples" / "flent"
UPLOAD = "flent-tcp_upload.flent.gz"
RRUL = "flent-rrul.flent.gz"
OVERHEAD_BYTES = 14 + 52 + 24
"""Of a frame: Ethernet, IPv4 and TCP with timestamps, and what the shaper counts beside a frame."""


def document(name: str) -> Any:
    return json.loads(gzip.decompress((SAMPLES / name).read_bytes()))


UPLOAD_TEXT = json.dumps(document(UPLOAD))


def parsed(data: Any) -> Any:
    return parse_flent(json.dumps(data), "x")


def test_the_throughput_of_a_flent_upload_matches_the_bytes_in_the_kernels_queue() -> None:
    data = document(UPLOAD)
    stream, _ = parsed(data)
    values = stream.values
    payload_bytes = values["throughput_bit_per_s"] / 8 * values["elapsed_ns"] / 1e9
    egress = data["metadata"]["EGRESS_INFO"]
    counts = [
        [int(word) for word in re.findall(r"Sent ([0-9]+) bytes ([0-9]+) pkt", egress[name][0])[0]]
        for name in ("tc_stats_pre", "tc_stats_post")
    ]
    wire_bytes, frames = (after - before for before, after in zip(*counts, strict=True))
    assert payload_bytes == pytest.approx(wire_bytes - frames * OVERHEAD_BYTES, rel=0.01)


def test_a_flent_upload_becomes_a_stream_and_a_round_trip_record(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / UPLOAD, tmp_path / UPLOAD)
    run = load(IMPORTER.read((tmp_path / UPLOAD,), tmp_path / "run", names={"198.18.0.2": "nas"}))
    stream, ping = run.records
    assert stream.settings == {
        "protocol": "TCP",
        "duration_s": 5.0,
        "ip_version": 4,
        "direction": "client-sends",
        "streams": 1,
        "message_bytes": 16384,
    }
    assert stream.values == {
        "throughput_bit_per_s": 93.65e6,
        "elapsed_ns": 5_050_000_000,
        "mss_bytes": 1448,
        "sender_congestion": "bbr",
    }
    assert (stream.server, stream.client) == ("nas", "198.18.0.3")
    assert stream.started_at == "2026-11-22T06:21:20.832252Z"
    assert (ping.test, ping.settings["protocol"]) == ("round_trip", "ICMP")


def test_the_histogram_of_flents_pings_agrees_with_flents_own_figures() -> None:
    _, ping = parsed(document(UPLOAD))
    values = ping.values
    histogram = from_pairs(values["rtt_histogram"])
    assert (histogram.count, values["rtt_count"], values["transactions"]) == (75, 75, 75)
    total_ns = sum(middle_of(bucket) * n for bucket, n in histogram.counts.items())
    assert total_ns / histogram.count == pytest.approx(values["rtt_mean_ns"], rel=0.01)
    assert (values["rtt_min_ns"], values["rtt_max_ns"]) == (34_000, 873_000)


def test_a_flent_rrul_test_becomes_one_stream_both_ways_and_four_round_trips() -> None:
    stream, *pings = parsed(document(RRUL))
    assert (stream.settings["direction"], stream.settings["streams"]) == ("both", 4)
    assert stream.values["to_server_throughput_bit_per_s"] == pytest.approx(91.22e6)
    assert stream.values["to_client_throughput_bit_per_s"] == pytest.approx(90.28e6)
    assert not {"dscp"} & stream.settings.keys() and "DSCP" in stream.unread[0]
    kinds = [(ping.settings["protocol"], ping.settings.get("dscp")) for ping in pings]
    assert kinds == [("ICMP", None), ("UDP", None), ("UDP", 8), ("UDP", 46)]
    assert all(ping.settings["direction"] == "both" for ping in pings)
    assert pings[1].values["transactions_per_s"] == pytest.approx(14389.49)
    assert "rtt_max_ns" not in pings[1].values


def test_the_netperf_command_in_a_flent_file_states_the_direction_of_the_stream() -> None:
    data = document(UPLOAD)
    series = data["metadata"]["SERIES_META"]["TCP upload"]
    series["COMMAND"] = series["COMMAND"].replace("TCP_STREAM", "TCP_MAERTS")
    assert parsed(data)[0].settings["direction"] == "server-sends"
    del series["COMMAND"]
    assert parsed(data)[0].settings["direction"] == "client-sends"


def test_a_flent_stream_without_a_valid_figure_becomes_a_failure() -> None:
    for figure in (None, 0, -1, 1e308, "93", True):
        data = document(UPLOAD)
        data["metadata"]["SERIES_META"]["TCP upload"]["MEAN_VALUE"] = figure
        stream, ping = parsed(data)
        assert (stream.reason, stream.values) == ("not-recorded", {})
        assert ping.reason is None


def test_the_flent_importer_names_an_unknown_version_and_unknown_series() -> None:
    data = document(UPLOAD)
    data["version"] = 5
    data["results"]["qdisc backlog"] = []
    data["metadata"]["SERIES_META"]["qdisc backlog"] = {"RUNNER": "TcRunner"}
    stream, _ = parsed(data)
    assert stream.values["throughput_bit_per_s"] == 93.65e6
    assert len(stream.unread) == 2


def test_a_flent_file_with_several_servers_or_without_series_gives_no_result(
    tmp_path: Path,
) -> None:
    data = document(UPLOAD)
    data["metadata"]["HOSTS"] = ["192.0.2.1", "192.0.2.2"]
    (tmp_path / "a.flent").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="several servers"):
        IMPORTER.read((tmp_path / "a.flent",), tmp_path / "run")
    data = document(UPLOAD)
    data["results"] = {}
    (result,) = parsed(data)
    assert (result.settings, result.reason) == ({}, "not-recorded")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "out.flent:1:1"),
        ('{"metadata": {},\n "x": }', "out.flent:2:7"),
        ('{"metadata": {}}', "no `results`"),
        ('{"start": {}, "end": {}}', "no `metadata`"),
        ('{"metadata": {"x": NaN}}', "NaN is not a number"),
        ('{"metadata": ' + 100_000 * "[", "nested too deeply"),
    ],
)
def test_text_that_is_not_a_flent_file_is_refused_with_its_line_and_column(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_flent(text, "out.flent")
    assert sentence in str(excinfo.value)


def test_the_flent_importer_limits_decompressed_data_and_refuses_cut_gzip_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = (SAMPLES / UPLOAD).read_bytes()
    assert json.loads(text_of_flent(data, "x")) == document(UPLOAD)
    monkeypatch.setattr(flent, "MAX_TEXT_BYTES", 2**20)
    with pytest.raises(MatrixError, match="larger than 1 MiB"):
        text_of_flent(gzip.compress(bytes(2**22)), "x")
    with pytest.raises(MatrixError, match="larger than 1 MiB"):
        text_of_flent(2 * gzip.compress(bytes(2**20 - 100)), "x")
    for cut in (2, 9, 500, len(data) - 1):
        with pytest.raises(MatrixError, match="gzip data end too early"):
            text_of_flent(data[:cut], "x")
    with pytest.raises(MatrixError, match="too many gzip members"):
        text_of_flent(100 * gzip.compress(b""), "x")
    with pytest.raises(MatrixError, match="not UTF-8"):
        text_of_flent(gzip.compress(b"\xff"), "x")


@given(at=st.integers(0, 4000), byte=st.integers(0, 255))
def test_a_flent_file_with_a_damaged_compressed_byte_is_refused_or_read(at: int, byte: int) -> None:
    data = bytearray((SAMPLES / UPLOAD).read_bytes())
    data[at] = byte
    try:
        parse_flent(text_of_flent(bytes(data), "x"), "x")
    except MatrixError:
        return


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=8), part, max_size=3)
    ),
    max_leaves=8,
)


def _check(data: Callable[[], str]) -> None:
    try:
        results = parse_flent(data(), "x")
    except MatrixError:
        return
    for result in results:
        assert (result.reason is None) == bool(result.values)


@given(
    part=JSON,
    path=st.sampled_from(
        [
            "version",
            "results",
            "raw_values",
            "raw_values/Ping (ms) ICMP",
            "raw_values/Ping (ms) ICMP/0",
            "metadata/HOST",
            "metadata/HOSTS",
            "metadata/TIME",
            "metadata/LENGTH",
            "metadata/EGRESS_INFO",
            "metadata/SERIES_META",
            "metadata/SERIES_META/TCP upload",
            "metadata/SERIES_META/TCP upload/COMMAND",
            "metadata/SERIES_META/TCP upload/SEND_SIZE",
            "metadata/SERIES_META/Ping (ms) ICMP/MIN_VALUE",
        ]
    ),
)
def test_a_flent_file_with_one_replaced_json_value_is_refused_or_gives_figures_or_a_reason(
    part: Any, path: str
) -> None:
    data = json.loads(UPLOAD_TEXT)
    *parents, last = path.split("/")
    place = data
    for name in parents:
        place = place[name]
    place[0 if last == "0" else last] = part
    _check(lambda: json.dumps(data))


@given(
    begin=st.integers(0, len(UPLOAD_TEXT)),
    length=st.integers(0, 400),
    piece=st.text(max_size=20) | st.sampled_from(["1e308", "NaN", "-1", "\0", "{}"]),
    doubled=st.booleans(),
)
def test_a_mutated_flent_file_is_refused_or_gives_either_figures_or_a_reason(
    begin: int, length: int, piece: str, doubled: bool
) -> None:
    end = begin + length
    middle = 2 * UPLOAD_TEXT[begin:end] if doubled else piece
    _check(lambda: UPLOAD_TEXT[:begin] + middle + UPLOAD_TEXT[end:])
