"""The importer reads recorded outputs of iperf3, and refuses outputs that are cut or wrong."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.iperf3 import IMPORTER, parse_iperf3

SAMPLES = Path(__file__).parent / "samples" / "iperf3"
ETHERNET_BYTES = 14
HEADERS_BYTES = {"TCP": 52, "UDP": 28}
"""Of IPv4 and TCP with timestamps, or UDP."""


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def truths() -> dict[str, Mapping[str, str]]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize(
    "name", ["iperf3-tcp.client.json", "iperf3-udp.client.json", "iperf3-udp-over.client.json"]
)
def test_the_throughput_from_iperf3_matches_the_kernels_count_of_bytes(name: str) -> None:
    (result,) = parse_iperf3(sample(name), name)
    protocol = str(result.settings["protocol"])
    payload_bytes = float(str(result.values["throughput_bit_per_s"])) / 8
    payload_bytes *= float(str(result.values["elapsed_ns"])) / 1e9
    truth = truths()[name]
    frames = int(truth["server_interface_received_frames"])
    overhead_bytes = frames * (ETHERNET_BYTES + HEADERS_BYTES[protocol])
    counted_bytes = int(truth["server_interface_received_bytes"]) - overhead_bytes
    assert payload_bytes == pytest.approx(counted_bytes, rel=0.01)


def test_an_iperf3_udp_output_gives_each_setting_and_figure(tmp_path: Path) -> None:
    run = imported(tmp_path, "iperf3-udp-over.client.json", names={"198.18.0.2": "nas"})
    (record,) = run.records
    assert record.settings == {
        "protocol": "UDP",
        "message_bytes": 1472,
        "streams": 1,
        "duration_s": 2.0,
        "warm_up_s": 0.0,
        "socket_buffer_bytes": 2097152,
        "rate_bit_per_s": 160e6,
        "direction": "client-sends",
        "ip_version": 4,
    }
    assert (record.pairing, record.server, record.client) == (
        "nas+198.18.0.3",
        "nas",
        "198.18.0.3",
    )
    assert record.started_at == "2026-11-22T06:17:01.000000Z"
    figures = {name: record.values[name] for name in ("throughput_bit_per_s", "sent_messages")}
    assert figures == {"throughput_bit_per_s": 95619443.342332259, "sent_messages": 17150}


@pytest.mark.parametrize(
    ("name", "direction", "flows"),
    [
        ("iperf3-tcp-reverse.client.json", "server-sends", {"": 94090334}),
        (
            "iperf3-tcp-bidir.client.json",
            "both",
            {"to_server_": 91229236, "to_client_": 91368173},
        ),
        ("iperf3-tcp-streams.client.json", "client-sends", {"": 94146727}),
        ("iperf3-omit.client.json", "client-sends", {"": 93967377}),
    ],
)
def test_the_iperf3_importer_reads_directions_streams_and_the_warm_up(
    name: str, direction: str, flows: Mapping[str, int]
) -> None:
    (result,) = parse_iperf3(sample(name), name)
    assert result.settings["direction"] == direction
    rates = {
        prefix: round(float(str(result.values[f"{prefix}throughput_bit_per_s"])))
        for prefix in flows
    }
    assert rates == flows
    assert (result.settings["streams"] == 5) == ("streams" in name)
    assert result.settings["warm_up_s"] == (1.0 if "omit" in name else 0.0)


def test_both_outputs_of_an_iperf3_test_become_one_trial(
    tmp_path: Path,
) -> None:
    both = imported(tmp_path, "iperf3-tcp.server.json", "iperf3-tcp.client.json")
    (record,) = both.records
    assert record.values["sent_bit_per_s"] == pytest.approx(95874613.9558371)
    (server,) = parse_iperf3(sample("iperf3-tcp.server.json"), "server")
    (client,) = parse_iperf3(sample("iperf3-tcp.client.json"), "client")
    assert (server.server, server.client) == (client.server, client.client)
    assert "sent_bit_per_s" not in server.values
    assert server.values["throughput_bit_per_s"] == pytest.approx(
        float(str(client.values["throughput_bit_per_s"])), rel=1e-3
    )


def test_repeated_iperf3_tests_become_trials_in_the_order_of_their_starts(tmp_path: Path) -> None:
    document = json.loads(sample("iperf3-tcp.client.json"))
    for number, seconds in enumerate((1795328300, 1795328100)):
        document["start"]["timestamp"]["timesecs"] = seconds
        document["start"]["cookie"] = f"cookie {number}"
        (tmp_path / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
    run = load(IMPORTER.read((tmp_path,), tmp_path / "run"))
    assert len(run.plan.cells) == 1
    assert [record.trial for record in run.records] == [1, 2]
    assert sorted(record.started_at for record in run.records) == [
        record.started_at for record in run.records
    ]


def test_an_iperf3_output_of_a_refused_connection_is_refused_with_this_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="Connection refused"):
        imported(tmp_path, "iperf3-refused.client.json")


def test_an_error_during_an_iperf3_test_becomes_a_failure_without_figures() -> None:
    document = json.loads(sample("iperf3-tcp.client.json"))
    document["error"] = "error - control socket has closed unexpectedly"
    (result,) = parse_iperf3(json.dumps(document), "x")
    assert (result.reason, result.values) == ("peer-vanished", {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"start": {}, "end": {"x": NaN}}', "NaN is not a number"),
        ('{"start": {}', "1:13"),
        ("[1]", "not an output of iperf3"),
        ('{"start": ' + "[" * 100_000, "nested too deeply"),
        ("iperf Done.", "not JSON"),
    ],
)
def test_text_that_is_not_an_iperf3_output_is_refused_with_its_place(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_iperf3(text, "out.json")
    assert sentence in str(excinfo.value) and "out.json:1:" in str(excinfo.value)


@pytest.mark.parametrize("cut", [10, 500, 2000, 3000])
def test_a_cut_iperf3_output_is_refused(cut: int) -> None:
    with pytest.raises(MatrixError):
        parse_iperf3(sample("iperf3-tcp.client.json")[:cut], "x")


def test_the_iperf3_importer_reads_an_unknown_version_and_names_what_it_leaves_out() -> None:
    document = json.loads(sample("iperf3-tcp.client.json"))
    document["start"]["version"] = "iperf 4.0"
    document["end"]["sum_received"]["seconds"] = 1e308
    (result,) = parse_iperf3(json.dumps(document), "x")
    assert "throughput_bit_per_s" in result.values and "elapsed_ns" not in result.values
    assert len(result.unread) == 2


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


@given(
    part=JSON,
    path=st.sampled_from(
        [
            "start",
            "end",
            "start.test_start",
            "end.sum_received",
            "start.connected",
            "start.timestamp",
            "end.sum_sent",
        ]
    ),
)
def test_an_iperf3_output_with_one_replaced_json_value_has_either_throughput_or_a_reason(
    part: Any, path: str
) -> None:
    document = json.loads(sample("iperf3-tcp-bidir.client.json"))
    *parents, last = path.split(".")
    place = document
    for name in parents:
        place = place[name]
    place[last] = part
    for result in parse_iperf3(json.dumps(document), "x"):
        assert (result.reason is None) == any("throughput" in name for name in result.values)
