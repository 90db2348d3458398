"""The importer reads recorded outputs of netperf, and refuses outputs that are cut or wrong."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.common.tool_results import ToolResult
from netlab.imports.netperf import IMPORTER, parse_netperf

SAMPLES = Path(__file__).parent / "samples" / "netperf"
NAMES = sorted(path.name for path in SAMPLES.glob("netperf-*"))
HEADERS_BYTES = {"TCP": 14 + 20 + 32, "UDP": 14 + 20 + 8}
"""Of Ethernet, IPv4, and TCP with timestamps, or UDP."""


def sample(name: str) -> str:
    return (SAMPLES / f"netperf-{name}").read_text(encoding="utf-8")


def truth(name: str) -> Mapping[str, str]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["file"] == f"netperf-{name}")


def result(name: str) -> ToolResult:
    (only,) = parse_netperf(sample(name), name)
    return only


def value(of: ToolResult, name: str) -> float:
    return float(str(of.values[name]))


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / f"netperf-{name}", folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize(
    ("name", "protocol", "runs"),
    [
        ("tcp-stream.txt", "TCP", 1),
        ("udp-stream.txt", "UDP", 1),
        ("omni-keyval.txt", "UDP", 1),
        ("omni-csv.csv", "TCP", 1),
        ("confidence.txt", "TCP", 3),
        ("interval.txt", "TCP", 1),
    ],
)
def test_the_throughput_from_netperf_matches_the_kernels_count_of_bytes(
    name: str, protocol: str, runs: int
) -> None:
    test = result(name)
    payload_bytes = value(test, "throughput_bit_per_s") * value(test, "elapsed_ns") / 8e9 * runs
    counted = truth(name)
    overhead_bytes = int(counted["server_interface_received_frames"]) * HEADERS_BYTES[protocol]
    counted_bytes = int(counted["server_interface_received_bytes"]) - overhead_bytes
    assert payload_bytes == pytest.approx(counted_bytes, rel=0.01)


def test_the_throughput_of_netperfs_maerts_test_matches_the_clients_kernel() -> None:
    test = result("maerts.txt")
    assert test.settings["direction"] == "server-sends"
    payload_bytes = value(test, "throughput_bit_per_s") * value(test, "elapsed_ns") / 8e9
    framed_bytes = payload_bytes * (1448 + HEADERS_BYTES["TCP"]) / 1448
    counted_bytes = int(truth("maerts.txt")["client_interface_received_bytes"])
    assert framed_bytes == pytest.approx(counted_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("name", "kind", "frames"),
    [
        ("tcp-rr.txt", "round_trip", 2),  # a request of 1472 bytes is two segments
        ("udp-rr.txt", "round_trip", 1),
        ("tcp-crr.txt", "connect", 5),  # SYN, ACK, request, ACK and FIN
        ("omni-latency.txt", "round_trip", 1),
    ],
)
def test_the_transactions_from_netperf_match_the_kernels_count_of_frames(
    name: str, kind: str, frames: int
) -> None:
    test = result(name)
    assert test.test == kind
    assert value(test, "transactions_per_s") * 2 * frames == pytest.approx(
        int(truth(name)["server_interface_received_frames"]), rel=0.01
    )


def test_a_netperf_udp_output_gives_each_setting_and_figure(tmp_path: Path) -> None:
    run = imported(tmp_path, "udp-stream.txt", names={"198.18.0.2": "nas"})
    (record,) = run.records
    assert record.settings == {
        "protocol": "UDP",
        "direction": "client-sends",
        "message_bytes": 1472,
        "ip_version": 4,
    }
    assert (record.server, record.client) == ("nas", "client")
    assert record.values == {
        "throughput_bit_per_s": 96110000,
        "printed_step_bit_per_s": 10000,
        "sent_bit_per_s": 96110000,
        "sent_messages": 16324,
        "received_messages": 16324,
        "lost_messages": 0,
        "elapsed_ns": 2 * 10**9,
    }


def test_netperf_csv_output_is_read_and_latencies_of_send_calls_are_left_out() -> None:
    test = result("omni-csv.csv")
    assert test.settings == {
        "protocol": "TCP",
        "direction": "client-sends",
        "message_bytes": 8192,
        "nodelay": False,
        "duration_s": 2.0,
        "ip_version": 4,
    }
    assert test.values["mss_bytes"] == 1448
    assert test.values["sender_congestion"] == "bbr"
    assert not [name for name in test.values if name.startswith("rtt_")]


def test_netperf_round_trips_have_latencies_and_outstanding_requests() -> None:
    text = sample("omni-latency.txt") + "PROTOCOL=TCP\nBURST_SIZE=3\nREQUEST_SIZE=64\n"
    (test,) = parse_netperf(text, "x")
    assert test.settings["outstanding"] == 4
    assert {name: test.values[name] for name in test.values if name.startswith("rtt_")} == {
        "rtt_mean_ns": 18980.0,
        "rtt_min_ns": 14000,
        "rtt_max_ns": 7635000,
        "rtt_p50_ns": 18000,
        "rtt_p90_ns": 20000,
        "rtt_p99_ns": 24000,
    }


def test_the_first_interim_result_of_netperf_gives_the_start_of_the_trial() -> None:
    assert result("interval.txt").started_at == "2026-11-22T06:18:00.626000Z"
    keys = "NETPERF_INTERVAL[0]=0.504\nNETPERF_ENDING[0]=1795328281.130\n"
    banner, _, rest = sample("omni-keyval.txt").partition("\n")
    (test,) = parse_netperf(f"{banner}\n{keys}{rest}", "x")
    assert test.started_at == "2026-11-22T06:18:00.626000Z"


@pytest.mark.parametrize("name", ["interval.txt", "omni-latency.txt"])
def test_a_netperf_output_that_does_not_state_its_protocol_is_refused(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="the key PROTOCOL"):
        imported(tmp_path, name)


def test_several_netperf_outputs_in_a_file_become_trials_and_cells(tmp_path: Path) -> None:
    text = sample("tcp-stream.txt")
    (tmp_path / "out.txt").write_text(f"$ netperf\n{text}{text}{sample('tcp-rr.txt')}")
    run = load(IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run"))
    assert len(run.plan.cells) == 2
    assert [record.trial for record in run.records if record.test == "stream"] == [1, 2]
    assert (
        "1 line is not read, first line 1: '$ netperf'"
        in parse_netperf((tmp_path / "out.txt").read_text(), "x")[0].unread
    )


def test_netperf_keys_without_a_banner_are_read_if_they_state_the_test() -> None:
    _, _, keys = sample("omni-keyval.txt").partition("\n")
    text = f"{keys}DIRECTION=Send\nDEST_ADDR=2001:db8::1\n"
    first, second = parse_netperf(text * 2, "x")
    assert first == second
    assert (first.server, first.settings["ip_version"]) == ("2001:db8::1", 6)
    assert first.values["throughput_bit_per_s"] == 75130000


@pytest.mark.parametrize(
    ("unit", "factor"), [("10^3bits", 10**3), ("10^9bits", 10**9), ("MBytes", 8 * 2**20)]
)
def test_netperf_units_of_bits_are_decimal_and_units_of_bytes_are_binary(
    unit: str, factor: int
) -> None:
    (test,) = parse_netperf(sample("tcp-stream.txt").replace("10^6bits", unit), "x")
    assert test.values["throughput_bit_per_s"] == 94.14 * factor


def test_requested_buffer_sizes_send_rate_and_dscp_of_netperf_become_settings() -> None:
    requests = "".join(f"{key}_SIZE_REQ=131072\n" for key in ("LSS", "LSR", "RSS", "RSR"))
    more = "LOCAL_INTERVAL_BURST=10\nLOCAL_INTERVAL_USECS=1000\nLOCAL_SOCKET_TOS=0xb8\n"
    text = sample("omni-keyval.txt").replace("LSS_SIZE_REQ=-1\n", requests) + more
    (test,) = parse_netperf(text, "x")
    names = ("socket_buffer_bytes", "message_rate_per_s", "dscp")
    assert [test.settings[name] for name in names] == [131072, 10000.0, 46]
    (test,) = parse_netperf(text.replace("RSR_SIZE_REQ=131072", "RSR_SIZE_REQ=-1"), "x")
    assert "socket_buffer_bytes" not in test.settings and "socket buffers" in test.unread[0]


@pytest.mark.parametrize(
    ("old", "new"), [("MIGRATED TCP", "TCP"), (" : demo", " : no control : demo")]
)
def test_a_netperf_figure_of_the_sender_becomes_the_sent_rate_and_no_throughput(
    old: str, new: str
) -> None:
    (test,) = parse_netperf(sample("tcp-stream.txt").replace(old, new), "x")
    assert test.values == {"sent_bit_per_s": 94140000, "elapsed_ns": 2010000000}


def test_the_netperf_importer_reads_the_burst_and_the_latency_table() -> None:
    text = sample("tcp-rr.txt").replace("burst 0", "burst 7") + (
        "Alignment      Offset         RoundTrip  Trans    Throughput\n"
        "Local  Remote  Local  Remote  Latency    Rate     10^6bits/s\n"
        "Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n"
        "    8      0       0      0   132.648   7538.740 88.777    12.062\n"
    )
    (test,) = parse_netperf(text, "x")
    assert (test.settings["outstanding"], test.values["rtt_mean_ns"]) == (8, 132648.0)


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("tcp-stream.txt", "94.14", "0.00", "no-traffic"),
        ("udp-stream.txt", "16324             96.11", "0              0.00", "no-traffic"),
        ("udp-rr.txt", "8108.85", "0.00", "no-answer"),
        ("tcp-rr.txt", "Trans.", "", "not-recorded"),
        ("tcp-stream.txt", "94.14", "nan", "not-recorded"),
        ("omni-keyval.txt", "T=75.13", "T=-75.13", "not-recorded"),
        ("omni-keyval.txt", "T=75.13", "T=1e308", "not-recorded"),
        ("tcp-stream.txt", "94.14", "9" * 4000, "not-recorded"),
    ],
)
def test_netperf_outputs_without_a_result_become_failures_without_figures(
    name: str, old: str, new: str, reason: str
) -> None:
    text = sample(name).replace(old, new)
    assert text != sample(name)
    (test,) = parse_netperf(text, "x")
    assert (test.reason, test.values) == (reason, {})


def test_an_error_in_a_netperf_output_becomes_the_reason_of_the_failure(tmp_path: Path) -> None:
    banner = sample("tcp-stream.txt").partition("\n")[0]
    error = "netperf: send_omni: connect_data_socket failed: Connection refused"
    (test,) = parse_netperf(f"{banner}\n{error}\n", "x")
    assert (test.reason, test.detail, test.values) == ("connect-refused", error, {})
    sentence = "establish control: are you sure there is a netserver listening on 192.0.2.1?"
    (tmp_path / "out.txt").write_text(f"{sentence}\n")
    with pytest.raises(UsageError, match="are you sure there is a netserver"):
        IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run")


def test_the_netperf_importer_names_what_it_does_not_understand() -> None:
    text = sample("confidence.txt").replace(" : demo", " : warp drive")
    warning = "!!! Confidence intervals: Throughput      : 7.125%\n"
    (test,) = parse_netperf(f"{text}{warning}more\n", "x")
    assert test.values["throughput_bit_per_s"] == 94150000
    words = ("varies: by 7.125%", "'more'", "'warp drive'", "means of several runs")
    assert len(test.unread) == len(words)
    assert all(word in sentence for word, sentence in zip(words, test.unread, strict=True))
    unknown = sample("tcp-stream.txt").replace("TCP STREAM", "SCTP STREAM")
    (test,) = parse_netperf(unknown, "x")
    assert (test.reason, test.settings) == ("not-recorded", {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "out.txt:1:1: not an output of netperf"),
        ('{"start": {}}', "out.txt:1:1: not an output of netperf"),
        ("a\nb\0", "out.txt:2:2: a NUL byte"),
        ("x" * 70_000, "out.txt:1:65537: longer than"),
    ],
)
def test_text_that_is_not_a_netperf_output_is_refused_with_its_place(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_netperf(text, "out.txt")
    assert sentence in str(excinfo.value)


@pytest.mark.parametrize("name", ["tcp-stream.txt", "udp-stream.txt", "omni-csv.csv"])
def test_a_cut_netperf_output_is_refused_or_gives_a_reason_or_all_figures(name: str) -> None:
    text, whole = sample(name), result(name)
    for end in range(len(text.rstrip())):
        try:
            (test,) = parse_netperf(text[:end], name)
        except MatrixError:
            continue
        assert test.reason is not None or test.values == whole.values


@given(
    name=st.sampled_from(NAMES),
    start=st.floats(0, 1),
    length=st.integers(0, 400),
    piece=st.one_of(st.sampled_from(["", "nan", "-1e308", "9" * 30, "\0", "\n\n"]), st.text()),
    copies=st.integers(0, 3),
)
def test_a_mutated_netperf_output_is_refused_or_gives_either_figures_or_a_reason(
    name: str, start: float, length: int, piece: str, copies: int
) -> None:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    at = round(start * len(text))
    text = text[:at] + piece + text[at : at + length] * copies + text[at + length :]
    try:
        results = parse_netperf(text, name)
    except MatrixError:
        return
    for test in results:
        assert (test.reason is None) == bool(test.values)
